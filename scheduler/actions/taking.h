/*
 * What the actions that evict have in common: which jobs may want others' room, in which order they
 * are asked, and what becomes of the answer.
 *
 * Each action evicts for the jobs that starve by config_job_starving, one after the other in the
 * order in which queues and jobs take turns: evict/plan.h decides, evict/evictor.h carries out. A
 * job for which nobody could be evicted is not looked at again before something changed that could
 * matter, and then after a while that grows from 1 to 30 seconds. Lives within one run of an
 * action; loop thread only.
 */
#ifndef PUMICE_SCHEDULER_ACTIONS_TAKING_H
#define PUMICE_SCHEDULER_ACTIONS_TAKING_H

#include "scheduler/action.h"
#include "scheduler/evict/plan.h"

struct taking_type {
    const char *name; /* of the action */
    enum eviction_kind kind;
    bool inside_too; /* afterwards pods of a job may have others of it evicted */
};

/* Reads the arguments of an action that evicts pod by pod, or job by job, into its state. */
int taking_open_pods(struct action *action, struct error *err);
int taking_open_jobs(struct action *action, struct error *err);
void taking_close(struct action *action);

/* When (loop time) to look at the job again, since somebody may be evicted for it then; INT64_MAX
 * for never. */
int64_t taking_look(const struct scheduler *scheduler, const struct sched_job *job);

/* Why nobody is evicted for the job, a line for each action that has looked for somebody in vain
 * since it last found one. */
void taking_explain(const struct scheduler *scheduler, const struct sched_job *job,
                    struct buf *out);

/* For struct action_type. */
void *taking_begin(struct scheduler *scheduler, const struct taking_type *type);
bool taking_step(struct scheduler *scheduler, void *state);
void taking_end(struct scheduler *scheduler, void *state);

#endif
