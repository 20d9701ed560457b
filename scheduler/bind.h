/*
 * Binds: one POST of pods/NAME/binding for each placed pod, and what follows from its answer.
 *
 * Volumes that the pod is to have are bound first (volumes/binder.h). A bind whose fate is unknown
 * (no answer, 5xx, 409) is settled by reading the pod, and until then the pod stays charged to its
 * node. A refused one gives the node back and is tried again after a back-off that is the pod's
 * own. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_BIND_H
#define PUMICE_SCHEDULER_BIND_H

#include "scheduler/scheduler.h"

/* Binds an allocated task to its node. */
void bind_start(struct scheduler *scheduler, struct sched_task *task);
/* The outcome of a bind, applied to the cache; true when a cycle should look at it. */
bool bind_settle(struct scheduler *scheduler, const struct change *change);
/* Withdraws all calls. */
void bind_clear(struct scheduler *scheduler);

#endif
