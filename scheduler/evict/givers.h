/*
 * The jobs whose pods hold room, which others might have: found once for all plans of an action.
 *
 * While the action runs they stay the same: those who are evicted meanwhile still hold their room.
 * Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_EVICT_GIVERS_H
#define PUMICE_SCHEDULER_EVICT_GIVERS_H

#include "scheduler/cache.h"

/* All 0 is one for which nobody was looked for yet. */
struct evict_givers {
    VEC(struct sched_job *) jobs; /* borrowed; in the order in which the cache has them */
    size_t cursor;                /* over the cache's jobs */
    bool complete;
};

/* Frees what it holds. */
void evict_givers_clear(struct evict_givers *givers);
/* Looks at some more jobs; true when all have been. */
bool evict_givers_find(struct evict_givers *givers, struct cache *cache);

#endif
