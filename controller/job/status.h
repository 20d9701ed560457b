/*
 * The status of a job: written by the controller alone, with as few writes as its users can bear.
 *
 * A change of phase is written at once; counts and the reason for waiting are less than two
 * seconds old when they are sent. One write is under way at most, and what is sent is what is true
 * when the slot comes free.
 */
#ifndef PUMICE_CONTROLLER_JOB_STATUS_H
#define PUMICE_CONTROLLER_JOB_STATUS_H

#include "controller/job/control.h"

/* Writes the status if it differs from what is stored, now or within two seconds. False while an
 * action is decided upon but not written: until then nothing new is begun. */
bool status_sync(struct job_control *control);

#endif
