/*
 * struct resourcequota: core/v1 ResourceQuota as the scheduler keeps it.
 *
 * Immutable once decoded and counted: the store holds one reference, the scheduler's cache another,
 * so that a version stays readable while a cycle works on it. Loop thread only.
 */
#ifndef PUMICE_API_RESOURCEQUOTA_H
#define PUMICE_API_RESOURCEQUOTA_H

#include "api/resourcelist.h"
#include "kube/store.h"

struct resourcequota {
    struct kube_meta meta; /* labels and annotations are not kept */
    /* From its status, as the API server enforces it; names as they are there: "requests.cpu". What
     * is not in `used` is not used. */
    resource_list hard, used;
    bool scoped; /* counts some of the pods only */
    uint32_t refs;
};

extern const struct store_type resourcequota_store_type;

/* From raw JSON with one reference; NULL and `err` (ERROR_INVALID naming the quota) when it cannot
 * be read. */
struct resourcequota *resourcequota_decode(struct str raw, struct error *err);
struct resourcequota *resourcequota_ref(struct resourcequota *quota);
/* Drops one reference; NULL is fine. */
void resourcequota_unref(struct resourcequota *quota);
/* Whether what was refused under the one version may be allowed under the next; NULL: there is
 * none. */
bool resourcequota_eases(const struct resourcequota *before, const struct resourcequota *after);
/* What pods ask for that a name in a quota, or in minResources, stands for: "cpu" for
 * "requests.cpu". A part of `name`. */
struct str resourcequota_resource(struct str name);

#endif
