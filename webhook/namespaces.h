/*
 * struct namespace_snapshot: the Namespaces at one moment, with the queue that each names for its
 * PodGroups. Published and read as queue snapshots are; views and snapshots are struct shared.
 */
#ifndef PUMICE_WEBHOOK_NAMESPACES_H
#define PUMICE_WEBHOOK_NAMESPACES_H

#include "kube/store.h"
#include "webhook/shared.h"

#define NAMESPACE_QUEUE "scheduling.volcano.sh/queue-name" /* annotation of a Namespace */

/* A Namespace in the store of the loop: only its name and that annotation are kept. */
struct namespace_object {
    struct kube_meta meta;
};
extern const struct store_type namespace_store_type;

struct namespace_view {
    struct shared shared;
    struct str name, queue; /* in `text`, NUL-terminated */
    bool has_queue;         /* the annotation is there, maybe empty */
    char text[];
};

/* Copies what is needed; `queue` NULL: no annotation. One reference. */
struct namespace_view *namespace_view_new(struct str name, const struct str *queue);

struct namespace_snapshot {
    struct shared shared;
    bool synced;
    struct namespace_view **views; /* owned array of owned references, sorted by name */
    size_t n;
};

/* Takes over the references in `views` (the array stays the caller's). One reference. */
struct namespace_snapshot *namespace_snapshot_new(struct namespace_view *const *views, size_t n,
                                                  bool synced);
/* The Namespace of that name, or NULL. Borrowed from the snapshot. */
const struct namespace_view *namespace_snapshot_get(const struct namespace_snapshot *snapshot,
                                                    struct str name);

#endif
