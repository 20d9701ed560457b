/*
 * struct feed: follows the objects of a kind on the loop and publishes snapshots for the pool.
 *
 * All changes of one turn make one snapshot; an object that did not change keeps its view. A feed
 * is ready when the list is complete and published and the API server has answered a watch: then
 * what is made from now on is heard of. Loop thread only.
 */
#ifndef PUMICE_WEBHOOK_FEED_H
#define PUMICE_WEBHOOK_FEED_H

#include "kube/informer.h"
#include "webhook/namespaces.h"
#include "webhook/snapshot.h"

/* How objects of a kind become a snapshot. Views and snapshots are struct shared. */
struct feed_kind {
    const char *path; /* of the list */
    const struct store_type *type;
    void *(*view)(const void *object);
    /* `views` gives its references away, the array is the feed's. */
    void *(*snapshot)(void **views, size_t n, bool synced);
    /* Whether the view of an object still tells the truth. */
    bool (*same)(const void *view, const void *object);
};

extern const struct feed_kind feed_queues, feed_namespaces;

struct feed;

/* `published` is called after each new snapshot, and when the feed becomes ready. The cell is
 * borrowed. */
struct feed *feed_new(struct loop *loop, struct kube_transport *transport,
                      const struct feed_kind *kind, struct snapshot_cell *cell, loop_fn *published,
                      void *arg);
/* NULL is fine, here and below. */
void feed_free(struct feed *feed);
/* True from the moment it is ready; of no feed, too. */
bool feed_ready(const struct feed *feed);
/* What is missing until then, one line each. */
void feed_missing(const struct feed *feed, struct buf *missing);
/* See informers_watches; nothing of no feed. */
void feed_watches(const struct feed *feed, informers_watch_fn *see, void *arg);

#endif
