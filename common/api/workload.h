/*
 * struct workload: of a ReplicaSet, StatefulSet, DaemonSet or batch/v1 Job what the PodGroups of
 * its pods take over: identity and the annotations of our API. Immutable; owned by its store.
 */
#ifndef PUMICE_API_WORKLOAD_H
#define PUMICE_API_WORKLOAD_H

#include "kube/store.h"

struct workload {
    struct kube_meta meta; /* annotations of our API only, no labels */
    const char *revision;  /* interned; status.updateRevision of a StatefulSet, "" when absent */
    bool scaled_to_zero;   /* spec.replicas is 0 (Jobs and DaemonSets have none) */
};

extern const struct store_type replicaset_store_type, statefulset_store_type, daemonset_store_type,
    batch_job_store_type;

struct workload *workload_decode(struct str raw, struct error *err);
void workload_free(struct workload *workload);

#endif
