/*
 * struct domain_sum: counts of the census, added up over the domains of one label.
 *
 * It remembers what of a node is in the sum, so that following a change is the difference to what
 * is there now. The counts are borrowed from the census. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_DOMAIN_SUM_H
#define PUMICE_SCHEDULER_DOMAIN_SUM_H

#include "base/counts.h"
#include "scheduler/topology.h"

struct sum_source {
    struct counts *counts; /* by node; this is one of its readers */
    int64_t weight;
};

struct domain_sum {
    struct topology *topology; /* counted */
    VEC(struct sum_source) sources;
    int64_t *seen;      /* by node: what is in the sum */
    int64_t *by_domain; /* the sums */
    uint64_t version;   /* of the topology when it was filled */
    int64_t total;      /* of all sums */
    size_t looks;       /* at counts and nodes, that filling it took */
    uint64_t *room;     /* by domain, two for each, for the holder; NULL at first, freed with it */
};

struct domain_sums {
    struct domain_sum *items;
    size_t n, cap;
};

/* A sum of nothing over the domains of a label; to be filled before it is asked. */
struct domain_sum domain_sum_of(struct cache *cache, const char *key);
void domain_sum_clear(struct cache *cache, struct domain_sum *sum);
/* `counts` stay until the sum is cleared. */
void domain_sum_add(struct domain_sum *sum, struct counts *counts, int64_t weight);
/* Whether these are among what it adds up. */
bool domain_sum_counts(const struct domain_sum *sum, const struct counts *counts);
/* Adds all up afresh. `counted` by node, NULL: all count. */
void domain_sum_fill(struct domain_sum *sum, uint32_t nodes, const bool *counted);
/* The counts of a node may have changed. */
void domain_sum_follow(struct domain_sum *sum, uint32_t node, const bool *counted);

/* Whether domains are others than when it was filled. */
static inline bool domain_sum_outdated(const struct domain_sum *sum)
{
    return sum->version != sum->topology->version;
}

static inline bool domain_sum_lacks(const struct domain_sum *sum, uint32_t node)
{
    return topology_domain_of(sum->topology, node) == TOPOLOGY_NONE;
}

/* The sum over the domain of a node; 0 when it is in none. */
static inline int64_t domain_sum_at(const struct domain_sum *sum, uint32_t node)
{
    uint32_t domain = topology_domain_of(sum->topology, node);
    return domain == TOPOLOGY_NONE ? 0 : sum->by_domain[domain];
}

#endif
