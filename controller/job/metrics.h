/*
 * Metrics about jobs, under the names that dashboards know. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_JOB_METRICS_H
#define PUMICE_CONTROLLER_JOB_METRICS_H

#include "controller/job/control.h"
#include "ops/metrics.h"

/* Registers the families; owned by `metrics`. */
void job_metrics_init(struct job_metrics *job_metrics, struct metrics *metrics);

/* The job has come to `phase`; Completed and Failed are counted. */
void job_metrics_phase(const struct job_control *control, enum job_phase phase);
/* A pod was made `latency_ns` after its job. */
void job_metrics_pod_made(const struct controller *controller, int64_t latency_ns);
/* These are the shards that it has now. */
void job_metrics_shards(const struct controller *controller, shard_set set);
/* Drops the series of a job that is gone. */
void job_metrics_gone(const struct controller *controller, const struct job *job);

#endif
