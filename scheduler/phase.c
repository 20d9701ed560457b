/*
 * Phases of jobs, and statuses as PodGroups show them. See status.h.
 */
#include "api/names.h"
#include "base/intern.h"
#include "scheduler/status.h"

static const char *const phase_names[] = {
    [JOB_PENDING] = PODGROUP_PENDING,     [JOB_INQUEUE] = PODGROUP_INQUEUE,
    [JOB_RUNNING] = PODGROUP_RUNNING,     [JOB_UNKNOWN] = PODGROUP_UNKNOWN,
    [JOB_COMPLETED] = PODGROUP_COMPLETED,
};

const char *podgroup_phase_name(enum job_phase phase)
{
    return phase_names[phase];
}

static enum job_phase phase_of(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(phase_names); i++)
        if (strcmp(text, phase_names[i]) == 0)
            return (enum job_phase)i;
    return JOB_PENDING;
}

void job_status_clear(struct job_status *status)
{
    intern_put(status->reason);
    free(status->message);
    *status = (struct job_status){.condition = ""};
}

/* The one condition that matters: Unschedulable while it is true, else Scheduled. */
static const struct podgroup_condition *condition_of(const struct podgroup *podgroup,
                                                     const char **ret_type)
{
    static const char *const types[] = {PODGROUP_UNSCHEDULABLE, PODGROUP_SCHEDULED};
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        const struct podgroup_condition *condition = podgroup_condition(podgroup, types[i]);
        if (!condition || !condition->status || strcmp(condition->status, "True") != 0)
            continue;
        *ret_type = types[i];
        return condition;
    }
    return NULL;
}

void job_status_read(struct job_status *status, const struct podgroup *podgroup)
{
    job_status_clear(status);
    const struct podgroup_condition *condition = condition_of(podgroup, &status->condition);
    status->phase = phase_of(podgroup->phase);
    status->running = podgroup->running;
    status->succeeded = podgroup->succeeded;
    status->failed = podgroup->failed;
    const struct podgroup_condition *holds = podgroup_condition(podgroup, PODGROUP_HOLDS_NODES);
    if (holds && holds->status && strcmp(holds->status, "True") == 0)
        status->holds_ns = holds->transition_ns;
    if (!condition)
        return;
    status->reason = intern_ref(condition->reason);
    status->message = xstrdup(condition->message ? condition->message : "");
    status->transition_ns = condition->transition_ns;
}

/* Enough pods have a node, have ended there or are leaving it. */
static bool reaches_minimum(const struct sched_job *job)
{
    uint32_t scheduled = job->count[TASK_BOUND] + job->count[TASK_RUNNING] +
                         job->count[TASK_UNKNOWN] + job->count[TASK_SUCCEEDED] +
                         job->count[TASK_FAILED] + job->count[TASK_RELEASING];
    return scheduled > 0 && (int64_t)scheduled >= job->min_member;
}

static bool has_ended(const struct sched_job *job)
{
    uint32_t completed = job->count[TASK_SUCCEEDED] + job->count[TASK_FAILED];
    return completed > 0 && job_live(job) == 0 && job->count[TASK_RELEASING] == 0 &&
           job->count[TASK_UNKNOWN] == 0 && job_waiting(job) == 0;
}

/* Below the minimum: what the phase before makes of it. */
static enum job_phase phase_below(const struct sched_job *job)
{
    bool alive = job_live(job) || job->count[TASK_RELEASING] || job->count[TASK_UNKNOWN];
    switch (job->phase) {
    case JOB_COMPLETED: /* it does not come back for pods that are cleaned up */
        return job_waiting(job) == 0 && !alive ? JOB_COMPLETED : alive ? JOB_INQUEUE : JOB_PENDING;
    case JOB_RUNNING:
    case JOB_UNKNOWN: /* a lost pod is replaced; a job without pods queues again */
        return alive ? JOB_RUNNING : JOB_PENDING;
    case JOB_PENDING: /* a time-out keeps it out, with what it has */
        return alive && !job->wait.timeouts ? JOB_INQUEUE : JOB_PENDING;
    case JOB_INQUEUE:
        break;
    }
    return JOB_INQUEUE;
}

enum job_phase job_next_phase(const struct sched_job *job, bool ready, bool stuck)
{
    if (job->count[TASK_RUNNING] > 0 && !ready && stuck)
        return JOB_UNKNOWN;
    if (reaches_minimum(job))
        return has_ended(job) ? JOB_COMPLETED : JOB_RUNNING;
    return phase_below(job);
}
