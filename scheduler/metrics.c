/*
 * Metrics. See metrics.h. Gauges are brought up to date when the page is read.
 */
#include "scheduler/metrics.h"
#include "scheduler/queue_metrics.h"

struct sched_metrics {
    struct metric *cycle, *cycles, *begin, *action, *plugin, *job, *task, *attempts;
    struct metric *jobs, *waiting_jobs, *waiting_pods, *nodes;
    struct metric *job_pods, *job_tries;
    struct map shown;  /* jobs that have series of the last two, to the reading that set them */
    uintptr_t reading; /* number of the present or last one */
    struct queue_metrics *queues; /* owned */
};

static const double short_bounds[] = {0.1, 0.2, 0.5, 1,   2,    5,    10,  20,
                                      50,  100, 200, 500, 1000, 2000, 5000};
static const double long_bounds[] = {10,   20,   50,    100,   200,   500,    1000,
                                     2000, 5000, 10000, 20000, 50000, 120000, 600000};

/* ---- what waits ------------------------------------------------------------------------------ */

static void show_job(struct sched_metrics *metrics, const struct sched_job *job)
{
    cleanup_free char *name = xasprintf("%s/%s", job->ns, job->name);
    const char *const labels[] = {name, NULL};
    map_set(&metrics->shown, str_of(name), (void *)metrics->reading);
    metric_set(metrics->job_pods, labels, job_waiting(job));
    metric_set(metrics->job_tries, labels, job->attempts);
}

/* Takes out the series of jobs that do not wait any more. */
static void hide_jobs(struct sched_metrics *metrics)
{
    struct str key;
    void *reading;
    for (size_t i = 0; map_next(&metrics->shown, &i, &key, &reading);) {
        if ((uintptr_t)reading == metrics->reading)
            continue;
        cleanup_free char *name = str_dup(key);
        const char *const labels[] = {name, NULL};
        metric_remove(metrics->job_pods, labels);
        metric_remove(metrics->job_tries, labels);
        map_del(&metrics->shown, str_of(name));
    }
}

static void collect(void *arg)
{
    const struct scheduler *scheduler = arg;
    struct sched_metrics *metrics = scheduler->metrics;
    const struct cache *cache = &scheduler->cache;
    double waiting_jobs = 0, waiting_pods = 0;
    void *value;
    metrics->reading++;
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);) {
        const struct sched_job *job = value;
        waiting_jobs += job->why.kind != WHY_NONE;
        waiting_pods += job_waiting(job);
        if (job->why.kind != WHY_NONE && scheduler->leading)
            show_job(metrics, job);
    }
    hide_jobs(metrics);
    metric_set(metrics->jobs, NULL, (double)map_count(&cache->jobs_by_key));
    metric_set(metrics->waiting_jobs, NULL, waiting_jobs);
    metric_set(metrics->waiting_pods, NULL, waiting_pods);
    metric_set(metrics->nodes, NULL, (double)cache->known_nodes);
}

/* ---- families -------------------------------------------------------------------------------- */

static struct metric *histogram(struct metrics *all, const char *name, const char *help,
                                const char *const *labels, bool is_long)
{
    struct metric *metric = metric_new(all, METRIC_HISTOGRAM, name, help, labels);
    if (is_long)
        metric_buckets(metric, long_bounds, ARRAY_SIZE(long_bounds));
    else
        metric_buckets(metric, short_bounds, ARRAY_SIZE(short_bounds));
    return metric;
}

static void make_latencies(struct sched_metrics *metrics, struct metrics *all)
{
    static const char *const action_label[] = {"action", NULL};
    static const char *const plugin_labels[] = {"plugin", "OnSession", NULL};
    static const char *const stage_label[] = {"stage", NULL};
    metrics->cycle = histogram(all, "volcano_e2e_scheduling_latency_milliseconds",
                               "Time a scheduling cycle took, pauses aside.", NULL, false);
    metrics->begin = histogram(all, "volcano_open_session_duration_milliseconds",
                               "Time all plugins took to begin a cycle.", NULL, false);
    metrics->action = histogram(all, "volcano_action_scheduling_latency_milliseconds",
                                "Time an action took, pauses aside.", action_label, false);
    metrics->plugin = histogram(all, "volcano_plugin_scheduling_latency_milliseconds",
                                "Time a plugin took to begin a cycle.", plugin_labels, false);
    metrics->job =
        histogram(all, "volcano_e2e_job_scheduling_latency_milliseconds",
                  "Time from a job's creation until its minimum was placed.", NULL, true);
    metrics->task = histogram(all, "volcano_task_scheduling_latency_milliseconds",
                              "Time from a pod's creation until it was bound.", stage_label, true);
}

static void make_job_gauges(struct sched_metrics *metrics, struct metrics *all)
{
    static const char *const job_label[] = {"job_id", NULL};
    metrics->jobs = metric_new(all, METRIC_GAUGE, "pumice_scheduler_jobs",
                               "Jobs in the scheduler's cache.", NULL);
    metrics->waiting_jobs = metric_new(all, METRIC_GAUGE, "volcano_unschedule_job_count",
                                       "Jobs that wait for a reason.", NULL);
    metrics->job_pods = metric_new(all, METRIC_GAUGE, "volcano_unschedule_task_count",
                                   "Pods without a node of a job that waits.", job_label);
    metrics->job_tries = metric_new(all, METRIC_GAUGE, "volcano_job_retry_counts",
                                    "Attempts to place a job that waits.", job_label);
    metrics->waiting_pods = metric_new(all, METRIC_GAUGE, "pumice_scheduler_waiting_pods",
                                       "Pods of jobs without a node.", NULL);
}

struct sched_metrics *metrics_start(struct scheduler *scheduler)
{
    static const char *const result_label[] = {"result", NULL};
    struct metrics *all = scheduler->params.metrics;
    if (!all)
        return NULL;
    struct sched_metrics *metrics = xnew(struct sched_metrics);
    make_latencies(metrics, all);
    metrics->cycles = metric_new(all, METRIC_COUNTER, "pumice_scheduler_cycles_total",
                                 "Scheduling cycles so far.", NULL);
    metrics->attempts = metric_new(all, METRIC_COUNTER, "volcano_schedule_attempts_total",
                                   "Binds by result.", result_label);
    make_job_gauges(metrics, all);
    metrics->nodes = metric_new(all, METRIC_GAUGE, "pumice_scheduler_nodes",
                                "Nodes in the scheduler's cache.", NULL);
    metrics->queues = queue_metrics_new(all, scheduler);
    metrics_on_collect(all, collect, scheduler);
    return metrics;
}

void metrics_end(struct sched_metrics *metrics)
{
    if (!metrics)
        return;
    queue_metrics_free(metrics->queues);
    map_clear(&metrics->shown);
    free(metrics);
}

/* ---- what happened --------------------------------------------------------------------------- */

static double milliseconds(int64_t ns)
{
    return ns > 0 ? (double)ns / 1e6 : 0;
}

void metrics_begin(struct scheduler *scheduler)
{
    int64_t all_ns = 0;
    if (!scheduler->metrics)
        return;
    for (size_t i = 0; i < scheduler->config->plugins.n; i++) {
        const struct plugin *plugin = scheduler->config->plugins.items[i];
        const char *const labels[] = {plugin->type->name, "OnSessionOpen", NULL};
        if (!plugin->type->begin)
            continue;
        metric_observe(scheduler->metrics->plugin, labels, milliseconds(plugin->begin_ns));
        all_ns += plugin->begin_ns;
    }
    metric_observe(scheduler->metrics->begin, NULL, milliseconds(all_ns));
}

void metrics_action(struct scheduler *scheduler, const char *action, int64_t cost_ns)
{
    const char *const labels[] = {action, NULL};
    if (scheduler->metrics)
        metric_observe(scheduler->metrics->action, labels, milliseconds(cost_ns));
}

void metrics_job(struct scheduler *scheduler, const struct sched_job *job)
{
    if (scheduler->metrics)
        metric_observe(scheduler->metrics->job, NULL,
                       milliseconds(loop_wall(scheduler->params.loop) - job->created_ns));
}

void metrics_cycle(struct scheduler *scheduler, int64_t cost_ns)
{
    if (!scheduler->metrics)
        return;
    metric_add(scheduler->metrics->cycles, NULL, 1);
    metric_observe(scheduler->metrics->cycle, NULL, milliseconds(cost_ns));
}

void metrics_bind(struct scheduler *scheduler, const struct pod *pod, bool bound)
{
    static const char *const stage[] = {"Bound", NULL};
    const char *const values[] = {bound ? "scheduled" : "error", NULL};
    if (!scheduler->metrics)
        return;
    metric_add(scheduler->metrics->attempts, values, 1);
    if (bound)
        metric_observe(scheduler->metrics->task, stage,
                       milliseconds(loop_wall(scheduler->params.loop) - pod->meta.created_ns));
}
