/*
 * struct namespace_labels: core/v1 Namespace as the scheduler keeps it: its labels, by which
 * affinity terms select. Immutable, owned by its store.
 */
#ifndef PUMICE_API_NAMESPACE_H
#define PUMICE_API_NAMESPACE_H

#include "kube/meta.h"
#include "kube/store.h"

struct namespace_labels {
    struct kube_meta meta; /* annotations are not kept */
};

extern const struct store_type namespace_labels_store_type;

/* From raw JSON; NULL and `err` when it cannot be read. */
struct namespace_labels *namespace_labels_decode(struct str raw, struct error *err);
void namespace_labels_free(struct namespace_labels *space);

#endif
