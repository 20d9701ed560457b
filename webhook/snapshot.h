/*
 * struct queue_snapshot: all Queues at one moment, for the pool threads.
 *
 * The loop thread follows Queues and publishes a new snapshot after changes; pool threads take a
 * reference, read, and give it back. A snapshot and the views in it never change; a view is shared
 * by all snapshots in which its Queue is the same. Counting is atomic.
 */
#ifndef PUMICE_WEBHOOK_SNAPSHOT_H
#define PUMICE_WEBHOOK_SNAPSHOT_H

#include "api/queue.h"
#include "webhook/rules/resources.h"
#include <pthread.h>
#include <stdatomic.h>

/* What the rules ask of a Queue. */
struct queue_view {
    atomic_uint references;
    struct arena arena; /* holds all strings and lists below */
    struct str name, parent, state, hierarchy;
    struct resources capability, deserved, guarantee;
    int64_t allocated_pods;
};

/* Copies what is needed; one reference, the caller's. */
struct queue_view *queue_view_new(const struct queue *queue);
/* From the JSON of a Queue, for tests and for a Queue that is known from the review alone. */
struct queue_view *queue_view_from_tree(const cJSON *queue);
struct queue_view *queue_view_ref(struct queue_view *view);
void queue_view_unref(struct queue_view *view);

struct queue_snapshot {
    atomic_uint references;
    bool synced;                  /* false: the list is not complete yet */
    struct queue_view **views;    /* owned array of owned references, sorted by name */
    struct queue_view **children; /* owned array, the views with a parent, by parent and name */
    size_t n, child_count;
};

/* Takes over the references in `views` (the array stays the caller's). One reference. */
struct queue_snapshot *queue_snapshot_new(struct queue_view *const *views, size_t n, bool synced);
void queue_snapshot_unref(struct queue_snapshot *snapshot);
/* The Queue of that name, or NULL. Borrowed from the snapshot. */
const struct queue_view *queue_snapshot_get(const struct queue_snapshot *snapshot, struct str name);
/* The Queues whose spec.parent is `parent`: how many, and the first of them. */
size_t queue_snapshot_children(const struct queue_snapshot *snapshot, struct str parent,
                               struct queue_view *const **ret_first);

/* Where the current snapshot is. */
struct snapshot_cell {
    pthread_mutex_t lock;
    struct queue_snapshot *current; /* owned reference */
};

/* Begins with an empty snapshot that is not synced. */
void snapshot_cell_init(struct snapshot_cell *cell);
void snapshot_cell_clear(struct snapshot_cell *cell);
/* Takes over the caller's reference. */
void snapshot_cell_publish(struct snapshot_cell *cell, struct queue_snapshot *snapshot);
/* A reference to the current one; give it back with queue_snapshot_unref. */
struct queue_snapshot *snapshot_cell_get(struct snapshot_cell *cell);

#endif
