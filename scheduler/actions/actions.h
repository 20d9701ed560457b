/*
 * The actions there are; each is defined in the file of its name.
 */
#ifndef PUMICE_SCHEDULER_ACTIONS_H
#define PUMICE_SCHEDULER_ACTIONS_H

#include "scheduler/action.h"

extern const struct action_type action_enqueue;
extern const struct action_type action_allocate;
extern const struct action_type action_backfill;
extern const struct action_type action_preempt;
extern const struct action_type action_reclaim;
extern const struct action_type action_gangpreempt;
extern const struct action_type action_gangreclaim;
extern const struct action_type action_shuffle;

#endif
