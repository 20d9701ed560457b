/*
 * capacity: queues have amounts that they deserve, of their own or, with enableHierarchy, within
 * those of the queues above them. A queue may hold up to its capability what others do not use,
 * less what is guaranteed to others.
 */
#include "base/alloc.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/shares/leaving.h"
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

/* ---- eviction -------------------------------------------------------------------------------- */

/* Whether the reclaimer asks for it, too; of whole jobs all that is asked for counts. */
static bool matters(const struct eviction *eviction, uint32_t id)
{
    return id != RESOURCE_PODS &&
           (!eviction->task || resource_set_get(&eviction->task->pod->cls->request, id) > 0);
}

/* Whether a queue that has this left has more than it deserves of anything that the pod would make
 * room for; a queue that deserves nothing of it has. */
static bool is_beyond(const struct eviction *eviction, const struct share_node *node,
                      const struct resource_set *left, const struct resource_set *request)
{
    bool common = false, deserves = false, beyond = false;
    for (uint32_t i = 0; i < request->n; i++) {
        const uint32_t id = request->items[i].id;
        const int64_t deserved = share_amount(node, SHARE_DESERVED, id);
        if (!matters(eviction, id))
            continue;
        common = true;
        deserves = deserves || deserved > 0;
        beyond = beyond || (deserved > 0 && resource_set_get(left, id) > deserved);
    }
    return common && (beyond || !deserves);
}

static bool keeps_guarantee(const struct share_node *node, const struct resource_set *left,
                            const struct resource_set *request)
{
    for (uint32_t i = 0; i < request->n; i++) {
        const uint32_t id = request->items[i].id;
        const int64_t guaranteed = share_amount(node, SHARE_GUARANTEE, id);
        if (guaranteed > 0 && resource_set_get(left, id) - request->items[i].amount < guaranteed)
            return false;
    }
    return true;
}

/* Whether that does not matter for a single pod: a job that goes whole does so if its queue would
 * give any of its pods, as of a gang whose workers alone hold devices. */
static bool gives_whole(const struct plugin *plugin, const struct eviction *eviction)
{
    bool gives = eviction->extent == EVICT_PART;
    for (size_t i = 0; i < eviction->n && eviction->extent == EVICT_WHOLE && !gives; i++) {
        const struct sched_task *task = eviction->candidates[i];
        const struct share_node *node = ledger_node(plugin->state, task->job->queue);
        gives = node &&
                is_beyond(eviction, node, &task->job->queue->allocated, &task->pod->cls->request);
    }
    return gives;
}

/* Queues give back what is beyond what they deserve, pod by pod, or a whole job if anything is
 * before it goes, but never what is guaranteed to them. As with proportion that holds in whatever
 * tier the plugin stands. */
static enum plugin_vote evictable(struct plugin *plugin, const struct eviction *eviction, bool *may)
{
    struct leaving leaving = {0};
    if (!eviction_between_queues(eviction->kind))
        return VOTE_ABSTAIN;
    const bool whole = gives_whole(plugin, eviction);
    for (size_t i = 0; i < eviction->n; i++) {
        const struct sched_task *task = eviction->candidates[i];
        const struct sched_queue *queue = task->job->queue;
        const struct resource_set *request = &task->pod->cls->request;
        const struct share_node *node = ledger_node(plugin->state, queue);
        struct resource_set *left = leaving_of(&leaving, queue, &queue->allocated);
        may[i] = node && keeps_guarantee(node, left, request) &&
                 (whole || is_beyond(eviction, node, left, request));
        if (may[i])
            resource_set_add(left, request, -1);
    }
    leaving_clear(&leaving);
    return VOTE_PERMIT;
}

/* All kinds of its pods are asked about, which are few. */
static bool keeps_job(struct plugin *plugin, const struct eviction *eviction,
                      const struct sched_job *job)
{
    if (!eviction_between_queues(eviction->kind) || !job->queue)
        return false;
    const struct resource_set *held = &job->queue->allocated;
    const struct share_node *node = ledger_node(plugin->state, job->queue);
    bool keeps = true;
    for (size_t i = 0; node && keeps && i < job->groups.n; i++) {
        const struct resource_set *request = &job->groups.items[i]->cls->request;
        keeps = !job->groups.items[i]->placed || !keeps_guarantee(node, held, request) ||
                !is_beyond(eviction, node, held, request);
    }
    return keeps;
}

/* Others give way to what the queue deserves of all that is asked for and that it deserves any of.
 * What is above the queue limits it once they are gone, as it limits all. */
static bool preemptive(struct plugin *plugin, const struct cache *cache,
                       const struct sched_queue *queue, const struct resource_set *request)
{
    const struct share_node *node = ledger_node(plugin->state, queue);
    struct shortage shortage;
    bool deserves = false;
    (void)cache;
    if (!queue->uid || !queue->open || !node || limits_short(node, request, SHARE_LIMIT, &shortage))
        return false;
    for (uint32_t i = 0; i < request->n; i++) {
        const uint32_t id = request->items[i].id;
        const int64_t deserved = share_amount(node, SHARE_DESERVED, id);
        if (id == RESOURCE_PODS || deserved == 0)
            continue;
        if (share_amount(node, SHARE_USED, id) + request->items[i].amount > deserved)
            return false;
        deserves = true;
    }
    return deserves;
}

static unsigned depth_of(const struct sched_queue *queue)
{
    unsigned depth = 0;
    for (; queue->parent; queue = queue->parent)
        depth++;
    return depth;
}

/* How deep the lowest queue is that is above both. */
static unsigned common_depth(const struct sched_queue *a, const struct sched_queue *b)
{
    unsigned x = depth_of(a), y = depth_of(b);
    for (; x > y; x--)
        a = a->parent;
    for (; y > x; y--)
        b = b->parent;
    for (; a != b && a->parent && b->parent; x--) {
        a = a->parent;
        b = b->parent;
    }
    return a == b ? x : 0;
}

/* Near relations of the queue that takes give first. */
static int victim_queue_order(const struct plugin *plugin, const struct sched_queue *a,
                              const struct sched_queue *b, const struct sched_queue *taker)
{
    if (!plugin->enabled[POINT_HIERARCHY])
        return 0;
    unsigned x = common_depth(a, taker), y = common_depth(b, taker);
    return (x < y) - (x > y);
}

/* Queues above those that give are not looked at, and claims for devices (DRA) come with the parts
 * that look at them. */
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
                                            .queue_figure = queue_figure,
                                            .evictable = evictable,
                                            .keeps_job = keeps_job,
                                            .protects = true,
                                            .preemptive = preemptive,
                                            .victim_queue_order = victim_queue_order};
