/*
 * Evictions: pods that went without having ended and without our doing.
 *
 * A pod that is told to go often ends as Failed, or with exit code 0, before it is gone: what
 * counts is whether it had ended before. Our own deletions follow from the job's status
 * (lifecycle.h), so that they are known as ours after a restart of the controller too.
 *
 * A pod that is Failed because of a disruption (its node is short of memory, or gone) may stay as
 * it is for ever. It is deleted for another to take its place, and once it is gone it was evicted
 * like any other. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_JOB_EVICTION_H
#define PUMICE_CONTROLLER_JOB_EVICTION_H

#include "controller/job/control.h"

/* Looks at a change of a pod, before its slot is changed: one that goes may have been evicted. */
void eviction_watch(struct job_control *control, const struct podstate *old,
                    const struct podstate *now);
/* Forgets those that a restart or an end has answered. */
void evictions_drop_answered(struct job_control *control);
void evictions_clear(struct job_control *control);

/* True when the pod failed for no fault of its own, and is not deleted yet. */
static inline bool pod_was_disrupted(const struct podstate *pod)
{
    return pod->disrupted && pod->phase == POD_PHASE_FAILED && !pod->meta.deleted_ns;
}

/* True while pods of this run are on their way out because others want them to: what happens to
 * the job meanwhile may come of that. Costs a look at every pod. */
bool eviction_under_way(const struct job_control *control);

/* True when the pod has ended, and not because it was deleted. */
bool pod_ended_first(const struct job_control *control, const struct podstate *pod);

#endif
