/*
 * The time-out of gangs that wait. See waiting.h.
 */
#include "scheduler/waiting.h"
#include "api/names.h"
#include "loop/backoff.h"
#include "scheduler/plugins/gang.h"
#include "scheduler/reserve.h"
#include "scheduler/why.h"

static int64_t backoff(uint32_t timeouts)
{
    return backoff_delay(WAITING_BACKOFF_FIRST, WAITING_BACKOFF_MOST, timeouts ? timeouts - 1 : 0);
}

/* ---- what the PodGroup says ------------------------------------------------------------------ */

void waiting_read(struct sched_job *job, const struct podgroup *podgroup)
{
    const char *text = kube_pairs_get(&podgroup->meta.annotations, KEY_WAITING_TIME);
    int64_t ns;
    job->wait.limit_ns = 0;
    if (text && duration_or_seconds_parse(str_of(text), &ns) && ns >= 0)
        job->wait.limit_ns = ns ? ns : INT64_MAX;
}

/* Its reason stands until it is asked to enter. */
static void adopt_timeout(const struct cache *cache, struct sched_job *job, int64_t age)
{
    int64_t now = loop_now(cache->loop);
    if (!job->wait.timeouts)
        job->wait.timeouts = 1;
    job->wait.again_ns = now + backoff(job->wait.timeouts) - age;
    free(job->why.text);
    job->why = (struct job_why){.kind = WHY_TIMEOUT,
                                .signature = why_signature(WHY_TIMEOUT, job->wait.timeouts),
                                .text = xstrdup(job->shown.message),
                                .since_ns = now - age,
                                .since_wall_ns = job->shown.transition_ns,
                                .made_ns = now};
    job->event_signature = job->why.signature;
}

void waiting_adopt(const struct cache *cache, struct sched_job *job)
{
    const struct job_status *shown = &job->shown;
    bool told = strcmp(shown->condition, PODGROUP_UNSCHEDULABLE) == 0;
    int64_t wall = loop_wall(cache->loop), since = told ? shown->transition_ns : 0;
    int64_t age = since > 0 && since < wall ? wall - since : 0; /* it may not say since when */
    bool counted = job->wait.counts && job->phase == JOB_INQUEUE;
    job->wait.counts = job->phase == JOB_INQUEUE;
    if (job->wait.counts && (told || !counted))
        job->wait.since_ns = loop_now(cache->loop) - age;
    if (job->phase == JOB_PENDING && told && strcmp(shown->reason, PODGROUP_WAITING_TIMEOUT) == 0)
        adopt_timeout(cache, job, age);
}

/* ---- the clock ------------------------------------------------------------------------------- */

bool waiting_may_enter(const struct sched_job *job)
{
    return !job->wait.timeouts || job->wait.again_ns <= loop_now(job->cache->loop);
}

void waiting_look(struct sched_job *job)
{
    bool outside = job->phase == JOB_PENDING && job->wait.timeouts;
    if (outside && job->refused_at == UINT64_MAX && waiting_may_enter(job))
        cache_ask_again(job);
}

/* How long it may wait; INT64_MAX: for ever. */
static int64_t limit_of(const struct scheduler *scheduler, const struct sched_job *job)
{
    int64_t limit =
        job->wait.limit_ns ? job->wait.limit_ns : gang_arguments(scheduler->config)->waiting_ns;
    return limit ? limit : INT64_MAX;
}

/* Loop time when its time is over; not while others are evicted for it, which ends by itself. */
static int64_t end_of(const struct scheduler *scheduler, const struct sched_job *job)
{
    bool counts = job->wait.counts && !job->decision;
    return counts ? time_add(job->wait.since_ns, limit_of(scheduler, job)) : INT64_MAX;
}

int64_t waiting_next(const struct scheduler *scheduler, const struct sched_job *job)
{
    if (job->phase == JOB_PENDING && !waiting_may_enter(job))
        return job->wait.again_ns;
    int64_t end = end_of(scheduler, job); /* past it, it is ready: what ends that is a change */
    return end > loop_now(scheduler->params.loop) ? end : INT64_MAX;
}

static void explain(struct scheduler *scheduler, struct sched_job *job, int64_t delay)
{
    char waited[TIME_TEXT_MAX], again[TIME_TEXT_MAX];
    int64_t ns = loop_now(scheduler->params.loop) - job->wait.since_ns;
    struct str reason = str_of(job->why.text ? job->why.text : "nothing was found out yet.");
    ptrdiff_t end = str_find(reason, STR(" Waiting since "));
    cleanup_free char *before = str_dup(end < 0 ? reason : str_sub(reason, 0, (size_t)end));
    duration_format(waited, ns / NSEC_PER_SEC * NSEC_PER_SEC);
    time_format(again, time_add(loop_wall(scheduler->params.loop), delay));
    why_set(scheduler, job, WHY_TIMEOUT, job->wait.timeouts,
            "waited %s in queue \"%s\" for the %d pods that start together, %u of which have a "
            "node; it has given its place to others and is tried again at %s, behind those whose "
            "waiting has not timed out. Why it waited: %s",
            waited, job->queue->name, job->min_member, job_have(job), again, before);
}

static void time_out(struct scheduler *scheduler, struct sched_job *job)
{
    int64_t delay = backoff(++job->wait.timeouts);
    explain(scheduler, job, delay);
    job->wait.again_ns = loop_now(scheduler->params.loop) + delay;
    job->wait.counts = false;
    job->phase = JOB_PENDING;
    job->tried = false;
    job->failed_at = job->refused_at = UINT64_MAX;
    reserve_drop(&scheduler->cache, job);
    cache_room(&scheduler->cache);
}

void waiting_check(struct scheduler *scheduler, struct sched_job *job, bool ready)
{
    int64_t now = loop_now(scheduler->params.loop);
    bool inside = job->phase == JOB_INQUEUE;
    if (inside && !job->wait.counts)
        job->wait.since_ns = now;
    job->wait.counts = inside;
    if (job->phase == JOB_RUNNING)
        job->wait.timeouts = 0;
    if (!ready && end_of(scheduler, job) <= now)
        time_out(scheduler, job);
}

void waiting_config_changed(struct cache *cache)
{
    void *value;
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);) {
        struct sched_job *job = value;
        if (job->wait.counts)
            cache_dirty(cache, job);
    }
}
