/*
 * What other pods mean for a pod, worked out for one decision by a look at every pod on every node:
 * affinity, spread and the points that are set in relation to other nodes, as the documentation of
 * Kubernetes and the names of its plugins' scores have them. Nothing is kept and nothing is clever.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_SLOW_NEIGHBOURS_H
#define PUMICE_TESTS_UNIT_SCHEDULER_SLOW_NEIGHBOURS_H

#include "cluster.h"
#include "scheduler/census.h"
#include "scheduler/config.h"
#include <math.h>

/* The pod that is to be placed. */
struct slow_pod {
    const struct cache *cache;
    const struct pod_class *cls;
    struct pod_labels labels;
};

static inline bool slow_selects(const struct cache *cache, const struct pod_selection *pods,
                                const struct pod_labels *labels)
{
    const struct kube_pairs *of_ns = map_get(&cache->census->namespaces, str_of(labels->set->ns));
    return pod_selection_has_namespace(pods, labels->set->ns, of_ns) &&
           label_selector_matches(&pods->selector, pod_labels_value, labels);
}

/* The value of a label of the node, or NULL. */
static inline const char *slow_domain(const struct sched_node *node, const char *key)
{
    return node && node->object ? kube_pairs_get(&node->object->meta.labels, key) : NULL;
}

static inline bool slow_same(const struct sched_node *a, const struct sched_node *b,
                             const char *key)
{
    const char *x = slow_domain(a, key), *y = slow_domain(b, key);
    return x && y && strcmp(x, y) == 0;
}

#define slow_each_placed(task, cache)                                                              \
    for (struct {                                                                                  \
             size_t i;                                                                             \
             void *value;                                                                          \
         } at_ = {0, NULL};                                                                        \
         map_next(&(cache)->tasks_by_uid, &at_.i, NULL, &at_.value);)                              \
        for (const struct sched_task *task = at_.value; task && task->node; task = NULL)

static inline struct pod_labels slow_labels(const struct sched_task *task)
{
    return pod_labels_of(task->pod);
}

/* ---- affinity -------------------------------------------------------------------------------- */

static inline bool slow_all_terms(const struct slow_pod *pod, const struct pod_labels *labels)
{
    bool any = false;
    for (uint32_t i = 0; i < pod->cls->rules.term_count; i++) {
        const struct pod_term *term = &pod->cls->rules.terms[i];
        if (term->kind != TERM_AFFINITY)
            continue;
        any = true;
        if (!slow_selects(pod->cache, &term->pods, labels))
            return false;
    }
    return any;
}

/* Whether a pod that all terms mean shares the node's domain (node NULL: any domain at all). */
static inline bool slow_has_friend(const struct slow_pod *pod, const struct pod_term *term,
                                   const struct sched_node *node)
{
    slow_each_placed(task, pod->cache)
    {
        struct pod_labels labels = slow_labels(task);
        if (!slow_all_terms(pod, &labels))
            continue;
        if (node ? slow_same(task->node, node, term->topology_key)
                 : slow_domain(task->node, term->topology_key) != NULL)
            return true;
    }
    return false;
}

static inline bool slow_near(const struct slow_pod *pod, const struct sched_node *node)
{
    bool all = true, first = true;
    for (uint32_t i = 0; i < pod->cls->rules.term_count; i++) {
        const struct pod_term *term = &pod->cls->rules.terms[i];
        if (term->kind != TERM_AFFINITY)
            continue;
        if (!slow_domain(node, term->topology_key))
            return false;
        all = all && slow_has_friend(pod, term, node);
        first = first && !slow_has_friend(pod, term, NULL);
    }
    return all || (first && slow_all_terms(pod, &pod->labels));
}

static inline bool slow_apart(const struct slow_pod *pod, const struct sched_node *node)
{
    slow_each_placed(task, pod->cache)
    {
        struct pod_labels labels = slow_labels(task);
        for (uint32_t i = 0; i < pod->cls->rules.term_count; i++) {
            const struct pod_term *term = &pod->cls->rules.terms[i];
            if (term->kind == TERM_ANTI_AFFINITY &&
                slow_selects(pod->cache, &term->pods, &labels) &&
                slow_same(task->node, node, term->topology_key))
                return false;
        }
        const struct pod_rules *theirs = &task->pod->cls->rules;
        for (uint32_t i = 0; i < theirs->term_count; i++)
            if (theirs->terms[i].kind == TERM_ANTI_AFFINITY &&
                slow_selects(pod->cache, &theirs->terms[i].pods, &pod->labels) &&
                slow_same(task->node, node, theirs->terms[i].topology_key))
                return false;
    }
    return true;
}

static inline int64_t slow_weight(const struct pod_term *term)
{
    return term->kind == TERM_PREFERRED_AFFINITY        ? term->weight
           : term->kind == TERM_PREFERRED_ANTI_AFFINITY ? -term->weight
                                                        : 0;
}

static inline int64_t slow_draw(const struct slow_pod *pod, const struct sched_node *node)
{
    int64_t sum = 0;
    slow_each_placed(task, pod->cache)
    {
        struct pod_labels labels = slow_labels(task);
        const struct pod_rules *ours = &pod->cls->rules, *theirs = &task->pod->cls->rules;
        for (uint32_t i = 0; i < ours->term_count; i++)
            if (slow_selects(pod->cache, &ours->terms[i].pods, &labels) &&
                slow_same(task->node, node, ours->terms[i].topology_key))
                sum += slow_weight(&ours->terms[i]);
        for (uint32_t i = 0; i < theirs->term_count; i++) {
            const struct pod_term *term = &theirs->terms[i];
            if (slow_selects(pod->cache, &term->pods, &pod->labels) &&
                slow_same(task->node, node, term->topology_key))
                sum += term->kind == TERM_AFFINITY ? 1 : slow_weight(term);
        }
    }
    return sum;
}

/* ---- spread ---------------------------------------------------------------------------------- */

static inline bool slow_has_labels(const struct slow_pod *pod, const struct sched_node *node,
                                   bool required)
{
    for (uint32_t i = 0; i < pod->cls->rules.spread_count; i++)
        if (pod->cls->rules.spreads[i].required == required &&
            !slow_domain(node, pod->cls->rules.spreads[i].topology_key))
            return false;
    return true;
}

/* Whether pods on the node count for a constraint. */
static inline bool slow_counts(const struct slow_pod *pod, const struct spread_constraint *rule,
                               const struct sched_node *node)
{
    const struct node *object = node->object;
    if (!object || !slow_has_labels(pod, node, rule->required))
        return false;
    if (rule->honors_nodes &&
        (!node_labels_hold(&object->meta.labels, &pod->cls->node_selector) ||
         !node_selector_matches(&pod->cls->affinity, object->meta.name, &object->meta.labels)))
        return false;
    return !rule->honors_taints || !taints_untolerated(&object->taints, &pod->cls->tolerations);
}

static inline int64_t slow_pods_on(const struct slow_pod *pod, const struct spread_constraint *rule,
                                   const struct sched_node *node)
{
    int64_t count = 0;
    slow_each_placed(task, pod->cache)
    {
        struct pod_labels labels = slow_labels(task);
        count += task->node->index == node->index && task->status != TASK_RELEASING &&
                 rule->pods.selector.all.n && slow_selects(pod->cache, &rule->pods, &labels);
    }
    return count;
}

static inline int64_t slow_in_domain(const struct slow_pod *pod,
                                     const struct spread_constraint *rule,
                                     const struct sched_node *node)
{
    int64_t count = 0;
    for (size_t i = 0; i < pod->cache->nodes.n; i++) {
        const struct sched_node *other = pod->cache->nodes.items[i];
        if (other && slow_counts(pod, rule, other) && slow_same(other, node, rule->topology_key))
            count += slow_pods_on(pod, rule, other);
    }
    return count;
}

/* Whether the node is the first that counts of its domain. */
static inline bool slow_is_first(const struct slow_pod *pod, const struct spread_constraint *rule,
                                 size_t index)
{
    for (size_t i = 0; i < index; i++) {
        const struct sched_node *other = pod->cache->nodes.items[i];
        if (other && slow_counts(pod, rule, other) &&
            slow_same(other, pod->cache->nodes.items[index], rule->topology_key))
            return false;
    }
    return true;
}

/* The least pods in any domain that counts; 0 when there are too few domains. */
static inline int64_t slow_least(const struct slow_pod *pod, const struct spread_constraint *rule)
{
    int64_t least = INT32_MAX, domains = 0;
    for (size_t i = 0; i < pod->cache->nodes.n; i++) {
        const struct sched_node *node = pod->cache->nodes.items[i];
        if (!node || !slow_counts(pod, rule, node) || !slow_is_first(pod, rule, i))
            continue;
        int64_t here = slow_in_domain(pod, rule, node);
        least = here < least ? here : least;
        domains++;
    }
    return domains < rule->min_domains ? 0 : least;
}

static inline bool slow_spread(const struct slow_pod *pod, const struct sched_node *node)
{
    for (uint32_t i = 0; i < pod->cls->rules.spread_count; i++) {
        const struct spread_constraint *rule = &pod->cls->rules.spreads[i];
        if (!rule->required)
            continue;
        if (!slow_domain(node, rule->topology_key))
            return false;
        int64_t self = slow_selects(pod->cache, &rule->pods, &pod->labels);
        if (slow_in_domain(pod, rule, node) + self - slow_least(pod, rule) > rule->max_skew)
            return false;
    }
    return true;
}

/* How many domains the nodes that fit are in; each node is one of its own. */
static inline double slow_domains(const struct slow_pod *pod, const struct spread_constraint *rule,
                                  const bool *fits)
{
    bool hostname = strcmp(rule->topology_key, "kubernetes.io/hostname") == 0;
    double domains = 0;
    for (size_t i = 0; i < pod->cache->nodes.n; i++) {
        bool first = fits[i] && slow_has_labels(pod, pod->cache->nodes.items[i], false);
        for (size_t k = 0; k < i && first && !hostname; k++)
            first = !fits[k] || !slow_has_labels(pod, pod->cache->nodes.items[k], false) ||
                    !slow_same(pod->cache->nodes.items[k], pod->cache->nodes.items[i],
                               rule->topology_key);
        domains += first;
    }
    return domains;
}

/* -1 for a node that does not count. */
static inline int64_t slow_crowd(const struct slow_pod *pod, const struct sched_node *node,
                                 const bool *fits)
{
    double sum = 0;
    if (!slow_has_labels(pod, node, false))
        return -1;
    for (uint32_t i = 0; i < pod->cls->rules.spread_count; i++) {
        const struct spread_constraint *rule = &pod->cls->rules.spreads[i];
        if (rule->required)
            continue;
        bool hostname = strcmp(rule->topology_key, "kubernetes.io/hostname") == 0;
        int64_t pods = hostname ? slow_pods_on(pod, rule, node) : slow_in_domain(pod, rule, node);
        sum += (double)pods * log(slow_domains(pod, rule, fits) + 2) + (rule->max_skew - 1);
    }
    return (int64_t)round(sum);
}

static inline bool slow_prefers_spread(const struct slow_pod *pod)
{
    for (uint32_t i = 0; i < pod->cls->rules.spread_count; i++)
        if (!pod->cls->rules.spreads[i].required)
            return true;
    return false;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static inline bool slow_may(const struct slow_pod *pod, const struct sched_node *node)
{
    return slow_spread(pod, node) && slow_near(pod, node) && slow_apart(pod, node);
}

/* The raw scores of all nodes that fit; `kind` in the order of enum fit_part. */
static inline int64_t slow_raw(const struct slow_pod *pod, enum fit_part part,
                               const struct sched_node *node, const bool *fits)
{
    const struct node *object = node->object;
    switch (part) {
    case FIT_TAINTS:
        return taints_unpreferred(&object->taints, &pod->cls->tolerations);
    case FIT_NODE_AFFINITY:
        return preferred_terms_weight(&pod->cls->preferred, object->meta.name,
                                      &object->meta.labels);
    case FIT_POD_AFFINITY:
        return slow_draw(pod, node);
    case FIT_SPREAD:
        return slow_prefers_spread(pod) ? slow_crowd(pod, node, fits) : 0;
    case FIT_PART_COUNT:
        break;
    }
    return 0;
}

static inline int64_t slow_points(enum fit_part part, int64_t raw, int64_t least, int64_t most)
{
    switch (part) {
    case FIT_TAINTS:
        return most ? 100 - 100 * raw / most : 100;
    case FIT_NODE_AFFINITY:
        return most ? 100 * raw / most : 0;
    case FIT_POD_AFFINITY:
        return most > least ? (int64_t)(100.0 * ((double)(raw - least) / (double)(most - least)))
                            : 0;
    case FIT_SPREAD:
        return raw < 0 ? 0 : most ? 100 * (most + least - raw) / most : 100;
    case FIT_PART_COUNT:
        break;
    }
    return 0;
}

/* Adds weighted points of one part to the scores of the nodes that fit. */
static inline void slow_add(const struct slow_pod *pod, enum fit_part part, int64_t weight,
                            const bool *fits, int64_t *scores)
{
    size_t n = pod->cache->nodes.n;
    int64_t *raws = xcalloc(n + 1, sizeof(*raws));
    int64_t least = INT64_MAX, most = part == FIT_POD_AFFINITY ? INT64_MIN : 0;
    for (size_t i = 0; i < n; i++) {
        if (!fits[i])
            continue;
        raws[i] = slow_raw(pod, part, pod->cache->nodes.items[i], fits);
        if (part == FIT_SPREAD && raws[i] < 0)
            continue;
        least = raws[i] < least ? raws[i] : least;
        most = raws[i] > most ? raws[i] : most;
    }
    for (size_t i = 0; i < n; i++)
        if (fits[i])
            scores[i] += slow_points(part, raws[i], least, most) * weight * 1000000;
    free(raws);
}

#endif
