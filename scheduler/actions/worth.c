/*
 * Which jobs allocate tries. See worth.h.
 */
#include "scheduler/actions/worth.h"
#include "scheduler/holds.h"
#include "scheduler/reserve.h"
#include "scheduler/waiting.h"
#include "scheduler/why.h"

void worth_enter_all(struct scheduler *scheduler)
{
    struct cache *cache = &scheduler->cache;
    if (sched_config_has_action(scheduler->config, "enqueue"))
        return;
    list_each(link, &cache->admit)
    {
        struct sched_job *job = container_of(link, struct sched_job, admit);
        if (!waiting_may_enter(job) || why_queue(scheduler, job))
            continue;
        job->phase = JOB_INQUEUE;
        cache_file_job(cache, job);
        cache_dirty(cache, job);
    }
}

bool worth_fits_in_sum(const struct cache *cache, const struct sched_job *job)
{
    struct resource_set needs = why_gang_needs(job);
    bool fits = true;
    for (uint32_t i = 0; i < needs.n && fits; i++)
        fits = needs.items[i].amount <= resource_vector_get(&cache->free, needs.items[i].id);
    resource_set_clear(&needs);
    return fits;
}

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
        config_job_ready(scheduler->config, job) || worth_fits_in_sum(cache, job))
        return true;
    worth_note_failure(cache, job, false);
    return false;
}

bool worth_only_holding(struct scheduler *scheduler, const struct sched_job *job)
{
    return job->reservation && !why_is_due(scheduler, job, WHY_NODES) &&
           !worth_fits_in_sum(&scheduler->cache, job);
}
