/*
 * struct body: the body of a request as it arrives, and the budget that all bodies share.
 *
 * Memory grows with what arrives, never ahead of it, and every byte of it is charged to the budget.
 * The last eighth of the budget is for small bodies, so that a few large ones cannot turn away the
 * many small ones. A body belongs to one request, which one thread at a time handles; the budget is
 * shared and atomic.
 */
#ifndef PUMICE_WEBHOOK_HTTP_BODY_H
#define PUMICE_WEBHOOK_HTTP_BODY_H

#include "base/str.h"
#include <stdatomic.h>

#define BODY_SMALL ((size_t)64 << 10) /* up to this size a body is small, bytes */

struct body_budget {
    size_t total; /* bytes of all bodies */
    atomic_size_t used;
};

struct body {
    char *text;       /* owned; `used` bytes and a NUL; NULL before the first byte */
    size_t used, cap; /* cap: bytes charged */
    size_t expected;  /* Content-Length */
};

enum body_result {
    BODY_ADDED,
    BODY_TOO_LONG, /* more than was announced */
    BODY_NO_ROOM   /* the budget is used up */
};

/* Appends. Whatever is not BODY_ADDED has dropped the body. */
enum body_result body_add(struct body *body, struct body_budget *budget, const char *data,
                          size_t size);
/* Frees it and gives back what it was charged. */
void body_drop(struct body *body, struct body_budget *budget);
static inline struct str body_str(const struct body *body)
{
    return str_make(body->text ? body->text : "", body->used);
}

/* Whether only small bodies find room. */
bool body_budget_short(struct body_budget *budget);

#endif
