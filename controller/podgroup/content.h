/*
 * The PodGroup that is made for a pod of others.
 */
#ifndef PUMICE_CONTROLLER_PODGROUP_CONTENT_H
#define PUMICE_CONTROLLER_PODGROUP_CONTENT_H

#include "api/barepod.h"
#include "api/workload.h"

/* Writes the whole object. `owner` is the workload that controls the pod, NULL when that is not
 * known or of another kind. */
void podgroup_content_write(struct buf *body, const char *name, const struct barepod *pod,
                            const struct workload *owner);

#endif
