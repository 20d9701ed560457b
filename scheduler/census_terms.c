/*
 * Terms that pods carry, by whom they mean and over the domains of which label. See census.h.
 *
 * Only those count for other pods that are about a label which some node has: they are felt.
 */
#include "base/ensure.h"
#include "scheduler/census_private.h"
#include "scheduler/fit.h"

/* What pods that must be near others say of their liking for them, in weights of preferred terms:
 * kube-scheduler's default. */
#define HARD_AFFINITY_WEIGHT 1

static void list_drop(carried_list *list, const struct carried *carried)
{
    size_t at = 0;
    while (at < list->n && list->items[at] != carried)
        at++;
    ENSURE(at < list->n);
    vec_swap_remove(list, at);
}

static void feel(struct cache *cache, struct carried *carried)
{
    vec_push(&carried->population->felt, carried);
    cache->census->felt++;
}

static void feel_no_more(struct cache *cache, struct carried *carried)
{
    list_drop(&carried->population->felt, carried);
    cache->census->felt--;
}

static struct carried *carried_new(struct cache *cache, struct population *population,
                                   struct node_label *label)
{
    struct carried *carried = xnew(struct carried);
    carried->population = population;
    population->refs++;
    carried->label = label;
    carried->id = cache->census->next_id++;
    list_append(&label->carried, &carried->link);
    vec_push(&population->carried, carried);
    cache->census->carried++;
    if (label->nodes)
        feel(cache, carried);
    return carried;
}

struct carried *carried_get(struct cache *cache, struct pod_class *cls, const struct pod_term *term)
{
    const struct pod_selection *all = &term->pods;
    struct population *population = population_get(cache, cls, &all, 1);
    struct node_label *label = node_label_get(cache, term->topology_key);
    struct carried *carried = NULL;
    for (size_t i = 0; i < population->carried.n && !carried; i++)
        if (population->carried.items[i]->label == label)
            carried = population->carried.items[i];
    if (!carried)
        carried = carried_new(cache, population, label);
    carried->refs++;
    population_put(cache, population);
    return carried;
}

void carried_put(struct cache *cache, struct carried *carried)
{
    struct population *population = carried->population;
    ENSURE(carried->refs > 0);
    if (--carried->refs)
        return;
    if (carried->label->nodes)
        feel_no_more(cache, carried);
    list_drop(&population->carried, carried);
    list_remove(&carried->link);
    node_label_drop(cache, carried->label);
    cache->census->carried--;
    fit_forget(cache, &carried->repels);
    fit_forget(cache, &carried->draws);
    counts_clear(&carried->repels);
    counts_clear(&carried->draws);
    free(carried);
    census_eased(cache);
    population_put(cache, population);
}

void carried_add(struct carried *carried, const struct pod_term *term, uint32_t node, int64_t sign)
{
    switch (term->kind) {
    case TERM_ANTI_AFFINITY:
        counts_add(&carried->repels, node, sign);
        break;
    case TERM_AFFINITY:
        counts_add(&carried->draws, node, sign * HARD_AFFINITY_WEIGHT);
        break;
    case TERM_PREFERRED_AFFINITY:
        counts_add(&carried->draws, node, sign * term->weight);
        break;
    case TERM_PREFERRED_ANTI_AFFINITY:
        counts_add(&carried->draws, node, -sign * term->weight);
        break;
    }
}

void census_label_came(struct cache *cache, struct node_label *label)
{
    list_each(link, &label->carried) feel(cache, container_of(link, struct carried, link));
}

void census_label_went(struct cache *cache, struct node_label *label)
{
    list_each(link, &label->carried) feel_no_more(cache, container_of(link, struct carried, link));
}
