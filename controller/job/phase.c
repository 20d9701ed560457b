/*
 * Evaluation of job phases: see phase.h. The order of the checks is part of the API's behaviour.
 */
#include "controller/job/phase.h"

struct task_counts job_count_all(const struct job *job, const struct task_counts *counts)
{
    struct task_counts sum = {0};

    for (uint32_t i = 0; i < job->task_count; i++) {
        for (int phase = 0; phase < POD_PHASE_COUNT; phase++)
            sum.by_phase[phase] += counts[i].by_phase[phase];
        sum.terminating += counts[i].terminating;
        sum.ready += counts[i].ready;
    }
    return sum;
}

/* True when a task with an explicit minimum ended with fewer successes. */
static bool task_fell_short(const struct job *job, const struct task_counts *counts)
{
    int64_t minimums = 0;

    for (uint32_t i = 0; i < job->task_count; i++)
        minimums += job_task_minimum(&job->tasks[i]);
    if (job->min_available < minimums)
        return false;
    for (uint32_t i = 0; i < job->task_count; i++) {
        const struct job_task *task = &job->tasks[i];
        if (task->has_min_available &&
            counts[i].by_phase[POD_PHASE_SUCCEEDED] < task->min_available)
            return true;
    }
    return false;
}

static enum job_phase ended_phase(const struct job *job, const struct task_counts *counts,
                                  int32_t succeeded)
{
    if (task_fell_short(job, counts))
        return JOB_FAILED;
    if (job->min_success > 0 && succeeded < job->min_success)
        return JOB_FAILED;
    return succeeded >= job->min_available ? JOB_COMPLETED : JOB_FAILED;
}

static enum job_phase after_running(const struct job *job, const struct task_counts *counts)
{
    struct task_counts sum = job_count_all(job, counts);
    int32_t succeeded = sum.by_phase[POD_PHASE_SUCCEEDED];
    int32_t ended = succeeded + sum.by_phase[POD_PHASE_FAILED];
    int32_t replicas = job_replicas(job);

    if (replicas == 0)
        return JOB_RUNNING;
    if (job->min_success > 0 && succeeded >= job->min_success)
        return JOB_COMPLETED;
    if (ended == replicas)
        return ended_phase(job, counts, succeeded);
    if (sum.by_phase[POD_PHASE_PENDING] > replicas - job->min_available)
        return JOB_PENDING;
    return JOB_RUNNING;
}

static enum job_phase after_pending(const struct job *job, const struct task_counts *counts)
{
    struct task_counts sum = job_count_all(job, counts);
    int32_t started = sum.by_phase[POD_PHASE_RUNNING] + sum.by_phase[POD_PHASE_SUCCEEDED] +
                      sum.by_phase[POD_PHASE_FAILED];

    return job->min_available <= started ? JOB_RUNNING : JOB_PENDING;
}

enum job_phase job_next_phase(const struct job *job, enum job_phase phase,
                              const struct task_counts *counts)
{
    if (phase == JOB_PENDING) {
        /* A job whose pods ended before it was seen Running goes all the way in one step. */
        phase = after_pending(job, counts);
        if (phase == JOB_PENDING)
            return phase;
        enum job_phase next = after_running(job, counts);
        return job_phase_finished(next) ? next : JOB_RUNNING;
    }
    return phase == JOB_RUNNING ? after_running(job, counts) : phase;
}

/* ---- actions ----------------------------------------------------------------------------------
 */

#define RESTARTS(from, retry)                                                                      \
    {from, JOB_ACTION_RESTART_JOB, JOB_RESTARTING, JOB_KILL_ALL, retry},                           \
        {from, JOB_ACTION_RESTART_TASK, JOB_RESTARTING, JOB_KILL_TARGET, retry},                   \
        {from, JOB_ACTION_RESTART_POD, JOB_RESTARTING, JOB_KILL_TARGET, retry},                    \
    {                                                                                              \
        from, JOB_ACTION_RESTART_PARTITION, JOB_RESTARTING, JOB_KILL_TARGET, retry                 \
    }
#define ENDS(from)                                                                                 \
    {from, JOB_ACTION_COMPLETE, JOB_COMPLETING, JOB_KILL_LIVE, false},                             \
    {                                                                                              \
        from, JOB_ACTION_TERMINATE, JOB_TERMINATING, JOB_KILL_LIVE, false                          \
    }
#define ABORTS(from) {from, JOB_ACTION_ABORT, JOB_ABORTING, JOB_KILL_LIVE, false}
#define RESUMES(from) {from, JOB_ACTION_RESUME, JOB_RESTARTING, JOB_KILL_LIVE, false}
#define STARTS_ANEW(from) {from, JOB_ACTION_RESTART_JOB, JOB_RESTARTING, JOB_KILL_ALL, false}

/*
 * A job that is restarting is restarted no more often by what happens meanwhile. An aborted one
 * starts again when its user says so, which costs no retry.
 */
static const struct job_transition transitions[] = {
    RESTARTS(JOB_PENDING, true),
    ENDS(JOB_PENDING),
    ABORTS(JOB_PENDING),
    RESTARTS(JOB_RUNNING, true),
    ENDS(JOB_RUNNING),
    ABORTS(JOB_RUNNING),
    RESTARTS(JOB_RESTARTING, false),
    ENDS(JOB_RESTARTING),
    ABORTS(JOB_RESTARTING),
    RESUMES(JOB_ABORTING),
    STARTS_ANEW(JOB_ABORTING),
    ENDS(JOB_ABORTING),
    RESUMES(JOB_ABORTED),
    STARTS_ANEW(JOB_ABORTED),
    ENDS(JOB_ABORTED),
};

const struct job_transition *job_transition(enum job_phase from, enum job_action action)
{
    for (size_t i = 0; i < ARRAY_SIZE(transitions); i++) {
        if (transitions[i].from == from && transitions[i].action == action)
            return &transitions[i];
    }
    return NULL;
}

int32_t job_max_retry(const struct job *job)
{
    return job->max_retry > 0 ? job->max_retry : 3;
}

bool job_phase_wants_pods(enum job_phase phase)
{
    return phase == JOB_PENDING || phase == JOB_RUNNING || phase == JOB_RESTARTING;
}
