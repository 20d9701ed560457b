/*
 * struct storageclass: storage.k8s.io/v1 StorageClass as the scheduler keeps it.
 *
 * Immutable once decoded and counted: the store holds one reference, whoever works with a version
 * another. Loop thread only.
 */
#ifndef PUMICE_API_STORAGECLASS_H
#define PUMICE_API_STORAGECLASS_H

#include "api/selector.h"
#include "kube/store.h"

struct storageclass {
    struct kube_meta meta; /* labels and annotations are not kept */
    const char *driver;    /* interned; what makes and attaches its volumes, "" for none */
    bool waits;            /* volumeBindingMode: WaitForFirstConsumer */
    bool provisions;       /* volumes can be made for claims of it */
    struct node_selector topologies; /* allowedTopologies: where they can be made */
    uint32_t refs;
};

extern const struct store_type storageclass_store_type;

/* From raw JSON with one reference; NULL and `err` (ERROR_INVALID naming the class) when it cannot
 * be read. */
struct storageclass *storageclass_decode(struct str raw, struct error *err);
struct storageclass *storageclass_ref(struct storageclass *storageclass);
/* Drops one reference; NULL is fine. */
void storageclass_unref(struct storageclass *storageclass);
/* Whether a volume can be made for use on such a node. */
bool storageclass_serves(const struct storageclass *storageclass, const char *node_name,
                         const struct kube_pairs *labels);

#endif
