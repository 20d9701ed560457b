/*
 * Metrics about jobs, under the names that dashboards know. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_JOB_METRICS_H
#define PUMICE_CONTROLLER_JOB_METRICS_H

#include "controller/job/control.h"
#include "ops/metrics.h"

/* Jobs with series at most: of those that have ended and still exist the last ones. A cluster may
 * have any number of them, and who reads /metrics pays for each. */
#define JOB_METRICS_MOST 1000

/* Registers the families; owned by `metrics`. */
void job_metrics_init(struct job_metrics *job_metrics, struct metrics *metrics);

/* The job has come to `phase`; Completed and Failed are counted. */
void job_metrics_phase(const struct job_control *control, enum job_phase phase);
/* A pod was made `latency_ns` after its job. */
void job_metrics_pod_made(const struct controller *controller, int64_t latency_ns);
/* These are the shards that it has now. */
void job_metrics_shards(const struct controller *controller, shard_set set);
/* Drops the series of a job that is gone. */
void job_metrics_gone(struct controller *controller, const struct job *job);
void job_metrics_clear(struct job_metrics *job_metrics);

#endif
