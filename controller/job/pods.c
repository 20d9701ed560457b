/*
 * Pod creates: see pods.h. Which are next is said in fill.c.
 */
#include "controller/job/pods.h"
#include "api/names.h"
#include "base/intern.h"
#include "base/log.h"
#include "controller/job/alive.h"
#include "controller/job/depends.h"
#include "controller/job/explain.h"
#include "controller/job/metrics.h"
#include "controller/job/volumes.h"
#include "controller/plugins/plugin.h"

#define CREATE_TIMEOUT (30 * NSEC_PER_SEC)
#define LOST_MOST 100 /* creates lost in a row before the job waits: as many as are in flight */

struct pod_create {
    struct list link; /* job_control.creates */
    struct job_control *control;
    const char *task; /* interned */
    uint32_t index;
    int32_t version;                /* job version the pod was rendered with */
    bool probe;                     /* submitted to see whether creates are still refused */
    struct window_request *request; /* NULL once answered */
    struct kube_call *lookup;       /* GET that settles a doubt */
    struct loop_timer retry;        /* before the next GET */
    struct backoff backoff;
    struct kube_result *why; /* owned; a 5xx or a doubt, without a body; NULL: none */
};

void pod_path(struct buf *path, const char *ns, const char *name)
{
    buf_add_cstr(path, "/api/v1/namespaces/");
    kube_escape(path, str_of(ns));
    buf_add_cstr(path, "/pods");
    if (name) {
        buf_add_char(path, '/');
        kube_escape(path, str_of(name));
    }
}

/* ---- life of a create -------------------------------------------------------------------------
 */

static void create_name(const struct pod_create *create, struct buf *name)
{
    pod_name_write(name, create->control->name, create->task, create->index);
}

static void create_free(struct pod_create *create)
{
    struct job_control *control = create->control;
    cleanup_buf struct buf name = BUF_INIT(1024);

    create_name(create, &name);
    store_request_end(control->controller->pods, str_of(control->ns), buf_str(&name));
    loop_timer_cancel(control->controller->loop, &create->retry);
    list_remove(&create->link);
    control->create_count--;
    job_control_set_create(control, create->task, create->index, NULL);
    intern_put(create->task);
    free(create->why);
    free(create);
}

/* Ends a create that is settled, one way or the other; the next pass sees to the slot. */
static void create_settle(struct pod_create *create)
{
    struct job_control *control = create->control;

    create_free(create);
    if (control->job)
        job_control_mark(control);
    else
        job_control_release(control);
}

static void create_withdraw(struct pod_create *create)
{
    struct controller *controller = create->control->controller;

    if (create->request)
        (void)window_cancel(controller->window, create->request);
    if (create->lookup)
        kube_cancel(controller->transport, create->lookup);
    create_free(create);
}

/* ---- refusals ---------------------------------------------------------------------------------
 */

void pods_clear_trouble(struct job_control *control)
{
    control->probing = false;
    backoff_reset(&control->create_backoff);
    trouble_clear(control, JOB_TROUBLE_POD);
}

/* A create went through; one that was sent before another was refused says nothing of that. */
static void took(struct pod_create *create)
{
    create->control->lost = 0;
    if (create->probe || !create->control->probing)
        pods_clear_trouble(create->control);
}

/* Withdraws what waits in the window; what is in flight or in doubt is left to be settled. */
static void withdraw_waiting(struct job_control *control)
{
    list_each(link, &control->creates)
    {
        struct pod_create *create = container_of(link, struct pod_create, link);
        if (!create->request)
            continue;
        struct window_request *request = create->request;
        if (window_cancel_if_waiting(control->controller->window, request)) {
            create->request = NULL;
            pods_put_back(control, create->task, create->index);
            create_free(create);
        }
    }
}

/* The refusal without 'pods "NAME" is forbidden: ', so that it is the same for each pod. */
static const char *without_pod(const char *text, const char *pod)
{
    const struct str all = str_of(text);
    cleanup_buf struct buf quoted = BUF_INIT(1024);

    buf_printf(&quoted, "\"%s\" is ", pod);
    const ptrdiff_t at = str_find(all, buf_str(&quoted));
    if (at < 0)
        return text;
    const ptrdiff_t end = str_find(str_from(all, (size_t)at), STR(": "));
    return end < 0 ? text : text + at + end + 2;
}

/* Creates are refused: wait by back-off, then try one. Says so once for each new reason. */
static void hold(struct job_control *control, const char *pod, const struct kube_result *answer)
{
    const char *why = without_pod(answer->error.text, pod);

    if (!loop_timer_active(&control->hold))
        loop_timer_set(control->controller->loop, &control->hold,
                       job_retry_delay(control, &control->create_backoff, answer));
    control->probing = true;
    alive_doubt(control); /* the job may be gone by then */
    withdraw_waiting(control);
    if (answer->outcome == KUBE_IN_DOUBT && control->create_backoff.failures <= 1)
        return; /* a connection that broke, and is there again */
    if (!trouble_set(control, JOB_TROUBLE_POD, "FailedCreate", why))
        return;
    log_warn("job %s/%s: pod %s cannot be created: %s", control->ns, control->name, pod, why);
    job_event(control, EVENT_WARNING, "FailedCreate", "Error creating pod %s: %s", pod, why);
}

static void refused(struct pod_create *create, const struct kube_result *answer)
{
    struct job_control *control = create->control;
    cleanup_buf struct buf name = BUF_INIT(1024);

    create_name(create, &name);
    if (answer->status == 422) /* 400 is what webhooks refuse with that say nothing else */
        control->doomed = true;
    hold(control, name.p, answer);
    pods_pass_over(control, create->task, create->index);
    create_settle(create);
}

/*
 * The pod is not there, and it was not refused: the connection broke, or the quota's own count was
 * written by somebody else at that moment (409). Such creates are made anew at once, for a while.
 */
static void lost(struct pod_create *create, const struct kube_result *answer)
{
    if (create->control->lost++ < LOST_MOST)
        create_settle(create);
    else
        refused(create, answer);
}

/* ---- doubts -----------------------------------------------------------------------------------
 */

static void create_lookup(void *arg);

static void lookup_again(struct pod_create *create)
{
    struct loop *loop = create->control->controller->loop;

    loop_timer_set(loop, &create->retry, backoff_next(&create->backoff, loop_rng(loop)));
}

/* True when the pod is the one that this create was to make. */
static bool is_ours(const struct pod_create *create, const struct podstate *pod)
{
    return pod->meta.controller.uid == create->control->uid && pod->task == create->task &&
           pod->index == (int32_t)create->index && pod->job_version <= create->version;
}

static void name_is_taken(struct pod_create *create, const struct podstate *pod)
{
    struct kube_result taken = {0};

    if (pod && is_ours(create, pod))
        (void)error_set(&taken.error, ERROR_RETRY,
                        "a pod of this name is without its label " KEY_JOB_NAME
                        "; waiting for it to go, or to get that back");
    else
        (void)error_set(&taken.error, ERROR_RETRY,
                        "a pod of this name exists and belongs to %s%s%s; waiting for it to go",
                        pod && pod->meta.controller.kind ? pod->meta.controller.kind : "nobody",
                        pod && pod->meta.controller.name ? " " : "",
                        pod && pod->meta.controller.name ? pod->meta.controller.name : "");
    refused(create, &taken);
}

/* One that the watch does not select would never be seen to end. */
static void found(struct pod_create *create, struct str raw)
{
    struct job_control *control = create->control;
    struct podstate *pod = podstate_decode(raw, NULL);

    if (!pod || !is_ours(create, pod) || !pod->selected) {
        name_is_taken(create, pod);
    } else if (store_apply(control->controller->pods, raw)) {
        took(create);
        create_settle(create);
    } else {
        lookup_again(create); /* it is known to have gone since */
    }
    podstate_free(pod);
}

static void looked_up(const struct kube_result *result, void *arg)
{
    struct pod_create *create = arg;

    create->lookup = NULL;
    if (result->error.cls == ERROR_NONE)
        found(create, result->body);
    else if (result->error.cls != ERROR_NOT_FOUND)
        lookup_again(create);
    else if (create->why && create->why->outcome == KUBE_IN_DOUBT)
        lost(create, create->why);
    else if (create->why)
        refused(create, create->why);
    else
        create_settle(create);
}

static void create_lookup(void *arg)
{
    struct pod_create *create = arg;
    cleanup_buf struct buf path = BUF_INIT(4096);
    cleanup_buf struct buf name = BUF_INIT(1024);

    create_name(create, &name);
    pod_path(&path, create->control->ns, name.p);
    create->lookup = kube_start(create->control->controller->transport,
                                &(struct kube_call_spec){.method = KUBE_GET,
                                                         .path = buf_str(&path),
                                                         .timeout_ns = CREATE_TIMEOUT,
                                                         .on_done = looked_up,
                                                         .arg = create});
}

/* ---- creating ---------------------------------------------------------------------------------
 */

/* What a task's pods look like, with what plugins and volumes add. */
static struct pod_template *compile(const struct job *job, uint32_t task)
{
    struct pod_edit edit;

    pod_edit_init(&edit);
    plugins_edit(job, task, &edit);
    volumes_edit(job, &edit);
    struct pod_template *compiled = pod_template_new(job, task, &edit);
    pod_edit_clear(&edit);
    return compiled;
}

static bool create_render(struct buf *path, struct buf *body, void *arg)
{
    struct pod_create *create = arg;
    struct job_control *control = create->control;
    struct task_control *task;

    if (!control->job || control->job->meta.deleted_ns ||
        !job_control_slot(control, create->task, (int32_t)create->index, &task))
        return false;
    if (!task->compiled)
        task->compiled = compile(control->job, (uint32_t)(task - control->tasks));
    create->version = control->job->status.version;
    pod_path(path, control->ns, NULL);
    pod_template_render(task->compiled, create->index, create->version,
                        control->job->status.retry_count, body);
    return true;
}

static void created(const struct kube_result *result, void *arg)
{
    struct pod_create *create = arg;
    struct job_control *control = create->control;

    create->request = NULL;
    if (result->error.cls == ERROR_NONE) {
        const struct podstate *pod;
        took(create);
        pod = store_apply(control->controller->pods, result->body);
        if (pod && control->job)
            job_metrics_pod_made(control->controller,
                                 pod->meta.created_ns - control->job->meta.created_ns);
        create_settle(create);
    } else if (result->error.cls == ERROR_CANCELLED && result->outcome == KUBE_NOT_SENT) {
        create_settle(create);
    } else if (result->outcome == KUBE_IN_DOUBT || result->error.cls == ERROR_EXISTS ||
               result->status >= 500) {
        if (result->error.cls != ERROR_EXISTS) {
            create->why = xnew(struct kube_result);
            *create->why = *result;
            create->why->body = STR_NULL;
        }
        create_lookup(create);
    } else if (result->error.cls == ERROR_CONFLICT) {
        lost(create, result);
    } else {
        refused(create, result);
    }
}

void pods_create(struct job_control *control, const char *task, uint32_t index)
{
    struct controller *controller = control->controller;
    struct pod_create *create = xnew(struct pod_create);
    cleanup_buf struct buf name = BUF_INIT(1024);

    create->control = control;
    create->task = intern_ref(task);
    create->index = index;
    create->probe = control->probing;
    loop_timer_init(&create->retry, create_lookup, create);
    backoff_init(&create->backoff, NSEC_PER_SEC / 5, 30 * NSEC_PER_SEC);
    list_append(&control->creates, &create->link);
    control->create_count++;
    create_name(create, &name);
    store_request_begin(controller->pods, str_of(control->ns), buf_str(&name));
    job_control_set_create(control, task, index, create);
    create->request = window_submit(
        controller->window, &(struct window_spec){
                                .cls = WINDOW_CREATE,
                                .gate = job_gate(control),
                                .flow = &control->flow,
                                .method = KUBE_POST,
                                .render = create_render,
                                .done = created,
                                .arg = create,
                                .patience_s = job_patience(control->create_backoff.failures),
                            });
}

void pods_cancel_creates(struct job_control *control)
{
    list_each(link, &control->creates) create_withdraw(container_of(link, struct pod_create, link));
}

void pods_reattach(struct job_control *control)
{
    list_each(link, &control->creates)
    {
        struct pod_create *create = container_of(link, struct pod_create, link);
        if (job_control_slot(control, create->task, (int32_t)create->index, NULL))
            job_control_set_create(control, create->task, create->index, create);
        else
            create_withdraw(create);
    }
}
