/*
 * Metrics of queues. See queue_metrics.h.
 *
 * A queue that is gone takes its series along: names and resources that were told are remembered.
 * Scalar resources are told in thousandths, but for pods.
 */
#include "scheduler/queue_metrics.h"

/* What is told of a queue and a resource. */
enum amount {
    AMOUNT_ALLOCATED,
    AMOUNT_REQUEST,
    AMOUNT_DESERVED,
    AMOUNT_CAPACITY,
    AMOUNT_REAL_CAPACITY,
    AMOUNT_INQUEUE,
    AMOUNT_COUNT
};

#define FAMILY(name)                                                                               \
    "volcano_queue_" name "_milli_cpu", "volcano_queue_" name "_memory_bytes",                     \
        "volcano_queue_" name "_scalar_resources"

static const struct {
    const char *cpu, *memory, *scalar, *help;
} families[AMOUNT_COUNT] = {
    [AMOUNT_ALLOCATED] = {FAMILY("allocated"), "What pods of the queue hold."},
    [AMOUNT_REQUEST] = {FAMILY("request"), "What pods of the queue hold and wait for."},
    [AMOUNT_DESERVED] = {FAMILY("deserved"), "What the queue should have."},
    [AMOUNT_CAPACITY] = {FAMILY("capacity"), "What the queue may hold by its spec."},
    [AMOUNT_REAL_CAPACITY] = {FAMILY("real_capacity"), "What the queue may hold."},
    [AMOUNT_INQUEUE] = {FAMILY("inqueue"), "What jobs that entered still lack of their minimum."},
};

/* One series of scalar resources, or one queue, that was told. */
struct told {
    char *queue; /* owned */
    uint32_t id; /* of the resource; UINT32_MAX for what is told of the queue itself */
};

struct queue_metrics {
    struct scheduler *scheduler; /* borrowed */
    struct metric *cpu[AMOUNT_COUNT], *memory[AMOUNT_COUNT], *scalar[AMOUNT_COUNT];
    struct metric *share, *weight, *overused;
    VEC(struct told) told;
};

/* ---- what there is to tell ------------------------------------------------------------------- */

static int64_t figure_of(const struct scheduler *scheduler, const struct sched_queue *queue,
                         enum queue_figure figure, uint32_t id)
{
    int64_t value = config_queue_figure(scheduler->config, &scheduler->cache, queue, figure, id);
    return value == QUEUE_NO_FIGURE ? 0 : value;
}

static int64_t amount_of(const struct scheduler *scheduler, const struct sched_queue *queue,
                         enum amount amount, uint32_t id)
{
    switch (amount) {
    case AMOUNT_ALLOCATED:
        return resource_set_get(&queue->allocated, id);
    case AMOUNT_REQUEST:
        return resource_set_get(&queue->allocated, id) + resource_set_get(&queue->pending, id);
    case AMOUNT_DESERVED:
        return figure_of(scheduler, queue, FIGURE_DESERVED, id);
    case AMOUNT_CAPACITY:
        return resource_set_get(&queue->capability, id);
    case AMOUNT_REAL_CAPACITY:
        return figure_of(scheduler, queue, FIGURE_LIMIT, id);
    case AMOUNT_INQUEUE:
        return resource_set_get(&queue->inqueue, id);
    case AMOUNT_COUNT:
        break;
    }
    return 0;
}

/* The largest part of a deserved amount that is held; 1 when nothing is deserved. */
static double share_of(const struct scheduler *scheduler, const struct sched_queue *queue)
{
    double share = 0;
    bool any = false;
    for (uint32_t id = 0; id < resource_id_count(); id++) {
        int64_t deserved = amount_of(scheduler, queue, AMOUNT_DESERVED, id);
        if (deserved <= 0)
            continue;
        double part = (double)resource_set_get(&queue->allocated, id) / (double)deserved;
        share = part > share ? part : share;
        any = true;
    }
    return any ? share : 1;
}

/* ---- telling --------------------------------------------------------------------------------- */

static void remember(struct queue_metrics *metrics, const struct sched_queue *queue, uint32_t id)
{
    struct told told = {xstrdup(queue->name), id};
    vec_push(&metrics->told, told);
}

static void tell_scalar(struct queue_metrics *metrics, const struct sched_queue *queue, uint32_t id)
{
    const char *const labels[] = {queue->name, resource_name(id), NULL};
    double times = id == RESOURCE_PODS ? 1 : 1000; /* as the reference counts */
    int64_t amounts[AMOUNT_COUNT];
    bool any = false;
    for (int amount = 0; amount < AMOUNT_COUNT; amount++) {
        amounts[amount] = amount_of(metrics->scheduler, queue, (enum amount)amount, id);
        any = any || amounts[amount] != 0;
    }
    for (int amount = 0; any && amount < AMOUNT_COUNT; amount++)
        metric_set(metrics->scalar[amount], labels, (double)amounts[amount] * times);
    if (any)
        remember(metrics, queue, id);
}

static void tell(struct queue_metrics *metrics, const struct sched_queue *queue)
{
    const struct scheduler *scheduler = metrics->scheduler;
    const char *const labels[] = {queue->name, NULL};
    double share = share_of(scheduler, queue);
    for (int amount = 0; amount < AMOUNT_COUNT; amount++) {
        enum amount which = (enum amount)amount;
        metric_set(metrics->cpu[amount], labels,
                   (double)amount_of(scheduler, queue, which, RESOURCE_CPU));
        metric_set(metrics->memory[amount], labels,
                   (double)amount_of(scheduler, queue, which, RESOURCE_MEMORY));
    }
    for (uint32_t id = RESOURCE_MEMORY + 1; id < resource_id_count(); id++)
        if (id != RESOURCE_OTHER)
            tell_scalar(metrics, queue, id);
    metric_set(metrics->share, labels, share);
    metric_set(metrics->weight, labels, queue->weight);
    metric_set(metrics->overused, labels, share > 1);
    remember(metrics, queue, UINT32_MAX);
}

static void forget(struct queue_metrics *metrics, const struct told *told)
{
    const char *const labels[] = {told->queue, NULL};
    if (told->id != UINT32_MAX) {
        const char *const scalar[] = {told->queue, resource_name(told->id), NULL};
        for (int amount = 0; amount < AMOUNT_COUNT; amount++)
            metric_remove(metrics->scalar[amount], scalar);
        return;
    }
    for (int amount = 0; amount < AMOUNT_COUNT; amount++) {
        metric_remove(metrics->cpu[amount], labels);
        metric_remove(metrics->memory[amount], labels);
    }
    metric_remove(metrics->share, labels);
    metric_remove(metrics->weight, labels);
    metric_remove(metrics->overused, labels);
}

static void forget_all(struct queue_metrics *metrics, bool series)
{
    for (size_t i = 0; i < metrics->told.n; i++) {
        if (series)
            forget(metrics, &metrics->told.items[i]);
        free(metrics->told.items[i].queue);
    }
    metrics->told.n = 0;
}

static void collect(void *arg)
{
    struct queue_metrics *metrics = arg;
    void *value;
    forget_all(metrics, true);
    for (size_t i = 0; map_next(&metrics->scheduler->cache.queues_by_name, &i, NULL, &value);)
        if (((const struct sched_queue *)value)->uid)
            tell(metrics, value);
}

struct queue_metrics *queue_metrics_new(struct metrics *all, struct scheduler *scheduler)
{
    static const char *const queue_label[] = {"queue_name", NULL};
    static const char *const scalar_labels[] = {"queue_name", "resource", NULL};
    struct queue_metrics *metrics = xnew(struct queue_metrics);
    metrics->scheduler = scheduler;
    for (int amount = 0; amount < AMOUNT_COUNT; amount++) {
        const char *help = families[amount].help;
        metrics->cpu[amount] =
            metric_new(all, METRIC_GAUGE, families[amount].cpu, help, queue_label);
        metrics->memory[amount] =
            metric_new(all, METRIC_GAUGE, families[amount].memory, help, queue_label);
        metrics->scalar[amount] =
            metric_new(all, METRIC_GAUGE, families[amount].scalar, help, scalar_labels);
    }
    metrics->share =
        metric_new(all, METRIC_GAUGE, "volcano_queue_share",
                   "Largest part of what the queue deserves that it holds.", queue_label);
    metrics->weight =
        metric_new(all, METRIC_GAUGE, "volcano_queue_weight", "Weight of the queue.", queue_label);
    metrics->overused = metric_new(all, METRIC_GAUGE, "volcano_queue_overused",
                                   "1 when the queue holds more than it deserves.", queue_label);
    metrics_on_collect(all, collect, metrics);
    return metrics;
}

void queue_metrics_free(struct queue_metrics *metrics)
{
    if (!metrics)
        return;
    forget_all(metrics, false);
    vec_clear(&metrics->told);
    free(metrics);
}
