/*
 * /jobs/validate: the rules of a new Job. Those of an UPDATE are in jobs_update.c.
 */
#include "api/names.h"
#include "base/map.h"
#include "base/quantity.h"
#include "webhook/job/job_rules.h"
#include "webhook/pod/template.h"
#include <stdio.h>

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

/* The job that a spec makes. */
struct job_subject {
    const char *name;
    const char *path; /* in front of its fields */
};

/* ---- pod templates ------------------------------------------------------------------------- */

/* For a topology policy: CPUs are given out whole. Requests stand for limits where both count. */
static void check_whole_cpu(struct admission_case *c, const cJSON *container, size_t task,
                            size_t index, const char *path)
{
    const cJSON *resources = tree_get(container, "resources");
    const cJSON *requests = tree_object(resources, "requests");
    const cJSON *cpu = tree_get(requests ? requests : tree_object(resources, "limits"), "cpu");
    struct quantity quantity = QUANTITY_ZERO;
    struct error err = ERROR_INIT;
    if (cpu && quantity_parse(tree_scalar(cpu, c->arena), &quantity, &err) < 0)
        return; /* a fault of the template */
    if (quantity.nano == 0 || quantity.nano % 1000000000 != 0)
        problem_invalid(&c->problems,
                        "the cpu request isn't an integer in %sspec.task[%zu] container[%zu].",
                        path, task, index);
}

static void check_topology_policy(struct admission_case *c, const cJSON *task, size_t index,
                                  const char *path)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const char *policy = tree_str(task, "topologyPolicy");
    const cJSON *pod = tree_get(tree_get(task, "template"), "spec"), *container;
    size_t number = 0;
    if (!*policy || strcmp(policy, "none") == 0)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        cJSON_ArrayForEach(container, tree_array(pod, lists[i]))
        {
            check_whole_cpu(c, container, index, number++, path);
        }
    }
}

static void check_template(struct admission_case *c, const cJSON *task, size_t index,
                           const char *path)
{
    const struct pod_template_options options = {c->rules->pod_level_resources};
    struct rule_walk walk = {.problems = &c->problems, .arena = c->arena};
    const size_t before = c->problems.count;
    const struct str root = arena_printf(c->arena, "%sspec.task[%zu].template", path, index);
    const struct field at = field_root(root.p);
    pod_template_check(&walk, tree_get(task, "template"), &at, &options);
    if (c->problems.count == before)
        check_topology_policy(c, task, index, path);
}

/* ---- tasks --------------------------------------------------------------------------------- */

static void check_task(struct admission_case *c, const cJSON *task, const char *name, size_t index,
                       const struct job_subject *job)
{
    char where[80], label[128];
    const int64_t replicas = tree_i64_or_0(task, "replicas");
    int64_t minimum;
    (void)snprintf(where, sizeof(where), " in task: %.63s", name);
    if (tree_i64(task, "minAvailable", &minimum) && minimum > replicas)
        problem_invalid(&c->problems,
                        "'minAvailable' is greater than 'replicas' in task: %.63s, job: %.63s",
                        name, job->name);
    (void)snprintf(label, sizeof(label), "%.100sspec.tasks.policies", job->path);
    job_check_policies(&c->problems, tree_array(task, "policies"), label, where);
    job_check_pod_name(&c->problems, job->name, name, replicas);
    check_template(c, task, index, job->path);
    job_check_partition(&c->problems, task, name, job->name);
}

/* Returns the sum of all replicas. */
static int64_t check_tasks(struct admission_case *c, const cJSON *tasks,
                           const struct job_subject *job)
{
    struct map names = MAP_INIT; /* value: non-NULL once reported */
    int64_t sum = 0;
    size_t index = 0;
    const cJSON *task;
    cJSON_ArrayForEach(task, tasks)
    {
        if (problems_enough(&c->problems))
            break;
        char text[TASK_NAME_MAX];
        const char *name = job_task_name(task, index, text);
        if (__builtin_add_overflow(sum, tree_i64_or_0(task, "replicas"), &sum))
            sum = INT64_MAX;
        if (!map_has(&names, str_of(name))) {
            map_set(&names, str_of(name), NULL);
        } else if (!map_set(&names, str_of(name), &names)) {
            problem_invalid(&c->problems, "duplicated task name %.63s%s", name,
                            name == text ? " (a task without a name is called so)" : "");
        }
        check_task(c, task, name, index++, job);
    }
    map_clear(&names);
    return sum;
}

/* ---- the job ------------------------------------------------------------------------------- */

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

/* What the job needs of its pods against how many it has. */
static void check_sums(struct admission_case *c, const cJSON *spec, int64_t replicas)
{
    const int64_t minimum = tree_i64_or_0(spec, "minAvailable");
    const int64_t success = tree_i64_or_0(spec, "minSuccess");
    if (replicas < minimum)
        problem_invalid(
            &c->problems,
            "job 'minAvailable' should not be greater than total replicas in tasks (%lld > %lld)",
            (long long)minimum, (long long)replicas);
    if (replicas < success)
        problem_invalid(
            &c->problems,
            "job 'minSuccess' should not be greater than total replicas in tasks (%lld > %lld)",
            (long long)success, (long long)replicas);
}

void job_check_spec(struct admission_case *c, const cJSON *spec, const char *job_name,
                    const char *path)
{
    char label[128];
    const struct job_subject job = {job_name, path};
    const cJSON *tasks = tree_array(spec, "tasks");
    if (!tasks || !tasks->child) {
        problem_invalid(&c->problems, "No task specified in job spec%s%s", *path ? ": " : "",
                        *path ? arena_printf(c->arena, "%sspec.tasks", path).p : "");
        return;
    }
    (void)snprintf(label, sizeof(label), "%.100sspec.policies", path);
    job_check_topology(&c->problems, tree_get(spec, "networkTopology"), "");
    const int64_t replicas = check_tasks(c, tasks, &job);
    job_check_names(c, spec, job_name);
    check_sums(c, spec, replicas);
    job_check_policies(&c->problems, tree_array(spec, "policies"), label, "");
    job_check_plugins(c, spec);
    job_check_volumes(c, spec, path);
    job_check_dependencies(c, tasks);
    if (!problems_enough(&c->problems))
        job_warn(c, spec, path);
}

/* The name, or one as long as the API server makes it of generateName. */
static const char *name_of(struct admission_case *c)
{
    const cJSON *metadata = tree_get(c->object, "metadata");
    const char *name = tree_str(metadata, "name"), *start = tree_str(metadata, "generateName");
    return *name || !*start ? name : arena_printf(c->arena, "%.253sxxxxx", start).p;
}

static void check_create(struct admission_case *c)
{
    const cJSON *spec = tree_get(c->object, "spec");
    const cJSON *tasks = tree_array(spec, "tasks");
    job_check_spec(c, spec, name_of(c), "");
    if (!tasks || !tasks->child)
        return;
    check_queue(c, tree_str(spec, "queue"));
    job_warn_of_queue(c, spec);
}

void jobs_validate(struct admission_case *c)
{
    if (str_is(c->review->operation, "CREATE"))
        check_create(c);
    else
        job_check_update(c);
}
