/*
 * drf: dominant resource fairness. Of two jobs, the one whose largest part of any resource of the
 * cluster is smaller goes first. With enableHierarchy, queues are ordered too, down the tree that
 * their annotations describe.
 */
#include "base/alloc.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/shares/hdrf.h"
#include "scheduler/shares/leaving.h"
#include "scheduler/shares/ledger.h"

struct drf {
    uint64_t state;                     /* of the cache the tree was made from; 0: none is made */
    struct hdrf_node *root;             /* owned */
    VEC(struct hdrf_node *) groups;     /* borrowed; by the queue's index, NULL: none */
    struct map leaves;                  /* borrowed; by the job's address */
    VEC(const struct sched_job *) jobs; /* borrowed; those with a leaf */
    VEC(bool) exhausted;                /* by resource: the cluster has none left */
    VEC(int64_t) parts;                 /* scratch */
};

/* ---- jobs ------------------------------------------------------------------------------------ */

static int job_order(const struct plugin *plugin, const struct sched_job *a,
                     const struct sched_job *b)
{
    (void)plugin;
    double share_a = cache_dominant_share(a->cache, &a->allocated),
           share_b = cache_dominant_share(b->cache, &b->allocated);
    return (share_a > share_b) - (share_a < share_b);
}

/* A pod gives way when its job has more than the job that wants its room, and without it, and those
 * before it, still as much as that would have. To the least bit: what is equal within a tolerance
 * could be taken back. (Equal parts of different amounts are equal as doubles, too.) */
static enum plugin_vote evictable(struct plugin *plugin, const struct eviction *eviction, bool *may)
{
    struct leaving leaving = {0};
    (void)plugin;
    if (eviction->kind != EVICT_PREEMPT)
        return VOTE_ABSTAIN;
    struct resource_set wants = resource_set_copy(&eviction->job->allocated);
    resource_set_add(&wants, &eviction->task->pod->cls->request, 1);
    double share = cache_dominant_share(eviction->cache, &eviction->job->allocated);
    double wanted = cache_dominant_share(eviction->cache, &wants);
    for (size_t i = 0; i < eviction->n; i++) {
        const struct sched_task *task = eviction->candidates[i];
        struct resource_set *left = leaving_of(&leaving, task->job, &task->job->allocated);
        resource_set_add(left, &task->pod->cls->request, -1);
        may[i] = share < cache_dominant_share(eviction->cache, &task->job->allocated) &&
                 wanted <= cache_dominant_share(eviction->cache, left);
    }
    resource_set_clear(&wants);
    leaving_clear(&leaving);
    return VOTE_PERMIT;
}

/* Its pods would have to leave it as much as it holds now. */
static bool keeps_job(struct plugin *plugin, const struct eviction *eviction,
                      const struct sched_job *job)
{
    (void)plugin;
    return eviction->kind == EVICT_PREEMPT &&
           cache_dominant_share(eviction->cache, &job->allocated) <=
               cache_dominant_share(eviction->cache, &eviction->job->allocated);
}

/* ---- the tree of queues ---------------------------------------------------------------------- */

static struct str key_of(const struct sched_job *const *job)
{
    return str_make((const char *)job, sizeof(*job));
}

static void forget(struct drf *drf)
{
    hdrf_free(drf->root);
    drf->root = NULL;
    drf->groups.n = drf->jobs.n = drf->exhausted.n = drf->parts.n = 0;
    map_clear(&drf->leaves);
}

/* A queue without the annotation is a group of its own below the root. */
static struct hdrf_node *group_of(struct drf *drf, const struct sched_queue *queue)
{
    while (drf->groups.n <= queue->index)
        vec_push(&drf->groups, NULL);
    struct hdrf_node **group = &drf->groups.items[queue->index];
    if (!*group && queue->hierarchy[0]) {
        *group = hdrf_group(drf->root, str_of(queue->hierarchy), str_of(queue->hierarchy_weights));
    } else if (!*group) {
        cleanup_free char *name = xasprintf("/%s", queue->name); /* no group in a path has a "/" */
        *group = hdrf_child(drf->root, str_of(name), 1);
    }
    return *group;
}

static bool is_exhausted(const struct cache *cache, uint32_t id)
{
    return resource_vector_get(&cache->used, id) >= resource_vector_get(&cache->allocatable, id);
}

/* Brings the leaf of a job up to date. */
static void weigh(struct drf *drf, const struct cache *cache, const struct sched_job *job)
{
    struct hdrf_node *leaf = map_get(&drf->leaves, key_of(&job));
    if (!leaf)
        return;
    memset(drf->parts.items, 0, drf->parts.n * sizeof(*drf->parts.items));
    for (uint32_t i = 0; i < job->allocated.n; i++) {
        uint32_t id = job->allocated.items[i].id;
        if (id < leaf->width)
            drf->parts.items[id] = hdrf_part(job->allocated.items[i].amount,
                                             resource_vector_get(&cache->allocatable, id));
    }
    hdrf_set(leaf, drf->parts.items,
             hdrf_is_saturated(&job->allocated, &job->pending, &cache->used, &cache->allocatable));
}

/* True when another set of resources is exhausted than before. */
static bool note_exhausted(struct drf *drf, const struct cache *cache)
{
    bool changed = false;
    for (uint32_t id = 0; id < drf->exhausted.n; id++) {
        bool now = is_exhausted(cache, id);
        changed = changed || now != drf->exhausted.items[id];
        drf->exhausted.items[id] = now;
    }
    return changed;
}

static void weigh_all(struct drf *drf, const struct cache *cache)
{
    for (size_t i = 0; i < drf->jobs.n; i++)
        weigh(drf, cache, drf->jobs.items[i]);
}

/* It holds something or may yet: a job that waits to enter its queue, or for its pods, counts as
 * one that can use more. */
static bool has_part(const struct sched_job *job)
{
    bool waits = job->uid && (job->phase == JOB_PENDING || job->phase == JOB_INQUEUE);
    return job->queue && (waits || job->allocated.n || job->pending.n);
}

static void make_tree(struct drf *drf, const struct cache *cache)
{
    uint32_t width = resource_id_count();
    void *value;
    forget(drf);
    drf->root = hdrf_new(width);
    for (uint32_t id = 0; id < width; id++) {
        vec_push(&drf->parts, 0);
        vec_push(&drf->exhausted, is_exhausted(cache, id));
    }
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);) {
        const struct sched_job *job = value;
        if (!has_part(job))
            continue;
        map_set(&drf->leaves, key_of(&job), hdrf_leaf(group_of(drf, job->queue)));
        vec_push(&drf->jobs, job);
    }
    weigh_all(drf, cache);
}

static void begin(struct plugin *plugin, const struct cache *cache)
{
    struct drf *drf = plugin->state;
    if (!plugin->enabled[POINT_HIERARCHY])
        return;
    uint64_t state = ledger_state(cache);
    if (state != drf->state)
        make_tree(drf, cache);
    else if (note_exhausted(drf, cache))
        weigh_all(drf, cache);
    drf->state = state;
}

static void turn_over(struct plugin *plugin, const struct sched_job *job)
{
    struct drf *drf = plugin->state;
    if (!drf->root)
        return;
    if (note_exhausted(drf, job->cache))
        weigh_all(drf, job->cache);
    else
        weigh(drf, job->cache, job);
}

static int queue_order(const struct plugin *plugin, const struct sched_queue *a,
                       const struct sched_queue *b)
{
    const struct drf *drf = plugin->state;
    if (!drf->root || a->index >= drf->groups.n || b->index >= drf->groups.n)
        return 0;
    const struct hdrf_node *x = drf->groups.items[a->index], *y = drf->groups.items[b->index];
    return x && y ? hdrf_compare(x, y) : 0;
}

static bool order_moves(const struct plugin *plugin)
{
    return plugin->enabled[POINT_HIERARCHY];
}

static int open_plugin(struct plugin *plugin, struct error *err)
{
    (void)err;
    plugin->state = xnew(struct drf);
    return 0;
}

static void close_plugin(struct plugin *plugin)
{
    struct drf *drf = plugin->state;
    forget(drf);
    vec_clear(&drf->groups);
    vec_clear(&drf->jobs);
    vec_clear(&drf->exhausted);
    vec_clear(&drf->parts);
    free(drf);
}

const struct plugin_type plugin_drf = {.name = "drf",
                                       .open = open_plugin,
                                       .close = close_plugin,
                                       .begin = begin,
                                       .job_order = job_order,
                                       .queue_order = queue_order,
                                       .order_moves = order_moves,
                                       .turn_over = turn_over,
                                       .evictable = evictable,
                                       .keeps_job = keeps_job};
