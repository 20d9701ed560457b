/*
 * The time-out of gangs that wait in their queue.
 *
 * The clock runs while a gang is in phase Inqueue and below its minimum, for as long as its
 * annotation says, else the plugin gang. Then the gang goes back to phase Pending with the reason
 * WaitingTimeout, which ends its claim on its queue; pods stay as they are, bound or not. It may
 * enter again after WAITING_BACKOFF_FIRST, twice as long each time up to WAITING_BACKOFF_MOST, and
 * the plugin gang puts it behind jobs that have not timed out, until it has started.
 *
 * A scheduler that takes over reads the clock from the PodGroup: since when it has been
 * Unschedulable in phase Inqueue, or when its time was over. How often it was over is not there,
 * and the clock of a gang that was not told why it waits yet begins afresh. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_WAITING_H
#define PUMICE_SCHEDULER_WAITING_H

#include "scheduler/scheduler.h"

#define WAITING_BACKOFF_FIRST (10 * NSEC_PER_SEC)
#define WAITING_BACKOFF_MOST (INT64_C(10) * 60 * NSEC_PER_SEC)

/* Takes over what the PodGroup shows (job->phase and job->shown) of a job that somebody else has
 * decided about so far. */
void waiting_adopt(const struct cache *cache, struct sched_job *job);
/* Reads the annotation. */
void waiting_read(struct sched_job *job, const struct podgroup *podgroup);
/* Whether the job, in phase Pending, may be asked to enter: not while a time-out keeps it out. */
bool waiting_may_enter(const struct sched_job *job);
/* A job that a time-out keeps out may have been out for long enough: has it asked. */
void waiting_look(struct sched_job *job);
/* Keeps the clock of a job whose phase was just worked out; when its time is over, sets its phase
 * to Pending and gives the reason. `ready`: it has its minimum. */
void waiting_check(struct scheduler *scheduler, struct sched_job *job, bool ready);
/* When the job is to be looked at for this reason, loop time; INT64_MAX for never. */
int64_t waiting_next(const struct scheduler *scheduler, const struct sched_job *job);
/* The configuration has changed: has every job with a clock looked at. */
void waiting_config_changed(struct cache *cache);

#endif
