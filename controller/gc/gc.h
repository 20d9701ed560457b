/*
 * struct gc: deletes jobs a while after they finished, as their ttlSecondsAfterFinished says.
 *
 * Completed, Failed and Terminated are finished; Aborted is not, for such a job can be resumed. The
 * wait begins at status.state.lastTransitionTime and is measured on the clock that never steps,
 * from when this process first saw the job finished: it is never longer than the TTL from then on,
 * and a step of the wall clock in between changes nothing. What is about to be deleted is read
 * afresh first; the DELETE names the UID. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_GC_GC_H
#define PUMICE_CONTROLLER_GC_GC_H

#include "kube/store.h"
#include "kube/window.h"

struct gc;

/* All are borrowed and must outlive it; `jobs` holds struct job. */
struct gc *gc_new(struct loop *loop, struct window *window, struct store *jobs);
/* Withdraws its requests. NULL is fine. */
void gc_free(struct gc *gc);
/* Nothing is asked for without leading; what is due by then is done when it comes. */
void gc_set_leading(struct gc *gc, bool leading);

#endif
