/*
 * What queues may use of single groups of nodes, and what they use.
 *
 * A pod counts while it is charged to a node of the group. The sums follow the change of one pod;
 * when a node with pods changes its group, or a queue its limits, all are counted afresh before
 * they are looked at next. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_GROUP_LIMITS_H
#define PUMICE_SCHEDULER_GROUP_LIMITS_H

#include "scheduler/cache.h"

/* ---- for the cache ----------------------------------------------------------------------------
 */

/* What the queue says of groups is this from now on (NULL: nothing); true when that is new. */
bool group_limits_set_queue(struct cache *cache, struct sched_queue *queue,
                            struct node_groups *groups);
/* Forgets what the queue says; it is about to go. */
void group_limits_clear(struct sched_queue *queue);
/* The node's object is another, or has gone: so may be its group. */
void group_limits_set_node(struct cache *cache, struct sched_node *node);
/* A pod of the job is charged to another node; NULL: to none. */
void group_limits_move(const struct sched_job *job, const struct pod_class *cls,
                       const struct sched_node *from, const struct sched_node *to);
/* The job has entered its queue (`sign` 1), or is about to leave it (-1). */
void group_limits_charge_job(const struct sched_job *job, int sign);
/* On the node more is held for a job of the queue, or less. */
void group_limits_hold(struct sched_queue *queue, const struct sched_node *node,
                       const struct resource_set *request, int64_t times);
/* The sums compared with a recount; a constant text on the first difference, else NULL. */
const char *group_limits_audit(const struct cache *cache);

/* ---- looking ----------------------------------------------------------------------------------
 */

/* Before limits are looked at, once changes are in: makes all sums right. */
void group_limits_settle(struct cache *cache);
/* The limit that holds for pods of the queue on the node, NULL for none. */
const struct group_limit *group_limit_of(const struct sched_queue *queue,
                                         const struct sched_node *node);
/* Whether no more of as much may be asked for within the limit. */
bool group_limit_exceeded(const struct group_limit *limit, const struct resource_set *request);
/* How often as much more may be asked for within it; UINT64_MAX: without end. */
uint64_t group_limit_places(const struct group_limit *limit, const struct resource_set *request);

#endif
