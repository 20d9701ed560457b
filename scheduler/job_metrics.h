/*
 * Metrics of single jobs and of namespaces, under the names that dashboards know.
 *
 * Series stand for what is in the cache when the page is read, so those of a job go with its
 * PodGroup. At most JOB_METRICS_MAX jobs have series: of those that wait, the ones that came first;
 * of all, the ones that came last. How many are left out is a metric of its own.
 */
#ifndef PUMICE_SCHEDULER_JOB_METRICS_H
#define PUMICE_SCHEDULER_JOB_METRICS_H

#include "scheduler/scheduler.h"

#define JOB_METRICS_MAX 1000

struct job_metrics;

/* Families in `all`, brought up to date before every print; both are borrowed. */
struct job_metrics *job_metrics_new(struct metrics *all, struct scheduler *scheduler);
void job_metrics_free(struct job_metrics *metrics);

#endif
