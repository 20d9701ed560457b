/*
 * nodeorder: which node is best, each part from 0 to 100 points times its weight: nodes that stay
 * emptiest (leastrequested), that become fullest (mostrequested), and whose resources become more
 * even (balancedresource). Of what is set in relation to other nodes (preferred node affinity, pod
 * affinity, spread, taints to be avoided) and of images it only has the weights: fit.h.
 *
 * Points of resources are not rounded. Of nodes that leastrequested finds equally empty, the one
 * with fewer pods is preferred, so that pods without requests spread, too.
 */
#include "base/alloc.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/plugins/score.h"
#include <math.h>

#define GPU "nvidia.com/gpu"
#define BALANCED_MAX 3

struct nodeorder {
    int64_t least, most, balanced; /* weights */
    struct node_rules weights;
    uint32_t balance[BALANCED_MAX]; /* CPU and memory first */
};

static void read_weights(struct arguments *arguments, struct node_rules *weights)
{
    (void)arguments_int(arguments, "tainttoleration.weight", &weights->taints_weight);
    (void)arguments_int(arguments, "nodeaffinity.weight", &weights->node_affinity_weight);
    (void)arguments_int(arguments, "podaffinity.weight", &weights->pod_affinity_weight);
    (void)arguments_int(arguments, "podtopologyspread.weight", &weights->spread_weight);
    (void)arguments_int(arguments, "imagelocality.weight", &weights->images_weight);
}

static int open_plugin(struct plugin *plugin, struct error *err)
{
    struct nodeorder *nodeorder = xnew(struct nodeorder);
    (void)err;
    *nodeorder =
        (struct nodeorder){.least = 1,
                           .balanced = 1,
                           .weights = {.taints_weight = 3,
                                       .node_affinity_weight = 2,
                                       .pod_affinity_weight = 2,
                                       .spread_weight = 2,
                                       .images_weight = 1},
                           .balance = {RESOURCE_CPU, RESOURCE_MEMORY, resource_id(STR(GPU))}};
    (void)arguments_int(plugin->arguments, "leastrequested.weight", &nodeorder->least);
    (void)arguments_int(plugin->arguments, "mostrequested.weight", &nodeorder->most);
    (void)arguments_int(plugin->arguments, "balancedresource.weight", &nodeorder->balanced);
    read_weights(plugin->arguments, &nodeorder->weights);
    plugin->state = nodeorder;
    return 0;
}

static void close_plugin(struct plugin *plugin)
{
    free(plugin->state);
}

/* How unevenly the resources are used: the standard deviation of their parts, 0 to 0.5. */
static double unevenness(const double *parts, size_t n)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += parts[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (parts[i] - mean) * (parts[i] - mean);
    return n ? sqrt(squares / (double)n) : 0;
}

/* 0.75 when the pod leaves the balance of the node as it is, up to 1 when it mends it, down to 0.5
 * when it disturbs it; 0 for a pod that asks for none of them. Devices count when the pod asks for
 * them.
 */
static double balance(const struct nodeorder *nodeorder, const struct pod_class *cls,
                      const struct sched_node *node)
{
    double with[BALANCED_MAX], without[BALANCED_MAX];
    size_t n = 0;
    bool asks = false;
    for (size_t i = 0; i < BALANCED_MAX; i++) {
        uint32_t id = nodeorder->balance[i];
        int64_t asked = resource_set_get(&cls->request, id);
        asks = asks || asked > 0;
        struct score_load load = score_load_of(cls, node, id);
        if (load.has <= 0 || (i > 1 && !asked))
            continue;
        with[n] = score_fraction(load);
        load.would -= (double)asked;
        without[n++] = score_fraction(load);
    }
    return asks ? 0.75 + (unevenness(without, n) - unevenness(with, n)) / 2 : 0;
}

/* How full CPU and memory would be, of what the node has of them. */
static double fullness(const struct pod_class *cls, const struct sched_node *node)
{
    struct score_load cpu = score_load_of(cls, node, RESOURCE_CPU);
    struct score_load memory = score_load_of(cls, node, RESOURCE_MEMORY);
    if (cpu.has <= 0)
        return score_fraction(memory);
    if (memory.has <= 0)
        return score_fraction(cpu);
    return (score_fraction(cpu) + score_fraction(memory)) / 2;
}

static int64_t score(const struct plugin *plugin, const struct pod_class *cls,
                     const struct sched_node *node)
{
    const struct nodeorder *nodeorder = plugin->state;
    double full = fullness(cls, node);
    int64_t sum = score_of(1 - full, (double)nodeorder->least);
    sum += score_of(full, (double)nodeorder->most);
    sum += score_of(balance(nodeorder, cls, node), (double)nodeorder->balanced);
    return sum - (nodeorder->least > 0 ? (int64_t)node->tasks : 0);
}

static void rules(const struct plugin *plugin, struct node_rules *rules)
{
    const struct nodeorder *nodeorder = plugin->state;
    if (!plugin->enabled[POINT_NODE_ORDER])
        return;
    rules->taints_weight += nodeorder->weights.taints_weight;
    rules->node_affinity_weight += nodeorder->weights.node_affinity_weight;
    rules->pod_affinity_weight += nodeorder->weights.pod_affinity_weight;
    rules->spread_weight += nodeorder->weights.spread_weight;
    rules->images_weight += nodeorder->weights.images_weight;
}

const struct plugin_type plugin_nodeorder = {.name = "nodeorder",
                                             .open = open_plugin,
                                             .close = close_plugin,
                                             .score = score,
                                             .rules = rules};
