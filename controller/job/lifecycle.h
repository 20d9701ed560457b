/*
 * What a job does next: decided from its objects as they are, so that nothing is lost when a
 * controller ends, and nothing happens twice.
 *
 * The one durable step is the write of the job's status: it carries the new phase, version, retry
 * count and, in controlledResources, which pods a restart is about ("restart": all of an older
 * version; "restart-<task>": indices, of pods made before a retry count), which indices have
 * finished ("finished-<task>") and which Command was obeyed last ("command"). Every deletion
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

/* `counts` holds one item a task. *ret_next_ns: wall time at which a policy's timeout ends, or 0.
 */
void lifecycle_decide(const struct job_control *control, const struct task_counts *counts,
                      struct job_decision *ret_decision, int64_t *ret_next_ns);

/* True when the pod at this place has to go: by a restart, an end, or a version that is over. */
bool lifecycle_must_go(const struct job_control *control, uint32_t task,
                       const struct podstate *pod);
/* The same for a pod that is known by its numbers only and had not ended. */
bool lifecycle_would_go(const struct job_control *control, uint32_t task, uint32_t index,
                        int32_t version, int32_t retry_count);

/* Deletes the pods that have to go. */
void lifecycle_delete_pods(struct job_control *control);

/* Writes controlledResources as a merge patch: what the decision and the pods change of it.
 * Nothing is written when nothing changes; lifecycle_memory_differs tells. */
void lifecycle_write_memory(struct json_writer *w, const struct job_control *control,
                            const struct job_decision *decision);
bool lifecycle_memory_differs(const struct job_control *control,
                              const struct job_decision *decision);

/* Events for a decision that was written; `by_command`: a Command asked for it. */
void lifecycle_announce(struct job_control *control, const struct job_decision *decision,
                        bool by_command);

#endif
