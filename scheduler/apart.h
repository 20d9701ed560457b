/*
 * struct apart: which places the pods of one job leave to one another, where no pod of others is:
 * required anti-affinity among them, the wish to be near one another, constraints of spread.
 *
 * For plans and reservations, which are about pods that have no node yet, so that the census knows
 * nothing of them. First every node that may be used is offered, then the job's pods are counted
 * that have a node or a place. Made for one look; loop thread only.
 */
#ifndef PUMICE_SCHEDULER_APART_H
#define PUMICE_SCHEDULER_APART_H

#include "scheduler/config.h"

struct apart;

/*
 * For `wanted` more pods of the group; NULL when other pods of the job mean nothing for them. What
 * the configuration does not enforce does not count. Costs a look at every node when a label's
 * domains are not known yet.
 */
struct apart *apart_new(struct cache *cache, const struct sched_config *config,
                        const struct task_group *group, uint32_t wanted);
/* NULL is fine. */
void apart_free(struct cache *cache, struct apart *apart);
/* A node that may be used has room for so many of them when it is empty, or 0. */
void apart_offer(struct apart *apart, uint32_t node, uint32_t places);
/* A pod of the job, of that class, is on the node or has its place there. */
void apart_count(struct apart *apart, const struct pod_class *cls, uint32_t node);
/* Counts those that are on nodes. */
void apart_count_placed(struct apart *apart, const struct sched_job *job);
/* Whether the pods counted keep one more away from the node; an uneven spread apart. */
bool apart_refuses(const struct apart *apart, uint32_t node);
/* Whether one more there would be spread too unevenly, with none to follow. */
bool apart_is_uneven(struct apart *apart, uint32_t node);
/* How many more can be spread evenly over what was offered, UINT64_MAX for any number. */
uint64_t apart_most(const struct apart *apart);

#endif
