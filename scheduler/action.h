/*
 * The actions of a cycle: one file each under actions/, listed in actions/actions.h.
 *
 * An action is a state machine: the cycle calls `step` for small pieces of work until it is done,
 * with pauses between slices in which the loop serves others. Nothing changes the cache meanwhile
 * but the action itself. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_ACTION_H
#define PUMICE_SCHEDULER_ACTION_H

#include "base/str.h"
#include <stdbool.h>

struct action;
struct error;
struct scheduler;

struct action_type {
    const char *name;
    /* What to tell a user who configures an action that does nothing in this version, else NULL;
     * such an action has no functions and is left out of the cycle. */
    const char *without_effect;
    /* Arguments that are accepted without effect, NULL at the end; may be NULL. */
    const char *const *ignored;
    /* Reads the arguments when a configuration is loaded, and makes the action's state in it; as
     * with plugins. Both may be NULL. */
    int (*open)(struct action *action, struct error *err);
    void (*close)(struct action *action);
    /* Makes the state of one run; may be NULL as a result when there is nothing to do. */
    void *(*begin)(struct scheduler *scheduler);
    /* A little work; true when the action is done. */
    bool (*step)(struct scheduler *scheduler, void *state);
    /* Frees the state, be it done or abandoned in the middle (nothing stays half-placed). */
    void (*end)(struct scheduler *scheduler, void *state);
};

/* The action of that name, or NULL. */
const struct action_type *action_type_find(struct str name);
/* All names, for messages: "enqueue, allocate, ...". */
const char *action_names(void);

#endif
