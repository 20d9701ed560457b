/*
 * shuffle: evicts running pods that a plugin names though nobody wants their room, so that they are
 * placed anew elsewhere.
 *
 * All running pods that may be evicted at all are collected, job by job, the plugins are asked once
 * about all of them, and those that they name go one by one, as far as PodDisruptionBudgets allow,
 * whatever plugins there are. Without a plugin that names anybody nothing is looked at.
 */
#include "base/alloc.h"
#include "scheduler/actions/actions.h"
#include "scheduler/evict/budgets.h"
#include "scheduler/evict/evictor.h"
#include "scheduler/points_evict.h"

/* Jobs looked at, and pods evicted, in one step. */
#define COLLECT_STEP 64
#define EVICT_STEP 16

struct shuffle {
    size_t cursor;                  /* over the cache's jobs */
    bool asked;                     /* the plugins, about: */
    VEC(struct sched_task *) tasks; /* borrowed */
    bool *go;                       /* owned; one for each */
    size_t next;                    /* to be evicted */
    struct budget_tally budgets;
};

static void *begin(struct scheduler *scheduler)
{
    if (!config_names_victims(scheduler->config))
        return NULL;
    struct shuffle *shuffle = xnew(struct shuffle);
    budget_tally_begin(&shuffle->budgets, &scheduler->cache);
    return shuffle;
}

static void collect_job(struct shuffle *shuffle, const struct sched_job *job)
{
    if (!job->uid || !job->queue || job->preemptable == PREEMPTABLE_NO)
        return;
    list_each(link, &job->tasks)
    {
        struct sched_task *task = container_of(link, struct sched_task, link);
        if (task->status == TASK_RUNNING && task->pod->preemptable)
            vec_push(&shuffle->tasks, task);
    }
}

/* True when all were. */
static bool collect(struct shuffle *shuffle, struct cache *cache)
{
    void *value;
    for (unsigned i = 0; i < COLLECT_STEP; i++) {
        if (!map_next(&cache->jobs_by_key, &shuffle->cursor, NULL, &value))
            return true;
        const struct sched_job *job = value;
        cache->work += 1 + job->task_count;
        budget_tally_charge_leaving(&shuffle->budgets, job);
        collect_job(shuffle, job);
    }
    return false;
}

static void ask(struct shuffle *shuffle, struct scheduler *scheduler)
{
    const struct sched_task *const *tasks = (const struct sched_task *const *)shuffle->tasks.items;
    shuffle->asked = true;
    shuffle->go = xcalloc(shuffle->tasks.n + 1, sizeof(*shuffle->go));
    scheduler->cache.work += shuffle->tasks.n;
    if (shuffle->tasks.n)
        (void)config_victims(scheduler->config, &scheduler->cache, tasks, shuffle->tasks.n,
                             shuffle->go);
}

/* Some of those that are to go; true when there are no more. */
static bool evict(struct shuffle *shuffle, struct scheduler *scheduler)
{
    unsigned evicted = 0;
    for (; shuffle->next < shuffle->tasks.n && evicted < EVICT_STEP; shuffle->next++) {
        struct sched_task *task = shuffle->tasks.items[shuffle->next];
        if (!shuffle->go[shuffle->next] || !budget_tally_take(&shuffle->budgets, task->pod))
            continue;
        evictor_evict(scheduler, task, "shuffle");
        evicted++;
    }
    return shuffle->next == shuffle->tasks.n;
}

static bool step(struct scheduler *scheduler, void *state)
{
    struct shuffle *shuffle = state;
    if (shuffle->asked)
        return evict(shuffle, scheduler);
    if (collect(shuffle, &scheduler->cache))
        ask(shuffle, scheduler);
    return false;
}

static void end(struct scheduler *scheduler, void *state)
{
    struct shuffle *shuffle = state;
    (void)scheduler;
    budget_tally_clear(&shuffle->budgets);
    vec_clear(&shuffle->tasks);
    free(shuffle->go);
    free(shuffle);
}

const struct action_type action_shuffle = {
    .name = "shuffle", .begin = begin, .step = step, .end = end};
