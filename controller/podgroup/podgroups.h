/*
 * struct podgroups: PodGroups for pods that no job of ours made: bare pods and those of
 * ReplicaSets, StatefulSets, DaemonSets, batch Jobs and other operators.
 *
 * A pod without the annotation scheduling.k8s.io/group-name belongs to the PodGroup
 * "podgroup-<UID of its controlling owner, else its own>" of its own namespace. The group is made
 * when the first such pod comes; then each pod gets the annotation. The PodGroup of a workload
 * (the four kinds above) follows its annotations and its newest pod in what nobody else has set
 * (see content.h), and is deleted when the workload is scaled to 0 and its pods have gone. What
 * owners say, and which pods there are, comes from stores, never from a call. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_PODGROUP_PODGROUPS_H
#define PUMICE_CONTROLLER_PODGROUP_PODGROUPS_H

#include "controller/shards/map.h"
#include "kube/store.h"
#include "kube/window.h"

struct podgroups;

/* Of struct podgroup and struct workload; NULL stores of owners are done without. */
struct podgroups_stores {
    struct store *podgroups;
    struct store *replicasets, *statefulsets, *daemonsets, *jobs;
};

struct podgroups_rules {
    bool inherit; /* annotations of owners are taken over */
    bool follow;  /* PodGroups of workloads follow them */
    /* Those of the shards of its PodGroups, by namespace and name, that are its business; borrowed.
     * NULL: all are. */
    const shard_set *shards;
    struct window_gate *gates; /* SHARD_COUNT of them, borrowed; NULL: none */
};

/* All are borrowed and must outlive it. */
struct podgroups *podgroups_new(struct loop *loop, struct window *window,
                                const struct podgroups_stores *stores,
                                const struct podgroups_rules *rules);
/* Cares for the pods (struct barepod) in this store, too; it is borrowed. For the start: before
 * the loop runs. */
void podgroups_add_pods(struct podgroups *podgroups, struct store *pods);
/* Withdraws its requests. NULL is fine. */
void podgroups_free(struct podgroups *podgroups);
/* These are its business from now on, or no more. */
void podgroups_adopt(struct podgroups *podgroups, shard_set set);
void podgroups_let_go(struct podgroups *podgroups, shard_set set);
/* Nothing is written without leading; what is owed is written when it comes. */
void podgroups_set_leading(struct podgroups *podgroups, bool leading);

#endif
