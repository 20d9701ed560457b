/*
 * Actions that configurations name and this version accepts without effect: nothing is evicted yet.
 * Each says so when a configuration with it is loaded.
 */
#include "scheduler/actions/actions.h"

#define NO_EVICTION "pods are not evicted for others yet"

const struct action_type action_preempt = {.name = "preempt", .without_effect = NO_EVICTION};
const struct action_type action_reclaim = {.name = "reclaim", .without_effect = NO_EVICTION};
const struct action_type action_gangpreempt = {.name = "gangpreempt",
                                               .without_effect = NO_EVICTION};
const struct action_type action_gangreclaim = {.name = "gangreclaim",
                                               .without_effect = NO_EVICTION};
