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
/* A bind took effect, or failed. */
void metrics_bind(struct scheduler *scheduler, bool bound);

#endif
