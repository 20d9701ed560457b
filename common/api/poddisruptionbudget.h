/*
 * struct poddisruptionbudget: policy/v1 PodDisruptionBudget as the scheduler keeps it.
 *
 * Immutable once decoded and counted: the store holds one reference, the scheduler's cache another.
 * Loop thread only.
 */
#ifndef PUMICE_API_PODDISRUPTIONBUDGET_H
#define PUMICE_API_PODDISRUPTIONBUDGET_H

#include "api/selector.h"
#include "kube/store.h"

struct poddisruptionbudget {
    struct kube_meta meta;          /* labels and annotations are not kept */
    struct label_selector selector; /* of pods of its namespace; without requirements: all */
    /* How many more pods may be evicted now; 0 while the status is of an older spec. */
    int32_t allowed;
    /* Running pods that are not ready may be evicted, however many: spec.unhealthyPodEvictionPolicy
     * says always, or as many are healthy as should be. */
    bool unready_may_go;
    const char **disrupted; /* owned array, interned: names of pods that are counted as evicted */
    uint32_t disrupted_count;
    uint32_t refs;
};

extern const struct store_type poddisruptionbudget_store_type;

/* From raw JSON with one reference; NULL and `err` (ERROR_INVALID naming the budget) when it cannot
 * be read. */
struct poddisruptionbudget *poddisruptionbudget_decode(struct str raw, struct error *err);
struct poddisruptionbudget *poddisruptionbudget_ref(struct poddisruptionbudget *budget);
/* Drops one reference; NULL is fine. */
void poddisruptionbudget_unref(struct poddisruptionbudget *budget);
/* Whether the pod of that name (interned) is counted as evicted already. */
bool poddisruptionbudget_counts(const struct poddisruptionbudget *budget, const char *pod);

#endif
