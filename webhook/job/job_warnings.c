/*
 * What is legal in a job but surely a mistake (part of /jobs/validate).
 */
#include "base/map.h"
#include "webhook/job/job_defaults.h"
#include "webhook/job/job_rules.h"

#define ANCESTORS_MAX 32 /* parents may form a circle */

/* ---- what a gang asks for ------------------------------------------------------------------ */

struct gang {
    struct arena *arena;
    struct map requests; /* resource -> struct quantity *, for all pods that count */
    bool pod_level;
};

static void add_request(struct gang *gang, const cJSON *item, int64_t pods)
{
    struct quantity amount, *sum = map_get(&gang->requests, str_of(item->string));
    struct error err = ERROR_INIT;
    if (quantity_parse(tree_scalar(item, gang->arena), &amount, &err) < 0)
        return;
    if (!sum) {
        sum = arena_new(gang->arena, struct quantity);
        map_set(&gang->requests, str_of(item->string), sum);
    }
    *sum = quantity_add(*sum, quantity_mul(amount, pods));
}

/* The requests of `resources`, and limits where there is no request. */
static void add_resources(struct gang *gang, const cJSON *resources, int64_t pods)
{
    const cJSON *requests = tree_object(resources, "requests");
    const cJSON *limits = tree_object(resources, "limits"), *item;
    struct map named = MAP_INIT;
    cJSON_ArrayForEach(item, requests)
    {
        add_request(gang, item, pods);
        if (limits)
            map_set(&named, str_of(item->string), NULL);
    }
    cJSON_ArrayForEach(item, limits)
    {
        if (!map_has(&named, str_of(item->string)))
            add_request(gang, item, pods);
    }
    map_clear(&named);
}

/* No less than this is asked for: init containers are left out. */
static void add_pods(struct gang *gang, const cJSON *pod, int64_t pods)
{
    const cJSON *container;
    const cJSON *own = gang->pod_level ? tree_object(pod, "resources") : NULL;
    const cJSON *containers = own ? NULL : tree_array(pod, "containers");
    const cJSON *overhead = tree_object(pod, "overhead"), *item;
    if (pods <= 0)
        return;
    if (own)
        add_resources(gang, own, pods);
    cJSON_ArrayForEach(container, containers)
    {
        add_resources(gang, tree_get(container, "resources"), pods);
    }
    cJSON_ArrayForEach(item, overhead)
    {
        add_request(gang, item, pods);
    }
}

static int64_t add_up(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

/* Adds the pods that must be among the `minimum` of the job, whichever come first. */
static void add_tasks(struct gang *gang, const cJSON *tasks, int64_t minimum)
{
    const cJSON *task;
    int64_t replicas = 0, minima = 0;
    cJSON_ArrayForEach(task, tasks)
    {
        replicas = add_up(replicas, tree_i64_or_0(task, "replicas"));
        minima = add_up(minima, job_task_minimum_of(task));
    }
    cJSON_ArrayForEach(task, tasks)
    {
        /* Those that the other tasks cannot fill. */
        int64_t pods = minimum - (replicas - tree_i64_or_0(task, "replicas"));
        if (minima <= minimum && job_task_minimum_of(task) > pods)
            pods = job_task_minimum_of(task);
        add_pods(gang, tree_get(tree_get(task, "template"), "spec"), pods);
    }
}

/* ---- against the capability of queues ------------------------------------------------------ */

/* True once a warning was given. */
static bool warn_of_queue(struct admission_case *c, const struct gang *gang,
                          const struct queue_view *queue, int64_t minimum)
{
    for (size_t i = 0; i < queue->capability.n; i++) {
        const struct resource *limit = &queue->capability.items[i];
        const struct quantity *found = map_get(&gang->requests, limit->name);
        const struct quantity pods = quantity_from_i64(minimum, QUANTITY_DECIMAL_SI);
        const struct quantity *sum = str_is(limit->name, "pods") ? &pods : found;
        if (!sum || limit->quantity.nano <= 0 || quantity_cmp(*sum, limit->quantity) <= 0)
            continue;
        case_warn(c,
                  "spec.minAvailable: %lld pods ask for %s %.63s at least, queue %.63s allows %s: "
                  "the job cannot start",
                  (long long)minimum, quantity_text(*sum).text, limit->name.p, queue->name.p,
                  quantity_text(limit->quantity).text);
        return true;
    }
    return false;
}

void job_warn_of_queue(struct admission_case *c, const cJSON *spec)
{
    const int64_t minimum = tree_i64_or_0(spec, "minAvailable");
    const char *name = tree_str(spec, "queue");
    const struct queue_view *queue =
        queue_snapshot_get(c->queues, *name ? str_of(name) : STR("default"));
    struct gang gang = {
        .arena = c->arena, .requests = MAP_INIT, .pod_level = c->rules->pod_level_resources};
    if (!queue || minimum <= 0)
        return;
    add_tasks(&gang, tree_array(spec, "tasks"), minimum);
    for (size_t i = 0; i < ANCESTORS_MAX && queue; i++) {
        if (warn_of_queue(c, &gang, queue, minimum))
            break;
        queue = queue->parent.n ? queue_snapshot_get(c->queues, queue->parent) : NULL;
    }
    map_clear(&gang.requests);
}

/* ---- pod templates ------------------------------------------------------------------------- */

/* "spec.task[0].template.spec" */
static const char *pod_path(struct admission_case *c, const char *path, size_t task)
{
    return arena_printf(c->arena, "%sspec.task[%zu].template.spec", path, task).p;
}

static void warn_of_nodes(struct admission_case *c, const cJSON *pod, const char *at)
{
    static const char *const labels[][2] = {
        {"beta.kubernetes.io/arch", "kubernetes.io/arch"},
        {"beta.kubernetes.io/os", "kubernetes.io/os"},
        {"beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"},
        {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
        {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"}};
    const cJSON *selector = tree_object(pod, "nodeSelector");
    for (size_t i = 0; i < ARRAY_SIZE(labels) && selector; i++) {
        if (tree_get(selector, labels[i][0]))
            case_warn(c, "%s.nodeSelector[%s]: deprecated; use \"%s\"", at, labels[i][0],
                      labels[i][1]);
    }
}

static void warn_of_volumes(struct admission_case *c, const cJSON *pod, const char *at)
{
    static const char *const sources[] = {"gitRepo", "rbd",       "cephfs",
                                          "scaleIO", "glusterfs", "quobyte",
                                          "flocker", "storageos", "photonPersistentDisk"};
    const cJSON *volume;
    size_t index = 0;
    cJSON_ArrayForEach(volume, tree_array(pod, "volumes"))
    {
        for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
            if (tree_get(volume, sources[i]))
                case_warn(c, "%s.volumes[%zu].%s: deprecated", at, index, sources[i]);
        }
        index++;
    }
}

/* Bytes have no thousandths: "100m" was meant to be "100M". */
static void warn_of_memory(struct admission_case *c, const cJSON *pod, const char *at)
{
    static const char *const lists[] = {"requests", "limits"};
    const cJSON *container;
    size_t index = 0;
    cJSON_ArrayForEach(container, tree_array(pod, "containers"))
    {
        for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
            const cJSON *list = tree_get(tree_get(container, "resources"), lists[i]);
            const struct str text = tree_scalar(tree_get(list, "memory"), c->arena);
            struct quantity memory;
            struct error err = ERROR_INIT;
            if (text.n && quantity_parse(text, &memory, &err) == 0 && memory.nano % 1000000000 != 0)
                case_warn(c,
                          "%s.containers[%zu].resources.%s[memory]: %.*s is a fraction of a byte",
                          at, index, lists[i], STR_ARG(str_cut(text, 32)));
        }
        index++;
    }
}

static void warn_of_template(struct admission_case *c, const cJSON *spec, const cJSON *pod,
                             const char *at)
{
    const char *scheduler = tree_str(spec, "schedulerName"), *own = tree_str(pod, "schedulerName");
    scheduler = *scheduler ? scheduler : c->rules->scheduler_name;
    if (*own && strcmp(own, scheduler) != 0)
        case_warn(c,
                  "%s.schedulerName: pods for \"%.63s\" are not placed with the job, which is for "
                  "\"%.63s\"",
                  at, own, scheduler);
    if (*tree_str(pod, "serviceAccount") && !*tree_str(pod, "serviceAccountName"))
        case_warn(c, "%s.serviceAccount: deprecated; use serviceAccountName", at);
    if (tree_get(pod, "priority"))
        case_warn(c,
                  "%s.priority: pods are refused unless their priority class has this value; leave "
                  "it out",
                  at);
    warn_of_nodes(c, pod, at);
    warn_of_volumes(c, pod, at);
    warn_of_memory(c, pod, at);
}

/* ---- policies ------------------------------------------------------------------------------ */

static void warn_of_policies(struct admission_case *c, const cJSON *policies, const char *at)
{
    const cJSON *policy;
    size_t index = 0;
    cJSON_ArrayForEach(policy, policies)
    {
        if (tree_get(policy, "exitCode") && !*tree_str(policy, "action"))
            case_warn(c, "%s[%zu]: does nothing, it names no action", at, index);
        index++;
    }
}

/* ---- the job ------------------------------------------------------------------------------- */

void job_warn(struct admission_case *c, const cJSON *spec, const char *path)
{
    const cJSON *task;
    size_t index = 0;
    int64_t minimum, replicas = 0;
    cJSON_ArrayForEach(task, tree_array(spec, "tasks"))
    {
        const char *at = pod_path(c, path, index);
        warn_of_template(c, spec, tree_get(tree_get(task, "template"), "spec"), at);
        warn_of_policies(c, tree_array(task, "policies"),
                         arena_printf(c->arena, "%sspec.tasks[%zu].policies", path, index).p);
        replicas = add_up(replicas, tree_i64_or_0(task, "replicas"));
        index++;
    }
    warn_of_policies(c, tree_array(spec, "policies"),
                     arena_printf(c->arena, "%sspec.policies", path).p);
    if (replicas == 0)
        case_warn(c, "%sspec.tasks: no task has replicas, the job has no pods", path);
    else if (tree_i64(spec, "minAvailable", &minimum) && minimum == 0)
        case_warn(c, "%sspec.minAvailable: with 0 the job counts as running without a pod", path);
    if (*tree_str(spec, "runningEstimate"))
        case_warn(c, "%sspec.runningEstimate: has no effect", path);
}
