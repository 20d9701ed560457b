/*
 * Gangs that are larger than the share of their queue, and whose turn it is to be lent what nobody
 * else can use.
 *
 * Within the shares nothing more can be placed when allocate has tried all jobs. What is free then
 * goes to such gangs, one for each queue that holds nothing, queues in turn: else they would wait
 * for each other beside an idle cluster. Lives within one run of allocate; loop thread only.
 */
#ifndef PUMICE_SCHEDULER_ACTIONS_LENDING_H
#define PUMICE_SCHEDULER_ACTIONS_LENDING_H

#include "scheduler/cache.h"

struct lending_gang {
    struct sched_job *job; /* borrowed */
    uint64_t attempt;      /* number of the one in which its queue could not have it */
};

struct lending {
    VEC(struct lending_gang) gangs;
    size_t done; /* those before it have had their turn; the others are in order once it is not 0 */
};

/* Frees what it holds. */
void lending_clear(struct lending *lending);
/* A gang that its queue could not have, in the attempt of that number. */
void lending_add(struct lending *lending, struct sched_job *job, uint64_t attempt);
/* The next gang to be lent something, when there is nothing else to try; NULL when there is none.
 * Queues of higher priority go first, then those that were lent something longest ago
 * (queue->lent), then those that were tried first. */
struct sched_job *lending_next(struct lending *lending);

#endif
