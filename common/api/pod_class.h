/*
 * What pod.c and pod_class.c share: a pod's demands while they are read.
 */
#ifndef PUMICE_API_POD_CLASS_H
#define PUMICE_API_POD_CLASS_H

#include "api/pod.h"

/* Slices of the pod's JSON; sums of its containers. */
struct pod_demand {
    struct str node_selector, affinity, tolerations; /* raw values, empty when absent */
    struct resource_set containers;                  /* sum of containers and sidecars */
    struct resource_set sidecars;                    /* of the sidecars read so far */
    struct resource_set init;                        /* largest of the ordinary init containers */
    struct resource_set overhead;
    struct resource_set whole; /* pod-level requests */
};

void pod_demand_clear(struct pod_demand *demand);
/* Read the values that come next. */
void pod_demand_containers(struct json_reader *reader, struct pod_demand *demand);
void pod_demand_init_containers(struct json_reader *reader, struct pod_demand *demand);
void pod_demand_whole(struct json_reader *reader, struct pod_demand *demand);

/* The class of a demand, with one reference for the caller; NULL when selector, affinity or
 * tolerations cannot be read (`arena` is for that). */
struct pod_class *pod_class_get(const struct pod_demand *demand, struct arena *arena);

#endif
