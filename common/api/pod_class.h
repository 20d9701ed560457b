/*
 * What pod.c and pod_class.c share: the way from a pod's demand to its class.
 */
#ifndef PUMICE_API_POD_CLASS_H
#define PUMICE_API_POD_CLASS_H

#include "api/pod.h"
#include "api/pod_demand.h"

/* The class of a demand, with one reference for the caller; NULL when selector, affinity,
 * tolerations or spread cannot be read (`arena` is for that). `meta` is the pod's: its namespace,
 * and its labels where they count. */
struct pod_class *pod_class_get(const struct pod_demand *demand, const struct kube_meta *meta,
                                struct arena *arena);

#endif
