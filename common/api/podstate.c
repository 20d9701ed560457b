/*
 * Decoding of Pods for the controller: see podstate.h.
 */
#include "api/podstate.h"
#include "api/names.h"
#include "base/alloc.h"
#include "base/timefmt.h"
#include "json/interned.h"

/* Of one pod: more than anybody writes policies for. */
#define EXIT_CODES_MAX 16

static const char *const phase_names[POD_PHASE_COUNT] = {
    [POD_PHASE_PENDING] = "Pending",     [POD_PHASE_RUNNING] = "Running",
    [POD_PHASE_SUCCEEDED] = "Succeeded", [POD_PHASE_FAILED] = "Failed",
    [POD_PHASE_UNKNOWN] = "Unknown",
};

const char *pod_phase_name(enum pod_phase phase)
{
    return phase_names[phase];
}

static bool keep_ours(struct str key)
{
    return str_starts(key, STR("volcano.sh/")) || str_is(key, KEY_DELETION_COST);
}

static const char *label_or_annotation(const struct kube_meta *meta, const char *key)
{
    const char *value = kube_pairs_get(&meta->labels, key);

    return value ? value : kube_pairs_get(&meta->annotations, key);
}

static int32_t number_at(const struct kube_meta *meta, const char *key)
{
    const char *text = label_or_annotation(meta, key);
    int32_t value;

    return text && str_to_i32(str_of(text), &value) && value >= 0 ? value : -1;
}

/* Takes what identifies the pod out of its labels and drops them. */
static void take_identity(struct podstate *pod)
{
    const char *job = label_or_annotation(&pod->meta, KEY_JOB_NAME);
    const char *task = label_or_annotation(&pod->meta, KEY_TASK_SPEC);

    pod->selected = kube_pairs_get(&pod->meta.labels, KEY_JOB_NAME) != NULL;
    pod->job_name = intern_get(str_of(job));
    pod->task = intern_get(str_of(task));
    pod->index = number_at(&pod->meta, KEY_TASK_INDEX);
    pod->job_version = number_at(&pod->meta, KEY_JOB_VERSION);
    pod->retry_count = number_at(&pod->meta, KEY_JOB_RETRY_COUNT);
    pod->partition = number_at(&pod->meta, KEY_PARTITION_ID);
    const char *cost = kube_pairs_get(&pod->meta.annotations, KEY_DELETION_COST);
    if (!cost || !str_to_i32(str_of(cost), &pod->deletion_cost))
        pod->deletion_cost = 0;
    kube_pairs_clear(&pod->meta.labels);
    kube_pairs_clear(&pod->meta.annotations);
}

static void read_spec(struct json_reader *reader, struct podstate *pod)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("nodeName")))
            pod->bound = !str_empty(json_str(reader));
        else
            json_skip(reader);
    }
}

static enum pod_phase phase_of(struct str text)
{
    for (int phase = 0; phase < POD_PHASE_COUNT; phase++) {
        if (str_is(text, phase_names[phase]))
            return (enum pod_phase)phase;
    }
    return POD_PHASE_UNKNOWN;
}

/* ---- containers ------------------------------------------------------------------------------ */

static void add_exit_code(struct podstate *pod, int32_t code)
{
    for (uint32_t i = 0; i < pod->exit_code_count; i++) {
        if (pod->exit_codes[i] == code)
            return;
    }
    if (code == 0 || pod->exit_code_count == EXIT_CODES_MAX)
        return;
    if (!pod->exit_codes)
        pod->exit_codes = xcalloc(EXIT_CODES_MAX, sizeof(*pod->exit_codes));
    pod->exit_codes[pod->exit_code_count++] = code;
}

static void read_later(struct json_reader *reader, int64_t *slot)
{
    int64_t at_ns;

    if (time_parse(json_str(reader), &at_ns) && at_ns > *slot)
        *slot = at_ns;
}

/* `last`: of the run before the present one. */
static void read_terminated(struct json_reader *reader, struct podstate *pod, bool last)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("exitCode")) && !last)
            add_exit_code(pod, json_i32(reader));
        else if (str_eq(key, STR("finishedAt")))
            read_later(reader, last ? &pod->restarted_ns : &pod->ended_ns);
        else
            json_skip(reader);
    }
}

static void read_state(struct json_reader *reader, struct podstate *pod, bool last)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("terminated")))
            read_terminated(reader, pod, last);
        else
            json_skip(reader);
    }
}

/* Returns whether all containers of the list are ready. */
static bool read_containers(struct json_reader *reader, struct podstate *pod)
{
    bool all_ready = true;
    struct str key;

    if (!json_array(reader))
        return false;
    while (json_item(reader)) {
        bool ready = false, present = json_object(reader);
        int32_t restarts = 0;
        while (present && json_key(reader, &key)) {
            if (str_eq(key, STR("ready")))
                ready = json_bool(reader);
            else if (str_eq(key, STR("restartCount")))
                restarts = json_i32(reader);
            else if (str_eq(key, STR("state")))
                read_state(reader, pod, false);
            else if (str_eq(key, STR("lastState")))
                read_state(reader, pod, true);
            else
                json_skip(reader);
        }
        all_ready = all_ready && ready;
        if (restarts > 0 && __builtin_add_overflow(pod->restarts, restarts, &pod->restarts))
            pod->restarts = INT32_MAX;
    }
    return all_ready;
}

static void read_condition(struct json_reader *reader, struct podstate *pod)
{
    struct str key, type = STR_NULL, status = STR_NULL;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("type")))
            type = json_str(reader);
        else if (str_eq(key, STR("status")))
            status = json_str(reader);
        else
            json_skip(reader);
    }
    if (str_is(type, "DisruptionTarget"))
        pod->disrupted = str_is(status, "True");
}

static void read_conditions(struct json_reader *reader, struct podstate *pod)
{
    if (!json_array(reader))
        return;
    while (json_item(reader))
        read_condition(reader, pod);
}

static void read_status(struct json_reader *reader, struct podstate *pod)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("phase")))
            pod->phase = phase_of(json_str(reader));
        else if (str_eq(key, STR("conditions")))
            read_conditions(reader, pod);
        else if (str_eq(key, STR("containerStatuses")))
            pod->ready = read_containers(reader, pod);
        else if (str_eq(key, STR("initContainerStatuses")))
            (void)read_containers(reader, pod);
        else
            json_skip(reader);
    }
}

struct podstate *podstate_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct podstate *pod = xnew(struct podstate);
    struct json_reader reader;
    struct str key;

    json_init(&reader, raw, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_eq(key, STR("metadata")) && !pod->meta.name)
                kube_meta_read(&reader, &pod->meta, keep_ours);
            else if (str_eq(key, STR("spec")))
                read_spec(&reader, pod);
            else if (str_eq(key, STR("status")))
                read_status(&reader, pod);
            else
                json_skip(&reader);
        }
    }
    take_identity(pod);
    if (json_end(&reader, err) < 0) {
        podstate_free(pod);
        return NULL;
    }
    return pod;
}

void podstate_free(struct podstate *pod)
{
    if (!pod)
        return;
    kube_meta_clear(&pod->meta);
    intern_put(pod->job_name);
    intern_put(pod->task);
    free(pod->exit_codes);
    free(pod);
}

static void *decode(struct str raw, struct error *err)
{
    return podstate_decode(raw, err);
}

static void release(void *object)
{
    podstate_free(object);
}

const struct store_type podstate_store_type = {"Pod", decode, release};
