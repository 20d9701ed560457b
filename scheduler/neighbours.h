/*
 * What other pods mean for pods of one kind, node by node: pod affinity and anti-affinity in both
 * directions, and topology spread. By Kubernetes' rules, reasons included.
 *
 * Kept beside a table of fit.c: sums by domain follow the change of one node, so that a question
 * about a node costs a look at the sums of its domains. The counts it adds up are the census's,
 * which tells when they go (fit_forget). Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_NEIGHBOURS_H
#define PUMICE_SCHEDULER_NEIGHBOURS_H

#include "scheduler/census.h"
#include "scheduler/config.h"

/* Pods that are alike in what other pods mean for them. */
struct kin {
    struct pod_class *cls;
    struct pod_labels labels; /* of one of them; without a set: no labels count */
};

/* Whether other pods may matter at all: what neighbours_sign says is worth the asking. */
bool neighbours_matter(const struct cache *cache, const struct kin *kin);
/*
 * Appends what tells kin apart whose class is the same: which terms of other pods mean them, and
 * which of their own do. Nothing when no other pod matters: they need no neighbours.
 */
void neighbours_sign(const struct cache *cache, const struct kin *kin, struct buf *out);
/* For pods that have a signature. To be filled before it is asked. */
struct neighbours *neighbours_new(struct cache *cache, const struct sched_config *config,
                                  const struct kin *kin);
void neighbours_free(struct cache *cache, struct neighbours *neighbours);
/* Whether it adds up these counts of the census. */
bool neighbours_use(const struct neighbours *neighbours, const struct counts *counts);
/* How many amounts it keeps for each node; how many counts of the census these add up. */
size_t neighbours_width(const struct neighbours *neighbours);
size_t neighbours_sources(const struct neighbours *neighbours);
/* Whether there are more nodes, or their domains are others, than when it was filled. */
bool neighbours_outdated(const struct neighbours *neighbours, const struct cache *cache);
/* How many looks at the counts of one node it took to count afresh the last time. */
size_t neighbours_looks(const struct neighbours *neighbours);
/* Counts afresh. */
void neighbours_fill(struct neighbours *neighbours, const struct cache *cache);
/* The pods on a node have changed. */
void neighbours_follow(struct neighbours *neighbours, uint32_t node);

/* Before nodes are asked about, once the changes are in. */
void neighbours_settle(struct neighbours *neighbours);
/* Why such a pod may not run on a known node now (a constant text), or NULL. */
const char *neighbours_refuse(const struct neighbours *neighbours, uint32_t node);

/* Whether the pod is the first of those that must be near one another: its place decides theirs. */
bool neighbours_first(const struct neighbours *neighbours);
/*
 * Adds `amount` to what the node's domains have, of each label by which it must be near others; the
 * least of these. Both after neighbours_begin_near. What is added after neighbours_limit_near is no
 * more than `most` in any domain.
 */
void neighbours_begin_near(struct neighbours *neighbours);
void neighbours_limit_near(struct neighbours *neighbours, uint64_t most);
void neighbours_add_near(struct neighbours *neighbours, uint32_t node, uint64_t amount);
uint64_t neighbours_near(const struct neighbours *neighbours, uint32_t node);

/* How much other pods draw such a pod to the node; less than 0 when they keep it away. */
int64_t neighbours_draw(const struct neighbours *neighbours, uint32_t node);
/* Whether there is anything that draws or keeps away; whether there are preferences of spread. */
bool neighbours_draws(const struct neighbours *neighbours);
bool neighbours_prefers_spread(const struct neighbours *neighbours);
/* How crowded the domains of the node are with pods that it is to be spread among depends on which
 * nodes may take it: each of them is to be announced between these two. */
void neighbours_begin_spread(struct neighbours *neighbours);
void neighbours_announce(struct neighbours *neighbours, uint32_t node);
void neighbours_end_spread(struct neighbours *neighbours);
/* How crowded; -1 when it lacks a label and counts for nothing. */
int64_t neighbours_crowd(const struct neighbours *neighbours, uint32_t node);

#endif
