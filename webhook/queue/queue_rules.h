/*
 * What the files of the queue rules share.
 */
#ifndef PUMICE_WEBHOOK_QUEUE_RULES_H
#define PUMICE_WEBHOOK_QUEUE_RULES_H

#include "webhook/registry.h"

#define QUEUE_HIERARCHY "volcano.sh/hierarchy"
#define QUEUE_HIERARCHY_WEIGHTS "volcano.sh/hierarchy-weights"

/* The queue under review, read. */
struct queue_case {
    struct admission_case *c;
    const char *name, *parent; /* borrowed from the tree */
    struct resources capability, deserved, guarantee;
    bool parent_changed, resources_changed; /* both true on CREATE */
};

/* The fields by themselves: quantities, state, hierarchy annotations. */
void queue_check_fields(struct queue_case *q);
/* spec.parent: exists, no cycle, not too deep, takes children. */
void queue_check_parent(struct queue_case *q);
/* Capability, guarantee and deserved against ancestors, siblings and children. */
void queue_check_hierarchy(struct queue_case *q);

#endif
