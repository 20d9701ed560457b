/*
 * priority: jobs of a higher PriorityClass first, and pods of a higher priority within a job; they
 * may have those of a lower one evicted. (Pods are placed in the order of their priority in any
 * case.)
 */
#include "scheduler/plugins/plugins.h"

static int higher_first(int32_t a, int32_t b)
{
    return (a < b) - (a > b);
}

static int job_order(const struct plugin *plugin, const struct sched_job *a,
                     const struct sched_job *b)
{
    (void)plugin;
    return higher_first(a->priority, b->priority);
}

static int task_order(const struct plugin *plugin, const struct sched_task *a,
                      const struct sched_task *b)
{
    (void)plugin;
    return higher_first(a->pod->priority, b->pod->priority);
}

static bool gives_way(const struct eviction *eviction, const struct sched_task *victim)
{
    if (eviction->task && victim->job == eviction->job)
        return victim->pod->priority < eviction->task->pod->priority;
    return victim->job->priority < eviction->job->priority;
}

/* Among queues their shares count, not the priorities of jobs. */
static enum plugin_vote evictable(struct plugin *plugin, const struct eviction *eviction, bool *may)
{
    (void)plugin;
    if (eviction->kind == EVICT_RECLAIM)
        return VOTE_ABSTAIN;
    for (size_t i = 0; i < eviction->n && eviction->kind != EVICT_GANG_RECLAIM; i++)
        may[i] = gives_way(eviction, eviction->candidates[i]);
    return VOTE_PERMIT;
}

static bool keeps_job(struct plugin *plugin, const struct eviction *eviction,
                      const struct sched_job *job)
{
    (void)plugin;
    return !eviction_between_queues(eviction->kind) && job != eviction->job &&
           job->priority >= eviction->job->priority;
}

/* Any pod that waits. */
static bool job_starving(const struct plugin *plugin, const struct sched_job *job)
{
    (void)plugin;
    return job->count[TASK_PENDING] || job->count[TASK_HELD];
}

const struct plugin_type plugin_priority = {.name = "priority",
                                            .job_order = job_order,
                                            .task_order = task_order,
                                            .evictable = evictable,
                                            .keeps_job = keeps_job,
                                            .job_starving = job_starving};
