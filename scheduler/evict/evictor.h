/*
 * Carries decisions to evict out, and follows them until the room is used or given up.
 *
 * A decision (struct evict_decision) belongs to the job that wants the room. Its victims are asked
 * to go through the eviction API with the pod's UID as a precondition; they stay charged to their
 * nodes until they are gone. The places that they make are held for the job meanwhile (holds.h) and
 * shown as status.nominatedNodeName of its pods; that is sent first, so that hardly anybody is
 * evicted for a place that a scheduler after this one would not know of. A decision ends when the
 * job has been placed, cannot use it any more (it is gone, has too few pods, left its queue), when
 * its places are lost (a node is gone or closed to its pods, a job of higher priority in its queue
 * has taken them), when a pod that cannot be evicted makes it pointless, or when its time is up:
 * DECISION_SPARE after the last victim is gone or should have been. Then the holds are let go,
 * victims that were not asked yet stay, and nominations that are still shown are taken back. A job
 * whose decision ended without its being placed decides again only after a back-off.
 *
 * Evictions that do not help would be made again and again. So nobody but a more important job of
 * the same queue uses the places: not the victims, made again, whatever their priority, nor other
 * jobs of other queues, for whose sake nobody was evicted. And the share of the queue that they
 * take up is used up from the decision on (queue->awaited): the victims hold it no more then, and
 * could else be placed elsewhere with it before the job is.
 *
 * A victim that a PodDisruptionBudget keeps (429) is asked again for DECISION_PATIENCE; other
 * refusals (4xx) are final; without an answer, or with 5xx, it is asked again, for as long. What a
 * request waits for its turn in the window is no part of that time, so that many victims take no
 * decision back. An eviction that was taken, and that the pod does not show after as long, is one
 * that was refused. A victim that could not be evicted is as before. Nothing is stored: after a
 * restart victims that terminate are seen as such, and pods that show a nomination hold their place
 * again (evictor_adopt), so that nobody is evicted twice. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_EVICT_EVICTOR_H
#define PUMICE_SCHEDULER_EVICT_EVICTOR_H

#include "scheduler/evict/plan.h"

#define DECISION_SPARE (30 * NSEC_PER_SEC)    /* see above */
#define DECISION_PATIENCE (30 * NSEC_PER_SEC) /* likewise */

void evictor_init(struct scheduler *scheduler);
/* Makes the plan's outcome true, a part of it with each call: victims are Releasing in the cache
 * from now on, their places are held for the job, and all is said and written. True when all is
 * done; `*cursor` is 0 at first, and no change may be applied to the cache in between. `action`:
 * the name that users configured ("preempt"), as a constant. The plan is only to be freed
 * afterwards. */
bool evictor_decide(struct scheduler *scheduler, struct sched_job *job,
                    const struct evict_plan *plan, const char *action, size_t *cursor);
/* The same from its parts, at once; at least one victim, those of a job one after the other, and
 * one place. Does nothing when the scheduler does not lead (any more) or is about to stop. */
void evictor_start(struct scheduler *scheduler, struct sched_job *job,
                   const struct evict_victim *victims, size_t victim_count,
                   const struct evict_place *places, size_t place_count, const char *action);
/* The same for a pod that nobody wants the room of (shuffle). */
void evictor_evict(struct scheduler *scheduler, struct sched_task *task, const char *action);
/* Whether the job may have somebody evicted now: it has no decision under way and no back-off. */
bool evictor_may(const struct scheduler *scheduler, const struct sched_job *job);

/* ---- for the scheduler ------------------------------------------------------------------------
 */

/* Before the first cycle of a leader: pods of ours that wait and show a nomination hold their place
 * there again, where there is room for them or will be once pods that terminate are gone. */
void evictor_adopt(struct scheduler *scheduler);
/* The pod has changed, or is gone. */
void evictor_pod_changed(struct scheduler *scheduler, const char *uid);
/* The place that was decided on for a pod of the job that still waits, the next from `*cursor` (0
 * at first) on; false when there is none. */
bool evictor_next_place(const struct scheduler *scheduler, const struct sched_job *job,
                        size_t *cursor, struct evict_place *ret_place);
/* These pods of the job have been given their nodes, and it has its minimum. What was decided for
 * that is over; of what was decided for pods above it, as many places are let go. */
void evictor_placed(struct scheduler *scheduler, struct sched_job *job,
                    struct sched_task *const *tasks, size_t n);
/* The job, or one of its pods, or of its victims, changed: ends its decision when it is over. */
void evictor_check(struct scheduler *scheduler, struct sched_job *job);
/* Whether something that is held on any of these nodes (marked by index) has no room there any
 * more, also once those are gone who are evicted for the job. */
bool evictor_lost_places(const struct reservation *reservation, const bool *nodes);
/* When (loop time) to look at the job again, INT64_MAX for never. */
int64_t evictor_look(const struct scheduler *scheduler, const struct sched_job *job);
/* A pod that was asked to go is not to, or cannot, as the change says; true. */
bool evictor_spare(struct scheduler *scheduler, const struct change *change);
/* Who is evicted for the job, and until when its places are held; nothing without a decision. */
void evictor_explain(const struct scheduler *scheduler, const struct sched_job *job,
                     struct buf *out);
/* Withdraws all calls, and forgets all decisions: leadership was lost or the process ends. */
void evictor_clear(struct scheduler *scheduler);

#endif
