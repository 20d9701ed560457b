/*
 * The objects that a job has beside its pods: those of its plugins (ConfigMap, Services, Secret,
 * NetworkPolicy) and the claims of its volumes.
 *
 * They are there before the first pod, and their content follows the job before pods that are new
 * are made. Each is made by a create; where its name is taken, or an answer is lost, it is read and
 * counts only when this job (by UID) owns it: what belongs to others is never written to, and the
 * job says what it waits for. A claim that the job names is only looked at. What is there is noted
 * in status.controlledResources, so that another controller neither asks nor writes again.
 *
 * Objects of plugins stay while the job wants pods, through all restarts, and go when the last pod
 * of a job that has ended or is suspended has ended. Claims stay. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_JOB_OBJECTS_H
#define PUMICE_CONTROLLER_JOB_OBJECTS_H

#include "controller/job/control.h"

struct job_objects;

/* Makes what is missing. True when all is there and is as it should be. */
bool objects_sync(struct job_control *control);
/* Deletes what plugins made, once no pod of the job lives any more. */
void objects_drop(struct job_control *control);
/* The job is changed or gone: what no longer fits is forgotten. */
void objects_refit(struct job_control *control);
/* Withdraws what is under way and forgets; NULL is fine in control->objects. */
void objects_free(struct job_control *control);

/* Gets a key of controlledResources and its value; "" for one that goes. */
typedef void objects_note_fn(const char *key, struct str value, void *arg);
/* Tells of each key that is to differ from what the job's status has, in a job that goes to
 * `phase`. */
void objects_notes(const struct job_control *control, enum job_phase phase,
                   objects_note_fn *differs, void *arg);

#endif
