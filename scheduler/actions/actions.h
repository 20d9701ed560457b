/*
 * The actions there are: a new one is a file of its name and a line here.
 */
#ifndef PUMICE_SCHEDULER_ACTIONS_H
#define PUMICE_SCHEDULER_ACTIONS_H

#include "scheduler/action.h"

/* One line each: action_<name> is defined in <name>.c. */
#define ACTIONS(X)                                                                                 \
    X(enqueue)                                                                                     \
    X(allocate)                                                                                    \
    X(backfill)                                                                                    \
    X(preempt)                                                                                     \
    X(reclaim)                                                                                     \
    X(gangpreempt)                                                                                 \
    X(gangreclaim)                                                                                 \
    X(shuffle)

#define ACTION_DECLARE(name) extern const struct action_type action_##name;
ACTIONS(ACTION_DECLARE)

/* Where jobs do not queue (no action enqueue), all that wait to enter do: for allocate. */
void enqueue_all(struct scheduler *scheduler);

#endif
