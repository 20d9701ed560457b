/*
 * binpack: prefers nodes that are fullest already, so that others stay free for what is large.
 *
 * Of the resources that a pod asks for and that have a weight, the parts of the node that would be
 * used are averaged by weight. CPU and memory have weights; others (devices) have one when
 * "binpack.resources" names them.
 */
#include "base/alloc.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/plugins/score.h"

struct packed {
    uint32_t id;
    double weight;
};

struct binpack {
    double weight; /* of the plugin; 0 switches it off */
    VEC(struct packed) resources;
};

/* A weight below 0 is as good as none. */
static double weight_of(const struct plugin *plugin, const char *argument)
{
    double weight = 1;
    (void)arguments_double(plugin->arguments, argument, &weight);
    return weight < 0 ? 1 : weight;
}

/* Of a resource that is named twice the last mention counts. */
static void pack(struct binpack *binpack, uint32_t id, double weight)
{
    for (size_t i = 0; i < binpack->resources.n; i++)
        if (binpack->resources.items[i].id == id) {
            binpack->resources.items[i].weight = weight;
            return;
        }
    vec_push(&binpack->resources, ((struct packed){id, weight}));
}

static void pack_named(const struct plugin *plugin, struct binpack *binpack)
{
    const char *list = "";
    struct str rest, name;
    (void)arguments_str(plugin->arguments, "binpack.resources", &list);
    for (rest = str_of(list); str_split(&rest, ',', &name);) {
        name = str_trim(name);
        if (str_empty(name))
            continue;
        cleanup_free char *argument = xasprintf("binpack.resources.%.*s", STR_ARG(name));
        pack(binpack, resource_id(name), weight_of(plugin, argument));
    }
}

static int open_plugin(struct plugin *plugin, struct error *err)
{
    struct binpack *binpack = xnew(struct binpack);
    (void)err;
    binpack->weight = weight_of(plugin, "binpack.weight");
    pack(binpack, RESOURCE_CPU, weight_of(plugin, "binpack.cpu"));
    pack(binpack, RESOURCE_MEMORY, weight_of(plugin, "binpack.memory"));
    pack_named(plugin, binpack);
    plugin->state = binpack;
    return 0;
}

static void close_plugin(struct plugin *plugin)
{
    struct binpack *binpack = plugin->state;
    vec_clear(&binpack->resources);
    free(binpack);
}

/* A resource that the node does not have counts as empty; a node that is too small gets nothing. */
static int64_t score(const struct plugin *plugin, const struct pod_class *cls,
                     const struct sched_node *node)
{
    const struct binpack *binpack = plugin->state;
    double sum = 0, weights = 0;
    for (size_t i = 0; i < binpack->resources.n; i++) {
        const struct packed *packed = &binpack->resources.items[i];
        if (!resource_set_get(&cls->request, packed->id))
            continue;
        struct score_load load = score_load_of(cls, node, packed->id);
        if (load.would > load.has && load.has > 0)
            return 0;
        weights += packed->weight;
        sum += load.has > 0 ? packed->weight * score_fraction(load) : 0;
    }
    return weights > 0 ? score_of(sum / weights, binpack->weight) : 0;
}

const struct plugin_type plugin_binpack = {
    .name = "binpack", .open = open_plugin, .close = close_plugin, .score = score};
