/*
 * What the parts of the cache share. See cache.h.
 */
#ifndef PUMICE_SCHEDULER_CACHE_PRIVATE_H
#define PUMICE_SCHEDULER_CACHE_PRIVATE_H

#include "scheduler/cache.h"

/* Charges a node with one more pod (`sign` 1) or gives it back (-1). */
void cache_charge(struct cache *cache, struct sched_node *node, const struct pod_class *cls,
                  int sign);
/* Adds a known node to the sums over the cluster (`sign` 1) or takes it out (-1). */
void cache_sum_node(struct cache *cache, const struct sched_node *node, int sign);
/* The node has changed: tables of classes are to look at it again. */
void cache_log_node(struct cache *cache, const struct sched_node *node);
/* Every node may have changed. */
void cache_log_all(struct cache *cache);
/* Sums were added to; not `exact`: one that had saturated was to shrink, and stays as it is until
 * all sums are counted afresh, a second later. */
void cache_added(struct cache *cache, bool exact);
/* Counts all sums afresh (a loop_fn; `arg` is the cache). Costs a look at every pod. */
void cache_recount(void *arg);
/* The node of that name, made (unknown as yet) when it is absent. */
struct sched_node *cache_node_get(struct cache *cache, const char *name);
/* Removes a node that is neither known nor charged. */
void cache_node_drop(struct cache *cache, struct sched_node *node);
/* Whether the cache keeps a pod: ours always, others' while they hold something. */
bool cache_wants_pod(const struct cache *cache, const struct pod *pod);
/* The node that the pod itself is charged to, NULL for none. */
const char *cache_pod_node(const struct pod *pod);
/* The queue of that name, made (absent as yet) when it is not there. */
struct sched_queue *cache_queue_get(struct cache *cache, const char *name);
/* Removes a queue that does not exist and that nothing names. */
void cache_queue_drop(struct cache *cache, struct sched_queue *queue);
/* Frees a queue whatever names it. */
void cache_queue_free(struct sched_queue *queue);
/* A task moves from one status to another: the sums of its job and queue follow. */
void cache_sums_task(struct sched_job *job, const struct pod *pod, enum task_status from,
                     enum task_status to);
/* Brings the job's shares in its queue's sums up to date. */
void cache_sums_settle(struct sched_job *job);
/* Takes these shares back, before its minResources change. */
void cache_sums_withdraw(struct sched_job *job);
/* The job has entered its queue; is about to leave it. */
void cache_sums_enter(struct sched_job *job);
void cache_sums_leave(struct sched_job *job);
/* Frees the sums of a job that is in no queue. */
void cache_sums_clear(struct sched_job *job);
/* A job comes to its namespace, which is made when it is absent; goes. */
void cache_namespace_enter(struct cache *cache, struct sched_job *job);
void cache_namespace_leave(struct cache *cache, struct sched_job *job);
/* Frees the namespaces that only quotas are left of. */
void cache_namespaces_clear(struct cache *cache);
/* The job of that key, made (without a PodGroup as yet) when it is not there. */
struct sched_job *cache_job_get(struct cache *cache, const char *ns, const char *name);
/* Frees a job whatever it holds. */
void cache_job_free(struct cache *cache, struct sched_job *job);
/* The group for a pod in a job, made when it is absent. */
struct task_group *cache_group_get(struct sched_job *job, const struct pod *pod);
/* Frees a group without tasks. */
void cache_group_drop(struct sched_job *job, struct task_group *group);
/* Frees all roles and groups. */
void cache_groups_clear(struct sched_job *job);
/* The role of that name, made when it is absent. */
uint32_t cache_role_get(struct sched_job *job, const char *name);

#endif
