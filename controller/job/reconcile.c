/*
 * One reconcile pass of one job: from what is stored to what should be asked for.
 */
#include "controller/job/control.h"
#include "controller/job/group.h"
#include "controller/job/pods.h"
#include "controller/job/status.h"

/* A finished job: what still lives of it goes, its group goes, and nothing is written after. */
static void finish(struct job_control *control)
{
    pods_cancel_creates(control);
    pods_delete_live(control);
    group_delete(control);
}

/* The phases in which pods are wanted. */
static bool wants_pods(enum job_phase phase)
{
    return phase == JOB_PENDING || phase == JOB_RUNNING;
}

void job_reconcile(struct job_control *control)
{
    struct job *job = control->job;

    if (!job) {
        pods_cancel_creates(control);
        job_control_release(control);
        return;
    }
    if (job->meta.deleted_ns) {
        pods_cancel_creates(control);
        return;
    }
    status_sync(control);
    if (job_phase_finished(job->status.phase)) {
        finish(control);
        return;
    }
    if (!wants_pods(job->status.phase))
        return;
    group_sync(control);
    pods_delete_surplus(control);
    if (group_admitted(control) && !control->doomed)
        pods_create_missing(control);
}
