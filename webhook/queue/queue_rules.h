/*
 * What the files of the queue rules share.
 */
#ifndef PUMICE_WEBHOOK_QUEUE_RULES_H
#define PUMICE_WEBHOOK_QUEUE_RULES_H

#include "webhook/registry.h"

#define QUEUE_HIERARCHY "volcano.sh/hierarchy"
#define QUEUE_HIERARCHY_WEIGHTS "volcano.sh/hierarchy-weights"

/* What the rules read of a queue. Texts are borrowed from its tree. */
struct queue_object {
    const char *name, *parent, *state, *hierarchy, *weights, *group_limits;
    struct resources capability, deserved, guarantee;
    struct problems faults; /* of the quantities, each by itself */
};

/* The queue under review. */
struct queue_case {
    struct admission_case *c;
    const char *name, *parent;    /* of `now` */
    struct queue_object now, old; /* `old` is empty on CREATE */
    /* All true on CREATE: */
    bool parent_changed, resources_changed, annotations_changed, limits_changed, state_changed;
};

/* Fills a case whose `c` is set, and clears it. */
void queue_read(struct queue_case *q, bool create);
void queue_case_clear(struct queue_case *q);

/* The fields by themselves: quantities, state, hierarchy annotations, as far as they changed. */
void queue_check_fields(struct queue_case *q);
/* spec.parent: exists, no cycle, not too deep, takes children. */
void queue_check_parent(struct queue_case *q);
/* The annotation that limits it in groups of nodes. */
void queue_check_groups(const struct queue_case *q);
/* Capability, guarantee and deserved against ancestors, siblings and children. */
void queue_check_hierarchy(struct queue_case *q);

#endif
