/*
 * enqueue: lets jobs into their queues, so that their pods are made.
 *
 * A refused job is passed over; those behind it are asked all the same. When all have been refused
 * and nothing has changed for any of them, nothing is looked at.
 */
#include "scheduler/actions/actions.h"
#include "scheduler/order.h"
#include "scheduler/waiting.h"
#include "scheduler/why.h"

/* Jobs looked at in one step, to see which are worth asking for. */
#define COLLECT_STEP 64

struct enqueue {
    struct list *next; /* in cache->admit: the job to be looked at next; NULL: all were */
    struct job_order order;
    uint64_t state; /* cache_admit_state at the beginning */
};

void enqueue_all(struct scheduler *scheduler)
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

static bool may_try(struct scheduler *scheduler, struct sched_job *job)
{
    if (!waiting_may_enter(job) || job->refused_at == job_chances(job))
        return false;
    if (!why_queue(scheduler, job))
        return true;
    job->refused_at = job_chances(job);
    return false;
}

static void *begin(struct scheduler *scheduler)
{
    uint64_t state = cache_admit_state(&scheduler->cache);
    if (list_empty(&scheduler->cache.admit) || scheduler->cache.all_refused == state)
        return NULL;
    struct enqueue *enqueue = xnew(struct enqueue);
    enqueue->state = state;
    job_order_init(&enqueue->order, scheduler->config);
    enqueue->next = scheduler->cache.admit.next;
    return enqueue;
}

/* No job enters and no change is applied until all are collected, so that the list stays. */
static void collect(struct scheduler *scheduler, struct enqueue *enqueue)
{
    const struct list *end = &scheduler->cache.admit;
    for (unsigned i = 0; i < COLLECT_STEP && enqueue->next != end; i++) {
        struct sched_job *job = container_of(enqueue->next, struct sched_job, admit);
        enqueue->next = enqueue->next->next;
        scheduler->cache.work++;
        if (may_try(scheduler, job))
            job_order_push(&enqueue->order, job);
    }
    if (enqueue->next == end)
        enqueue->next = NULL;
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
    struct enqueue *enqueue = state;
    if (enqueue->next) {
        collect(scheduler, enqueue);
        return false;
    }
    struct sched_job *job = job_order_pop(&enqueue->order);
    if (!job) {
        cache->all_refused = enqueue->state;
        return true;
    }
    if (config_job_enqueueable(scheduler->config, cache, job, &why)) {
        admit(scheduler, job);
        return false;
    }
    job->refused_at = job_chances(job);
    if (why_is_due_or_later(scheduler, job, WHY_ADMISSION))
        why_set(scheduler, job, WHY_ADMISSION, str_starts(buf_str(&why), STR("waiting for ")),
                "waiting to enter queue \"%s\": %s", job->queue->name,
                why.p ? why.p : "a plugin refused it");
    return false;
}

static void end(struct scheduler *scheduler, void *state)
{
    struct enqueue *enqueue = state;
    (void)scheduler;
    job_order_clear(&enqueue->order);
    free(enqueue);
}

const struct action_type action_enqueue = {
    .name = "enqueue", .begin = begin, .step = step, .end = end};
