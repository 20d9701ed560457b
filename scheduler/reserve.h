/*
 * Reservations: when a gang that starves may hold nodes, which ones, and for how long.
 *
 * A gang that has lacked nodes for its minimum for gang.reserveAfter (by default 5 minutes, 0:
 * never) may hold places for its pods, one gang of a queue at a time and the first by the order of
 * jobs, if its pods would fit the cluster emptied of all others' pods: one that can never fit holds
 * nothing. What its pods say of one another counts (apart.h): it holds no places of which they
 * could not have all. Places that are free come first; when none is, nodes on which the pods would
 * fit once others' pods end there, the emptiest first. All reservations together hold at most a
 * tenth of what the cluster has of any resource. In each queue a job is looked at every 10 seconds
 * at most, and one a second in all: where many wait, the first are often placed before a
 * reservation is worth it. After 10 minutes it lets go, and may hold again only after as long,
 * twice as long the next time, at most an hour. It lets go at once when it is placed, too few pods
 * are left, it leaves its queue or that closes, its queue may not have it, its waiting time has run
 * out, the configuration changes or the scheduler does not lead any more.
 *
 * Jobs of higher priority are not kept off: when one would have room there, the gang lets go. The
 * job that holds comes first in its queue and sees what it holds as free; so does a gang that was
 * cut off half-way, whoever holds. Pods that ask for nothing are not kept off, and pods of other
 * schedulers know nothing of this. Nothing survives a restart. A job for which others are evicted
 * (evict/evictor.h) lets go what it held before, and holds places by other rules meanwhile; it
 * gives way to jobs of higher priority in its own queue alone. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_RESERVE_H
#define PUMICE_SCHEDULER_RESERVE_H

#include "scheduler/scheduler.h"

/* The job lets go what it holds, if anything; if it did, it may hold again after a back-off. */
void reserve_drop(struct cache *cache, struct sched_job *job);
/* All let go, without a back-off: they may hold again at once. */
void reserve_drop_all(struct cache *cache);

/* ---- for the cycle ----------------------------------------------------------------------------
 */

/* An attempt found no nodes for the job's minimum. */
void reserve_failed(struct cache *cache, struct sched_job *job);
/* An attempt was refused by the job's queue. Where the cluster is full that may be for want of
 * nodes all the same; else the job lets go what it holds. */
void reserve_refused(struct scheduler *scheduler, struct sched_job *job);
/* An attempt failed for a plugin that keeps pods off nodes with room: more room would not help. */
void reserve_spare(struct cache *cache, struct sched_job *job);
/* The job changed: lets go what it holds when it should not any more. */
void reserve_check(struct scheduler *scheduler, struct sched_job *job);
/* Whether the job may hold nodes now, were it not for others in its queue. */
bool reserve_may(const struct scheduler *scheduler, const struct sched_job *job);
/* Whether to make a plan for it: another was made long enough ago, and at least one of its pods has
 * room in what may be held. Its queue is then not looked at again for some seconds. */
bool reserve_is_worth(struct scheduler *scheduler, struct sched_job *job);
/* Whether it starves and has held nodes for long enough to say so. */
bool reserve_is_told(const struct scheduler *scheduler, const struct sched_job *job);
/* When (loop time) to look at the job again, INT64_MAX for never. */
int64_t reserve_look(const struct scheduler *scheduler, const struct sched_job *job);

/* Whether the plugin priority ranks jobs. */
bool reserve_ranks_priorities(const struct sched_config *config);

/* For an attempt to place the job, until holds_restore: what it holds is free to it. So is what
 * others hold for a gang that was cut off half-way (`mending`); but of places for which somebody is
 * evicted only those of jobs of lower priority in its queue. */
void reserve_lift(struct scheduler *scheduler, struct sched_job *job, bool mending);
/* An attempt found no node for a pod of the class, or (NULL) its queue could not have it: jobs of
 * lower priority let go, if the plugin priority ranks jobs and one would have room where they hold
 * something. Those of the same queue for which others are evicted do not lose their places yet:
 * with `lift` these are lifted, until reserve_settle or holds_restore. True when any did either:
 * then it is worth another attempt. */
bool reserve_yield(struct scheduler *scheduler, const struct sched_job *job, struct pod_class *cls,
                   bool lift);
/* These pods of the job have found places: jobs for which others are evicted lose theirs if they
 * were lifted and these pods are on a node of theirs, or their queue cannot have the rest any more.
 */
void reserve_settle(struct scheduler *scheduler, const struct sched_job *job,
                    struct sched_task *const *placed, size_t n);

/* Whether a gang would fit the emptied cluster: found out class by class, in small steps. */
struct reserve_plan;
struct reserve_plan *reserve_plan_new(struct scheduler *scheduler, struct sched_job *job);
/* A little work; true when it is done. */
bool reserve_plan_step(struct reserve_plan *plan);
bool reserve_plan_fits(const struct reserve_plan *plan);
void reserve_plan_free(struct reserve_plan *plan);

/* What became of the plan: the job has a reservation, of nothing yet, or waits for its next
 * chance. */
void reserve_decide(struct scheduler *scheduler, struct sched_job *job, bool fits);
/* Makes what the job holds fit what it lacks; before a round of reserve_step. */
void reserve_begin(struct sched_job *job);
/* Holds one more place, or one that is free instead of one that is not, or has looked in vain for
 * pods of one class more; false when all have been looked at. A reservation that holds nothing then
 * ends. */
bool reserve_step(struct scheduler *scheduler, struct sched_job *job);

#endif
