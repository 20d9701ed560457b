/*
 * Bodies of requests and their budget: see http_body.h.
 */
#include "webhook/http/http_body.h"
#include "base/alloc.h"

#define BODY_FIRST ((size_t)16 << 10) /* first allocation of a body */

/* What bodies larger than BODY_SMALL may use. */
static size_t limit_of_large(const struct body_budget *budget)
{
    return budget->total - budget->total / 8;
}

bool body_budget_short(struct body_budget *budget)
{
    return atomic_load(&budget->used) > limit_of_large(budget);
}

void body_drop(struct body *body, struct body_budget *budget)
{
    atomic_fetch_sub(&budget->used, body->cap);
    free(body->text);
    body->text = NULL;
    body->used = body->cap = 0;
}

/* Room for `size` bytes in all. False when the budget is used up. */
static bool reserve(struct body *body, struct body_budget *budget, size_t size)
{
    if (size <= body->cap)
        return true;
    const size_t limit = body->expected > BODY_SMALL ? limit_of_large(budget) : budget->total;
    size_t cap = body->cap ? body->cap : BODY_FIRST;
    while (cap < size)
        cap *= 2;
    if (cap > body->expected)
        cap = body->expected;
    const size_t more = cap - body->cap;
    if (atomic_fetch_add(&budget->used, more) + more > limit) {
        atomic_fetch_sub(&budget->used, more);
        return false;
    }
    body->text = xreallocarray(body->text, cap + 1, 1);
    body->cap = cap;
    return true;
}

enum body_result body_add(struct body *body, struct body_budget *budget, const char *data,
                          size_t size)
{
    enum body_result result = BODY_ADDED;
    if (size > body->expected - body->used)
        result = BODY_TOO_LONG;
    else if (!reserve(body, budget, body->used + size))
        result = BODY_NO_ROOM;
    if (result != BODY_ADDED) {
        body_drop(body, budget);
        return result;
    }
    memcpy(body->text + body->used, data, size);
    body->used += size;
    body->text[body->used] = '\0';
    return BODY_ADDED;
}
