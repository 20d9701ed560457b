/*
 * struct evict_plan: for one job, whom to evict so that it can be placed; decided in memory.
 *
 * The pods that the job lacks are placed one by one on the cache itself, as allocate would, with an
 * undo log: first as if what is on its way out anyway were gone, then, for a pod that finds no
 * node, with others taken away from one. Either all that the job needs finds a place or nobody is
 * evicted. Until evict_plan_commit everything can be taken back, and evict_plan_free takes it back.
 *
 * What is evicted are units: one pod of a job that has more than its minimum (of those on a node
 * the ones that it would place last), or else all pods of the job at once (a gang is reduced to its
 * minimum or taken whole). Which pods may go at all is
 * said by rules here (struct evict_rules), by plugins (points_evict.h) and by
 * PodDisruptionBudgets, whatever plugins there are.
 *
 * The order of cost, of two sets of victims, the first difference decides:
 *   1. between queues: the queue that is served last gives first;
 *   2. the highest priority of any victim's job (inside one job: of any victim), lower is cheaper;
 *   3. lost work, in steps of a factor of two: of each victim the time since it started, in
 *      seconds, times the largest part of the cluster that it asks for;
 *   4. fewer pods;
 *   5. lost work exactly; then the node with the lower index.
 *
 * For each pod the cheapest node is taken, where the victims are those in order of cost up to the
 * one with which the pod fits, less those that turn out not to be needed, the costliest first. Each
 * is asked for as things are by then; where plugins or budgets refused one because of those before
 * it, the node is tried anew, a few times at most, with one going first that makes the room by
 * itself, or with the first that was refused, until EVICT_ANEW_MOST pods have gone in vain so.
 * (Other orders, which might do, are not tried.) In the end every unit is looked at again, the
 * costliest first: one without which the job has its places all the same is spared, and a job that
 * is gone goes only in part when that is enough. So none of the victims is in vain, and where the
 * job's pods are alike no set with a lower highest priority would do; save that what nodes compete
 * for (what a job can spare that does not go whole, what a budget lets go) is given to the cheapest
 * of them, though another may need it more; and save that, where units times places are more than
 * EVICT_SPARE_MOST, the places are not found anew for each unit: then one is spared only if it has
 * room where it was, beside all who are placed, and where more than room matters (affinity, ports,
 * volumes, limits of groups of nodes) none is. Loop thread only; lives within one action.
 */
#ifndef PUMICE_SCHEDULER_EVICT_PLAN_H
#define PUMICE_SCHEDULER_EVICT_PLAN_H

#include "scheduler/evict/givers.h"
#include "scheduler/scheduler.h"

#define EVICT_SPARE_MOST 65536 /* pods placed anew so that units may be spared, at most */
#define EVICT_ANEW_MOST 65536  /* pods taken away in trials made anew, in vain, at most */

struct evict_rules {
    enum eviction_kind kind;
    bool inside;      /* victims are pods of the job itself, of lower rank; else of other jobs */
    bool whole;       /* gangs may be taken whole */
    bool break_gangs; /* single pods of a gang may be taken, whatever becomes of the rest */
    struct evict_givers *givers; /* borrowed; of the action, NULL: the plan looks for them itself */
};

enum evict_outcome {
    EVICT_NOTHING, /* it finds no place, whoever is evicted */
    EVICT_NO_NEED, /* it finds places once those that are on their way out are gone */
    EVICT_REFUSED, /* its queue may not have it, or may not have others evicted for it */
    EVICT_DECIDED  /* victims and places are known */
};

struct evict_victim {
    struct sched_task *task; /* borrowed */
    bool whole;              /* it goes because its whole gang does */
};

struct evict_place {
    struct sched_task *task; /* borrowed; a pod of the job */
    struct sched_node *node; /* borrowed */
};

struct evict_plan;

/* For a job that waits with pods; places as many as it lacks for its minimum, or when it has that
 * as many of the others as find places. Nothing may change the cache until it is freed but the
 * plan. */
struct evict_plan *evict_plan_new(struct scheduler *scheduler, struct sched_job *job,
                                  const struct evict_rules *rules);
/* A little work; true when it is done. */
bool evict_plan_step(struct evict_plan *plan);
/* When it is done. */
enum evict_outcome evict_plan_outcome(const struct evict_plan *plan);
/* When (wall time) the answer may be another though nothing changes, since the cooldown of somebody
 * who might go ends, or those that do not leave are not waited for any more; INT64_MAX for never.
 */
int64_t evict_plan_due(const struct evict_plan *plan);
/* Once decided, and when all is taken back in the cache: who is to go, those of a job one after the
 * other, and where the pods are to be placed. The arrays are the plan's. */
const struct evict_victim *evict_plan_victims(const struct evict_plan *plan, size_t *ret_n);
const struct evict_place *evict_plan_places(const struct evict_plan *plan, size_t *ret_n);
/* Takes everything back that is not yet. NULL is fine. */
void evict_plan_free(struct evict_plan *plan);

#endif
