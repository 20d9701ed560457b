/*
 * Clusters and workloads from a seed: always the same ones.
 *
 * Nodes have one of four shapes, three zones and eight pools; some are tainted, and pods of
 * another scheduler fill a part of each, more of some and less of others. Pods are of 200
 * templates: most may run anywhere that is not tainted, some name a zone or a pool, some tolerate
 * the taint, one in twenty asks for a GPU.
 */
#ifndef PUMICE_BENCH_OFFLINE_GENERATE_H
#define PUMICE_BENCH_OFFLINE_GENERATE_H

#include "rig.h"

#define GENERATE_QUEUES_MAX 64

/* What kind of nodes and pods: ours, or those of kube-scheduler's own benchmark of that name. */
enum generate_kind {
    GENERATE_MIXED,         /* as above */
    GENERATE_BASIC,         /* SchedulingBasic */
    GENERATE_NODE_AFFINITY, /* SchedulingNodeAffinity: a zone of two that all nodes are in */
    GENERATE_DAEMONSET,     /* SchedulingDaemonset: all pods name one node of many */
    GENERATE_UNSCHEDULABLE, /* Unschedulable: some pods are larger than any node */
    GENERATE_NEAR,          /* SchedulingPodAffinity: all pods near one another in one zone */
    GENERATE_APART,         /* SchedulingPodAntiAffinity: no two pods on a node */
    GENERATE_PREFER_NEAR,   /* SchedulingPreferredPodAffinity: on nodes with others, if possible */
    GENERATE_PREFER_APART,  /* SchedulingPreferredPodAntiAffinity: not on these, if possible */
    GENERATE_SPREAD,        /* TopologySpreading: over three zones */
    GENERATE_PREFER_SPREAD, /* PreferredTopologySpreading */
    GENERATE_BLENDED, /* MixedSchedulingBasePod: plain pods beside some of each of the above */
    GENERATE_KIND_COUNT
};

struct generate {
    enum generate_kind kind;
    uint64_t seed;
    unsigned nodes, pods; /* pods that wait */
    unsigned gang;        /* size of gangs; 0: 1, 10, 100 and 1,000 mixed */
    unsigned queues;      /* of weights 1, 2, 3, ...; at least 1 */
    unsigned templates;   /* of pods */
    unsigned filled;      /* percent of the CPUs that pods of others hold already, on average */
    unsigned tainted;     /* percent of the nodes */
};

struct generate_plan;

/* The name of a kind for the command line; the kind of a name, GENERATE_KIND_COUNT for none. */
const char *generate_kind_name(enum generate_kind kind);
enum generate_kind generate_kind_of(struct str name);

/* What will be made; freed by generate_plan_free. Tells the rig of all PodGroups. */
struct generate_plan *generate_plan_new(struct rig *rig, const struct generate *what);
void generate_plan_free(struct generate_plan *plan);
/* Each adds its objects to the stores' lists. */
void generate_nodes(struct rig *rig, struct generate_plan *plan);
void generate_queues(struct rig *rig, struct generate_plan *plan);
void generate_filling(struct rig *rig, struct generate_plan *plan);
void generate_podgroups(struct rig *rig, struct generate_plan *plan);
void generate_pods(struct rig *rig, struct generate_plan *plan);
/* How many PodGroups, pods of others and pods that no node can hold there are. */
size_t generate_group_count(const struct generate_plan *plan);
size_t generate_filling_count(const struct generate_plan *plan);
size_t generate_hopeless_count(const struct generate_plan *plan);

#endif
