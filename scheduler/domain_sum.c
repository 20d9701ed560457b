/*
 * Sums over domains. See domain_sum.h.
 */
#include "scheduler/domain_sum.h"

struct domain_sum domain_sum_of(struct cache *cache, const char *key)
{
    return (struct domain_sum){.topology = topology_get(cache, key)};
}

void domain_sum_clear(struct cache *cache, struct domain_sum *sum)
{
    for (size_t i = 0; i < sum->sources.n; i++)
        sum->sources.items[i].counts->readers--;
    topology_put(cache, sum->topology);
    vec_clear(&sum->sources);
    free(sum->seen);
    free(sum->by_domain);
    free(sum->room);
}

void domain_sum_add(struct domain_sum *sum, struct counts *counts, int64_t weight)
{
    counts->readers++;
    vec_push(&sum->sources, ((struct sum_source){counts, weight}));
}

bool domain_sum_counts(const struct domain_sum *sum, const struct counts *counts)
{
    for (size_t i = 0; i < sum->sources.n; i++)
        if (sum->sources.items[i].counts == counts)
            return true;
    return false;
}

static int64_t there_now(const struct domain_sum *sum, uint32_t node)
{
    int64_t now = 0;
    for (size_t i = 0; i < sum->sources.n; i++)
        now += sum->sources.items[i].weight * counts_get(sum->sources.items[i].counts, node);
    return now;
}

static void see_all(struct domain_sum *sum, uint32_t nodes)
{
    sum->seen = xreallocarray(sum->seen, (size_t)nodes + 1, sizeof(*sum->seen));
    memset(sum->seen, 0, nodes * sizeof(*sum->seen));
    sum->looks = nodes;
    for (size_t i = 0; i < sum->sources.n; i++) {
        const struct sum_source *source = &sum->sources.items[i];
        uint32_t node;
        int64_t amount;
        sum->looks += 1 + source->counts->size;
        for (uint32_t at = 0; counts_next(source->counts, &at, &node, &amount);)
            if (node < nodes)
                sum->seen[node] += source->weight * amount;
    }
}

void domain_sum_fill(struct domain_sum *sum, uint32_t nodes, const bool *counted)
{
    const struct topology *topology = sum->topology;
    size_t domains = topology->domains.n;
    see_all(sum, nodes);
    sum->by_domain = xreallocarray(sum->by_domain, domains + 1, sizeof(*sum->by_domain));
    memset(sum->by_domain, 0, domains * sizeof(*sum->by_domain));
    sum->total = 0;
    for (uint32_t node = 0; node < nodes; node++) {
        uint32_t domain = topology_domain_of(topology, node);
        if (domain == TOPOLOGY_NONE || (counted && !counted[node]))
            continue;
        sum->by_domain[domain] += sum->seen[node];
        sum->total += sum->seen[node];
    }
    sum->version = topology->version;
}

void domain_sum_follow(struct domain_sum *sum, uint32_t node, const bool *counted)
{
    int64_t now = there_now(sum, node), grown = now - sum->seen[node];
    uint32_t domain = topology_domain_of(sum->topology, node);
    sum->seen[node] = now;
    if (!grown || domain == TOPOLOGY_NONE || (counted && !counted[node]))
        return;
    sum->by_domain[domain] += grown;
    sum->total += grown;
}
