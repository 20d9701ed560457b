/*
 * Which jobs allocate tries. See worth.h.
 */
#include "scheduler/actions/worth.h"
#include "scheduler/holds.h"
#include "scheduler/reserve.h"
#include "scheduler/why.h"

bool worth_is_spent(struct scheduler *scheduler, struct sched_queue *queue, bool look_again)
{
    uint64_t number = scheduler->cycle.number;
    if (queue->judged == number && (queue->spent || !look_again))
        return queue->spent;
    queue->judged = number;
    queue->spent = config_queue_overused(scheduler->config, &scheduler->cache, queue);
    return queue->spent;
}

bool worth_is_broken(const struct scheduler *scheduler, const struct sched_job *job)
{
    return job_live(job) > 0 && !config_job_ready(scheduler->config, job);
}

/* Nothing that it failed for has changed. */
static bool stands_refused(const struct cache *cache, const struct sched_job *job)
{
    return job->failed_at == (job->share_refused ? cache_chances(cache) : cache->room);
}

void worth_note_failure(const struct cache *cache, struct sched_job *job, bool refused)
{
    job->share_refused = refused;
    job->failed_at = refused ? cache_chances(cache) : cache->room;
}

bool worth_trying(struct scheduler *scheduler, struct sched_job *job)
{
    struct cache *cache = &scheduler->cache;
    bool started = job_have(job) > 0;
    if (stands_refused(cache, job) || !config_job_possible(scheduler->config, job))
        return false;
    if (!started && why_queue(scheduler, job))
        return false;
    if (!worth_is_broken(scheduler, job) && !holds_awaited(job) &&
        worth_is_spent(scheduler, job->queue, false)) {
        why_overused(scheduler, job);
        reserve_drop(cache, job);
        return false;
    }
    if (job->reservation)
        return true;
    /* After a failure only a gang whose sum fits again is worth the attempt. */
    bool failed_before =
        job->tried && job->why.kind == WHY_NODES && !why_is_due_or_later(scheduler, job, WHY_NODES);
    if (!failed_before || job->failed_at == UINT64_MAX ||
        config_job_ready(scheduler->config, job) || why_gang_fits(cache, job))
        return true;
    worth_note_failure(cache, job, false);
    return false;
}

bool worth_only_holding(struct scheduler *scheduler, const struct sched_job *job)
{
    return job->reservation && !why_is_due(scheduler, job, WHY_NODES) &&
           !why_gang_fits(&scheduler->cache, job);
}
