/*
 * Whether a job is still there: asked before anything of it is made again.
 *
 * Kinds are watched apart, so that a job's end may be heard of after that of its pods; and a
 * controller that starts has lists of different moments. What is gone may be gone because its job
 * is, and then nothing must take its place. So once something of a job is gone, the job is read by
 * name before anything is made for it. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_JOB_ALIVE_H
#define PUMICE_CONTROLLER_JOB_ALIVE_H

#include "controller/job/control.h"

void alive_init(struct job_control *control);
/* Something that the job had is gone, or may be. */
void alive_doubt(struct job_control *control);
/* True when things may be made for the job in this pass; else the job is being asked for, and the
 * answer starts another pass. */
bool alive_certain(struct job_control *control);
/* True while it is being asked for. */
bool alive_asking(const struct job_control *control);
/* The pass is over: the next one has to ask again if there is doubt. */
void alive_pass_over(struct job_control *control);
/* Another may have done more with the job than is heard of yet, as the controller from which it
 * comes. */
void alive_take_over(struct job_control *control);
/* True when something may be written for the job: it has been read since alive_take_over.
 * Else it is being asked for, and the answer starts another pass. */
bool alive_checked(struct job_control *control);
/* Withdraws the question. */
void alive_cancel(struct job_control *control);

#endif
