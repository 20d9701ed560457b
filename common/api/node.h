/*
 * struct node: core/v1 Node as the scheduler keeps it.
 *
 * Immutable once decoded and counted: the store holds one reference, the scheduler's cache another,
 * so that a version stays readable while a cycle works on it. Loop thread only.
 */
#ifndef PUMICE_API_NODE_H
#define PUMICE_API_NODE_H

#include "api/resources.h"
#include "api/selector.h"
#include "kube/store.h"

/* A name of a container image that is there, and its size in bytes. */
struct node_image {
    const char *name; /* interned */
    int64_t size;
};

struct node {
    struct kube_meta meta; /* annotations are not kept */
    struct resource_vector allocatable;
    struct taints taints;
    struct node_image *images; /* owned; each name once */
    uint32_t image_count;
    bool unschedulable; /* cordoned */
    uint32_t refs;
};

extern const struct store_type node_store_type;

/* From raw JSON with one reference; NULL and `err` (ERROR_INVALID naming the node) when it cannot
 * be read. */
struct node *node_decode(struct str raw, struct error *err);
struct node *node_ref(struct node *node);
/* Drops one reference; NULL is fine. */
void node_unref(struct node *node);
/* True when nothing differs that says which pods may run there. */
bool node_admits_alike(const struct node *a, const struct node *b);
/* The same, and nothing that says how well they would: container images. */
bool node_schedules_alike(const struct node *a, const struct node *b);

#endif
