/*
 * Domains of nodes. See topology.h.
 */
#include "scheduler/topology.h"
#include "base/ensure.h"
#include "base/intern.h"

#define HOSTNAME "kubernetes.io/hostname"

static uint32_t domain_get(struct topology *topology, const char *value)
{
    size_t number = (size_t)(uintptr_t)map_get(&topology->by_value, str_of(value));
    if (number)
        return (uint32_t)(number - 1);
    uint32_t domain = (uint32_t)topology->domains.n;
    if (topology->unused.n)
        domain = topology->unused.items[--topology->unused.n];
    else
        vec_push(&topology->domains, ((struct topology_domain){NULL, 0}));
    topology->domains.items[domain] = (struct topology_domain){intern_get(str_of(value)), 0};
    map_set(&topology->by_value, str_of(topology->domains.items[domain].value),
            (void *)((uintptr_t)domain + 1));
    return domain;
}

static void domain_leave(struct topology *topology, uint32_t domain)
{
    struct topology_domain *item = &topology->domains.items[domain];
    ENSURE(item->nodes > 0);
    if (--item->nodes)
        return;
    map_del(&topology->by_value, str_of(item->value));
    intern_put(item->value);
    *item = (struct topology_domain){NULL, 0};
    vec_push(&topology->unused, domain);
}

static void set_node(struct topology *topology, uint32_t index, const struct node *object)
{
    const char *value = object ? kube_pairs_get(&object->meta.labels, topology->key) : NULL;
    while (topology->nodes.n <= index)
        vec_push(&topology->nodes, TOPOLOGY_NONE);
    uint32_t before = topology->nodes.items[index];
    uint32_t now = value ? domain_get(topology, value) : TOPOLOGY_NONE;
    if (now == before)
        return;
    topology->nodes.items[index] = now;
    if (now != TOPOLOGY_NONE)
        topology->domains.items[now].nodes++;
    if (before != TOPOLOGY_NONE)
        domain_leave(topology, before);
    topology->version++;
}

struct topology *topology_get(struct cache *cache, const char *key)
{
    struct topology *topology = map_get(&cache->topologies, str_of(key));
    if (!topology) {
        topology = xnew(struct topology);
        topology->key = intern_get(str_of(key));
        topology->hostname = strcmp(key, HOSTNAME) == 0;
        topology->by_value.borrows = true;
        for (uint32_t i = 0; i < cache->nodes.n; i++)
            if (cache->nodes.items[i])
                set_node(topology, i, cache->nodes.items[i]->object);
        map_set(&cache->topologies, str_of(topology->key), topology);
    }
    topology->refs++;
    return topology;
}

void topology_put(struct cache *cache, struct topology *topology)
{
    ENSURE(topology->refs > 0);
    if (--topology->refs)
        return;
    map_del(&cache->topologies, str_of(topology->key));
    for (size_t i = 0; i < topology->domains.n; i++)
        intern_put(topology->domains.items[i].value);
    vec_clear(&topology->domains);
    vec_clear(&topology->unused);
    vec_clear(&topology->nodes);
    map_clear(&topology->by_value);
    intern_put(topology->key);
    free(topology);
}

void topology_set_node(struct cache *cache, uint32_t index, const struct node *object)
{
    void *value;
    for (size_t i = 0; map_next(&cache->topologies, &i, NULL, &value);)
        set_node(value, index, object);
}
