/*
 * The cache's queues: their spec, and who is whose parent. See cache.h.
 *
 * A queue that is only named, by a PodGroup or as a parent, is kept as an absent one (uid NULL).
 * `above` is the queue it names as its parent, there or not; `parent` is NULL unless that exists
 * and the way up from it does not come back. A change of one link looks again at the queues on the
 * ways up from its old and its new end, which are those whose cycle it may have closed or opened.
 */
#include "api/names.h"
#include "base/ensure.h"
#include "base/intern.h"
#include "base/log.h"
#include "scheduler/cache_private.h"
#include "scheduler/fit.h"
#include "scheduler/group_limits.h"
#include "scheduler/holds.h"

struct sched_queue *cache_queue(const struct cache *cache, const char *name)
{
    return map_get(&cache->queues_by_name, str_of(name));
}

struct sched_queue *cache_queue_get(struct cache *cache, const char *name)
{
    struct sched_queue *queue = cache_queue(cache, name);
    if (queue)
        return queue;
    queue = xnew(struct sched_queue);
    queue->name = intern_get(str_of(name));
    queue->index = cache->free_queue_slots.n
                       ? cache->free_queue_slots.items[--cache->free_queue_slots.n]
                       : cache->queue_slots++;
    queue->parent_name = intern_get(STR(""));
    queue->hierarchy = intern_get(STR(""));
    queue->hierarchy_weights = intern_get(STR(""));
    queue->weight = 1;
    list_init(&queue->below);
    list_init(&queue->beside);
    list_init(&queue->untold);
    map_set(&cache->queues_by_name, str_of(name), queue);
    return queue;
}

void cache_queue_free(struct sched_queue *queue)
{
    heap_clear(&queue->waiting);
    list_remove(&queue->untold);
    group_limits_clear(queue);
    struct resource_set *sets[] = {&queue->capability, &queue->deserved, &queue->guarantee,
                                   &queue->allocated,  &queue->pending,  &queue->inqueue,
                                   &queue->elastic,    &queue->awaited};
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
        resource_set_clear(sets[i]);
    const char *texts[] = {queue->name, queue->uid, queue->parent_name, queue->hierarchy,
                           queue->hierarchy_weights};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        intern_put(texts[i]);
    free(queue);
}

void cache_queue_drop(struct cache *cache, struct sched_queue *queue)
{
    if (queue->uid || queue->jobs || queue->children)
        return;
    ENSURE(!queue->above);
    map_del(&cache->queues_by_name, str_of(queue->name));
    vec_push(&cache->free_queue_slots, queue->index);
    fit_forget_queue(cache, queue);
    cache_queue_free(queue);
}

/* ---- parents --------------------------------------------------------------------------------- */

/* Whether the way up from a queue comes back to it. */
static bool in_cycle(const struct cache *cache, const struct sched_queue *queue)
{
    const struct sched_queue *at = queue->above;
    for (size_t steps = map_count(&cache->queues_by_name); at && steps; steps--) {
        if (at == queue)
            return true;
        at = at->above;
    }
    return false;
}

static enum queue_trouble trouble_of(const struct cache *cache, const struct sched_queue *queue)
{
    if (!queue->above)
        return QUEUE_SOUND;
    if (!queue->above->uid)
        return QUEUE_PARENT_ABSENT;
    return in_cycle(cache, queue) ? QUEUE_IN_CYCLE : QUEUE_SOUND;
}

/* Works out the parent of a queue. */
static void settle_parent(struct cache *cache, struct sched_queue *queue)
{
    enum queue_trouble trouble = trouble_of(cache, queue);
    struct sched_queue *parent = trouble == QUEUE_SOUND ? queue->above : NULL;
    if (parent != queue->parent)
        queue->version++;
    queue->parent = parent;
    if (trouble == queue->trouble)
        return;
    queue->trouble = trouble;
    list_remove(&queue->untold);
    if (trouble != QUEUE_SOUND)
        list_append(&cache->untold_queues, &queue->untold);
}

static void settle_way_up(struct cache *cache, struct sched_queue *from)
{
    struct sched_queue *at = from;
    for (size_t steps = map_count(&cache->queues_by_name); at && steps; steps--) {
        settle_parent(cache, at);
        at = at->above == from ? NULL : at->above;
    }
}

static void settle_below(struct cache *cache, struct sched_queue *queue)
{
    for (struct list *link = queue->below.next; link != &queue->below; link = link->next)
        settle_parent(cache, container_of(link, struct sched_queue, beside));
}

/* The queue names another parent, or none ("" when it is root or gone). */
static void set_parent(struct cache *cache, struct sched_queue *queue, const char *name)
{
    struct sched_queue *old = queue->above;
    if (strcmp(queue->parent_name, name) == 0)
        return;
    intern_put(queue->parent_name);
    queue->parent_name = intern_get(str_of(name));
    queue->above = name[0] ? cache_queue_get(cache, name) : NULL;
    list_remove(&queue->beside);
    if (queue->above) {
        list_append(&queue->above->below, &queue->beside);
        queue->above->children++;
    }
    if (old) {
        old->children--;
        settle_way_up(cache, old);
    }
    settle_parent(cache, queue);
    settle_way_up(cache, queue->above);
    if (old && old != queue)
        cache_queue_drop(cache, old);
}

void cache_tell_queues(struct cache *cache)
{
    list_each(link, &cache->untold_queues)
    {
        const struct sched_queue *queue = container_of(link, struct sched_queue, untold);
        list_remove(link);
        if (queue->trouble == QUEUE_IN_CYCLE)
            log_warn("a queue is its own ancestor; where queues are limited by their parents its "
                     "jobs wait queue=%s parent=%s",
                     queue->name, queue->parent_name);
        else if (strcmp(queue->parent_name, ROOT_QUEUE) != 0)
            log_warn("the parent of a queue does not exist; where queues are limited by their "
                     "parents its jobs wait queue=%s parent=%s",
                     queue->name, queue->parent_name);
    }
}

/* ---- spec ------------------------------------------------------------------------------------ */

/* True when the set changed. Zero amounts of a limit count, but for cpu and memory, where they
 * mean the same as none. */
static bool set_amounts(struct resource_set *set, const struct queue_resources *given, bool limit)
{
    struct resource_set fresh = {NULL, 0};
    for (uint32_t i = 0; i < given->n; i++) {
        uint32_t id = resource_id(str_of(given->items[i].name));
        int64_t amount = resource_total_of(id, given->items[i].quantity);
        if (amount || (limit && id != RESOURCE_CPU && id != RESOURCE_MEMORY))
            resource_set_put_any(&fresh, id, amount);
    }
    bool changed = !resource_set_equal(set, &fresh);
    resource_set_clear(set);
    *set = fresh;
    return changed;
}

static bool set_text(const char **slot, const char *text)
{
    const char *old = *slot;
    *slot = intern_get(str_of(text));
    intern_put(old);
    return old != *slot;
}

static bool set_i32(int32_t *slot, int32_t value)
{
    bool changed = *slot != value;
    *slot = value;
    return changed;
}

static bool set_bool(bool *slot, bool value)
{
    bool changed = *slot != value;
    *slot = value;
    return changed;
}

static const char *parent_of(const struct queue *object)
{
    if (strcmp(object->meta.name, ROOT_QUEUE) == 0)
        return "";
    return object->parent[0] ? object->parent : ROOT_QUEUE;
}

/* What a queue says of itself but for its parent; true when something changed. */
static bool set_spec(struct sched_queue *queue, const struct queue *object)
{
    const struct kube_pairs *annotations = &object->meta.annotations;
    bool changed = set_i32(&queue->weight, object->weight);
    changed |= set_i32(&queue->priority, object->priority);
    changed |= set_bool(&queue->open, queue_is_open(object));
    changed |= set_bool(&queue->reclaimable, object->reclaimable);
    changed |= set_bool(&queue->has_capability, object->capability.present);
    changed |= set_bool(&queue->has_deserved, object->deserved.present);
    changed |= set_bool(&queue->has_guarantee, object->guarantee.present);
    changed |= set_amounts(&queue->capability, &object->capability, true);
    changed |= set_amounts(&queue->deserved, &object->deserved, false);
    changed |= set_amounts(&queue->guarantee, &object->guarantee, false);
    changed |= set_text(&queue->hierarchy, kube_pairs_get(annotations, KEY_QUEUE_HIERARCHY));
    changed |= set_text(&queue->hierarchy_weights,
                        kube_pairs_get(annotations, KEY_QUEUE_HIERARCHY_WEIGHTS));
    queue->created_ns = object->meta.created_ns;
    return changed;
}

/* The object as it is, or an empty one for a queue that is gone. True when something changed. */
static bool apply_object(struct cache *cache, struct sched_queue *queue, const struct queue *object)
{
    static const struct queue absent = {.weight = 1, .state = ""};
    const char *uid = object ? object->meta.uid : NULL;
    bool changed = set_spec(queue, object ? object : &absent) || queue->uid != uid;
    changed |= group_limits_set_queue(cache, queue, object ? object->groups : NULL);
    bool exists = (queue->uid != NULL) != (uid != NULL);
    const char *parent = object ? parent_of(object) : "";
    changed |= strcmp(queue->parent_name, parent) != 0;
    intern_ref(uid);
    intern_put(queue->uid);
    queue->uid = uid;
    set_parent(cache, queue, parent);
    if (exists)
        settle_below(cache, queue);
    queue->version += changed;
    return changed;
}

bool cache_set_queue(struct cache *cache, const char *name, const struct queue *object)
{
    struct sched_queue *queue = object ? cache_queue_get(cache, name) : cache_queue(cache, name);
    if (!queue)
        return false;
    bool changed = apply_object(cache, queue, object);
    if (changed)
        cache_room(cache);
    cache->workload += changed;
    if (!(queue->uid && queue->open))
        holds_queue_closed(cache, queue);
    cache_queue_drop(cache, queue);
    return changed;
}
