/*
 * The table of admission rules: see registry.h. A new resource is one file, one
 * entry here and its declaration there.
 */
#include "webhook/registry.h"

#define JOBS "batch.volcano.sh", "v1alpha1", "jobs"
#define CRONJOBS "batch.volcano.sh", "v1alpha1", "cronjobs"
#define JOBFLOWS "flow.volcano.sh", "v1alpha1", "jobflows"
#define HYPERNODES "topology.volcano.sh", "v1alpha1", "hypernodes"
#define PODGROUPS "scheduling.volcano.sh", "v1beta1", "podgroups"
#define PODS "", "v1", "pods"
#define QUEUES "scheduling.volcano.sh", "v1beta1", "queues"

#define WARNING_TEXT_MAX 8192 /* before it is cut */

#define CONFIGURATION(suffix) "volcano-admission-service-" suffix

const struct admission_path admission_paths[] = {
    {"/jobs/mutate", CONFIGURATION("jobs-mutate"), JOBS, OPERATION_CREATE, NULL,
     "expect operation to be 'CREATE'", true, jobs_mutate, false},
    {"/jobs/validate", CONFIGURATION("jobs-validate"), JOBS, OPERATION_CREATE | OPERATION_UPDATE,
     NULL, "expect operation to be 'CREATE' or 'UPDATE'", false, jobs_validate, false},
    {"/podgroups/mutate", CONFIGURATION("podgroups-mutate"), PODGROUPS, OPERATION_CREATE,
     "invalid operation `", "`, expect operation to be `CREATE`", true, podgroups_mutate, false},
    {"/podgroups/validate", CONFIGURATION("podgroups-validate"), PODGROUPS,
     OPERATION_CREATE | OPERATION_UPDATE, "unsupported operation ", "", false, podgroups_validate,
     false},
    {"/pods/mutate", CONFIGURATION("pods-mutate"), PODS, OPERATION_CREATE, NULL,
     "expect operation to be 'CREATE'", true, pods_mutate, true},
    {"/pods/validate", CONFIGURATION("pods-validate"), PODS, OPERATION_CREATE | OPERATION_UPDATE,
     NULL, "expect operation to be 'CREATE' or 'UPDATE'", false, pods_validate, false},
    {"/queues/mutate", CONFIGURATION("queues-mutate"), QUEUES, OPERATION_CREATE,
     "invalid operation `", "`, expect operation to be `CREATE`", true, queues_mutate, false},
    {"/queues/validate", CONFIGURATION("queues-validate"), QUEUES,
     OPERATION_CREATE | OPERATION_UPDATE | OPERATION_DELETE, "invalid operation `",
     "`, expect operation to be `CREATE`, `UPDATE` or `DELETE`", false, queues_validate, false},
    {"/jobflows/validate", CONFIGURATION("jobflows-validate"), JOBFLOWS,
     OPERATION_CREATE | OPERATION_UPDATE, NULL, "expect operation to be 'CREATE' or 'UPDATE'",
     false, jobflows_validate, false},
    {"/hypernodes/validate", CONFIGURATION("hypernodes-validate"), HYPERNODES,
     OPERATION_CREATE | OPERATION_UPDATE | OPERATION_DELETE, NULL,
     "expect operation to be 'CREATE', 'UPDATE' or 'DELETE'", false, hypernodes_validate, false},
    {"/cronjobs/validate", CONFIGURATION("cronjobs-validate"), CRONJOBS,
     OPERATION_CREATE | OPERATION_UPDATE, NULL, "expect operation to be 'CREATE' or 'UPDATE'",
     false, cronjobs_validate, false},
    {NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, false, NULL, false},
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

/* The API server refuses warnings with control characters or broken UTF-8, and cuts long ones. */
static const char *clean_warning(struct arena *arena, struct str text)
{
    char *copy = arena_alloc(arena, VERDICT_WARNING_SIZE + 1);
    size_t n = 0;
    while (text.n) {
        const size_t size = str_utf8_len(text);
        const unsigned char first = (unsigned char)text.p[0];
        const bool control = first < 0x20 || first == 0x7f ||
                             (size == 2 && first == 0xc2 && (unsigned char)text.p[1] < 0xa0);
        const struct str add = size && !control ? str_sub(text, 0, size) : STR(" ");
        if (n + add.n > VERDICT_WARNING_SIZE)
            break;
        memcpy(copy + n, add.p, add.n);
        n += add.n;
        text = str_from(text, size ? size : 1);
    }
    copy[n] = '\0';
    return copy;
}

void case_warn(struct admission_case *c, const char *format, ...)
{
    struct buf text cleanup_buf = BUF_INIT(WARNING_TEXT_MAX);
    va_list args;
    c->warning_count++;
    if (c->warning_count > VERDICT_WARNINGS_MAX) {
        const size_t more = c->warning_count - VERDICT_WARNINGS_MAX + 1;
        c->warnings[VERDICT_WARNINGS_MAX - 1] =
            arena_printf(c->arena, "%zu more warnings are not shown", more).p;
        return;
    }
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    if (!text.overflow)
        c->warnings[c->warning_count - 1] = clean_warning(c->arena, buf_str(&text));
}
