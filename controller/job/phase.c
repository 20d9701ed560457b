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
