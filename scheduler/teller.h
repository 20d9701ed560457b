/*
 * Tells pods why they wait: condition PodScheduled=False and an Event, once for each kind of
 * reason, after TELLER_DELAY, in the lowest class of the window, and no pod twice within
 * TELLER_INTERVAL. The reason is Unschedulable where nodes are lacking (autoscalers look for it),
 * QueueLimit where their queue holds them back, NotEnoughTasks where the gang lacks pods, which is
 * said when none has come for JOB_CLAIM_NS. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_TELLER_H
#define PUMICE_SCHEDULER_TELLER_H

#include "scheduler/scheduler.h"

#define TELLER_DELAY (5 * NSEC_PER_SEC)
#define TELLER_INTERVAL (60 * NSEC_PER_SEC)

void teller_init(struct scheduler *scheduler);
/* Begins to tell the job's pods if they have waited long enough. */
void teller_check(struct scheduler *scheduler, struct sched_job *job);
/* Withdraws all writes. */
void teller_clear(struct scheduler *scheduler);

#endif
