/*
 * Conditions and Events of waiting pods. See teller.h.
 *
 * Few writes are under way at a time; the jobs whose pods are still to be told wait in a list.
 */
#include "scheduler/teller.h"
#include "api/names.h"
#include "base/log.h"
#include "scheduler/why.h"
#include "json/writer.h"

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
    const struct kube_meta *meta = &teller->pod->meta;
    struct json_writer writer = json_writer(body);
    char time[TIME_TEXT_MAX];
    const struct sched_task *task = cache_task(&teller->scheduler->cache, meta->uid);
    if (!task || task->status != TASK_PENDING)
        return false;
    size_t size = time_format(time, loop_wall(teller->scheduler->params.loop));
    buf_printf(path, "/api/v1/namespaces/%s/pods/%s/status", meta->ns, meta->name);
    json_w_object(&writer);
    json_w_member_object(&writer, "metadata");
    json_w_member_str(&writer, "uid", str_of(meta->uid));
    json_w_end_object(&writer);
    json_w_member_object(&writer, "status");
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

static void say(struct scheduler *scheduler, struct sched_task *task, const struct job_why *why)
{
    const struct kube_meta *meta = &task->pod->meta;
    struct event_ref ref = {"v1", "Pod", meta->ns, meta->name, meta->uid, 0};
    if (task->told_event == why->signature || !scheduler->params.events)
        return;
    task->told_event = why->signature;
    event_record(scheduler->params.events, &ref, EVENT_WARNING, "FailedScheduling", "%s",
                 why->text);
}

static void tell(struct scheduler *scheduler, struct sched_task *task, const struct job_why *why)
{
    struct teller *teller = xnew(struct teller);
    teller->scheduler = scheduler;
    teller->pod = pod_ref(task->pod);
    teller->message = xstrdup(why->text);
    /* More nodes would not help where the queue's share is used up: autoscalers are not to act. */
    teller->reason = why->kind == WHY_SHARE ? POD_QUEUE_LIMIT : POD_UNSCHEDULABLE;
    teller->signature = why->signature;
    task->told = why->signature;
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

/* The next pod of the job that does not show the reason yet, or NULL. */
static struct sched_task *next_task(const struct sched_job *job)
{
    for (struct list *link = job->tasks.next; link != &job->tasks; link = link->next) {
        struct sched_task *task = container_of(link, struct sched_task, link);
        if (task->status != TASK_PENDING || task->told == job->why.signature)
            continue;
        bool told_before = task->told == 0 && task->pod->unschedulable;
        if (!told_before)
            return task;
        task->told = job->why.signature; /* by whoever scheduled before us */
    }
    return NULL;
}

static bool has_waited(const struct scheduler *scheduler, const struct sched_job *job)
{
    return why_holds_pods(job->why.kind) &&
           loop_now(scheduler->params.loop) - job->why.since_ns >= TELLER_DELAY;
}

static void pump(struct scheduler *scheduler)
{
    while (scheduler->teller_count < UNDER_WAY_MOST && !list_empty(&scheduler->telling)) {
        struct sched_job *job = container_of(scheduler->telling.next, struct sched_job, telling);
        struct sched_task *task = has_waited(scheduler, job) ? next_task(job) : NULL;
        if (task)
            tell(scheduler, task, &job->why);
        else
            list_remove(&job->telling);
    }
}

void teller_check(struct scheduler *scheduler, struct sched_job *job)
{
    if (!has_waited(scheduler, job) || job->count[TASK_PENDING] == 0)
        return;
    if (list_empty(&job->telling))
        list_append(&scheduler->telling, &job->telling);
    pump(scheduler);
}

void teller_clear(struct scheduler *scheduler)
{
    list_each(link, &scheduler->tellers)
    {
        struct teller *teller = container_of(link, struct teller, link);
        window_cancel(scheduler->params.window, teller->request);
        teller_free(teller);
    }
}
