/*
 * struct backoff: exponential delays with jitter, reset by success.
 */
#ifndef PUMICE_LOOP_BACKOFF_H
#define PUMICE_LOOP_BACKOFF_H

#include "base/rng.h"

struct backoff {
    int64_t initial_ns, max_ns;
    int64_t next_ns;   /* the delay before jitter that the next failure gives */
    uint32_t failures; /* in a row */
};

void backoff_init(struct backoff *backoff, int64_t initial_ns, int64_t max_ns);
/* The delay to wait after one more failure: doubles up to max, +-20 %. */
int64_t backoff_next(struct backoff *backoff, struct rng *rng);
void backoff_reset(struct backoff *backoff);

/* The delay after so many failures more than the first: doubled for each, up to max, no jitter. */
int64_t backoff_delay(int64_t initial_ns, int64_t max_ns, uint32_t failures);

#endif
