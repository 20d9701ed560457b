/*
 * What pod.c and pod_class.c share: the way from a pod's demand to its class.
 */
#ifndef PUMICE_API_POD_CLASS_H
#define PUMICE_API_POD_CLASS_H

#include "api/pod.h"
#include "api/pod_demand.h"

/* The class of a demand, with one reference for the caller; NULL when selector, affinity,
 * tolerations, spread or volumes cannot be read (`arena` is for that). `meta` is the pod's: its
 * namespace, its labels where they count, its name where volumes are its own. */
struct pod_class *pod_class_get(struct pod_demand *demand, const struct kube_meta *meta,
                                struct arena *arena);

#endif
