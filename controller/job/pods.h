/*
 * Creating and deleting the pods of a job through the request window.
 *
 * A create whose outcome is unknown is settled by a GET by name and a comparison of owner UID,
 * task, index and version before anything else is tried; AlreadyExists counts as success only
 * after the same comparison. Refusals (quota, 403, 5xx) make the job wait with back-off, and so do
 * creates that are cut off without effect time and again; a refusal that can never heal (422) dooms
 * it. Deletes carry the pod's UID; refused ones make the others of the job wait, too. Loop thread
 * only.
 */
#ifndef PUMICE_CONTROLLER_JOB_PODS_H
#define PUMICE_CONTROLLER_JOB_PODS_H

#include "controller/job/control.h"

/* Writes the path of a pod, or (name NULL) of all in the namespace. */
void pod_path(struct buf *path, const char *ns, const char *name);
/* Queues the create of one pod, whose slot is vacant. */
void pods_create(struct job_control *control, const char *task, uint32_t index);
/* Queues creates for vacant slots, at most controller.creation_chunk of a job at a time; see
 * fill.c. */
void pods_create_missing(struct job_control *control);
/* This one was refused: others are created before it is tried again. */
void pods_pass_over(struct job_control *control, const char *task, uint32_t index);
/* This one was not tried after all. */
void pods_put_back(struct job_control *control, const char *task, uint32_t index);
/* Creates are refused no more: what the job said of it is over. */
void pods_clear_trouble(struct job_control *control);
/* Withdraws every create that is not settled. */
void pods_cancel_creates(struct job_control *control);
/* After the slots were laid out anew: creates find their slots or are withdrawn. */
void pods_reattach(struct job_control *control);

/* Deletes one pod unless it is going already. */
void pods_delete(struct job_control *control, struct podstate *pod);
/* Deletes were refused, and the wait is over. */
void pods_try_delete(struct job_control *control);
/* Withdraws every delete that has not been answered. */
void pods_cancel_deletes(struct job_control *control);
/* True for a pod of a known task beyond its replicas. */
bool pod_is_surplus(const struct job_control *control, const struct podstate *pod);
/* Deletes what scaling down left over: pending pods first, then those of the lowest
 * controller.kubernetes.io/pod-deletion-cost, then from the highest index down. */
void pods_delete_surplus(struct job_control *control);

#endif
