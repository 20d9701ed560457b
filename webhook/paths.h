/*
 * The paths of admission: a new one is a file with its handler, and an entry here.
 *
 * X(kind, verb, resource, operations, before, after, default_off) is the path /<kind>/<verb>, with
 * the handler <kind>_<verb> and the configuration object volcano-admission-service-<kind>-<verb>;
 * the rest as in struct admission_path (registry.h).
 */
#ifndef PUMICE_WEBHOOK_PATHS_H
#define PUMICE_WEBHOOK_PATHS_H

/* Group, version and resource. */
#define RESOURCE_JOBS "batch.volcano.sh", "v1alpha1", "jobs"
#define RESOURCE_CRONJOBS "batch.volcano.sh", "v1alpha1", "cronjobs"
#define RESOURCE_JOBFLOWS "flow.volcano.sh", "v1alpha1", "jobflows"
#define RESOURCE_HYPERNODES "topology.volcano.sh", "v1alpha1", "hypernodes"
#define RESOURCE_PODGROUPS "scheduling.volcano.sh", "v1beta1", "podgroups"
#define RESOURCE_PODS "", "v1", "pods"
#define RESOURCE_QUEUES "scheduling.volcano.sh", "v1beta1", "queues"

#define ADMISSION_PATHS(X)                                                                         \
    X(jobs, mutate, RESOURCE_JOBS, OPERATION_CREATE, NULL, "expect operation to be 'CREATE'",      \
      false)                                                                                       \
    X(jobs, validate, RESOURCE_JOBS, OPERATION_CREATE | OPERATION_UPDATE, NULL,                    \
      "expect operation to be 'CREATE' or 'UPDATE'", false)                                        \
    X(podgroups, mutate, RESOURCE_PODGROUPS, OPERATION_CREATE, "invalid operation `",              \
      "`, expect operation to be `CREATE`", false)                                                 \
    X(podgroups, validate, RESOURCE_PODGROUPS, OPERATION_CREATE | OPERATION_UPDATE,                \
      "unsupported operation ", "", false)                                                         \
    X(pods, mutate, RESOURCE_PODS, OPERATION_CREATE, NULL, "expect operation to be 'CREATE'",      \
      true)                                                                                        \
    X(pods, validate, RESOURCE_PODS, OPERATION_CREATE | OPERATION_UPDATE, NULL,                    \
      "expect operation to be 'CREATE' or 'UPDATE'", false)                                        \
    X(queues, mutate, RESOURCE_QUEUES, OPERATION_CREATE, "invalid operation `",                    \
      "`, expect operation to be `CREATE`", false)                                                 \
    X(queues, validate, RESOURCE_QUEUES, OPERATION_CREATE | OPERATION_UPDATE | OPERATION_DELETE,   \
      "invalid operation `", "`, expect operation to be `CREATE`, `UPDATE` or `DELETE`", false)    \
    X(jobflows, validate, RESOURCE_JOBFLOWS, OPERATION_CREATE | OPERATION_UPDATE, NULL,            \
      "expect operation to be 'CREATE' or 'UPDATE'", false)                                        \
    X(hypernodes, validate, RESOURCE_HYPERNODES,                                                   \
      OPERATION_CREATE | OPERATION_UPDATE | OPERATION_DELETE, NULL,                                \
      "expect operation to be 'CREATE', 'UPDATE' or 'DELETE'", false)                              \
    X(cronjobs, validate, RESOURCE_CRONJOBS, OPERATION_CREATE | OPERATION_UPDATE, NULL,            \
      "expect operation to be 'CREATE' or 'UPDATE'", false)

#endif
