/*
 * nodeorder: how resources are spread over nodes, each part from 0 to 100 points times its weight:
 * nodes that stay emptiest (leastrequested), that become fullest (mostrequested), and whose
 * resources become more even (balancedresource). The scorers of kube-scheduler that need all nodes
 * at once are not there.
 *
 * Points are not rounded. Of nodes that leastrequested finds equally empty, the one with fewer pods
 * is preferred, so that pods without requests spread, too.
 */
#include "base/alloc.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/plugins/score.h"
#include <math.h>

#define GPU "nvidia.com/gpu"
#define BALANCED_MAX 3

struct nodeorder {
    int64_t least, most, balanced;  /* weights */
    uint32_t balance[BALANCED_MAX]; /* CPU and memory first */
};

static int open_plugin(struct plugin *plugin, struct error *err)
{
    struct nodeorder *nodeorder = xnew(struct nodeorder);
    (void)err;
    *nodeorder =
        (struct nodeorder){1, 0, 1, {RESOURCE_CPU, RESOURCE_MEMORY, resource_id(STR(GPU))}};
    (void)arguments_int(plugin->arguments, "leastrequested.weight", &nodeorder->least);
    (void)arguments_int(plugin->arguments, "mostrequested.weight", &nodeorder->most);
    (void)arguments_int(plugin->arguments, "balancedresource.weight", &nodeorder->balanced);
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
 * when it disturbs it. Devices count when the pod asks for them. */
static double balance(const struct nodeorder *nodeorder, const struct pod_class *cls,
                      const struct sched_node *node)
{
    double with[BALANCED_MAX], without[BALANCED_MAX];
    size_t n = 0;
    for (size_t i = 0; i < BALANCED_MAX; i++) {
        uint32_t id = nodeorder->balance[i];
        int64_t asked = resource_set_get(&cls->request, id);
        struct score_load load = score_load_of(cls, node, id);
        if (load.has <= 0 || (i > 1 && !asked))
            continue;
        with[n] = score_fraction(load);
        load.would -= (double)asked;
        without[n++] = score_fraction(load);
    }
    return 0.75 + (unevenness(without, n) - unevenness(with, n)) / 2;
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

static const char *const ignored[] = {"nodeaffinity.weight",      "podaffinity.weight",
                                      "tainttoleration.weight",   "imagelocality.weight",
                                      "podtopologyspread.weight", NULL};

const struct plugin_type plugin_nodeorder = {.name = "nodeorder",
                                             .ignored = ignored,
                                             .open = open_plugin,
                                             .close = close_plugin,
                                             .score = score};
