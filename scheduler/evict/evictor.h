/*
 * Carries decisions to evict out, and follows them until the room is used or given up.
 *
 * A decision (struct evict_decision) belongs to the job that wants the room. Its victims are asked
 * to go through the eviction API with the pod's UID as a precondition; they stay charged to their
 * nodes until they are gone. The places that they make are held for the job meanwhile (holds.h) and
 * shown as status.nominatedNodeName of its pods. A decision ends when the job has been placed,
 * cannot use it any more (it is gone, has too few pods, left its queue), when a pod that cannot be
 * evicted makes it pointless, or when its time is up: DECISION_SPARE after the last victim is gone
 * or should have been. Then the holds are let go, and nominations that are still shown are taken
 * back. A job whose decision ended without its being placed decides again only after a back-off.
 *
 * A victim that a PodDisruptionBudget keeps (429) is asked again for DECISION_PATIENCE; other
 * refusals (4xx) are final; without an answer, or with 5xx, it is asked again. A victim that could
 * not be evicted is as before. Nothing is stored: after a restart victims that terminate are seen
 * as such, and pods that show a nomination hold their place again (evictor_adopt), so that nobody
 * is evicted twice. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_EVICT_EVICTOR_H
#define PUMICE_SCHEDULER_EVICT_EVICTOR_H

#include "scheduler/evict/plan.h"

#define DECISION_SPARE (30 * NSEC_PER_SEC)    /* see above */
#define DECISION_PATIENCE (30 * NSEC_PER_SEC) /* likewise */

/* Makes the plan's outcome true: victims are Releasing in the cache from now on, their places are
 * held for the job, and all is said and written. `action`: the name that users configured
 * ("preempt"), as a constant. The plan is only to be freed afterwards. */
void evictor_decide(struct scheduler *scheduler, struct sched_job *job, struct evict_plan *plan,
                    const char *action);
/* The same for a pod that nobody wants the room of (shuffle). */
void evictor_evict(struct scheduler *scheduler, struct sched_task *task, const char *action);
/* Whether the job may have somebody evicted now: it has no decision under way and no back-off. */
bool evictor_may(const struct scheduler *scheduler, const struct sched_job *job);
/* A pod that waits and shows a nomination has come into the cache: its place is held again, if
 * there is none that was decided here, it is a pod of ours, and the node is known. */
void evictor_adopt(struct scheduler *scheduler, struct sched_task *task);
/* The job, or one of its pods, changed: ends its decision when it is over. */
void evictor_check(struct scheduler *scheduler, struct sched_job *job);
/* When (loop time) to look at the job again, INT64_MAX for never. */
int64_t evictor_look(const struct scheduler *scheduler, const struct sched_job *job);
/* Withdraws all calls, and forgets all decisions: leadership was lost or the process ends. */
void evictor_clear(struct scheduler *scheduler);

#endif
