/*
 * Shards of a controller that is one of several: see controller/shards/shards.h for who has which.
 *
 * Of a shard that it does not have a controller keeps what the stores hold, so that it can take it
 * over at once, and nothing else: no bookkeeping of jobs, members or templates. What it takes over
 * is as after a start: built from the stores, and a job is read by name before the first write for
 * it. What it lets go it forgets; nothing waiting is sent, and what is in flight is left to end.
 * Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_ADOPT_H
#define PUMICE_CONTROLLER_ADOPT_H

#include "controller/controller.h"

/* It has nothing until it adopts it. Before controller_follow_pods, for the start. `drained` tells
 * of shards that were let go and of which nothing is in flight any more. */
void controller_set_sharded(struct controller *controller,
                            void (*drained)(shard_set set, void *arg), void *arg);
/* Has these from now on. */
void controller_adopt(struct controller *controller, shard_set set);
/* Has these no more, and will tell when they are drained. */
void controller_let_go(struct controller *controller, shard_set set);

#endif
