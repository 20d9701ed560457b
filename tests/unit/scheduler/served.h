/*
 * What the API servers in memory of the scheduler's tests share.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_SERVED_H
#define PUMICE_TESTS_UNIT_SCHEDULER_SERVED_H

#include "testing.h"

#include "base/buf.h"

#define NAME_SIZE 64              /* of names, with the NUL */
#define UID_SIZE (NAME_SIZE + 32) /* of a name and a number */

/* Puts a Status into the body; returns `status`. */
static inline int answer(struct buf *body, int status)
{
    buf_printf(body, "{\"kind\":\"Status\",\"code\":%d,\"message\":\"status %d\"}", status, status);
    return status;
}

/* The string of the first `key` anywhere in the JSON, as it stands; STR_NULL when absent. */
static inline struct str field(struct str json, const char *key)
{
    cleanup_free char *needle = xasprintf("\"%s\":\"", key);
    ptrdiff_t at = str_find(json, str_of(needle));
    if (at < 0)
        return STR_NULL;
    struct str rest = str_from(json, (size_t)at + strlen(needle));
    return str_sub(rest, 0, (size_t)str_chr(rest, '"'));
}

#endif
