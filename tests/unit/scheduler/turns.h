/*
 * How long a turn of the loop, or a step of a cycle, may take at most.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_TURNS_H
#define PUMICE_TESTS_UNIT_SCHEDULER_TURNS_H

#include "base/timefmt.h"
#include <time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TURN_MOST (200 * NSEC_PER_MSEC)
#else
#define TURN_MOST (20 * NSEC_PER_MSEC)
#endif

/* CPU time of this thread. */
static inline int64_t cpu_time(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

#endif
