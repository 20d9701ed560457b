/*
 * Affinity and spread by sums over domains. See neighbours.h.
 */
#include "scheduler/neighbours.h"
#include "scheduler/domain_sum.h"
#include <math.h>

struct spread {
    const struct spread_constraint *rule;
    struct domain_sum sum;
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

enum sum_kind {
    NEAR,  /* required affinity: there must be such pods in the domain */
    APART, /* its anti-affinity */
    KEPT,  /* that of pods there */
    DRAWS, /* preferences, its own and those of pods there */
    SUM_KINDS
};

enum spread_kind {
    HARD, /* DoNotSchedule */
    SOFT, /* ScheduleAnyway */
    SPREAD_KINDS
};

struct neighbours {
    struct pod_class *cls; /* borrowed */
    bool may_be_first;     /* the pod is what it wants to be near */
    struct domain_sums sums[SUM_KINDS];
    struct spreads spreads[SPREAD_KINDS];
    uint32_t nodes;     /* places for them in the tables */
    uint32_t met;       /* nodes that may take the pod and have all labels */
    uint64_t near_most; /* while places near one another are counted */
};

/* ---- whom other pods mean -------------------------------------------------------------------- */

static const struct census_set *set_of(const struct kin *kin)
{
    return kin->labels.set ? kin->labels.set->scratch : NULL;
}

static bool is_meant(const struct cache *cache, const struct kin *kin,
                     const struct population *population)
{
    return kin->labels.set && population_means(cache, population, &kin->labels);
}

/* Visits the terms of pods on nodes that mean such pods, as far as they are felt. */
static void each_term(const struct cache *cache, const struct kin *kin,
                      void (*visit)(struct carried *carried, void *arg), void *arg)
{
    const struct census_set *set = set_of(kin);
    struct population *population;
    for (uint32_t i = 0; set && census_next(cache->census, set, &i, &population);) {
        if (population->by_index && !is_meant(cache, kin, population))
            continue;
        for (size_t c = 0; c < population->felt.n; c++)
            visit(population->felt.items[c], arg);
    }
}

bool neighbours_matter(const struct cache *cache, const struct kin *kin)
{
    return kin->cls->census || cache->census->felt;
}

struct sign {
    VEC(uint64_t) ids;
};

static void note_id(struct carried *carried, void *arg)
{
    struct sign *sign = arg;
    vec_push(&sign->ids, carried->id);
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Whether any node has the label that a term is about: else it means nothing, but for a wish to be
 * near others, which no node fulfils then. */
static bool is_felt(const struct carried *carried)
{
    return carried->label->nodes > 0;
}

static void sign_own(const struct cache *cache, const struct kin *kin, struct buf *out)
{
    const struct census_class *entry = kin->cls->census;
    if (!entry)
        return;
    buf_add_char(out, entry->together && is_meant(cache, kin, entry->together) ? 'y' : 'n');
    for (uint32_t i = 0; i < kin->cls->rules.spread_count; i++)
        buf_add_char(out, is_meant(cache, kin, entry->selections[i]) ? 'y' : 'n');
    for (uint32_t i = 0; i < kin->cls->rules.term_count; i++)
        buf_add_char(out, is_felt(entry->terms[i]) ? 'y' : 'n');
}

void neighbours_sign(const struct cache *cache, const struct kin *kin, struct buf *out)
{
    struct sign sign = {.ids = {NULL, 0, 0}};
    sign_own(cache, kin, out);
    if (cache->census->felt)
        each_term(cache, kin, note_id, &sign);
    if (sign.ids.n)
        qsort(sign.ids.items, sign.ids.n, sizeof(*sign.ids.items), compare_ids);
    for (size_t i = 0; i < sign.ids.n; i++)
        buf_printf(out, ",%llu", (unsigned long long)sign.ids.items[i]);
    vec_clear(&sign.ids);
}

/* ---- making ---------------------------------------------------------------------------------- */

/* The sum over the domains of that label (interned), made when it is absent. */
static struct domain_sum *sum_for(struct cache *cache, struct domain_sums *sums, const char *key)
{
    for (size_t i = 0; i < sums->n; i++)
        if (sums->items[i].topology->key == key)
            return &sums->items[i];
    vec_push(sums, domain_sum_of(cache, key));
    return &sums->items[sums->n - 1];
}

struct making {
    struct cache *cache;
    struct neighbours *neighbours;
    const struct node_rules *rules;
};

static void add_near(struct making *making, const struct pod_term *term,
                     const struct census_class *entry)
{
    struct domain_sum *sum =
        sum_for(making->cache, &making->neighbours->sums[NEAR], term->topology_key);
    if (!sum->sources.n)
        domain_sum_add(sum, &entry->together->placed, 1);
}

static void add_apart(struct making *making, const struct pod_term *term,
                      const struct carried *carried)
{
    struct domain_sum *sum =
        sum_for(making->cache, &making->neighbours->sums[APART], term->topology_key);
    domain_sum_add(sum, &carried->population->placed, 1);
}

static void add_draw(struct making *making, const struct pod_term *term,
                     const struct carried *carried)
{
    bool away = term->kind == TERM_PREFERRED_ANTI_AFFINITY;
    struct domain_sum *sum =
        sum_for(making->cache, &making->neighbours->sums[DRAWS], term->topology_key);
    domain_sum_add(sum, &carried->population->placed, away ? -term->weight : term->weight);
}

static void add_own_terms(struct making *making, const struct census_class *entry)
{
    const struct pod_rules *rules = &entry->cls->rules;
    for (uint32_t i = 0; i < rules->term_count; i++) {
        const struct pod_term *term = &rules->terms[i];
        if (term->kind == TERM_AFFINITY && making->rules->pod_affinity)
            add_near(making, term, entry);
        else if (!is_felt(entry->terms[i]))
            continue;
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
    const char *key = carried->label->key;
    if (making->rules->pod_affinity)
        domain_sum_add(sum_for(making->cache, &neighbours->sums[KEPT], key), &carried->repels, 1);
    if (making->rules->pod_affinity_weight)
        domain_sum_add(sum_for(making->cache, &neighbours->sums[DRAWS], key), &carried->draws, 1);
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
        spread.sum = domain_sum_of(making->cache, rule->topology_key);
        spread.self = is_meant(making->cache, kin, entry->selections[i]);
        if (rule->pods.selector.all.n) { /* without requirements it counts nobody */
            domain_sum_add(&spread.sum, &entry->selections[i]->placed, 1);
            domain_sum_add(&spread.sum, &entry->selections[i]->ending, -1);
        }
        if (rule->required)
            vec_push(&neighbours->spreads[HARD], spread);
        else
            vec_push(&neighbours->spreads[SOFT], spread);
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

#define each_sum(sum, sums)                                                                        \
    for (struct domain_sum *sum = (sums)->items; sum < (sums)->items + (sums)->n; sum++)
#define each_spread(spread, spreads)                                                               \
    for (struct spread *spread = (spreads)->items; spread < (spreads)->items + (spreads)->n;       \
         spread++)
#define every_sum(sum, neighbours)                                                                 \
    for (int kind_ = 0; kind_ < SUM_KINDS; kind_++)                                                \
    each_sum(sum, &(neighbours)->sums[kind_])
#define every_spread(spread, neighbours)                                                           \
    for (int kind_ = 0; kind_ < SPREAD_KINDS; kind_++)                                             \
    each_spread(spread, &(neighbours)->spreads[kind_])

static void spread_clear(struct cache *cache, struct spread *spread)
{
    domain_sum_clear(cache, &spread->sum);
    free(spread->counted);
    free(spread->members);
    free(spread->met);
}

void neighbours_free(struct cache *cache, struct neighbours *neighbours)
{
    if (!neighbours)
        return;
    every_sum(sum, neighbours) domain_sum_clear(cache, sum);
    every_spread(spread, neighbours) spread_clear(cache, spread);
    for (int i = 0; i < SUM_KINDS; i++)
        vec_clear(&neighbours->sums[i]);
    for (int i = 0; i < SPREAD_KINDS; i++)
        vec_clear(&neighbours->spreads[i]);
    free(neighbours);
}

bool neighbours_use(const struct neighbours *neighbours, const struct counts *counts)
{
    bool use = false;
    every_sum(sum, neighbours) use |= domain_sum_counts(sum, counts);
    every_spread(spread, neighbours) use |= domain_sum_counts(&spread->sum, counts);
    return use;
}

size_t neighbours_width(const struct neighbours *neighbours)
{
    size_t width = 0;
    for (int i = 0; i < SUM_KINDS; i++)
        width += neighbours->sums[i].n;
    for (int i = 0; i < SPREAD_KINDS; i++)
        width += neighbours->spreads[i].n;
    return width;
}

size_t neighbours_sources(const struct neighbours *neighbours)
{
    size_t sources = 0;
    every_sum(sum, neighbours) sources += sum->sources.n;
    every_spread(spread, neighbours) sources += spread->sum.sources.n;
    return sources;
}

size_t neighbours_looks(const struct neighbours *neighbours)
{
    size_t looks = 0;
    every_sum(sum, neighbours) looks += sum->looks;
    every_spread(spread, neighbours) looks += spread->sum.looks;
    return looks;
}

/* ---- filling and following ------------------------------------------------------------------- */

bool neighbours_outdated(const struct neighbours *neighbours, const struct cache *cache)
{
    bool outdated = neighbours->nodes != cache->nodes.n;
    every_sum(sum, neighbours) outdated |= domain_sum_outdated(sum);
    every_spread(spread, neighbours) outdated |= domain_sum_outdated(&spread->sum);
    return outdated;
}

/* Whether pods on the node count for the constraint, but for the labels of its kind. */
static bool includes_node(const struct spread_constraint *rule, const struct pod_class *cls,
                          const struct node *node)
{
    if (rule->honors_nodes && !pod_class_selects(cls, node->meta.name, &node->meta.labels))
        return false;
    return !rule->honors_taints || !taints_untolerated(&node->taints, &cls->tolerations);
}

static void spread_fill(struct neighbours *neighbours, struct spread *spread,
                        const struct cache *cache, const bool *labelled)
{
    const struct topology *topology = spread->sum.topology;
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
    domain_sum_fill(&spread->sum, nodes, spread->counted);
}

/* Nodes count only when they have the labels of all constraints of the kind. */
static void spreads_fill(struct neighbours *neighbours, struct spreads *spreads,
                         const struct cache *cache)
{
    bool *labelled = xcalloc((size_t)neighbours->nodes + 1, sizeof(*labelled));
    for (uint32_t i = 0; i < neighbours->nodes; i++) {
        labelled[i] = true;
        each_spread(spread, spreads) labelled[i] &= !domain_sum_lacks(&spread->sum, i);
    }
    each_spread(spread, spreads) spread_fill(neighbours, spread, cache, labelled);
    free(labelled);
}

void neighbours_fill(struct neighbours *neighbours, const struct cache *cache)
{
    neighbours->nodes = (uint32_t)cache->nodes.n;
    every_sum(sum, neighbours) domain_sum_fill(sum, neighbours->nodes, NULL);
    for (int i = 0; i < SPREAD_KINDS; i++)
        spreads_fill(neighbours, &neighbours->spreads[i], cache);
}

void neighbours_follow(struct neighbours *neighbours, uint32_t node)
{
    every_sum(sum, neighbours) domain_sum_follow(sum, node, NULL);
    every_spread(spread, neighbours) domain_sum_follow(&spread->sum, node, spread->counted);
}

/* ---- may it run there? ----------------------------------------------------------------------- */

void neighbours_settle(struct neighbours *neighbours)
{
    each_spread(spread, &neighbours->spreads[HARD])
    {
        spread->least = INT32_MAX;
        spread->present = 0;
        for (size_t d = 0; d < spread->sum.topology->domains.n; d++) {
            if (!spread->members[d])
                continue;
            spread->present++;
            if (spread->sum.by_domain[d] < spread->least)
                spread->least = spread->sum.by_domain[d];
        }
        if ((int64_t)spread->present < spread->rule->min_domains)
            spread->least = 0;
    }
}

/* No pod anywhere is what the pod wants to be near. */
static bool is_first(const struct neighbours *neighbours)
{
    for (size_t i = 0; i < neighbours->sums[NEAR].n; i++)
        if (neighbours->sums[NEAR].items[i].total)
            return false;
    return true;
}

static bool is_near(const struct neighbours *neighbours, uint32_t node)
{
    bool all = true;
    for (size_t i = 0; i < neighbours->sums[NEAR].n; i++) {
        if (domain_sum_lacks(&neighbours->sums[NEAR].items[i], node))
            return false;
        all = all && domain_sum_at(&neighbours->sums[NEAR].items[i], node) > 0;
    }
    return all || (neighbours->may_be_first && is_first(neighbours));
}

bool neighbours_first(const struct neighbours *neighbours)
{
    return neighbours->sums[NEAR].n && neighbours->may_be_first && is_first(neighbours);
}

/* Behind the room of all domains stands how much of the limit each has used. */
void neighbours_begin_near(struct neighbours *neighbours)
{
    each_sum(sum, &neighbours->sums[NEAR])
    {
        size_t domains = sum->topology->domains.n;
        sum->room = xreallocarray(sum->room, 2 * domains + 1, sizeof(*sum->room));
        memset(sum->room, 0, domains * sizeof(*sum->room));
    }
    neighbours_limit_near(neighbours, UINT64_MAX);
}

void neighbours_limit_near(struct neighbours *neighbours, uint64_t most)
{
    neighbours->near_most = most;
    each_sum(sum, &neighbours->sums[NEAR])
    {
        size_t domains = sum->topology->domains.n;
        memset(sum->room + domains, 0, domains * sizeof(*sum->room));
    }
}

void neighbours_add_near(struct neighbours *neighbours, uint32_t node, uint64_t amount)
{
    each_sum(sum, &neighbours->sums[NEAR])
    {
        uint32_t domain = topology_domain_of(sum->topology, node);
        uint64_t *used = &sum->room[sum->topology->domains.n + domain];
        uint64_t left = neighbours->near_most - *used, more = amount < left ? amount : left;
        sum->room[domain] += more;
        *used += more;
    }
}

uint64_t neighbours_near(const struct neighbours *neighbours, uint32_t node)
{
    uint64_t least = UINT64_MAX;
    each_sum(sum, &neighbours->sums[NEAR])
    {
        uint64_t room = sum->room[topology_domain_of(sum->topology, node)];
        least = room < least ? room : least;
    }
    return least;
}

static const char *spread_refuses(const struct neighbours *neighbours, uint32_t node)
{
    each_spread(spread, &neighbours->spreads[HARD])
    {
        if (domain_sum_lacks(&spread->sum, node))
            return "node(s) didn't match pod topology spread constraints (missing required label)";
        int64_t there = domain_sum_at(&spread->sum, node) + spread->self;
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
    each_sum(sum, &neighbours->sums[APART])
    {
        if (domain_sum_at(sum, node) > 0)
            return "node(s) didn't match pod anti-affinity rules";
    }
    each_sum(sum, &neighbours->sums[KEPT])
    {
        if (domain_sum_at(sum, node) > 0)
            return "node(s) didn't satisfy existing pods anti-affinity rules";
    }
    return NULL;
}

/* ---- how well? ------------------------------------------------------------------------------- */

bool neighbours_draws(const struct neighbours *neighbours)
{
    return neighbours->sums[DRAWS].n > 0;
}

int64_t neighbours_draw(const struct neighbours *neighbours, uint32_t node)
{
    int64_t draw = 0;
    each_sum(sum, &neighbours->sums[DRAWS]) draw += domain_sum_at(sum, node);
    return draw;
}

bool neighbours_prefers_spread(const struct neighbours *neighbours)
{
    return neighbours->spreads[SOFT].n > 0;
}

static bool has_all_labels(const struct neighbours *neighbours, uint32_t node)
{
    each_spread(spread, &neighbours->spreads[SOFT])
    {
        if (domain_sum_lacks(&spread->sum, node))
            return false;
    }
    return true;
}

void neighbours_begin_spread(struct neighbours *neighbours)
{
    neighbours->met = 0;
    each_spread(spread, &neighbours->spreads[SOFT])
    {
        memset(spread->met, 0, spread->sum.topology->domains.n * sizeof(*spread->met));
        spread->size = 0;
    }
}

void neighbours_announce(struct neighbours *neighbours, uint32_t node)
{
    if (!has_all_labels(neighbours, node))
        return;
    neighbours->met++;
    each_spread(spread, &neighbours->spreads[SOFT])
    {
        bool *met = &spread->met[topology_domain_of(spread->sum.topology, node)];
        spread->size += !*met;
        *met = true;
    }
}

void neighbours_end_spread(struct neighbours *neighbours)
{
    each_spread(spread, &neighbours->spreads[SOFT])
    {
        uint32_t size = spread->sum.topology->hostname ? neighbours->met : spread->size;
        spread->weight = log(size + 2.0);
    }
}

int64_t neighbours_crowd(const struct neighbours *neighbours, uint32_t node)
{
    double sum = 0;
    if (!has_all_labels(neighbours, node))
        return -1;
    each_spread(spread, &neighbours->spreads[SOFT])
    {
        int64_t pods = spread->sum.topology->hostname ? spread->sum.seen[node]
                                                      : domain_sum_at(&spread->sum, node);
        sum += (double)pods * spread->weight + (double)(spread->rule->max_skew - 1);
    }
    return (int64_t)round(sum);
}
