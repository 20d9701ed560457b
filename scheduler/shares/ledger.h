/*
 * struct ledger: a tree of limits (limits.h) over the queues of the cache, for plugins that give
 * queues their shares.
 *
 * Worked out at the beginning of a cycle, if anything changed; within it the charges follow the
 * sums that the cache keeps, whenever a queue is looked at. Flat: every queue stands below the
 * cluster by itself. With a hierarchy, queues stand below their parents, and a queue whose way up
 * does not reach root, or that has children, takes nothing; others are not concerned. Loop thread
 * only.
 */
#ifndef PUMICE_SCHEDULER_SHARES_LEDGER_H
#define PUMICE_SCHEDULER_SHARES_LEDGER_H

#include "scheduler/cache.h"
#include "scheduler/shares/limits.h"

struct ledger_queue {
    struct share_node own;           /* used unless it is the top */
    struct share_node *node;         /* borrowed: own, or the ledger's top */
    const struct sched_queue *queue; /* borrowed; NULL: there is none at this index */
    uint32_t version;                /* of the queue's sums that are charged */
};

struct ledger {
    bool hierarchy;
    uint64_t state;                      /* of the cache it was worked out from; 0: never */
    bool stuck_counted;                  /* in this cycle */
    struct share_node top;               /* the cluster, or the queue root */
    VEC(struct ledger_queue *) queues;   /* owned; by the queue's index */
    VEC(struct share_node *) order;      /* parents first */
    const struct resource_vector *total; /* borrowed from the cache */
};

void ledger_init(struct ledger *ledger, bool hierarchy);
void ledger_clear(struct ledger *ledger);
/* The beginning of a cycle; true when the limits were worked out again. */
bool ledger_begin(struct ledger *ledger, const struct cache *cache);
/* The node of a queue, its charges up to date; NULL for a queue that came since the beginning. */
struct share_node *ledger_node(struct ledger *ledger, const struct sched_queue *queue);
/* A number that differs when any queue's spec or sums, or what the cluster has, differs. */
uint64_t ledger_state(const struct cache *cache);

/* Whether jobs of the queue may be placed at all; if not, why (a sentence). */
bool ledger_takes_jobs(const struct ledger *ledger, const struct sched_queue *queue,
                       struct buf *why);
/*
 * Whether the queue of a job, and all above it, may be promised what it still needs of its minimum;
 * if not, why. Jobs that were tried and did not fit hold no promise against a job that could run
 * at once, so that a gang that fits nowhere keeps nobody out. What others would be evicted for it
 * (evict/prospects.h) counts as free.
 */
bool ledger_may_enter(struct ledger *ledger, const struct sched_job *job, struct buf *why);
/* "cpu 4 is needed, but queue "a" holds 8 of the 10 that <rule>: 2 short". */
void ledger_explain(const struct ledger *ledger, const struct sched_queue *queue,
                    const struct shortage *shortage, const char *rule, struct buf *why);

#endif
