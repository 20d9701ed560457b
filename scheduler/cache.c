/*
 * The cache's nodes, and its beginning and end. See cache.h; jobs and pods are in cache_jobs.c,
 * queues in cache_queues.c.
 */
#include "base/ensure.h"
#include "base/intern.h"
#include "scheduler/cache_private.h"
#include "scheduler/census.h"
#include "scheduler/fit.h"
#include "scheduler/group_limits.h"
#include "scheduler/holds.h"
#include "scheduler/images.h"
#include "scheduler/node_labels.h"
#include "scheduler/volumes/volumes.h"

#define LOG_MIN 1024

void cache_init(struct cache *cache, struct loop *loop, struct window *window)
{
    *cache = (struct cache){.loop = loop, .window = window, .room = 1};
    cache->nodes_by_name.borrows = cache->tasks_by_uid.borrows = true; /* interned by the values */
    list_init(&cache->admit);
    list_init(&cache->place);
    list_init(&cache->dirty);
    list_init(&cache->untold_queues);
    list_init(&cache->tables);
    list_init(&cache->reservations);
    loop_timer_init(&cache->recount, cache_recount, cache);
    cache->census = census_new();
    cache->volumes = volumes_new();
    cache->topologies.borrows = cache->tables_by_key.borrows = cache->node_labels.borrows = true;
    cache->log_cap = LOG_MIN;
    cache->log = xcalloc(cache->log_cap, sizeof(*cache->log));
}

static void free_node(struct sched_node *node)
{
    node_unref(node->object);
    resource_vector_clear(&node->used);
    host_ports_clear(&node->ports);
    intern_put(node->group);
    intern_put(node->name);
    free(node);
}

static void free_queue(void *value)
{
    cache_queue_free(value);
}

static void free_tasks(struct cache *cache)
{
    void *value;
    for (size_t i = 0; map_next(&cache->tasks_by_uid, &i, NULL, &value);) {
        struct sched_task *task = value;
        census_move(cache, task, TASK_LEAVING, NULL);
        census_leave(cache, task);
        pod_unref(task->pod);
        free(task);
    }
    map_clear(&cache->tasks_by_uid);
}

void cache_clear(struct cache *cache)
{
    void *value;
    loop_timer_cancel(cache->loop, &cache->recount);
    fit_clear(cache);
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);)
        cache_job_free(cache, value);
    map_clear(&cache->jobs_by_key);
    free_tasks(cache);
    census_free(cache->census);
    node_labels_clear(cache);
    volumes_free(cache->volumes);
    map_clear(&cache->tables_by_key);
    map_clear(&cache->topologies);
    map_clear(&cache->images);
    for (size_t i = 0; i < cache->nodes.n; i++)
        if (cache->nodes.items[i])
            free_node(cache->nodes.items[i]);
    map_clear(&cache->nodes_by_name);
    vec_clear(&cache->nodes);
    vec_clear(&cache->free_indices);
    vec_clear(&cache->free_queue_slots);
    map_clear_with(&cache->queues_by_name, free_queue);
    cache_namespaces_clear(cache);
    resource_vector_clear(&cache->allocatable);
    resource_vector_clear(&cache->used);
    resource_vector_clear(&cache->free);
    resource_vector_clear(&cache->held);
    free(cache->log);
    cache->log = NULL;
}

void cache_room(struct cache *cache)
{
    cache->room++;
}

/* ---- the log of changed nodes ---------------------------------------------------------------- */

static void log_grow(struct cache *cache)
{
    cache->log_cap *= 2;
    cache->log = xreallocarray(cache->log, cache->log_cap, sizeof(*cache->log));
    cache->log_base = cache->log_head; /* places have moved: every table starts afresh */
}

void cache_log_node(struct cache *cache, const struct sched_node *node)
{
    if (cache->log_cap < 2 * cache->nodes.n)
        log_grow(cache);
    cache->log[cache->log_head & (cache->log_cap - 1)] = node->index;
    cache->log_head++;
}

void cache_log_all(struct cache *cache)
{
    cache->log_base = ++cache->log_head;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static int64_t clipped(int64_t amount)
{
    return amount > 0 ? amount : 0;
}

static int64_t free_of(const struct sched_node *node, uint32_t id)
{
    return clipped(resource_vector_get(&node->object->allocatable, id) -
                   resource_vector_get(&node->used, id));
}

/* Adds a known node to the sums over the cluster, or takes it out. */
void cache_sum_node(struct cache *cache, const struct sched_node *node, int sign)
{
    uint32_t n =
        node->object->allocatable.n > node->used.n ? node->object->allocatable.n : node->used.n;
    bool exact = true;
    for (uint32_t id = 0; id < n; id++) {
        int64_t allocatable = sign * resource_vector_get(&node->object->allocatable, id);
        int64_t used = sign * resource_vector_get(&node->used, id);
        exact &= resource_sum_add(resource_vector_slot(&cache->allocatable, id), allocatable);
        exact &= resource_sum_add(resource_vector_slot(&cache->used, id), used);
        exact &= resource_sum_add(resource_vector_slot(&cache->free, id), sign * free_of(node, id));
    }
    cache_added(cache, exact);
}

/* Takes what a node has free of some resources out of the sum over the cluster, or puts it back. */
static void sum_free(struct cache *cache, const struct sched_node *node,
                     const struct resource_set *request, int sign)
{
    bool exact = true;
    for (uint32_t i = 0; node->object && i < request->n; i++) {
        uint32_t id = request->items[i].id;
        exact &= resource_sum_add(resource_vector_slot(&cache->free, id), sign * free_of(node, id));
    }
    cache_added(cache, exact);
}

void cache_charge(struct cache *cache, struct sched_node *node, const struct pod_class *cls,
                  int sign)
{
    const struct resource_set *request = &cls->request;
    sum_free(cache, node, request, -1);
    cache_added(cache, resource_vector_add(&node->used, request, sign));
    if (node->object)
        cache_added(cache, resource_vector_add(&cache->used, request, sign));
    sum_free(cache, node, request, 1);
    node->tasks += (uint32_t)sign;
    if (sign > 0) {
        host_ports_merge(&node->ports, &cls->ports);
        volumes_attach(cache->volumes, cls->volumes, node->name);
    } else {
        host_ports_unmerge(&node->ports, &cls->ports);
        volumes_detach(cache->volumes, cls->volumes, node->name);
    }
    cache_log_node(cache, node);
    if (sign < 0 && !cache->stating)
        cache_room(cache);
}

bool cache_place_task(struct cache *cache, struct sched_task *task, struct sched_node *node)
{
    const struct pod *pod = task->pod;
    if (pod->cls->volumes &&
        !volumes_assume(cache->volumes, pod->meta.uid, pod->cls->volumes, node->object))
        return false;
    cache_set_task(cache, task, TASK_ALLOCATED, node);
    return true;
}

struct sched_node *cache_node_get(struct cache *cache, const char *name)
{
    struct sched_node *node = cache_node(cache, name);
    if (node)
        return node;
    node = xnew(struct sched_node);
    node->name = intern_get(str_of(name));
    if (cache->free_indices.n) {
        node->index = cache->free_indices.items[--cache->free_indices.n];
        cache->nodes.items[node->index] = node;
    } else {
        node->index = (uint32_t)cache->nodes.n;
        vec_push(&cache->nodes, node);
    }
    map_set(&cache->nodes_by_name, str_of(node->name), node);
    return node;
}

void cache_node_drop(struct cache *cache, struct sched_node *node)
{
    if (node->object || node->tasks)
        return;
    cache_log_node(cache, node);
    cache->nodes.items[node->index] = NULL;
    vec_push(&cache->free_indices, node->index);
    map_del(&cache->nodes_by_name, str_of(node->name));
    free_node(node);
}

struct sched_node *cache_node(const struct cache *cache, const char *name)
{
    return map_get(&cache->nodes_by_name, str_of(name));
}

bool cache_set_node(struct cache *cache, const char *name, struct node *object)
{
    if (object && cache->keep_node && !cache->keep_node(object, cache->keep_arg))
        object = NULL;
    struct sched_node *node = object ? cache_node_get(cache, name) : cache_node(cache, name);
    if (!node || (!object && !node->object))
        return false;
    bool alike = object && node->object && node_schedules_alike(object, node->object);
    bool admits_alike = object && node->object && node_admits_alike(object, node->object);
    if (node->object) {
        cache_sum_node(cache, node, -1);
        images_node(cache, node->object, -1);
    }
    cache->known_nodes += (size_t)(object != NULL) - (size_t)(node->object != NULL);
    node_labels_change(cache, node->object, object);
    node_unref(node->object);
    node->object = object ? node_ref(object) : NULL;
    if (node->object) {
        cache_sum_node(cache, node, 1);
        images_node(cache, node->object, 1);
    }
    if (alike)
        return false;
    if (admits_alike) { /* every pull of an image is such a change */
        cache_log_node(cache, node);
        return false;
    }
    cache->workload++;
    topology_set_node(cache, node->index, node->object);
    holds_node_changed(cache, node);
    group_limits_set_node(cache, node);
    node->version = ++cache->versions;
    cache_log_node(cache, node);
    cache_room(cache);
    cache_node_drop(cache, node);
    return true;
}
