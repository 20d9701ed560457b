/*
 * struct queue_snapshot: all Queues at one moment, for the pool threads.
 *
 * The loop thread follows Queues (feed.h) and publishes a new snapshot after changes; pool threads
 * take a reference, read, and give it back. A snapshot and the views in it never change; a view is
 * shared by all snapshots in which its Queue is the same. Both are struct shared.
 */
#ifndef PUMICE_WEBHOOK_SNAPSHOT_H
#define PUMICE_WEBHOOK_SNAPSHOT_H

#include "api/queue.h"
#include "webhook/rules/resources.h"
#include "webhook/shared.h"

/* What the rules ask of a Queue. */
struct queue_view {
    struct shared shared;
    struct arena arena; /* holds all strings and lists below */
    struct str name, parent, state, hierarchy;
    struct resources capability, deserved, guarantee;
    int64_t allocated_pods;
};

/* Copies what is needed; one reference, the caller's. */
struct queue_view *queue_view_new(const struct queue *queue);
/* Whether the view of a Queue still tells the truth. */
bool queue_view_same(const struct queue_view *view, const struct queue *queue);
/* From the JSON of a Queue, for tests and for a Queue that is known from the review alone. */
struct queue_view *queue_view_from_tree(const cJSON *queue);

struct queue_snapshot {
    struct shared shared;
    bool synced;                  /* false: the list is not complete yet */
    struct queue_view **views;    /* owned array of owned references, sorted by name */
    struct queue_view **children; /* owned array, the views with a parent, by parent and name */
    size_t n, child_count;
};

/* Takes over the references in `views` (the array stays the caller's). One reference. */
struct queue_snapshot *queue_snapshot_new(struct queue_view *const *views, size_t n, bool synced);
/* The Queue of that name, or NULL. Borrowed from the snapshot. */
const struct queue_view *queue_snapshot_get(const struct queue_snapshot *snapshot, struct str name);
/* The Queues whose spec.parent is `parent`: how many, and the first of them. */
size_t queue_snapshot_children(const struct queue_snapshot *snapshot, struct str parent,
                               struct queue_view *const **ret_first);

#endif
