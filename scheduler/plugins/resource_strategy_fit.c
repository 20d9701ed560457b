/*
 * resource-strategy-fit: packs or spreads, as the configuration says of each resource. Beside that:
 * nodes with scarce resources are kept for those who ask for them (sra), and pods that ask for no
 * devices leave enough CPU and memory free for the idle devices of a node (proportional).
 */
#include "base/alloc.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/plugins/score.h"
#include "scheduler/plugins/strategy.h"

struct fit_plugin {
    struct strategy strategy;
    VEC(const struct strategy_rule *) rules; /* borrowed; by resource, NULL: it does not count */
};

static int open_plugin(struct plugin *plugin, struct error *err)
{
    struct fit_plugin *fit = xnew(struct fit_plugin);
    (void)err;
    strategy_read(&fit->strategy, plugin->arguments);
    plugin->state = fit;
    return 0;
}

static void close_plugin(struct plugin *plugin)
{
    struct fit_plugin *fit = plugin->state;
    strategy_clear(&fit->strategy);
    vec_clear(&fit->rules);
    free(fit);
}

static void begin(struct plugin *plugin, const struct cache *cache)
{
    struct fit_plugin *fit = plugin->state;
    for (size_t i = 0; i < fit->strategy.ratios.n; i++)
        fit->strategy.ratios.items[i].used =
            resource_vector_get(&cache->used, fit->strategy.ratios.items[i].id);
}

/* With fewer devices idle, pods that failed for them may fit now. */
static void turn_over(struct plugin *plugin, const struct sched_job *job)
{
    struct fit_plugin *fit = plugin->state;
    for (size_t i = 0; i < fit->strategy.ratios.n; i++) {
        struct strategy_ratio *ratio = &fit->strategy.ratios.items[i];
        int64_t used = resource_vector_get(&job->cache->used, ratio->id);
        if (used > ratio->used)
            cache_room(job->cache);
        ratio->used = used;
    }
}

/* Names are looked at once, when a resource is met for the first time. */
static const struct strategy_rule *rule_of(struct fit_plugin *fit, uint32_t id)
{
    while (fit->rules.n <= id) {
        const char *name = resource_name((uint32_t)fit->rules.n);
        vec_push(&fit->rules, strategy_rule_of(&fit->strategy, name));
    }
    return fit->rules.items[id];
}

/* What counts of one resource, and how much: by the pod itself, else by the configuration. */
static double weight_of(struct fit_plugin *fit, const struct pod_class *cls, uint32_t id,
                        bool *ret_most)
{
    *ret_most = cls->scoring == SCORING_FULLEST;
    if (cls->scoring != SCORING_AS_CONFIGURED)
        return (double)resource_set_get(&cls->scoring_weights, id);
    const struct strategy_rule *rule = rule_of(fit, id);
    *ret_most = rule && rule->most;
    return rule ? rule->weight : 0;
}

/* How good the node is by the strategies of what the pod asks for, 0 to 1. */
static double strategies(struct fit_plugin *fit, const struct pod_class *cls,
                         const struct sched_node *node)
{
    double sum = 0, weights = 0;
    for (uint32_t i = 0; i < cls->request.n; i++) {
        bool most;
        double weight = weight_of(fit, cls, cls->request.items[i].id, &most);
        if (weight <= 0)
            continue;
        struct score_load load = score_load_of(cls, node, cls->request.items[i].id);
        if (load.would > load.has)
            return 0;
        double full = score_fraction(load);
        weights += weight;
        sum += weight * (most ? full : 1 - full);
    }
    return weights > 0 ? sum / weights : 0;
}

/* How little of what is scarce the node has, 0 to 1. */
static double dispensability(const struct strategy *strategy, const struct sched_node *node)
{
    double there = 0, weights = 0;
    for (size_t i = 0; i < strategy->scarce.n; i++) {
        const struct strategy_scarce *scarce = &strategy->scarce.items[i];
        weights += scarce->weight;
        if (resource_vector_get(&node->object->allocatable, scarce->id) > 0)
            there += scarce->weight;
    }
    return weights > 0 ? 1 - there / weights : 0;
}

static int64_t score(const struct plugin *plugin, const struct pod_class *cls,
                     const struct sched_node *node)
{
    struct fit_plugin *fit = plugin->state;
    const struct strategy *strategy = &fit->strategy;
    return score_of(strategies(fit, cls, node), strategy->weight) +
           score_of(dispensability(strategy, node), strategy->scarce_weight);
}

static double left(const struct pod_class *cls, const struct sched_node *node, uint32_t id)
{
    struct score_load load = score_load_of(cls, node, id);
    return load.has - load.would;
}

static const char *crowded(const struct plugin *plugin, const struct pod_class *cls,
                           const struct sched_node *node)
{
    const struct fit_plugin *fit = plugin->state;
    for (size_t i = 0; i < fit->strategy.ratios.n; i++) {
        const struct strategy_ratio *ratio = &fit->strategy.ratios.items[i];
        if (resource_set_get(&cls->request, ratio->id))
            continue;
        double idle = left(cls, node, ratio->id);
        if (idle > 0 && (left(cls, node, RESOURCE_CPU) < idle * ratio->cpu ||
                         left(cls, node, RESOURCE_MEMORY) < idle * ratio->memory))
            return ratio->reason;
    }
    return NULL;
}

const struct plugin_type plugin_resource_strategy_fit = {.name = "resource-strategy-fit",
                                                         .open = open_plugin,
                                                         .close = close_plugin,
                                                         .begin = begin,
                                                         .turn_over = turn_over,
                                                         .crowded = crowded,
                                                         .score = score};
