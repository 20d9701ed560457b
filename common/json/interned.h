/*
 * Reading a JSON string straight into an interned slot.
 */
#ifndef PUMICE_JSON_INTERNED_H
#define PUMICE_JSON_INTERNED_H

#include "base/intern.h"
#include "json/reader.h"

/* Replaces the interned string in `slot` (NULL is fine) by the string value that comes next. */
static inline void json_interned(struct json_reader *reader, const char **slot)
{
    const char *next = intern_get(json_str(reader));

    intern_put(*slot);
    *slot = next;
}

#endif
