/*
 * Metrics of jobs and namespaces. See job_metrics.h.
 *
 * Nothing is kept between two readings: each takes all series out and sets those that stand.
 */
#include "scheduler/job_metrics.h"

struct job_metrics {
    const struct scheduler *scheduler; /* borrowed */
    struct metric *jobs, *waiting_jobs, *waiting_pods, *left_out;
    struct metric *pods_unplaced, *tries;                         /* of jobs that wait */
    struct metric *duration, *start_time, *last_time, *job_share; /* of jobs */
    struct metric *share, *weight, *weighted_share;               /* of namespaces */
};

/* ---- jobs that wait -------------------------------------------------------------------------- */

static void show_waiting(struct job_metrics *metrics, const struct sched_job *job)
{
    cleanup_free char *name = xasprintf("%s/%s", job->ns, job->name);
    const char *const labels[] = {name, NULL};
    metric_set(metrics->pods_unplaced, labels, job_waiting(job));
    metric_set(metrics->tries, labels, job->attempts);
}

/* Returns how many are left out. */
static size_t collect_waiting(struct job_metrics *metrics)
{
    const struct scheduler *scheduler = metrics->scheduler;
    size_t jobs = 0, pods = 0;
    void *value;
    metric_clear(metrics->pods_unplaced);
    metric_clear(metrics->tries);
    for (size_t i = 0; map_next(&scheduler->cache.jobs_by_key, &i, NULL, &value);) {
        const struct sched_job *job = value;
        pods += job_waiting(job);
        if (job->why.kind == WHY_NONE)
            continue;
        if (++jobs <= JOB_METRICS_MAX && scheduler->leading)
            show_waiting(metrics, job);
    }
    metric_set(metrics->waiting_jobs, NULL, (double)jobs);
    metric_set(metrics->waiting_pods, NULL, (double)pods);
    return jobs > JOB_METRICS_MAX ? jobs - JOB_METRICS_MAX : 0;
}

/* ---- all jobs -------------------------------------------------------------------------------- */

static double seconds(int64_t wall_ns)
{
    int64_t whole = wall_ns / NSEC_PER_SEC;
    return (double)whole;
}

static void show_job(struct job_metrics *metrics, const struct sched_job *job)
{
    const char *const labels[] = {job->name, job->queue->name, job->ns, NULL};
    const char *const id[] = {job->ns, job->name, NULL};
    metric_set(metrics->start_time, labels, seconds(job->created_ns));
    if (job->placed_ns) {
        int64_t took = job->placed_ns - job->created_ns;
        metric_set(metrics->last_time, labels, seconds(job->placed_ns));
        metric_set(metrics->duration, labels, took > 0 ? (double)took / 1e6 : 0);
    }
    if (job->allocated.n)
        metric_set(metrics->job_share, id,
                   cache_dominant_share(&metrics->scheduler->cache, &job->allocated));
}

static size_t collect_jobs(struct job_metrics *metrics)
{
    const struct scheduler *scheduler = metrics->scheduler;
    size_t count = map_count(&scheduler->cache.jobs_by_key), before = 0, passed = 0;
    struct metric *const families[] = {metrics->duration, metrics->start_time, metrics->last_time,
                                       metrics->job_share};
    void *value;
    for (size_t i = 0; i < ARRAY_SIZE(families); i++)
        metric_clear(families[i]);
    if (count > JOB_METRICS_MAX)
        before = count - JOB_METRICS_MAX;
    for (size_t i = 0; map_next(&scheduler->cache.jobs_by_key, &i, NULL, &value);) {
        const struct sched_job *job = value;
        if (passed++ >= before && job->uid && scheduler->leading)
            show_job(metrics, job);
    }
    metric_set(metrics->jobs, NULL, (double)count);
    return before;
}

/* ---- namespaces ------------------------------------------------------------------------------ */

static void free_set(void *value)
{
    resource_set_clear(value);
    free(value);
}

/* What the pods of each namespace hold, by its name; at most JOB_METRICS_MAX of them. */
static void sum_up(const struct cache *cache, struct map *sums)
{
    void *value;
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);) {
        const struct sched_job *job = value;
        struct resource_set *sum = map_get(sums, str_of(job->ns));
        if (!job->allocated.n || (!sum && map_count(sums) == JOB_METRICS_MAX))
            continue;
        if (!sum) {
            sum = xnew(struct resource_set);
            map_set(sums, str_of(job->ns), sum);
        }
        resource_set_add(sum, &job->allocated, 1);
    }
}

static void collect_namespaces(struct job_metrics *metrics)
{
    const struct scheduler *scheduler = metrics->scheduler;
    struct map sums = {0};
    struct str key;
    void *value;
    metric_clear(metrics->share);
    metric_clear(metrics->weight);
    metric_clear(metrics->weighted_share);
    if (scheduler->leading)
        sum_up(&scheduler->cache, &sums);
    for (size_t i = 0; map_next(&sums, &i, &key, &value);) {
        cleanup_free char *name = str_dup(key);
        const char *const labels[] = {name, NULL};
        double share = cache_dominant_share(&scheduler->cache, value);
        metric_set(metrics->share, labels, share);
        metric_set(metrics->weight, labels, 1);
        metric_set(metrics->weighted_share, labels, share);
    }
    map_clear_with(&sums, free_set);
}

/* ---- families -------------------------------------------------------------------------------- */

static void collect(void *arg)
{
    struct job_metrics *metrics = arg;
    size_t left_out = collect_waiting(metrics), of_all = collect_jobs(metrics);
    collect_namespaces(metrics);
    metric_set(metrics->left_out, NULL, (double)(left_out > of_all ? left_out : of_all));
}

static void make_totals(struct job_metrics *metrics, struct metrics *all)
{
    metrics->jobs = metric_new(all, METRIC_GAUGE, "pumice_scheduler_jobs",
                               "Jobs in the scheduler's cache.", NULL);
    metrics->waiting_jobs = metric_new(all, METRIC_GAUGE, "volcano_unschedule_job_count",
                                       "Jobs that wait for a reason.", NULL);
    metrics->waiting_pods = metric_new(all, METRIC_GAUGE, "pumice_scheduler_waiting_pods",
                                       "Pods of jobs without a node.", NULL);
    metrics->left_out = metric_new(all, METRIC_GAUGE, "pumice_scheduler_jobs_without_series",
                                   "Jobs that are too many to have series of their own.", NULL);
}

static void make_jobs(struct job_metrics *metrics, struct metrics *all)
{
    static const char *const job_id[] = {"job_id", NULL};
    static const char *const job[] = {"job_name", "queue", "job_namespace", NULL};
    static const char *const share[] = {"job_ns", "job_id", NULL};
    metrics->pods_unplaced = metric_new(all, METRIC_GAUGE, "volcano_unschedule_task_count",
                                        "Pods without a node of a job that waits.", job_id);
    metrics->tries = metric_new(all, METRIC_GAUGE, "volcano_job_retry_counts",
                                "Attempts to place a job that waits.", job_id);
    metrics->start_time = metric_new(all, METRIC_GAUGE, "volcano_e2e_job_scheduling_start_time",
                                     "When the job was created, in seconds since 1970.", job);
    metrics->last_time =
        metric_new(all, METRIC_GAUGE, "volcano_e2e_job_scheduling_last_time",
                   "When a pod of the job was given a node last, in seconds since 1970.", job);
    metrics->duration =
        metric_new(all, METRIC_GAUGE, "volcano_e2e_job_scheduling_duration",
                   "Time from the job's creation until then, in milliseconds.", job);
    metrics->job_share =
        metric_new(all, METRIC_GAUGE, "volcano_job_share",
                   "Largest part of any resource of the cluster that the job holds.", share);
}

static void make_namespaces(struct job_metrics *metrics, struct metrics *all)
{
    static const char *const labels[] = {"namespace_name", NULL};
    metrics->share =
        metric_new(all, METRIC_GAUGE, "volcano_namespace_share",
                   "Largest part of any resource of the cluster that its jobs hold.", labels);
    metrics->weight = metric_new(all, METRIC_GAUGE, "volcano_namespace_weight",
                                 "Always 1: namespaces have no weights.", labels);
    metrics->weighted_share = metric_new(all, METRIC_GAUGE, "volcano_namespace_weighted_share",
                                         "The share over the weight.", labels);
}

struct job_metrics *job_metrics_new(struct metrics *all, struct scheduler *scheduler)
{
    struct job_metrics *metrics = xnew(struct job_metrics);
    metrics->scheduler = scheduler;
    make_totals(metrics, all);
    make_jobs(metrics, all);
    make_namespaces(metrics, all);
    metrics_on_collect(all, collect, metrics);
    return metrics;
}

void job_metrics_free(struct job_metrics *metrics)
{
    free(metrics);
}
