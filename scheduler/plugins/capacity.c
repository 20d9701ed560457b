/*
 * capacity: queues have amounts that they deserve, of their own or, with enableHierarchy, within
 * those of the queues above them. A queue may hold up to its capability what others do not use,
 * less what is guaranteed to others.
 */
#include "base/alloc.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/shares/ledger.h"

static int open_plugin(struct plugin *plugin, struct error *err)
{
    (void)err;
    struct ledger *ledger = xnew(struct ledger);
    ledger_init(ledger, plugin->enabled[POINT_HIERARCHY]);
    plugin->state = ledger;
    return 0;
}

static void close_plugin(struct plugin *plugin)
{
    ledger_clear(plugin->state);
    free(plugin->state);
}

static void begin(struct plugin *plugin, const struct cache *cache)
{
    (void)ledger_begin(plugin->state, cache);
}

static int queue_order(const struct plugin *plugin, const struct sched_queue *a,
                       const struct sched_queue *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    const struct share_node *x = ledger_node(plugin->state, a);
    const struct share_node *y = ledger_node(plugin->state, b);
    return x && y ? limits_compare(x, y) : 0;
}

static bool order_moves(const struct plugin *plugin)
{
    return plugin->enabled[POINT_HIERARCHY];
}

/* The queues above it follow, before others are compared. */
static void turn_over(struct plugin *plugin, const struct sched_job *job)
{
    (void)ledger_node(plugin->state, job->queue);
}

static bool allocatable(struct plugin *plugin, const struct cache *cache,
                        const struct sched_queue *queue, const struct pod_class *cls,
                        struct buf *why)
{
    struct ledger *ledger = plugin->state;
    struct shortage shortage;
    (void)cache;
    if (!ledger_takes_jobs(ledger, queue, why))
        return false;
    const struct share_node *node = ledger_node(ledger, queue);
    if (!node || limits_allow(node, &cls->request, SHARE_LIMIT, &shortage))
        return true;
    ledger_explain(ledger, queue, &shortage, "it may have", why);
    return false;
}

static enum plugin_vote job_enqueueable(struct plugin *plugin, const struct cache *cache,
                                        const struct sched_job *job, struct buf *why)
{
    struct ledger *ledger = plugin->state;
    (void)cache;
    if (!ledger_takes_jobs(ledger, job->queue, why))
        return VOTE_REJECT;
    return ledger_may_enter(ledger, job, why) ? VOTE_PERMIT : VOTE_REJECT;
}

static int64_t queue_figure(struct plugin *plugin, const struct cache *cache,
                            const struct sched_queue *queue, enum queue_figure figure, uint32_t id)
{
    const struct share_node *node = ledger_node(plugin->state, queue);
    (void)cache;
    return node ? share_amount(node, figure == FIGURE_LIMIT ? SHARE_LIMIT : SHARE_DESERVED, id)
                : QUEUE_NO_FIGURE;
}

/* Eviction and claims for devices (DRA) come with the parts that look at them. */
static const char *const ignored[] = {"ancestorReclaimLevel",
                                      "capacity.DynamicResourceAllocationEnable",
                                      "capacity.DRAConsumableCapacityEnable", NULL};

const struct plugin_type plugin_capacity = {.name = "capacity",
                                            .ignored = ignored,
                                            .open = open_plugin,
                                            .close = close_plugin,
                                            .begin = begin,
                                            .queue_order = queue_order,
                                            .order_moves = order_moves,
                                            .turn_over = turn_over,
                                            .allocatable = allocatable,
                                            .job_enqueueable = job_enqueueable,
                                            .queue_figure = queue_figure};
