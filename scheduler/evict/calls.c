/*
 * Calls of the eviction API, and what follows from their answers. See evictor.h.
 *
 * A pod that terminates already may be asked again without harm, and the precondition protects a
 * later pod of that name; so what is in doubt is simply asked again. A call lasts until the cache
 * knows that the pod goes, or does not: where an eviction was taken and the watch does not show it
 * for DECISION_PATIENCE, the pod is read. Changes of the cache go
 * through scheduler_change, since answers come while a cycle runs.
 */
#include "base/intern.h"
#include "base/log.h"
#include "scheduler/evict/evictor_private.h"
#include "scheduler/metrics.h"
#include "scheduler/pod_calls.h"

#define RETRY_FIRST NSEC_PER_SEC
#define RETRY_MOST (5 * NSEC_PER_SEC)

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
    call->queued_ns = 0;
    call->payer = NULL;
}

static void call_free(struct evict_call *call)
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
    free(call->why);
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
    call_free(call);
    scheduler_change(scheduler, change);
}

bool evict_call_drop(struct evict_call *call, bool at_once)
{
    struct scheduler *scheduler = call->scheduler;
    call->decision = NULL;
    if (call->taken_ns && !task_of(call)) {
        call_free(call);
        return false;
    }
    bool waits = call->request && window_cancel_if_waiting(scheduler->params.window, call->request);
    if (waits)
        end_request(call);
    if ((call->request || call->counted) && !at_once) {
        list_remove(&call->link);
        list_append(&scheduler->strays, &call->link);
        return false;
    }
    spare(call);
    return true;
}

/* ---- outcomes -------------------------------------------------------------------------------- */

/* The pod goes. Where no answer told so, whoever was asked goes because of that. */
static void count_fate(struct evict_call *call, bool taken)
{
    if (call->counted)
        return;
    call->counted = true;
    taken = taken || call->in_doubt;
    metrics_eviction(call->scheduler, taken ? METRICS_EVICTION_DONE : METRICS_EVICTION_GONE);
    if (taken)
        evict_say_taken(call);
}

void evict_call_end(struct evict_call *call)
{
    count_fate(call, call->request && !call->queued_ns);
    call_free(call);
}

/* The fate is known, and the pod is gone or will be. */
static void settle(struct evict_call *call, bool taken)
{
    call->taken_ns = loop_now(call->scheduler->params.loop);
    count_fate(call, taken);
    tell_decision(call);
    if (!call->decision && !task_of(call))
        call_free(call);
    else
        loop_timer_set(call->scheduler->params.loop, &call->timer, DECISION_PATIENCE);
}

void evict_call_follow(struct evict_call *call)
{
    if (call->counted && !call->decision && !task_of(call))
        call_free(call);
}

/* The pod stays, whatever was said before. */
static void give_up(struct evict_call *call, const char *why)
{
    evict_say_refused(call, why);
    if (call->decision)
        call->decision->pointless = true;
    tell_decision(call);
    spare(call);
}

static void refuse(struct evict_call *call, const char *why)
{
    if (call->tired) { /* that has been said */
        spare(call);
        return;
    }
    metrics_eviction(call->scheduler, METRICS_EVICTION_REFUSED);
    give_up(call, why);
}

bool evict_call_asks(const struct evict_call *call)
{
    return call->read || (call->request && window_is_sent(call->request));
}

void evict_call_tire(struct evict_call *call)
{
    if (evict_call_asks(call))
        return; /* the answer tells */
    call->decision->pointless = true;
    if (call->tired)
        return;
    call->tired = true;
    metrics_eviction(call->scheduler, METRICS_EVICTION_REFUSED);
    evict_say_refused(call, call->why ? call->why : "the API server does not answer");
}

/* Those for whom nobody decides when it is enough are given up here. */
static void again(struct evict_call *call, const char *why)
{
    struct loop *loop = call->scheduler->params.loop;
    bool patient = loop_now(loop) < evict_call_ends(call);
    free(call->why);
    call->why = xstrdup(why);
    if (!call->decision && !patient) {
        refuse(call, why);
        return;
    }
    if (!patient && !call->taken_ns && task_of(call)) {
        evict_call_tire(call);
        tell_decision(call);
    }
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

/* ---- reading it: is it still ours, and does it go? ------------------------------------------- */

/* How the pod of that name is; NULL when there was no answer or there is none. Counted. */
static struct pod *pod_of(const struct evict_call *call, const struct kube_result *result,
                          bool *ret_gone)
{
    struct error err = ERROR_INIT;
    bool answered = result->outcome == KUBE_ANSWERED;
    struct pod *pod = answered && result->status == 200 ? pod_decode(result->body, &err) : NULL;
    *ret_gone = pod ? pod->meta.uid != call->pod->meta.uid : answered && result->status == 404;
    return pod;
}

/* What was read is news for the store, and so may be the end of the call. */
static void pass_on(struct store *pods, const struct kube_result *result, struct pod *pod)
{
    if (pod)
        store_apply(pods, result->body);
    pod_unref(pod);
}

/* After a conflict. */
static void read_done(const struct kube_result *result, void *arg)
{
    struct evict_call *call = arg;
    struct store *pods = call->scheduler->params.pods;
    bool gone;
    call->read = NULL;
    struct pod *pod = pod_of(call, result, &gone);
    if (gone)
        is_gone(call);
    else
        again(call, "its pod is being changed by others");
    pass_on(pods, result, pod);
}

/* After an eviction that was taken. */
static void check_done(const struct kube_result *result, void *arg)
{
    struct evict_call *call = arg;
    struct store *pods = call->scheduler->params.pods;
    struct loop *loop = call->scheduler->params.loop;
    bool gone;
    call->read = NULL;
    struct pod *pod = pod_of(call, result, &gone);
    if (gone)
        is_gone(call);
    else if (pod && !pod->meta.deleted_ns)
        give_up(call, "its eviction was accepted, and it does not terminate");
    else if (!pod)
        loop_timer_set(loop, &call->timer, backoff_next(&call->backoff, loop_rng(loop)));
    pass_on(pods, result, pod);
}

static void check(struct evict_call *call)
{
    if (task_of(call) && !call->read)
        call->read = pod_read(call->scheduler, call->pod, check_done, call);
}

/* ---- the eviction ---------------------------------------------------------------------------- */

int64_t evict_call_ends(const struct evict_call *call)
{
    int64_t waited = call->queued_ns ? loop_now(call->scheduler->params.loop) - call->queued_ns : 0;
    return call->began_ns + waited + DECISION_PATIENCE;
}

/* Its turn has come. */
static void leave_queue(struct evict_call *call)
{
    call->began_ns = evict_call_ends(call) - DECISION_PATIENCE;
    call->queued_ns = 0;
}

static bool evict_render(struct buf *path, struct buf *body, void *arg)
{
    struct evict_call *call = arg;
    const struct kube_meta *meta = &call->pod->meta;
    struct json_writer writer = json_writer(body);
    if (!task_of(call))
        return false; /* it terminates, or is gone */
    leave_queue(call);
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
    call->in_doubt |= result->outcome == KUBE_IN_DOUBT || status >= 500;
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
static void ask(struct evict_call *call)
{
    struct scheduler *scheduler = call->scheduler;
    const struct sched_task *task = task_of(call);
    call->payer = call->decision ? call->decision->job : task ? task->job : NULL;
    call->queued_ns = loop_now(scheduler->params.loop);
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

void evict_call_leave(struct evict_call *call)
{
    struct scheduler *scheduler = call->scheduler;
    call->decision = NULL;
    if (call->taken_ns && !task_of(call)) {
        call_free(call);
        return;
    }
    list_remove(&call->link);
    list_append(&scheduler->strays, &call->link);
    if (!call->request || !window_cancel_if_waiting(scheduler->params.window, call->request))
        return;
    end_request(call);
    ask(call); /* at the cost of its own job from now on */
}

static void on_timer(void *arg)
{
    struct evict_call *call = arg;
    if (call->counted)
        check(call);
    else
        ask(call);
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
    loop_timer_init(&call->timer, on_timer, call);
    backoff_init(&call->backoff, RETRY_FIRST, RETRY_MOST);
    list_init(&call->link);
    list_append(decision ? &decision->victims : &scheduler->strays, &call->link);
    map_set(&scheduler->evictions, str_of(call->pod->meta.uid), call);
    cache_evict_task(&scheduler->cache, task);
    ask(call);
}
