/*
 * nodeorder: prefers nodes that stay emptiest (leastrequested) and evenest between CPU and memory
 * (balancedresource), each from 0 to 100 times its weight. The scorers of kube-scheduler that need
 * all nodes at once are not there.
 */
#include "base/alloc.h"
#include "scheduler/plugins/plugins.h"

struct weights {
    int64_t least, balanced;
};

static int open_plugin(struct plugin *plugin, struct error *err)
{
    struct weights weights = {1, 1};
    if (plugin_int(plugin, "leastrequested.weight", &weights.least, err) < 0 ||
        plugin_int(plugin, "balancedresource.weight", &weights.balanced, err) < 0)
        return -1;
    struct weights *state = xnew(struct weights);
    *state = weights;
    plugin->state = state;
    return 0;
}

static void close_plugin(struct plugin *plugin)
{
    free(plugin->state);
}

/* What the node would hold with the pod on it, in millionths of what it has. */
static int64_t fraction(const struct pod_class *cls, const struct sched_node *node, uint32_t id)
{
    int64_t has = resource_vector_get(&node->object->allocatable, id);
    int64_t takes = resource_vector_get(&node->used, id) + resource_set_get(&cls->request, id);
    if (has <= 0 || takes >= has)
        return 1000000;
    return (int64_t)((double)takes * 1e6 / (double)has);
}

static int64_t score(const struct plugin *plugin, const struct pod_class *cls,
                     const struct sched_node *node)
{
    const struct weights *weights = plugin->state;
    int64_t cpu = fraction(cls, node, RESOURCE_CPU);
    int64_t memory = fraction(cls, node, RESOURCE_MEMORY);
    int64_t gap = cpu > memory ? cpu - memory : memory - cpu;
    int64_t least = ((1000000 - cpu) / 10000 + (1000000 - memory) / 10000) / 2;
    int64_t balanced = (1000000 - gap / 2) / 10000;
    return weights->least * least + weights->balanced * balanced;
}

const struct plugin_type plugin_nodeorder = {
    .name = "nodeorder", .open = open_plugin, .close = close_plugin, .score = score};
