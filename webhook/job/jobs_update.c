/*
 * /jobs/validate for an UPDATE: what may change in a Job, and what of the new values is wrong.
 *
 * A job whose spec means what it meant before passes whatever its state: labels change, finalizers
 * go, and a job that today's rules would refuse can still be deleted.
 */
#include "webhook/job/job_defaults.h"
#include "webhook/job/job_rules.h"
#include "webhook/rules/equal.h"

#define MAY_NOT_CHANGE                                                                             \
    "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` " \
    "and `PriorityClassName`"
#define DIFFERENCE_MAX 1024

static void set_in_tree(cJSON *parent, struct str pointer, const char *key, struct str value,
                        void *arg)
{
    (void)pointer;
    (void)arg;
    cJSON *item = cJSON_ParseWithLength(value.p, value.n);
    cJSON_DeleteItemFromObjectCaseSensitive(parent, key);
    cJSON_AddItemToObject(parent, key, item);
}

/* ---- new values ---------------------------------------------------------------------------- */

/* `old` is the task that was at this place, or NULL. */
static void check_task(struct admission_case *c, const cJSON *task, const cJSON *old, size_t index,
                       const char *job_name)
{
    char text[TASK_NAME_MAX];
    const char *name = job_task_name(task, index, text);
    const int64_t replicas = tree_i64_or_0(task, "replicas");
    int64_t minimum = 0;
    (void)tree_i64(task, "minAvailable", &minimum);
    if (replicas < 0)
        problem_invalid(&c->problems, "'replicas' must be >= 0 in task: %.63s", name);
    if (minimum < 0)
        problem_invalid(&c->problems, "'minAvailable' must be >= 0 in task: %.63s", name);
    if (minimum > replicas)
        problem_invalid(&c->problems, "'minAvailable' must be <= 'replicas' in task: %.63s", name);
    job_check_partition(&c->problems, task, name, job_name);
    if (replicas > tree_i64_or_0(old, "replicas"))
        job_check_pod_name(&c->problems, job_name, name, replicas);
}

static void check_values(struct admission_case *c, const cJSON *spec, const cJSON *old_spec)
{
    const char *job_name = tree_str(tree_get(c->object, "metadata"), "name");
    const cJSON *tasks = tree_array(spec, "tasks"), *old_tasks = tree_array(old_spec, "tasks");
    const cJSON *task, *old = old_tasks ? old_tasks->child : NULL;
    const int64_t minimum = tree_i64_or_0(spec, "minAvailable");
    int64_t sum = 0;
    size_t index = 0;
    cJSON_ArrayForEach(task, tasks)
    {
        if (__builtin_add_overflow(sum, tree_i64_or_0(task, "replicas"), &sum))
            sum = INT64_MAX;
        check_task(c, task, old, index++, job_name);
        old = old ? old->next : NULL;
    }
    if (minimum > sum)
        problem_invalid(&c->problems,
                        "job 'minAvailable' must not be greater than total replicas (%lld > %lld)",
                        (long long)minimum, (long long)sum);
    if (minimum < 0)
        problem_invalid(&c->problems, "job 'minAvailable' must be >= 0");
    job_check_topology(&c->problems, tree_get(spec, "networkTopology"), "");
    if (tree_i64_or_0(spec, "minSuccess") > sum)
        case_warn(c, "spec.minSuccess: %lld pods cannot succeed, the job has %lld",
                  (long long)tree_i64_or_0(spec, "minSuccess"), (long long)sum);
    job_warn_of_queue(c, spec);
}

/* ---- what may not change ------------------------------------------------------------------- */

static void drop(cJSON *object, const char *key)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
}

/* Takes out of a spec whatever may change. */
static void drop_changeable(cJSON *spec)
{
    cJSON *task, *volume;
    drop(spec, "minAvailable");
    drop(spec, "priorityClassName");
    cJSON *tasks = cJSON_GetObjectItemCaseSensitive(spec, "tasks");
    cJSON_ArrayForEach(task, tasks)
    {
        drop(task, "replicas");
        drop(task, "minAvailable");
    }
    cJSON *volumes = cJSON_GetObjectItemCaseSensitive(spec, "volumes");
    cJSON_ArrayForEach(volume, volumes)
    {
        /* The controller fills it in. */
        if (tree_get(volume, "volumeClaim"))
            drop(volume, "volumeClaimName");
    }
}

static size_t task_count(const cJSON *spec)
{
    const cJSON *tasks = tree_array(spec, "tasks");
    return tasks ? (size_t)cJSON_GetArraySize(tasks) : 0;
}

/* Compares what is left of the specs; problems name the first difference. */
static void check_rest(struct admission_case *c, cJSON *spec, cJSON *old_spec)
{
    struct buf difference cleanup_buf = BUF_INIT(DIFFERENCE_MAX);
    if (task_count(spec) != task_count(old_spec)) {
        problem_invalid(&c->problems,
                        "job updates may not add or remove tasks (spec.tasks: %zu before, %zu now)",
                        task_count(old_spec), task_count(spec));
        return;
    }
    drop_changeable(spec);
    drop_changeable(old_spec);
    if (!trees_equal(spec, old_spec, "spec", &difference))
        problem_invalid(&c->problems, MAY_NOT_CHANGE ": %.*s", STR_ARG(buf_str(&difference)));
}

void job_check_update(struct admission_case *c)
{
    cJSON *spec = cJSON_GetObjectItemCaseSensitive(c->object, "spec");
    cJSON *old_spec = cJSON_GetObjectItemCaseSensitive(c->old, "spec");
    if (!cJSON_IsObject(spec) || !cJSON_IsObject(old_spec)) {
        if (spec || old_spec)
            problem_invalid(&c->problems, MAY_NOT_CHANGE ": spec is different");
        return;
    }
    struct buf difference cleanup_buf = BUF_INIT(DIFFERENCE_MAX);
    tree_keep_digits(c->object, c->review->object);
    tree_keep_digits(c->old, c->review->old_object);
    job_defaults(c->object, c->rules->scheduler_name, set_in_tree, NULL);
    job_defaults(c->old, c->rules->scheduler_name, set_in_tree, NULL);
    if (trees_equal(spec, old_spec, "spec", &difference))
        return;
    check_values(c, spec, old_spec);
    check_rest(c, spec, old_spec);
}
