/*
 * struct queues: the states of Queues: opened and closed by Commands, by their parents, and by
 * whoever writes status.state.
 *
 * Everything is decided from the objects as they are: a queue below one that is Closed or Closing
 * gets the annotation volcano.sh/closed-by-parent and closes; it opens again with its parent; a
 * queue that is Closing is Closed once no PodGroup names it; a queue without a parent gets the
 * root. The root does not close. One write for a queue at a time, of status.state alone
 * (server-side apply as queue-controller, of the version that was looked at), or of the annotation
 * or the parent; a queue at rest costs none. A Command is deleted after what it asked for was
 * written; one that can do nothing is deleted with an Event, one for a queue that is not known some
 * seconds later, since it may be heard of late. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_QUEUE_QUEUES_H
#define PUMICE_CONTROLLER_QUEUE_QUEUES_H

#include "kube/events.h"
#include "kube/store.h"
#include "kube/window.h"

struct queues;
struct metrics;

/* The stores queues works on: of struct queue, struct podgroup and struct command. */
struct queues_stores {
    struct store *queues, *podgroups, *commands;
};

/* All are borrowed and must outlive it. */
struct queues *queues_new(struct loop *loop, struct window *window, struct event_recorder *events,
                          const struct queues_stores *stores);
/* Tells in this registry, from now on, how many PodGroups of each phase each queue has, while it
 * leads; the registry is borrowed, and must outlive it. */
void queues_set_metrics(struct queues *queues, struct metrics *metrics);
/* Withdraws its requests. NULL is fine. */
void queues_free(struct queues *queues);
/* Nothing is written without leading; what is owed is written when it comes. */
void queues_set_leading(struct queues *queues, bool leading);

#endif
