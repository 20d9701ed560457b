/*
 * enqueue: lets jobs into their queues, so that their pods are made.
 *
 * A refused job is passed over; those behind it are asked all the same.
 */
#include "scheduler/actions/actions.h"
#include "scheduler/order.h"
#include "scheduler/why.h"

static bool may_try(struct scheduler *scheduler, struct sched_job *job)
{
    if (job->refused_at == cache_chances(&scheduler->cache))
        return false;
    if (!why_queue(scheduler, job))
        return true;
    job->refused_at = cache_chances(&scheduler->cache);
    return false;
}

static void *begin(struct scheduler *scheduler)
{
    struct cache *cache = &scheduler->cache;
    struct job_order *order = NULL;
    list_each(link, &cache->admit)
    {
        struct sched_job *job = container_of(link, struct sched_job, admit);
        cache->work++;
        if (!may_try(scheduler, job))
            continue;
        if (!order) {
            order = xnew(struct job_order);
            job_order_init(order, scheduler->config);
        }
        job_order_push(order, job);
    }
    return order;
}

static void admit(struct scheduler *scheduler, struct sched_job *job)
{
    config_job_enqueued(scheduler->config, job);
    job->phase = JOB_INQUEUE;
    job->tried = false;
    job->last_arrival_ns = loop_now(scheduler->params.loop);
    why_clear(job);
    cache_file_job(&scheduler->cache, job);
    cache_dirty(&scheduler->cache, job);
}

static bool step(struct scheduler *scheduler, void *state)
{
    cleanup_buf struct buf why = BUF_INIT(WHY_TEXT_MAX);
    struct cache *cache = &scheduler->cache;
    struct sched_job *job = job_order_pop(state);
    if (!job)
        return true;
    if (config_job_enqueueable(scheduler->config, cache, job, &why)) {
        admit(scheduler, job);
        return false;
    }
    job->refused_at = cache_chances(cache);
    if (why_is_due(scheduler, job, WHY_ADMISSION))
        why_set(scheduler, job, WHY_ADMISSION, 0, "waiting to enter queue \"%s\": %s",
                job->queue->name, why.p ? why.p : "a plugin refused it");
    return false;
}

static void end(struct scheduler *scheduler, void *state)
{
    (void)scheduler;
    job_order_clear(state);
    free(state);
}

const struct action_type action_enqueue = {
    .name = "enqueue", .begin = begin, .step = step, .end = end};
