/*
 * Binds. See bind.h.
 *
 * A bind call lives from bind_start until its fate is known. It holds a reference to the pod and
 * keeps the job's record alive (job->binds); the task is looked up again by UID each time, since it
 * may be gone.
 */
#include "scheduler/bind.h"
#include "base/intern.h"
#include "base/log.h"
#include "loop/backoff.h"
#include "scheduler/metrics.h"
#include "scheduler/pod_calls.h"
#include "scheduler/volumes/binder.h"

#define RETRY_FIRST (500 * NSEC_PER_MSEC)
#define RETRY_MOST (60 * NSEC_PER_SEC)
#define READ_FIRST (200 * NSEC_PER_MSEC)
#define READ_MOST (10 * NSEC_PER_SEC)

struct bind_call {
    struct list link; /* in scheduler->binds */
    struct scheduler *scheduler;
    struct pod *pod;                /* counted */
    const char *node;               /* interned */
    struct sched_job *job;          /* kept by its `binds` */
    struct window_request *request; /* the POST, or NULL */
    struct kube_call *read;         /* the GET, or NULL */
    int64_t began_ns, sent_ns;      /* loop time of bind_start, and of the POST: 0 before */
    struct loop_timer timer;        /* the next GET */
    struct backoff backoff;         /* of GETs */
};

static void read_pod(void *arg);

static struct sched_task *task_of(const struct bind_call *call)
{
    struct sched_task *task = cache_task(&call->scheduler->cache, call->pod->meta.uid);
    bool ours = task && task->status == TASK_BINDING && task->node &&
                strcmp(task->node->name, call->node) == 0;
    return ours ? task : NULL;
}

static void release(struct bind_call *call)
{
    list_remove(&call->link);
    loop_timer_cancel(call->scheduler->params.loop, &call->timer);
    call->job->binds--;
    store_request_end(call->scheduler->params.pods, str_of(call->pod->meta.ns),
                      str_of(call->pod->meta.name));
    cache_dirty(&call->scheduler->cache, call->job);
    pod_unref(call->pod);
    intern_put(call->node);
    free(call);
}

/* The fate is known: tells the cache, and frees the call. */
static void settle(struct bind_call *call, enum change_kind outcome)
{
    struct scheduler *scheduler = call->scheduler;
    struct change change = {
        .kind = outcome, .ns = intern_ref(call->node), .key = intern_ref(call->pod->meta.uid)};
    if (call->job->flow.missing)
        window_flow_set_missing(&call->job->flow, call->job->flow.missing - 1);
    metrics_bind(scheduler, call->pod, outcome == CHANGE_BOUND);
    if (outcome == CHANGE_BOUND && call->sent_ns)
        metrics_stage(scheduler, METRICS_STAGE_BIND,
                      loop_now(scheduler->params.loop) - call->sent_ns);
    release(call);
    scheduler_change(scheduler, change);
    scheduler_check_stopped(scheduler);
}

/* ---- reading the pod ------------------------------------------------------------------------- */

/* What the pod, read after the bind, says about it. */
static enum change_kind fate(const struct bind_call *call, const struct pod *now)
{
    if (now->meta.uid != call->pod->meta.uid)
        return CHANGE_UNBOUND; /* another pod of that name: ours is gone */
    if (strcmp(now->node, call->node) == 0)
        return CHANGE_BOUND;
    return now->node[0] == '\0' && !now->meta.deleted_ns ? CHANGE_BIND_FAILED : CHANGE_UNBOUND;
}

static void read_later(struct bind_call *call)
{
    struct loop *loop = call->scheduler->params.loop;
    loop_timer_set(loop, &call->timer, backoff_next(&call->backoff, loop_rng(loop)));
}

static void read_done(const struct kube_result *result, void *arg)
{
    struct bind_call *call = arg;
    struct scheduler *scheduler = call->scheduler;
    struct error err = ERROR_INIT;
    call->read = NULL;
    if (result->outcome == KUBE_ANSWERED && result->status == 404) {
        const struct kube_meta *meta = &call->pod->meta;
        store_forget(scheduler->params.pods, str_of(meta->ns), str_of(meta->name),
                     str_of(meta->uid));
        settle(call, CHANGE_UNBOUND);
        return;
    }
    struct pod *pod = result->outcome == KUBE_ANSWERED && result->status == 200
                          ? pod_decode(result->body, &err)
                          : NULL;
    if (!pod) {
        read_later(call);
        return;
    }
    enum change_kind outcome = fate(call, pod);
    pod_unref(pod);
    store_apply(scheduler->params.pods, result->body);
    settle(call, outcome);
}

static void read_pod(void *arg)
{
    struct bind_call *call = arg;
    if (!task_of(call)) {
        settle(call, CHANGE_UNBOUND); /* the watch has told meanwhile */
        return;
    }
    call->read = pod_read(call->scheduler, call->pod, read_done, call);
}

/* ---- the bind -------------------------------------------------------------------------------- */

static void note_sent(struct bind_call *call)
{
    if (call->sent_ns)
        return;
    call->sent_ns = loop_now(call->scheduler->params.loop);
    metrics_pod(call->scheduler, call->pod, METRICS_POD_PREBOUND);
    metrics_stage(call->scheduler, METRICS_STAGE_PREBIND, call->sent_ns - call->began_ns);
}

static bool bind_render(struct buf *path, struct buf *body, void *arg)
{
    struct bind_call *call = arg;
    const struct kube_meta *meta = &call->pod->meta;
    struct json_writer writer = json_writer(body);
    if (!task_of(call))
        return false;
    note_sent(call);
    pod_path(path, call->pod, "/binding");
    json_w_object(&writer);
    json_w_member_str(&writer, "apiVersion", STR("v1"));
    json_w_member_str(&writer, "kind", STR("Binding"));
    json_w_member_object(&writer, "metadata");
    json_w_member_str(&writer, "name", str_of(meta->name));
    json_w_member_str(&writer, "namespace", str_of(meta->ns));
    json_w_member_str(&writer, "uid", str_of(meta->uid));
    json_w_end_object(&writer);
    json_w_member_object(&writer, "target");
    json_w_member_str(&writer, "apiVersion", STR("v1"));
    json_w_member_str(&writer, "kind", STR("Node"));
    json_w_member_str(&writer, "name", str_of(call->node));
    json_w_end_object(&writer);
    json_w_end_object(&writer);
    return true;
}

static void say_bound(const struct bind_call *call)
{
    const struct kube_meta *meta = &call->pod->meta;
    struct event_ref ref = {"v1", "Pod", meta->ns, meta->name, meta->uid, 0};
    if (call->scheduler->params.events)
        event_record(call->scheduler->params.events, &ref, EVENT_NORMAL, "Scheduled",
                     "Successfully assigned %s/%s to %s", meta->ns, meta->name, call->node);
}

static void say_failed(const struct bind_call *call, int status, const char *why)
{
    const struct kube_meta *meta = &call->pod->meta;
    struct event_ref ref = {"v1", "Pod", meta->ns, meta->name, meta->uid, 0};
    log_warn("a bind failed pod=%s/%s node=%s status=%d error=\"%s\"", meta->ns, meta->name,
             call->node, status, why);
    if (call->scheduler->params.events)
        event_record(call->scheduler->params.events, &ref, EVENT_WARNING, "FailedScheduling",
                     "failed to bind to node %s: %s", call->node, why);
}

static void bind_done(const struct kube_result *result, void *arg)
{
    struct bind_call *call = arg;
    call->request = NULL;
    if (result->outcome == KUBE_NOT_SENT) {
        settle(call, CHANGE_UNBOUND);
        return;
    }
    if (result->outcome == KUBE_ANSWERED && result->status >= 200 && result->status < 300) {
        say_bound(call);
        settle(call, CHANGE_BOUND);
        return;
    }
    say_failed(call, result->status, result->error.text);
    bool refused = result->outcome == KUBE_ANSWERED && result->status >= 400 &&
                   result->status < 500 && result->status != 404 && result->status != 409;
    if (refused)
        settle(call, CHANGE_BIND_FAILED);
    else
        read_pod(call); /* 404, 409: somebody else was faster; the rest: in doubt */
}

static void post(struct bind_call *call)
{
    call->request = window_submit(call->scheduler->params.window,
                                  &(struct window_spec){.cls = WINDOW_BIND,
                                                        .flow = &call->job->flow,
                                                        .method = KUBE_POST,
                                                        .content = KUBE_JSON,
                                                        .render = bind_render,
                                                        .done = bind_done,
                                                        .arg = call});
}

static void volumes_bound(const char *trouble, void *arg)
{
    struct bind_call *call = arg;
    if (!trouble) {
        post(call);
        return;
    }
    bool ended = call->scheduler->stopping || !task_of(call);
    if (!ended)
        say_failed(call, 0, trouble);
    settle(call, ended ? CHANGE_UNBOUND : CHANGE_BIND_FAILED);
}

/* True when the pod has volumes that are to be bound before it. */
static bool bind_volumes(struct bind_call *call, const struct sched_task *task)
{
    struct volume_binder *binder = call->scheduler->volume_binder;
    return binder && task->pod->cls->volumes &&
           volume_bind_start(binder, task->pod->meta.uid, task->node->object, &call->job->flow,
                             volumes_bound, call);
}

void bind_start(struct scheduler *scheduler, struct sched_task *task)
{
    struct bind_call *call = xnew(struct bind_call);
    call->scheduler = scheduler;
    call->pod = pod_ref(task->pod);
    call->node = intern_ref(task->node->name);
    call->job = task->job;
    call->job->binds++;
    call->job->placed_ns = loop_wall(scheduler->params.loop);
    call->began_ns = loop_now(scheduler->params.loop);
    metrics_pod(scheduler, call->pod, METRICS_POD_ASSUMED);
    store_request_begin(scheduler->params.pods, str_of(task->pod->meta.ns),
                        str_of(task->pod->meta.name));
    loop_timer_init(&call->timer, read_pod, call);
    backoff_init(&call->backoff, READ_FIRST, READ_MOST);
    list_append(&scheduler->binds, &call->link);
    cache_set_task(&scheduler->cache, task, TASK_BINDING, task->node);
    config_binding(scheduler->config, task, false);
    if (!bind_volumes(call, task))
        post(call);
}

/* ---- outcomes -------------------------------------------------------------------------------- */

static int64_t retry_delay(unsigned failures)
{
    int64_t delay = RETRY_FIRST;
    while (failures-- > 1 && delay < RETRY_MOST)
        delay *= 2;
    return delay < RETRY_MOST ? delay : RETRY_MOST;
}

bool bind_settle(struct scheduler *scheduler, const struct change *change)
{
    struct cache *cache = &scheduler->cache;
    struct sched_task *task = cache_task(cache, change->key);
    bool binding = task && task->status == TASK_BINDING && task->node &&
                   strcmp(task->node->name, change->ns) == 0;
    if (!binding)
        return true; /* the watch was faster; the job may be looked at all the same */
    if (change->kind != CHANGE_BOUND)
        config_binding(scheduler->config, task, true);
    if (change->kind == CHANGE_BOUND) {
        task->bind_failures = 0;
        cache_set_task(cache, task, TASK_BOUND, task->node);
    } else if (change->kind == CHANGE_UNBOUND) {
        cache_set_task(cache, task, TASK_PENDING, NULL);
    } else {
        if (task->bind_failures < UINT16_MAX)
            task->bind_failures++;
        int64_t delay = retry_delay(task->bind_failures);
        delay = rng_jitter(loop_rng(scheduler->params.loop), delay, 0.2);
        cache_hold_task(cache, task, loop_now(scheduler->params.loop) + delay);
    }
    return true;
}

void bind_clear(struct scheduler *scheduler)
{
    list_each(link, &scheduler->binds)
    {
        struct bind_call *call = container_of(link, struct bind_call, link);
        if (call->request)
            window_cancel(scheduler->params.window, call->request);
        if (call->read)
            kube_cancel(scheduler->params.transport, call->read);
        release(call);
    }
}
