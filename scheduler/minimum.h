/*
 * A gang's minimum: spec.minMember of its PodGroup or, where that is unset or 0, the annotation
 * scheduling.volcano.sh/min-available (or minAvailable), a count or a percentage.
 *
 * A percentage is of the pods of the group that there are and that have neither failed nor are on
 * their way out, rounded up, at least 1; it follows them. Pods come one after the other, so a gang
 * with a percentage none of whose pods has a node starts only when no pod has come for
 * MINIMUM_SETTLE. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_MINIMUM_H
#define PUMICE_SCHEDULER_MINIMUM_H

#include "scheduler/scheduler.h"

#define MINIMUM_SETTLE (2 * NSEC_PER_SEC)

/* What a PodGroup says of the minimum, into the job; the minTaskMembers are read before it. */
void minimum_read(struct sched_job *job, const struct podgroup *podgroup);
/* The minimum that a PodGroup gives the job with the pods it has, found out afresh. */
int32_t minimum_of(const struct sched_job *job, const struct podgroup *podgroup);
/* The job's pods have changed. */
void minimum_follow(struct sched_job *job);
/* A pod has come: the gang is waited for. */
void minimum_pod_came(struct sched_job *job);
/* Ends the wait for further pods when it is over. */
void minimum_look(struct sched_job *job);
/* When it is over, loop time; INT64_MAX when there is none. */
int64_t minimum_next(const struct sched_job *job);
/* Says in an Event, once, that the annotation has no effect. */
void minimum_tell(struct scheduler *scheduler, struct sched_job *job);

#endif
