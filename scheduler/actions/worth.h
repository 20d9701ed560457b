/*
 * Which jobs are worth an attempt of the action allocate: those for which something has changed
 * since they failed, and whose queue may have more. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_ACTIONS_WORTH_H
#define PUMICE_SCHEDULER_ACTIONS_WORTH_H

#include "scheduler/scheduler.h"

/* Whether what is free in the cluster would be enough for the gang in sum; after a failure only
 * such a gang is worth the attempt. */
bool worth_sum_fits(const struct cache *cache, const struct sched_job *job);
/* Whether the queue has had its share; once it has, that stands for the cycle, and that it has not
 * does unless `look_again`. */
bool worth_spent(struct scheduler *scheduler, struct sched_queue *queue, bool look_again);
/* Whether it is a gang that was cut off half-way: some of it has nodes, not all that it needs. */
bool worth_broken(const struct scheduler *scheduler, const struct sched_job *job);
/* An attempt failed, since its queue may not have it (`refused`) or for want of room: it is worth
 * the next when that has changed. */
void worth_failed(const struct cache *cache, struct sched_job *job, bool refused);
/* Whether the job is worth an attempt in this cycle; why not is noted for the job. */
bool worth_try(struct scheduler *scheduler, struct sched_job *job);

#endif
