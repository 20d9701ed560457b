/*
 * What the tests of nodegroup share: what Queues say, nodes of groups, jobs of queues, reasons.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_NODEGROUPS_H
#define PUMICE_TESTS_UNIT_SCHEDULER_NODEGROUPS_H

#include "cluster.h"

#include "api/nodegroups.h"

#define REQUIRED(names) "\"requiredDuringSchedulingIgnoredDuringExecution\":[" names "]"
#define PREFERRED(names) "\"preferredDuringSchedulingIgnoredDuringExecution\":[" names "]"
#define AFFINITY(to, from)                                                                         \
    "\"affinity\":{\"nodeGroupAffinity\":{" to "},\"nodeGroupAntiAffinity\":{" from "}}"
#define ONLY_A AFFINITY(REQUIRED("\"a\""), "")

/* Members of a Queue's annotations: limits of CPU for groups a and b. */
#define LIMITS(json) "\"volcano.sh/nodegroup-resource-limits\":\"" json "\""
#define CPU_OF_A(cpu) LIMITS("{\\\"a\\\":{\\\"cpu\\\":\\\"" cpu "\\\"}}")

#define GANG "actions: \"allocate, backfill\"\ntiers:\n- plugins:\n  - name: gang\n"
#define CONF(rest) GANG "  - name: nodegroup\n" rest
#define ARGUMENTS(text) CONF("    arguments: {" text "}\n")

static inline void add_node_of(struct cluster *c, const char *name, const char *group, int cpu)
{
    cleanup_free char *label =
        group ? xasprintf("\"" KEY_NODEGROUP_NAME "\":\"%s\"", group) : xstrdup("");
    cleanup_free char *allocatable =
        xasprintf("\"cpu\":\"%d\",\"memory\":\"64Gi\",\"pods\":\"110\"", cpu);
    add_node_json(c, name, label, "", allocatable);
}

static inline struct test_group *add_job(struct cluster *c, const char *queue, const char *name,
                                         unsigned pods, const char *cpu)
{
    cleanup_free char *spec = xasprintf("\"minMember\":%u,\"queue\":\"%s\"", pods, queue);
    struct test_group *group = add_group(c, name, spec);
    add_pods(c, name, "w", pods, cpu);
    return group;
}

/* "n0 n1" for the nodes of a job's pods, in the order of the pods; "-" for one without. */
static inline void assert_on(struct cluster *c, const char *group, const char *expected)
{
    cleanup_buf struct buf text = BUF_INIT(4096);
    for (size_t i = 0; i < c->pod_list.n; i++) {
        const struct test_pod *pod = c->pod_list.items[i];
        if (!pod->gone && strcmp(pod->group, group) == 0)
            buf_printf(&text, "%s%s", text.n ? " " : "", pod->node[0] ? pod->node : "-");
    }
    assert_str(buf_str(&text), expected);
}

#define INVALID "node group resource limit annotation invalid"
#define NO_LABEL "node group label not found"
#define NO_AFFINITY "node group affinity not specified"
#define NOT_ALLOWED "node does not satisfy the node group affinity"
#define EXCEEDED "node group resource limit exceeded"

#endif
