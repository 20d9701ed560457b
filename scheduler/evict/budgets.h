/*
 * What PodDisruptionBudgets let go, counted over those who are to go together.
 *
 * As the eviction API counts: a pod may go when the budget that selects it allows one more
 * disruption after those counted before. Pods that do not run yet, or have ended, are no concern of
 * budgets, nor are running pods that are not ready where the budget says so. One that several
 * budgets select stays: the API refuses it, whatever they allow. As long as the budgets are not
 * known, nobody goes. No plugin has to be configured for this. Loop thread only; the budgets must
 * not change between begin and clear.
 */
#ifndef PUMICE_SCHEDULER_EVICT_BUDGETS_H
#define PUMICE_SCHEDULER_EVICT_BUDGETS_H

#include "scheduler/cache.h"

/* What a budget still allows; below 0 after budget_tally_charge. */
struct budget_left {
    const struct poddisruptionbudget *budget; /* borrowed */
    int64_t left;
};

struct budget_tally {
    const struct cache *cache;  /* borrowed */
    VEC(struct budget_left) of; /* the budgets that selected any pod so far */
};

/* Nobody is counted. */
void budget_tally_begin(struct budget_tally *tally, const struct cache *cache);
/* Whether the pod may go, too; if so it counts from now on. */
bool budget_tally_take(struct budget_tally *tally, const struct pod *pod);
/* It counts though nobody asks whether it may: it is on its way. Nothing when the budget shows that
 * already. */
void budget_tally_charge(struct budget_tally *tally, const struct pod *pod);
/* The same for all pods of the job that were asked to go and do not show it yet. */
void budget_tally_charge_leaving(struct budget_tally *tally, const struct sched_job *job);
/* A pod that was taken, or is not on its way after all, counts no more. */
void budget_tally_give_back(struct budget_tally *tally, const struct pod *pod);
/* Frees what it holds; it can begin again. */
void budget_tally_clear(struct budget_tally *tally);

#endif
