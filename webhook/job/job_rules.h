/*
 * Parts of /jobs/validate that live in files of their own. Each reports into c->problems.
 */
#ifndef PUMICE_WEBHOOK_JOB_RULES_H
#define PUMICE_WEBHOOK_JOB_RULES_H

#include "webhook/registry.h"

/* The name of a task: its own, or the one it is given. `text` is room for the latter. */
#define TASK_NAME_MAX 40
const char *job_task_name(const cJSON *task, size_t index, char text[TASK_NAME_MAX]);

/* Lifecycle policies under `label` ("spec.policies"); `where` says which task, or "". */
void job_check_policies(struct problems *problems, const cJSON *policies, const char *label,
                        const char *where);
/* A tier given twice in a networkTopology. `where` says which task, or "". */
void job_check_topology(struct problems *problems, const cJSON *topology, const char *where);
/* The partitionPolicy of a task against its replicas. */
void job_check_partition(struct problems *problems, const cJSON *task, const char *task_name,
                         const char *job_name);
/* dependsOn has no cycle and names no strangers. */
void job_check_dependencies(struct admission_case *c, const cJSON *tasks);
/* The pod of the highest index has a name that a pod may have. */
void job_check_pod_name(struct problems *problems, const char *job_name, const char *task_name,
                        int64_t replicas);
/* The job's own name, those that are made of it but for the pods', and the queue's as a label. */
void job_check_names(struct admission_case *c, const cJSON *spec, const char *job_name);
/* Plugins: there are such, and the tasks that they look for. */
void job_check_plugins(struct admission_case *c, const cJSON *spec);
/* The plugin of the job that brings the plugin `name` (itself or another), or NULL. */
const char *job_implies_plugin(const cJSON *spec, const char *name);
/* Volumes of the job, and mounts in its templates at the same path. */
void job_check_volumes(struct admission_case *c, const cJSON *spec, const char *path);

/* Warnings of what is in the spec, and of a gang larger than its queue can be. */
void job_warn(struct admission_case *c, const cJSON *spec, const char *path);
void job_warn_of_queue(struct admission_case *c, const cJSON *spec);

/*
 * The rules of a new job's spec that need no queue, also for specs inside CronJobs: `job_name` is
 * the name that a job of it has (or the longest it may get), `path` is put in front of field paths
 * ("spec.jobTemplate.").
 */
void job_check_spec(struct admission_case *c, const cJSON *spec, const char *job_name,
                    const char *path);

/* All of an UPDATE. */
void job_check_update(struct admission_case *c);

#endif
