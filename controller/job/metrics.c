/*
 * Metrics about jobs: see metrics.h. Without a registry (in tests) nothing is counted.
 */
#include "controller/job/metrics.h"

/* 30 bounds from 50 ms to 60 s, each 1.277 times the one before. */
static const double latency_bounds[] = {
    50,      63.8482, 81.5319, 104.113, 132.949, 169.771, 216.791, 276.835, 353.508, 451.417,
    576.443, 736.097, 939.97,  1200.31, 1532.75, 1957.27, 2499.36, 3191.59, 4075.55, 5204.33,
    6645.74, 8486.37, 10836.8, 13838.2, 17670.9, 22565.1, 28814.8, 36795.4, 46986.4, 60000};

void job_metrics_init(struct job_metrics *job_metrics, struct metrics *metrics)
{
    static const char *const labels[] = {"job_name", "queue_name", NULL};

    job_metrics->completed =
        metric_new(metrics, METRIC_COUNTER, "volcano_job_completed_phase_count",
                   "How often the job came to phase Completed.", labels);
    job_metrics->failed = metric_new(metrics, METRIC_COUNTER, "volcano_job_failed_phase_count",
                                     "How often the job came to phase Failed.", labels);
    job_metrics->pod_latency = metric_new(
        metrics, METRIC_HISTOGRAM, "volcano_controller_job_to_pod_creation_latency_milliseconds",
        "Time from the creation of a job to that of each of its pods.", NULL);
    metric_buckets(job_metrics->pod_latency, latency_bounds, ARRAY_SIZE(latency_bounds));
    job_metrics->shards = metric_new(metrics, METRIC_GAUGE, "pumice_controller_shards",
                                     "Shards of the jobs that this process writes for.", NULL);
}

void job_metrics_phase(const struct job_control *control, enum job_phase phase)
{
    const struct job_metrics *metrics = &control->controller->job_metrics;
    struct metric *metric = phase == JOB_COMPLETED ? metrics->completed
                            : phase == JOB_FAILED  ? metrics->failed
                                                   : NULL;

    if (!metric)
        return;
    cleanup_free char *name = xasprintf("%s/%s", control->ns, control->name);
    metric_add(metric, (const char *const[]){name, control->job->queue}, 1);
}

void job_metrics_pod_made(const struct controller *controller, int64_t latency_ns)
{
    if (controller->job_metrics.pod_latency)
        metric_observe(controller->job_metrics.pod_latency, NULL,
                       (double)latency_ns / (double)NSEC_PER_MSEC);
}

void job_metrics_shards(const struct controller *controller, shard_set set)
{
    if (controller->job_metrics.shards)
        metric_set(controller->job_metrics.shards, NULL, __builtin_popcountll(set));
}

void job_metrics_gone(const struct controller *controller, const struct job *job)
{
    const struct job_metrics *metrics = &controller->job_metrics;
    cleanup_free char *name = xasprintf("%s/%s", job->meta.ns, job->meta.name);
    const char *const values[] = {name, job->queue};

    if (metrics->completed)
        metric_remove(metrics->completed, values);
    if (metrics->failed)
        metric_remove(metrics->failed, values);
}
