/*
 * Metrics of queues, under the names that dashboards know: what each holds, wants, deserves, may
 * hold and is promised.
 */
#ifndef PUMICE_SCHEDULER_QUEUE_METRICS_H
#define PUMICE_SCHEDULER_QUEUE_METRICS_H

#include "scheduler/scheduler.h"

struct queue_metrics;

/* Families in `all`, brought up to date before every print; both are borrowed. */
struct queue_metrics *queue_metrics_new(struct metrics *all, struct scheduler *scheduler);
void queue_metrics_free(struct queue_metrics *metrics);

#endif
