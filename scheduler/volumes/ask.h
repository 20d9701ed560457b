/*
 * struct ask: what the answers for pods with certain volumes need, worked out once for all nodes.
 *
 * Kept with the pods' struct pod_volumes (in its `scratch`) and made again when volumes_version
 * says so; its texts stay as long as those pods do, since others may show them. Records in it are
 * borrowed, and there as long as its version holds. Only files of this folder include it.
 */
#ifndef PUMICE_SCHEDULER_VOLUMES_ASK_H
#define PUMICE_SCHEDULER_VOLUMES_ASK_H

#include "scheduler/volumes/records.h"

/* Volumes that the same nodes reach, such as those of a zone. */
struct offer_group {
    volume_list list; /* the best first */
};

/* A claim that waits for its first consumer. */
struct waiting_claim {
    struct claim_record *claim;
    struct class_record *cls;
    struct volume_record *kept;     /* the volume that is kept for it already, or NULL */
    VEC(struct offer_group) offers; /* what it may have, but for those of single hosts */
    bool presume;                   /* as of the volumes */
    /* For the node looked at last: */
    struct volume_record *pick; /* what it would have; NULL: one is to be made */
};

struct ask {
    struct list link; /* in volumes->asks */
    struct volumes *volumes;
    struct pod_volumes *wanted; /* counted */
    uint64_t version;
    uint64_t seen;                     /* volumes->version when `version` was last found to hold */
    const char *refusal;               /* why no node will do, or NULL */
    VEC(const char *) texts;           /* interned */
    VEC(struct volume_record *) bound; /* volumes of its bound claims */
    size_t zoned;                      /* the first of `bound` whose labels do not count */
    VEC(struct waiting_claim) waiting; /* smallest first */
    VEC(struct attached) counted;      /* what it counts as on a node; users is not used */
};

/* The one for such pods, up to date. */
struct ask *ask_get(struct volumes *volumes, struct pod_volumes *wanted);

/* ---- match.c ---- */

/* Fills in what the claim may have. */
void match_prepare(struct volumes *volumes, struct waiting_claim *waiting);
void match_clear(struct waiting_claim *waiting);
/* What each waiting claim would have on a node, in its `pick`; false when one finds nothing. */
bool match_node(struct ask *ask, const struct node *node);

#endif
