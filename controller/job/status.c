/*
 * Job status writes: see status.h.
 */
#include "controller/job/status.h"
#include "api/names.h"
#include "base/intern.h"
#include "base/log.h"
#include "controller/job/lifecycle.h"

/* Counts are sent this long after the write before. */
#define COUNT_INTERVAL NSEC_PER_SEC

/* What the status should say now. Borrowed texts. */
struct wanted {
    struct job_decision decision;
    enum job_phase phase; /* the decision's */
    int64_t next_ns;      /* when a policy's timeout ends, wall time; 0: none */
    struct task_counts sum;
    const char *reason, *message;
    bool over; /* the stored phase is final: what ended stays counted, whatever became of it */
};

/* While a job waits, why: what refuses its pods, or what the scheduler says of its group. */
static void explain(const struct job_control *control, struct wanted *wanted)
{
    const struct podgroup_condition *condition = NULL;

    wanted->reason = wanted->message = "";
    if (wanted->over) {
        wanted->reason = control->job->status.reason;
        wanted->message = control->job->status.message;
        return;
    }
    if (control->trouble) {
        wanted->reason = control->trouble_reason;
        wanted->message = control->trouble;
        return;
    }
    if (control->names_held) {
        wanted->reason = "FailedCreate";
        wanted->message = "pods of an earlier job of this name still exist; waiting for them to go";
        return;
    }
    if (wanted->phase != JOB_PENDING || !control->podgroup)
        return;
    condition = podgroup_condition(control->podgroup, PODGROUP_UNSCHEDULABLE);
    if (condition && strcmp(condition->status, "True") == 0) {
        wanted->reason = condition->reason;
        wanted->message = condition->message;
    }
}

static struct wanted want(const struct job_control *control)
{
    struct wanted wanted = {.phase = control->job->status.phase};
    cleanup_free struct task_counts *counts = xcalloc(control->task_count + 1, sizeof(*counts));

    for (uint32_t i = 0; i < control->task_count; i++)
        counts[i] = control->tasks[i].counts;
    wanted.sum = job_count_all(control->job, counts);
    wanted.sum.terminating += job_control_stray_terminating(control);
    wanted.over = job_phase_finished(wanted.phase);
    if (wanted.over) {
        wanted.sum.by_phase[POD_PHASE_SUCCEEDED] = control->job->status.succeeded;
        wanted.sum.by_phase[POD_PHASE_FAILED] = control->job->status.failed;
    }
    lifecycle_decide(control, counts, &wanted.decision, &wanted.next_ns);
    wanted.phase = wanted.decision.phase;
    explain(control, &wanted);
    return wanted;
}

/* A change of phase, or a step of the job's life: written at once. */
static bool phase_differs(const struct job *job, const struct wanted *wanted)
{
    return job->status.fresh || job->status.phase != wanted->phase ||
           job->status.version != wanted->decision.version ||
           job->status.retry_count != wanted->decision.retry_count ||
           wanted->decision.action != JOB_ACTION_NONE;
}

static bool counts_differ(const struct job *job, const struct wanted *wanted)
{
    const struct job_status *status = &job->status;
    const int32_t *by_phase = wanted->sum.by_phase;

    return status->pending != by_phase[POD_PHASE_PENDING] ||
           status->running != by_phase[POD_PHASE_RUNNING] ||
           status->succeeded != by_phase[POD_PHASE_SUCCEEDED] ||
           status->failed != by_phase[POD_PHASE_FAILED] ||
           status->unknown != by_phase[POD_PHASE_UNKNOWN] ||
           status->terminating != wanted->sum.terminating ||
           status->min_available != job->min_available ||
           strcmp(status->reason, wanted->reason) != 0 ||
           strcmp(status->message, wanted->message) != 0;
}

static bool rest_differs(const struct job_control *control, const struct wanted *wanted)
{
    return counts_differ(control->job, wanted) ||
           lifecycle_memory_differs(control, &wanted->decision);
}

/* ---- content ----------------------------------------------------------------------------------
 */

/* Zero is left out of a status; in a merge patch that is null. */
static void write_count(struct json_writer *w, const char *key, int32_t value)
{
    json_w_key(w, str_of(key));
    if (value)
        json_w_i64(w, value);
    else
        json_w_null(w);
}

static void write_text(struct json_writer *w, const char *key, const char *text)
{
    json_w_key(w, str_of(key));
    if (*text)
        json_w_str(w, str_of(text));
    else
        json_w_null(w);
}

static void write_condition(struct json_writer *w, const char *phase, int64_t at_ns)
{
    char text[TIME_TEXT_MAX];
    size_t n = time_format(text, at_ns);

    json_w_object(w);
    json_w_member_str(w, "status", str_of(phase));
    json_w_member_str(w, "lastTransitionTime", str_make(text, n));
    json_w_end_object(w);
}

/* At most one condition for each phase, the latest last. */
static void write_conditions(struct json_writer *w, const struct job_status *status,
                             const char *phase, int64_t now_ns)
{
    json_w_member_array(w, "conditions");
    for (uint32_t i = 0; i < status->condition_count; i++) {
        const struct job_phase_condition *condition = &status->conditions[i];
        if (strcmp(condition->status, phase) != 0)
            write_condition(w, condition->status, condition->transition_ns);
    }
    write_condition(w, phase, now_ns);
    json_w_end_array(w);
}

static void write_state(struct json_writer *w, const struct job *job, const struct wanted *wanted,
                        int64_t now_ns)
{
    char text[TIME_TEXT_MAX];
    bool moved = phase_differs(job, wanted);
    size_t n = time_format(text, moved ? now_ns : job->status.transition_ns);

    json_w_member_object(w, "state");
    json_w_member_str(w, "phase", str_of(job_phase_name(wanted->phase)));
    write_text(w, "reason", wanted->reason);
    write_text(w, "message", wanted->message);
    json_w_member_str(w, "lastTransitionTime", str_make(text, n));
    json_w_end_object(w);
    if (moved)
        write_conditions(w, &job->status, job_phase_name(wanted->phase), now_ns);
    if (moved && job_phase_finished(wanted->phase)) {
        n = duration_format(text, (now_ns - job->meta.created_ns) / NSEC_PER_SEC * NSEC_PER_SEC);
        json_w_member_str(w, "runningDuration", str_make(text, n));
    }
}

static void write_tasks(struct json_writer *w, const struct job_control *control)
{
    json_w_member_object(w, "taskStatusCount");
    for (uint32_t i = 0; i < control->task_count; i++) {
        const struct task_control *task = &control->tasks[i];
        json_w_member_object(w, task->name);
        json_w_member_object(w, "phase");
        for (int phase = 0; phase < POD_PHASE_COUNT; phase++)
            write_count(w, pod_phase_name((enum pod_phase)phase), task->counts.by_phase[phase]);
        json_w_end_object(w);
        json_w_end_object(w);
    }
    json_w_end_object(w);
}

static void write_status(struct json_writer *w, const struct job_control *control,
                         const struct wanted *wanted)
{
    const struct job *job = control->job;

    json_w_member_object(w, "status");
    write_state(w, job, wanted, loop_wall(control->controller->loop));
    write_count(w, "minAvailable", job->min_available);
    write_count(w, "pending", wanted->sum.by_phase[POD_PHASE_PENDING]);
    write_count(w, "running", wanted->sum.by_phase[POD_PHASE_RUNNING]);
    write_count(w, "succeeded", wanted->sum.by_phase[POD_PHASE_SUCCEEDED]);
    write_count(w, "failed", wanted->sum.by_phase[POD_PHASE_FAILED]);
    write_count(w, "unknown", wanted->sum.by_phase[POD_PHASE_UNKNOWN]);
    write_count(w, "terminating", wanted->sum.terminating);
    write_count(w, "version", wanted->decision.version);
    write_count(w, "retryCount", wanted->decision.retry_count);
    lifecycle_write_memory(w, control, &wanted->decision);
    if (!wanted->over)
        write_tasks(w, control);
    json_w_end_object(w);
}

static bool render(struct buf *path, struct buf *body, void *arg)
{
    struct job_control *control = arg;
    struct json_writer w = json_writer(body);

    if (!control->job || control->job->meta.deleted_ns)
        return false;
    struct wanted wanted = want(control);
    if (!phase_differs(control->job, &wanted) && !rest_differs(control, &wanted))
        return false;
    buf_add_cstr(path, "/apis/" BATCH_API_VERSION "/namespaces/");
    kube_escape(path, str_of(control->ns));
    buf_add_cstr(path, "/jobs/");
    kube_escape(path, str_of(control->name));
    buf_add_cstr(path, "/status");
    json_w_object(&w);
    json_w_member_object(&w, "metadata");
    json_w_member_str(&w, "uid", str_of(control->uid));
    json_w_end_object(&w);
    write_status(&w, control, &wanted);
    json_w_end_object(&w);
    control->sent = wanted.decision;
    control->sent.command = NULL; /* it may go while the write is under way */
    control->sent_by_command = wanted.decision.command != NULL;
    return true;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static void written(const struct kube_result *result, void *arg)
{
    struct job_control *control = arg;
    struct single_write *write = &control->status_write;

    write->request = NULL;
    if (result->error.cls == ERROR_NONE) {
        backoff_reset(&write->backoff);
        lifecycle_announce(control, &control->sent, control->sent_by_command);
        (void)store_apply(control->controller->jobs, result->body);
    } else if (result->error.cls != ERROR_CANCELLED && result->error.cls != ERROR_NOT_FOUND) {
        if (write->backoff.failures == 0)
            log_warn("job %s/%s: status cannot be written: %s", control->ns, control->name,
                     result->error.text);
        single_write_retry(control, write);
    }
    if (control->job)
        job_control_mark(control);
    else
        job_control_release(control);
}

/* A policy's timeout is looked at when it ends. */
static void arm(struct job_control *control, int64_t at_ns)
{
    struct loop *loop = control->controller->loop;
    int64_t delay_ns = at_ns - loop_wall(loop);

    loop_timer_cancel(loop, &control->due);
    if (at_ns)
        loop_timer_set(loop, &control->due, delay_ns > 0 ? delay_ns : 0);
}

void status_sync(struct job_control *control)
{
    struct controller *controller = control->controller;
    struct single_write *write = &control->status_write;
    struct wanted wanted = want(control);
    bool at_once = phase_differs(control->job, &wanted);

    arm(control, wanted.next_ns);

    if (write->request || (loop_timer_active(&write->timer) && !at_once))
        return;
    if (!at_once && !rest_differs(control, &wanted))
        return;
    int64_t age = loop_now(controller->loop) - control->status_written_ns;
    if (!at_once && age < COUNT_INTERVAL) {
        loop_timer_set(controller->loop, &write->timer, COUNT_INTERVAL - age);
        return;
    }
    if (write->backoff.failures > 0 && loop_timer_active(&write->timer))
        return;
    loop_timer_cancel(controller->loop, &write->timer);
    control->status_written_ns = loop_now(controller->loop);
    write->request =
        window_submit(controller->window, &(struct window_spec){.cls = WINDOW_STATUS,
                                                                .method = KUBE_PATCH,
                                                                .content = KUBE_MERGE_PATCH,
                                                                .render = render,
                                                                .done = written,
                                                                .arg = control});
}
