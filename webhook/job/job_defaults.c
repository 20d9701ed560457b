/*
 * Defaults of Jobs: see job_defaults.h.
 */
#include "webhook/job/job_defaults.h"
#include "base/buf.h"
#include "base/map.h"
#include "json/writer.h"
#include <stdio.h>

#define POINTER_MAX 256
#define DEFAULT_MAX_RETRY "3"

struct walk {
    job_default_fn *set;
    void *arg;
};

/* Absent, null or "". */
static bool no_text(const cJSON *object, const char *key)
{
    const cJSON *item = tree_get(object, key);
    return !item || (cJSON_IsString(item) && item->valuestring[0] == '\0');
}

/* Absent, null or 0. */
static bool no_number(const cJSON *object, const char *key)
{
    const cJSON *item = tree_get(object, key);
    return !item || (cJSON_IsNumber(item) && item->valuedouble == 0);
}

static cJSON *member(cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static void set_text(const struct walk *walk, cJSON *parent, const char *pointer, const char *key,
                     struct str text)
{
    struct buf value cleanup_buf = BUF_INIT(8192);
    json_quote(&value, text);
    if (!value.overflow)
        walk->set(parent, str_of(pointer), key, buf_str(&value), walk->arg);
}

static void set_number(const struct walk *walk, cJSON *parent, const char *pointer, const char *key,
                       int64_t number)
{
    struct buf value cleanup_buf = BUF_INIT(32);
    buf_add_i64(&value, number);
    walk->set(parent, str_of(pointer), key, buf_str(&value), walk->arg);
}

int64_t job_task_minimum_of(const cJSON *task)
{
    int64_t minimum;
    if (tree_i64(task, "minAvailable", &minimum))
        return minimum;
    const cJSON *partition = tree_get(task, "partitionPolicy");
    const int64_t partitions = tree_i64_or_0(partition, "minPartitions");
    const int64_t size = tree_i64_or_0(partition, "partitionSize");
    if (partition && partitions > 0 && size <= INT32_MAX && partitions <= INT32_MAX)
        return partitions * size;
    return tree_i64_or_0(task, "replicas");
}

/* ---- names of tasks ------------------------------------------------------------------------ */

struct names {
    struct map taken; /* that users gave; filled when the first name is made */
    size_t next;      /* number to try where the place of the task is taken */
    bool known;
};

/* The names in the order of the tasks, so that those given to the same tasks are the same again. */
static void collect_names(struct names *names, const cJSON *task)
{
    for (; task; task = task->next) {
        if (*tree_str(task, "name"))
            map_set(&names->taken, str_of(tree_str(task, "name")), NULL);
    }
    names->known = true;
}

/* "default<index>", or with a number past all places when a user has called a task so. */
static void make_name(struct names *names, const cJSON *tasks, size_t index, char text[40])
{
    if (!names->known) {
        collect_names(names, tasks->child);
        names->next = (size_t)cJSON_GetArraySize(tasks);
    }
    (void)snprintf(text, 40, "default%zu", index);
    while (map_has(&names->taken, str_of(text)))
        (void)snprintf(text, 40, "default%zu", names->next++);
}

/* ---- tasks --------------------------------------------------------------------------------- */

static void default_task(const struct walk *walk, cJSON *task, size_t index, const char *name)
{
    char pointer[POINTER_MAX];
    (void)snprintf(pointer, sizeof(pointer), "/spec/tasks/%zu", index);
    if (*name)
        set_text(walk, task, pointer, "name", str_of(name));
    if (!tree_get(task, "minAvailable"))
        set_number(walk, task, pointer, "minAvailable", job_task_minimum_of(task));
    if (no_number(task, "maxRetry"))
        walk->set(task, str_of(pointer), "maxRetry", STR(DEFAULT_MAX_RETRY), walk->arg);
    cJSON *pod = member(member(task, "template"), "spec");
    if (cJSON_IsObject(pod) && tree_bool(pod, "hostNetwork") && no_text(pod, "dnsPolicy")) {
        (void)snprintf(pointer, sizeof(pointer), "/spec/tasks/%zu/template/spec", index);
        set_text(walk, pod, pointer, "dnsPolicy", STR("ClusterFirstWithHostNet"));
    }
}

/* Returns the sum of the tasks' minima. */
static int64_t default_tasks(const struct walk *walk, cJSON *tasks)
{
    struct names names = {.taken = MAP_INIT};
    int64_t sum = 0;
    size_t index = 0;
    cJSON *task;
    if (!cJSON_IsArray(tasks))
        return 0;
    cJSON_ArrayForEach(task, tasks)
    {
        if (cJSON_IsObject(task)) {
            int64_t minimum = job_task_minimum_of(task);
            if (minimum > INT32_MAX - sum)
                minimum = INT32_MAX - sum;
            sum += minimum;
            char name[40] = "";
            if (no_text(task, "name"))
                make_name(&names, tasks, index, name);
            default_task(walk, task, index, name);
        }
        index++;
    }
    map_clear(&names.taken);
    return sum;
}

static void default_plugins(const struct walk *walk, cJSON *plugins)
{
    static const char *const need_service[] = {"tensorflow", "mpi", "pytorch", "ray"};
    bool service = false;
    if (!cJSON_IsObject(plugins))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(need_service); i++)
        service = service || member(plugins, need_service[i]);
    const bool add_ssh = member(plugins, "mpi") && !member(plugins, "ssh");
    if (service && !member(plugins, "svc"))
        walk->set(plugins, STR("/spec/plugins"), "svc", STR("[]"), walk->arg);
    if (add_ssh)
        walk->set(plugins, STR("/spec/plugins"), "ssh", STR("[]"), walk->arg);
}

void job_defaults(cJSON *job, const char *scheduler_name, job_default_fn *set, void *arg)
{
    const struct walk walk = {set, arg};
    cJSON *spec = member(job, "spec");
    if (!cJSON_IsObject(spec))
        return;
    if (no_text(spec, "queue"))
        set_text(&walk, spec, "/spec", "queue", STR("default"));
    if (no_text(spec, "schedulerName"))
        set_text(&walk, spec, "/spec", "schedulerName", str_of(scheduler_name));
    if (no_number(spec, "maxRetry"))
        set(spec, STR("/spec"), "maxRetry", STR(DEFAULT_MAX_RETRY), arg);
    const int64_t minimum = default_tasks(&walk, member(spec, "tasks"));
    if (no_number(spec, "minAvailable"))
        set_number(&walk, spec, "/spec", "minAvailable", minimum);
    default_plugins(&walk, member(spec, "plugins"));
}
