/*
 * Pieces of JSON that more than one kind of object of a job needs.
 */
#ifndef PUMICE_CONTROLLER_JOB_WIRE_H
#define PUMICE_CONTROLLER_JOB_WIRE_H

#include "json/writer.h"

/* The member "ownerReferences" with one entry: the job, as controller, blocking its deletion. */
void write_job_owner(struct json_writer *writer, const char *job_name, const char *job_uid);

/* The body of a DELETE that only touches the object with this UID. */
bool write_delete_options(struct buf *body, const char *uid);

#endif
