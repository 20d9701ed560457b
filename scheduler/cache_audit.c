/*
 * The cache compared with a recount from scratch. See cache.h.
 *
 * Nothing here is kept or shared: a recount walks over every task, job, node and queue.
 */
#include "scheduler/cache_private.h"
#include "scheduler/census.h"
#include "scheduler/group_limits.h"
#include "scheduler/holds.h"
#include "scheduler/node_labels.h"
#include "scheduler/volumes/volumes.h"

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool vectors_match(const struct cache *cache, const struct resource_vector *used)
{
    struct resource_vector sums[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    bool match = true;
    for (size_t i = 0; i < cache->nodes.n; i++) {
        const struct sched_node *node = cache->nodes.items[i];
        if (!node)
            continue;
        match = match && resource_vector_equal(&node->used, &used[i]);
        for (uint32_t id = 0; node->object && id < resource_id_count(); id++) {
            int64_t allocatable = resource_vector_get(&node->object->allocatable, id);
            int64_t taken = resource_vector_get(&node->used, id);
            (void)resource_sum_add(resource_vector_slot(&sums[0], id), allocatable);
            (void)resource_sum_add(resource_vector_slot(&sums[1], id), taken);
            (void)resource_sum_add(resource_vector_slot(&sums[2], id),
                                   allocatable > taken ? allocatable - taken : 0);
        }
    }
    match = match && resource_vector_equal(&cache->allocatable, &sums[0]) &&
            resource_vector_equal(&cache->used, &sums[1]) &&
            resource_vector_equal(&cache->free, &sums[2]);
    for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
        resource_vector_clear(&sums[i]);
    return match;
}

static bool usage_matches(const struct cache *cache)
{
    struct resource_vector *used = xcalloc(cache->nodes.n + 1, sizeof(*used));
    void *value;
    for (size_t i = 0; map_next(&cache->tasks_by_uid, &i, NULL, &value);) {
        const struct sched_task *task = value;
        if (task->node)
            resource_vector_add(&used[task->node->index], &task->pod->cls->request, 1);
    }
    bool match = vectors_match(cache, used);
    for (size_t i = 0; i < cache->nodes.n; i++)
        resource_vector_clear(&used[i]);
    free(used);
    return match;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static const char *audit_counts(const struct sched_job *job)
{
    uint32_t count[TASK_STATUS_COUNT] = {0}, tasks = 0, have = 0, waiting = 0, pending = 0;
    list_each(link, &job->tasks)
    {
        const struct sched_task *task = container_of(link, struct sched_task, link);
        count[task->status]++;
        tasks++;
        if (task->evicting && task->status != TASK_RELEASING)
            return "a pod that was asked to go is not releasing its node";
    }
    if (tasks != job->task_count || memcmp(count, job->count, sizeof(count)) != 0)
        return "a job's counts differ from its tasks";
    for (size_t i = 0; i < job->roles.n; i++) {
        have += job->roles.items[i].have;
        waiting += job->roles.items[i].waiting;
    }
    for (size_t i = 0; i < job->groups.n; i++)
        pending += (uint32_t)job->groups.items[i]->pending.n;
    if (have != job_have(job) || waiting + job->count[TASK_GATED] != job_waiting(job))
        return "a job's roles do not add up to its counts";
    if (pending != job->count[TASK_PENDING])
        return "a job's groups do not hold its pending tasks";
    return NULL;
}

/* Sums of requests of the job's tasks, by what a status means for them. */
static void recount_job(const struct sched_job *job, struct resource_set *allocated,
                        struct resource_set *pending, struct resource_set *gated)
{
    list_each(link, &job->tasks)
    {
        const struct sched_task *task = container_of(link, struct sched_task, link);
        const struct resource_set *request = &task->pod->cls->request;
        bool waits = task->status == TASK_PENDING || task->status == TASK_HELD;
        if (task->status >= TASK_ALLOCATED && task->status <= TASK_RUNNING)
            resource_set_add(allocated, request, 1);
        else if (waits)
            resource_set_add(pending, request, 1);
        else if (task->status == TASK_GATED && task->pod->gated_by_others)
            resource_set_add(gated, request, 1);
    }
}

static const char *audit_sums(const struct sched_job *job)
{
    struct resource_set allocated = {NULL, 0}, pending = {NULL, 0}, gated = {NULL, 0};
    recount_job(job, &allocated, &pending, &gated);
    bool match = resource_set_equal(&allocated, &job->allocated) &&
                 resource_set_equal(&pending, &job->pending) &&
                 resource_set_equal(&gated, &job->gated);
    resource_set_clear(&allocated);
    resource_set_clear(&pending);
    resource_set_clear(&gated);
    return match ? NULL : "a job's sums of requests differ from its tasks";
}

/* ---- queues ---------------------------------------------------------------------------------- */

/* A queue counted afresh. */
struct recount {
    struct resource_set allocated, pending, inqueue, elastic, awaited;
    uint32_t jobs, children;
};

static void free_recount(void *value)
{
    struct recount *recount = value;
    resource_set_clear(&recount->allocated);
    resource_set_clear(&recount->pending);
    resource_set_clear(&recount->inqueue);
    resource_set_clear(&recount->elastic);
    resource_set_clear(&recount->awaited);
    free(recount);
}

static struct recount *recount_of(struct map *recounts, const char *name)
{
    struct recount *recount = map_get(recounts, str_of(name));
    if (recount)
        return recount;
    recount = xnew(struct recount);
    map_set(recounts, str_of(name), recount);
    return recount;
}

static void add_amount(struct resource_set *set, uint32_t id, int64_t amount)
{
    if (amount)
        resource_set_add(set, &(struct resource_set){&(struct resource_amount){id, amount}, 1}, 1);
}

static void recount_awaited(struct recount *recount, const struct sched_job *job)
{
    if (!holds_awaited(job) || job->reservation->lifted)
        return;
    for (size_t i = 0; i < job->reservation->holds.n; i++)
        resource_set_add(&recount->awaited, &job->reservation->holds.items[i]->amount, 1);
}

static void recount_in_queue(struct recount *recount, const struct sched_job *job)
{
    recount->jobs++;
    recount_awaited(recount, job);
    resource_set_add(&recount->allocated, &job->allocated, 1);
    resource_set_add(&recount->pending, &job->pending, 1);
    for (uint32_t i = 0; i < job->min_resources.n; i++) {
        uint32_t id = job->min_resources.items[i].id;
        add_amount(&recount->inqueue, id, job_promised(job, id));
    }
    for (uint32_t i = 0; i < job->allocated.n; i++) {
        uint32_t id = job->allocated.items[i].id;
        add_amount(&recount->elastic, id, job_beyond(job, id));
    }
}

/* Whether the way up from a queue comes back to it. */
static bool returns(const struct cache *cache, const struct sched_queue *queue)
{
    const struct sched_queue *at = queue;
    for (size_t i = 0; at && i <= map_count(&cache->queues_by_name); i++) {
        at = at->parent_name[0] ? cache_queue(cache, at->parent_name) : NULL;
        if (at == queue)
            return true;
    }
    return false;
}

static const char *audit_queue(const struct cache *cache, const struct sched_queue *queue,
                               const struct recount *recount)
{
    const struct sched_queue *above =
        queue->parent_name[0] ? cache_queue(cache, queue->parent_name) : NULL;
    bool has_parent = above && above->uid && !returns(cache, queue);
    if (queue->parent != (has_parent ? above : NULL))
        return "a queue's parent is not the one that it names";
    if (queue->jobs != recount->jobs || queue->children != recount->children)
        return "a queue's numbers of jobs and children differ from a count";
    if (!resource_set_equal(&queue->allocated, &recount->allocated) ||
        !resource_set_equal(&queue->pending, &recount->pending))
        return "a queue's sums of requests differ from its jobs";
    if (!resource_set_equal(&queue->inqueue, &recount->inqueue))
        return "what a queue's jobs were promised differs from a count";
    if (!resource_set_equal(&queue->elastic, &recount->elastic))
        return "what a queue's jobs hold beyond their minimum differs from a count";
    if (!resource_set_equal(&queue->awaited, &recount->awaited))
        return "what is held for a queue's jobs differs from a count";
    return NULL;
}

static void recount_queues(const struct cache *cache, struct map *recounts)
{
    void *value;
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);) {
        const struct sched_job *job = value;
        if (job->queue)
            recount_in_queue(recount_of(recounts, job->queue->name), job);
    }
    for (size_t i = 0; map_next(&cache->queues_by_name, &i, NULL, &value);) {
        const struct sched_queue *queue = value;
        if (queue->parent_name[0])
            recount_of(recounts, queue->parent_name)->children++;
    }
}

static const char *audit_queues(const struct cache *cache)
{
    struct map recounts = {0};
    const char *wrong = NULL;
    void *value;
    recount_queues(cache, &recounts);
    for (size_t i = 0; !wrong && map_next(&cache->queues_by_name, &i, NULL, &value);) {
        const struct sched_queue *queue = value;
        wrong = audit_queue(cache, queue, recount_of(&recounts, queue->name));
    }
    map_clear_with(&recounts, free_recount);
    return wrong;
}

const char *cache_audit(const struct cache *cache)
{
    void *value;
    if (loop_timer_active(&cache->recount))
        return NULL; /* some sums are known to be too large */
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);) {
        const char *wrong = audit_counts(value);
        if (!wrong)
            wrong = audit_sums(value);
        if (wrong)
            return wrong;
    }
    if (!usage_matches(cache))
        return "a node's used amounts differ from its pods";
    const char *wrong = holds_audit(cache);
    if (!wrong)
        wrong = volumes_audit(cache->volumes);
    if (!wrong)
        wrong = group_limits_audit(cache);
    if (!wrong)
        wrong = node_labels_audit(cache);
    if (!wrong)
        wrong = census_audit(cache);
    return wrong ? wrong : audit_queues(cache);
}
