/*
 * Decoding of a Job's spec: see job.h. Templates stay raw text.
 */
#include "api/job_read.h"
#include "json/interned.h"

#define JOB_DEFAULT_MAX_RETRY 3

static void job_names_clear(struct job_names *names)
{
    for (uint32_t i = 0; i < names->n; i++)
        intern_put(names->items[i]);
    free(names->items);
    *names = (struct job_names){0};
}

static void raw_interned(struct json_reader *reader, const char **slot)
{
    struct str raw = json_raw(reader);

    intern_put(*slot);
    *slot = intern_get(str_eq(raw, STR("null")) ? STR_NULL : raw);
}

static void read_template_meta(struct json_reader *reader, struct job_task *task)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("labels")) && !task->labels.items)
            kube_pairs_read(reader, &task->labels, NULL);
        else if (str_eq(key, STR("annotations")) && !task->annotations.items)
            kube_pairs_read(reader, &task->annotations, NULL);
        else if (str_eq(key, STR("finalizers")) && json_peek(reader) == JSON_ARRAY)
            raw_interned(reader, &task->finalizers);
        else
            json_skip(reader);
    }
}

/* Looks into the template's spec for the members the controller may have to add or to know. */
static void read_template_spec(struct json_reader *reader, struct job_task *task)
{
    struct json_reader inner;
    struct str key;

    json_init(&inner, json_raw(reader), reader->arena);
    if (json_failed(reader) || json_peek(&inner) != JSON_OBJECT)
        return;
    intern_put(task->spec);
    task->spec = intern_get(str_make(inner.start, (size_t)(inner.end - inner.start)));
    bool present = json_object(&inner);
    while (present && json_key(&inner, &key)) {
        if (str_eq(key, STR("schedulerName")))
            json_interned(&inner, &task->scheduler_name);
        else if (str_eq(key, STR("priorityClassName")))
            json_interned(&inner, &task->priority_class_name);
        else if (str_eq(key, STR("hostname")))
            json_interned(&inner, &task->hostname);
        else if (str_eq(key, STR("subdomain")))
            json_interned(&inner, &task->subdomain);
        else
            json_skip(&inner);
    }
    if (json_failed(&inner))
        json_fail(reader, inner.error);
}

static void read_template(struct json_reader *reader, struct job_task *task)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("metadata")))
            read_template_meta(reader, task);
        else if (str_eq(key, STR("spec")))
            read_template_spec(reader, task);
        else
            json_skip(reader);
    }
}

static void read_partition_policy(struct json_reader *reader, struct job_task *task)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("partitionSize")))
            task->partition_size = json_i32(reader);
        else if (str_eq(key, STR("minPartitions")))
            task->min_partitions = json_i32(reader);
        else if (str_eq(key, STR("networkTopology")))
            raw_interned(reader, &task->partition_topology);
        else
            json_skip(reader);
    }
}

static void read_names(struct json_reader *reader, struct job_names *names)
{
    VEC(const char *) list = {0};

    if (!json_array(reader))
        return;
    while (json_item(reader))
        vec_push(&list, intern_get(json_str(reader)));
    job_names_clear(names);
    names->items = list.items;
    names->n = (uint32_t)list.n;
}

static void read_depends_on(struct json_reader *reader, struct job_task *task)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("name")))
            read_names(reader, &task->depends_on);
        else if (str_eq(key, STR("iteration")))
            task->depends_on_any = str_is(json_str(reader), "any");
        else
            json_skip(reader);
    }
}

static void task_defaults(struct job_task *task)
{
    *task = (struct job_task){
        .name = intern_get(STR("")),
        .partition_topology = intern_get(STR("")),
        .topology_policy = intern_get(STR("")),
        .finalizers = intern_get(STR("")),
        .spec = intern_get(STR("{}")),
        .scheduler_name = intern_get(STR("")),
        .priority_class_name = intern_get(STR("")),
        .hostname = intern_get(STR("")),
        .subdomain = intern_get(STR("")),
    };
}

/* Members of a task that decide when it runs and how it fails. */
static void read_task_rule(struct json_reader *reader, struct str key, struct job_task *task)
{
    if (str_eq(key, STR("policies")) && !task->policies.items)
        job_policies_read(reader, &task->policies);
    else if (str_eq(key, STR("dependsOn")))
        read_depends_on(reader, task);
    else if (str_eq(key, STR("maxRetry")))
        task->max_retry = json_i32(reader);
    else if (str_eq(key, STR("partitionPolicy")))
        read_partition_policy(reader, task);
    else if (str_eq(key, STR("topologyPolicy")))
        json_interned(reader, &task->topology_policy);
    else
        json_skip(reader);
}

static void read_task(struct json_reader *reader, struct job_task *task)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("name"))) {
            json_interned(reader, &task->name);
        } else if (str_eq(key, STR("replicas"))) {
            task->replicas = json_i32(reader);
        } else if (str_eq(key, STR("minAvailable"))) {
            task->has_min_available = json_peek(reader) == JSON_NUMBER;
            task->min_available = json_i32(reader);
        } else if (str_eq(key, STR("template"))) {
            read_template(reader, task);
        } else {
            read_task_rule(reader, key, task);
        }
    }
    if (*task->name == '\0') {
        intern_put(task->name);
        task->name = intern_get(STR("default"));
    }
    if (task->max_retry == 0)
        task->max_retry = JOB_DEFAULT_MAX_RETRY;
    if (task->replicas < 0 || task->min_available < 0)
        json_fail(reader, "spec.tasks: replicas and minAvailable must not be negative");
}

static void read_tasks(struct json_reader *reader, struct job *job)
{
    VEC(struct job_task) tasks = {0};

    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        struct job_task task;
        task_defaults(&task);
        read_task(reader, &task);
        vec_push(&tasks, task);
    }
    job->tasks = tasks.items;
    job->task_count = (uint32_t)tasks.n;
}

static void read_plugins(struct json_reader *reader, struct job *job)
{
    VEC(struct job_plugin) plugins = {0};
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        struct job_plugin plugin = {.name = intern_get(key)};
        read_names(reader, &plugin.arguments);
        vec_push(&plugins, plugin);
    }
    job->plugins = plugins.items;
    job->plugin_count = (uint32_t)plugins.n;
}

static void read_volume(struct json_reader *reader, struct job_volume *volume)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("mountPath")))
            json_interned(reader, &volume->mount_path);
        else if (str_eq(key, STR("volumeClaimName")))
            json_interned(reader, &volume->claim_name);
        else if (str_eq(key, STR("volumeClaim")))
            raw_interned(reader, &volume->claim);
        else
            json_skip(reader);
    }
}

static void read_volumes(struct json_reader *reader, struct job *job)
{
    VEC(struct job_volume) volumes = {0};

    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        struct job_volume volume = {intern_get(STR("")), intern_get(STR("")), intern_get(STR(""))};
        read_volume(reader, &volume);
        vec_push(&volumes, volume);
    }
    job->volumes = volumes.items;
    job->volume_count = (uint32_t)volumes.n;
}

static void read_ttl(struct json_reader *reader, struct job *job)
{
    if (json_peek(reader) == JSON_NUMBER)
        job->ttl_seconds = json_i32(reader);
    else
        json_skip(reader);
}

/* Texts and numbers of the job itself. */
static void read_scalar(struct json_reader *reader, struct str key, struct job *job)
{
    if (str_eq(key, STR("schedulerName")))
        json_interned(reader, &job->scheduler_name);
    else if (str_eq(key, STR("queue")))
        json_interned(reader, &job->queue);
    else if (str_eq(key, STR("priorityClassName")))
        json_interned(reader, &job->priority_class_name);
    else if (str_eq(key, STR("minAvailable")))
        job->min_available = json_i32(reader);
    else if (str_eq(key, STR("minSuccess")))
        job->min_success = json_i32(reader);
    else if (str_eq(key, STR("maxRetry")))
        job->max_retry = json_i32(reader);
    else if (str_eq(key, STR("ttlSecondsAfterFinished")))
        read_ttl(reader, job);
    else
        json_skip(reader);
}

void job_spec_read(struct json_reader *reader, struct job *job)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("networkTopology")))
            raw_interned(reader, &job->network_topology);
        else if (str_eq(key, STR("tasks")) && !job->tasks)
            read_tasks(reader, job);
        else if (str_eq(key, STR("policies")) && !job->policies.items)
            job_policies_read(reader, &job->policies);
        else if (str_eq(key, STR("plugins")) && !job->plugins)
            read_plugins(reader, job);
        else if (str_eq(key, STR("volumes")) && !job->volumes)
            read_volumes(reader, job);
        else
            read_scalar(reader, key, job);
    }
}

/* ---- release ----------------------------------------------------------------------------------
 */

static void task_clear(struct job_task *task)
{
    intern_put(task->name);
    intern_put(task->partition_topology);
    intern_put(task->topology_policy);
    intern_put(task->finalizers);
    intern_put(task->spec);
    intern_put(task->scheduler_name);
    intern_put(task->priority_class_name);
    intern_put(task->hostname);
    intern_put(task->subdomain);
    kube_pairs_clear(&task->labels);
    kube_pairs_clear(&task->annotations);
    job_policies_clear(&task->policies);
    job_names_clear(&task->depends_on);
}

void job_spec_clear(struct job *job)
{
    for (uint32_t i = 0; i < job->task_count; i++)
        task_clear(&job->tasks[i]);
    free(job->tasks);
    for (uint32_t i = 0; i < job->plugin_count; i++) {
        intern_put(job->plugins[i].name);
        job_names_clear(&job->plugins[i].arguments);
    }
    free(job->plugins);
    for (uint32_t i = 0; i < job->volume_count; i++) {
        intern_put(job->volumes[i].mount_path);
        intern_put(job->volumes[i].claim_name);
        intern_put(job->volumes[i].claim);
    }
    free(job->volumes);
    job_policies_clear(&job->policies);
}
