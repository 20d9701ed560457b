/*
 * What a job that asks to enter may count on because others would be evicted for it.
 *
 * Without this a job that is to have others evicted would never get pods where the cluster or its
 * queue is full, and without pods nobody is evicted for it. It is a bound, not a decision: who
 * really goes is found out once its pods are there (plan.h). With an action that preempts it is
 * what jobs of lower priority in its queue hold; with one that reclaims, what other reclaimable
 * queues hold, but no more than its own queue lacks of what it is entitled to. Victims are of one
 * kind, so the two do not add up. Jobs of a priority class that never preempts count on nothing.
 *
 * What queues hold is summed up by priority once a cycle, when the first job asks. Loop thread
 * only.
 */
#ifndef PUMICE_SCHEDULER_EVICT_PROSPECTS_H
#define PUMICE_SCHEDULER_EVICT_PROSPECTS_H

#include "scheduler/cache.h"

struct sched_config;
struct prospects;

enum prospect {
    PROSPECT_IN_QUEUE,  /* what its queue has given to others */
    PROSPECT_ELSEWHERE, /* what other queues have */
    PROSPECT_COUNT
};

struct prospects *prospects_new(void);
/* NULL is fine. */
void prospects_free(struct prospects *prospects);
/* The beginning of a cycle: what was summed up is forgotten. The configuration, whose plugins and
 * actions say who is evicted for whom, is borrowed until the next. */
void prospects_begin(struct prospects *prospects, const struct sched_config *config,
                     const struct cache *cache);
/* How much the job may count on, of each resource that `needs` names; false when nothing.
 * `prospects` may be NULL: nobody is evicted. `ret_more` is to be cleared. */
bool prospects_of(struct prospects *prospects, const struct sched_job *job, enum prospect kind,
                  const struct resource_set *needs, struct resource_set *ret_more);
/* Whether either is enough for what the job needs: `enough` is asked for each kind of which there
 * is anything. */
typedef bool prospects_enough_fn(const void *arg, enum prospect kind,
                                 const struct resource_set *needs, const struct resource_set *more);
bool prospects_suffice(const struct sched_job *job, const struct resource_set *needs,
                       prospects_enough_fn *enough, const void *arg);

#endif
