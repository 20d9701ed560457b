/*
 * What evictions are said to be: Events on the pods, PodGroups and Jobs, and the log. See
 * evictor.h.
 */
#include "base/log.h"
#include "scheduler/evict/evictor_private.h"

#define REASON_EVICT "Evict"
#define REASON_EVICT_FAILED "EvictFailed"
#define NAMED_MOST 5  /* pods or jobs named in one text */
#define TEXT_MAX 4096 /* room for so many names; the recorder cuts */

/* An Event of the PodGroup, and one of the Job whose it is. */
static void say_job(struct scheduler *scheduler, const struct sched_job *job, enum event_type type,
                    const char *reason, const char *text)
{
    struct event_recorder *events = scheduler->params.events;
    const struct podgroup *podgroup =
        store_get(scheduler->params.podgroups, str_of(job->ns), str_of(job->name));
    if (!events || !podgroup || podgroup->meta.uid != job->uid)
        return;
    const struct kube_owner *owner = &podgroup->meta.controller;
    const struct event_ref of_group = {
        SCHEDULING_API_VERSION, "PodGroup", job->ns, job->name, job->uid, 0};
    const struct event_ref of_owner = {owner->api_version, owner->kind, job->ns,
                                       owner->name,        owner->uid,  0};
    event_record(events, &of_group, type, reason, "%s", text);
    if (owner->uid && owner->kind && owner->name && owner->api_version)
        event_record(events, &of_owner, type, reason, "%s", text);
}

/* ---- a decision ------------------------------------------------------------------------------ */

static void add_more(struct buf *text, size_t named, size_t all)
{
    if (all > named)
        buf_printf(text, " and %zu more", all - named);
}

/* "2 of its pods are to be evicted for job ns/a (preempt): b-0, b-1", of victims of one job. */
static void say_victims(struct scheduler *scheduler, const struct sched_job *job,
                        const struct evict_victim *victims, size_t n, const char *action)
{
    const struct sched_job *loser = victims[0].task->job;
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    size_t named = 0;
    if (!loser || loser == job)
        return;
    buf_printf(&text, "%zu of its pods %s to be evicted for job %s/%.*s (%s): ", n,
               n == 1 ? "is" : "are", job->ns, job_name_size(job), job->name, action);
    for (; named < n && named < NAMED_MOST; named++)
        buf_printf(&text, "%s%s", named ? ", " : "", victims[named].task->pod->meta.name);
    add_more(&text, named, n);
    say_job(scheduler, loser, EVENT_NORMAL, REASON_EVICT, text.p);
}

/* How many of the first victims are of one job. */
static size_t count_same(const struct evict_victim *victims, size_t n)
{
    size_t count = 1;
    while (count < n && victims[count].task->job == victims[0].task->job)
        count++;
    return count;
}

void evict_say_decided(struct scheduler *scheduler, const struct sched_job *job,
                       const struct evict_victim *victims, size_t n, const char *action)
{
    cleanup_buf struct buf names = BUF_INIT(TEXT_MAX), text = BUF_INIT(TEXT_MAX);
    size_t jobs = 0, named = 0, count;
    for (size_t i = 0; i < n; i += count, jobs++) {
        const struct sched_job *loser = victims[i].task->job;
        count = count_same(victims + i, n - i);
        say_victims(scheduler, job, victims + i, count, action);
        if (loser && named < NAMED_MOST)
            buf_printf(&names, "%s%s/%.*s (%zu)", named++ ? ", " : "", loser->ns,
                       job_name_size(loser), loser->name, count);
    }
    add_more(&names, named, jobs);
    buf_printf(&text, "%zu pod%s of %zu job%s %s to be evicted for it (%s): %.*s", n,
               n == 1 ? "" : "s", jobs, jobs == 1 ? "" : "s", n == 1 ? "is" : "are", action,
               STR_ARG(buf_str(&names)));
    say_job(scheduler, job, EVENT_NORMAL, REASON_EVICT, text.p);
    log_info("pods are to be evicted for a job podgroup=%s/%s action=%s pods=%zu jobs=%zu", job->ns,
             job->name, action, n, jobs);
}

void evict_say_spared(const struct evict_decision *decision, const struct sched_job *loser,
                      size_t n)
{
    const struct sched_job *job = decision->job;
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    if (!loser || loser == job || !n)
        return;
    buf_printf(&text, "%zu of its pods %s, which %s to be evicted for job %s/%.*s (%s)", n,
               n == 1 ? "stays" : "stay", n == 1 ? "was" : "were", job->ns, job_name_size(job),
               job->name, decision->action);
    say_job(decision->scheduler, loser, EVENT_NORMAL, REASON_EVICT, text.p);
}

void evict_say_vain(const struct evict_decision *decision, const char *why)
{
    const struct sched_job *job = decision->job;
    const int64_t wait = job->evict_ns - loop_now(decision->scheduler->params.loop);
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    buf_printf(&text, "pods were to make room for it in vain (%s): %s; none are for %lld s",
               decision->action, why, (long long)((wait + NSEC_PER_SEC - 1) / NSEC_PER_SEC));
    say_job(decision->scheduler, job, EVENT_WARNING, REASON_EVICT_FAILED, text.p);
}

/* Equal texts are counted, so that a job with many such pods is not told of each. */
void evict_say_leaves(struct scheduler *scheduler, const struct sched_task *task,
                      const char *action)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    buf_printf(&text, "One of its pods is to be evicted (%s)", action);
    if (task->job)
        say_job(scheduler, task->job, EVENT_NORMAL, REASON_EVICT, text.p);
}

/* ---- one pod --------------------------------------------------------------------------------- */

void evict_say_taken(const struct evict_call *call)
{
    const struct kube_meta *meta = &call->pod->meta;
    const struct event_ref ref = {"v1", "Pod", meta->ns, meta->name, meta->uid, 0};
    log_info("a pod is evicted pod=%s/%s node=%s action=%s for=\"%s\"", meta->ns, meta->name,
             call->pod->node, call->action, call->beneficiary ? call->beneficiary : "");
    if (!call->scheduler->params.events)
        return;
    event_record(call->scheduler->params.events, &ref, EVENT_WARNING, REASON_EVICT,
                 "Pod is evicted, because of %s%s%s", call->action,
                 call->beneficiary ? ": it makes room for " : "",
                 call->beneficiary ? call->beneficiary : "");
}

/* To the job whose pod it is. */
static void say_stays(const struct evict_call *call, const char *why)
{
    struct scheduler *scheduler = call->scheduler;
    const struct kube_meta *meta = &call->pod->meta;
    const struct sched_task *task = cache_task(&scheduler->cache, meta->uid);
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    if (!task || !task->job || (call->decision && call->decision->job == task->job))
        return;
    buf_printf(&text, "pod %s/%s stays: it cannot be evicted%s%s (%s): %s", meta->ns, meta->name,
               call->beneficiary ? " for " : "", call->beneficiary ? call->beneficiary : "",
               call->action, why);
    say_job(scheduler, task->job, EVENT_WARNING, REASON_EVICT_FAILED, text.p);
}

void evict_say_refused(const struct evict_call *call, const char *why)
{
    const struct kube_meta *meta = &call->pod->meta;
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    log_warn("a pod cannot be evicted pod=%s/%s action=%s for=\"%s\" error=\"%s\"", meta->ns,
             meta->name, call->action, call->beneficiary ? call->beneficiary : "", why);
    say_stays(call, why);
    if (!call->decision)
        return;
    buf_printf(&text, "pod %s/%s cannot be evicted for it (%s): %s", meta->ns, meta->name,
               call->action, why);
    say_job(call->scheduler, call->decision->job, EVENT_WARNING, REASON_EVICT_FAILED, text.p);
}
