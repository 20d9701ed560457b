/*
 * What a job does next: decided from its objects as they are, so that nothing is lost when a
 * controller ends, and nothing happens twice.
 *
 * The one durable step is the write of the job's status: it carries the new phase, version, retry
 * count and, in controlledResources, which pods a restart is about ("restart": all of an older
 * version; "restart-<task>": indices, of pods made before a retry count), which indices have
 * finished ("finished-<task>"), which Command was obeyed last ("command") and how many restarts
 * cost no retry because evictions caused them ("evicted"). Every deletion
 * follows from that and can be derived again, so that our own deletions are never taken for
 * evictions. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_JOB_LIFECYCLE_H
#define PUMICE_CONTROLLER_JOB_LIFECYCLE_H

#include "controller/job/control.h"
#include "controller/job/policy.h"

#define MEMORY_RESTART "restart"
#define MEMORY_RESTART_TASK "restart-"
#define MEMORY_FINISHED_TASK "finished-"
#define MEMORY_COMMAND "command"
#define MEMORY_EVICTED "evicted"

/* Policies that matched and whose timeout is not over. */
#define JOB_WAITS_MAX 8
struct job_waits {
    int64_t next_ns; /* wall time at which the first of them acts; 0: none waits */
    struct job_wait {
        enum job_action action;
        int64_t timeout_ns;
        int64_t at_ns;      /* when it happened */
    } items[JOB_WAITS_MAX]; /* each pair of action and timeout once */
    uint32_t n;
};

/* What the next write of the status is to say. */
void lifecycle_decide(const struct job_control *control, struct job_decision *ret_decision,
                      struct job_waits *ret_waits);

/*
 * Pods as they count once the decision is written: those that have to go are terminating already.
 * `ret_counts` gets one item a task; the sum has the pods outside the slots as well.
 */
struct task_counts lifecycle_count(const struct job_control *control,
                                   const struct job_decision *decision,
                                   struct task_counts *ret_counts);

/* True when the pod is of a run before `version`. */
bool lifecycle_is_old(const struct podstate *pod, int32_t version);
/* True when the pod at this place has to go: by a restart, an end, or a version that is over. */
bool lifecycle_must_go(const struct job_control *control, uint32_t task,
                       const struct podstate *pod);
/* The same for a pod that is known by its numbers only and had not ended. */
bool lifecycle_would_go(const struct job_control *control, uint32_t task, uint32_t index,
                        int32_t version, int32_t retry_count);

/* How many of the job's restarts count against maxRetry. */
int32_t lifecycle_retries(const struct job_control *control);

/* Deletes the pods that have to go. */
void lifecycle_delete_pods(struct job_control *control);

/* Writes controlledResources as a merge patch: what the decision and the pods change of it.
 * Nothing is written when nothing changes; lifecycle_memory_differs tells. */
void lifecycle_write_memory(struct json_writer *w, const struct job_control *control,
                            const struct job_decision *decision);
bool lifecycle_memory_differs(const struct job_control *control,
                              const struct job_decision *decision);

/* An Event for each delayed action that is new, once. */
void lifecycle_tell_waits(struct job_control *control, const struct job_waits *waits);
/* Events for a decision that was written; `by_command`: a Command asked for it. */
void lifecycle_announce(struct job_control *control, const struct job_decision *decision,
                        bool by_command);

#endif
