/*
 * What the queue controller keeps of each queue: see queues.c. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_QUEUE_PRIVATE_H
#define PUMICE_CONTROLLER_QUEUE_PRIVATE_H

#include "api/command.h"
#include "api/queue.h"
#include "base/map.h"
#include "controller/queue/metrics.h"
#include "controller/queue/queues.h"
#include "loop/backoff.h"

struct queues {
    struct loop *loop;
    struct window *window;
    struct event_recorder *events;
    struct queues_stores stores;
    struct store_handler on_queues, on_podgroups, on_commands;
    struct map entries; /* name -> struct queue_entry, owned */
    struct list dirty;
    struct list over; /* entries with nothing left to them; empty but within a pass */
    struct loop_deferred pass;
    struct queue_metrics metrics;
    bool leading;
};

enum queue_step { STEP_NONE, STEP_PARENT, STEP_MARK, STEP_STATE, STEP_UNMARK, STEP_COMMAND };

struct queue_entry {
    struct queues *queues;
    struct list dirty_link;
    const char *name;    /* interned */
    struct queue *queue; /* borrowed from the store, NULL while there is none */
    uint32_t groups;     /* PodGroups that name it */
    uint32_t by_phase[QUEUE_PHASE_COUNT + 1]; /* the same, by phase */
    struct command_list commands;             /* borrowed from the store, oldest first */
    const char *obeyed; /* interned UID of the last Command that was, or NULL */
    struct window_request *request;
    enum queue_step step;             /* of the request */
    const char *state;                /* static; that it writes */
    const char *uid, *rv, *ns, *what; /* interned: of the object it is about; see prepare() */
    struct loop_timer retry;
    struct backoff backoff;
    bool waited; /* its Commands have waited for news of the queue */
    bool dirty;
};

#endif
