/*
 * predicates: where a pod may run by Kubernetes' rules: cordoned nodes, nodeSelector and required
 * node affinity, taints. (Room for its resources is looked at whatever the plugins are.)
 */
#include "scheduler/plugins/plugins.h"

/* A pod that tolerates this taint may run on a cordoned node. */
static bool tolerates_cordon(const struct pod_class *cls)
{
    static const struct taint cordon = {"node.kubernetes.io/unschedulable", "", TAINT_NO_SCHEDULE};
    for (uint32_t i = 0; i < cls->tolerations.n; i++)
        if (toleration_covers(&cls->tolerations.items[i], &cordon))
            return true;
    return false;
}

static const char *filter(const struct plugin *plugin, const struct pod_class *cls,
                          const struct node *node)
{
    (void)plugin;
    if (node->unschedulable && !tolerates_cordon(cls))
        return "node(s) were unschedulable";
    if (!node_labels_hold(&node->meta.labels, &cls->node_selector) ||
        !node_selector_matches(&cls->affinity, node->meta.name, &node->meta.labels))
        return "node(s) didn't match Pod's node affinity/selector";
    if (taints_untolerated(&node->taints, &cls->tolerations))
        return "node(s) had untolerated taint(s)";
    return NULL;
}

static const char *const ignored[] = {"predicate.NodeAffinityEnable",
                                      "predicate.NodePortsEnable",
                                      "predicate.TaintTolerationEnable",
                                      "predicate.PodAffinityEnable",
                                      "predicate.NodeVolumeLimitsEnable",
                                      "predicate.VolumeZoneEnable",
                                      "predicate.PodTopologySpreadEnable",
                                      "predicate.VolumeBindingEnable",
                                      "predicate.DynamicResourceAllocationEnable",
                                      "predicate.CacheEnable",
                                      "volumebinding.weight",
                                      "volumebinding.bindTimeoutSeconds",
                                      "volumebinding.shape",
                                      "dynamicresources.filterTimeoutSeconds",
                                      NULL};

const struct plugin_type plugin_predicates = {
    .name = "predicates", .ignored = ignored, .filter = filter};
