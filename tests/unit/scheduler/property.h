/*
 * What tests on random clusters share: which seeds they live through, and a look at the invariants
 * after every cycle.
 *
 * PUMICE_SEED=N repeats one seed, for longer than usual where that finds more; PUMICE_SEEDS=M-N
 * takes these instead of the usual ones.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_PROPERTY_H
#define PUMICE_TESTS_UNIT_SCHEDULER_PROPERTY_H

#include "cluster.h"
#include <stdlib.h>

struct property {
    void (*live)(uint64_t seed, unsigned steps); /* one cluster, from its beginning to its end */
    unsigned seeds;                              /* 1 to this, unless others are wanted */
    unsigned steps;                              /* of each */
    unsigned alone_steps;                        /* of one that is repeated by itself */
};

/* The seeds that PUMICE_SEEDS names; false when it does not. */
static inline bool property_range(uint64_t *ret_first, uint64_t *ret_last)
{
    const char *wanted = getenv("PUMICE_SEEDS");
    struct str rest = str_of(wanted ? wanted : ""), first;
    return wanted && str_split(&rest, '-', &first) && str_to_u64(first, ret_first) &&
           str_to_u64(rest, ret_last);
}

static inline void property_run(const struct property *property)
{
    const char *wanted = getenv("PUMICE_SEED");
    uint64_t seed, first = 1, last = property->seeds;
    if (wanted && str_to_u64(str_of(wanted), &seed)) {
        property->live(seed, property->alone_steps);
        return;
    }
    (void)property_range(&first, &last);
    for (uint64_t each = first; each <= last; each++) {
        print_message("seed %llu\n", (unsigned long long)each);
        property->live(each, property->steps);
    }
}

/* Runs for a time and looks at the invariants whenever a cycle has ended, and at the end. */
static inline void run_watched(struct cluster *c, int64_t ns, void (*look)(void *arg), void *arg)
{
    int64_t end = loop_now(c->loop) + ns;
    uint64_t seen = c->scheduler->cycle.number;
    while (loop_now(c->loop) < end && loop_turn(c->loop, end - loop_now(c->loop))) {
        const struct cycle *cycle = &c->scheduler->cycle;
        if (cycle->stage != CYCLE_IDLE || cycle->number == seen)
            continue;
        seen = cycle->number;
        look(arg);
    }
    look(arg);
}

#endif
