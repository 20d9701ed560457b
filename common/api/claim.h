/*
 * struct claim: core/v1 PersistentVolumeClaim as the scheduler keeps it, and what claims have in
 * common with PersistentVolumes.
 *
 * Immutable once decoded and counted: the store holds one reference, whoever works with a version
 * another. Loop thread only.
 */
#ifndef PUMICE_API_CLAIM_H
#define PUMICE_API_CLAIM_H

#include "api/selector.h"
#include "base/quantity.h"
#include "kube/store.h"

#define KEY_BIND_COMPLETED "pv.kubernetes.io/bind-completed"
#define KEY_BOUND_BY_CONTROLLER "pv.kubernetes.io/bound-by-controller"
#define KEY_SELECTED_NODE "volume.kubernetes.io/selected-node"

/* ---- claims and volumes -----------------------------------------------------------------------
 */

/* Bits of a set of access modes. */
enum {
    ACCESS_READ_WRITE_ONCE = 1,
    ACCESS_READ_ONLY_MANY = 2,
    ACCESS_READ_WRITE_MANY = 4,
    ACCESS_READ_WRITE_ONCE_POD = 8,
    ACCESS_OTHER = 16 /* a mode of the future */
};

/* What a claim asks for and a volume offers in the same words. */
struct storage_terms {
    quantity_nano size;          /* of `storage`; 0 when absent */
    const char *class_name;      /* interned; "" for none; the old annotation comes first */
    const char *attributes_name; /* interned; volumeAttributesClassName, "" for none */
    uint8_t access_modes;
    bool block; /* volumeMode: Block */
};

/* Reads a member of the spec that both have; false when `key` is none of them. `resources` and
 * `capacity` are not. */
bool storage_terms_member(struct json_reader *reader, struct str key, struct storage_terms *terms);
/* Reads the object of quantities that comes next, for `storage`. */
void storage_terms_size(struct json_reader *reader, struct storage_terms *terms);
/* Fills in what was absent; `annotations` may hold the old name of the class. */
void storage_terms_finish(struct storage_terms *terms, const struct kube_pairs *annotations);
void storage_terms_clear(struct storage_terms *terms);
bool storage_terms_equal(const struct storage_terms *a, const struct storage_terms *b);
/* For metadata: true for the annotations of claims and volumes that are looked at. */
bool storage_keep_annotation(struct str key);

/* ---- claims ------------------------------------------------------------------------------------
 */

struct claim {
    struct kube_meta meta; /* labels and annotations are dropped after reading */
    struct storage_terms terms;
    struct label_selector selector; /* of volumes */
    const char *volume;             /* interned; spec.volumeName, "" for none */
    const char *selected_node;      /* interned; its annotation, NULL without one */
    bool bind_completed;            /* the volume is bound to it as well */
    bool lost;                      /* its volume is gone for good */
    uint32_t refs;
};

extern const struct store_type claim_store_type;

/* From raw JSON with one reference; NULL and `err` (ERROR_INVALID naming the claim) when it cannot
 * be read. */
struct claim *claim_decode(struct str raw, struct error *err);
struct claim *claim_ref(struct claim *claim);
/* Drops one reference; NULL is fine. */
void claim_unref(struct claim *claim);
/* Whether it has its volume. */
static inline bool claim_is_bound(const struct claim *claim)
{
    return claim->volume[0] && claim->bind_completed;
}
/* True when nothing that scheduling looks at differs. */
bool claim_schedules_alike(const struct claim *a, const struct claim *b);

#endif
