/*
 * The spec of a pod: a template's raw JSON with changes spliced in.
 *
 * Members and items that nothing changes pass byte for byte. What the change names replaces what
 * the template has under that name. A template that is not of the shape of a pod's spec passes as
 * it is, as far as it is not: the API server says what is wrong with it.
 */
#ifndef PUMICE_CONTROLLER_JOB_SPLICE_H
#define PUMICE_CONTROLLER_JOB_SPLICE_H

#include "api/job.h"
#include "controller/job/holes.h"

/* Writes the value of "spec" for pods of the task; `w` must be a writer to holed->text. */
void splice_spec(struct holed_text *holed, struct json_writer *w, const struct job *job,
                 const struct job_task *task, const struct pod_edit *edit);

#endif
