/*
 * struct seen_lease: a Lease as members and leader see it through the watch.
 */
#ifndef PUMICE_CONTROLLER_SHARDS_SEEN_LEASE_H
#define PUMICE_CONTROLLER_SHARDS_SEEN_LEASE_H

#include "kube/meta.h"
#include "kube/store.h"

struct seen_lease {
    struct kube_meta meta; /* with the annotations of shards, and no others */
    bool held;             /* holderIdentity is not "" */
    int64_t duration_ns;   /* 0: it does not say */
    int32_t term;          /* leaseTransitions */
    uint64_t spec;         /* a number for its spec as it stands: another one is a sign of life */
};

extern const struct store_type seen_lease_store_type;

/* NULL and `err` when it cannot be read. */
struct seen_lease *seen_lease_decode(struct str raw, struct error *err);
void seen_lease_free(struct seen_lease *lease);

#endif
