/*
 * Job status writes: see status.h.
 */
#include "controller/job/status.h"
#include "api/names.h"
#include "base/intern.h"
#include "base/log.h"
#include "controller/job/alive.h"
#include "controller/job/explain.h"
#include "controller/job/happening.h"
#include "controller/job/metrics.h"

/* So many conflicts in a row are answered within two seconds; after that it takes longer. */
#define CONFLICTS_AT_ONCE 30
/* Of those about a version that we know of no later one than, so many for a look at what is there.
 */
#define READ_EVERY 10

/* Counts are sent this long after the write before: they are to be at most two seconds old. */
#define COUNT_INTERVAL (1750 * NSEC_PER_MSEC)

/* What the status should say now. Borrowed texts. */
struct wanted {
    struct job_decision decision;
    enum job_phase phase; /* the decision's */
    struct job_waits waits;
    struct task_counts sum, *tasks; /* owned, one a task */
    struct explanation why;
    bool over; /* the stored phase is final: what ended stays counted, whatever became of it */
};

static void want(const struct job_control *control, struct wanted *ret_wanted)
{
    const struct job_status *status = &control->job->status;
    struct wanted *wanted = ret_wanted;

    *wanted = (struct wanted){.over = job_phase_finished(status->phase)};
    lifecycle_decide(control, &wanted->decision, &wanted->waits);
    wanted->phase = wanted->decision.phase;
    wanted->tasks = xcalloc(control->task_count + 1, sizeof(*wanted->tasks));
    wanted->sum = lifecycle_count(control, &wanted->decision, wanted->tasks);
    if (wanted->over) {
        wanted->sum.by_phase[POD_PHASE_SUCCEEDED] = status->succeeded;
        wanted->sum.by_phase[POD_PHASE_FAILED] = status->failed;
    }
    explain(control, wanted->phase, &wanted->why);
}

static void wanted_clear(struct wanted *wanted)
{
    free(wanted->tasks);
}
#define cleanup_wanted __attribute__((cleanup(wanted_clear)))

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
           strcmp(status->reason, wanted->why.reason) != 0 ||
           strcmp(status->message, wanted->why.message) != 0;
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
    write_text(w, "reason", wanted->why.reason);
    write_text(w, "message", wanted->why.message);
    json_w_member_str(w, "lastTransitionTime", str_make(text, n));
    json_w_end_object(w);
    if (moved)
        write_conditions(w, &job->status, job_phase_name(wanted->phase), now_ns);
    if (moved && job_phase_finished(wanted->phase)) {
        n = duration_format(text, (now_ns - job->meta.created_ns) / NSEC_PER_SEC * NSEC_PER_SEC);
        json_w_member_str(w, "runningDuration", str_make(text, n));
    }
}

static void write_tasks(struct json_writer *w, const struct job_control *control,
                        const struct task_counts *counts)
{
    json_w_member_object(w, "taskStatusCount");
    for (uint32_t i = 0; i < control->task_count; i++) {
        json_w_member_object(w, control->tasks[i].name);
        json_w_member_object(w, "phase");
        for (int phase = 0; phase < POD_PHASE_COUNT; phase++)
            write_count(w, pod_phase_name((enum pod_phase)phase), counts[i].by_phase[phase]);
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
        write_tasks(w, control, wanted->tasks);
    json_w_end_object(w);
}

/* For when the answer comes: what was decided, and what is to be told. */
static void note_sent(struct job_control *control, const struct wanted *wanted)
{
    struct job_sent *sent = &control->sent;

    sent->decision = wanted->decision;
    sent->decision.command = NULL; /* it may go while the write is under way */
    sent->by_command = wanted->decision.command != NULL;
    sent->from = control->job->status.phase;
    sent->rv = control->job->meta.rv;
    free(take_ptr(sent->event_text));
    sent->event = wanted->why.event;
    if (sent->event && strcmp(control->job->status.message, wanted->why.message) != 0)
        sent->event_text = explain_event_text(control, &wanted->why);
}

/*
 * Each word is about the version that we know: another controller may have said more than we have
 * heard of, and one that gets no answer may yet take effect when another controller has the job, or
 * another job its name (of a custom object's status the API server does not look at the UID).
 */
static bool render(struct buf *path, struct buf *body, void *arg)
{
    struct job_control *control = arg;
    struct json_writer w = json_writer(body);

    if (!control->job || control->job->meta.deleted_ns)
        return false;
    struct wanted wanted cleanup_wanted = {0};
    want(control, &wanted);
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
    json_w_key(&w, STR("resourceVersion"));
    json_w_strf(&w, "%llu", (unsigned long long)control->job->meta.rv);
    json_w_end_object(&w);
    write_status(&w, control, &wanted);
    json_w_end_object(&w);
    note_sent(control, &wanted);
    return true;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static void announce(struct job_control *control)
{
    struct job_sent *sent = &control->sent;

    lifecycle_announce(control, &sent->decision, sent->by_command);
    if (sent->event_text)
        job_event(control, EVENT_WARNING, sent->event, "%s", sent->event_text);
    free(take_ptr(sent->event_text));
    if (control->job && sent->decision.phase != sent->from)
        job_metrics_phase(control, sent->decision.phase);
}

/* The status cannot say it, so an Event does; at the second try, since most are over by then. */
static void refused(struct job_control *control, const struct kube_result *result)
{
    struct single_write *write = &control->status_write;

    if (write->backoff.failures == 1) {
        const char *why = result->error.text;
        log_warn("job %s/%s: status cannot be written: %s", control->ns, control->name, why);
        job_event(control, EVENT_WARNING, "JobStatusError", "Status cannot be written: %s", why);
    }
    single_write_refused(control, write, result);
}

/* Another writer was faster: what is there then is decided upon again, soon. */
static void after_conflict(struct job_control *control)
{
    struct loop *loop = control->controller->loop;

    loop_timer_set(loop, &control->status_write.timer,
                   backoff_next(&control->status_conflicts, loop_rng(loop)));
}

/* A write that leaves the job as we know it would be asked for again and again: the answer cannot
 * be read, or what we write is dropped. */
static void taken(struct job_control *control, const struct kube_result *result)
{
    struct single_write *write = &control->status_write;

    backoff_reset(&control->status_conflicts);
    (void)store_apply(control->controller->jobs, result->body);
    if (control->job && control->job->meta.rv == control->sent.rv) {
        single_write_retry(control, write);
        return;
    }
    backoff_reset(&write->backoff);
    announce(control);
}

static void written(const struct kube_result *result, void *arg)
{
    struct job_control *control = arg;
    struct single_write *write = &control->status_write;

    write->request = NULL;
    if (result->error.cls == ERROR_NONE) {
        taken(control, result);
    } else if (result->error.cls == ERROR_NOT_FOUND) {
        alive_doubt(control); /* news of its end is late, or the kind is gone */
        single_write_refused(control, write, result);
    } else if (result->error.cls == ERROR_CONFLICT &&
               control->status_conflicts.failures < CONFLICTS_AT_ONCE) {
        after_conflict(control);
    } else if (result->error.cls != ERROR_CANCELLED) {
        refused(control, result);
    }
    if (control->job)
        job_control_mark(control);
    else
        job_control_release(control);
}

/* Timeouts of policies, and what there will be to say, are looked at when their time comes. */
static void arm(struct job_control *control, const struct wanted *wanted)
{
    struct loop *loop = control->controller->loop;
    int64_t at_ns = wanted->waits.next_ns;

    if (wanted->why.next_ns && (at_ns == 0 || wanted->why.next_ns < at_ns))
        at_ns = wanted->why.next_ns;
    loop_timer_cancel(loop, &control->due);
    if (at_ns)
        loop_timer_set(loop, &control->due, at_ns - loop_wall(loop));
}

static void submit(struct job_control *control)
{
    struct controller *controller = control->controller;

    loop_timer_cancel(controller->loop, &control->status_write.timer);
    control->status_written_ns = loop_now(controller->loop);
    control->status_write.request = window_submit(
        controller->window,
        &(struct window_spec){.cls = WINDOW_STATUS,
                              .gate = job_gate(control),
                              .method = KUBE_PATCH,
                              .content = KUBE_MERGE_PATCH,
                              .render = render,
                              .done = written,
                              .arg = control,
                              .patience_s = job_patience(control->status_write.backoff.failures)});
}

/* Whether the job is to be read after a conflict: where there has been no news of it since, which
 * may be late for as long as it takes to find out that a watch is dead. The first time and then
 * seldom, for it may also be one that cannot be read. */
static bool is_to_be_read(const struct job_control *control)
{
    const unsigned conflicts = control->status_conflicts.failures;
    return (conflicts == 1 || (conflicts > 0 && conflicts % READ_EVERY == 0)) &&
           control->job->meta.rv == control->sent.rv && !alive_asking(control);
}

/* True when it may be written at once. */
static bool may_submit(struct job_control *control)
{
    if (is_to_be_read(control))
        alive_take_over(control);
    return alive_checked(control);
}

/* True while an earlier try has to be waited for. */
static bool backing_off(const struct job_control *control)
{
    const struct single_write *write = &control->status_write;

    return loop_timer_active(&write->timer) &&
           (write->backoff.failures > 0 || control->status_conflicts.failures > 0);
}

bool status_sync(struct job_control *control)
{
    struct controller *controller = control->controller;
    struct single_write *write = &control->status_write;
    struct wanted wanted cleanup_wanted = {0};

    happening_date(control);
    want(control, &wanted);
    arm(control, &wanted);
    lifecycle_tell_waits(control, &wanted.waits);
    const bool at_once = phase_differs(control->job, &wanted);
    const bool settled = wanted.decision.action == JOB_ACTION_NONE;
    if (write->request || backing_off(control) || (loop_timer_active(&write->timer) && !at_once))
        return settled;
    if (!at_once && !rest_differs(control, &wanted))
        return settled;
    const int64_t age_ns = loop_now(controller->loop) - control->status_written_ns;
    if (!at_once && age_ns < COUNT_INTERVAL)
        loop_timer_set(controller->loop, &write->timer, COUNT_INTERVAL - age_ns);
    else if (may_submit(control))
        submit(control);
    return settled;
}
