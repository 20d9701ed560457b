/*
 * Affinity and spread by sums over domains. See neighbours.h.
 *
 * A tally adds up one or more counts of the census over the domains of one label. It remembers what
 * of a node is in the sum, so that following a change is the difference to what is there now.
 */
#include "scheduler/neighbours.h"
#include <math.h>

struct source {
    const struct counts *counts; /* of the census; by node */
    int64_t weight;
};

struct tally {
    struct topology *topology; /* counted */
    VEC(struct source) sources;
    int64_t *seen;    /* by node: what is in the sum */
    int64_t *sums;    /* by domain */
    uint64_t version; /* of the topology */
    int64_t total;    /* of all sums */
    uint64_t *room;   /* by domain: see neighbours_add_near; NULL until it is asked for */
};

struct tallies {
    struct tally *items;
    size_t n, cap;
};

struct spread {
    const struct spread_constraint *rule;
    struct tally tally;
    bool self;         /* it means the pod itself */
    bool *counted;     /* by node: pods there count */
    uint32_t *members; /* by domain: such nodes */
    int64_t least;     /* of the domains that have any: the smallest sum */
    uint32_t present;  /* how many of these there are */
    /* While nodes are scored. */
    bool *met;     /* by domain: a node that may take the pod is in it */
    uint32_t size; /* how many such domains */
    double weight;
};

struct spreads {
    struct spread *items;
    size_t n, cap;
};

struct neighbours {
    struct pod_class *cls; /* borrowed */
    struct tallies near;   /* required affinity: there must be such pods in the domain */
    bool may_be_first;     /* the pod is what it wants to be near */
    struct tallies apart;  /* its anti-affinity */
    struct tallies kept;   /* that of pods there */
    struct tallies draws;  /* preferences, its own and those of pods there */
    struct spreads hard, soft;
    uint32_t nodes; /* places for them in the tables */
    uint32_t met;   /* nodes that may take the pod and have all labels */
};

/* ---- whom other pods mean -------------------------------------------------------------------- */

static struct pod_labels labels_of(const struct kin *kin)
{
    return (struct pod_labels){kin->labels, kin->index};
}

static const struct census_set *set_of(const struct kin *kin)
{
    return kin->labels ? kin->labels->scratch : NULL;
}

static bool is_meant(const struct cache *cache, const struct kin *kin,
                     const struct population *population)
{
    struct pod_labels labels = labels_of(kin);
    return kin->labels && population_means(cache, population, &labels);
}

/* Visits the terms of pods on nodes that mean such pods. */
static void each_term(const struct cache *cache, const struct kin *kin,
                      void (*visit)(struct carried *carried, void *arg), void *arg)
{
    const struct census_set *set = set_of(kin);
    for (size_t i = 0; set && i < set->meant_by.n; i++) {
        struct population *population = set->meant_by.items[i];
        if (population->by_index && !is_meant(cache, kin, population))
            continue;
        for (size_t c = 0; c < population->carried.n; c++)
            visit(population->carried.items[c], arg);
    }
}

bool neighbours_matter(const struct cache *cache, const struct kin *kin)
{
    return kin->cls->census || cache->census->carried;
}

struct sign {
    VEC(uint64_t) ids;
};

static void note_id(struct carried *carried, void *arg)
{
    struct sign *sign = arg;
    size_t at = sign->ids.n;
    vec_push(&sign->ids, carried->id);
    for (; at > 0 && sign->ids.items[at - 1] > carried->id; at--)
        sign->ids.items[at] = sign->ids.items[at - 1];
    sign->ids.items[at] = carried->id;
}

static void sign_own(const struct cache *cache, const struct kin *kin, struct buf *out)
{
    const struct census_class *entry = kin->cls->census;
    if (!entry)
        return;
    buf_add_char(out, entry->together && is_meant(cache, kin, entry->together) ? 'y' : 'n');
    for (uint32_t i = 0; i < kin->cls->rules.spread_count; i++)
        buf_add_char(out, is_meant(cache, kin, entry->selections[i]) ? 'y' : 'n');
}

void neighbours_sign(const struct cache *cache, const struct kin *kin, struct buf *out)
{
    struct sign sign = {.ids = {NULL, 0, 0}};
    sign_own(cache, kin, out);
    if (cache->census->carried)
        each_term(cache, kin, note_id, &sign);
    for (size_t i = 0; i < sign.ids.n; i++)
        buf_printf(out, ",%llu", (unsigned long long)sign.ids.items[i]);
    vec_clear(&sign.ids);
}

/* ---- tallies --------------------------------------------------------------------------------- */

static struct tally tally_of(struct cache *cache, const char *key)
{
    return (struct tally){.topology = topology_get(cache, key)};
}

static void add_source(struct tally *tally, const struct counts *counts, int64_t weight)
{
    vec_push(&tally->sources, ((struct source){counts, weight}));
}

static void tally_clear(struct cache *cache, struct tally *tally)
{
    topology_put(cache, tally->topology);
    vec_clear(&tally->sources);
    free(tally->seen);
    free(tally->sums);
    free(tally->room);
}

static int64_t there_now(const struct tally *tally, uint32_t node)
{
    int64_t sum = 0;
    for (size_t i = 0; i < tally->sources.n; i++)
        sum += tally->sources.items[i].weight * counts_get(tally->sources.items[i].counts, node);
    return sum;
}

static void see_all(struct tally *tally, uint32_t nodes)
{
    tally->seen = xreallocarray(tally->seen, (size_t)nodes + 1, sizeof(*tally->seen));
    memset(tally->seen, 0, nodes * sizeof(*tally->seen));
    for (size_t i = 0; i < tally->sources.n; i++) {
        const struct source *source = &tally->sources.items[i];
        uint32_t node;
        int64_t amount;
        for (uint32_t at = 0; counts_next(source->counts, &at, &node, &amount);)
            if (node < nodes)
                tally->seen[node] += source->weight * amount;
    }
}

/* `counted` by node, NULL: all. */
static void tally_fill(struct tally *tally, uint32_t nodes, const bool *counted)
{
    const struct topology *topology = tally->topology;
    size_t domains = topology->domains.n;
    see_all(tally, nodes);
    tally->sums = xreallocarray(tally->sums, domains + 1, sizeof(*tally->sums));
    memset(tally->sums, 0, domains * sizeof(*tally->sums));
    tally->total = 0;
    for (uint32_t node = 0; node < nodes; node++) {
        uint32_t domain = topology_domain_of(topology, node);
        if (domain == TOPOLOGY_NONE || (counted && !counted[node]))
            continue;
        tally->sums[domain] += tally->seen[node];
        tally->total += tally->seen[node];
    }
    tally->version = topology->version;
}

static void tally_follow(struct tally *tally, uint32_t node, const bool *counted)
{
    int64_t now = there_now(tally, node), grown = now - tally->seen[node];
    uint32_t domain = topology_domain_of(tally->topology, node);
    tally->seen[node] = now;
    if (!grown || domain == TOPOLOGY_NONE || (counted && !counted[node]))
        return;
    tally->sums[domain] += grown;
    tally->total += grown;
}

/* The sum over the domain of a node; 0 when it is in none. */
static int64_t tally_at(const struct tally *tally, uint32_t node)
{
    uint32_t domain = topology_domain_of(tally->topology, node);
    return domain == TOPOLOGY_NONE ? 0 : tally->sums[domain];
}

static bool lacks_label(const struct tally *tally, uint32_t node)
{
    return topology_domain_of(tally->topology, node) == TOPOLOGY_NONE;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* The tally over the domains of that label, made when it is absent. */
static struct tally *tally_for(struct cache *cache, struct tallies *tallies, const char *key)
{
    for (size_t i = 0; i < tallies->n; i++)
        if (strcmp(tallies->items[i].topology->key, key) == 0)
            return &tallies->items[i];
    vec_push(tallies, tally_of(cache, key));
    return &tallies->items[tallies->n - 1];
}

struct making {
    struct cache *cache;
    struct neighbours *neighbours;
    const struct node_rules *rules;
};

static void add_near(struct making *making, const struct pod_term *term,
                     const struct census_class *entry)
{
    struct tally *tally = tally_for(making->cache, &making->neighbours->near, term->topology_key);
    if (!tally->sources.n)
        add_source(tally, &entry->together->placed, 1);
}

static void add_apart(struct making *making, const struct pod_term *term,
                      const struct carried *carried)
{
    struct tally *tally = tally_for(making->cache, &making->neighbours->apart, term->topology_key);
    add_source(tally, &carried->population->placed, 1);
}

static void add_draw(struct making *making, const struct pod_term *term,
                     const struct carried *carried)
{
    bool away = term->kind == TERM_PREFERRED_ANTI_AFFINITY;
    struct tally *tally = tally_for(making->cache, &making->neighbours->draws, term->topology_key);
    add_source(tally, &carried->population->placed, away ? -term->weight : term->weight);
}

static void add_own_terms(struct making *making, const struct census_class *entry)
{
    const struct pod_rules *rules = &entry->cls->rules;
    for (uint32_t i = 0; i < rules->term_count; i++) {
        const struct pod_term *term = &rules->terms[i];
        if (term->kind == TERM_AFFINITY && making->rules->pod_affinity)
            add_near(making, term, entry);
        else if (term->kind == TERM_ANTI_AFFINITY && making->rules->pod_affinity)
            add_apart(making, term, entry->terms[i]);
        else if (term->kind >= TERM_PREFERRED_AFFINITY && making->rules->pod_affinity_weight)
            add_draw(making, term, entry->terms[i]);
    }
}

static void add_term_of_others(struct carried *carried, void *arg)
{
    struct making *making = arg;
    struct neighbours *neighbours = making->neighbours;
    const char *key = carried->topology_key;
    if (making->rules->pod_affinity)
        add_source(tally_for(making->cache, &neighbours->kept, key), &carried->repels, 1);
    if (making->rules->pod_affinity_weight)
        add_source(tally_for(making->cache, &neighbours->draws, key), &carried->draws, 1);
}

static void add_spreads(struct making *making, const struct census_class *entry,
                        const struct kin *kin)
{
    struct neighbours *neighbours = making->neighbours;
    for (uint32_t i = 0; i < entry->cls->rules.spread_count; i++) {
        const struct spread_constraint *rule = &entry->cls->rules.spreads[i];
        struct spread spread = {.rule = rule};
        if (rule->required ? !making->rules->spread : !making->rules->spread_weight)
            continue;
        spread.tally = tally_of(making->cache, rule->topology_key);
        spread.self = is_meant(making->cache, kin, entry->selections[i]);
        if (rule->pods.selector.all.n) /* without requirements it counts nobody */
            add_source(&spread.tally, &entry->selections[i]->live, 1);
        if (rule->required)
            vec_push(&neighbours->hard, spread);
        else
            vec_push(&neighbours->soft, spread);
    }
}

struct neighbours *neighbours_new(struct cache *cache, const struct sched_config *config,
                                  const struct kin *kin)
{
    struct neighbours *neighbours = xnew(struct neighbours);
    struct making making = {cache, neighbours, &config->rules};
    const struct census_class *entry = kin->cls->census;
    neighbours->cls = kin->cls;
    if (entry) {
        neighbours->may_be_first = entry->together && is_meant(cache, kin, entry->together);
        add_own_terms(&making, entry);
        add_spreads(&making, entry, kin);
    }
    each_term(cache, kin, add_term_of_others, &making);
    return neighbours;
}

#define each_tally(tally, tallies)                                                                 \
    for (struct tally *tally = (tallies)->items; tally < (tallies)->items + (tallies)->n; tally++)
#define each_spread(spread, spreads)                                                               \
    for (struct spread *spread = (spreads)->items; spread < (spreads)->items + (spreads)->n;       \
         spread++)

static void spread_clear(struct cache *cache, struct spread *spread)
{
    tally_clear(cache, &spread->tally);
    free(spread->counted);
    free(spread->members);
    free(spread->met);
}

void neighbours_free(struct cache *cache, struct neighbours *neighbours)
{
    if (!neighbours)
        return;
    each_tally(tally, &neighbours->near) tally_clear(cache, tally);
    each_tally(tally, &neighbours->apart) tally_clear(cache, tally);
    each_tally(tally, &neighbours->kept) tally_clear(cache, tally);
    each_tally(tally, &neighbours->draws) tally_clear(cache, tally);
    each_spread(spread, &neighbours->hard) spread_clear(cache, spread);
    each_spread(spread, &neighbours->soft) spread_clear(cache, spread);
    vec_clear(&neighbours->near);
    vec_clear(&neighbours->apart);
    vec_clear(&neighbours->kept);
    vec_clear(&neighbours->draws);
    vec_clear(&neighbours->hard);
    vec_clear(&neighbours->soft);
    free(neighbours);
}

static bool has_source(const struct tally *tally, const struct counts *counts)
{
    for (size_t i = 0; i < tally->sources.n; i++)
        if (tally->sources.items[i].counts == counts)
            return true;
    return false;
}

bool neighbours_use(const struct neighbours *neighbours, const struct counts *counts)
{
    bool use = false;
    each_tally(tally, &neighbours->near) use |= has_source(tally, counts);
    each_tally(tally, &neighbours->apart) use |= has_source(tally, counts);
    each_tally(tally, &neighbours->kept) use |= has_source(tally, counts);
    each_tally(tally, &neighbours->draws) use |= has_source(tally, counts);
    each_spread(spread, &neighbours->hard) use |= has_source(&spread->tally, counts);
    each_spread(spread, &neighbours->soft) use |= has_source(&spread->tally, counts);
    return use;
}

size_t neighbours_width(const struct neighbours *neighbours)
{
    return neighbours->near.n + neighbours->apart.n + neighbours->kept.n + neighbours->draws.n +
           neighbours->hard.n + neighbours->soft.n;
}

/* ---- filling and following ------------------------------------------------------------------- */

static bool is_outdated(const struct tally *tally)
{
    return tally->version != tally->topology->version;
}

bool neighbours_outdated(const struct neighbours *neighbours)
{
    bool outdated = false;
    each_tally(tally, &neighbours->near) outdated |= is_outdated(tally);
    each_tally(tally, &neighbours->apart) outdated |= is_outdated(tally);
    each_tally(tally, &neighbours->kept) outdated |= is_outdated(tally);
    each_tally(tally, &neighbours->draws) outdated |= is_outdated(tally);
    each_spread(spread, &neighbours->hard) outdated |= is_outdated(&spread->tally);
    each_spread(spread, &neighbours->soft) outdated |= is_outdated(&spread->tally);
    return outdated;
}

static bool may_run_there(const struct pod_class *cls, const struct node *node)
{
    return node_labels_hold(&node->meta.labels, &cls->node_selector) &&
           node_selector_matches(&cls->affinity, node->meta.name, &node->meta.labels);
}

/* Whether pods on the node count for the constraint, but for the labels of its kind. */
static bool includes_node(const struct spread_constraint *rule, const struct pod_class *cls,
                          const struct node *node)
{
    if (rule->honors_nodes && !may_run_there(cls, node))
        return false;
    return !rule->honors_taints || !taints_untolerated(&node->taints, &cls->tolerations);
}

static void spread_fill(struct neighbours *neighbours, struct spread *spread,
                        const struct cache *cache, const bool *labelled)
{
    const struct topology *topology = spread->tally.topology;
    uint32_t nodes = neighbours->nodes;
    spread->counted = xreallocarray(spread->counted, (size_t)nodes + 1, sizeof(bool));
    spread->members =
        xreallocarray(spread->members, topology->domains.n + 1, sizeof(*spread->members));
    memset(spread->members, 0, topology->domains.n * sizeof(*spread->members));
    for (uint32_t i = 0; i < nodes; i++) {
        const struct sched_node *node = cache->nodes.items[i];
        spread->counted[i] = labelled[i] && node && node->object &&
                             includes_node(spread->rule, neighbours->cls, node->object);
        if (spread->counted[i])
            spread->members[topology_domain_of(topology, i)]++;
    }
    spread->met = xreallocarray(spread->met, topology->domains.n + 1, sizeof(*spread->met));
    tally_fill(&spread->tally, nodes, spread->counted);
}

/* Nodes count only when they have the labels of all constraints of the kind. */
static void spreads_fill(struct neighbours *neighbours, struct spreads *spreads,
                         const struct cache *cache)
{
    bool *labelled = xcalloc((size_t)neighbours->nodes + 1, sizeof(*labelled));
    for (uint32_t i = 0; i < neighbours->nodes; i++) {
        labelled[i] = true;
        each_spread(spread, spreads) labelled[i] &= !lacks_label(&spread->tally, i);
    }
    each_spread(spread, spreads) spread_fill(neighbours, spread, cache, labelled);
    free(labelled);
}

void neighbours_fill(struct neighbours *neighbours, const struct cache *cache)
{
    neighbours->nodes = (uint32_t)cache->nodes.n;
    each_tally(tally, &neighbours->near) tally_fill(tally, neighbours->nodes, NULL);
    each_tally(tally, &neighbours->apart) tally_fill(tally, neighbours->nodes, NULL);
    each_tally(tally, &neighbours->kept) tally_fill(tally, neighbours->nodes, NULL);
    each_tally(tally, &neighbours->draws) tally_fill(tally, neighbours->nodes, NULL);
    spreads_fill(neighbours, &neighbours->hard, cache);
    spreads_fill(neighbours, &neighbours->soft, cache);
}

void neighbours_follow(struct neighbours *neighbours, uint32_t node)
{
    each_tally(tally, &neighbours->near) tally_follow(tally, node, NULL);
    each_tally(tally, &neighbours->apart) tally_follow(tally, node, NULL);
    each_tally(tally, &neighbours->kept) tally_follow(tally, node, NULL);
    each_tally(tally, &neighbours->draws) tally_follow(tally, node, NULL);
    each_spread(spread, &neighbours->hard) tally_follow(&spread->tally, node, spread->counted);
    each_spread(spread, &neighbours->soft) tally_follow(&spread->tally, node, spread->counted);
}

/* ---- may it run there? ----------------------------------------------------------------------- */

void neighbours_settle(struct neighbours *neighbours)
{
    each_spread(spread, &neighbours->hard)
    {
        spread->least = INT32_MAX;
        spread->present = 0;
        for (size_t d = 0; d < spread->tally.topology->domains.n; d++) {
            if (!spread->members[d])
                continue;
            spread->present++;
            if (spread->tally.sums[d] < spread->least)
                spread->least = spread->tally.sums[d];
        }
        if ((int64_t)spread->present < spread->rule->min_domains)
            spread->least = 0;
    }
}

/* No pod anywhere is what the pod wants to be near. */
static bool is_first(const struct neighbours *neighbours)
{
    for (size_t i = 0; i < neighbours->near.n; i++)
        if (neighbours->near.items[i].total)
            return false;
    return true;
}

static bool is_near(const struct neighbours *neighbours, uint32_t node)
{
    bool all = true;
    for (size_t i = 0; i < neighbours->near.n; i++) {
        if (lacks_label(&neighbours->near.items[i], node))
            return false;
        all = all && tally_at(&neighbours->near.items[i], node) > 0;
    }
    return all || (neighbours->may_be_first && is_first(neighbours));
}

bool neighbours_first(const struct neighbours *neighbours)
{
    return neighbours->near.n && neighbours->may_be_first && is_first(neighbours);
}

void neighbours_begin_near(struct neighbours *neighbours)
{
    each_tally(tally, &neighbours->near)
    {
        size_t domains = tally->topology->domains.n;
        tally->room = xreallocarray(tally->room, domains + 1, sizeof(*tally->room));
        memset(tally->room, 0, domains * sizeof(*tally->room));
    }
}

void neighbours_add_near(struct neighbours *neighbours, uint32_t node, uint64_t amount)
{
    each_tally(tally, &neighbours->near)
        tally->room[topology_domain_of(tally->topology, node)] += amount;
}

uint64_t neighbours_near(const struct neighbours *neighbours, uint32_t node)
{
    uint64_t least = UINT64_MAX;
    each_tally(tally, &neighbours->near)
    {
        uint64_t room = tally->room[topology_domain_of(tally->topology, node)];
        least = room < least ? room : least;
    }
    return least;
}

static const char *spread_refuses(const struct neighbours *neighbours, uint32_t node)
{
    each_spread(spread, &neighbours->hard)
    {
        if (lacks_label(&spread->tally, node))
            return "node(s) didn't match pod topology spread constraints (missing required label)";
        int64_t there = tally_at(&spread->tally, node) + spread->self;
        if (there - spread->least > spread->rule->max_skew)
            return "node(s) didn't match pod topology spread constraints";
    }
    return NULL;
}

const char *neighbours_refuse(const struct neighbours *neighbours, uint32_t node)
{
    const char *reason = spread_refuses(neighbours, node);
    if (reason)
        return reason;
    if (!is_near(neighbours, node))
        return "node(s) didn't match pod affinity rules";
    each_tally(tally, &neighbours->apart)
    {
        if (tally_at(tally, node) > 0)
            return "node(s) didn't match pod anti-affinity rules";
    }
    each_tally(tally, &neighbours->kept)
    {
        if (tally_at(tally, node) > 0)
            return "node(s) didn't satisfy existing pods anti-affinity rules";
    }
    return NULL;
}

/* ---- how well? ------------------------------------------------------------------------------- */

bool neighbours_draws(const struct neighbours *neighbours)
{
    return neighbours->draws.n > 0;
}

int64_t neighbours_draw(const struct neighbours *neighbours, uint32_t node)
{
    int64_t sum = 0;
    each_tally(tally, &neighbours->draws) sum += tally_at(tally, node);
    return sum;
}

bool neighbours_prefers_spread(const struct neighbours *neighbours)
{
    return neighbours->soft.n > 0;
}

static bool has_all_labels(const struct neighbours *neighbours, uint32_t node)
{
    each_spread(spread, &neighbours->soft)
    {
        if (lacks_label(&spread->tally, node))
            return false;
    }
    return true;
}

void neighbours_begin_spread(struct neighbours *neighbours)
{
    neighbours->met = 0;
    each_spread(spread, &neighbours->soft)
    {
        memset(spread->met, 0, spread->tally.topology->domains.n * sizeof(*spread->met));
        spread->size = 0;
    }
}

void neighbours_announce(struct neighbours *neighbours, uint32_t node)
{
    if (!has_all_labels(neighbours, node))
        return;
    neighbours->met++;
    each_spread(spread, &neighbours->soft)
    {
        bool *met = &spread->met[topology_domain_of(spread->tally.topology, node)];
        spread->size += !*met;
        *met = true;
    }
}

void neighbours_end_spread(struct neighbours *neighbours)
{
    each_spread(spread, &neighbours->soft)
    {
        uint32_t size = spread->tally.topology->hostname ? neighbours->met : spread->size;
        spread->weight = log(size + 2.0);
    }
}

int64_t neighbours_crowd(const struct neighbours *neighbours, uint32_t node)
{
    double sum = 0;
    if (!has_all_labels(neighbours, node))
        return -1;
    each_spread(spread, &neighbours->soft)
    {
        int64_t pods = spread->tally.topology->hostname ? spread->tally.seen[node]
                                                        : tally_at(&spread->tally, node);
        sum += (double)pods * spread->weight + (double)(spread->rule->max_skew - 1);
    }
    return (int64_t)round(sum);
}
