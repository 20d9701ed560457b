/*
 * Which labels nodes have, and the terms of pods (census.h) that are about the domains of each.
 *
 * Terms may name any label, as many as their authors like. Those about a label that no node has
 * mean nothing for anybody, and cost nobody anything until a node gets it. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_NODE_LABELS_H
#define PUMICE_SCHEDULER_NODE_LABELS_H

#include "scheduler/cache.h"

struct node_label {
    const char *key;     /* interned */
    uint32_t nodes;      /* known ones that have it, whatever its value */
    struct list carried; /* struct carried over its domains */
};

/* The label, made when nothing names it yet. */
struct node_label *node_label_get(struct cache *cache, const char *key);
/* Frees it when no node has it and no term names it. */
void node_label_drop(struct cache *cache, struct node_label *label);
/* The object of a node, `old` until now, is another; NULL: none. For the cache. */
void node_labels_change(struct cache *cache, const struct node *old, const struct node *now);
/* The counts compared with a recount; a constant text on the first difference, else NULL. */
const char *node_labels_audit(const struct cache *cache);
/* Frees all; no term may be left. */
void node_labels_clear(struct cache *cache);

#endif
