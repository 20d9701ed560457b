/*
 * What the parts of the tables share: fit.c keeps them, fit_scan.c chooses from those whose scores
 * depend on one another.
 */
#ifndef PUMICE_SCHEDULER_FIT_PRIVATE_H
#define PUMICE_SCHEDULER_FIT_PRIVATE_H

#include "scheduler/fit.h"
#include "scheduler/neighbours.h"

#define UNFIT INT64_MIN   /* as a score: does not fit now */
#define TABLE_REASONS 255 /* texts that a table tells apart */

/* Between which raw scores those of the nodes that fit lie. */
struct fit_span {
    int64_t least, most;
};

struct fit_table {
    struct list link;                /* in cache->tables */
    struct pod_class *cls;           /* counted */
    const struct sched_queue *queue; /* borrowed; NULL: for pods of all queues */
    char *key;       /* owned; in cache->tables_by_key; NULL: it hangs on its class */
    int64_t *scores; /* by node; UNFIT when it does not fit; without what depends on other nodes */
    uint32_t *winners;    /* nodes, see fit.c */
    uint8_t *barred;      /* by node: why such pods never go there: number of a text, 0: they may */
    uint8_t *reason;      /* by node: why it does not fit now, 0 when it does */
    uint32_t n, cap;      /* nodes, places for them */
    uint32_t room;        /* nodes with a score that is not UNFIT */
    uint32_t fits;        /* nodes that fit; fewer than that when neighbours refuse some */
    uint32_t versions;    /* of objects of nodes up to which `barred` is right */
    uint64_t seen;        /* changes of the log that are in the table */
    uint64_t generation;  /* of the configuration; 0: never filled */
    uint64_t images;      /* where its images are, as of `scores` */
    uint64_t volumes;     /* version of what is known of its volumes, as of `barred` */
    const char *refusal;  /* why such pods may run nowhere, or NULL, as of `barred` */
    uint64_t queue_stamp; /* what plugins say of the queue, as of `barred` and `scores` */
    VEC(const char *) reasons; /* texts by number less 1; number TABLE_REASONS is for all others */

    /* What one node does not tell: scores that are set in relation to other nodes', and limits of
     * the queue. With any of these the best node is found by a look at all scores instead of in the
     * tree. */
    bool limited;                  /* what the queue has elsewhere may bar it from nodes */
    uint32_t queue_version;        /* of the queue at the last look, when it is limited */
    struct neighbours *neighbours; /* owned; NULL when other pods do not matter */
    int32_t *taints;               /* by node: those that it does not tolerate but may; or NULL */
    int32_t *preferred;            /* by node: weights of its preferred terms; or NULL */
    uint32_t wanted;               /* pods that are to find a place near one another */
    bool stale;                    /* something changed since the last look */
    uint32_t best;                 /* the index of the best node, when any fits */
    struct fit_span span[FIT_PART_COUNT];
};

static inline bool fit_scans(const struct fit_table *table)
{
    return table->neighbours || table->taints || table->preferred || table->limited;
}

/* There is room, but it is held for others; the text is for the rare case that they have let go. */
extern const char fit_held_back[];

/* A score of a node that fits: never UNFIT. */
static inline int64_t fit_score(int64_t score)
{
    return score == UNFIT ? UNFIT + 1 : score;
}

static inline const char *fit_reason_text(const struct fit_table *table, uint8_t number)
{
    return number ? table->reasons.items[number - 1] : NULL;
}

static inline bool fit_is_known(const struct sched_node *node)
{
    return node && node->object;
}

/* The number of a text; texts that are alike are one pointer. */
uint8_t fit_reason_number(struct fit_table *table, const char *text);
/* Looks at all nodes: which fit, and which of them is best. */
void fit_scan(struct cache *cache, const struct sched_config *config, struct fit_table *table);

#endif
