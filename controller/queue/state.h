/*
 * What a queue's state is to be: a pure function of what is known about it.
 */
#ifndef PUMICE_CONTROLLER_QUEUE_STATE_H
#define PUMICE_CONTROLLER_QUEUE_STATE_H

#include <stdbool.h>
#include <stddef.h>

enum queue_action { QUEUE_SYNC, QUEUE_OPEN_IT, QUEUE_CLOSE_IT };

struct queue_facts {
    const char *state; /* status.state, "Open" when empty */
    enum queue_action action;
    bool root;             /* it is the root */
    bool has_groups;       /* some PodGroup names it, in whatever phase */
    bool parent_closed;    /* its parent is Closed or Closing */
    bool closed_by_parent; /* it has the annotation */
};

/* True for Closed and Closing. */
bool queue_state_is_closed(const char *state);
/* A static text; `state` itself when nothing is to change, also for a state that is not known. */
const char *queue_state_next(const struct queue_facts *facts);
/* Why the action is refused, or NULL: closing the root, opening below a closed parent. */
const char *queue_action_refused(const struct queue_facts *facts);

#endif
