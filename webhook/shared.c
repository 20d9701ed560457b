/*
 * Objects shared between threads: see shared.h.
 */
#include "webhook/shared.h"
#include "base/ensure.h"

void shared_init(struct shared *shared, void (*free_object)(void *object))
{
    atomic_init(&shared->references, 1);
    shared->free = free_object;
}

void *shared_ref(void *object)
{
    struct shared *shared = object;
    atomic_fetch_add(&shared->references, 1);
    return object;
}

void shared_unref(void *object)
{
    struct shared *shared = object;
    if (shared && atomic_fetch_sub(&shared->references, 1) == 1)
        shared->free(object);
}

void snapshot_cell_init(struct snapshot_cell *cell, void *first)
{
    ENSURE(pthread_mutex_init(&cell->lock, NULL) == 0);
    cell->current = first;
}

void snapshot_cell_clear(struct snapshot_cell *cell)
{
    shared_unref(cell->current);
    cell->current = NULL;
    ENSURE(pthread_mutex_destroy(&cell->lock) == 0);
}

void snapshot_cell_publish(struct snapshot_cell *cell, void *object)
{
    ENSURE(pthread_mutex_lock(&cell->lock) == 0);
    void *old = cell->current;
    cell->current = object;
    ENSURE(pthread_mutex_unlock(&cell->lock) == 0);
    shared_unref(old);
}

void *snapshot_cell_get(struct snapshot_cell *cell)
{
    ENSURE(pthread_mutex_lock(&cell->lock) == 0);
    void *object = cell->current ? shared_ref(cell->current) : NULL;
    ENSURE(pthread_mutex_unlock(&cell->lock) == 0);
    return object;
}
