/*
 * Placements that can be taken back. See statement.h.
 */
#include "scheduler/statement.h"
#include "scheduler/volumes/volumes.h"

bool statement_place(struct cache *cache, struct statement *statement, struct sched_task *task,
                     struct sched_node *node)
{
    const struct pod *pod = task->pod;
    if (pod->cls->volumes &&
        !volumes_assume(cache->volumes, pod->meta.uid, pod->cls->volumes, node->object))
        return false;
    cache->stating = true;
    cache_set_task(cache, task, TASK_ALLOCATED, node);
    cache->stating = false;
    vec_push(&statement->placed, task);
    return true;
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
