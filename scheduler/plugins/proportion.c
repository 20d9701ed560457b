/*
 * proportion: queues share the cluster by weight. What a queue does not want goes to the others; no
 * queue gets more than its capability or less than its guarantee.
 *
 * What a queue deserves is worked out when a cycle begins, from what its pods hold and wait for,
 * which placing pods does not change. A queue may hold what it deserves and no more, but for the
 * first pod of a queue that holds nothing: with more queues than the cluster has room for pods,
 * none would ever get one. For the same reason allocate may ask for a gang beyond a queue's share.
 */
#include "base/alloc.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/shares/leaving.h"
#include "scheduler/shares/ledger.h"
#include "scheduler/shares/waterfill.h"

struct proportion {
    struct ledger ledger;
    VEC(struct ledger_queue *) takers; /* borrowed from the ledger */
    VEC(struct water_claim) claims;    /* of one resource */
};

static int open_plugin(struct plugin *plugin, struct error *err)
{
    (void)err;
    struct proportion *proportion = xnew(struct proportion);
    ledger_init(&proportion->ledger, false);
    plugin->state = proportion;
    return 0;
}

static void close_plugin(struct plugin *plugin)
{
    struct proportion *proportion = plugin->state;
    ledger_clear(&proportion->ledger);
    vec_clear(&proportion->takers);
    vec_clear(&proportion->claims);
    free(proportion);
}

/* ---- what queues deserve --------------------------------------------------------------------- */

static void find_takers(struct proportion *proportion)
{
    struct ledger *ledger = &proportion->ledger;
    proportion->takers.n = proportion->claims.n = 0;
    for (size_t i = 0; i < ledger->queues.n; i++) {
        struct ledger_queue *entry = ledger->queues.items[i];
        if (!entry || !entry->queue || (!entry->queue->jobs && !entry->queue->guarantee.n))
            continue;
        vec_push(&proportion->takers, entry);
        vec_push(&proportion->claims, (struct water_claim){.weight = entry->queue->weight});
    }
}

/* The claims of all to a resource; that of `greedy` (NULL: nobody) is as large as it may be. */
static void claim_resource(struct proportion *proportion, uint32_t id,
                           const struct share_node *greedy)
{
    for (size_t i = 0; i < proportion->takers.n; i++) {
        const struct ledger_queue *entry = proportion->takers.items[i];
        struct water_claim *claim = &proportion->claims.items[i];
        int64_t wants = resource_set_get(&entry->queue->allocated, id) +
                        resource_set_get(&entry->queue->pending, id);
        int64_t most = share_amount(entry->node, SHARE_REAL, id);
        claim->floor = resource_set_get(&entry->queue->guarantee, id);
        claim->ceiling = wants < most && entry->node != greedy ? wants : most;
    }
}

static void share_resource(struct proportion *proportion, uint32_t id, int64_t total)
{
    claim_resource(proportion, id, NULL);
    water_fill(proportion->claims.items, proportion->claims.n, total);
    for (size_t i = 0; i < proportion->takers.n; i++)
        limits_deserve(proportion->takers.items[i]->node, id, proportion->claims.items[i].share);
}

/* What a queue would deserve if it wanted all it may have; kept until the limits are worked out
 * again. */
static int64_t entitled(struct proportion *proportion, const struct share_node *node, uint32_t id)
{
    if (id >= node->width)
        return 0;
    int64_t *kept = &share_row(node, SHARE_ENTITLED)[id];
    if (*kept)
        return *kept;
    claim_resource(proportion, id, node);
    water_fill(proportion->claims.items, proportion->claims.n,
               resource_vector_get(proportion->ledger.total, id));
    for (size_t i = 0; i < proportion->takers.n; i++)
        if (proportion->takers.items[i]->node == node)
            *kept = proportion->claims.items[i].share;
    return *kept;
}

static void begin(struct plugin *plugin, const struct cache *cache)
{
    struct proportion *proportion = plugin->state;
    if (!ledger_begin(&proportion->ledger, cache))
        return;
    find_takers(proportion);
    for (uint32_t id = 0; id < proportion->ledger.top.width; id++)
        share_resource(proportion, id, resource_vector_get(&cache->allocatable, id));
    for (size_t i = 0; i < proportion->takers.n; i++)
        limits_settle(proportion->takers.items[i]->node);
}

/* ---- points ---------------------------------------------------------------------------------- */

static int queue_order(const struct plugin *plugin, const struct sched_queue *a,
                       const struct sched_queue *b)
{
    struct proportion *proportion = plugin->state;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    const struct share_node *x = ledger_node(&proportion->ledger, a);
    const struct share_node *y = ledger_node(&proportion->ledger, b);
    return x && y ? limits_compare(x, y) : 0;
}

static bool overused(struct plugin *plugin, const struct cache *cache,
                     const struct sched_queue *queue)
{
    struct proportion *proportion = plugin->state;
    const struct share_node *node = ledger_node(&proportion->ledger, queue);
    (void)cache;
    return node && limits_reached(node);
}

/* Nothing is held of what the one pod asks for, and the queue may have that much. */
static bool is_first_pod(const struct share_node *node, const struct resource_set *request)
{
    struct shortage shortage;
    if (resource_set_get(request, RESOURCE_PODS) > 1)
        return false;
    for (uint32_t i = 0; i < request->n; i++)
        if (share_amount(node, SHARE_USED, request->items[i].id) > 0)
            return false;
    return limits_allow(node, request, SHARE_LIMIT, &shortage);
}

static bool allocatable(struct plugin *plugin, const struct cache *cache,
                        const struct sched_queue *queue, const struct pod_class *cls,
                        struct buf *why)
{
    struct proportion *proportion = plugin->state;
    const struct ledger *ledger = &proportion->ledger;
    struct shortage shortage;
    (void)cache;
    if (!ledger_takes_jobs(ledger, queue, why))
        return false;
    const struct share_node *node = ledger_node(&proportion->ledger, queue);
    if (!node || !limits_short(node, &cls->request, SHARE_DESERVED, &shortage) ||
        is_first_pod(node, &cls->request))
        return true;
    const char *rule = "are its share by weight";
    if (queue->beyond) {
        if (limits_allow(node, &cls->request, SHARE_LIMIT, &shortage))
            return true;
        rule = "it may have";
    }
    ledger_explain(ledger, queue, &shortage, rule, why);
    return false;
}

static enum plugin_vote job_enqueueable(struct plugin *plugin, const struct cache *cache,
                                        const struct sched_job *job, struct buf *why)
{
    struct proportion *proportion = plugin->state;
    (void)cache;
    if (!ledger_takes_jobs(&proportion->ledger, job->queue, why))
        return VOTE_REJECT;
    return ledger_may_enter(&proportion->ledger, job, why) ? VOTE_PERMIT : VOTE_REJECT;
}

static int64_t queue_figure(struct plugin *plugin, const struct cache *cache,
                            const struct sched_queue *queue, enum queue_figure figure, uint32_t id)
{
    struct proportion *proportion = plugin->state;
    const struct share_node *node = ledger_node(&proportion->ledger, queue);
    (void)cache;
    if (!node)
        return QUEUE_NO_FIGURE;
    if (figure == FIGURE_ENTITLED)
        return entitled(proportion, node, id);
    return share_amount(node, figure == FIGURE_DESERVED ? SHARE_DESERVED : SHARE_LIMIT, id);
}

/* ---- eviction -------------------------------------------------------------------------------- */

static bool is_beyond(const struct share_node *node, const struct resource_set *holds)
{
    for (uint32_t i = 0; i < holds->n; i++)
        if (holds->items[i].amount > share_amount(node, SHARE_DESERVED, holds->items[i].id))
            return true;
    return false;
}

/* Queues give back what is beyond their shares, pod by pod, or a whole job if anything is before it
 * goes. That holds in whatever tier the plugin stands: could those be taken from that have less
 * than their share, they would take it back. */
static enum plugin_vote evictable(struct plugin *plugin, const struct eviction *eviction, bool *may)
{
    struct proportion *proportion = plugin->state;
    struct leaving leaving = {0};
    if (!eviction_between_queues(eviction->kind))
        return VOTE_ABSTAIN;
    if (eviction->extent == EVICT_PART)
        return VOTE_PERMIT;
    for (size_t i = 0; i < eviction->n; i++) {
        const struct sched_task *task = eviction->candidates[i];
        const struct sched_queue *queue = task->job->queue;
        const struct share_node *node = ledger_node(&proportion->ledger, queue);
        struct resource_set *left = leaving_of(&leaving, queue, &queue->allocated);
        bool follows = eviction->extent == EVICT_WHOLE && i > 0;
        may[i] = follows ? may[i - 1] : node && is_beyond(node, left);
        if (may[i])
            resource_set_add(left, &task->pod->cls->request, -1);
    }
    leaving_clear(&leaving);
    return VOTE_PERMIT;
}

static bool keeps_job(struct plugin *plugin, const struct eviction *eviction,
                      const struct sched_job *job)
{
    struct proportion *proportion = plugin->state;
    if (!eviction_between_queues(eviction->kind) || !job->queue)
        return false;
    const struct share_node *node = ledger_node(&proportion->ledger, job->queue);
    return !node || !is_beyond(node, &job->queue->allocated);
}

/* Others give way to what is within the share of the queue. */
static bool preemptive(struct plugin *plugin, const struct cache *cache,
                       const struct sched_queue *queue, const struct resource_set *request)
{
    struct proportion *proportion = plugin->state;
    const struct share_node *node = ledger_node(&proportion->ledger, queue);
    struct shortage shortage;
    (void)cache;
    return queue->uid && queue->open && node &&
           !limits_short(node, request, SHARE_DESERVED, &shortage);
}

const struct plugin_type plugin_proportion = {.name = "proportion",
                                              .open = open_plugin,
                                              .close = close_plugin,
                                              .begin = begin,
                                              .queue_order = queue_order,
                                              .overused = overused,
                                              .allocatable = allocatable,
                                              .job_enqueueable = job_enqueueable,
                                              .queue_figure = queue_figure,
                                              .evictable = evictable,
                                              .keeps_job = keeps_job,
                                              .protects = true,
                                              .preemptive = preemptive};
