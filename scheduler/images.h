/*
 * Which nodes have which container images, and the points for a node that has a pod's already: by
 * the rules of kube-scheduler's ImageLocality. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_IMAGES_H
#define PUMICE_SCHEDULER_IMAGES_H

#include "scheduler/cache.h"

/* A known node comes (`sign` 1) or goes (-1). */
void images_node(struct cache *cache, const struct node *object, int sign);
/* 0 to 100 points for a known node. */
int64_t images_points(const struct cache *cache, const struct pod_class *cls,
                      const struct sched_node *node);
/* Differs when the points of nodes that did not change may have changed. */
uint64_t images_stamp(const struct cache *cache, const struct pod_class *cls);

#endif
