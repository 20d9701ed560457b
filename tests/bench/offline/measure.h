/*
 * What one run of a scheduler costs: CPU time of its turns and cycles, allocations, memory.
 *
 * Calls of malloc and its kind, and of the scheduler's own steps fit_table_of, statement_place and
 * bind_start, are counted by functions that the linker puts before them (--wrap): so only calls
 * from our own libraries are seen. Times are CPU times of this thread. One thread.
 */
#ifndef PUMICE_BENCH_OFFLINE_MEASURE_H
#define PUMICE_BENCH_OFFLINE_MEASURE_H

#include "rig.h"

/* Times of many turns or cycles, in nanoseconds. */
struct measure_times {
    uint64_t count;
    int64_t sum, median, p99, longest;
};

struct measure {
    int64_t cpu_ns;       /* of all turns from the lead to the end */
    uint64_t binds;       /* granted */
    uint64_t writes;      /* other requests */
    uint64_t placements;  /* pods given a node, by attempts that were undone as well */
    uint64_t waiting;     /* pods that have no node in the end */
    uint64_t lookups;     /* tables asked for */
    uint64_t refreshed;   /* nodes looked at for tables */
    uint64_t gangs;       /* placements that were the first of a job's attempt */
    int64_t placing_ns;   /* from the first to the last placement of attempts of two or more */
    uint64_t placing;     /* placements in that time: all but the first */
    uint64_t hot;         /* placements right after another one in the same turn, */
    uint64_t hot_allocs;  /* and allocations in between */
    uint64_t step_allocs; /* allocations in the steps of actions, */
    uint64_t bind_allocs; /* of these in bind_start */
    struct measure_times turns, cycles;
    int64_t virtual_ns; /* how far the clock of the loop went */
};

/* Bytes that the allocator has in use. */
size_t measure_memory(void);
/* Lets the scheduler lead until nothing changes any more. Once a process. */
void measure_run(struct rig *rig, struct measure *ret);

#endif
