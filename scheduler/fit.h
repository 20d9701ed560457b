/*
 * Which node is best for a class of pods, kept up to date instead of computed again.
 *
 * One table a class: for each node whether it fits, why not, and its score, with the best one
 * at the root of a tree. The cache logs every change of a node; a table replays what it has not
 * seen yet, so a placement costs a few comparisons. The answer is exactly that of looking at every
 * node: highest score first, then lowest index. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_FIT_H
#define PUMICE_SCHEDULER_FIT_H

#include "scheduler/config.h"

/* The table of a class, up to date. Valid until the next call for another class. */
struct fit_table *fit_table(struct cache *cache, const struct sched_config *config,
                            struct pod_class *cls);
/* The table of a class as it was last, or NULL: for explanations, which may be behind. */
const struct fit_table *fit_kept(const struct pod_class *cls);
/* Why pods of the class never go there, NULL when they may; the table must be up to date and the
 * node known. */
const char *fit_barred(const struct fit_table *table, const struct sched_node *node);
/* The best node that has room, or NULL. */
struct sched_node *fit_best(const struct cache *cache, const struct fit_table *table);
/*
 * Appends "0/10 nodes are available: 9 Insufficient cpu, 1 node(s) were unschedulable." and returns
 * a signature of the kinds of reasons, without their counts.
 */
uint64_t fit_explain(const struct cache *cache, const struct fit_table *table, struct buf *out);
/* How many of the known nodes may take such pods at all, whatever is free there. */
size_t fit_open_nodes(const struct cache *cache, const struct fit_table *table);
/* Frees all tables. */
void fit_clear(struct cache *cache);

#endif
