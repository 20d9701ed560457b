/*
 * The queues that must exist: "root" and the default one, created by the leader when absent, tried
 * for ever.
 */
#ifndef PUMICE_SCHEDULER_QUEUES_H
#define PUMICE_SCHEDULER_QUEUES_H

#include "scheduler/scheduler.h"

void queues_init(struct scheduler *scheduler);
void queues_clear(struct scheduler *scheduler);
/* Creates what is missing, if we lead and the list of queues is complete. */
void queues_check(struct scheduler *scheduler);

#endif
