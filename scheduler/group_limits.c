/*
 * What queues use of their limits for groups of nodes. See group_limits.h.
 *
 * Queues without limits, which are nearly all, cost a look at an empty array.
 */
#include "scheduler/group_limits.h"
#include "base/intern.h"
#include "scheduler/holds.h"

static struct group_limit *limit_on(const struct sched_queue *queue, const struct sched_node *node)
{
    for (size_t i = 0; i < queue->limits.n && node->group; i++)
        if (queue->limits.items[i].group == node->group)
            return &queue->limits.items[i];
    return NULL;
}

/* A sum that had saturated and was to shrink is counted afresh. */
static void charge(const struct sched_job *job, const struct pod_class *cls,
                   const struct sched_node *node, int sign)
{
    struct group_limit *limit = node ? limit_on(job->queue, node) : NULL;
    if (limit && !resource_set_add(&limit->used, &cls->request, sign))
        job->cache->limits_stale = true;
}

/* ---- queues ---------------------------------------------------------------------------------- */

static void clear_limits(struct sched_queue *queue)
{
    for (size_t i = 0; i < queue->limits.n; i++) {
        struct group_limit *limit = &queue->limits.items[i];
        intern_put(limit->group);
        resource_set_clear(&limit->most);
        resource_set_clear(&limit->used);
        resource_set_clear(&limit->held);
    }
    vec_clear(&queue->limits);
}

/* Zero amounts count, but for cpu and memory, where they mean the same as none. */
static void add_limit(struct sched_queue *queue, const struct group_amounts *given)
{
    struct group_limit limit = {.group = intern_ref(given->group)};
    for (size_t i = 0; i < given->amounts.n; i++) {
        uint32_t id = resource_id(str_of(given->amounts.items[i].name));
        int64_t amount = resource_total_of(id, given->amounts.items[i].quantity);
        if (amount || (id != RESOURCE_CPU && id != RESOURCE_MEMORY))
            resource_set_put_any(&limit.most, id, amount);
    }
    vec_push(&queue->limits, limit);
}

bool group_limits_set_queue(struct cache *cache, struct sched_queue *queue,
                            struct node_groups *groups)
{
    if (node_groups_equal(queue->groups, groups))
        return false;
    group_limits_clear(queue);
    if (!groups)
        return true;
    queue->groups = node_groups_ref(groups);
    queue->groups_version = ++cache->group_versions;
    for (uint32_t i = 0; i < groups->limit_count; i++)
        add_limit(queue, &groups->limits[i]);
    cache->limits_stale = cache->limits_stale || queue->limits.n;
    return true;
}

void group_limits_clear(struct sched_queue *queue)
{
    clear_limits(queue);
    node_groups_unref(queue->groups);
    queue->groups = NULL;
    queue->groups_version = 0;
}

/* ---- changes --------------------------------------------------------------------------------- */

void group_limits_set_node(struct cache *cache, struct sched_node *node)
{
    const char *label =
        node->object ? kube_pairs_get(&node->object->meta.labels, KEY_NODEGROUP_NAME) : NULL;
    const char *group = label && label[0] ? intern_ref(label) : NULL;
    if (group != node->group && (node->tasks || node->holds))
        cache->limits_stale = true;
    intern_put(node->group);
    node->group = group;
}

void group_limits_move(const struct sched_job *job, const struct pod_class *cls,
                       const struct sched_node *from, const struct sched_node *to)
{
    if (!job->queue || !job->queue->limits.n)
        return;
    charge(job, cls, from, -1);
    charge(job, cls, to, 1);
}

void group_limits_charge_job(const struct sched_job *job, int sign)
{
    if (!job->queue->limits.n)
        return;
    list_each(link, &job->tasks)
    {
        const struct sched_task *task = container_of(link, struct sched_task, link);
        charge(job, task->pod->cls, task->node, sign);
    }
    if (sign < 0) /* what it leaves others may use, though no node has changed */
        cache_room(job->cache);
}

void group_limits_hold(struct sched_queue *queue, const struct sched_node *node,
                       const struct resource_set *request, int64_t times)
{
    struct group_limit *limit = limit_on(queue, node);
    if (limit)
        (void)resource_set_add(&limit->held, request, times);
}

/* ---- a fresh count --------------------------------------------------------------------------- */

static void recount_holds(const struct cache *cache)
{
    for (const struct list *link = cache->reservations.next; link != &cache->reservations;
         link = link->next) {
        const struct reservation *reservation = const_container_of(link, struct reservation, link);
        for (size_t i = 0; i < reservation->holds.n && !reservation->lifted; i++) {
            const struct node_hold *hold = reservation->holds.items[i];
            group_limits_hold(reservation->job->queue, hold->node, &hold->amount, 1);
        }
    }
}

/* Without the chance that a sum has to shrink. */
static void recount(const struct cache *cache)
{
    void *value;
    for (size_t i = 0; map_next(&cache->queues_by_name, &i, NULL, &value);) {
        struct sched_queue *queue = value;
        for (size_t l = 0; l < queue->limits.n; l++) {
            resource_set_clear(&queue->limits.items[l].used);
            resource_set_clear(&queue->limits.items[l].held);
        }
    }
    for (size_t i = 0; map_next(&cache->tasks_by_uid, &i, NULL, &value);) {
        const struct sched_task *task = value;
        if (task->job && task->job->queue)
            charge(task->job, task->pod->cls, task->node, 1);
    }
    recount_holds(cache);
}

void group_limits_settle(struct cache *cache)
{
    if (!cache->limits_stale)
        return;
    recount(cache);
    cache->limits_stale = false;
    cache->work += map_count(&cache->tasks_by_uid);
}

/* ---- looking --------------------------------------------------------------------------------- */

const struct group_limit *group_limit_of(const struct sched_queue *queue,
                                         const struct sched_node *node)
{
    return limit_on(queue, node);
}

/* What pods have, and what is held for others. */
static int64_t used_of(const struct group_limit *limit, uint32_t id)
{
    int64_t sum = resource_set_get(&limit->used, id);
    (void)resource_sum_add(&sum, resource_set_get(&limit->held, id));
    return sum;
}

bool group_limit_exceeded(const struct group_limit *limit, const struct resource_set *request)
{
    for (uint32_t i = 0; i < limit->most.n; i++) {
        uint32_t id = limit->most.items[i].id;
        int64_t sum = resource_set_get(request, id);
        if (!sum)
            continue;
        (void)resource_sum_add(&sum, used_of(limit, id));
        if (sum > limit->most.items[i].amount)
            return true;
    }
    return false;
}

uint64_t group_limit_places(const struct group_limit *limit, const struct resource_set *request)
{
    uint64_t places = UINT64_MAX;
    for (uint32_t i = 0; i < limit->most.n; i++) {
        uint32_t id = limit->most.items[i].id;
        int64_t amount = resource_set_get(request, id);
        int64_t left = limit->most.items[i].amount - used_of(limit, id);
        if (amount <= 0)
            continue;
        uint64_t here = left > 0 ? (uint64_t)(left / amount) : 0;
        places = here < places ? here : places;
    }
    return places;
}

/* ---- the audit ------------------------------------------------------------------------------- */

static void count_used(const struct cache *cache, const struct sched_queue *queue,
                       const struct group_limit *limit, struct resource_set *used)
{
    void *value;
    for (size_t i = 0; map_next(&cache->tasks_by_uid, &i, NULL, &value);) {
        const struct sched_task *task = value;
        if (task->job && task->job->queue == queue && task->node &&
            task->node->group == limit->group)
            (void)resource_set_add(used, &task->pod->cls->request, 1);
    }
}

static void count_held(const struct cache *cache, const struct sched_queue *queue,
                       const struct group_limit *limit, struct resource_set *held)
{
    for (const struct list *link = cache->reservations.next; link != &cache->reservations;
         link = link->next) {
        const struct reservation *reservation = const_container_of(link, struct reservation, link);
        bool counts = reservation->job->queue == queue && !reservation->lifted;
        for (size_t i = 0; counts && i < reservation->holds.n; i++)
            if (reservation->holds.items[i]->node->group == limit->group)
                (void)resource_set_add(held, &reservation->holds.items[i]->amount, 1);
    }
}

static bool limit_matches(const struct cache *cache, const struct sched_queue *queue,
                          const struct group_limit *limit)
{
    struct resource_set used = {NULL, 0}, held = {NULL, 0};
    count_used(cache, queue, limit, &used);
    count_held(cache, queue, limit, &held);
    bool match = resource_set_equal(&used, &limit->used) && resource_set_equal(&held, &limit->held);
    resource_set_clear(&used);
    resource_set_clear(&held);
    return match;
}

const char *group_limits_audit(const struct cache *cache)
{
    void *value;
    for (size_t i = 0;
         !cache->limits_stale && map_next(&cache->queues_by_name, &i, NULL, &value);) {
        const struct sched_queue *queue = value;
        for (size_t l = 0; l < queue->limits.n; l++)
            if (!limit_matches(cache, queue, &queue->limits.items[l]))
                return "what a queue uses of a limit for a group of nodes differs from a count";
    }
    return NULL;
}
