/*
 * What calls of the API server about pods have in common: paths, reading one, patching its status.
 * Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_POD_CALLS_H
#define PUMICE_SCHEDULER_POD_CALLS_H

#include "scheduler/scheduler.h"
#include "json/writer.h"

/* Appends the path of the pod and `suffix`: "", "/binding", "/status". */
void pod_path(struct buf *path, const struct pod *pod, const char *suffix);
/* GETs the pod as it is, outside the window; at most 10 seconds. */
struct kube_call *pod_read(struct scheduler *scheduler, const struct pod *pod,
                           kube_done_fn *on_done, void *arg);
/* Appends path and beginning of a patch of the pod's status, guarded by its UID, up to the members
 * of `status`. What is to follow are these, and the ends of two objects. */
void pod_patch_status(struct buf *path, struct json_writer *writer, const struct pod *pod);

#endif
