/*
 * Calls of the eviction API, and what follows from their answers. See evictor.h.
 *
 * A pod that terminates already may be asked again without harm, and the precondition protects a
 * later pod of that name; so what is in doubt is simply asked again. Changes of the cache go
 * through scheduler_change, since answers come while a cycle runs.
 */
#include "base/intern.h"
#include "base/log.h"
#include "scheduler/evict/evictor_private.h"
#include "scheduler/metrics.h"
#include "scheduler/pod_calls.h"

#define RETRY_FIRST NSEC_PER_SEC
#define RETRY_MOST (5 * NSEC_PER_SEC)

static void ask(void *arg);

static struct sched_task *task_of(const struct evict_call *call)
{
    struct sched_task *task = cache_task(&call->scheduler->cache, call->pod->meta.uid);
    return task && task->evicting ? task : NULL;
}

/* Whoever paid for the request may be gone now. */
static void end_request(struct evict_call *call)
{
    const struct kube_meta *meta = &call->pod->meta;
    store_request_end(call->scheduler->params.pods, str_of(meta->ns), str_of(meta->name));
    if (call->payer) {
        cache_dirty(&call->scheduler->cache, call->payer);
        scheduler_wake(call->scheduler);
    }
    call->request = NULL;
    call->payer = NULL;
}

void evict_call_free(struct evict_call *call)
{
    struct scheduler *scheduler = call->scheduler;
    if (call->request) {
        window_cancel(scheduler->params.window, call->request);
        end_request(call);
    }
    if (call->read)
        kube_cancel(scheduler->params.transport, call->read);
    loop_timer_cancel(scheduler->params.loop, &call->timer);
    list_remove(&call->link);
    map_del(&scheduler->evictions, str_of(call->pod->meta.uid));
    pod_unref(call->pod);
    free(call->beneficiary);
    free(call);
}

/* The job that waits for it is to look. */
static void tell_decision(const struct evict_call *call)
{
    if (!call->decision)
        return;
    cache_dirty(&call->scheduler->cache, call->decision->job);
    scheduler_wake(call->scheduler);
}

/* The pod stays; frees the call. */
static void spare(struct evict_call *call)
{
    struct scheduler *scheduler = call->scheduler;
    struct change change = {.kind = CHANGE_SPARED, .key = intern_ref(call->pod->meta.uid)};
    evict_call_free(call);
    scheduler_change(scheduler, change);
}

void evict_call_drop(struct evict_call *call, bool at_once)
{
    struct scheduler *scheduler = call->scheduler;
    call->decision = NULL;
    if (call->taken_ns) {
        evict_call_free(call);
        return;
    }
    bool waits = call->request && window_cancel_if_waiting(scheduler->params.window, call->request);
    if (waits)
        end_request(call);
    if (call->request && !at_once) {
        list_remove(&call->link);
        list_append(&scheduler->strays, &call->link);
        return;
    }
    spare(call);
}

void evict_call_leave(struct evict_call *call)
{
    struct scheduler *scheduler = call->scheduler;
    call->decision = NULL;
    if (call->taken_ns) {
        evict_call_free(call);
        return;
    }
    list_remove(&call->link);
    list_append(&scheduler->strays, &call->link);
    if (!call->request || !window_cancel_if_waiting(scheduler->params.window, call->request))
        return;
    end_request(call);
    ask(call); /* at the cost of its own job from now on */
}

/* ---- outcomes -------------------------------------------------------------------------------- */

/* The fate is known, and the pod is gone or will be. */
static void settle(struct evict_call *call, bool taken)
{
    call->taken_ns = loop_now(call->scheduler->params.loop);
    metrics_eviction(call->scheduler, taken ? METRICS_EVICTION_DONE : METRICS_EVICTION_GONE);
    if (taken)
        evict_say_taken(call);
    tell_decision(call);
    if (!call->decision)
        evict_call_free(call); /* the cache shows it as Releasing until its watch does */
}

static void refuse(struct evict_call *call, const char *why)
{
    metrics_eviction(call->scheduler, METRICS_EVICTION_REFUSED);
    evict_say_refused(call, why);
    if (call->decision)
        call->decision->pointless = true;
    tell_decision(call);
    spare(call);
}

/* Those for whom nobody decides when it is enough are given up here. */
static void again(struct evict_call *call, const char *why)
{
    struct loop *loop = call->scheduler->params.loop;
    bool patient = loop_now(loop) - call->began_ns < DECISION_PATIENCE;
    if (!call->decision && !patient)
        refuse(call, why);
    else
        loop_timer_set(loop, &call->timer, backoff_next(&call->backoff, loop_rng(loop)));
}

static void is_gone(struct evict_call *call)
{
    const struct kube_meta *meta = &call->pod->meta;
    struct store *pods = call->scheduler->params.pods;
    cleanup_free char *ns = xstrdup(meta->ns), *name = xstrdup(meta->name);
    cleanup_free char *uid = xstrdup(meta->uid);
    settle(call, false);
    store_forget(pods, str_of(ns), str_of(name), str_of(uid));
}

/* ---- after a conflict: is the pod of that name still ours? ----------------------------------- */

static void read_done(const struct kube_result *result, void *arg)
{
    struct evict_call *call = arg;
    struct error err = ERROR_INIT;
    call->read = NULL;
    bool answered = result->outcome == KUBE_ANSWERED;
    bool gone = answered && result->status == 404;
    struct pod *pod = answered && result->status == 200 ? pod_decode(result->body, &err) : NULL;
    if (pod) {
        gone = pod->meta.uid != call->pod->meta.uid;
        store_apply(call->scheduler->params.pods, result->body);
        pod_unref(pod);
    }
    if (gone)
        is_gone(call);
    else
        again(call, "its pod is being changed by others");
}

/* ---- the eviction ---------------------------------------------------------------------------- */

static bool evict_render(struct buf *path, struct buf *body, void *arg)
{
    const struct evict_call *call = arg;
    const struct kube_meta *meta = &call->pod->meta;
    struct json_writer writer = json_writer(body);
    if (!task_of(call))
        return false; /* it terminates, or is gone */
    pod_path(path, call->pod, "/eviction");
    json_w_object(&writer);
    json_w_member_str(&writer, "apiVersion", STR("policy/v1"));
    json_w_member_str(&writer, "kind", STR("Eviction"));
    json_w_member_object(&writer, "metadata");
    json_w_member_str(&writer, "name", str_of(meta->name));
    json_w_member_str(&writer, "namespace", str_of(meta->ns));
    json_w_end_object(&writer);
    json_w_member_object(&writer, "deleteOptions");
    json_w_member_object(&writer, "preconditions");
    json_w_member_str(&writer, "uid", str_of(meta->uid));
    json_w_end_object(&writer);
    json_w_end_object(&writer);
    json_w_end_object(&writer);
    return true;
}

static void evict_done(const struct kube_result *result, void *arg)
{
    struct evict_call *call = arg;
    bool answered = result->outcome == KUBE_ANSWERED;
    int status = answered ? result->status : 0;
    end_request(call);
    if (result->error.cls == ERROR_CANCELLED)
        settle(call, false);
    else if (status >= 200 && status < 300)
        settle(call, true);
    else if (status == 404)
        is_gone(call);
    else if (status == 409)
        call->read = pod_read(call->scheduler, call->pod, read_done, call);
    else if (status >= 400 && status < 500 && !result->by_budget)
        refuse(call, result->error.text);
    else
        again(call, result->error.text);
}

/* The flow of the job that wants the room, or else of the pod's own. */
static void ask(void *arg)
{
    struct evict_call *call = arg;
    struct scheduler *scheduler = call->scheduler;
    const struct sched_task *task = task_of(call);
    call->payer = call->decision ? call->decision->job : task ? task->job : NULL;
    store_request_begin(scheduler->params.pods, str_of(call->pod->meta.ns),
                        str_of(call->pod->meta.name));
    call->request =
        window_submit(scheduler->params.window,
                      &(struct window_spec){.cls = WINDOW_DELETE,
                                            .flow = call->payer ? &call->payer->flow : NULL,
                                            .method = KUBE_POST,
                                            .content = KUBE_JSON,
                                            .render = evict_render,
                                            .done = evict_done,
                                            .arg = call});
}

void evict_call_start(struct scheduler *scheduler, struct evict_decision *decision,
                      struct sched_task *task, const char *action)
{
    if (map_get(&scheduler->evictions, str_of(task->pod->meta.uid)))
        return;
    struct evict_call *call = xnew(struct evict_call);
    call->scheduler = scheduler;
    call->decision = decision;
    call->pod = pod_ref(task->pod);
    call->action = action;
    call->began_ns = loop_now(scheduler->params.loop);
    if (decision)
        call->beneficiary = xasprintf("job %s/%.*s", decision->job->ns,
                                      job_name_size(decision->job), decision->job->name);
    loop_timer_init(&call->timer, ask, call);
    backoff_init(&call->backoff, RETRY_FIRST, RETRY_MOST);
    list_init(&call->link);
    list_append(decision ? &decision->victims : &scheduler->strays, &call->link);
    map_set(&scheduler->evictions, str_of(call->pod->meta.uid), call);
    cache_evict_task(&scheduler->cache, task);
    ask(call);
}
