/*
 * /jobs/validate: the rules of a new Job. Those of an UPDATE are in jobs_update.c.
 */
#include "api/names.h"
#include "base/map.h"
#include "webhook/job/job_rules.h"
#include "webhook/rules/naming.h"
#include <stdio.h>

static const char *const known_plugins[] = {"ssh", "env",     "svc",      "tensorflow",
                                            "mpi", "pytorch", "hcclrank", "ray"};

/* ---- parts shared with UPDATE -------------------------------------------------------------- */

const char *job_task_name(const cJSON *task, size_t index, char text[TASK_NAME_MAX])
{
    const char *name = tree_str(task, "name");
    if (*name)
        return name;
    (void)snprintf(text, TASK_NAME_MAX, "default%zu", index);
    return text;
}

void job_check_topology(struct problems *problems, const cJSON *topology, const char *where)
{
    if (tree_get(topology, "highestTierAllowed") && *tree_str(topology, "highestTierName"))
        problem_invalid(problems,
                        "must not specify 'highestTierAllowed' and 'highestTierName' in "
                        "networkTopology simultaneously%s",
                        where);
}

void job_check_partition(struct problems *problems, const cJSON *task, const char *task_name,
                         const char *job_name)
{
    const cJSON *policy = tree_get(task, "partitionPolicy");
    if (!policy)
        return;
    const int64_t total = tree_i64_or_0(policy, "totalPartitions");
    const int64_t size = tree_i64_or_0(policy, "partitionSize");
    const int64_t minimum = tree_i64_or_0(policy, "minPartitions");
    const char *fault = NULL;
    int64_t replicas = tree_i64_or_0(task, "replicas"), product = 0, available;
    if (total <= 0)
        fault = "'TotalPartitions' must be greater than 0";
    else if (size <= 0)
        fault = "'PartitionSize' must be greater than 0";
    else if (__builtin_mul_overflow(total, size, &product) || replicas != product)
        fault = "'Replicas' are not equal to TotalPartitions*PartitionSize";
    else if (tree_i64(task, "minAvailable", &available) && minimum > 0 &&
             (__builtin_mul_overflow(minimum, size, &product) || available != product))
        fault = "'MinAvailable' is not equal to MinPartitions*PartitionSize";
    if (fault)
        problem_invalid(problems, "%s in task: %.63s, job: %.63s", fault, task_name, job_name);
    char where[128];
    (void)snprintf(where, sizeof(where), " of the partitionPolicy of task: %.63s", task_name);
    job_check_topology(problems, tree_get(policy, "networkTopology"), where);
}

void job_check_pod_name(struct problems *problems, const char *job_name, const char *task_name,
                        int64_t replicas)
{
    char name[600];
    const int64_t index = replicas > 0 ? replicas - 1 : 0;
    (void)snprintf(name, sizeof(name), "%.253s-%.253s-%lld", job_name, task_name, (long long)index);
    const char *reason = naming_qualified(str_of(name));
    if (reason)
        problem_invalid(problems, "create pod with name %s validate failed [%s];", name, reason);
}

/* ---- tasks --------------------------------------------------------------------------------- */

static void check_task(struct admission_case *c, const cJSON *task, const char *name,
                       const char *job_name, const char *path)
{
    char where[80], label[128];
    const int64_t replicas = tree_i64_or_0(task, "replicas");
    int64_t minimum;
    (void)snprintf(where, sizeof(where), " in task: %.63s", name);
    if (tree_i64(task, "minAvailable", &minimum) && minimum > replicas)
        problem_invalid(&c->problems,
                        "'minAvailable' is greater than 'replicas' in task: %.63s, job: %.63s",
                        name, job_name);
    (void)snprintf(label, sizeof(label), "%.100sspec.tasks.policies", path);
    job_check_policies(&c->problems, tree_array(task, "policies"), label, where);
    job_check_pod_name(&c->problems, job_name, name, replicas);
    job_check_partition(&c->problems, task, name, job_name);
}

/* Returns the sum of all replicas. */
static int64_t check_tasks(struct admission_case *c, const cJSON *tasks, const char *job_name,
                           const char *path)
{
    struct map names = MAP_INIT; /* value: non-NULL once reported */
    int64_t sum = 0;
    size_t index = 0;
    const cJSON *task;
    cJSON_ArrayForEach(task, tasks)
    {
        char text[TASK_NAME_MAX];
        const char *name = job_task_name(task, index++, text);
        if (__builtin_add_overflow(sum, tree_i64_or_0(task, "replicas"), &sum))
            sum = INT64_MAX;
        if (!map_has(&names, str_of(name))) {
            map_set(&names, str_of(name), NULL);
        } else if (!map_set(&names, str_of(name), &names)) {
            problem_invalid(&c->problems, "duplicated task name %.63s", name);
        }
        check_task(c, task, name, job_name, path);
    }
    map_clear(&names);
    return sum;
}

/* ---- the job ------------------------------------------------------------------------------- */

static void check_job_name(struct admission_case *c, const cJSON *spec, const char *job_name)
{
    static const char *const with_service[] = {"svc", "tensorflow", "mpi", "pytorch", "ray"};
    const cJSON *plugins = tree_object(spec, "plugins");
    const char *reason = naming_qualified(str_of(job_name));
    if (reason)
        problem_invalid(&c->problems, "create job with name %.253s validate failed [%s]", job_name,
                        reason);
    for (size_t i = 0; i < ARRAY_SIZE(with_service) && plugins; i++) {
        if (!cJSON_GetObjectItemCaseSensitive(plugins, with_service[i]))
            continue;
        reason = naming_service(str_of(job_name));
        if (reason)
            problem_invalid(&c->problems,
                            "create service with name %.253s validate failed [%s] (the job plugin "
                            "%s makes a Service of the job's name)",
                            job_name, reason, with_service[i]);
        return;
    }
}

static void check_plugins(struct admission_case *c, const cJSON *plugins)
{
    const cJSON *plugin;
    cJSON_ArrayForEach(plugin, plugins)
    {
        bool known = false;
        for (size_t i = 0; i < ARRAY_SIZE(known_plugins); i++)
            known = known || strcmp(plugin->string, known_plugins[i]) == 0;
        if (!known)
            problem_invalid(&c->problems, "unable to find job plugin: %.63s", plugin->string);
    }
}

static void check_volume(struct admission_case *c, struct map *paths, const cJSON *volume)
{
    const char *path = tree_str(volume, "mountPath"), *claim = tree_str(volume, "volumeClaimName");
    const bool has_claim = tree_get(volume, "volumeClaim") != NULL;
    struct problems *problems = &c->problems;
    if (!*path)
        problem_invalid(problems, "mountPath is required;");
    else if (map_has(paths, str_of(path)))
        problem_invalid(problems, "duplicated mountPath: %.256s;", path);
    else if (!has_claim && !*claim)
        problem_invalid(problems,
                        "either VolumeClaim or VolumeClaimName must be specified; (mountPath "
                        "%.256s)",
                        path);
    else if (has_claim && *claim)
        problem_invalid(problems,
                        "conflict: volumeClaim and volumeClaimName are both given for mountPath "
                        "%.256s; give the name of a claim that exists or a claim to make",
                        path);
    else if (*claim && naming_subdomain(str_of(claim)))
        problem_invalid(problems, "invalid VolumeClaimName %.253s: %s", claim,
                        naming_subdomain(str_of(claim)));
    map_set(paths, str_of(path), NULL);
}

static void check_volumes(struct admission_case *c, const cJSON *volumes)
{
    struct map paths = MAP_INIT;
    const cJSON *volume;
    cJSON_ArrayForEach(volume, volumes)
    {
        check_volume(c, &paths, volume);
    }
    map_clear(&paths);
}

static void check_queue(struct admission_case *c, const char *name)
{
    struct queue_view *const *children;
    const struct str queue_name = str_of(*name ? name : DEFAULT_QUEUE);
    const struct queue_view *queue = case_queue(c, queue_name);
    if (!queue) {
        problem_state(&c->problems,
                      "unable to find job queue: queue.scheduling.volcano.sh \"%.*s\" not found",
                      STR_ARG(queue_name));
        return;
    }
    if (!str_is(queue->state, QUEUE_OPEN)) {
        problem_state(&c->problems,
                      "can only submit job to queue with state `Open`, queue `%s` status is `%s`",
                      queue->name.p, queue->state.p);
        return;
    }
    if (str_is(queue->name, ROOT_QUEUE)) {
        problem_state(&c->problems, "can not submit job to root queue");
        return;
    }
    size_t count = queue_snapshot_children(c->queues, queue->name, &children);
    if (count)
        problem_state(&c->problems,
                      "can only submit job to leaf queue, queue `%s` has %zu child queues",
                      queue->name.p, count);
}

void job_check_spec(struct admission_case *c, const cJSON *spec, const char *job_name,
                    const char *path)
{
    char label[128];
    const cJSON *tasks = tree_array(spec, "tasks");
    if (!tasks || !tasks->child) {
        problem_invalid(&c->problems, "No task specified in job spec%s%s", *path ? " at " : "",
                        path);
        return;
    }
    (void)snprintf(label, sizeof(label), "%.100sspec.policies", path);
    job_check_topology(&c->problems, tree_get(spec, "networkTopology"), "");
    const int64_t replicas = check_tasks(c, tasks, job_name, path);
    check_job_name(c, spec, job_name);
    if (replicas < tree_i64_or_0(spec, "minAvailable"))
        problem_invalid(
            &c->problems,
            "job 'minAvailable' should not be greater than total replicas in tasks (%lld > %lld)",
            (long long)tree_i64_or_0(spec, "minAvailable"), (long long)replicas);
    job_check_policies(&c->problems, tree_array(spec, "policies"), label, "");
    check_plugins(c, tree_object(spec, "plugins"));
    check_volumes(c, tree_array(spec, "volumes"));
    job_check_dependencies(c, tasks);
}

static void check_create(struct admission_case *c)
{
    const cJSON *spec = tree_get(c->object, "spec");
    job_check_spec(c, spec, tree_str(tree_get(c->object, "metadata"), "name"), "");
    if (tree_array(spec, "tasks") && tree_array(spec, "tasks")->child)
        check_queue(c, tree_str(spec, "queue"));
}

void jobs_validate(struct admission_case *c)
{
    if (str_is(c->review->operation, "CREATE"))
        check_create(c);
    else
        job_check_update(c);
}
