/*
 * What queues may hold: capability, guarantee and deserved amounts down a tree of queues, and what
 * they hold and are promised up the same tree.
 *
 * Pure arithmetic on plain structs that the caller links up; flat queues are a tree of height one.
 * Amounts are int64 in the units of api/resources.h and saturate. Limits are worked out once for
 * a state of the specs; charging a node afterwards costs the number of resources times its depth
 * and allocates nothing. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_SHARES_LIMITS_H
#define PUMICE_SCHEDULER_SHARES_LIMITS_H

#include "api/resources.h"

/* An amount without limit. */
#define SHARE_UNLIMITED INT64_MAX

/* Rows of amounts that each node has, indexed by resource id. */
enum share_row {
    SHARE_CAPABILITY, /* given, or of the nearest node above that gives one */
    SHARE_REAL,       /* what it may be promised: room for others' guarantees is taken off */
    SHARE_LIMIT,      /* what it may hold: the same within what the cluster has */
    SHARE_DESERVED,   /* what it should have when others want theirs; 0: nothing is said */
    SHARE_GUARANTEE,  /* its own */
    SHARE_GUARANTEED, /* sum of the guarantees of its children */
    SHARE_USED,       /* held by it and all below it */
    SHARE_PROMISED,   /* held or promised, less what goes beyond minimums; likewise */
    SHARE_KEPT,       /* by its children: what each holds, or its guarantee if that is more */
    SHARE_OWN_USED,   /* the part of SHARE_USED that is charged to itself */
    SHARE_OWN_PROMISED,
    SHARE_ENTITLED, /* kept for the caller; 0 after limits_work_out */
    SHARE_STUCK,    /* the part of SHARE_PROMISED that those hold who were tried and did not fit */
    SHARE_ROW_COUNT
};

struct share_node {
    /* Given by the caller. */
    const char *name;                      /* borrowed */
    int64_t created_ns;                    /* the older goes first where shares are equal */
    struct share_node *parent;             /* borrowed; NULL for the top */
    const struct resource_set *capability; /* borrowed until the next limits_work_out; */
    const struct resource_set *deserved;   /* NULL: none is given. An amount that is not in a */
    const struct resource_set *guarantee;  /* set is not given */

    /* Worked out. */
    uint32_t depth;
    uint32_t width;   /* resource ids that the rows have */
    int64_t *amounts; /* owned; SHARE_ROW_COUNT rows of `width` */
    double share;     /* largest part of a deserved amount that is used; 1 when none is deserved */
    bool deserves;    /* any amount */
    double part;      /* largest part of what it may hold that is used, for those that do not */
};

/* Why a node may not have more. */
struct shortage {
    const struct share_node *node;  /* itself or one above it */
    const struct share_node *child; /* the one below that on the way, NULL for itself */
    uint32_t id;
    int64_t needs, used, limit;
    int64_t kept; /* the part of `used` that nobody holds: guaranteed to others */
};

void share_node_clear(struct share_node *node);

/* A row of a node that has been worked out. */
static inline int64_t *share_row(const struct share_node *node, enum share_row row)
{
    return node->amounts + (size_t)row * node->width;
}

/* One amount; 0 for ids past the width. */
static inline int64_t share_amount(const struct share_node *node, enum share_row row, uint32_t id)
{
    return id < node->width ? share_row(node, row)[id] : 0;
}

/*
 * Works out the limits of all nodes, and forgets what is charged to them. `nodes` has parents
 * before their children and begins with the top, the only one without a parent. `bounded`: nobody
 * may be promised more than the cluster has; else the top is promised its capability, if any.
 * `width` is at least the number of every resource in use.
 */
void limits_work_out(struct share_node *const *nodes, size_t n, const struct resource_vector *total,
                     uint32_t width, bool bounded);

/* Sets one deserved amount, in place of what limits_work_out made of the spec. */
void limits_deserve(struct share_node *node, uint32_t id, int64_t amount);
/* Works the share out again after limits_deserve. */
void limits_settle(struct share_node *node);

/* What a node itself holds (allocated), is about to hold since room is made for it (awaited; that
 * counts as held), was promised (inqueue) and holds beyond minimums (elastic) is now this; it and
 * the nodes above it follow. */
void limits_charge(struct share_node *node, const struct resource_set *allocated,
                   const struct resource_set *awaited, const struct resource_set *inqueue,
                   const struct resource_set *elastic);

/*
 * Whether a node and all above it have room for `needs` in a row (SHARE_LIMIT against SHARE_USED
 * and, above it, what is kept for others' guarantees; or SHARE_REAL against SHARE_PROMISED); the
 * number of pods does not count. If not, tells which node is the first that has not, and its first
 * resource; `used` then includes what is kept.
 */
bool limits_allow(const struct share_node *node, const struct resource_set *needs,
                  enum share_row limit, struct shortage *ret_shortage);
/* Whether a node has too little for `needs`, whatever is above it, in a row (SHARE_REAL against
 * SHARE_PROMISED, any other against SHARE_USED); tells the first such resource. */
bool limits_short(const struct share_node *node, const struct resource_set *needs,
                  enum share_row limit, struct shortage *ret_shortage);
/* The next resource of `needs`, after the one in the shortage, of which that node has too little;
 * false when there is none. */
bool limits_next(const struct resource_set *needs, enum share_row limit, struct shortage *shortage);

/* So much of what is promised to a node is stuck; it and the nodes above it follow. All at once are
 * forgotten by limits_unstick, and by limits_work_out. */
void limits_stick(struct share_node *node, const struct resource_set *stuck);
void limits_unstick(struct share_node *const *nodes, size_t n);
/* limits_allow for SHARE_REAL, if those that are stuck give way. */
bool limits_allow_past_stuck(const struct share_node *node, const struct resource_set *needs);

/*
 * limits_allow for SHARE_REAL, if so much that the node itself holds gives way (`own`), or of what
 * others hold (`others`): at each node above it no more of that than they hold there.
 */
bool limits_allow_if_given(const struct share_node *node, const struct resource_set *needs,
                           const struct resource_set *own, const struct resource_set *others);

/* Whether it has at least its deserved amount of every resource of which it deserves any. */
bool limits_reached(const struct share_node *node);

/*
 * Which node is served first: at the first level below what both have above them, the smaller
 * share, then what deserves anything, of those that do not the one with the smaller part of its
 * limit, then the older, then the name. 0 when one is above the other. A total order among nodes
 * of which none is above another.
 */
int limits_compare(const struct share_node *a, const struct share_node *b);

#endif
