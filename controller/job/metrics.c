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

static void drop_series(struct job_metrics *metrics, const char *name, const char *queue)
{
    const char *const values[] = {name, queue};
    metric_remove(metrics->completed, values);
    metric_remove(metrics->failed, values);
}

/* The first of those that have series have them no more. */
static void drop_first(struct job_metrics *metrics)
{
    size_t position = 0;
    struct str key = STR_NULL, name = STR_NULL;
    (void)map_next(&metrics->ended, &position, &key, NULL);
    cleanup_free char *both = str_dup(key);
    struct str queue = str_of(both);
    (void)str_split(&queue, '\n', &name);
    cleanup_free char *first = str_dup(name);
    drop_series(metrics, first, queue.p);
    (void)map_del(&metrics->ended, str_of(both));
}

/* It has series from now on. */
static void note_ended(struct job_metrics *metrics, const char *name, const char *queue)
{
    cleanup_free char *key = xasprintf("%s\n%s", name, queue);
    if (map_has(&metrics->ended, str_of(key)))
        return;
    (void)map_set(&metrics->ended, str_of(key), NULL);
    if (map_count(&metrics->ended) > JOB_METRICS_MOST)
        drop_first(metrics);
}

void job_metrics_phase(const struct job_control *control, enum job_phase phase)
{
    struct job_metrics *metrics = &control->controller->job_metrics;
    struct metric *metric = phase == JOB_COMPLETED ? metrics->completed
                            : phase == JOB_FAILED  ? metrics->failed
                                                   : NULL;

    if (!metric)
        return;
    cleanup_free char *name = xasprintf("%s/%s", control->ns, control->name);
    note_ended(metrics, name, control->job->queue);
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

void job_metrics_gone(struct controller *controller, const struct job *job)
{
    struct job_metrics *metrics = &controller->job_metrics;
    cleanup_free char *name = xasprintf("%s/%s", job->meta.ns, job->meta.name);
    cleanup_free char *key = xasprintf("%s\n%s", name, job->queue);
    if (!map_has(&metrics->ended, str_of(key)))
        return;
    (void)map_del(&metrics->ended, str_of(key));
    drop_series(metrics, name, job->queue);
}

void job_metrics_clear(struct job_metrics *job_metrics)
{
    map_clear(&job_metrics->ended);
}
