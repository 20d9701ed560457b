/*
 * struct csinode: storage.k8s.io/v1 CSINode as the scheduler keeps it: how many volumes of each
 * driver a node may have.
 *
 * Immutable once decoded and counted: the store holds one reference, whoever works with a version
 * another. Loop thread only.
 */
#ifndef PUMICE_API_CSINODE_H
#define PUMICE_API_CSINODE_H

#include "kube/store.h"

struct csinode_driver {
    const char *name; /* interned */
    int32_t limit;    /* allocatable.count */
};

struct csinode {
    struct kube_meta meta;          /* its name is that of the node; no labels nor annotations */
    struct csinode_driver *drivers; /* owned; those with a limit */
    uint32_t driver_count;
    uint32_t refs;
};

extern const struct store_type csinode_store_type;

/* From raw JSON with one reference; NULL and `err` (ERROR_INVALID naming the node) when it cannot
 * be read. */
struct csinode *csinode_decode(struct str raw, struct error *err);
struct csinode *csinode_ref(struct csinode *csinode);
/* Drops one reference; NULL is fine. */
void csinode_unref(struct csinode *csinode);
/* True when the limits are the same. */
bool csinode_schedules_alike(const struct csinode *a, const struct csinode *b);
/* How many volumes of a driver (its interned name) the node may have, INT32_MAX without a limit. */
int32_t csinode_limit(const struct csinode *csinode, const char *driver);

#endif
