/*
 * What happened to a job that a policy or a Command answers to: see happening.h.
 */
#include "controller/job/happening.h"
#include "api/names.h"
#include "controller/job/eviction.h"
#include "controller/job/group.h"
#include <stdio.h>

struct search {
    const struct job_control *control;
    struct job_decision *decision;
    struct job_waits *waits;
    int64_t now_ns;
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
    const bool of_a_task =
        what->event == JOB_EVENT_TASK_COMPLETED || what->event == JOB_EVENT_TASK_FAILED;

    if (*what->pod && !of_a_task)
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

/* While the job restarts, an action has to add to what is restarted already: else it would be taken
 * again and again. */
static bool adds_to_restart(const struct job_control *control, const struct job_happening *what,
                            const struct job_decision *decision)
{
    const struct task_control *task = &control->tasks[decision->task];

    for (uint32_t k = decision->target.first; k <= decision->target.last && k < task->size; k++) {
        const struct podstate *pod = task->slots[k].pod;
        if (pod && pod->retry_count < decision->retry_count &&
            !lifecycle_must_go(control, decision->task, pod))
            return true;
    }
    return what->event == JOB_EVENT_POD_EVICTED && what->retry_count < decision->retry_count;
}

/* Whether what happened is an eviction, or may have come of one. A Command is neither. */
static bool by_eviction(const struct job_control *control, const struct job_happening *what)
{
    return what->event == JOB_EVENT_POD_EVICTED ||
           (what->event != JOB_EVENT_ANY && eviction_under_way(control));
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
    if (decision->targeted && control->job->status.phase == JOB_RESTARTING &&
        !adds_to_restart(control, what, decision))
        return false;
    decision->phase = transition->to;
    decision->action = action;
    decision->kill = transition->kill;
    if (transition->retry) {
        decision->retry_count++;
        decision->spared += by_eviction(control, what);
    }
    if (!decision->targeted)
        decision->version++;
    return true;
}

static void wait_for(struct job_waits *waits, const struct job_policy *policy, int64_t at_ns)
{
    const int64_t due_ns = time_add(at_ns, policy->timeout_ns);

    if (waits->next_ns == 0 || due_ns < waits->next_ns)
        waits->next_ns = due_ns;
    for (uint32_t i = 0; i < waits->n; i++) {
        struct job_wait *wait = &waits->items[i];
        if (wait->action != policy->action || wait->timeout_ns != policy->timeout_ns)
            continue;
        wait->at_ns = at_ns > wait->at_ns ? at_ns : wait->at_ns;
        return;
    }
    if (waits->n < JOB_WAITS_MAX)
        waits->items[waits->n++] = (struct job_wait){policy->action, policy->timeout_ns, at_ns};
}

/* True when the search is over. */
static bool consider(struct search *search, const struct job_happening *what)
{
    const struct job_policy *policy = job_policy_for(search->control->job, what);

    if (!policy)
        return false;
    if (policy->timeout_ns > 0 && time_add(what->at_ns, policy->timeout_ns) > search->now_ns) {
        wait_for(search->waits, policy, what->at_ns);
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
                                           .retry_count = eviction->retry_count,
                                           .at_ns = eviction->at_ns};
        if (consider(search, &what))
            return true;
    }
    return false;
}

/* A pod of this run that is not about to go. */
static bool is_current(const struct job_control *control, uint32_t task, const struct podstate *pod)
{
    return pod && !pod->meta.deleted_ns && !pod_was_disrupted(pod) &&
           !lifecycle_must_go(control, task, pod) &&
           !lifecycle_is_old(pod, control->job->status.version);
}

static int64_t ended_ns(const struct podstate *pod)
{
    return pod->ended_ns ? pod->ended_ns : pod->meta.created_ns;
}

static bool look_at_pod(struct search *search, uint32_t task, const struct podstate *pod)
{
    struct job_happening what = {.task = &search->control->job->tasks[task],
                                 .pod = pod->meta.name,
                                 .index = (uint32_t)pod->index};

    if (!is_current(search->control, task, pod))
        return false;
    if (pod->phase == POD_PHASE_FAILED) {
        what.event = JOB_EVENT_POD_FAILED;
        what.at_ns = ended_ns(pod);
        what.exit_codes = pod->exit_codes;
        what.exit_code_count = pod->exit_code_count;
    } else if (pod->phase == POD_PHASE_PENDING) {
        what.event = JOB_EVENT_POD_PENDING;
        what.at_ns = pod->meta.created_ns;
    } else {
        return false;
    }
    return consider(search, &what);
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

/* How many of the task have succeeded in this run, and the last that did, of those that are there.
 */
static int32_t count_successes(const struct job_control *control, uint32_t index,
                               const struct podstate **ret_last)
{
    const struct task_control *task = &control->tasks[index];
    int32_t count = 0;

    for (uint32_t k = 0; k < task->size; k++) {
        const struct podstate *pod = task->slots[k].pod;
        const bool known = ranges_has(&task->finished, k);
        if (!is_current(control, index, pod)) {
            count += known && (!pod || !lifecycle_must_go(control, index, pod));
        } else if (pod->phase == POD_PHASE_SUCCEEDED) {
            count++;
            if (!*ret_last || ended_ns(pod) >= ended_ns(*ret_last))
                *ret_last = pod;
        }
    }
    return count;
}

/* The pod of the task whose containers were the last to be restarted, or NULL. */
static const struct podstate *last_restarted(const struct job_control *control, uint32_t index)
{
    const struct podstate *last = NULL;

    for (uint32_t k = 0; k < control->tasks[index].size; k++) {
        const struct podstate *pod = control->tasks[index].slots[k].pod;
        if (is_current(control, index, pod) && pod->restarts > 0 &&
            (!last || pod->restarted_ns >= last->restarted_ns))
            last = pod;
    }
    return last;
}

/* What happens to a task happens through one of its pods: actions on pods are about that. */
static bool consider_task(struct search *search, struct job_happening *what,
                          const struct podstate *pod)
{
    if (pod) {
        what->pod = pod->meta.name;
        what->index = (uint32_t)pod->index;
    }
    return consider(search, what);
}

static bool look_at_task(struct search *search, uint32_t index)
{
    const struct job_control *control = search->control;
    const struct job_task *task = &control->job->tasks[index];
    const int32_t succeeded = control->tasks[index].counts.by_phase[POD_PHASE_SUCCEEDED];
    struct job_happening what = {.task = task, .pod = ""};

    if (task->replicas > 0 && succeeded >= task->replicas &&
        job_policy_possible(control->job, task, JOB_EVENT_TASK_COMPLETED)) {
        const struct podstate *last = NULL;
        const bool completed = count_successes(control, index, &last) >= task->replicas;
        what.event = JOB_EVENT_TASK_COMPLETED;
        what.at_ns = last ? ended_ns(last) : 0;
        return completed && last && consider_task(search, &what, last);
    }
    what.event = JOB_EVENT_TASK_FAILED;
    what.at_ns = control->tasks[index].failing_ns;
    return what.at_ns > 0 && consider_task(search, &what, last_restarted(control, index));
}

static bool look_at_group(struct search *search)
{
    const struct job_happening what = {
        .event = JOB_EVENT_UNKNOWN, .pod = "", .at_ns = search->control->group_unknown_ns};

    return what.at_ns > 0 && consider(search, &what);
}

/*
 * One Command after the other, each deleted before the next is obeyed: should the controller end in
 * between, none is obeyed twice.
 */
static const struct command *next_command(const struct job_control *control)
{
    const char *last = kube_pairs_get(&control->job->status.controlled, MEMORY_COMMAND);
    const struct command *next = NULL;

    for (size_t i = control->commands.n; i-- > 0;) {
        const struct command *command = control->commands.items[i];
        if ((last && strcmp(last, command->meta.uid) == 0) ||
            map_has(&control->controller->command_deletes, str_of(command->meta.uid)))
            return NULL;
        if (!command->meta.deleted_ns)
            next = command;
    }
    return next;
}

static bool obey_command(struct search *search)
{
    const struct command *command = next_command(search->control);
    const struct job_happening nothing = {.event = JOB_EVENT_ANY, .pod = ""};

    if (!command ||
        !act(search->control, job_action_of(str_of(command->action)), &nothing, search->decision))
        return false;
    search->decision->command = command;
    (void)snprintf(search->decision->cause, sizeof(search->decision->cause), "Command %.120s",
                   command->meta.name);
    return true;
}

bool happening_find(const struct job_control *control, struct job_decision *decision,
                    struct job_waits *waits)
{
    struct search search = {.control = control,
                            .decision = decision,
                            .waits = waits,
                            .now_ns = loop_wall(control->controller->loop)};

    if (obey_command(&search))
        return true;
    if (!job_phase_wants_pods(control->job->status.phase))
        return false;
    if (look_at_evictions(&search) || look_at_pods(&search))
        return true;
    for (uint32_t i = 0; i < control->task_count; i++) {
        if (look_at_task(&search, i))
            return true;
    }
    return look_at_group(&search);
}

/* ---- since when -------------------------------------------------------------------------------
 */

/* Restarts of the task's containers, and when the latest was; 0 when there are fewer than
 * allowed. */
static int64_t failing_since(const struct job_control *control, uint32_t index)
{
    const struct job_task *task = &control->job->tasks[index];
    int64_t restarts = 0, at_ns = 0;

    if (task->max_retry < 0 || !job_policy_possible(control->job, task, JOB_EVENT_TASK_FAILED))
        return 0;
    for (uint32_t k = 0; k < control->tasks[index].size; k++) {
        const struct podstate *pod = control->tasks[index].slots[k].pod;
        if (!is_current(control, index, pod) || pod->phase == POD_PHASE_SUCCEEDED ||
            pod->phase == POD_PHASE_FAILED)
            continue;
        restarts += pod->restarts;
        at_ns = pod->restarted_ns > at_ns ? pod->restarted_ns : at_ns;
    }
    if (restarts < task->max_retry)
        return 0;
    return at_ns > 0 ? at_ns : loop_wall(control->controller->loop);
}

/* The scheduler's conditions tell when it wrote last. */
static int64_t unknown_since(const struct job_control *control)
{
    const struct podgroup *group = control->podgroup;
    int64_t at_ns = 0;

    if (!group || group_is_old(control) || strcmp(group->phase, PODGROUP_UNKNOWN) != 0)
        return 0;
    for (uint32_t i = 0; i < group->condition_count; i++) {
        const int64_t transition_ns = group->conditions[i].transition_ns;
        at_ns = transition_ns > at_ns ? transition_ns : at_ns;
    }
    return at_ns > 0 ? at_ns : loop_wall(control->controller->loop);
}

/* What goes on is dated from its beginning. */
static void keep_first(int64_t *slot, int64_t since_ns)
{
    if (since_ns == 0 || *slot == 0)
        *slot = since_ns;
}

void happening_date(struct job_control *control)
{
    for (uint32_t i = 0; i < control->task_count; i++)
        keep_first(&control->tasks[i].failing_ns, failing_since(control, i));
    keep_first(&control->group_unknown_ns, unknown_since(control));
}
