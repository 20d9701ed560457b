/*
 * Lifecycle policies: which action answers to what happened. Pure functions.
 *
 * Policies of the task come before those of the job, each list in its order; the first that matches
 * decides. PodPending matches only where a policy has a timeout: every pod is pending for a while.
 */
#ifndef PUMICE_CONTROLLER_JOB_POLICY_H
#define PUMICE_CONTROLLER_JOB_POLICY_H

#include "api/job.h"

/* Something that happened to a job. */
struct job_happening {
    enum job_event event;
    const struct job_task *task; /* NULL: to the job as a whole */
    const char *pod;             /* name, borrowed; "" when it is not about one pod */
    uint32_t index;              /* of the pod, with `task` */
    int32_t retry_count;         /* JOB_EVENT_POD_EVICTED: of the job when the pod was made */
    const int32_t *exit_codes;   /* JOB_EVENT_POD_FAILED: those that are not 0 */
    uint32_t exit_code_count;
    int64_t at_ns; /* wall time */
};

/* The policy that answers, or NULL. */
const struct job_policy *job_policy_for(const struct job *job,
                                        const struct job_happening *happening);
/* True when any policy of the job or the task could answer to the event: spares looking. */
bool job_policy_possible(const struct job *job, const struct job_task *task, enum job_event event);

#endif
