/*
 * Places that pods of one job leave to one another. See apart.h.
 */
#include "scheduler/apart.h"
#include "scheduler/census.h"

#define TERMS_WORK 6 /* terms that are looked at count as much as a node */

enum apart_kind {
    NOT_WITH, /* no pod that is meant may be in the domain */
    NEAR,     /* once there is one that is meant, only its domains will do */
    EVENLY    /* no domain may have many more than another */
};

struct apart_rule {
    enum apart_kind kind;
    struct topology *topology;              /* counted */
    const struct spread_constraint *spread; /* with EVENLY; borrowed from the class */
    struct map whom;                        /* classes of the job that are meant, by number */
    bool *offered;                          /* by domain */
    uint64_t *room;                         /* by domain: places offered there */
    uint32_t *pods;                         /* by domain: those counted */
    uint32_t total;                         /* of them, in domains */
    uint32_t least, at_least;               /* fewest in an offered domain; how many have so few, or
                                               0: not found out */
};

struct apart {
    uint32_t wanted;
    VEC(struct apart_rule) rules;
};

/* ---- making ---------------------------------------------------------------------------------- */

static bool means(const struct cache *cache, const struct population *population,
                  const struct task_group *group)
{
    struct pod_labels labels = {group->labels, -1};
    return population_means(cache, population, &labels);
}

static struct apart_rule *add_rule(struct cache *cache, struct apart *apart, enum apart_kind kind,
                                   const char *key)
{
    struct apart_rule rule = {
        .kind = kind, .topology = topology_get(cache, key), .whom = MAP_INIT_BORROWS};
    size_t domains = rule.topology->domains.n + 1;
    rule.offered = xcalloc(domains, sizeof(*rule.offered));
    rule.room = xcalloc(domains, sizeof(*rule.room));
    rule.pods = xcalloc(domains, sizeof(*rule.pods));
    vec_push(&apart->rules, rule);
    return &apart->rules.items[apart->rules.n - 1];
}

/* The rule of that kind for a label, but for EVENLY, of which each constraint has its own. */
static struct apart_rule *rule_for(struct cache *cache, struct apart *apart, enum apart_kind kind,
                                   const char *key)
{
    for (size_t i = 0; i < apart->rules.n; i++) {
        struct apart_rule *rule = &apart->rules.items[i];
        if (rule->kind == kind && strcmp(rule->topology->key, key) == 0)
            return rule;
    }
    return add_rule(cache, apart, kind, key);
}

static struct str number_of(const struct pod_class *cls)
{
    return str_make((const char *)&cls->id, sizeof(cls->id));
}

static bool is_whom(const struct apart_rule *rule, const struct pod_class *cls)
{
    return map_has(&rule->whom, number_of(cls));
}

static void add_whom(struct apart_rule *rule, const struct pod_class *cls)
{
    map_set(&rule->whom, number_of(cls), NULL);
}

/* What terms of pods like `bearer` say of those like `other`, noted of `whom` of the two. */
static void add_terms(struct cache *cache, struct apart *apart, const struct task_group *bearer,
                      const struct task_group *other, const struct task_group *whom)
{
    const struct census_class *entry = bearer->cls->census;
    const struct pod_rules *rules = &bearer->cls->rules;
    cache->work += 1 + rules->term_count / TERMS_WORK;
    for (uint32_t i = 0; entry && i < rules->term_count; i++) {
        const struct pod_term *term = &rules->terms[i];
        if (term->kind == TERM_ANTI_AFFINITY && means(cache, entry->terms[i]->population, other))
            add_whom(rule_for(cache, apart, NOT_WITH, term->topology_key), whom->cls);
        else if (term->kind == TERM_AFFINITY && whom == other &&
                 means(cache, entry->together, other))
            add_whom(rule_for(cache, apart, NEAR, term->topology_key), whom->cls);
    }
}

static void add_spreads(struct cache *cache, struct apart *apart, const struct task_group *group)
{
    const struct census_class *entry = group->cls->census;
    const struct sched_job *job = group->job;
    for (uint32_t i = 0; entry && i < group->cls->rules.spread_count; i++) {
        const struct spread_constraint *spread = &group->cls->rules.spreads[i];
        const struct population *population = entry->selections[i];
        if (!spread->required || !spread->pods.selector.all.n || !means(cache, population, group))
            continue;
        struct apart_rule *rule = add_rule(cache, apart, EVENLY, spread->topology_key);
        rule->spread = spread;
        for (size_t g = 0; g < job->groups.n; g++)
            if (means(cache, population, job->groups.items[g]))
                add_whom(rule, job->groups.items[g]->cls);
    }
}

struct apart *apart_new(struct cache *cache, const struct sched_config *config,
                        const struct task_group *group, uint32_t wanted)
{
    const struct sched_job *job = group->job;
    struct apart *apart = xnew(struct apart);
    apart->wanted = wanted;
    for (size_t g = 0; g < job->groups.n && config->rules.pod_affinity; g++) {
        const struct task_group *other = job->groups.items[g];
        add_terms(cache, apart, group, other, other);
        add_terms(cache, apart, other, group, other);
    }
    if (config->rules.spread)
        add_spreads(cache, apart, group);
    if (apart->rules.n)
        return apart;
    apart_free(cache, apart);
    return NULL;
}

void apart_free(struct cache *cache, struct apart *apart)
{
    if (!apart)
        return;
    for (size_t i = 0; i < apart->rules.n; i++) {
        struct apart_rule *rule = &apart->rules.items[i];
        topology_put(cache, rule->topology);
        map_clear(&rule->whom);
        free(rule->offered);
        free(rule->room);
        free(rule->pods);
    }
    vec_clear(&apart->rules);
    free(apart);
}

/* ---- filling --------------------------------------------------------------------------------- */

#define each_rule(rule, apart)                                                                     \
    for (struct apart_rule *rule = (apart)->rules.items;                                           \
         rule < (apart)->rules.items + (apart)->rules.n; rule++)

void apart_offer(struct apart *apart, uint32_t node, uint32_t places)
{
    each_rule(rule, apart)
    {
        uint32_t domain = topology_domain_of(rule->topology, node);
        if (domain == TOPOLOGY_NONE)
            continue;
        rule->offered[domain] = true;
        rule->room[domain] += places;
    }
}

void apart_count(struct apart *apart, const struct pod_class *cls, uint32_t node)
{
    each_rule(rule, apart)
    {
        uint32_t domain = topology_domain_of(rule->topology, node);
        if (domain == TOPOLOGY_NONE || !is_whom(rule, cls))
            continue;
        if (rule->at_least && rule->offered[domain] && rule->pods[domain] == rule->least)
            rule->at_least--;
        rule->pods[domain]++;
        rule->total++;
    }
}

void apart_count_placed(struct apart *apart, const struct sched_job *job)
{
    for (const struct list *link = job->tasks.next; link != &job->tasks; link = link->next) {
        const struct sched_task *task = const_container_of(link, struct sched_task, link);
        if (task->node)
            apart_count(apart, task->pod->cls, task->node->index);
    }
}

/* ---- looking --------------------------------------------------------------------------------- */

/* The first that is to be near others goes where there is room for all. */
static bool is_far(const struct apart *apart, const struct apart_rule *rule, uint32_t domain)
{
    if (domain == TOPOLOGY_NONE)
        return true;
    return rule->total ? !rule->pods[domain] : rule->room[domain] < apart->wanted;
}

bool apart_refuses(const struct apart *apart, uint32_t node)
{
    each_rule(rule, apart)
    {
        uint32_t domain = topology_domain_of(rule->topology, node);
        if (rule->kind == NOT_WITH && domain != TOPOLOGY_NONE && rule->pods[domain])
            return true;
        if (rule->kind == NEAR && is_far(apart, rule, domain))
            return true;
    }
    return false;
}

/* Where fewer domains than asked for are there, their least is 0. */
static void find_least(struct apart_rule *rule)
{
    int32_t present = 0;
    rule->least = UINT32_MAX;
    for (size_t d = 0; d < rule->topology->domains.n; d++) {
        if (!rule->offered[d])
            continue;
        present++;
        if (rule->pods[d] < rule->least)
            rule->at_least = 0;
        rule->least = rule->pods[d] < rule->least ? rule->pods[d] : rule->least;
        rule->at_least += rule->pods[d] == rule->least;
    }
    if (present < rule->spread->min_domains)
        rule->least = 0;
}

bool apart_is_uneven(struct apart *apart, uint32_t node)
{
    each_rule(rule, apart)
    {
        uint32_t domain = topology_domain_of(rule->topology, node);
        if (rule->kind != EVENLY)
            continue;
        if (!rule->at_least)
            find_least(rule);
        if (domain == TOPOLOGY_NONE ||
            (int64_t)rule->pods[domain] + 1 - rule->least > rule->spread->max_skew)
            return true;
    }
    return false;
}

/* Every domain may have as many as the one with the fewest can, and the skew. */
static uint64_t most_by(const struct apart_rule *rule)
{
    uint64_t least = UINT64_MAX, sum = 0;
    int32_t present = 0;
    for (size_t d = 0; d < rule->topology->domains.n; d++) {
        uint64_t full = rule->pods[d] + rule->room[d];
        present += rule->offered[d];
        least = rule->offered[d] && full < least ? full : least;
    }
    uint64_t most =
        (present < rule->spread->min_domains ? 0 : least) + (uint64_t)rule->spread->max_skew;
    for (size_t d = 0; d < rule->topology->domains.n; d++) {
        uint64_t full = rule->pods[d] + rule->room[d];
        uint64_t here = full < most ? full : most;
        if (rule->offered[d] && here > rule->pods[d])
            sum += here - rule->pods[d];
    }
    return sum;
}

uint64_t apart_most(const struct apart *apart)
{
    uint64_t most = UINT64_MAX;
    each_rule(rule, apart)
    {
        uint64_t sum = rule->kind == EVENLY ? most_by(rule) : UINT64_MAX;
        most = sum < most ? sum : most;
    }
    return most;
}
