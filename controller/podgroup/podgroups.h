/*
 * struct podgroups: PodGroups for pods that no job of ours made: bare pods and those of
 * ReplicaSets, StatefulSets, DaemonSets, batch Jobs and other operators.
 *
 * A pod without the annotation scheduling.k8s.io/group-name belongs to the PodGroup
 * "podgroup-<UID of its controlling owner, else its own>" of its own namespace. The group is made
 * once, when the first such pod comes, and never changed here, so that what users and webhooks set
 * stays; then each pod gets the annotation. What owners say comes from stores, never from a call.
 * Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_PODGROUP_PODGROUPS_H
#define PUMICE_CONTROLLER_PODGROUP_PODGROUPS_H

#include "kube/store.h"
#include "kube/window.h"

struct podgroups;

/* Of struct barepod, struct podgroup, and struct workload; without the stores of owners nothing is
 * inherited from them. */
struct podgroups_stores {
    struct store *pods, *podgroups;
    struct store *replicasets, *statefulsets, *daemonsets, *jobs;
};

/* All are borrowed and must outlive it. */
struct podgroups *podgroups_new(struct loop *loop, struct window *window,
                                const struct podgroups_stores *stores);
/* Withdraws its requests. NULL is fine. */
void podgroups_free(struct podgroups *podgroups);
/* Nothing is written without leading; what is owed is written when it comes. */
void podgroups_set_leading(struct podgroups *podgroups, bool leading);

#endif
