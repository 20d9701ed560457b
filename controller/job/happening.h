/*
 * What happened to a job: Commands, evictions, failed and pending pods, tasks as a whole, the
 * PodGroup. Found in the objects as they are each time, so that timeouts go on where they were when
 * a controller begins. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_JOB_HAPPENING_H
#define PUMICE_CONTROLLER_JOB_HAPPENING_H

#include "controller/job/lifecycle.h"

/* Takes the first action that is due into the decision; false without one. `waits` gets those that
 * are not due yet. */
bool happening_find(const struct job_control *control, struct job_decision *decision,
                    struct job_waits *waits);

/* Notes since when tasks fail and the PodGroup is Unknown. */
void happening_date(struct job_control *control);

#endif
