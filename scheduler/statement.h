/*
 * struct statement: placements that can be taken back. A gang is placed whole in one, and only
 * then bound.
 */
#ifndef PUMICE_SCHEDULER_STATEMENT_H
#define PUMICE_SCHEDULER_STATEMENT_H

#include "scheduler/cache.h"

struct statement {
    VEC(struct sched_task *) placed; /* borrowed, in order */
};

/* cache_place_task, so that it can be undone. */
bool statement_place(struct cache *cache, struct statement *statement, struct sched_task *task,
                     struct sched_node *node);
/* Takes the last placement back; false when there is none left. */
bool statement_undo(struct cache *cache, struct statement *statement);
/* Frees the list; everything must be bound or undone. */
void statement_clear(struct statement *statement);

#endif
