/*
 * What the parts of the cache share. See cache.h.
 */
#ifndef PUMICE_SCHEDULER_CACHE_PRIVATE_H
#define PUMICE_SCHEDULER_CACHE_PRIVATE_H

#include "scheduler/cache.h"

/* Charges a node with one more pod (`sign` 1) or gives it back (-1). */
void cache_charge(struct cache *cache, struct sched_node *node, const struct pod_class *cls,
                  int sign);
/* The node of that name, made (unknown as yet) when it is absent. */
struct sched_node *cache_node_get(struct cache *cache, const char *name);
/* Removes a node that is neither known nor charged. */
void cache_node_drop(struct cache *cache, struct sched_node *node);
/* The queue of that name, made (absent as yet) when it is not there. */
struct sched_queue *cache_queue_get(struct cache *cache, const char *name);
/* The job of that key, made (without a PodGroup as yet) when it is not there. */
struct sched_job *cache_job_get(struct cache *cache, const char *ns, const char *name);
/* Frees a job whatever it holds. */
void cache_job_free(struct cache *cache, struct sched_job *job);
/* The group for a pod in a job, made when it is absent. */
struct task_group *cache_group_get(struct sched_job *job, const struct pod *pod);
/* Frees a group without tasks. */
void cache_group_drop(struct sched_job *job, struct task_group *group);
/* The role of that name, made when it is absent. */
uint32_t cache_role_get(struct sched_job *job, const char *name);

#endif
