/*
 * Which node is best for a class of pods, kept up to date instead of computed again.
 *
 * One table a class, and one for each way in which other pods matter to pods of a class, and for
 * each queue where plugins look at that: for each
 * node whether it fits, why not, and its score, with the best one at the root of a tree. The cache
 * logs every change of a node; a table replays what it has not seen yet, so a placement costs a few
 * comparisons. Where scores are set in relation to those of other nodes (affinity, spread, taints
 * that are only to be avoided) it costs a look at the scores of all. The answer is exactly that of
 * working out every node: highest score first, then lowest index.
 *
 * One thing no pod could decide alone: the first of a gang whose pods must be near one another goes
 * where there is room for those that its job needs to start, if that is anywhere. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_FIT_H
#define PUMICE_SCHEDULER_FIT_H

#include "base/counts.h"
#include "scheduler/config.h"

/* Scores that are set in relation to those of the other nodes that fit. */
enum fit_part { FIT_TAINTS, FIT_NODE_AFFINITY, FIT_POD_AFFINITY, FIT_SPREAD, FIT_PART_COUNT };

/* The table of the next pod of a group, up to date. Valid until the next call for others. */
struct fit_table *fit_table_of(struct cache *cache, const struct sched_config *config,
                               const struct task_group *group);
/* The same for pods of a class in a queue of which no labels are known. */
struct fit_table *fit_table(struct cache *cache, const struct sched_config *config,
                            const struct sched_queue *queue, struct pod_class *cls);
/* The table of a group as it was last, or NULL: for explanations, which may be behind. */
const struct fit_table *fit_kept(const struct cache *cache, const struct task_group *group);
/* Why pods of the class never go there, NULL when they may; the table must be up to date and the
 * node known. */
const char *fit_barred(const struct fit_table *table, const struct sched_node *node);
/* Why a pod does not fit the known node now, NULL when it does. */
const char *fit_reason(const struct fit_table *table, const struct sched_node *node);
/* The points (0 to 100) that a node which fits gets for a part, without weight. */
int64_t fit_points(const struct fit_table *table, enum fit_part part, uint32_t node);
/* The best node that has room, or NULL. */
struct sched_node *fit_best(const struct cache *cache, const struct fit_table *table);
/* The best of those that `may` says are good, by what a node alone tells; a look at every node. */
struct sched_node *fit_best_of(struct cache *cache, const struct fit_table *table,
                               bool (*may)(const struct sched_node *node, void *arg), void *arg);
/*
 * Appends "0/10 nodes are available: 9 Insufficient cpu, 1 node(s) were unschedulable." and returns
 * a signature of the kinds of reasons, without their counts.
 */
uint64_t fit_explain(const struct cache *cache, const struct fit_table *table, struct buf *out);
/* How many of the known nodes may take such pods at all, whatever is free there. */
size_t fit_open_nodes(const struct cache *cache, const struct fit_table *table);
/* How many have room for such a pod and yet do not fit, for other pods or a limit of the queue. */
size_t fit_refused_nodes(const struct fit_table *table);
/* Frees the tables that count by these, which are about to go. */
void fit_forget(struct cache *cache, const struct counts *counts);
/* Frees the tables of the queue, which is about to go. */
void fit_forget_queue(struct cache *cache, const struct sched_queue *queue);
/* Frees all tables. */
void fit_clear(struct cache *cache);

#endif
