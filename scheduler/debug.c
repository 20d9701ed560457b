/*
 * The cache compared with its stores. See debug.h.
 *
 * Both ways: what a store has and the cache lacks or shows otherwise, and what the cache has and
 * the store lacks. Pods and nodes are shared by both, so an old version is another pointer.
 */
#include "scheduler/debug.h"
#include "scheduler/cache_private.h"
#include "scheduler/minimum.h"
#include "json/writer.h"
#include <stdio.h>

#define KEY_SIZE 768

struct comparison {
    const struct scheduler *scheduler;
    struct map waiting; /* keys of what changes that wait concern */
    uint64_t differences;
    struct buf named; /* JSON strings, with commas */
    size_t next;      /* first pod not looked at, 0 when there is none */
};

/* ---- differences ----------------------------------------------------------------------------- */

static struct str change_key(char text[KEY_SIZE], enum change_kind kind, const char *ns,
                             const char *key)
{
    int size = snprintf(text, KEY_SIZE, "%d/%s/%s", (int)kind, ns ? ns : "", key);
    return str_make(text, size < KEY_SIZE ? (size_t)size : KEY_SIZE - 1);
}

/* Changes wait in order, so what concerns a pod may also concern its job; that is not compared. */
static void collect_waiting(struct comparison *comparison)
{
    const struct scheduler *scheduler = comparison->scheduler;
    char text[KEY_SIZE];
    for (size_t i = scheduler->changes_done; i < scheduler->changes.n; i++) {
        const struct change *change = &scheduler->changes.items[i];
        map_set(&comparison->waiting, change_key(text, change->kind, change->ns, change->key),
                NULL);
    }
}

static void differ(struct comparison *comparison, enum change_kind kind, const char *ns,
                   const char *key, const char *name, const char *what)
{
    struct json_writer writer = json_writer(&comparison->named);
    char text[KEY_SIZE];
    if (map_has(&comparison->waiting, change_key(text, kind, ns, key)))
        return;
    if (comparison->differences++ >= DEBUG_NAMED_MAX)
        return;
    if (comparison->named.n)
        buf_add_char(&comparison->named, ',');
    json_w_strf(&writer, "%s%s%s: %s", ns ? ns : "", ns ? "/" : "", name, what);
}

/* ---- pods ------------------------------------------------------------------------------------ */

static void differ_pod(struct comparison *comparison, const struct pod *pod, const char *what)
{
    char name[KEY_SIZE];
    (void)snprintf(name, sizeof(name), "pod %s/%s", pod->meta.ns, pod->meta.name);
    differ(comparison, CHANGE_POD, NULL, pod->meta.uid, name, what);
}

static void compare_pod(struct comparison *comparison, const struct pod *pod)
{
    const struct cache *cache = &comparison->scheduler->cache;
    const struct sched_task *task = cache_task(cache, pod->meta.uid);
    const char *node = cache_pod_node(pod);
    if (!task) {
        if (cache_wants_pod(cache, pod))
            differ_pod(comparison, pod, "not in the cache");
        return;
    }
    if (task->pod != pod)
        differ_pod(comparison, pod, "another version is in the cache");
    else if (node && (!task->node || strcmp(task->node->name, node) != 0))
        differ_pod(comparison, pod, "not charged to its node");
    else if (!node && task->node && task->status != TASK_ALLOCATED &&
             task->status != TASK_BINDING && task->status != TASK_BOUND)
        differ_pod(comparison, pod, "charged to a node that it is not on");
}

static void compare_pods(struct comparison *comparison, size_t from)
{
    const struct store *pods = comparison->scheduler->params.pods;
    const struct pod *pod;
    size_t looked = 0, at = from;
    void *value;
    while (looked++ < DEBUG_PODS_MAX && (pod = store_next(pods, &at)))
        compare_pod(comparison, pod);
    comparison->next = looked > DEBUG_PODS_MAX ? at : 0;
    if (map_count(&comparison->scheduler->cache.tasks_by_uid) > DEBUG_PODS_MAX)
        return; /* a pod too many in the cache shows in the numbers */
    for (size_t i = 0; map_next(&comparison->scheduler->cache.tasks_by_uid, &i, NULL, &value);) {
        const struct sched_task *task = value;
        const struct kube_meta *meta = &task->pod->meta;
        pod = store_get(pods, str_of(meta->ns), str_of(meta->name));
        if (!pod || pod->meta.uid != meta->uid)
            differ_pod(comparison, task->pod, "in the cache alone");
    }
}

/* ---- the other kinds ------------------------------------------------------------------------- */

static void compare_nodes(struct comparison *comparison)
{
    const struct cache *cache = &comparison->scheduler->cache;
    const struct store *nodes = comparison->scheduler->params.nodes;
    const struct node *node;
    for (size_t i = 0; (node = store_next(nodes, &i));) {
        const struct sched_node *cached = cache_node(cache, node->meta.name);
        bool kept = !cache->keep_node || cache->keep_node(node, cache->keep_arg);
        if ((cached ? cached->object : NULL) != (kept ? node : NULL))
            differ(comparison, CHANGE_NODE, NULL, node->meta.name, node->meta.name,
                   "the node is not in the cache as it is");
    }
    for (size_t i = 0; i < cache->nodes.n; i++) {
        const struct sched_node *cached = cache->nodes.items[i];
        if (cached && cached->object && !store_get(nodes, STR_NULL, str_of(cached->name)))
            differ(comparison, CHANGE_NODE, NULL, cached->name, cached->name,
                   "the node is in the cache alone");
    }
}

static bool group_alike(const struct sched_job *job, const struct podgroup *group)
{
    return job && job->uid == group->meta.uid && job->min_member == minimum_of(job, group) &&
           job->queue && job->queue->name == group->queue &&
           job->priority_class == group->priority_class_name &&
           job->has_min_resources == group->has_min_resources;
}

static void compare_groups(struct comparison *comparison)
{
    const struct cache *cache = &comparison->scheduler->cache;
    const struct store *groups = comparison->scheduler->params.podgroups;
    const struct podgroup *group;
    void *value;
    for (size_t i = 0; (group = store_next(groups, &i));)
        if (!group_alike(cache_job(cache, group->meta.ns, group->meta.name), group))
            differ(comparison, CHANGE_PODGROUP, group->meta.ns, group->meta.name, group->meta.name,
                   "the PodGroup is not in the cache as it is");
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);) {
        const struct sched_job *job = value;
        if (job->uid && !store_get(groups, str_of(job->ns), str_of(job->name)))
            differ(comparison, CHANGE_PODGROUP, job->ns, job->name, job->name,
                   "the PodGroup is in the cache alone");
    }
}

static bool queue_alike(const struct sched_queue *cached, const struct queue *queue)
{
    return cached && cached->uid == queue->meta.uid && cached->weight == queue->weight &&
           cached->priority == queue->priority && cached->open == queue_is_open(queue) &&
           (!queue->parent[0] || !cached->parent_name[0] || cached->parent_name == queue->parent);
}

static void compare_queues(struct comparison *comparison)
{
    const struct cache *cache = &comparison->scheduler->cache;
    const struct store *queues = comparison->scheduler->params.queues;
    const struct queue *queue;
    void *value;
    for (size_t i = 0; (queue = store_next(queues, &i));) {
        if (!queue_alike(cache_queue(cache, queue->meta.name), queue))
            differ(comparison, CHANGE_QUEUE, NULL, queue->meta.name, queue->meta.name,
                   "the queue is not in the cache as it is");
    }
    for (size_t i = 0; map_next(&cache->queues_by_name, &i, NULL, &value);) {
        const struct sched_queue *cached = value;
        if (cached->uid && !store_get(queues, STR_NULL, str_of(cached->name)))
            differ(comparison, CHANGE_QUEUE, NULL, cached->name, cached->name,
                   "the queue is in the cache alone");
    }
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void write_counts(struct json_writer *writer, const char *kind, const struct store *store,
                         size_t cached)
{
    json_w_member_object(writer, kind);
    json_w_member_i64(writer, "store", (int64_t)store_count(store));
    json_w_member_i64(writer, "cache", (int64_t)cached);
    json_w_end_object(writer);
}

/* Jobs with a PodGroup, queues that exist. */
static size_t known_jobs(const struct cache *cache)
{
    size_t count = 0;
    void *value;
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);)
        count += ((const struct sched_job *)value)->uid != NULL;
    return count;
}

static size_t known_queues(const struct cache *cache)
{
    size_t count = 0;
    void *value;
    for (size_t i = 0; map_next(&cache->queues_by_name, &i, NULL, &value);)
        count += ((const struct sched_queue *)value)->uid != NULL;
    return count;
}

static void write_answer(const struct comparison *comparison, const char *audit, bool consistent,
                         struct buf *out)
{
    const struct scheduler *scheduler = comparison->scheduler;
    const struct scheduler_params *params = &scheduler->params;
    const struct cache *cache = &scheduler->cache;
    struct json_writer writer = json_writer(out);
    json_w_object(&writer);
    json_w_member_bool(&writer, "consistent", consistent);
    json_w_member_bool(&writer, "running", scheduler->cycle.stage != CYCLE_IDLE);
    json_w_member_i64(&writer, "waiting", (int64_t)map_count(&comparison->waiting));
    json_w_member_str(&writer, "audit", str_of(audit));
    write_counts(&writer, "pods", params->pods, map_count(&cache->tasks_by_uid));
    write_counts(&writer, "nodes", params->nodes, cache->known_nodes);
    write_counts(&writer, "podGroups", params->podgroups, known_jobs(cache));
    write_counts(&writer, "queues", params->queues, known_queues(cache));
    json_w_member_i64(&writer, "differences", (int64_t)comparison->differences);
    cleanup_buf struct buf list = BUF_INIT(SIZE_MAX);
    buf_printf(&list, "[%.*s]", STR_ARG(buf_str(&comparison->named)));
    json_w_member_raw(&writer, "first", buf_str(&list));
    if (comparison->next)
        json_w_member_i64(&writer, "next", (int64_t)comparison->next);
    json_w_end_object(&writer);
    buf_add_char(out, '\n');
}

bool debug_cache(const struct scheduler *scheduler, size_t from, struct buf *out)
{
    const struct cache *cache = &scheduler->cache;
    struct comparison comparison = {.scheduler = scheduler};
    const char *audit = "left out";
    buf_init(&comparison.named, SIZE_MAX);
    collect_waiting(&comparison);
    compare_pods(&comparison, from);
    compare_nodes(&comparison);
    compare_groups(&comparison);
    compare_queues(&comparison);
    const char *wrong = NULL;
    if (map_count(&cache->tasks_by_uid) <= DEBUG_PODS_MAX) {
        wrong = cache_audit(cache);
        audit = wrong ? wrong : "ok";
    }
    bool consistent = !comparison.differences && !wrong;
    write_answer(&comparison, audit, consistent, out);
    map_clear(&comparison.waiting);
    buf_clear(&comparison.named);
    return consistent;
}

int debug_cache_page(struct str path, struct str query, struct buf *out, void *arg)
{
    int64_t from = 0;
    (void)path;
    if (str_starts(query, STR("from=")) &&
        (!str_to_i64(str_from(query, strlen("from=")), &from) || from < 0)) {
        buf_add_cstr(out, "from is not a number\n");
        return 400;
    }
    return debug_cache(arg, (size_t)from, out) ? 200 : 500;
}
