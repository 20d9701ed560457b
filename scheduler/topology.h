/*
 * Domains: the nodes that share the value of a label, for every label that some pod's rules name.
 *
 * Numbers of domains are small and used again once a domain has no node left, which grows
 * `version`: whoever keeps something by domain then starts afresh. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_TOPOLOGY_H
#define PUMICE_SCHEDULER_TOPOLOGY_H

#include "scheduler/cache.h"

#define TOPOLOGY_NONE UINT32_MAX /* the node has no such label, or is not known */

struct topology_domain {
    const char *value; /* interned; NULL when the number is unused */
    uint32_t nodes;    /* known ones */
};

struct topology {
    const char *key;     /* interned; the label */
    bool hostname;       /* it is kubernetes.io/hostname */
    VEC(uint32_t) nodes; /* by node index: its domain, TOPOLOGY_NONE past the end */
    VEC(struct topology_domain) domains;
    VEC(uint32_t) unused; /* numbers of domains */
    struct map by_value;  /* the number + 1 of a domain */
    uint64_t version;     /* grows when a node changes its domain */
    uint32_t refs;
};

/* The domains of a label, counted; made (with a look at every node) when they are not kept yet. */
struct topology *topology_get(struct cache *cache, const char *key);
/* Drops one reference. */
void topology_put(struct cache *cache, struct topology *topology);
/* The object of a node is another, or has gone (NULL): for the cache. */
void topology_set_node(struct cache *cache, uint32_t index, const struct node *object);

static inline uint32_t topology_domain_of(const struct topology *topology, uint32_t node)
{
    return node < topology->nodes.n ? topology->nodes.items[node] : TOPOLOGY_NONE;
}

#endif
