/*
 * Hierarchical dominant resource fairness: a tree of weighted groups with jobs as leaves, and which
 * group is served next.
 *
 * A job holds parts of the cluster, one for each resource; the largest is its dominant share. A
 * group counts as holding what its children hold, those that can still use more scaled down to the
 * least of their shares, so that a group is not blamed for a child that nobody competes with.
 * Shares are integers (parts of HDRF_ONE): sums are exact, whatever the order of changes. A change
 * of a leaf costs its depth times the number of resources. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_SHARES_HDRF_H
#define PUMICE_SCHEDULER_SHARES_HDRF_H

#include "api/resources.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"

#define HDRF_ONE (INT64_C(1) << 40)
#define HDRF_DEPTH_MAX 32

struct hdrf_node {
    struct hdrf_node *parent;      /* borrowed; NULL: the root */
    struct list children, sibling; /* owned nodes; the place among these */
    struct map groups;             /* children that are groups, by name */
    char *name;                    /* owned; NULL for leaves and the root */
    uint32_t depth;
    double weight; /* at least 1 */

    int64_t share;          /* dominant share of the cluster; the largest of `parts` */
    bool saturated;         /* can use nothing more */
    struct heap_node order; /* in the parent's `hungry` */

    /* Of its children. */
    struct heap hungry;   /* those that hold something and are not saturated, least share first */
    uint32_t unsaturated; /* how many are not, empty ones included */

    uint32_t width;  /* resources */
    int64_t *parts;  /* owned block: what it counts as holding, by resource; */
    int64_t *full;   /* sum of the parts of saturated children; */
    int64_t *shapes; /* sum of parts / share of hungry ones. The last two: groups only */
};

/* A tree of only its root, for `width` resources. */
struct hdrf_node *hdrf_new(uint32_t width);
/* Frees the whole tree; NULL is harmless. */
void hdrf_free(struct hdrf_node *root);

/*
 * The group at a path like "root/eng/dev" with weights like "1/2/4", made with all groups above it
 * where absent; the first element stands for the root itself, and what lies below HDRF_DEPTH_MAX
 * is left out. A weight that is absent, unreadable or less than 1 is 1; that of a group that exists
 * is kept.
 */
struct hdrf_node *hdrf_group(struct hdrf_node *root, struct str path, struct str weights);
/* The child group of that name, made with this weight when it is absent. */
struct hdrf_node *hdrf_child(struct hdrf_node *group, struct str name, double weight);
/* A new leaf that holds nothing. */
struct hdrf_node *hdrf_leaf(struct hdrf_node *group);

/* Sets what a leaf holds: `parts` of HDRF_ONE by resource. One that holds nothing is never
 * saturated. */
void hdrf_set(struct hdrf_node *leaf, const int64_t *parts, bool saturated);

/* `amount` of `total` in parts of HDRF_ONE. */
int64_t hdrf_part(int64_t amount, int64_t total);
/*
 * Whether a job that holds `allocated` and waits for `pending` can use nothing more: it waits for
 * no more of some resource that it holds, or the cluster has none left of one.
 */
bool hdrf_is_saturated(const struct resource_set *allocated, const struct resource_set *pending,
                       const struct resource_vector *used, const struct resource_vector *total);

/*
 * Which group is served first: at the first level below what both have above them, the one that can
 * use more, then the smaller share by weight, then the name. 0 when one is above the other.
 */
int hdrf_compare(const struct hdrf_node *a, const struct hdrf_node *b);

#endif
