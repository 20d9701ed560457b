/*
 * Metrics. See metrics.h. Gauges are brought up to date when the page is read.
 */
#include "scheduler/metrics.h"

struct sched_metrics {
    struct metric *cycle, *cycles, *attempts;
    struct metric *jobs, *waiting_jobs, *waiting_pods, *nodes;
};

static const double cycle_bounds[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000};

static void collect(void *arg)
{
    const struct scheduler *scheduler = arg;
    const struct sched_metrics *metrics = scheduler->metrics;
    const struct cache *cache = &scheduler->cache;
    double waiting_jobs = 0, waiting_pods = 0;
    void *value;
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);) {
        const struct sched_job *job = value;
        waiting_jobs += job->why.kind != WHY_NONE;
        waiting_pods += job_waiting(job);
    }
    metric_set(metrics->jobs, NULL, (double)map_count(&cache->jobs_by_key));
    metric_set(metrics->waiting_jobs, NULL, waiting_jobs);
    metric_set(metrics->waiting_pods, NULL, waiting_pods);
    metric_set(metrics->nodes, NULL, (double)cache->known_nodes);
}

struct sched_metrics *metrics_start(struct scheduler *scheduler)
{
    static const char *const result_label[] = {"result", NULL};
    struct metrics *all = scheduler->params.metrics;
    if (!all)
        return NULL;
    struct sched_metrics *metrics = xnew(struct sched_metrics);
    metrics->cycle =
        metric_new(all, METRIC_HISTOGRAM, "volcano_e2e_scheduling_latency_milliseconds",
                   "Time a scheduling cycle took.", NULL);
    metric_buckets(metrics->cycle, cycle_bounds, ARRAY_SIZE(cycle_bounds));
    metrics->cycles = metric_new(all, METRIC_COUNTER, "pumice_scheduler_cycles_total",
                                 "Scheduling cycles so far.", NULL);
    metrics->attempts = metric_new(all, METRIC_COUNTER, "volcano_schedule_attempts_total",
                                   "Binds by result.", result_label);
    metrics->jobs = metric_new(all, METRIC_GAUGE, "pumice_scheduler_jobs",
                               "Jobs in the scheduler's cache.", NULL);
    metrics->waiting_jobs = metric_new(all, METRIC_GAUGE, "volcano_unschedule_job_count",
                                       "Jobs that wait for a reason.", NULL);
    metrics->waiting_pods = metric_new(all, METRIC_GAUGE, "pumice_scheduler_waiting_pods",
                                       "Pods of jobs without a node.", NULL);
    metrics->nodes = metric_new(all, METRIC_GAUGE, "pumice_scheduler_nodes",
                                "Nodes in the scheduler's cache.", NULL);
    metrics_on_collect(all, collect, scheduler);
    return metrics;
}

void metrics_end(struct sched_metrics *metrics)
{
    free(metrics);
}

void metrics_cycle(struct scheduler *scheduler, int64_t cost_ns)
{
    if (!scheduler->metrics)
        return;
    metric_add(scheduler->metrics->cycles, NULL, 1);
    metric_observe(scheduler->metrics->cycle, NULL, (double)cost_ns / 1e6);
}

void metrics_bind(struct scheduler *scheduler, bool bound)
{
    const char *const values[] = {bound ? "scheduled" : "error", NULL};
    if (scheduler->metrics)
        metric_add(scheduler->metrics->attempts, values, 1);
}
