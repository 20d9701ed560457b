/*
 * dependsOn: tasks that start when others are ready.
 *
 * A task is ready when so many of its pods as its minimum run with all containers ready, or have
 * succeeded. A task that waits is left out of the PodGroup, so that the gang does not wait for what
 * waits for it; it is let go first in the PodGroup, then its pods are made. Once it is let go it
 * stays so for this run of the job, also when what it waited for fails. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_JOB_DEPENDS_H
#define PUMICE_CONTROLLER_JOB_DEPENDS_H

#include "controller/job/control.h"

/* Brings task_control.held up to date. */
void depends_update(struct job_control *control);
/* After slots were laid out anew within one run: what was let go stays so. */
void depends_carry_over(struct job_control *control, const struct task_control *before,
                        uint32_t before_count);

/* True when the task's pods may be made: it does not wait, and the PodGroup counts it. */
bool depends_may_start(const struct job_control *control, uint32_t task);
/* The first task that waits, and for which one; false when none does. */
bool depends_waiting(const struct job_control *control, const char **ret_task,
                     const char **ret_needed);

/* How many pods the gang is short of starting without, with the tasks that wait left out. */
int32_t depends_minimum(const struct job_control *control);

#endif
