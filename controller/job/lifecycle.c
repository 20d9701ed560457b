/*
 * Which pods go, how they count, and which phase follows: see lifecycle.h. What asks for an action
 * is found in happening.c.
 */
#include "controller/job/lifecycle.h"
#include "controller/job/eviction.h"
#include "controller/job/happening.h"
#include "controller/job/pods.h"

static int32_t at_least_0(int32_t value)
{
    return value < 0 ? 0 : value;
}

static bool live(const struct podstate *pod)
{
    return pod->phase != POD_PHASE_SUCCEEDED && pod->phase != POD_PHASE_FAILED;
}

/* ---- which pods go ----------------------------------------------------------------------------
 */

bool lifecycle_is_old(const struct podstate *pod, int32_t version)
{
    return at_least_0(pod->job_version) < version;
}

static bool restart_names(const struct job_control *control, uint32_t task, uint32_t index,
                          int32_t version, int32_t retry_count)
{
    const struct task_control *t = &control->tasks[task];

    return version < control->restart_version ||
           (retry_count < t->restart_retry && ranges_has(&t->restart, index));
}

bool lifecycle_would_go(const struct job_control *control, uint32_t task, uint32_t index,
                        int32_t version, int32_t retry_count)
{
    const struct job_status *status = &control->job->status;

    version = at_least_0(version);
    return restart_names(control, task, index, version, at_least_0(retry_count)) ||
           version < status->version || !job_phase_wants_pods(status->phase);
}

bool lifecycle_must_go(const struct job_control *control, uint32_t task, const struct podstate *pod)
{
    if (live(pod))
        return lifecycle_would_go(control, task, (uint32_t)pod->index, pod->job_version,
                                  pod->retry_count);
    return restart_names(control, task, (uint32_t)pod->index, at_least_0(pod->job_version),
                         at_least_0(pod->retry_count));
}

/* The same once the decision is written. */
static bool will_go(const struct job_control *control, uint32_t task, const struct podstate *pod,
                    const struct job_decision *decision)
{
    const uint32_t index = (uint32_t)pod->index;

    if (lifecycle_must_go(control, task, pod) ||
        (job_phase_wants_pods(decision->phase) ? pod_was_disrupted(pod) : live(pod)))
        return true;
    if (decision->action == JOB_ACTION_NONE)
        return false;
    if (decision->targeted)
        return decision->task == task && decision->target.first <= index &&
               index <= decision->target.last &&
               at_least_0(pod->retry_count) < decision->retry_count;
    return (live(pod) || decision->kill == JOB_KILL_ALL) &&
           lifecycle_is_old(pod, decision->version);
}

/* Nothing can have to go: spares looking at every pod. */
static bool all_may_stay(const struct job_control *control)
{
    if (control->restart_version > 0 || !job_phase_wants_pods(control->job->status.phase))
        return false;
    for (uint32_t i = 0; i < control->task_count; i++) {
        const struct task_control *task = &control->tasks[i];
        if (task->restart.n > 0 || task->old > 0 || task->disrupted > 0)
            return false;
    }
    return true;
}

void lifecycle_delete_pods(struct job_control *control)
{
    const bool goes_on = job_phase_wants_pods(control->job->status.phase);

    if (all_may_stay(control))
        return;
    for (uint32_t i = 0; i < control->task_count; i++) {
        for (uint32_t k = 0; k < control->tasks[i].size; k++) {
            struct podstate *pod = control->tasks[i].slots[k].pod;
            if (pod && (lifecycle_must_go(control, i, pod) || (goes_on && pod_was_disrupted(pod))))
                pods_delete(control, pod);
        }
    }
    for (size_t i = 0; i < control->strays.n; i++) {
        struct podstate *pod = control->strays.items[i];
        if (live(pod) && !goes_on)
            pods_delete(control, pod);
    }
}

/* ---- how they count ---------------------------------------------------------------------------
 */

/* Pods outside the slots: those that go, or are about to. */
static int32_t count_strays(const struct job_control *control, enum job_phase phase)
{
    int32_t count = 0;

    for (size_t i = 0; i < control->strays.n; i++) {
        const struct podstate *pod = control->strays.items[i];
        const bool goes = job_phase_wants_pods(phase) ? pod_is_surplus(control, pod) : live(pod);
        count += goes || pod->meta.deleted_ns;
    }
    return count;
}

static void move_those_that_go(const struct job_control *control, uint32_t task,
                               const struct job_decision *decision, struct task_counts *counts)
{
    for (uint32_t k = 0; k < control->tasks[task].size; k++) {
        const struct podstate *pod = control->tasks[task].slots[k].pod;
        if (!pod || pod->meta.deleted_ns || !will_go(control, task, pod, decision))
            continue;
        counts->by_phase[pod->phase]--;
        counts->terminating++;
    }
}

struct task_counts lifecycle_count(const struct job_control *control,
                                   const struct job_decision *decision,
                                   struct task_counts *ret_counts)
{
    const bool all_stay = all_may_stay(control) && decision->action == JOB_ACTION_NONE &&
                          job_phase_wants_pods(decision->phase);

    for (uint32_t i = 0; i < control->task_count; i++) {
        ret_counts[i] = control->tasks[i].counts;
        if (!all_stay)
            move_those_that_go(control, i, decision, &ret_counts[i]);
    }
    struct task_counts sum = job_count_all(control->job, ret_counts);
    sum.terminating += count_strays(control, decision->phase);
    return sum;
}

/* ---- telling ----------------------------------------------------------------------------------
 */

void lifecycle_announce(struct job_control *control, const struct job_decision *decision,
                        bool by_command)
{
    if (decision->action == JOB_ACTION_NONE)
        return;
    if (by_command)
        job_event(control, EVENT_NORMAL, "CommandIssued", "Start to execute command %s",
                  job_action_name(decision->action));
    job_event(control, EVENT_NORMAL, "ExecuteAction", "Start to execute action %s (%s)",
              job_action_name(decision->action), decision->cause);
}

static bool is_told(struct job_told *told, const struct job_wait *wait)
{
    for (uint32_t i = 0; i < told->n; i++) {
        if (told->items[i].action == wait->action && told->items[i].timeout_ns == wait->timeout_ns)
            return true;
    }
    if (told->n == ARRAY_SIZE(told->items))
        return true;
    told->items[told->n].action = wait->action;
    told->items[told->n++].timeout_ns = wait->timeout_ns;
    return false;
}

/* What happened before this controller knew the job was told by the one before. */
static bool was_seen(const struct job_control *control, const struct job_wait *wait)
{
    const struct loop *loop = control->controller->loop;
    const int64_t known_ns = loop_now(loop) - control->flow.since_ns;

    return wait->at_ns > loop_wall(loop) - known_ns - 2 * NSEC_PER_SEC;
}

void lifecycle_tell_waits(struct job_control *control, const struct job_waits *waits)
{
    const struct job_status *status = &control->job->status;
    struct job_told *told = &control->told;
    char text[TIME_TEXT_MAX];

    if (told->version != status->version || told->retry_count != status->retry_count)
        *told = (struct job_told){.version = status->version, .retry_count = status->retry_count};
    for (uint32_t i = 0; i < waits->n; i++) {
        const struct job_wait *wait = &waits->items[i];
        if (is_told(told, wait) || !was_seen(control, wait))
            continue;
        (void)duration_format(text, wait->timeout_ns);
        job_event(control, EVENT_NORMAL, "ExecuteAction", "Execute action %s after %s",
                  job_action_name(wait->action), text);
    }
}

/* ---- phases without an action -----------------------------------------------------------------
 */

int32_t lifecycle_retries(const struct job_control *control)
{
    return control->job->status.retry_count - control->spared;
}

static enum job_phase after_restarting(const struct job_control *control, int32_t terminating)
{
    const struct job *job = control->job;

    if (lifecycle_retries(control) >= job_max_retry(job))
        return JOB_FAILED;
    return (int64_t)job_replicas(job) - terminating >= job->min_available ? JOB_PENDING
                                                                          : JOB_RESTARTING;
}

static enum job_phase after_ending(enum job_phase phase, const struct task_counts *sum)
{
    if (sum->terminating + sum->by_phase[POD_PHASE_PENDING] + sum->by_phase[POD_PHASE_RUNNING] +
            sum->by_phase[POD_PHASE_UNKNOWN] >
        0)
        return phase;
    switch (phase) {
    case JOB_ABORTING:
        return JOB_ABORTED;
    case JOB_COMPLETING:
        return JOB_COMPLETED;
    default:
        return JOB_TERMINATED;
    }
}

static enum job_phase next_phase(const struct job_control *control)
{
    const enum job_phase phase = control->job->status.phase;
    const struct job_decision nothing = {.phase = phase};
    cleanup_free struct task_counts *counts = xcalloc(control->task_count + 1, sizeof(*counts));
    const struct task_counts sum = lifecycle_count(control, &nothing, counts);

    switch (phase) {
    case JOB_RESTARTING:
        return after_restarting(control, sum.terminating);
    case JOB_ABORTING:
    case JOB_COMPLETING:
    case JOB_TERMINATING:
        return after_ending(phase, &sum);
    default:
        return job_next_phase(control->job, phase, counts);
    }
}

/*
 * The last run allowed leaves its pods where they are, so that their logs can be read: the job is
 * about to be Failed.
 */
static void keep_last_run(const struct job_control *control, struct job_decision *decision)
{
    if (decision->phase != JOB_RESTARTING ||
        decision->retry_count - decision->spared < job_max_retry(control->job) ||
        decision->retry_count == control->job->status.retry_count)
        return;
    decision->kill = JOB_KILL_LIVE;
    decision->targeted = false;
    decision->version = control->job->status.version + 1;
}

void lifecycle_decide(const struct job_control *control, struct job_decision *ret_decision,
                      struct job_waits *ret_waits)
{
    const struct job_status *status = &control->job->status;

    *ret_decision = (struct job_decision){.phase = status->phase,
                                          .version = status->version,
                                          .retry_count = status->retry_count,
                                          .spared = control->spared};
    *ret_waits = (struct job_waits){0};
    if (job_phase_finished(status->phase))
        return;
    if (control->doomed)
        ret_decision->phase = JOB_FAILED;
    else if (happening_find(control, ret_decision, ret_waits))
        keep_last_run(control, ret_decision);
    else
        ret_decision->phase = next_phase(control);
}
