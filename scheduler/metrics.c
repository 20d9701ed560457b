/*
 * Metrics. See metrics.h. Gauges are brought up to date when the page is read.
 */
#include "scheduler/metrics.h"
#include "scheduler/holds.h"
#include "scheduler/job_metrics.h"
#include "scheduler/queue_metrics.h"

struct sched_metrics {
    struct metric *cycle, *cycles, *begin, *action, *plugin, *job, *task, *stage, *attempts, *nodes;
    struct metric *held_nodes, *holding_jobs, *extender_calls, *extender_seconds;
    struct metric *victims, *decisions, *transactions, *evictions;
    struct queue_metrics *queues; /* owned */
    struct job_metrics *jobs;     /* owned */
};

static const double short_bounds[] = {0.1, 0.2, 0.5, 1,   2,    5,    10,  20,
                                      50,  100, 200, 500, 1000, 2000, 5000};
static const double second_bounds[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1,
                                       0.2,   0.5,   1,     2,    5,    10,   30};
/* In milliseconds up to a day: jobs may wait for hours. */
static const double long_bounds[] = {10,     20,     50,      100,      200,     500,
                                     1000,   2000,   5000,    10000,    20000,   50000,
                                     120000, 600000, 3600000, 14400000, 86400000};

/* Jobs that hold places on nodes, and on how many. */
static void show_holds(struct sched_metrics *metrics, const struct cache *cache)
{
    double jobs = 0, nodes = 0;
    for (const struct list *link = cache->reservations.next; link != &cache->reservations;
         link = link->next) {
        jobs++;
        nodes += (double)const_container_of(link, struct reservation, link)->holds.n;
    }
    metric_set(metrics->holding_jobs, NULL, jobs);
    metric_set(metrics->held_nodes, NULL, nodes);
}

static void collect(void *arg)
{
    const struct scheduler *scheduler = arg;
    metric_set(scheduler->metrics->nodes, NULL, (double)scheduler->cache.known_nodes);
    show_holds(scheduler->metrics, &scheduler->cache);
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
    metrics->task =
        histogram(all, "volcano_task_scheduling_latency_milliseconds",
                  "Time from a pod's creation to a stage of its way.", stage_label, true);
    metrics->stage = histogram(all, "volcano_scheduling_stage_duration_milliseconds",
                               "Time that a stage took.", stage_label, false);
}

static void make_evictions(struct sched_metrics *metrics, struct metrics *all)
{
    static const char *const action_label[] = {"action", NULL};
    static const char *const result_label[] = {"result", NULL};
    metrics->victims = metric_new(all, METRIC_GAUGE, "volcano_pod_preemption_victims",
                                  "Pods that the last decision to evict was about.", NULL);
    metrics->decisions = metric_new(all, METRIC_COUNTER, "volcano_total_preemption_attempts",
                                    "Decisions to evict so far.", NULL);
    metrics->transactions = metric_new(all, METRIC_COUNTER, "volcano_eviction_transactions_total",
                                       "Decisions to evict by action.", action_label);
    metrics->evictions = metric_new(all, METRIC_COUNTER, "pumice_scheduler_evictions_total",
                                    "Evictions of single pods by result.", result_label);
}

static void make_extender(struct sched_metrics *metrics, struct metrics *all)
{
    static const char *const call_labels[] = {"verb", "result", NULL};
    static const char *const verb_label[] = {"verb", NULL};
    metrics->extender_calls = metric_new(all, METRIC_COUNTER, "pumice_extender_requests_total",
                                         "Calls of the extender by result.", call_labels);
    metrics->extender_seconds =
        metric_new(all, METRIC_HISTOGRAM, "pumice_extender_seconds",
                   "Time until a call of the extender was answered or given up.", verb_label);
    metric_buckets(metrics->extender_seconds, second_bounds, ARRAY_SIZE(second_bounds));
}

struct sched_metrics *metrics_start(struct scheduler *scheduler)
{
    static const char *const result_label[] = {"result", NULL};
    struct metrics *all = scheduler->params.metrics;
    if (!all)
        return NULL;
    struct sched_metrics *metrics = xnew(struct sched_metrics);
    make_latencies(metrics, all);
    make_evictions(metrics, all);
    make_extender(metrics, all);
    metrics->cycles = metric_new(all, METRIC_COUNTER, "pumice_scheduler_cycles_total",
                                 "Scheduling cycles so far.", NULL);
    metrics->attempts = metric_new(all, METRIC_COUNTER, "volcano_schedule_attempts_total",
                                   "Binds by result.", result_label);
    metrics->nodes = metric_new(all, METRIC_GAUGE, "pumice_scheduler_nodes",
                                "Nodes in the scheduler's cache.", NULL);
    metrics->holding_jobs = metric_new(all, METRIC_GAUGE, "pumice_scheduler_holding_jobs",
                                       "Jobs for which places on nodes are held.", NULL);
    metrics->held_nodes = metric_new(all, METRIC_GAUGE, "pumice_scheduler_held_nodes",
                                     "Nodes with places held for jobs.", NULL);
    metrics->jobs = job_metrics_new(all, scheduler);
    metrics->queues = queue_metrics_new(all, scheduler);
    metrics_on_collect(all, collect, scheduler);
    return metrics;
}

void metrics_end(struct sched_metrics *metrics)
{
    if (!metrics)
        return;
    queue_metrics_free(metrics->queues);
    job_metrics_free(metrics->jobs);
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

void metrics_pod(struct scheduler *scheduler, const struct pod *pod, const char *stage)
{
    const char *const labels[] = {stage, NULL};
    if (scheduler->metrics)
        metric_observe(scheduler->metrics->task, labels,
                       milliseconds(loop_wall(scheduler->params.loop) - pod->meta.created_ns));
}

void metrics_stage(struct scheduler *scheduler, const char *stage, int64_t took_ns)
{
    const char *const labels[] = {stage, NULL};
    if (scheduler->metrics)
        metric_observe(scheduler->metrics->stage, labels, milliseconds(took_ns));
}

void metrics_decision(struct scheduler *scheduler, const char *action, size_t victims)
{
    const char *const labels[] = {action, NULL};
    if (!scheduler->metrics)
        return;
    metric_set(scheduler->metrics->victims, NULL, (double)victims);
    metric_add(scheduler->metrics->decisions, NULL, 1);
    metric_add(scheduler->metrics->transactions, labels, 1);
}

void metrics_eviction(struct scheduler *scheduler, const char *result)
{
    const char *const labels[] = {result, NULL};
    if (scheduler->metrics)
        metric_add(scheduler->metrics->evictions, labels, 1);
}

void metrics_extender(struct scheduler *scheduler, const char *verb, bool answered, int64_t took_ns)
{
    const char *const call[] = {verb, answered ? "answered" : "failed", NULL};
    const char *const labels[] = {verb, NULL};
    if (!scheduler->metrics)
        return;
    metric_add(scheduler->metrics->extender_calls, call, 1);
    metric_observe(scheduler->metrics->extender_seconds, labels,
                   took_ns > 0 ? (double)took_ns / (double)NSEC_PER_SEC : 0);
}

void metrics_bind(struct scheduler *scheduler, const struct pod *pod, bool bound)
{
    const char *const values[] = {bound ? "scheduled" : "error", NULL};
    if (!scheduler->metrics)
        return;
    metric_add(scheduler->metrics->attempts, values, 1);
    if (bound)
        metrics_pod(scheduler, pod, METRICS_POD_BOUND);
}
