/*
 * struct queue_feed: follows Queues on the loop and publishes snapshots for the pool.
 *
 * All changes of one turn make one snapshot; a Queue that did not change keeps its view. Loop
 * thread only.
 */
#ifndef PUMICE_WEBHOOK_QUEUE_FEED_H
#define PUMICE_WEBHOOK_QUEUE_FEED_H

#include "kube/informer.h"
#include "webhook/snapshot.h"

struct queue_feed;

/* `published` is called after each new snapshot. The cell is borrowed. */
struct queue_feed *queue_feed_new(struct loop *loop, struct kube_transport *transport,
                                  struct snapshot_cell *cell, loop_fn *published, void *arg);
void queue_feed_free(struct queue_feed *feed);
/* True when the list is complete and published. */
bool queue_feed_synced(const struct queue_feed *feed);
/* What is missing, appended as informers_missing does. */
void queue_feed_missing(const struct queue_feed *feed, struct buf *missing);

#endif
