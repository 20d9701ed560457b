/*
 * Pod deletes, and which pods are surplus: see pods.h.
 *
 * Deletes that are refused (a webhook that is away, or says no) make all of the job wait with
 * back-off; then one is tried, and if that goes through, the others are. Loop thread only.
 */
#include "base/intern.h"
#include "controller/job/alive.h"
#include "controller/job/pods.h"
#include "controller/job/wire.h"

struct pod_delete {
    struct job_control *control;
    const char *uid, *name; /* interned */
    struct window_request *request;
    struct loop_timer retry; /* the delete was taken and changed nothing */
    struct backoff backoff;
};

/* ---- one delete -------------------------------------------------------------------------------
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
                                                                         .gate = job_gate(control),
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

/* ---- refusals ---------------------------------------------------------------------------------
 */

/* Waits until deletes are refused no more. */
static bool is_parked(const struct pod_delete *delete)
{
    return !delete->request && !loop_timer_active(&delete->retry);
}

static struct pod_delete *first_parked(struct job_control *control)
{
    void *delete;

    for (size_t i = 0; map_next(&control->deletes, &i, NULL, &delete);) {
        if (is_parked(delete))
            return delete;
    }
    return NULL;
}

void pods_try_delete(struct job_control *control)
{
    struct pod_delete *delete = first_parked(control);

    if (delete)
        delete_submit(delete);
    else
        backoff_reset(&control->delete_backoff);
}

/* A delete went through, and not one that was sent before another was refused. */
static void go_on(const struct pod_delete *through)
{
    struct job_control *control = through->control;
    void *delete;

    if (control->delete_backoff.failures == 0 || loop_timer_active(&control->delete_hold))
        return;
    backoff_reset(&control->delete_backoff);
    for (size_t i = 0; map_next(&control->deletes, &i, NULL, &delete);) {
        if (delete != through && is_parked(delete))
            delete_submit(delete);
    }
}

/* This one is tried last. */
static void park(struct pod_delete *refused)
{
    struct job_control *control = refused->control;
    void *value;

    for (size_t i = 0; map_next(&control->deletes, &i, NULL, &value);) {
        struct pod_delete *delete = value;
        if (delete->request &&
            window_cancel_if_waiting(control->controller->window, delete->request))
            delete->request = NULL;
    }
    (void)map_del(&control->deletes, str_of(refused->uid));
    map_set(&control->deletes, str_of(refused->uid), refused);
}

static void refused(struct pod_delete *delete, const struct kube_result *result)
{
    struct job_control *control = delete->control;

    if (control->delete_backoff.failures == 0)
        job_event(control, EVENT_WARNING, "FailedDelete", "Error deleting pod %s: %s", delete->name,
                  result->error.text);
    if (!loop_timer_active(&control->delete_hold))
        loop_timer_set(control->controller->loop, &control->delete_hold,
                       job_retry_delay(control, &control->delete_backoff, result));
    park(delete);
}

/* ---- answers ----------------------------------------------------------------------------------
 */

static void taken(struct pod_delete *delete, const struct kube_result *result)
{
    struct job_control *control = delete->control;

    store_apply_delete_answer(control->controller->pods, str_of(control->ns), str_of(delete->name),
                              str_of(delete->uid), result->body);
    go_on(delete);
    if (changed_nothing(delete))
        delete_later(delete);
    else
        delete_free(delete);
}

static void deleted(const struct kube_result *result, void *arg)
{
    struct pod_delete *delete = arg;
    struct job_control *control = delete->control;

    delete->request = NULL;
    switch (result->error.cls) {
    case ERROR_NONE:
        taken(delete, result);
        break;
    case ERROR_NOT_FOUND:
    case ERROR_CONFLICT: /* another UID holds the name: ours is gone */
        store_forget(control->controller->pods, str_of(control->ns), str_of(delete->name),
                     str_of(delete->uid));
        go_on(delete);
        delete_free(delete);
        break;
    case ERROR_CANCELLED:
        delete_free(delete);
        break;
    default:
        refused(delete, result);
        break;
    }
}

/* ---- deleting ---------------------------------------------------------------------------------
 */

void pods_delete(struct job_control *control, struct podstate *pod)
{
    if (pod->meta.deleted_ns || map_has(&control->deletes, str_of(pod->meta.uid)) ||
        !alive_checked(control))
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
    if (control->delete_backoff.failures == 0)
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
