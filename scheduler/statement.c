/*
 * Placements that can be taken back. See statement.h.
 */
#include "scheduler/statement.h"

bool statement_place(struct cache *cache, struct statement *statement, struct sched_task *task,
                     struct sched_node *node)
{
    cache->stating = true;
    bool placed = cache_place_task(cache, task, node);
    cache->stating = false;
    if (placed)
        vec_push(&statement->placed, task);
    return placed;
}

bool statement_undo(struct cache *cache, struct statement *statement)
{
    if (!statement->placed.n)
        return false;
    struct sched_task *task = statement->placed.items[--statement->placed.n];
    cache->stating = true;
    cache_set_task(cache, task, TASK_PENDING, NULL);
    cache->stating = false;
    return true;
}

void statement_clear(struct statement *statement)
{
    vec_clear(&statement->placed);
}
