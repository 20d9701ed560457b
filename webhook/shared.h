/*
 * struct shared: what never changes and is read by many threads; the last reader frees it.
 *
 * An object that is shared begins with one. References are counted atomically. A snapshot_cell is
 * where the current object of a kind is found: the loop thread publishes, pool threads take a
 * reference and give it back.
 */
#ifndef PUMICE_WEBHOOK_SHARED_H
#define PUMICE_WEBHOOK_SHARED_H

#include <pthread.h>
#include <stdatomic.h>

struct shared {
    atomic_uint references;
    void (*free)(void *object); /* of the object that begins with this */
};

/* One reference, the caller's. */
void shared_init(struct shared *shared, void (*free_object)(void *object));
/* One reference more; returns `object`. */
void *shared_ref(void *object);
/* Gives a reference back. NULL is fine. */
void shared_unref(void *object);

struct snapshot_cell {
    pthread_mutex_t lock;
    void *current; /* owned reference */
};

/* Takes over the reference to the first object, which may be NULL. */
void snapshot_cell_init(struct snapshot_cell *cell, void *first);
void snapshot_cell_clear(struct snapshot_cell *cell);
/* Takes over the caller's reference. */
void snapshot_cell_publish(struct snapshot_cell *cell, void *object);
/* A reference to the current object, for shared_unref; NULL when there is none. */
void *snapshot_cell_get(struct snapshot_cell *cell);

#endif
