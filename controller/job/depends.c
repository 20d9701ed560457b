/*
 * dependsOn: see depends.h.
 */
#include "controller/job/depends.h"

static const struct task_control *find(const struct job_control *control, const char *name)
{
    for (uint32_t i = 0; i < control->task_count; i++) {
        if (control->tasks[i].name == name)
            return &control->tasks[i];
    }
    return NULL;
}

/* A name that no task has holds nothing back: nothing could ever let go. */
static bool is_ready(const struct job_control *control, const char *name)
{
    const struct task_control *task = find(control, name);

    if (!task)
        return true;
    const int32_t minimum = job_task_minimum(&control->job->tasks[task - control->tasks]);
    return task->counts.ready + task->counts.by_phase[POD_PHASE_SUCCEEDED] >= minimum;
}

/* The task that this one waits for, NULL without. */
static const char *missing(const struct job_control *control, const struct job_task *task)
{
    const char *first = NULL;

    for (uint32_t i = 0; i < task->depends_on.n; i++) {
        const bool ready = is_ready(control, task->depends_on.items[i]);
        if (ready && task->depends_on_any)
            return NULL;
        if (!ready && !first)
            first = task->depends_on.items[i];
    }
    return first;
}

/* Pods of this run are there, under way or finished. */
static bool has_begun(const struct task_control *task)
{
    return task->size - task->vacant > (uint32_t)task->old;
}

void depends_update(struct job_control *control)
{
    for (uint32_t i = 0; i < control->task_count; i++) {
        struct task_control *task = &control->tasks[i];
        const struct job_task *spec = &control->job->tasks[i];
        if (spec->depends_on.n == 0)
            continue;
        task->released = task->released || has_begun(task) || !missing(control, spec);
        if (task->held == !task->released)
            continue;
        task->held = !task->released;
        control->min_resources_known = false;
    }
}

void depends_carry_over(struct job_control *control, const struct task_control *before,
                        uint32_t before_count)
{
    for (uint32_t i = 0; i < control->task_count; i++) {
        for (uint32_t k = 0; k < before_count; k++) {
            if (before[k].name == control->tasks[i].name)
                control->tasks[i].released = before[k].released;
        }
    }
}

static bool group_counts(const struct podgroup *podgroup, const char *task)
{
    for (uint32_t i = 0; i < podgroup->min_task_member_count; i++) {
        if (podgroup->min_task_member[i].task == task)
            return true;
    }
    return false;
}

bool depends_may_start(const struct job_control *control, uint32_t task)
{
    if (control->job->tasks[task].depends_on.n == 0)
        return true;
    return !control->tasks[task].held && control->podgroup &&
           group_counts(control->podgroup, control->tasks[task].name);
}

bool depends_waiting(const struct job_control *control, const char **ret_task,
                     const char **ret_needed)
{
    for (uint32_t i = 0; i < control->task_count; i++) {
        const char *needed =
            control->tasks[i].held ? missing(control, &control->job->tasks[i]) : NULL;
        if (!needed)
            continue;
        *ret_task = control->tasks[i].name;
        *ret_needed = needed;
        return true;
    }
    return false;
}

/*
 * The job's minimum less that of the tasks that wait; but no less than what the others need, where
 * the job's is smaller than the sum, and no more than there are pods of them.
 */
int32_t depends_minimum(const struct job_control *control)
{
    const struct job *job = control->job;
    int64_t waiting = 0, others = 0, replicas = 0;

    for (uint32_t i = 0; i < control->task_count; i++) {
        const struct job_task *task = &job->tasks[i];
        if (control->tasks[i].held) {
            waiting += job_task_minimum(task);
        } else {
            others += job_task_minimum(task);
            replicas += task->replicas;
        }
    }
    if (waiting == 0)
        return job->min_available;
    if (others > job->min_available)
        others = job->min_available;
    int64_t minimum = job->min_available - waiting;
    minimum = minimum < others ? others : minimum;
    return (int32_t)(minimum < replicas ? minimum : replicas);
}
