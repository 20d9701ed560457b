/*
 * Tells pods why they wait: condition PodScheduled=False/Unschedulable (autoscalers look for it),
 * or False/QueueLimit where their queue has had its share, and an Event, once for each kind of
 * reason, after TELLER_DELAY, in the lowest class of the window. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_TELLER_H
#define PUMICE_SCHEDULER_TELLER_H

#include "scheduler/scheduler.h"

#define TELLER_DELAY (5 * NSEC_PER_SEC)

/* Begins to tell the job's pods if they have waited long enough. */
void teller_check(struct scheduler *scheduler, struct sched_job *job);
/* Withdraws all writes. */
void teller_clear(struct scheduler *scheduler);

#endif
