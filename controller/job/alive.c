/*
 * Whether a job is still there: see alive.h.
 */
#include "controller/job/alive.h"
#include "api/names.h"

#define LOOKUP_TIMEOUT (30 * NSEC_PER_SEC)

static void wake(void *arg)
{
    job_control_mark(arg);
}

void alive_init(struct job_control *control)
{
    loop_timer_init(&control->alive.retry, wake, control);
    backoff_init(&control->alive.backoff, NSEC_PER_SEC / 5, 30 * NSEC_PER_SEC);
}

void alive_doubt(struct job_control *control)
{
    control->alive.doubt = true;
}

static void answered(struct job_control *control)
{
    control->alive.lookup = NULL;
    store_request_end(control->controller->jobs, str_of(control->ns), str_of(control->name));
}

static void ask_again(struct job_control *control)
{
    struct loop *loop = control->controller->loop;

    control->alive.doubt = true;
    loop_timer_set(loop, &control->alive.retry,
                   backoff_next(&control->alive.backoff, loop_rng(loop)));
}

/* The store tells of a deletion, and of another job that has the name. */
static void looked_up(const struct kube_result *result, void *arg)
{
    struct job_control *control = arg;
    struct store *jobs = control->controller->jobs;

    if (result->error.cls == ERROR_NONE) {
        backoff_reset(&control->alive.backoff);
        control->alive.sure = true;
        (void)store_apply(jobs, result->body);
    } else if (result->error.cls == ERROR_NOT_FOUND) {
        store_forget(jobs, str_of(control->ns), str_of(control->name), str_of(control->uid));
    } else {
        ask_again(control);
    }
    answered(control);
    job_control_mark(control);
}

static void ask(struct job_control *control)
{
    cleanup_buf struct buf path = BUF_INIT(4096);

    control->alive.doubt = false;
    store_request_begin(control->controller->jobs, str_of(control->ns), str_of(control->name));
    buf_add_cstr(&path, "/apis/" BATCH_API_VERSION "/namespaces/");
    kube_escape(&path, str_of(control->ns));
    buf_add_cstr(&path, "/jobs/");
    kube_escape(&path, str_of(control->name));
    control->alive.lookup = kube_start(control->controller->transport,
                                       &(struct kube_call_spec){.method = KUBE_GET,
                                                                .path = buf_str(&path),
                                                                .timeout_ns = LOOKUP_TIMEOUT,
                                                                .on_done = looked_up,
                                                                .arg = control});
}

bool alive_asking(const struct job_control *control)
{
    return control->alive.lookup != NULL;
}

bool alive_certain(struct job_control *control)
{
    if (alive_asking(control) || loop_timer_active(&control->alive.retry))
        return false;
    if (!control->alive.doubt || control->alive.sure)
        return true;
    ask(control);
    return false;
}

void alive_take_over(struct job_control *control)
{
    control->alive.unread = true;
    control->alive.doubt = true;
}

bool alive_checked(struct job_control *control)
{
    if (!control->alive.unread)
        return true;
    control->alive.unread = !alive_certain(control);
    return !control->alive.unread;
}

void alive_pass_over(struct job_control *control)
{
    control->alive.sure = false;
}

void alive_cancel(struct job_control *control)
{
    loop_timer_cancel(control->controller->loop, &control->alive.retry);
    if (!control->alive.lookup)
        return;
    kube_cancel(control->controller->transport, control->alive.lookup);
    answered(control);
}
