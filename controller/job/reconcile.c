/*
 * One reconcile pass of one job: from what is stored to what should be asked for.
 */
#include "controller/job/alive.h"
#include "controller/job/commands.h"
#include "controller/job/control.h"
#include "controller/job/depends.h"
#include "controller/job/explain.h"
#include "controller/job/group.h"
#include "controller/job/lifecycle.h"
#include "controller/job/objects.h"
#include "controller/job/pods.h"
#include "controller/job/status.h"

/* No pods are wanted: what still lives of the job goes, its group goes. */
static void wind_down(struct job_control *control)
{
    pods_cancel_creates(control);
    trouble_clear(control, JOB_TROUBLE_POD);
    trouble_clear(control, JOB_TROUBLE_GROUP);
    lifecycle_delete_pods(control);
    group_delete(control);
    objects_drop(control);
}

/* True when this pass may make things for the job; not while a refusal is waited out. */
static bool would_make(const struct job_control *control)
{
    bool missing = control->create_count > 0;

    if (!control->podgroup)
        return !single_write_busy(&control->group_write);
    if (loop_timer_active(&control->hold))
        return false;
    for (uint32_t i = 0; i < control->task_count && !missing; i++)
        missing = control->tasks[i].vacant > 0;
    return missing;
}

/* Pods are wanted: the group, and the pods once it was let in. While a job restarts as a whole, its
 * old group and pods go first. */
static void keep_up(struct job_control *control, bool settled)
{
    const enum job_phase phase = control->job->status.phase;

    lifecycle_delete_pods(control);
    pods_delete_surplus(control);
    if (group_is_old(control)) {
        pods_cancel_creates(control);
        group_delete(control);
        return;
    }
    if (would_make(control) && !alive_certain(control))
        return;
    group_sync(control);
    const bool complete = objects_sync(control);
    if (complete)
        trouble_clear(control, JOB_TROUBLE_OBJECT);
    if (settled && complete && phase != JOB_RESTARTING && group_admitted(control) &&
        !control->doomed)
        pods_create_missing(control);
}

static void pass(struct job_control *control)
{
    const struct job *job = control->job;

    if (job->meta.deleted_ns) {
        pods_cancel_creates(control);
        return;
    }
    depends_update(control);
    const bool settled = status_sync(control);
    commands_settle(control);
    if (job_phase_wants_pods(job->status.phase))
        keep_up(control, settled);
    else
        wind_down(control);
}

void job_reconcile(struct job_control *control)
{
    if (!control->job) {
        pods_cancel_creates(control);
        alive_cancel(control);
        job_control_release(control);
        return;
    }
    pass(control);
    job_control_passed(control);
    alive_pass_over(control);
}
