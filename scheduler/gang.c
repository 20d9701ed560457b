/*
 * The arithmetic of gangs, and the audit of the cache's sums for tests. See cache.h.
 *
 * Role minimums count only where minMember covers their sum, as the API has always had it.
 */
#include "base/alloc.h"
#include "scheduler/cache.h"

uint32_t job_have(const struct sched_job *job)
{
    return job->count[TASK_ALLOCATED] + job->count[TASK_BINDING] + job->count[TASK_BOUND] +
           job->count[TASK_RUNNING] + job->count[TASK_SUCCEEDED];
}

uint32_t job_waiting(const struct sched_job *job)
{
    return job->count[TASK_PENDING] + job->count[TASK_HELD] + job->count[TASK_GATED];
}

uint32_t job_live(const struct sched_job *job)
{
    return job->count[TASK_BINDING] + job->count[TASK_BOUND] + job->count[TASK_RUNNING];
}

bool job_roles_ready(const struct sched_job *job)
{
    for (size_t i = 0; job->roles_enforced && i < job->roles.n; i++)
        if ((int64_t)job->roles.items[i].have < job->roles.items[i].min)
            return false;
    return true;
}

bool job_gang_ready(const struct sched_job *job)
{
    return (int64_t)job_have(job) >= job->min_member && job_roles_ready(job);
}

bool job_gang_possible(const struct sched_job *job)
{
    if ((int64_t)job_have(job) + job->count[TASK_PENDING] + job->count[TASK_HELD] < job->min_member)
        return false;
    for (size_t i = 0; job->roles_enforced && i < job->roles.n; i++) {
        const struct task_role *role = &job->roles.items[i];
        if ((int64_t)role->have + role->waiting < role->min)
            return false;
    }
    return true;
}

void job_allocated(const struct sched_job *job, struct resource_set *sum)
{
    for (size_t i = 0; i < job->groups.n; i++)
        resource_set_add(sum, &job->groups.items[i]->cls->request, job->groups.items[i]->placed);
}

struct resource_set job_lacking(const struct sched_job *job)
{
    struct resource_set lacking = {NULL, 0}, allocated = {NULL, 0};
    job_allocated(job, &allocated);
    for (uint32_t i = 0; i < job->min_resources.n; i++) {
        uint32_t id = job->min_resources.items[i].id;
        int64_t amount = job->min_resources.items[i].amount - resource_set_get(&allocated, id);
        if (amount > 0)
            resource_set_put(&lacking, id, amount);
    }
    resource_set_clear(&allocated);
    return lacking;
}

/* ---- audit ----------------------------------------------------------------------------------- */

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
            *resource_vector_slot(&sums[0], id) += allocatable;
            *resource_vector_slot(&sums[1], id) += taken;
            *resource_vector_slot(&sums[2], id) += allocatable > taken ? allocatable - taken : 0;
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

static const char *audit_job(const struct sched_job *job)
{
    uint32_t count[TASK_STATUS_COUNT] = {0}, tasks = 0, have = 0, waiting = 0, pending = 0;
    list_each(link, &job->tasks)
    {
        const struct sched_task *task = container_of(link, struct sched_task, link);
        count[task->status]++;
        tasks++;
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

const char *cache_audit(const struct cache *cache)
{
    void *value;
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);) {
        const char *wrong = audit_job(value);
        if (wrong)
            return wrong;
    }
    return usage_matches(cache) ? NULL : "a node's used amounts differ from its pods";
}
