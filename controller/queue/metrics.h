/*
 * How many PodGroups of each phase a queue has, as metrics under the names that dashboards know.
 * Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_QUEUE_METRICS_H
#define PUMICE_CONTROLLER_QUEUE_METRICS_H

#include "ops/metrics.h"

enum queue_phase {
    QUEUE_PHASE_PENDING,
    QUEUE_PHASE_INQUEUE,
    QUEUE_PHASE_RUNNING,
    QUEUE_PHASE_UNKNOWN,
    QUEUE_PHASE_COMPLETED,
    QUEUE_PHASE_COUNT /* a phase that is not counted */
};

/* Families by phase; NULL without a registry, and nothing is told then. */
struct queue_metrics {
    struct metric *families[QUEUE_PHASE_COUNT];
};

/* Registers the families; owned by `metrics`. */
void queue_metrics_init(struct queue_metrics *queue_metrics, struct metrics *metrics);
enum queue_phase queue_phase_of(const char *phase);
void queue_metrics_set(const struct queue_metrics *queue_metrics, const char *queue,
                       enum queue_phase phase, uint32_t count);
/* Drops the series of that queue. */
void queue_metrics_gone(const struct queue_metrics *queue_metrics, const char *queue);

#endif
