/*
 * Exponential delays with jitter. Embedded in whatever retries; no allocation, one thread.
 */
#include "loop/backoff.h"

#include <stdbool.h>

#define JITTER 0.2

void backoff_init(struct backoff *backoff, int64_t initial_ns, int64_t max_ns)
{
    *backoff = (struct backoff){.initial_ns = initial_ns, .max_ns = max_ns};
    backoff_reset(backoff);
}

static int64_t doubled(int64_t delay, int64_t max_ns)
{
    return delay > max_ns / 2 ? max_ns : delay * 2;
}

int64_t backoff_next(struct backoff *backoff, struct rng *rng)
{
    const int64_t delay = backoff->next_ns;
    backoff->next_ns = doubled(delay, backoff->max_ns);
    if (backoff->failures < UINT32_MAX)
        backoff->failures++;
    return rng_jitter(rng, delay, JITTER);
}

void backoff_reset(struct backoff *backoff)
{
    const bool above = backoff->initial_ns > backoff->max_ns;
    backoff->next_ns = above ? backoff->max_ns : backoff->initial_ns;
    backoff->failures = 0;
}

int64_t backoff_delay(int64_t initial_ns, int64_t max_ns, uint32_t failures)
{
    int64_t delay = initial_ns;
    for (uint32_t i = 0; i < failures && delay < max_ns; i++)
        delay = doubled(delay, max_ns);
    return delay < max_ns ? delay : max_ns;
}
