/*
 * What is kept free on nodes for jobs: the books, not the policy (see reserve.h, evict/evictor.h).
 *
 * A reservation belongs to one job, and a job has one at most. On each of its nodes it holds what
 * some of the job's pods ask for, whether it is free already or still used by pods that have to go
 * first; others see only what is left there (fit.c). Nothing of a hold is charged: the sums of the
 * cache know nothing of it.
 *
 * There are two kinds. Those of gangs that starve: one in a queue, and together never more than a
 * tenth of what the cluster has of any resource. And those of jobs for which others are evicted:
 * they hold the places for which somebody has to go, however many these are, and what they hold
 * counts as what their queue has (queue->awaited), so that others do not use the share up that is
 * to be theirs. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_HOLDS_H
#define PUMICE_SCHEDULER_HOLDS_H

#include "scheduler/cache.h"

/* All that is held for gangs that starve is at most this part of the cluster. */
#define HOLDS_PART 10

/* How the reason begins for which pods that would have room are kept off. */
#define HOLDS_REASON "node(s) are held for "

struct hold_part {
    struct pod_class *cls; /* counted */
    uint32_t pods;
};

/* What a reservation holds on one node. */
struct node_hold {
    struct node_hold *next;          /* of the same node, owned by it */
    struct reservation *reservation; /* borrowed */
    struct sched_node *node;         /* borrowed */
    struct resource_set amount;      /* what its pods ask for in sum */
    VEC(struct hold_part) parts;
};

/* Pods of one class that the job still lacks for its minimum. */
struct held_class {
    struct pod_class *cls; /* counted */
    uint32_t wanted, held; /* held: over all nodes */
};

struct reservation {
    struct list link;              /* in cache->reservations */
    struct sched_job *job;         /* borrowed */
    VEC(struct node_hold *) holds; /* borrowed from their nodes */
    VEC(struct held_class) classes;
    int64_t since_ns, until_ns; /* loop time */
    int64_t since_wall_ns, until_wall_ns;
    int64_t drained_ns; /* loop time of the last look for nodes that would have to empty first */
    /* Of the turn under way: classes for which free places, and such nodes, were looked for. */
    size_t filled, drained;
    char *reason;   /* owned; HOLDS_REASON "job ns/name" */
    bool lifted;    /* for the moment nobody is kept off */
    bool nominated; /* others are evicted for it; its end is for the evictor to say */
};

/* For a job that starves and a queue with no such job yet; holds nothing as yet. */
struct reservation *holds_open(struct cache *cache, struct sched_job *job, int64_t length_ns);
/* For a job for which others are evicted. What it held before is let go. */
struct reservation *holds_nominate(struct cache *cache, struct sched_job *job);
/* Lets go everything and frees the reservation. */
void holds_close(struct cache *cache, struct reservation *reservation);
/* The entry of a class, made when it is absent. Valid until the next one is made. */
struct held_class *holds_class(struct reservation *reservation, struct pod_class *cls);
/* Whether the place of one more pod may be held. */
bool holds_may_add(const struct cache *cache, const struct pod_class *cls);
/* Holds the place of one more pod on the node; false when all would be more than HOLDS_PART, which
 * does not matter where others are evicted for it. */
bool holds_add(struct cache *cache, struct reservation *reservation, struct sched_node *node,
               struct pod_class *cls);
/* Lets go the place of one pod of that class, on a node where it is not free yet if there is one,
 * else (with `any`) on some node; false when there is none. */
bool holds_remove(struct cache *cache, struct reservation *reservation, struct pod_class *cls,
                  bool any);
/* Lets go the place of one pod of that class on the node; false when there is none. */
bool holds_remove_on(struct cache *cache, struct reservation *reservation,
                     const struct sched_node *node, struct pod_class *cls);
/* The node has changed, or is about to go: nothing is held there any more, but where others are
 * evicted for it and the node stays; and of the rest no more than the part of the cluster. */
void holds_node_changed(struct cache *cache, struct sched_node *node);
/* The queue may not be used: what is held for its jobs is let go. */
void holds_queue_closed(struct cache *cache, const struct sched_queue *queue);
/* Until holds_restore what is held for the job, which has a reservation, is free. */
void holds_lift(struct cache *cache, const struct sched_job *holder);
void holds_restore(struct cache *cache);
/* The same for one. */
void holds_restore_of(struct cache *cache, struct reservation *reservation);
/* How much of a resource is held on the node now, lifted reservations apart. */
int64_t holds_on(const struct sched_node *node, uint32_t id);
/* Whether a pod of the class would have room on the node but for what is held there. */
bool holds_hide_room(const struct sched_node *node, const struct pod_class *cls);
/* Why pods that would have room on the node are kept off; NULL when nothing is held there. Valid
 * while the reservation is. */
const char *holds_reason(const struct sched_node *node);
/* Others are evicted for the job: its queue's share has its places in it already. */
static inline bool holds_awaited(const struct sched_job *job)
{
    return job->reservation && job->reservation->nominated;
}
/* How many pods have a place that is held for them. */
uint32_t holds_pods(const struct reservation *reservation);
/* How much of a resource the reservation holds, and how much of that is free now. */
int64_t holds_amount(const struct reservation *reservation, uint32_t id, int64_t *ret_free);
/* The books compared with a recount; a constant text on the first difference, else NULL. */
const char *holds_audit(const struct cache *cache);

#endif
