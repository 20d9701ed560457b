/*
 * The best node where scores are set in relation to one another. See fit.h.
 *
 * First all nodes with room are asked whether other pods, or limits of the queue, stand against it,
 * and between which raw scores those lie that are left; then each gets its points, by the rules of
 * kube-scheduler's plugins, in whole numbers.
 */
#include "scheduler/fit_private.h"
#include "scheduler/group_limits.h"
#include "scheduler/plugins/score.h"

#define POINTS 100
#define SCAN_WORK 8 /* nodes that count as much as one that is looked at afresh */

static int64_t raw_of(const struct fit_table *table, enum fit_part part, uint32_t node)
{
    switch (part) {
    case FIT_TAINTS:
        return table->taints ? table->taints[node] : 0;
    case FIT_NODE_AFFINITY:
        return table->preferred ? table->preferred[node] : 0;
    case FIT_POD_AFFINITY:
        return neighbours_draw(table->neighbours, node);
    case FIT_SPREAD:
        return neighbours_crowd(table->neighbours, node);
    case FIT_PART_COUNT:
        break;
    }
    return 0;
}

/* Whether the raw scores of a part are looked at. */
static bool counts(const struct fit_table *table, enum fit_part part)
{
    switch (part) {
    case FIT_TAINTS:
        return table->taints;
    case FIT_NODE_AFFINITY:
        return table->preferred;
    case FIT_POD_AFFINITY:
        return table->neighbours && neighbours_draws(table->neighbours);
    case FIT_SPREAD:
        return table->neighbours && neighbours_prefers_spread(table->neighbours);
    case FIT_PART_COUNT:
        break;
    }
    return false;
}

/* A crowded domain gets few points, but counts down from the sum of both ends. */
static int64_t spread_points(struct fit_span span, int64_t raw)
{
    if (raw < 0)
        return 0;
    return span.most ? POINTS * (span.most + span.least - raw) / span.most : POINTS;
}

static int64_t points_of(struct fit_span span, enum fit_part part, int64_t raw)
{
    switch (part) {
    case FIT_TAINTS:
        return span.most ? POINTS - POINTS * raw / span.most : POINTS;
    case FIT_NODE_AFFINITY:
        return span.most ? POINTS * raw / span.most : 0;
    case FIT_POD_AFFINITY:
        return span.most > span.least ? (int64_t)(SCORE_POINTS * ((double)(raw - span.least) /
                                                                  (double)(span.most - span.least)))
                                      : 0;
    case FIT_SPREAD:
        return spread_points(span, raw);
    case FIT_PART_COUNT:
        break;
    }
    return 0;
}

int64_t fit_points(const struct fit_table *table, enum fit_part part, uint32_t node)
{
    if (!counts(table, part))
        return part == FIT_TAINTS ? POINTS : 0;
    return points_of(table->span[part], part, raw_of(table, part, node));
}

/* ---- which nodes fit ------------------------------------------------------------------------- */

static const char *refusal(const struct cache *cache, const struct sched_config *config,
                           const struct fit_table *table, uint32_t node)
{
    const char *reason = NULL;
    if (table->limited)
        reason = config_queue_refuse(config, table->queue, &table->cls->request,
                                     cache->nodes.items[node]);
    if (!reason && table->neighbours)
        reason = neighbours_refuse(table->neighbours, node);
    return reason;
}

/* Asks the queue's limits and the neighbours about every node that has room. */
static void refuse(const struct cache *cache, const struct sched_config *config,
                   struct fit_table *table)
{
    table->fits = table->room;
    if (!table->neighbours && !table->limited)
        return;
    if (table->neighbours)
        neighbours_settle(table->neighbours);
    for (uint32_t i = 0; i < table->n; i++) {
        if (table->scores[i] == UNFIT)
            continue;
        table->reason[i] = fit_reason_number(table, refusal(cache, config, table, i));
        table->fits -= table->reason[i] != 0;
    }
}

static bool fits(const struct fit_table *table, uint32_t node)
{
    return table->scores[node] != UNFIT && !table->reason[node];
}

/* ---- scores ---------------------------------------------------------------------------------- */

static void meet(struct fit_table *table)
{
    neighbours_begin_spread(table->neighbours);
    for (uint32_t i = 0; i < table->n; i++)
        if (fits(table, i))
            neighbours_announce(table->neighbours, i);
    neighbours_end_spread(table->neighbours);
}

/* Nodes that count for nothing do not stretch the span; nothing is less than 0 but what draws. */
static void measure(struct fit_table *table, enum fit_part part, int64_t *raws)
{
    struct fit_span span = {INT64_MAX, part == FIT_POD_AFFINITY ? INT64_MIN : 0};
    for (uint32_t i = 0; i < table->n; i++) {
        if (!fits(table, i))
            continue;
        raws[i] = raw_of(table, part, i);
        if (part == FIT_SPREAD && raws[i] < 0)
            continue;
        span.least = raws[i] < span.least ? raws[i] : span.least;
        span.most = raws[i] > span.most ? raws[i] : span.most;
    }
    table->span[part] = span;
}

static int64_t weight_of(const struct node_rules *rules, enum fit_part part)
{
    switch (part) {
    case FIT_TAINTS:
        return rules->taints_weight;
    case FIT_NODE_AFFINITY:
        return rules->node_affinity_weight;
    case FIT_POD_AFFINITY:
        return rules->pod_affinity_weight;
    case FIT_SPREAD:
        return rules->spread_weight;
    case FIT_PART_COUNT:
        break;
    }
    return 0;
}

static void add_part(const struct fit_table *table, enum fit_part part, int64_t weight,
                     const int64_t *raws, int64_t *sums)
{
    for (uint32_t i = 0; i < table->n; i++)
        if (fits(table, i)) {
            int64_t points = points_of(table->span[part], part, raws[i]);
            sums[i] = fit_score(score_plus(sums[i], score_of_points(points, weight)));
        }
}

/* ---- the first of a gang that is to stay together -------------------------------------------- */

/* How many pods of the class the node has room for. */
static uint64_t places_on(const struct pod_class *cls, const struct sched_node *node)
{
    int64_t places = UINT32_MAX;
    for (uint32_t i = 0; i < cls->request.n; i++) {
        int64_t amount = cls->request.items[i].amount;
        int64_t room = resource_vector_get(&node->object->allocatable, cls->request.items[i].id) -
                       resource_vector_get(&node->used, cls->request.items[i].id);
        if (amount > 0 && room / amount < places)
            places = room / amount;
    }
    return places > 0 ? (uint64_t)places : 0;
}

/* The limit of the queue that holds on the node, NULL for none. */
static const struct group_limit *limit_on(const struct fit_table *table,
                                          const struct sched_node *node)
{
    return table->limited ? group_limit_of(table->queue, node) : NULL;
}

/* Counts the places on nodes of one limit, or on those without. */
static void count_near(const struct cache *cache, const struct fit_table *table,
                       const struct group_limit *limit)
{
    const struct pod_class *cls = table->cls;
    neighbours_limit_near(table->neighbours,
                          limit ? group_limit_places(limit, &cls->request) : UINT64_MAX);
    for (uint32_t i = 0; i < table->n; i++)
        if (fits(table, i) && limit_on(table, cache->nodes.items[i]) == limit)
            neighbours_add_near(table->neighbours, i, places_on(cls, cache->nodes.items[i]));
}

/* Where such a pod would have too little room for the others beside it, if there is a better place:
 * as scores, UNFIT. */
static void avoid_narrow_domains(const struct cache *cache, struct fit_table *table, int64_t *sums)
{
    struct neighbours *neighbours = table->neighbours;
    bool roomy = false;
    neighbours_begin_near(neighbours);
    count_near(cache, table, NULL);
    for (size_t i = 0; table->limited && i < table->queue->limits.n; i++)
        count_near(cache, table, &table->queue->limits.items[i]);
    for (uint32_t i = 0; i < table->n && !roomy; i++)
        roomy = fits(table, i) && neighbours_near(neighbours, i) >= table->wanted;
    for (uint32_t i = 0; i < table->n && roomy; i++)
        if (fits(table, i) && neighbours_near(neighbours, i) < table->wanted)
            sums[i] = UNFIT;
}

static void choose(struct fit_table *table, const int64_t *sums)
{
    int64_t most = UNFIT;
    for (uint32_t i = 0; i < table->n; i++)
        if (fits(table, i) && sums[i] > most) {
            most = sums[i];
            table->best = i;
        }
}

void fit_scan(struct cache *cache, const struct sched_config *config, struct fit_table *table)
{
    int64_t *sums = xcalloc(2 * (size_t)table->n + 1, sizeof(*sums)), *raws = sums + table->n;
    memcpy(sums, table->scores, table->n * sizeof(*sums));
    refuse(cache, config, table);
    if (counts(table, FIT_SPREAD))
        meet(table);
    for (enum fit_part part = 0; part < FIT_PART_COUNT; part++)
        if (counts(table, part)) {
            measure(table, part, raws);
            add_part(table, part, weight_of(&config->rules, part), raws, sums);
        }
    if (table->neighbours && table->wanted > 1 && neighbours_first(table->neighbours))
        avoid_narrow_domains(cache, table, sums);
    choose(table, sums);
    free(sums);
    cache->work += table->n / SCAN_WORK;
}

struct sched_node *fit_best_of(struct cache *cache, const struct fit_table *table,
                               bool (*may)(const struct sched_node *node, void *arg), void *arg)
{
    struct sched_node *best = NULL;
    for (uint32_t i = 0; i < table->n; i++) {
        struct sched_node *node = cache->nodes.items[i];
        bool better = fits(table, i) && (!best || table->scores[i] > table->scores[best->index]);
        if (better && may(node, arg))
            best = node;
    }
    cache->work += table->n / SCAN_WORK;
    return best;
}
