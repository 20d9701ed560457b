/*
 * What a pod asks for, while it is read: containers in order, what their statuses say of resizes
 * under way, overhead and pod-level requests; and the sum, by the rules of Kubernetes.
 */
#ifndef PUMICE_API_POD_DEMAND_H
#define PUMICE_API_POD_DEMAND_H

#include "api/hostports.h"
#include "api/resources.h"
#include "base/vec.h"

enum container_kind {
    CONTAINER_MAIN,
    CONTAINER_INIT,
    CONTAINER_SIDECAR /* an init container with restartPolicy: Always */
};

struct container_demand {
    struct str name, image; /* borrowed from the JSON */
    enum container_kind kind;
    struct resource_set requests; /* with limits where a request is absent; zeros are kept */
    struct host_ports ports;
};

/* What the kubelet says a container, or the pod, was given. */
struct given_demand {
    struct str name; /* borrowed; of the container */
    struct resource_set actuated, allocated;
    bool present; /* its `resources` are there */
};

struct pod_demand {
    struct str node_selector, affinity, tolerations; /* raw values, empty when absent */
    struct str spread;                               /* topologySpreadConstraints; likewise */
    struct str scoring_type, scoring_weight;         /* annotations, borrowed; likewise */
    VEC(struct container_demand) containers;
    VEC(struct str) volume_images; /* of volumes that are images; borrowed from the JSON */
    VEC(struct given_demand) statuses;
    struct resource_set overhead;
    struct resource_set whole, whole_limits; /* pod-level; zeros are kept */
    struct given_demand whole_given;
    bool infeasible; /* the node cannot carry out the resize that is asked for */
};

void pod_demand_clear(struct pod_demand *demand);
/* Read the values that come next: of the spec ... */
void pod_demand_containers(struct json_reader *reader, struct pod_demand *demand, bool init);
void pod_demand_volumes(struct json_reader *reader, struct pod_demand *demand);
void pod_demand_whole(struct json_reader *reader, struct pod_demand *demand);
/* ... and of the status: an array of container statuses, `resources`, `allocatedResources`. */
void pod_demand_statuses(struct json_reader *reader, struct pod_demand *demand);
void pod_demand_actuated(struct json_reader *reader, struct given_demand *given);
void pod_demand_allocated(struct json_reader *reader, struct given_demand *given);

/*
 * The larger of what the containers and sidecars ask for together and what any init container asks
 * for beside the sidecars before it; pod-level requests in place of that; and the overhead. While a
 * resize is under way, the most of what is asked for, allocated and in use. Owned by the caller.
 */
struct resource_set pod_demand_total(const struct pod_demand *demand);

#endif
