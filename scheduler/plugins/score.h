/*
 * What the plugins that score nodes by their resources share: how full a node would be, and points
 * of any size as the whole numbers that scores are. Pure functions.
 */
#ifndef PUMICE_SCHEDULER_SCORE_H
#define PUMICE_SCHEDULER_SCORE_H

#include "scheduler/plugin.h"

/* A node gets 0 to 100 points times a weight; a score counts millionths of them. */
#define SCORE_POINTS 100.0
#define SCORE_UNIT 1e6
/* No score is further from 0, whatever the weights. */
#define SCORE_MOST 1e18

/* What a pod of the class makes of a node, of one resource. */
struct score_load {
    double has, would; /* what the node has, and what of that would be used with the pod on it */
};

static inline struct score_load score_load_of(const struct pod_class *cls,
                                              const struct sched_node *node, uint32_t id)
{
    return (struct score_load){(double)resource_vector_get(&node->object->allocatable, id),
                               (double)resource_vector_get(&node->used, id) +
                                   (double)resource_set_get(&cls->request, id)};
}

/* How full the node would be: 0 to 1, 1 when it is too small. */
static inline double score_fraction(struct score_load load)
{
    return load.has > 0 && load.would < load.has ? load.would / load.has : 1;
}

static inline int64_t score_bounded(double score)
{
    return (int64_t)(score > SCORE_MOST ? SCORE_MOST : score < -SCORE_MOST ? -SCORE_MOST : score);
}

/* `part` (-1 to 1) of all points, times `weight`, as a score. */
static inline int64_t score_of(double part, double weight)
{
    return score_bounded(part * SCORE_POINTS * weight * SCORE_UNIT);
}

/* Whole points, times `weight`, as a score. */
static inline int64_t score_of_points(int64_t points, int64_t weight)
{
    return score_bounded((double)points * (double)weight * SCORE_UNIT);
}

/* The sum, at one of the ends where it is beyond. */
static inline int64_t score_plus(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

#endif
