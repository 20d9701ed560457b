/*
 * What jobs and queues hold, wait for and are promised, kept with every change. See cache.h.
 *
 * A job's own sums follow its tasks; what it adds to its queue's `inqueue` and `elastic` follows
 * from these, its phase and its minResources, and is remembered in the job, so that only the
 * difference is passed on. A change costs the number of resources that the job names.
 */
#include "scheduler/cache_private.h"

/* How long a sum that had saturated and then shrunk stays too large. */
#define RECOUNT_NS NSEC_PER_SEC

/* The sum of its job that a task in this status belongs to, or NULL. */
static struct resource_set *sum_of(struct sched_job *job, const struct pod *pod,
                                   enum task_status status)
{
    if (status >= TASK_ALLOCATED && status <= TASK_RUNNING)
        return &job->allocated;
    if (status == TASK_PENDING || status == TASK_HELD)
        return &job->pending;
    return status == TASK_GATED && pod->gated_by_others ? &job->gated : NULL;
}

static void add_to(struct sched_job *job, struct resource_set *sum,
                   const struct resource_set *request, int sign)
{
    struct sched_queue *queue = job->queue;
    if (!sum)
        return;
    cache_added(job->cache, resource_set_add(sum, request, sign));
    if (!queue || sum == &job->gated)
        return;
    struct resource_set *whole = sum == &job->allocated ? &queue->allocated : &queue->pending;
    cache_added(job->cache, resource_set_add(whole, request, sign));
    queue->version++;
}

void cache_sums_task(struct sched_job *job, const struct pod *pod, enum task_status from,
                     enum task_status to)
{
    struct resource_set *old = sum_of(job, pod, from), *new = sum_of(job, pod, to);
    if (old == new)
        return;
    bool placed = old == &job->pending && new == &job->allocated;
    if (old && !placed && !job->cache->stating)
        job->cache->relief++;
    add_to(job, old, &pod->cls->request, -1);
    add_to(job, new, &pod->cls->request, 1);
}

/* ---- what a job adds to its queue ------------------------------------------------------------ */

/* Makes a job's share in one of its queue's sums what it should be. */
static void set_share(struct sched_job *job, struct resource_set *share, struct resource_set *sum,
                      uint32_t id, int64_t amount)
{
    int64_t more = amount - resource_set_get(share, id);
    if (!more)
        return;
    resource_set_put(share, id, amount);
    struct resource_amount amount_more = {id, more};
    cache_added(job->cache, resource_set_add(sum, &(struct resource_set){&amount_more, 1}, 1));
    job->queue->version++;
}

/* Whether what the job lacks of its minResources is promised to it. */
static bool is_promised(const struct sched_job *job)
{
    if (!job->uid || !job->has_min_resources || job->claim_ended)
        return false;
    uint32_t placed = job->count[TASK_ALLOCATED] + job_live(job);
    return job->phase == JOB_INQUEUE ||
           (job->phase == JOB_RUNNING && (int64_t)placed >= job->min_member);
}

int64_t job_promised(const struct sched_job *job, uint32_t id)
{
    if (id == RESOURCE_EPHEMERAL_STORAGE || !is_promised(job))
        return 0;
    int64_t amount = resource_set_get(&job->min_resources, id) -
                     resource_set_get(&job->allocated, id) - resource_set_get(&job->gated, id);
    return amount > 0 ? amount : 0;
}

int64_t job_beyond(const struct sched_job *job, uint32_t id)
{
    int64_t amount =
        resource_set_get(&job->allocated, id) - resource_set_get(&job->min_resources, id);
    return amount > 0 ? amount : 0;
}

void cache_sums_settle(struct sched_job *job)
{
    struct sched_queue *queue = job->queue;
    if (!queue)
        return;
    for (uint32_t i = 0; i < job->min_resources.n; i++) {
        uint32_t id = job->min_resources.items[i].id;
        set_share(job, &job->inqueue, &queue->inqueue, id, job_promised(job, id));
    }
    for (uint32_t i = job->elastic.n; i-- > 0;) /* what is no longer held at all */
        set_share(job, &job->elastic, &queue->elastic, job->elastic.items[i].id,
                  job_beyond(job, job->elastic.items[i].id));
    for (uint32_t i = 0; i < job->allocated.n; i++) {
        uint32_t id = job->allocated.items[i].id;
        set_share(job, &job->elastic, &queue->elastic, id, job_beyond(job, id));
    }
}

void cache_sums_withdraw(struct sched_job *job)
{
    if (!job->queue)
        return;
    bool exact = resource_set_add(&job->queue->inqueue, &job->inqueue, -1);
    exact &= resource_set_add(&job->queue->elastic, &job->elastic, -1);
    cache_added(job->cache, exact);
    resource_set_clear(&job->inqueue);
    resource_set_clear(&job->elastic);
    job->queue->version++;
}

void cache_sums_enter(struct sched_job *job)
{
    resource_set_add(&job->queue->allocated, &job->allocated, 1);
    resource_set_add(&job->queue->pending, &job->pending, 1);
    job->queue->version++;
}

void cache_sums_leave(struct sched_job *job)
{
    job->cache->relief++;
    cache_sums_withdraw(job);
    bool exact = resource_set_add(&job->queue->allocated, &job->allocated, -1);
    exact &= resource_set_add(&job->queue->pending, &job->pending, -1);
    cache_added(job->cache, exact);
}

void cache_sums_clear(struct sched_job *job)
{
    struct resource_set *sets[] = {&job->allocated, &job->pending, &job->gated, &job->inqueue,
                                   &job->elastic};
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
        resource_set_clear(sets[i]);
}

/* ---- a fresh count --------------------------------------------------------------------------- */

void cache_added(struct cache *cache, bool exact)
{
    if (!exact && !loop_timer_active(&cache->recount))
        loop_timer_set(cache->loop, &cache->recount, RECOUNT_NS);
}

/* All sums to 0. */
static void forget_sums(struct cache *cache)
{
    void *value;
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);)
        cache_sums_clear(value);
    for (size_t i = 0; map_next(&cache->queues_by_name, &i, NULL, &value);) {
        struct sched_queue *queue = value;
        resource_set_clear(&queue->allocated);
        resource_set_clear(&queue->pending);
        resource_set_clear(&queue->inqueue);
        resource_set_clear(&queue->elastic);
    }
    for (size_t i = 0; i < cache->nodes.n; i++)
        if (cache->nodes.items[i])
            resource_vector_clear(&cache->nodes.items[i]->used);
    resource_vector_clear(&cache->allocatable);
    resource_vector_clear(&cache->used);
    resource_vector_clear(&cache->free);
}

void cache_recount(void *arg)
{
    struct cache *cache = arg;
    void *value;
    forget_sums(cache);
    for (size_t i = 0; map_next(&cache->tasks_by_uid, &i, NULL, &value);) {
        const struct sched_task *task = value;
        if (task->node)
            (void)resource_vector_add(&task->node->used, &task->pod->cls->request, 1);
        if (task->job)
            cache_sums_task(task->job, task->pod, TASK_LEAVING, task->status);
    }
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);)
        cache_sums_settle(value);
    for (size_t i = 0; i < cache->nodes.n; i++)
        if (cache->nodes.items[i] && cache->nodes.items[i]->object)
            cache_sum_node(cache, cache->nodes.items[i], 1);
    cache_log_all(cache);
    cache_room(cache);
}

double cache_dominant_share(const struct cache *cache, const struct resource_set *held)
{
    double share = 0;
    for (uint32_t i = 0; i < held->n; i++) {
        int64_t total = resource_vector_get(&cache->allocatable, held->items[i].id);
        double part = total > 0 ? (double)held->items[i].amount / (double)total : 0;
        share = part > share ? part : share;
    }
    return share;
}
