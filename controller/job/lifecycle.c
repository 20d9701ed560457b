/*
 * Deciding what a job does next: see lifecycle.h.
 */
#include "controller/job/lifecycle.h"
#include "base/intern.h"
#include "controller/job/pods.h"
#include <stdio.h>

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

/* Nothing can have to go: spares looking at every pod. */
static bool all_may_stay(const struct job_control *control)
{
    const struct job_status *status = &control->job->status;

    if (control->restart_version > 0 || status->version > 0 || !job_phase_wants_pods(status->phase))
        return false;
    for (uint32_t i = 0; i < control->task_count; i++) {
        if (control->tasks[i].restart.n > 0)
            return false;
    }
    return true;
}

void lifecycle_delete_pods(struct job_control *control)
{
    if (all_may_stay(control))
        return;
    for (uint32_t i = 0; i < control->task_count; i++) {
        for (uint32_t k = 0; k < control->tasks[i].size; k++) {
            struct podstate *pod = control->tasks[i].slots[k].pod;
            if (pod && lifecycle_must_go(control, i, pod))
                pods_delete(control, pod);
        }
    }
    for (size_t i = 0; i < control->strays.n; i++) {
        struct podstate *pod = control->strays.items[i];
        if (live(pod) && !job_phase_wants_pods(control->job->status.phase))
            pods_delete(control, pod);
    }
}

/* Pods that have to go and are not going yet. */
static int32_t count_to_go(const struct job_control *control)
{
    int32_t count = 0;

    if (all_may_stay(control))
        return 0;
    for (uint32_t i = 0; i < control->task_count; i++) {
        for (uint32_t k = 0; k < control->tasks[i].size; k++) {
            const struct podstate *pod = control->tasks[i].slots[k].pod;
            count += pod && !pod->meta.deleted_ns && lifecycle_must_go(control, i, pod);
        }
    }
    return count;
}

/* ---- looking for what a policy answers to -----------------------------------------------------
 */

struct search {
    const struct job_control *control;
    struct job_decision *decision;
    int64_t now_ns;
    int64_t next_ns; /* the earliest timeout that is not over, 0: none */
};

static const char *event_words(enum job_event event)
{
    static const char *const words[JOB_EVENT_COUNT] = {
        [JOB_EVENT_POD_FAILED] = "failed",
        [JOB_EVENT_POD_EVICTED] = "was evicted",
        [JOB_EVENT_POD_PENDING] = "is pending for too long",
        [JOB_EVENT_UNKNOWN] = "the PodGroup is in phase Unknown",
        [JOB_EVENT_TASK_COMPLETED] = "has completed",
        [JOB_EVENT_TASK_FAILED] = "restarted its containers too often",
    };

    return words[event] ? words[event] : "";
}

static void explain(struct job_decision *decision, const struct job_happening *what)
{
    if (*what->pod)
        (void)snprintf(decision->cause, sizeof(decision->cause), "pod %.100s %s", what->pod,
                       event_words(what->event));
    else if (what->task)
        (void)snprintf(decision->cause, sizeof(decision->cause), "task %.100s %s", what->task->name,
                       event_words(what->event));
    else
        (void)snprintf(decision->cause, sizeof(decision->cause), "%s", event_words(what->event));
}

/* The indices that a targeted action is about; false when there are none. */
static bool find_target(const struct job_control *control, enum job_action action,
                        const struct job_happening *what, struct job_decision *decision)
{
    const struct job_task *task = what->task;

    if (!task || task->replicas <= 0)
        return false;
    decision->task = (uint32_t)(task - control->job->tasks);
    decision->target = (struct range){0, (uint32_t)task->replicas - 1};
    if (action == JOB_ACTION_RESTART_TASK)
        return true;
    if (!*what->pod)
        return false;
    if (action == JOB_ACTION_RESTART_POD) {
        decision->target = (struct range){what->index, what->index};
        return true;
    }
    if (task->partition_size <= 0)
        return false;
    const uint32_t size = (uint32_t)task->partition_size;
    decision->target.first = what->index / size * size;
    decision->target.last = decision->target.first + size - 1;
    return true;
}

/* Takes the action into the decision. False when it does nothing now. */
static bool act(const struct job_control *control, enum job_action action,
                const struct job_happening *what, struct job_decision *decision)
{
    const struct job_transition *transition = job_transition(control->job->status.phase, action);

    if (!transition)
        return false;
    decision->targeted = transition->kill == JOB_KILL_TARGET;
    if (decision->targeted && !find_target(control, action, what, decision))
        return false;
    decision->phase = transition->to;
    decision->action = action;
    decision->kill = transition->kill;
    if (transition->retry)
        decision->retry_count++;
    if (!decision->targeted)
        decision->version++;
    return true;
}

/* True when the search is over. */
static bool consider(struct search *search, const struct job_happening *what)
{
    const struct job_policy *policy = job_policy_for(search->control->job, what);

    if (!policy)
        return false;
    const int64_t due_ns = what->at_ns + policy->timeout_ns;
    if (policy->timeout_ns > 0 && due_ns > search->now_ns) {
        if (search->next_ns == 0 || due_ns < search->next_ns)
            search->next_ns = due_ns;
        return false;
    }
    if (!act(search->control, policy->action, what, search->decision))
        return false;
    explain(search->decision, what);
    return true;
}

static bool look_at_evictions(struct search *search)
{
    const struct job_control *control = search->control;

    for (size_t i = 0; i < control->evictions.n; i++) {
        const struct job_eviction *eviction = &control->evictions.items[i];
        if (eviction->task >= control->task_count ||
            lifecycle_would_go(control, eviction->task, eviction->index, eviction->version,
                               eviction->retry_count))
            continue;
        const struct job_happening what = {.event = JOB_EVENT_POD_EVICTED,
                                           .task = &control->job->tasks[eviction->task],
                                           .pod = eviction->pod,
                                           .index = eviction->index,
                                           .at_ns = eviction->at_ns};
        if (consider(search, &what))
            return true;
    }
    return false;
}

static bool look_at_pod(struct search *search, uint32_t task, const struct podstate *pod)
{
    struct job_happening what = {.task = &search->control->job->tasks[task],
                                 .pod = pod->meta.name,
                                 .index = (uint32_t)pod->index};

    if (pod->meta.deleted_ns || at_least_0(pod->job_version) < search->control->job->status.version)
        return false;
    if (pod->phase == POD_PHASE_FAILED) {
        what.event = JOB_EVENT_POD_FAILED;
        what.at_ns = pod->ended_ns ? pod->ended_ns : pod->meta.created_ns;
        what.exit_codes = pod->exit_codes;
        what.exit_code_count = pod->exit_code_count;
    } else if (pod->phase == POD_PHASE_PENDING) {
        what.event = JOB_EVENT_POD_PENDING;
        what.at_ns = pod->meta.created_ns;
    } else {
        return false;
    }
    return !lifecycle_must_go(search->control, task, pod) && consider(search, &what);
}

static bool worth_looking(const struct job_control *control, uint32_t task)
{
    const struct job *job = control->job;
    const struct task_counts *counts = &control->tasks[task].counts;

    return (counts->by_phase[POD_PHASE_FAILED] > 0 &&
            job_policy_possible(job, &job->tasks[task], JOB_EVENT_POD_FAILED)) ||
           (counts->by_phase[POD_PHASE_PENDING] > 0 &&
            job_policy_possible(job, &job->tasks[task], JOB_EVENT_POD_PENDING));
}

static bool look_at_pods(struct search *search)
{
    const struct job_control *control = search->control;

    for (uint32_t i = 0; i < control->task_count; i++) {
        for (uint32_t k = 0; k < control->tasks[i].size && worth_looking(control, i); k++) {
            const struct podstate *pod = control->tasks[i].slots[k].pod;
            if (pod && look_at_pod(search, i, pod))
                return true;
        }
    }
    return false;
}

/* Facts about a task as a whole, from its pods of this version. */
struct task_facts {
    int64_t restarts, ended_ns;
    bool any_succeeded;
};

static struct task_facts gather(const struct job_control *control, uint32_t task)
{
    struct task_facts facts = {0};

    for (uint32_t k = 0; k < control->tasks[task].size; k++) {
        const struct podstate *pod = control->tasks[task].slots[k].pod;
        if (!pod || pod->meta.deleted_ns || lifecycle_must_go(control, task, pod) ||
            at_least_0(pod->job_version) < control->job->status.version)
            continue;
        if (pod->phase == POD_PHASE_SUCCEEDED) {
            facts.any_succeeded = true;
            if (pod->ended_ns > facts.ended_ns)
                facts.ended_ns = pod->ended_ns;
        } else if (pod->phase != POD_PHASE_FAILED) {
            facts.restarts += pod->restarts;
        }
    }
    return facts;
}

static bool look_at_task(struct search *search, uint32_t index)
{
    const struct job_control *control = search->control;
    const struct job_task *task = &control->job->tasks[index];
    const int32_t *by_phase = control->tasks[index].counts.by_phase;
    const bool failing = job_policy_possible(control->job, task, JOB_EVENT_TASK_FAILED);
    const bool done = task->replicas > 0 && by_phase[POD_PHASE_SUCCEEDED] >= task->replicas &&
                      job_policy_possible(control->job, task, JOB_EVENT_TASK_COMPLETED);

    if (!failing && !done)
        return false;
    const struct task_facts facts = gather(control, index);
    struct job_happening what = {.task = task, .pod = "", .at_ns = facts.ended_ns};
    if (done && facts.any_succeeded) {
        what.event = JOB_EVENT_TASK_COMPLETED;
        return consider(search, &what);
    }
    if (!failing || task->max_retry < 0 || facts.restarts < task->max_retry)
        return false;
    what.event = JOB_EVENT_TASK_FAILED;
    what.at_ns = search->now_ns;
    return consider(search, &what);
}

static bool look_at_group(struct search *search)
{
    const struct podgroup *group = search->control->podgroup;

    if (!group || strcmp(group->phase, "Unknown") != 0)
        return false;
    const struct job_happening what = {
        .event = JOB_EVENT_UNKNOWN, .pod = "", .at_ns = search->now_ns};
    return consider(search, &what);
}

static bool obey_command(struct search *search)
{
    const struct job_control *control = search->control;
    const char *last = kube_pairs_get(&control->job->status.controlled, MEMORY_COMMAND);

    for (size_t i = 0; i < control->commands.n; i++) {
        const struct command *command = control->commands.items[i];
        const struct job_happening nothing = {.event = JOB_EVENT_ANY, .pod = ""};
        if ((last && strcmp(last, command->meta.uid) == 0) ||
            map_has(&control->controller->command_deletes, str_of(command->meta.uid)))
            continue;
        if (!act(control, job_action_of(str_of(command->action)), &nothing, search->decision))
            continue;
        search->decision->command = command;
        (void)snprintf(search->decision->cause, sizeof(search->decision->cause), "Command %.120s",
                       command->meta.name);
        return true;
    }
    return false;
}

static bool find_action(struct search *search)
{
    const struct job_control *control = search->control;

    if (obey_command(search))
        return true;
    if (!job_phase_wants_pods(control->job->status.phase))
        return false;
    if (look_at_evictions(search) || look_at_pods(search))
        return true;
    for (uint32_t i = 0; i < control->task_count; i++) {
        if (look_at_task(search, i))
            return true;
    }
    return look_at_group(search);
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

/* ---- phases without an action -----------------------------------------------------------------
 */

static enum job_phase after_restarting(const struct job_control *control, int32_t terminating)
{
    const struct job *job = control->job;

    if (job->status.retry_count >= job_max_retry(job))
        return JOB_FAILED;
    const int64_t free = (int64_t)job_replicas(job) - terminating - count_to_go(control);
    return free >= job->min_available ? JOB_PENDING : JOB_RESTARTING;
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

static enum job_phase next_phase(const struct job_control *control,
                                 const struct task_counts *counts)
{
    const enum job_phase phase = control->job->status.phase;
    struct task_counts sum = job_count_all(control->job, counts);

    sum.terminating += job_control_stray_terminating(control);
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
    if (decision->phase != JOB_RESTARTING || decision->retry_count < job_max_retry(control->job) ||
        decision->retry_count == control->job->status.retry_count)
        return;
    decision->kill = JOB_KILL_LIVE;
    decision->targeted = false;
}

void lifecycle_decide(const struct job_control *control, const struct task_counts *counts,
                      struct job_decision *ret_decision, int64_t *ret_next_ns)
{
    const struct job_status *status = &control->job->status;
    struct search search = {.control = control,
                            .decision = ret_decision,
                            .now_ns = loop_wall(control->controller->loop)};

    *ret_decision = (struct job_decision){
        .phase = status->phase, .version = status->version, .retry_count = status->retry_count};
    *ret_next_ns = 0;
    if (job_phase_finished(status->phase))
        return;
    if (control->doomed) {
        ret_decision->phase = JOB_FAILED;
    } else if (find_action(&search)) {
        keep_last_run(control, ret_decision);
    } else {
        *ret_next_ns = search.next_ns;
        ret_decision->phase = next_phase(control, counts);
    }
}
