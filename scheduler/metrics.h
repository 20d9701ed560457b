/*
 * The scheduler's metrics, under the names that dashboards know where the meaning is the same.
 * Without a metrics collection every call does nothing.
 */
#ifndef PUMICE_SCHEDULER_METRICS_H
#define PUMICE_SCHEDULER_METRICS_H

#include "scheduler/scheduler.h"

/* NULL when the scheduler has no metrics. */
struct sched_metrics *metrics_start(struct scheduler *scheduler);
void metrics_end(struct sched_metrics *metrics);
/* A cycle took that long, pauses between its slices aside. */
void metrics_cycle(struct scheduler *scheduler, int64_t cost_ns);
/* The plugins began a cycle. */
void metrics_begin(struct scheduler *scheduler);
/* An action took that long, pauses aside. */
void metrics_action(struct scheduler *scheduler, const char *action, int64_t cost_ns);
/* A job's minimum was placed. */
void metrics_job(struct scheduler *scheduler, const struct sched_job *job);
/* A bind took effect, or failed. */
void metrics_bind(struct scheduler *scheduler, const struct pod *pod, bool bound);

#endif
