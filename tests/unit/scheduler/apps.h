/*
 * Pods whose rules are about other pods, and nodes in zones.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_APPS_H
#define PUMICE_TESTS_UNIT_SCHEDULER_APPS_H

#include "cluster.h"

#define CPU(cpu) ",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"" cpu "\"}}}]"
#define OURS "\"labelSelector\":{\"matchLabels\":{\"app\":\"a\"}}"
#define HOST ",\"topologyKey\":\"kubernetes.io/hostname\""
#define ZONE ",\"topologyKey\":\"zone\""
#define APART(where)                                                                               \
    ",\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":["     \
    "{" OURS where "}]}}"
#define NEAR(where)                                                                                \
    ",\"affinity\":{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":["         \
    "{" OURS where "}]}}"
#define SPREAD(where, when)                                                                        \
    ",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"whenUnsatisfiable\":\"" when                 \
    "\"," OURS where "}]"

/* Nodes n0, n1, ... of `cpu` CPUs, in zones z0, z1, z2 by turns. */
static inline void add_zoned_nodes(struct cluster *c, unsigned count, const char *cpu)
{
    for (unsigned i = 0; i < count; i++) {
        cleanup_free char *name = xasprintf("n%u", i);
        cleanup_free char *labels =
            xasprintf("\"kubernetes.io/hostname\":\"n%u\",\"zone\":\"z%u\"", i, i % 3);
        cleanup_free char *allocatable = xasprintf("\"cpu\":\"%s\",\"pods\":\"110\"", cpu);
        add_node_json(c, name, labels, "", allocatable);
    }
}

static inline struct test_group *add_app(struct cluster *c, const char *name, unsigned count,
                                         const char *labels, const char *spec)
{
    cleanup_free char *min = xasprintf("\"minMember\":%u", count);
    struct test_group *group = add_group(c, name, min);
    for (unsigned i = 0; i < count; i++) {
        cleanup_free char *pod = xasprintf("%s-%u", name, i);
        add_pod_labelled(c, pod, name, "w", labels, spec);
    }
    return group;
}

static inline unsigned on_node(const struct cluster *c, const char *name)
{
    const struct sched_node *node = cache_node(&c->scheduler->cache, name);
    return node ? node->tasks : 0;
}

#endif
