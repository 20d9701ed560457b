/*
 * struct volume: core/v1 PersistentVolume as the scheduler keeps it.
 *
 * Immutable once decoded and counted: the store holds one reference, whoever works with a version
 * another. Loop thread only.
 */
#ifndef PUMICE_API_VOLUME_H
#define PUMICE_API_VOLUME_H

#include "api/claim.h"

/* A label that says in which zones or region the volume can be reached. */
struct volume_place {
    const char *key;     /* interned */
    const char *ga_key;  /* constant: the key that took its place, or the same */
    const char **values; /* owned array of interned texts: any of them */
    uint32_t value_count;
};

struct volume {
    struct kube_meta meta; /* annotations are dropped after reading */
    struct storage_terms terms;
    struct node_selector affinity; /* where it can be reached */
    struct volume_place *places;   /* owned; likewise, by its labels */
    uint32_t place_count;
    /* The claim that it is kept for, or bound to; NULL without one. */
    const char *claim_ns, *claim_name, *claim_uid; /* interned; uid "" when it is not said */
    const char *driver, *handle; /* interned; of its CSI driver, NULL when it is of none */
    bool bound_by_controller;    /* a controller or scheduler chose the claim, not the user */
    bool available;              /* its phase is Available; */
    bool pending;                /* it is Pending, or there is none yet */
    uint32_t refs;
};

extern const struct store_type volume_store_type;

/* From raw JSON with one reference; NULL and `err` (ERROR_INVALID naming the volume) when it
 * cannot be read. */
struct volume *volume_decode(struct str raw, struct error *err);
struct volume *volume_ref(struct volume *volume);
/* Drops one reference; NULL is fine. */
void volume_unref(struct volume *volume);
/* True when nothing that scheduling looks at differs. */
bool volume_schedules_alike(const struct volume *a, const struct volume *b);

/* Whether it is kept for this very claim, or bound to it. */
bool volume_is_for(const struct volume *volume, const struct claim *claim);
/* Whether a node can reach it, by its node affinity. */
bool volume_reaches(const struct volume *volume, const char *node_name,
                    const struct kube_pairs *labels);
/* Whether the same nodes reach both, as far as equal words tell. */
bool volume_reached_alike(const struct volume *a, const struct volume *b);
/* Whether a node is in its zones and region; one that has no such labels is. */
bool volume_zone_fits(const struct volume *volume, const struct kube_pairs *labels);

#endif
