/*
 * Pod creates and deletes: see pods.h.
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
#include "controller/job/wire.h"
#include "controller/plugins/plugin.h"

#define CREATE_TIMEOUT (30 * NSEC_PER_SEC)

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
    struct kube_result *why; /* owned; a 5xx, without its body; NULL: none */
};

struct pod_delete {
    struct job_control *control;
    const char *uid, *name; /* interned */
    struct window_request *request;
    struct loop_timer retry;
    struct backoff backoff;
};

static void pod_path(struct buf *path, const char *ns, const char *name)
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
    if (answer->error.cls == ERROR_INVALID)
        control->doomed = true;
    hold(control, name.p, answer);
    create_settle(create);
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
        if (result->status >= 500) {
            create->why = xnew(struct kube_result);
            *create->why = *result;
            create->why->body = STR_NULL;
        }
        create_lookup(create);
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

/* ---- deleting ---------------------------------------------------------------------------------
 */

static bool delete_render(struct buf *path, struct buf *body, void *arg)
{
    struct pod_delete *delete = arg;

    pod_path(path, delete->control->ns, delete->name);
    return write_delete_options(body, delete->uid);
}

/* Without touching the job's map of deletes. */
static void delete_drop(struct pod_delete *delete)
{
    struct job_control *control = delete->control;

    loop_timer_cancel(control->controller->loop, &delete->retry);
    store_request_end(control->controller->pods, str_of(control->ns), str_of(delete->name));
    intern_put(delete->uid);
    intern_put(delete->name);
    free(delete);
}

static void delete_free(struct pod_delete *delete)
{
    struct job_control *control = delete->control;

    map_del(&control->deletes, str_of(delete->uid));
    delete_drop(delete);
    if (control->job)
        job_control_mark(control);
    else
        job_control_release(control);
}

static void deleted(const struct kube_result *result, void *arg);

static void delete_submit(void *arg)
{
    struct pod_delete *delete = arg;
    struct job_control *control = delete->control;

    delete->request =
        window_submit(control->controller->window, &(struct window_spec){.cls = WINDOW_DELETE,
                                                                         .flow = &control->flow,
                                                                         .method = KUBE_DELETE,
                                                                         .render = delete_render,
                                                                         .done = deleted,
                                                                         .arg = delete});
}

/* True when the answer left the pod as we know it: it cannot be read. */
static bool changed_nothing(const struct pod_delete *delete)
{
    const struct job_control *control = delete->control;
    const struct podstate *pod =
        store_get(control->controller->pods, str_of(control->ns), str_of(delete->name));

    return pod && pod->meta.uid == delete->uid && !pod->meta.deleted_ns;
}

static void delete_later(struct pod_delete *delete)
{
    struct loop *loop = delete->control->controller->loop;

    loop_timer_set(loop, &delete->retry, backoff_next(&delete->backoff, loop_rng(loop)));
}

static void deleted(const struct kube_result *result, void *arg)
{
    struct pod_delete *delete = arg;
    struct job_control *control = delete->control;

    delete->request = NULL;
    switch (result->error.cls) {
    case ERROR_NONE:
        store_apply_delete_answer(control->controller->pods, str_of(control->ns),
                                  str_of(delete->name), str_of(delete->uid), result->body);
        if (changed_nothing(delete))
            delete_later(delete);
        else
            delete_free(delete);
        break;
    case ERROR_NOT_FOUND:
    case ERROR_CONFLICT: /* another UID holds the name: ours is gone */
        store_forget(control->controller->pods, str_of(control->ns), str_of(delete->name),
                     str_of(delete->uid));
        delete_free(delete);
        break;
    case ERROR_CANCELLED:
        delete_free(delete);
        break;
    default:
        if (delete->backoff.failures == 0)
            job_event(control, EVENT_WARNING, "FailedDelete", "Error deleting pod %s: %s",
                      delete->name, result->error.text);
        delete_later(delete);
        break;
    }
}

void pods_delete(struct job_control *control, struct podstate *pod)
{
    if (pod->meta.deleted_ns || map_has(&control->deletes, str_of(pod->meta.uid)))
        return;
    struct pod_delete *delete = xnew(struct pod_delete);
    delete->control = control;
    delete->uid = intern_ref(pod->meta.uid);
    delete->name = intern_ref(pod->meta.name);
    loop_timer_init(&delete->retry, delete_submit, delete);
    backoff_init(&delete->backoff, NSEC_PER_SEC / 5, 30 * NSEC_PER_SEC);
    map_set(&control->deletes, str_of(delete->uid), delete);
    map_set(&control->own_deletes, str_of(delete->uid), NULL);
    store_request_begin(control->controller->pods, str_of(control->ns), str_of(delete->name));
    delete_submit(delete);
}

void pods_cancel_deletes(struct job_control *control)
{
    void *value;

    for (size_t i = 0; map_next(&control->deletes, &i, NULL, &value);) {
        struct pod_delete *delete = value;
        if (delete->request)
            (void)window_cancel(control->controller->window, delete->request);
        delete_drop(delete);
    }
    map_clear(&control->deletes);
}

bool pod_is_surplus(const struct job_control *control, const struct podstate *pod)
{
    for (uint32_t i = 0; i < control->task_count; i++) {
        if (control->tasks[i].name == pod->task)
            return pod->index >= 0 && (uint32_t)pod->index >= control->tasks[i].size;
    }
    return false;
}

/* Those that wait go first, then those that cost least, then the highest. */
static int by_loss(const void *a, const void *b)
{
    const struct podstate *left = *(const struct podstate *const *)a;
    const struct podstate *right = *(const struct podstate *const *)b;
    const bool left_waits = left->phase == POD_PHASE_PENDING;
    const bool right_waits = right->phase == POD_PHASE_PENDING;

    if (left_waits != right_waits)
        return left_waits ? -1 : 1;
    if (left->deletion_cost != right->deletion_cost)
        return left->deletion_cost < right->deletion_cost ? -1 : 1;
    return (right->index > left->index) - (right->index < left->index);
}

void pods_delete_surplus(struct job_control *control)
{
    VEC(struct podstate *) surplus = {0};

    for (size_t i = 0; i < control->strays.n; i++) {
        struct podstate *pod = control->strays.items[i];
        if (!pod->meta.deleted_ns && !map_has(&control->deletes, str_of(pod->meta.uid)) &&
            pod_is_surplus(control, pod))
            vec_push(&surplus, pod);
    }
    if (surplus.n > 1)
        qsort(surplus.items, surplus.n, sizeof(*surplus.items), by_loss);
    for (size_t i = 0; i < surplus.n; i++)
        pods_delete(control, surplus.items[i]);
    vec_clear(&surplus);
}
