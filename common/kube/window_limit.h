/*
 * struct window_limit: how many requests may be in flight, from what the server's answers tell.
 *
 * Each class has a latency floor, its smallest latency of late, because a create passes admission
 * and a bind does not; what counts is the latency relative to the floor, smoothed over about one
 * window of answers. Below four times the floor the limit grows while it is fully used, quickly
 * below twice; above it shrinks towards the target, but not below eight: a server that other
 * clients keep busy is slow however little we send, and who gives way to them gets nothing done.
 * 429 and 5xx shrink it down to one, from where it grows to eight again whatever the latency. After
 * any decrease nothing moves for one latency, until answers show its effect. No clock of its own.
 * A fixed limit only watches: its value never moves.
 */
#ifndef PUMICE_KUBE_WINDOW_LIMIT_H
#define PUMICE_KUBE_WINDOW_LIMIT_H

#include "kube/window.h"

struct window_floor {
    double latency;   /* nanoseconds, 0 before the first answer */
    int64_t risen_ns; /* when it was last let rise */
};

struct window_limit {
    double value, max;
    struct window_floor floors[WINDOW_CLASS_COUNT];
    double ratio;      /* smoothed latency / floor, 0 before the first answer */
    double latency;    /* smoothed, nanoseconds */
    int64_t settle_ns; /* no change before this time */
    bool fixed;        /* the value stays as it is */
};

void window_limit_init(struct window_limit *limit, unsigned initial, unsigned max);
/* `value` for good, whatever the server answers. */
void window_limit_init_fixed(struct window_limit *limit, unsigned value);
/* An answer that is no fault; `used`: the window was full while the request was in flight. */
void window_limit_answer(struct window_limit *limit, enum window_class cls, int64_t latency_ns,
                         bool used, int64_t now);
/* A 429, a 5xx or no answer. True when it counts: faults within one latency count as one. */
bool window_limit_fault(struct window_limit *limit, int64_t now);
/* The smallest floor of all classes, 0 before the first answer. */
int64_t window_limit_floor(const struct window_limit *limit);

#endif
