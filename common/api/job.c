/*
 * Decoding of Jobs: see job.h.
 */
#include "api/job_read.h"
#include "base/timefmt.h"
#include "json/interned.h"

static const char *const phase_names[JOB_PHASE_COUNT] = {
    [JOB_PENDING] = "Pending",       [JOB_RUNNING] = "Running",
    [JOB_RESTARTING] = "Restarting", [JOB_ABORTING] = "Aborting",
    [JOB_ABORTED] = "Aborted",       [JOB_COMPLETING] = "Completing",
    [JOB_COMPLETED] = "Completed",   [JOB_TERMINATING] = "Terminating",
    [JOB_TERMINATED] = "Terminated", [JOB_FAILED] = "Failed",
};

const char *job_phase_name(enum job_phase phase)
{
    return phase_names[phase];
}

bool job_phase_finished(enum job_phase phase)
{
    return phase == JOB_COMPLETED || phase == JOB_FAILED || phase == JOB_TERMINATED;
}

const struct job_task *job_find_task(const struct job *job, const char *name)
{
    for (uint32_t i = 0; i < job->task_count; i++) {
        if (job->tasks[i].name == name)
            return &job->tasks[i];
    }
    return NULL;
}

const struct job_plugin *job_find_plugin(const struct job *job, const char *name)
{
    for (uint32_t i = 0; i < job->plugin_count; i++) {
        if (strcmp(job->plugins[i].name, name) == 0)
            return &job->plugins[i];
    }
    return NULL;
}

int32_t job_task_minimum(const struct job_task *task)
{
    if (task->has_min_available)
        return task->min_available;
    int64_t partitioned = (int64_t)task->min_partitions * task->partition_size;
    if (partitioned > 0)
        return partitioned > INT32_MAX ? INT32_MAX : (int32_t)partitioned;
    return task->replicas;
}

int32_t job_replicas(const struct job *job)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < job->task_count; i++)
        sum += job->tasks[i].replicas;
    return sum > INT32_MAX ? INT32_MAX : (int32_t)sum;
}

/* ---- status -----------------------------------------------------------------------------------
 */

static void read_phase(struct json_reader *reader, struct job_status *status)
{
    struct str text = json_str(reader);

    for (int phase = 0; phase < JOB_PHASE_COUNT; phase++) {
        if (str_is(text, phase_names[phase])) {
            status->phase = (enum job_phase)phase;
            status->fresh = false;
        }
    }
}

static void read_state(struct json_reader *reader, struct job_status *status)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("phase"))) {
            read_phase(reader, status);
        } else if (str_eq(key, STR("reason"))) {
            json_interned(reader, &status->reason);
        } else if (str_eq(key, STR("message"))) {
            free(status->message);
            status->message = str_dup(json_str(reader));
        } else if (str_eq(key, STR("lastTransitionTime"))) {
            (void)time_parse(json_str(reader), &status->transition_ns);
        } else {
            json_skip(reader);
        }
    }
}

static void read_condition(struct json_reader *reader, struct job_phase_condition *condition)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("status")))
            json_interned(reader, &condition->status);
        else if (str_eq(key, STR("lastTransitionTime")))
            (void)time_parse(json_str(reader), &condition->transition_ns);
        else
            json_skip(reader);
    }
}

static void read_conditions(struct json_reader *reader, struct job_status *status)
{
    VEC(struct job_phase_condition) conditions = {0};

    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        struct job_phase_condition condition = {intern_get(STR("")), 0};
        read_condition(reader, &condition);
        vec_push(&conditions, condition);
    }
    status->conditions = conditions.items;
    status->condition_count = (uint32_t)conditions.n;
}

/* Reads `key` if it is one of the counters. */
static bool read_counter(struct json_reader *reader, struct job_status *status, struct str key)
{
    const struct {
        struct str name;
        int32_t *slot;
    } counters[] = {
        {STR("minAvailable"), &status->min_available},
        {STR("pending"), &status->pending},
        {STR("running"), &status->running},
        {STR("succeeded"), &status->succeeded},
        {STR("failed"), &status->failed},
        {STR("terminating"), &status->terminating},
        {STR("unknown"), &status->unknown},
        {STR("version"), &status->version},
        {STR("retryCount"), &status->retry_count},
    };

    for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
        if (str_eq(key, counters[i].name)) {
            *counters[i].slot = json_i32(reader);
            return true;
        }
    }
    return false;
}

static void read_status(struct json_reader *reader, struct job_status *status)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (read_counter(reader, status, key))
            continue;
        if (str_eq(key, STR("state")))
            read_state(reader, status);
        else if (str_eq(key, STR("conditions")) && !status->conditions)
            read_conditions(reader, status);
        else if (str_eq(key, STR("runningDuration")))
            json_interned(reader, &status->running_duration);
        else if (str_eq(key, STR("controlledResources")) && !status->controlled.items)
            kube_pairs_read(reader, &status->controlled, NULL);
        else
            json_skip(reader);
    }
}

struct job *job_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct job *job = xnew(struct job);
    struct json_reader reader;
    struct str key;

    job->scheduler_name = intern_get(STR(""));
    job->queue = intern_get(STR(""));
    job->priority_class_name = intern_get(STR(""));
    job->network_topology = intern_get(STR(""));
    job->status.reason = intern_get(STR(""));
    job->status.running_duration = intern_get(STR(""));
    job->status.fresh = true;
    job->ttl_seconds = -1;
    json_init(&reader, raw, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_eq(key, STR("metadata")) && !job->meta.name)
                kube_meta_read(&reader, &job->meta, NULL);
            else if (str_eq(key, STR("spec")))
                job_spec_read(&reader, job);
            else if (str_eq(key, STR("status")))
                read_status(&reader, &job->status);
            else
                json_skip(&reader);
        }
    }
    if (!job->status.message)
        job->status.message = xstrdup("");
    if (json_end(&reader, err) < 0) {
        job_free(job);
        return NULL;
    }
    return job;
}

void job_free(struct job *job)
{
    if (!job)
        return;
    kube_meta_clear(&job->meta);
    intern_put(job->scheduler_name);
    intern_put(job->queue);
    intern_put(job->priority_class_name);
    intern_put(job->network_topology);
    job_spec_clear(job);
    intern_put(job->status.reason);
    intern_put(job->status.running_duration);
    free(job->status.message);
    for (uint32_t i = 0; i < job->status.condition_count; i++)
        intern_put(job->status.conditions[i].status);
    free(job->status.conditions);
    kube_pairs_clear(&job->status.controlled);
    free(job);
}

static void *decode(struct str raw, struct error *err)
{
    return job_decode(raw, err);
}

static void release(void *object)
{
    job_free(object);
}

const struct store_type job_store_type = {"Job", decode, release};
