/*
 * Metrics about queues: see metrics.h.
 */
#include "controller/queue/metrics.h"
#include "api/names.h"
#include <string.h>

static const struct {
    const char *phase, *name, *help;
} phases[QUEUE_PHASE_COUNT] = {
    [QUEUE_PHASE_PENDING] = {PODGROUP_PENDING, "volcano_queue_pod_group_pending_count",
                             "PodGroups of the queue in phase Pending."},
    [QUEUE_PHASE_INQUEUE] = {PODGROUP_INQUEUE, "volcano_queue_pod_group_inqueue_count",
                             "PodGroups of the queue in phase Inqueue."},
    [QUEUE_PHASE_RUNNING] = {PODGROUP_RUNNING, "volcano_queue_pod_group_running_count",
                             "PodGroups of the queue in phase Running."},
    [QUEUE_PHASE_UNKNOWN] = {PODGROUP_UNKNOWN, "volcano_queue_pod_group_unknown_count",
                             "PodGroups of the queue in phase Unknown."},
    [QUEUE_PHASE_COMPLETED] = {PODGROUP_COMPLETED, "volcano_queue_pod_group_completed_count",
                               "PodGroups of the queue in phase Completed."},
};

void queue_metrics_init(struct queue_metrics *queue_metrics, struct metrics *metrics)
{
    static const char *const labels[] = {"queue_name", NULL};

    for (size_t i = 0; i < QUEUE_PHASE_COUNT; i++)
        queue_metrics->families[i] =
            metric_new(metrics, METRIC_GAUGE, phases[i].name, phases[i].help, labels);
}

enum queue_phase queue_phase_of(const char *phase)
{
    for (size_t i = 0; i < QUEUE_PHASE_COUNT; i++) {
        if (strcmp(phases[i].phase, phase) == 0)
            return (enum queue_phase)i;
    }
    return QUEUE_PHASE_COUNT;
}

void queue_metrics_set(const struct queue_metrics *queue_metrics, const char *queue,
                       enum queue_phase phase, uint32_t count)
{
    if (phase < QUEUE_PHASE_COUNT && queue_metrics->families[phase])
        metric_set(queue_metrics->families[phase], (const char *const[]){queue}, count);
}

void queue_metrics_gone(const struct queue_metrics *queue_metrics, const char *queue)
{
    for (size_t i = 0; i < QUEUE_PHASE_COUNT; i++) {
        if (queue_metrics->families[i])
            metric_remove(queue_metrics->families[i], (const char *const[]){queue});
    }
}
