/*
 * Volumes that are made before any pod of a gang is bound.
 *
 * Pods of a gang may share a claim for which a volume is to be made. Until it is there nobody knows
 * from where it is reached, and all of them would have to be on one node. When the attempt to place
 * the gang fails for that, another one presumes that the volume is reached from everywhere. If all
 * pods find their places then, nothing else is in the way: the volume is asked for on the node of
 * the first, everything is taken back, and the gang is tried again when the volume is there. Lives
 * within one attempt of allocate; loop thread only.
 */
#ifndef PUMICE_SCHEDULER_ACTIONS_AHEAD_H
#define PUMICE_SCHEDULER_ACTIONS_AHEAD_H

#include "scheduler/scheduler.h"
#include "scheduler/statement.h"

enum ahead {
    AHEAD_NO,
    AHEAD_WANTED, /* once this attempt has been taken back, there is to be one that presumes */
    AHEAD_TRIED   /* this is the one */
};

/* The attempt has failed, first for a pod of the group; nothing is taken back yet. Whether there is
 * to be another one: not more often for a job than now and then. */
enum ahead ahead_wanted(struct scheduler *scheduler, struct sched_job *job,
                        const struct task_group *group);
/* The attempt that presumes begins. */
void ahead_begin(struct scheduler *scheduler);
/* All pods have their places in it: asks for the volumes. */
void ahead_ask(struct scheduler *scheduler, const struct sched_job *job,
               const struct statement *statement);
/* It has been taken back, or is about to be; harmless otherwise. */
void ahead_end(struct scheduler *scheduler);

#endif
