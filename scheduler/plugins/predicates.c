/*
 * predicates: where a pod may run by Kubernetes' rules: cordoned nodes, nodeSelector and required
 * node affinity, taints, host ports, volumes, and where other pods are: affinity, anti-affinity and
 * spread. (Room for its resources is looked at whatever the plugins are.) Each can be switched off
 * by its argument, but for cordoned nodes and volumes that only one pod may use.
 */
#include "base/alloc.h"
#include "base/intern.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/volumes/volumes.h"

struct predicates {
    bool node_affinity, taints, ports, pod_affinity, spread;
    unsigned volume_checks;
    int64_t volume_timeout_ns;
    struct taint cordon; /* that of cordoned nodes */
};

static void read_volumes(struct predicates *predicates, struct arguments *arguments)
{
    static const struct {
        const char *name;
        unsigned check;
    } checks[] = {{"predicate.NodeVolumeLimitsEnable", VOLUMES_LIMITS},
                  {"predicate.VolumeZoneEnable", VOLUMES_ZONE},
                  {"predicate.VolumeBindingEnable", VOLUMES_BINDING}};
    predicates->volume_checks = VOLUMES_RESTRICTIONS;
    for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
        bool enabled = true;
        (void)arguments_bool(arguments, checks[i].name, &enabled);
        predicates->volume_checks |= enabled ? checks[i].check : 0;
    }
    (void)arguments_duration(arguments, "volumebinding.bindTimeoutSeconds",
                             &predicates->volume_timeout_ns);
}

static int open_plugin(struct plugin *plugin, struct error *err)
{
    struct predicates *predicates = xnew(struct predicates);
    struct arguments *arguments = plugin->arguments;
    (void)err;
    *predicates =
        (struct predicates){.node_affinity = true,
                            .taints = true,
                            .ports = true,
                            .pod_affinity = true,
                            .spread = true,
                            .cordon = {intern_get(STR("node.kubernetes.io/unschedulable")),
                                       intern_get(STR("")), TAINT_NO_SCHEDULE}};
    (void)arguments_bool(arguments, "predicate.NodeAffinityEnable", &predicates->node_affinity);
    (void)arguments_bool(arguments, "predicate.TaintTolerationEnable", &predicates->taints);
    (void)arguments_bool(arguments, "predicate.NodePortsEnable", &predicates->ports);
    (void)arguments_bool(arguments, "predicate.PodAffinityEnable", &predicates->pod_affinity);
    (void)arguments_bool(arguments, "predicate.PodTopologySpreadEnable", &predicates->spread);
    read_volumes(predicates, arguments);
    plugin->state = predicates;
    return 0;
}

static void close_plugin(struct plugin *plugin)
{
    struct predicates *predicates = plugin->state;
    intern_put(predicates->cordon.key);
    intern_put(predicates->cordon.value);
    free(predicates);
}

/* A pod that tolerates this taint may run on a cordoned node. */
static bool tolerates_cordon(const struct predicates *predicates, const struct pod_class *cls)
{
    for (uint32_t i = 0; i < cls->tolerations.n; i++)
        if (toleration_covers(&cls->tolerations.items[i], &predicates->cordon))
            return true;
    return false;
}

static const char *filter(const struct plugin *plugin, const struct pod_class *cls,
                          const struct node *node)
{
    const struct predicates *predicates = plugin->state;
    if (node->unschedulable && !tolerates_cordon(predicates, cls))
        return "node(s) were unschedulable";
    if (predicates->node_affinity && !pod_class_selects(cls, node->meta.name, &node->meta.labels))
        return "node(s) didn't match Pod's node affinity/selector";
    if (predicates->taints && taints_untolerated(&node->taints, &cls->tolerations))
        return "node(s) had untolerated taint(s)";
    return NULL;
}

static const char *crowded(const struct plugin *plugin, const struct pod_class *cls,
                           const struct sched_node *node)
{
    const struct predicates *predicates = plugin->state;
    if (predicates->ports && host_ports_conflict(&cls->ports, &node->ports))
        return "node(s) didn't have free ports for the requested pod ports";
    return NULL;
}

static void rules(const struct plugin *plugin, struct node_rules *rules)
{
    const struct predicates *predicates = plugin->state;
    if (!plugin->enabled[POINT_PREDICATE])
        return;
    rules->pod_affinity = rules->pod_affinity || predicates->pod_affinity;
    rules->spread = rules->spread || predicates->spread;
    rules->volume_checks |= predicates->volume_checks;
    rules->volume_timeout_ns = predicates->volume_timeout_ns;
}

/* Which nodes fit is always kept. */
static const char *const ignored[] = {"predicate.DynamicResourceAllocationEnable",
                                      "predicate.CacheEnable",
                                      "volumebinding.weight",
                                      "volumebinding.shape",
                                      "dynamicresources.filterTimeoutSeconds",
                                      NULL};

const struct plugin_type plugin_predicates = {.name = "predicates",
                                              .ignored = ignored,
                                              .open = open_plugin,
                                              .close = close_plugin,
                                              .filter = filter,
                                              .crowded = crowded,
                                              .rules = rules};
