/*
 * When cycles run and how they are sliced. See scheduler.h.
 */
#ifndef PUMICE_SCHEDULER_CYCLE_H
#define PUMICE_SCHEDULER_CYCLE_H

#include "scheduler/scheduler.h"

void cycle_init(struct scheduler *scheduler);
/* Abandons a cycle under way: what is placed and not bound is taken back. */
void cycle_clear(struct scheduler *scheduler);
/* Runs a cycle soon, or another one after the present. */
void cycle_request(struct scheduler *scheduler);
/* What the action under way has taken so far, pauses aside, in nanoseconds. */
int64_t cycle_action_spent(const struct scheduler *scheduler);

#endif
