/*
 * From the stores into the cache. See scheduler.h.
 */
#ifndef PUMICE_SCHEDULER_APPLY_H
#define PUMICE_SCHEDULER_APPLY_H

#include "scheduler/scheduler.h"

/* Subscribes to the stores; takes it back. */
void apply_init(struct scheduler *scheduler);
void apply_clear(struct scheduler *scheduler);
/* Applies one change to the cache and drops its references. */
void apply_change(struct scheduler *scheduler, struct change *change);

#endif
