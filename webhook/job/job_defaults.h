/*
 * The defaults of a Job that are no business of the schema: names, minima, what plugins imply.
 *
 * /jobs/mutate turns them into a patch; /jobs/validate fills them in on both sides before it
 * compares, so that leaving a defaulted field out of a later manifest changes nothing.
 */
#ifndef PUMICE_WEBHOOK_JOB_DEFAULTS_H
#define PUMICE_WEBHOOK_JOB_DEFAULTS_H

#include "webhook/rules/tree.h"

/* `parent` (an object in the job) is to have `key` set to the JSON text `value`; `pointer` is the
 * JSON pointer of the parent. The parent must not be changed in a way that frees other members. */
typedef void job_default_fn(cJSON *parent, struct str pointer, const char *key, struct str value,
                            void *arg);

/* Calls `set` for each default that applies. What has a wrong type is left alone. */
void job_defaults(cJSON *job, const char *scheduler_name, job_default_fn *set, void *arg);

/* The number of pods a task cannot do without: minAvailable, else by its partitions, else all. */
int64_t job_task_minimum_of(const cJSON *task);

#endif
