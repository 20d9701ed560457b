/*
 * backfill: pods that ask for no resources, of jobs at their minimum, wherever they may run.
 *
 * Queues and jobs take turns as elsewhere, a job with all its pods in a turn. What queues may hold
 * does not concern them.
 */
#include "scheduler/actions/actions.h"
#include "scheduler/bind.h"
#include "scheduler/fit.h"
#include "scheduler/order.h"
#include "scheduler/why.h"

struct backfill {
    struct job_order order;
    struct sched_job *job; /* borrowed; whose turn it is, NULL before the next */
    size_t group;
};

static bool has_best_effort(const struct sched_job *job)
{
    for (size_t i = 0; i < job->groups.n; i++)
        if (job->groups.items[i]->cls->best_effort && job->groups.items[i]->pending.n)
            return true;
    return false;
}

/* Then allocate tells why its pods wait; told by turns, the two reasons would both be news. */
static bool has_requests(const struct sched_job *job)
{
    for (size_t i = 0; i < job->groups.n; i++)
        if (!job->groups.items[i]->cls->best_effort && job->groups.items[i]->pending.n)
            return true;
    return false;
}

static void *begin(struct scheduler *scheduler)
{
    struct backfill *backfill = NULL;
    list_each(link, &scheduler->cache.place)
    {
        struct sched_job *job = container_of(link, struct sched_job, place);
        scheduler->cache.work++;
        if (!has_best_effort(job) || !config_job_ready(scheduler->config, job))
            continue;
        if (!backfill) {
            backfill = xnew(struct backfill);
            job_order_init(&backfill->order, scheduler->config);
        }
        job_order_push(&backfill->order, job);
    }
    return backfill;
}

static bool place_one(struct scheduler *scheduler, struct sched_job *job, struct task_group *group)
{
    struct cache *cache = &scheduler->cache;
    const struct fit_table *table = fit_table_of(cache, scheduler->config, group);
    struct sched_node *node = fit_best(cache, table);
    if (!node) {
        enum plugin_miss miss = config_missed(scheduler->config, cache, group, table);
        bool soon = miss == MISS_ASKED && job->why.kind == WHY_NODES;
        cleanup_buf struct buf nodes = BUF_INIT(4 * WHY_TEXT_MAX);
        if (!soon && !has_requests(job) && why_is_due(scheduler, job, WHY_NODES)) {
            uint64_t signature = fit_explain(cache, table, &nodes);
            why_surplus(scheduler, job, group, signature, buf_str(&nodes));
        }
        return false;
    }
    struct sched_task *task = container_of(heap_peek(&group->pending), struct sched_task, waiting);
    if (!cache_place_task(cache, task, node))
        return false;
    bind_start(scheduler, task);
    return true;
}

static bool step(struct scheduler *scheduler, void *state)
{
    struct backfill *backfill = state;
    struct sched_job *job = backfill->job;
    if (!job) {
        backfill->job = job_order_pop(&backfill->order);
        backfill->group = 0;
        return !backfill->job;
    }
    if (backfill->group == job->groups.n) {
        backfill->job = NULL;
        return false;
    }
    struct task_group *group = job->groups.items[backfill->group];
    bool more = group->cls->best_effort && group->pending.n && place_one(scheduler, job, group);
    if (!more)
        backfill->group++;
    return false;
}

static void end(struct scheduler *scheduler, void *state)
{
    struct backfill *backfill = state;
    (void)scheduler;
    job_order_clear(&backfill->order);
    free(backfill);
}

/* Which nodes fit is always kept. */
static const char *const ignored[] = {"predicateErrorCacheEnable", NULL};

const struct action_type action_backfill = {
    .name = "backfill", .ignored = ignored, .begin = begin, .step = step, .end = end};
