/*
 * status.allocated of queues: what pods of a queue, and of all queues below it, hold on nodes.
 *
 * Written by the leader, a second after it changed at the latest, so that many binds are one write;
 * one write a queue at a time, about the version that is known, none while it says what is true.
 * What others write there is put right. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_TALLY_H
#define PUMICE_SCHEDULER_TALLY_H

#include "scheduler/scheduler.h"

void tally_init(struct scheduler *scheduler);
/* Withdraws all writes. */
void tally_clear(struct scheduler *scheduler);
/* What queues hold may have changed: all are looked at within a second. Cheap. */
void tally_request(struct scheduler *scheduler);

#endif
