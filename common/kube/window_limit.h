/*
 * struct window_limit: how many requests may be in flight, from what the server's answers tell.
 *
 * Each class has a floor, what a request of it takes on average while no more than four of ours are
 * in flight: service, distance, and the queue that other clients make. A class has its own because
 * a create passes admission and a bind does not. What counts is the latency relative to the floor,
 * smoothed over about one window of answers: what it is above one, our own queue makes. Below 1.75
 * the limit grows while it is fully used, quickly below 1.4; above it shrinks towards the target,
 * but not below `leaves`: who gives way to everybody gets nothing done. 429 and 5xx shrink it down
 * to one, from where it grows to that again whatever the latency. After any decrease nothing moves
 * for one latency, until answers show its effect.
 *
 * The window begins with a probe, which measures the floor with eight answers or more; another
 * comes after 200 times the floor, 1 s at least and 15 s at most; after 2 s while latency holds the
 * limit down there, for others may be the cause of it; and after half a second when answers
 * come much faster than the floor says. So no past of the server, fast or slow, is remembered for
 * long. No clock of its own. A fixed limit only watches: its value never moves.
 */
#ifndef PUMICE_KUBE_WINDOW_LIMIT_H
#define PUMICE_KUBE_WINDOW_LIMIT_H

#include "kube/window.h"

struct window_floor {
    double latency; /* nanoseconds, 0 until it has been measured */
    double sum;     /* of the latencies in the measurement under way, or the last ... */
    unsigned count; /* ... and how many */
};

struct window_limit {
    double value, max;
    double leaves; /* latency alone takes the value no lower */
    struct window_floor floors[WINDOW_CLASS_COUNT];
    double ratio;           /* smoothed latency / floor, 0 before there is one */
    double latency;         /* smoothed, nanoseconds */
    int64_t settle_ns;      /* no change before this time */
    int64_t probe_ns;       /* when the last probe began */
    int64_t probe_until_ns; /* when the present one may end */
    unsigned probed;        /* answers of the present one */
    bool probing;
    bool fixed; /* the value stays as it is */
};

void window_limit_init(struct window_limit *limit, unsigned initial, unsigned max, unsigned leaves);
/* `value` for good, whatever the server answers. */
void window_limit_init_fixed(struct window_limit *limit, unsigned value);
/* How many may be in flight now: the value, or less during a probe. */
unsigned window_limit_now(const struct window_limit *limit);
/* An answer that is no fault; `used`: the window was full while the request was in flight. */
void window_limit_answer(struct window_limit *limit, enum window_class cls, int64_t latency_ns,
                         bool used, int64_t now);
/* A 429, a 5xx or no answer. True when it counts: faults within one latency count as one. */
bool window_limit_fault(struct window_limit *limit, int64_t now);
/* The smallest floor of all classes, 0 before the first. */
int64_t window_limit_floor(const struct window_limit *limit);

#endif
