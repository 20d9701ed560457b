/*
 * The host names of a job's pods: "<host>.<subdomain>", where the host is the template's hostname
 * or the pod's name, and the subdomain the template's or the job's name.
 *
 * Lists are written into buffers of LIMIT_REQUEST_BODY: what overflows is too large to be sent.
 */
#ifndef PUMICE_CONTROLLER_PLUGINS_HOSTS_H
#define PUMICE_CONTROLLER_PLUGINS_HOSTS_H

#include "api/job.h"
#include "base/buf.h"

/* The task of that name, or NULL. */
const struct job_task *hosts_task(const struct job *job, struct str name);

/* Names that tell the task's pods apart: one when the template says its hostname. */
uint32_t hosts_count(const struct job_task *task);
/* Appends the host alone. */
void hosts_write_host(struct buf *out, const struct job *job, const struct job_task *task,
                      uint32_t index);
/* Appends host and subdomain. */
void hosts_write(struct buf *out, const struct job *job, const struct job_task *task,
                 uint32_t index);
/* Appends all hosts_count names with `separator` between them. */
void hosts_write_all(struct buf *out, const struct job *job, const struct job_task *task,
                     char separator);

#endif
