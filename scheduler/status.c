/*
 * PodGroup statuses: worked out after every cycle for the jobs that changed. See status.h.
 */
#include "scheduler/status.h"
#include "api/names.h"
#include "base/intern.h"
#include "base/log.h"
#include "scheduler/actions/taking.h"
#include "scheduler/claim.h"
#include "scheduler/evict/evictor.h"
#include "scheduler/holds.h"
#include "scheduler/minimum.h"
#include "scheduler/reserve.h"
#include "scheduler/teller.h"
#include "scheduler/waiting.h"
#include "scheduler/why.h"
#include "json/writer.h"

#define CONDITION_DELAY (500 * NSEC_PER_MSEC)
#define COUNTS_DELAY (2 * NSEC_PER_SEC)
/* A Job that has ended takes its PodGroup away: by then the write would be refused with 404. */
#define COMPLETED_DELAY NSEC_PER_SEC
#define NEWS_INTERVAL (5 * NSEC_PER_SEC)
#define MESSAGE_INTERVAL (60 * NSEC_PER_SEC)
#define RETRY_FIRST (500 * NSEC_PER_MSEC)
#define RETRY_MOST (30 * NSEC_PER_SEC)
#define NEVER INT64_MAX
#define REASON_UNSCHEDULABLE "NotEnoughResources"
#define REASON_BINDS "BindRefused"
#define REASON_SCHEDULED "tasks in gang are ready to be scheduled"
#define REASON_HOLDS "NodesHeld"

static void submit(struct scheduler *scheduler, struct sched_job *job, bool phase_changes);

/* ---- what it is to say ----------------------------------------------------------------------- */

static const char *reason_of(enum why_kind kind)
{
    if (kind == WHY_TIMEOUT)
        return PODGROUP_WAITING_TIMEOUT;
    if (kind == WHY_BINDS)
        return REASON_BINDS;
    return kind == WHY_PODS ? REASON_NOT_ENOUGH_TASKS : REASON_UNSCHEDULABLE;
}

/* When it is news that the job waits. Pods are being made for as long as they keep coming. */
static int64_t ripe_time(const struct sched_job *job)
{
    if (job->why.kind == WHY_NONE)
        return NEVER;
    if (job->why.kind == WHY_TIMEOUT)
        return job->why.made_ns;
    return job->why.kind == WHY_PODS ? job->last_arrival_ns + JOB_CLAIM_NS
                                     : job->why.since_ns + CONDITION_DELAY;
}

static bool is_ripe(const struct scheduler *scheduler, const struct sched_job *job)
{
    return ripe_time(job) <= loop_now(scheduler->params.loop);
}

/* Since when it waits in its queue, and when that timed out, is to be read in the condition. */
static bool keeps_transition(const struct job_status *want, const struct job_status *shown)
{
    bool entered = want->phase == JOB_INQUEUE && shown->phase == JOB_PENDING;
    bool timed_out = strcmp(want->reason, PODGROUP_WAITING_TIMEOUT) == 0 && shown->reason &&
                     strcmp(shown->reason, PODGROUP_WAITING_TIMEOUT) != 0;
    return shown->condition && strcmp(want->condition, shown->condition) == 0 && !entered &&
           !timed_out;
}

/* The wish, borrowing the message from the job. */
static struct job_status wanted(const struct scheduler *scheduler, const struct sched_job *job)
{
    struct job_status want = {.phase = job->phase,
                              .running = (int32_t)job->count[TASK_RUNNING],
                              .succeeded = (int32_t)job->count[TASK_SUCCEEDED],
                              .failed = (int32_t)job->count[TASK_FAILED],
                              .condition = "",
                              .reason = "",
                              .transition_ns = loop_wall(scheduler->params.loop)};
    bool started = job->phase == JOB_RUNNING || job->phase == JOB_COMPLETED;
    if (job->phase == JOB_COMPLETED && job->shown.condition && !job->shown.condition[0])
        return want;
    if (started) {
        want.condition = PODGROUP_SCHEDULED;
        want.reason = REASON_SCHEDULED;
        static char none[] = "";
        want.message = none;
    } else if (is_ripe(scheduler, job)) {
        want.condition = PODGROUP_UNSCHEDULABLE;
        want.reason = reason_of(job->why.kind);
        want.message = job->why.text;
        if (job->why.kind != WHY_TIMEOUT)
            want.transition_ns = job->why.since_wall_ns;
    }
    if (reserve_is_told(scheduler, job))
        want.holds_ns = job->reservation->since_wall_ns / NSEC_PER_SEC * NSEC_PER_SEC;
    if (keeps_transition(&want, &job->shown))
        want.transition_ns = job->shown.transition_ns;
    return want;
}

static bool counts_differ(const struct job_status *a, const struct job_status *b)
{
    return a->running != b->running || a->succeeded != b->succeeded || a->failed != b->failed;
}

static bool condition_differs(const struct job_status *a, const struct job_status *b)
{
    return strcmp(a->condition ? a->condition : "", b->condition ? b->condition : "") != 0 ||
           strcmp(a->reason ? a->reason : "", b->reason ? b->reason : "") != 0;
}

static bool message_differs(const struct job_status *a, const struct job_status *b)
{
    return strcmp(a->message ? a->message : "", b->message ? b->message : "") != 0;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* When, by the loop's clock, what the job is to say has to be written; NEVER when it stands. */
static int64_t write_time(struct sched_job *job, const struct job_status *want, int64_t now)
{
    const struct job_status *shown = &job->shown;
    int64_t when = NEVER;
    bool differs = condition_differs(want, shown);
    /* That a reason has gone shows in the phase that follows, or soon by itself, as counts do. */
    bool late = counts_differ(want, shown) || (differs && !want->condition[0]);
    if (!late)
        job->counts_since_ns = 0;
    else if (!job->counts_since_ns)
        job->counts_since_ns = now;
    bool ends = want->phase == JOB_COMPLETED && shown->phase != JOB_COMPLETED;
    if (ends && job->owned_by_job && job->counts_since_ns)
        return job->counts_since_ns + COMPLETED_DELAY;
    if (want->phase != shown->phase || (differs && want->condition[0]) ||
        want->holds_ns != shown->holds_ns)
        return now;
    if (job->counts_since_ns)
        when = job->counts_since_ns + COUNTS_DELAY;
    if (!differs && message_differs(want, shown)) {
        bool news = job->why.signature != job->event_signature;
        when = earlier(when, job->message_ns + (news ? NEWS_INTERVAL : MESSAGE_INTERVAL));
    }
    return when;
}

/* ---- the write ------------------------------------------------------------------------------- */

static void keep(struct job_status *to, const struct job_status *from)
{
    struct job_status copy = *from;
    copy.reason = intern_get(str_of(from->reason));
    copy.message = xstrdup(from->message ? from->message : "");
    job_status_clear(to);
    *to = copy;
}

static void condition_write(struct json_writer *writer, const char *type, const char *reason,
                            const char *message, int64_t since_ns, const char *id)
{
    char time[TIME_TEXT_MAX];
    size_t size = time_format(time, since_ns);
    json_w_object(writer);
    json_w_member_str(writer, "type", str_of(type));
    json_w_member_str(writer, "status", STR("True"));
    json_w_member_str(writer, "lastTransitionTime", str_make(time, size));
    json_w_member_str(writer, "transitionID", str_of(id));
    json_w_member_str(writer, "reason", str_of(reason));
    json_w_member_str(writer, "message", str_of(message));
    json_w_end_object(writer);
}

/* "places for its pods are held on nodes, until 2026-11-30T05:10:00Z at the latest": the same for
 * as long as they are. */
static void holds_text(const struct sched_job *job, struct buf *out)
{
    char time[TIME_TEXT_MAX];
    size_t size = time_format(time, job->reservation->until_wall_ns);
    buf_printf(out,
               "it has waited for long: places for its pods are held on nodes, until %.*s at the "
               "latest",
               (int)size, time);
}

static void conditions_write(struct json_writer *writer, const struct sched_job *job,
                             const struct job_status *want, const char *id)
{
    json_w_member_array(writer, "conditions");
    if (want->condition[0])
        condition_write(writer, want->condition, want->reason, want->message, want->transition_ns,
                        id);
    if (want->holds_ns) {
        cleanup_buf struct buf text = BUF_INIT(WHY_TEXT_MAX);
        holds_text(job, &text);
        condition_write(writer, PODGROUP_HOLDS_NODES, REASON_HOLDS, text.p, want->holds_ns, id);
    }
    json_w_end_array(writer);
}

/* The job's PodGroup as we know it; NULL if it has gone. */
static const struct podgroup *podgroup_of(const struct scheduler *scheduler,
                                          const struct sched_job *job)
{
    const struct podgroup *podgroup =
        store_get(scheduler->params.podgroups, str_of(job->ns), str_of(job->name));
    return podgroup && podgroup->meta.uid == job->uid ? podgroup : NULL;
}

/* It is about the version that we know: one that gets no answer may arrive when another scheduler
 * leads, and would let a job in that this one has not. */
static void write_about(struct json_writer *writer, const struct podgroup *podgroup)
{
    json_w_member_object(writer, "metadata");
    json_w_member_str(writer, "uid", str_of(podgroup->meta.uid));
    json_w_key(writer, STR("resourceVersion"));
    json_w_strf(writer, "%llu", (unsigned long long)podgroup->meta.rv);
    json_w_end_object(writer);
}

static bool status_render(struct buf *path, struct buf *body, void *arg)
{
    struct sched_job *job = arg;
    struct scheduler *scheduler = container_of(job->cache, struct scheduler, cache);
    struct json_writer writer = json_writer(body);
    const struct podgroup *podgroup = job->uid ? podgroup_of(scheduler, job) : NULL;
    if (!podgroup)
        return false;
    const struct job_status want = wanted(scheduler, job);
    if (want.phase == job->shown.phase && !counts_differ(&want, &job->shown) &&
        !condition_differs(&want, &job->shown) && !message_differs(&want, &job->shown) &&
        want.holds_ns == job->shown.holds_ns)
        return false; /* it came right while waiting */
    buf_printf(path, "/apis/" SCHEDULING_API_VERSION "/namespaces/%s/podgroups/%s", job->ns,
               job->name);
    json_w_object(&writer);
    write_about(&writer, podgroup);
    json_w_member_object(&writer, "status");
    json_w_member_str(&writer, "phase", str_of(podgroup_phase_name(want.phase)));
    json_w_member_i64(&writer, "running", want.running);
    json_w_member_i64(&writer, "succeeded", want.succeeded);
    json_w_member_i64(&writer, "failed", want.failed);
    conditions_write(&writer, job, &want, scheduler->cycle.id);
    json_w_end_object(&writer);
    json_w_end_object(&writer);
    if (message_differs(&want, &job->shown))
        job->message_ns = loop_now(scheduler->params.loop);
    job->counts_since_ns = 0;
    keep(&job->sent, &want);
    intern_put(job->sent_uid);
    job->sent_uid = intern_ref(job->uid);
    job->sent_rv = podgroup->meta.rv;
    return true;
}

static void write_failed(struct scheduler *scheduler, struct sched_job *job,
                         const struct kube_result *result)
{
    struct loop *loop = scheduler->params.loop;
    int64_t delay = RETRY_FIRST;
    for (unsigned i = 0; i < job->write_failures && delay < RETRY_MOST; i++)
        delay *= 2;
    if (job->write_failures < UINT16_MAX)
        job->write_failures++;
    log_warn("a PodGroup's status cannot be written podgroup=%s/%s status=%d error=\"%s\"", job->ns,
             job->name, result->status, result->error.text);
    job->retry_ns = loop_now(loop) + rng_jitter(loop_rng(loop), delay, 0.2);
}

static void write_succeeded(struct sched_job *job)
{
    job->write_failures = 0;
    job->retry_ns = 0;
    job->conflicts = false;
    keep(&job->shown, &job->sent);
}

/* Others have written: with news of that it is written again, or once without. */
static void write_conflicts(struct scheduler *scheduler, struct sched_job *job)
{
    struct loop *loop = scheduler->params.loop;
    job->conflicts = true;
    job->retry_ns = loop_now(loop) + rng_jitter(loop_rng(loop), RETRY_MOST, 0.2);
}

/* A write after a conflict waits no longer when there is a version that is not known to be old. */
static void end_conflict(const struct scheduler *scheduler, struct sched_job *job)
{
    const struct podgroup *podgroup = podgroup_of(scheduler, job);
    if (!podgroup || podgroup->meta.rv == job->sent_rv)
        return;
    job->conflicts = false;
    job->retry_ns = 0;
}

static void status_done(const struct kube_result *result, void *arg)
{
    struct sched_job *job = arg;
    struct scheduler *scheduler = container_of(job->cache, struct scheduler, cache);
    struct store *podgroups = scheduler->params.podgroups;
    bool answered = result->outcome == KUBE_ANSWERED;
    job->request = NULL;
    store_request_end(podgroups, str_of(job->ns), str_of(job->name));
    cache_dirty(&scheduler->cache, job);
    scheduler_wake(scheduler);
    bool same = job->uid && job->uid == job->sent_uid;
    if (!same || result->error.cls == ERROR_CANCELLED)
        return; /* of a PodGroup that is gone it says nothing about the one of that name now */
    if (answered && result->status == 200) {
        write_succeeded(job);
        store_apply(podgroups, result->body);
    } else if (answered && result->status == 404) {
        cleanup_free char *ns = xstrdup(job->ns), *name = xstrdup(job->name);
        cleanup_free char *uid = xstrdup(job->uid);
        store_forget(podgroups, str_of(ns), str_of(name), str_of(uid));
    } else if (result->error.cls == ERROR_CONFLICT) {
        write_conflicts(scheduler, job);
    } else {
        write_failed(scheduler, job, result);
    }
}

/* Entering the queue lets pods be made, so it goes with the binds; the rest is news only. */
static void submit(struct scheduler *scheduler, struct sched_job *job, bool phase_changes)
{
    bool enters = phase_changes && job->phase == JOB_INQUEUE;
    store_request_begin(scheduler->params.podgroups, str_of(job->ns), str_of(job->name));
    job->request = window_submit(scheduler->params.window,
                                 &(struct window_spec){.cls = enters ? WINDOW_BIND : WINDOW_STATUS,
                                                       .flow = &job->flow,
                                                       .method = KUBE_PATCH,
                                                       .content = KUBE_MERGE_PATCH,
                                                       .render = status_render,
                                                       .done = status_done,
                                                       .arg = job});
}

/* ---- events ---------------------------------------------------------------------------------- */

static void say(struct scheduler *scheduler, struct sched_job *job, const struct job_status *want)
{
    struct event_recorder *events = scheduler->params.events;
    struct event_ref ref = {SCHEDULING_API_VERSION, "PodGroup", job->ns, job->name, job->uid, 0};
    bool runs = want->phase == JOB_RUNNING && job->shown.phase != JOB_RUNNING;
    bool waits = strcmp(want->condition, PODGROUP_UNSCHEDULABLE) == 0 &&
                 job->event_signature != job->why.signature;
    if (waits)
        job->event_signature = job->why.signature;
    if (events && runs)
        event_record(events, &ref, EVENT_NORMAL, "Scheduled", "pod group is ready");
    if (events && waits)
        event_record(events, &ref, job->why.kind == WHY_ADMISSION ? EVENT_NORMAL : EVENT_WARNING,
                     job->why.kind == WHY_TIMEOUT ? PODGROUP_WAITING_TIMEOUT : "Unschedulable",
                     "%s", job->why.text);
    if (events && want->holds_ns && want->holds_ns != job->shown.holds_ns) {
        cleanup_buf struct buf text = BUF_INIT(WHY_TEXT_MAX);
        holds_text(job, &text);
        event_record(events, &ref, EVENT_NORMAL, REASON_HOLDS, "%s", text.p);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Keeps the reason right where no action looks: too few pods, or nothing to wait for any more. */
static void refresh_why(struct scheduler *scheduler, struct sched_job *job, bool ready)
{
    bool too_few = job->phase == JOB_INQUEUE && !ready && !job_gang_possible(job);
    bool admission = job->why.kind == WHY_ADMISSION || job->why.kind == WHY_QUEUE;
    bool refused = job->phase == JOB_INQUEUE && !ready && job->count[TASK_HELD] &&
                   !why_holds_pods(job->why.kind);
    bool placed = why_holds_pods(job->why.kind) && job_waiting(job) == 0;
    bool entered = admission && job->phase != JOB_PENDING && job->count[TASK_PENDING] == 0;
    if (too_few)
        why_pods(scheduler, job);
    else if (refused)
        why_binds(scheduler, job);
    else if (job->why.kind == WHY_PODS || job->why.kind == WHY_BINDS || placed || entered ||
             (job->why.kind == WHY_TIMEOUT && job->phase != JOB_PENDING))
        why_clear(job);
}

static bool is_stuck(const struct sched_job *job, int64_t now)
{
    return why_holds_pods(job->why.kind) && now - job->why.since_ns >= CONDITION_DELAY;
}

/* When to look at the job again though nothing happens to it. */
static int64_t next_look(const struct scheduler *scheduler, const struct sched_job *job,
                         int64_t now)
{
    int64_t next = waiting_next(scheduler, job), wall = loop_wall(scheduler->params.loop);
    int64_t due = job->phase == JOB_PENDING ? config_job_due(scheduler->config, job) : NEVER;
    if (due > wall && due != NEVER)
        next = earlier(next, now + (due - wall));
    next = earlier(next, minimum_next(job));
    if (ripe_time(job) > now)
        next = earlier(next, ripe_time(job));
    next = earlier(next, why_due_time(job));
    if (job->why.kind != WHY_NONE && now - job->why.since_ns < TELLER_DELAY)
        next = earlier(next, job->why.since_ns + TELLER_DELAY);
    next = earlier(next, reserve_look(scheduler, job));
    next = earlier(next, evictor_look(scheduler, job));
    if (!list_empty(&job->place))
        next = earlier(next, taking_look(scheduler, job));
    if (job->phase == JOB_INQUEUE && !job_gang_possible(job) &&
        now - job->last_arrival_ns < JOB_CLAIM_NS)
        next = earlier(next, job->last_arrival_ns + JOB_CLAIM_NS);
    if (job->count[TASK_HELD])
        for (const struct list *link = job->tasks.next; link != &job->tasks; link = link->next) {
            const struct sched_task *task = const_container_of(link, struct sched_task, link);
            if (task->status == TASK_HELD)
                next = earlier(next, task->held_until_ns);
        }
    return next;
}

static void set_timer(struct scheduler *scheduler, struct sched_job *job, int64_t when, int64_t now)
{
    if (when == NEVER)
        loop_timer_cancel(scheduler->params.loop, &job->timer);
    else
        loop_timer_set(scheduler->params.loop, &job->timer, when > now ? when - now : 0);
}

/* A claim that has run out makes room for others. */
static void end_claim(struct scheduler *scheduler, struct sched_job *job, int64_t now)
{
    bool idle = job->phase == JOB_INQUEUE && job->has_min_resources && !job_gang_possible(job) &&
                now - job->last_arrival_ns >= JOB_CLAIM_NS;
    if (idle && !job->claim_ended)
        cache_room(&scheduler->cache);
    job->claim_ended = idle;
    cache_file_job(&scheduler->cache, job);
}

void status_update(struct scheduler *scheduler, struct sched_job *job)
{
    struct cache *cache = &scheduler->cache;
    int64_t now = loop_now(scheduler->params.loop);
    evictor_check(scheduler, job);
    if (!job->uid) {
        cache_drop_job(cache, job);
        return;
    }
    bool ready = config_job_ready(scheduler->config, job);
    reserve_check(scheduler, job);
    refresh_why(scheduler, job, ready);
    job->phase = job_next_phase(job, ready, is_stuck(job, now));
    waiting_check(scheduler, job, ready);
    end_claim(scheduler, job, now);
    teller_check(scheduler, job);
    minimum_tell(scheduler, job);
    const struct job_status want = wanted(scheduler, job);
    int64_t when = write_time(job, &want, now);
    if (job->conflicts)
        end_conflict(scheduler, job);
    if (when != NEVER && when < job->retry_ns)
        when = job->retry_ns;
    if (when <= now && !job->request) {
        say(scheduler, job, &want);
        submit(scheduler, job, want.phase != job->shown.phase);
    }
    int64_t next = next_look(scheduler, job, now);
    if (when > now)
        next = earlier(next, when);
    set_timer(scheduler, job, next, now);
}

void status_clear(struct scheduler *scheduler)
{
    void *value;
    for (size_t i = 0; map_next(&scheduler->cache.jobs_by_key, &i, NULL, &value);) {
        struct sched_job *job = value;
        if (!job->request)
            continue;
        window_cancel(scheduler->params.window, job->request);
        store_request_end(scheduler->params.podgroups, str_of(job->ns), str_of(job->name));
        job->request = NULL;
    }
}
