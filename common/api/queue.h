/*
 * struct queue: scheduling.volcano.sh/v1beta1 Queue as webhook, scheduler and controller keep it.
 */
#ifndef PUMICE_API_QUEUE_H
#define PUMICE_API_QUEUE_H

#include "api/nodegroups.h"

/* Annotations of hierarchical sharing: the path from root, and the weights along it. */
#define KEY_QUEUE_HIERARCHY "volcano.sh/hierarchy"
#define KEY_QUEUE_HIERARCHY_WEIGHTS "volcano.sh/hierarchy-weights"

struct queue_resources {
    struct podgroup_resource *items; /* owned, sorted by name */
    uint32_t n;
    bool present; /* the map was there, maybe empty */
};

struct queue {
    struct kube_meta meta; /* all annotations are kept */
    int32_t weight;        /* 1 when absent */
    int32_t priority;
    bool reclaimable;   /* true when absent */
    const char *parent; /* interned; "" when absent */
    struct queue_resources capability, deserved, guarantee;
    struct node_groups *groups;       /* counted; NULL when nothing is said of groups of nodes */
    const char *state;                /* interned; status.state, "Open" when empty */
    bool has_state;                   /* status.state is not empty */
    struct queue_resources allocated; /* status.allocated */
};

extern const struct store_type queue_store_type;

struct queue *queue_decode(struct str raw, struct error *err);
void queue_free(struct queue *queue);
bool queue_is_open(const struct queue *queue);

#endif
