/*
 * The table of admission rules: see registry.h. A new resource is one file and one entry here.
 */
#include "webhook/registry.h"

#define JOBS "batch.volcano.sh", "v1alpha1", "jobs"
#define PODGROUPS "scheduling.volcano.sh", "v1beta1", "podgroups"
#define QUEUES "scheduling.volcano.sh", "v1beta1", "queues"

#define CONFIGURATION(suffix) "volcano-admission-service-" suffix

const struct admission_path admission_paths[] = {
    {"/jobs/mutate", CONFIGURATION("jobs-mutate"), JOBS, OPERATION_CREATE, NULL,
     "expect operation to be 'CREATE'", true, jobs_mutate},
    {"/jobs/validate", CONFIGURATION("jobs-validate"), JOBS, OPERATION_CREATE | OPERATION_UPDATE,
     NULL, "expect operation to be 'CREATE' or 'UPDATE'", false, jobs_validate},
    {"/podgroups/validate", CONFIGURATION("podgroups-validate"), PODGROUPS, OPERATION_CREATE,
     "unsupported operation ", "", false, podgroups_validate},
    {"/queues/mutate", CONFIGURATION("queues-mutate"), QUEUES, OPERATION_CREATE,
     "invalid operation `", "`, expect operation to be `CREATE`", true, queues_mutate},
    {"/queues/validate", CONFIGURATION("queues-validate"), QUEUES,
     OPERATION_CREATE | OPERATION_UPDATE | OPERATION_DELETE, "invalid operation `",
     "`, expect operation to be `CREATE`, `UPDATE` or `DELETE`", false, queues_validate},
    {NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, false, NULL},
};

const struct admission_path *admission_find(struct str path)
{
    for (const struct admission_path *entry = admission_paths; entry->path; entry++) {
        if (str_is(path, entry->path))
            return entry;
    }
    return NULL;
}

const struct queue_view *case_queue(struct admission_case *c, struct str name)
{
    const struct queue_view *queue = queue_snapshot_get(c->queues, name);
    if (!queue && !c->last_try)
        c->wait = true;
    return queue;
}
