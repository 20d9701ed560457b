/*
 * Who gave room to whom, as long as the workload is the same: then nobody takes it back.
 *
 * Every rule of evictions has an order that an eviction does not turn round: priorities, shares of
 * jobs, what queues deserve. But several of them count at once, and of several resources: a queue
 * takes a pod for its CPUs, another takes memory back, a job of that queue takes the memory from it
 * for a pod with CPUs. So whoever gave room to a job, directly or by way of others, has that job's
 * pods not evicted (but for its own) until the workload is another one (cache->workload). Then
 * evictions come to an end: jobs that nobody may take from stay where they are, then those that
 * only these may take from, and so on. Loop thread only; nothing survives a restart.
 */
#ifndef PUMICE_SCHEDULER_EVICT_LOSSES_H
#define PUMICE_SCHEDULER_EVICT_LOSSES_H

#include "base/map.h"
#include "scheduler/cache.h"

/* All 0 is one in which nobody gave anything. */
struct evict_losses {
    uint64_t workload; /* for which this is true */
    struct map takers; /* owned; by the UID of the PodGroup that gave */
};

/* Frees what it holds; nobody gave anything then. */
void losses_clear(struct evict_losses *losses);
/* A pod of the one is evicted for the other; both have PodGroups. */
void losses_note(struct evict_losses *losses, const struct cache *cache,
                 const struct sched_job *giver, const struct sched_job *taker);
/* The UIDs of PodGroups from which the job may not take, as keys; the caller clears the map. */
void losses_of(const struct evict_losses *losses, const struct sched_job *job,
               struct map *ret_uids);

#endif
