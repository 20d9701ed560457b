/*
 * struct node_groups: which groups of nodes the pods of a queue may use, as its Queue says it.
 *
 * Nodes belong to a group by a label. The spec names groups to use and to avoid, an annotation
 * limits what the queue may ask for in single groups. Immutable once read and counted: Queues of
 * the store and the scheduler's own share it. Loop thread only.
 */
#ifndef PUMICE_API_NODEGROUPS_H
#define PUMICE_API_NODEGROUPS_H

#include "api/resourcelist.h"

#define KEY_NODEGROUP_NAME "volcano.sh/nodegroup-name"              /* label of nodes */
#define KEY_NODEGROUP_LIMITS "volcano.sh/nodegroup-resource-limits" /* of queues; JSON */

struct group_names {
    const char **items; /* owned array, interned, in the order given */
    uint32_t n;
};

/* What the annotation says of one group. */
struct group_amounts {
    const char *group; /* interned */
    resource_list amounts;
};

struct node_groups {
    struct group_names required, preferred;           /* nodeGroupAffinity */
    struct group_names anti_required, anti_preferred; /* nodeGroupAntiAffinity */
    struct group_amounts *limits;                     /* owned */
    uint32_t limit_count;
    bool limits_invalid; /* the annotation cannot be read; there are no limits then */
    uint32_t refs;
};

/* One that says nothing, with one reference. */
struct node_groups *node_groups_new(void);
struct node_groups *node_groups_ref(struct node_groups *groups);
/* Drops one reference; NULL is fine. */
void node_groups_unref(struct node_groups *groups);
/* Reads a Queue's spec.affinity, which comes next, in place of what was read before. */
void node_groups_read_affinity(struct json_reader *reader, struct node_groups *groups);
/* Reads the value of the annotation, in place of what was read before. */
void node_groups_read_limits(struct node_groups *groups, struct str text);
/* Whether it names any group to use or to avoid. */
bool node_groups_have_affinity(const struct node_groups *groups);
/* Whether it says anything at all. */
bool node_groups_say_anything(const struct node_groups *groups);
/* NULL says nothing. */
bool node_groups_equal(const struct node_groups *a, const struct node_groups *b);
/* The place of a group (interned) in the names, -1 when it is not there. */
int64_t group_names_find(const struct group_names *names, const char *group);

#endif
