/*
 * Which jobs allocate tries: not those for which nothing has changed since they failed, nor those
 * of queues that have had their share. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_ACTIONS_WORTH_H
#define PUMICE_SCHEDULER_ACTIONS_WORTH_H

#include "scheduler/scheduler.h"

/* Whether the job is worth a try; if not for the share of its queue, it is told. */
bool worth_trying(struct scheduler *scheduler, struct sched_job *job);
/* A gang was cut off half-way. */
bool worth_is_broken(const struct scheduler *scheduler, const struct sched_job *job);
/* Whether the queue has had its share; once it has, that stands for the cycle. `look_again`: it had
 * not when it was looked at first. */
bool worth_is_spent(struct scheduler *scheduler, struct sched_queue *queue, bool look_again);
/* The holder's places are made up also when the whole would not fit yet. */
bool worth_only_holding(struct scheduler *scheduler, const struct sched_job *job);
/* An attempt failed; `refused`: since the queue could not have it. */
void worth_note_failure(const struct cache *cache, struct sched_job *job, bool refused);

#endif
