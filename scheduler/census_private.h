/*
 * What the parts of the census share. See census.h; only they include this.
 */
#ifndef PUMICE_SCHEDULER_CENSUS_PRIVATE_H
#define PUMICE_SCHEDULER_CENSUS_PRIVATE_H

#include "scheduler/census.h"

/* ---- populations: census.c ---------------------------------------------------------------------
 */

/* The population of pods that all of these select, counted; they live in `source`. */
struct population *population_get(struct cache *cache, struct pod_class *source,
                                  const struct pod_selection *const *all, uint32_t n);
/* There is more room than before: whoever found none may try again. */
void census_eased(struct cache *cache);
/* Drops one reference; NULL is fine. */
void population_put(struct cache *cache, struct population *population);
/* Whether it may mean pods of the set, whatever their index; whether it means the task, one of such
 * a set. */
bool population_may_mean(const struct cache *cache, const struct population *population,
                         const struct label_set *set);
bool population_means_task(const struct population *population, const struct sched_task *task);

/* The most that a class adds to what is counted. */
static inline size_t census_share_of(const struct pod_class *cls)
{
    return (size_t)cls->rules.term_count + cls->rules.spread_count + 1;
}

/* ---- sets of labels: census_sets.c --------------------------------------------------------------
 */

/* The record of a set of labels, noting who may mean it; it has none yet. */
struct census_set *census_set_new(struct cache *cache, struct label_set *labels);
/* Frees it; no pod may be in it. */
void census_set_free(struct census_set *set);
/* Whether it is noted that the population may mean such pods; notes it. */
bool census_set_notes(const struct census_set *set, const struct population *population);
void census_set_note(struct census_set *set, const struct population *population, bool meant);
/* Gives a new population its number, which no set notes. */
void census_number(struct cache *cache, struct population *population);
/* A population goes, whatever sets note of it. */
void census_number_drop(struct census *census, const struct population *population);

/* ---- terms that pods carry: census_terms.c ------------------------------------------------------
 */

/* What is carried of such a term, counted. */
struct carried *carried_get(struct cache *cache, struct pod_class *cls,
                            const struct pod_term *term);
/* Drops one reference. */
void carried_put(struct cache *cache, struct carried *carried);
/* A pod on the node carries the term from now on (`sign` 1), or no longer (-1). */
void carried_add(struct carried *carried, const struct pod_term *term, uint32_t node, int64_t sign);

#endif
