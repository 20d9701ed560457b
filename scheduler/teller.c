/*
 * Conditions and Events of waiting pods. See teller.h.
 *
 * Few writes are under way at a time; the jobs whose pods are still to be told wait in a list,
 * those whose pods were told something else less than TELLER_INTERVAL ago in another.
 */
#include "scheduler/teller.h"
#include "api/names.h"
#include "base/log.h"
#include "scheduler/claim.h"
#include "scheduler/pod_calls.h"
#include "scheduler/why.h"

#define UNDER_WAY_MOST 32

struct teller {
    struct list link; /* in scheduler->tellers */
    struct scheduler *scheduler;
    struct pod *pod;    /* counted */
    char *message;      /* owned */
    const char *reason; /* constant */
    uint64_t signature;
    struct window_request *request;
};

static void pump(struct scheduler *scheduler);

static bool tell_render(struct buf *path, struct buf *body, void *arg)
{
    const struct teller *teller = arg;
    struct json_writer writer = json_writer(body);
    char time[TIME_TEXT_MAX];
    const struct sched_task *task = cache_task(&teller->scheduler->cache, teller->pod->meta.uid);
    if (!task || task->status != TASK_PENDING)
        return false;
    size_t size = time_format(time, loop_wall(teller->scheduler->params.loop));
    pod_patch_status(path, &writer, teller->pod);
    json_w_member_array(&writer, "conditions");
    json_w_object(&writer);
    json_w_member_str(&writer, "type", STR("PodScheduled"));
    json_w_member_str(&writer, "status", STR("False"));
    json_w_member_str(&writer, "reason", str_of(teller->reason));
    json_w_member_str(&writer, "message", str_of(teller->message));
    json_w_member_str(&writer, "lastTransitionTime", str_make(time, size));
    json_w_end_object(&writer);
    json_w_end_array(&writer);
    json_w_end_object(&writer);
    json_w_end_object(&writer);
    return true;
}

static void teller_free(struct teller *teller)
{
    const struct kube_meta *meta = &teller->pod->meta;
    store_request_end(teller->scheduler->params.pods, str_of(meta->ns), str_of(meta->name));
    list_remove(&teller->link);
    teller->scheduler->teller_count--;
    pod_unref(teller->pod);
    free(teller->message);
    free(teller);
}

static void tell_done(const struct kube_result *result, void *arg)
{
    struct teller *teller = arg;
    struct scheduler *scheduler = teller->scheduler;
    struct sched_task *task = cache_task(&scheduler->cache, teller->pod->meta.uid);
    bool written = result->outcome == KUBE_ANSWERED && result->status == 200;
    if (!written && result->error.cls != ERROR_CANCELLED && result->error.cls != ERROR_NOT_FOUND)
        log_warn("a pod cannot be told why it waits pod=%s/%s error=\"%s\"", teller->pod->meta.ns,
                 teller->pod->meta.name, result->error.text);
    if (!written && task && result->error.cls == ERROR_RETRY)
        task->told = 0; /* the next look at the job tries again */
    if (written)
        store_apply(scheduler->params.pods, result->body);
    teller_free(teller);
    pump(scheduler);
}

/* What a task keeps of the signature of a reason; never 0. */
static uint32_t mark_of(const struct job_why *why)
{
    uint32_t mark = (uint32_t)(why->signature ^ why->signature >> 32);
    return mark ? mark : 1;
}

static void say(struct scheduler *scheduler, struct sched_task *task, const struct job_why *why)
{
    const struct kube_meta *meta = &task->pod->meta;
    struct event_ref ref = {"v1", "Pod", meta->ns, meta->name, meta->uid, 0};
    if (task->told_event == mark_of(why) || !scheduler->params.events)
        return;
    task->told_event = mark_of(why);
    event_record(scheduler->params.events, &ref, EVENT_WARNING, "FailedScheduling", "%s",
                 why->text);
}

/* Autoscalers are to act only where more nodes would help. */
static const char *reason_of(enum why_kind kind)
{
    if (kind == WHY_NODES)
        return POD_UNSCHEDULABLE;
    bool others = kind == WHY_PODS || kind == WHY_BINDS; /* it is for those that they wait */
    return others ? REASON_NOT_ENOUGH_TASKS : POD_QUEUE_LIMIT;
}

static void tell(struct scheduler *scheduler, struct sched_task *task, const struct job_why *why)
{
    struct teller *teller = xnew(struct teller);
    teller->scheduler = scheduler;
    teller->pod = pod_ref(task->pod);
    teller->message = xstrdup(why->text);
    teller->reason = reason_of(why->kind);
    teller->signature = why->signature;
    task->told = mark_of(why);
    task->told_ns = loop_now(scheduler->params.loop);
    list_remove(&task->link); /* those that are still to be told come first */
    list_append(&task->job->tasks, &task->link);
    list_append(&scheduler->tellers, &teller->link);
    scheduler->teller_count++;
    say(scheduler, task, why);
    store_request_begin(scheduler->params.pods, str_of(task->pod->meta.ns),
                        str_of(task->pod->meta.name));
    teller->request = window_submit(scheduler->params.window,
                                    &(struct window_spec){.cls = WINDOW_EVENT,
                                                          .method = KUBE_PATCH,
                                                          .content = KUBE_STRATEGIC_PATCH,
                                                          .render = tell_render,
                                                          .done = tell_done,
                                                          .arg = teller});
}

/* The next pod of the job that does not show the reason yet, or NULL; then `ret_later` is when the
 * next one may be told, INT64_MAX for never. */
static struct sched_task *next_task(const struct sched_job *job, int64_t now, int64_t *ret_later)
{
    int64_t later = INT64_MAX;
    for (struct list *link = job->tasks.next; link != &job->tasks; link = link->next) {
        struct sched_task *task = container_of(link, struct sched_task, link);
        if (task->status != TASK_PENDING || task->told == mark_of(&job->why))
            continue;
        bool told_before = task->told == 0 && task->pod->unschedulable;
        if (told_before) {
            task->told = mark_of(&job->why); /* by whoever scheduled before us */
            continue;
        }
        int64_t next = task->told ? task->told_ns + TELLER_INTERVAL : now;
        if (next <= now)
            return task;
        if (next < later)
            later = next;
    }
    *ret_later = later;
    return NULL;
}

/* Pods are being made for as long as they keep coming. */
static bool has_waited(const struct sched_job *job, int64_t now)
{
    if (job->why.kind == WHY_PODS)
        return now - job->last_arrival_ns >= JOB_CLAIM_NS;
    if (job->why.kind == WHY_TIMEOUT)
        return false; /* what they waited for before is still true */
    return job->why.kind != WHY_NONE && now - job->why.since_ns >= TELLER_DELAY;
}

static void tell_now(struct scheduler *scheduler, struct sched_job *job)
{
    list_remove(&job->telling);
    list_append(&scheduler->telling, &job->telling);
    job->tell_ns = 0;
}

static void tell_later(struct scheduler *scheduler, struct sched_job *job, int64_t when)
{
    struct loop *loop = scheduler->params.loop;
    list_remove(&job->telling);
    list_append(&scheduler->tell_later, &job->telling);
    job->tell_ns = when;
    loop_timer_set_earlier(loop, &scheduler->tell_timer, when - loop_now(loop));
}

static void pump(struct scheduler *scheduler)
{
    int64_t now = loop_now(scheduler->params.loop);
    while (scheduler->teller_count < UNDER_WAY_MOST && !list_empty(&scheduler->telling)) {
        struct sched_job *job = container_of(scheduler->telling.next, struct sched_job, telling);
        int64_t later = INT64_MAX;
        struct sched_task *task = has_waited(job, now) ? next_task(job, now, &later) : NULL;
        if (task) {
            tell(scheduler, task, &job->why);
            continue;
        }
        if (later == INT64_MAX)
            list_remove(&job->telling);
        else
            tell_later(scheduler, job, later);
    }
}

void teller_check(struct scheduler *scheduler, struct sched_job *job)
{
    if (!has_waited(job, loop_now(scheduler->params.loop)) || job->count[TASK_PENDING] == 0)
        return;
    if (list_empty(&job->telling) || job->tell_ns)
        tell_now(scheduler, job);
    pump(scheduler);
}

static void on_timer(void *arg)
{
    struct scheduler *scheduler = arg;
    int64_t now = loop_now(scheduler->params.loop);
    list_each(link, &scheduler->tell_later)
    {
        struct sched_job *job = container_of(link, struct sched_job, telling);
        if (job->tell_ns <= now)
            tell_now(scheduler, job);
        else
            loop_timer_set_earlier(scheduler->params.loop, &scheduler->tell_timer,
                                   job->tell_ns - now);
    }
    pump(scheduler);
}

void teller_init(struct scheduler *scheduler)
{
    list_init(&scheduler->telling);
    list_init(&scheduler->tell_later);
    loop_timer_init(&scheduler->tell_timer, on_timer, scheduler);
}

void teller_clear(struct scheduler *scheduler)
{
    loop_timer_cancel(scheduler->params.loop, &scheduler->tell_timer);
    list_each(link, &scheduler->tellers)
    {
        struct teller *teller = container_of(link, struct teller, link);
        window_cancel(scheduler->params.window, teller->request);
        teller_free(teller);
    }
}
