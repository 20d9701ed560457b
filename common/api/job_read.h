/*
 * The spec of a Job, read and released. Private to common/api: job.c and job_spec.c.
 */
#ifndef PUMICE_API_JOB_READ_H
#define PUMICE_API_JOB_READ_H

#include "api/job.h"

/* Reads the spec that comes next into a job whose texts are set and whose lists are empty. */
void job_spec_read(struct json_reader *reader, struct job *job);
/* Frees what job_spec_read made, but for the texts of the job itself. */
void job_spec_clear(struct job *job);

#endif
