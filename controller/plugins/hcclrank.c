/*
 * Plugin hcclrank: the rank of a pod as an annotation, for collective communication on Ascend
 * devices. A rank that the template gives, as the annotation or as the variable RANK of a
 * container, is kept.
 */
#include "controller/plugins/hosts.h"
#include "controller/plugins/registry.h"

#define KEY_RANK "hccl/rankIndex"

/* ---- the variable RANK of the template --------------------------------------------------------
 */

/* The value of a variable that is an item of "env" and named RANK; false when it is another. */
static bool read_variable(struct json_reader *reader, struct str *ret_value)
{
    struct str key, name = STR_NULL, value = STR_NULL;

    if (json_peek(reader) != JSON_OBJECT) {
        json_skip(reader);
        return false;
    }
    bool present = json_object(reader);
    while (present && json_key(reader, &key)) {
        if (str_is(key, "name") && json_peek(reader) == JSON_STRING)
            name = json_str(reader);
        else if (str_is(key, "value") && json_peek(reader) == JSON_STRING)
            value = json_str(reader);
        else
            json_skip(reader);
    }
    *ret_value = value;
    return str_is(name, "RANK");
}

static bool read_env(struct json_reader *reader, struct str *ret_value)
{
    struct str value;
    bool found = false;

    bool present = json_array(reader);
    while (present && json_item(reader)) {
        if (read_variable(reader, &value) && !found) {
            *ret_value = value;
            found = true;
        }
    }
    return found;
}

static bool read_container(struct json_reader *reader, struct str *ret_value)
{
    struct str key;
    bool found = false;

    if (json_peek(reader) != JSON_OBJECT) {
        json_skip(reader);
        return false;
    }
    bool present = json_object(reader);
    while (present && json_key(reader, &key)) {
        if (str_is(key, "env") && json_peek(reader) == JSON_ARRAY)
            found = read_env(reader, ret_value);
        else
            json_skip(reader);
    }
    return found;
}

/* The first RANK among the containers of the spec; the value borrows from `arena` or the spec. */
static bool template_rank(const char *spec, struct arena *arena, struct str *ret_value)
{
    struct json_reader reader;
    struct str key, value;
    bool found = false;

    json_init(&reader, str_of(spec), arena);
    bool present = json_object(&reader);
    while (present && json_key(&reader, &key)) {
        if (!str_is(key, "containers") || json_peek(&reader) != JSON_ARRAY) {
            json_skip(&reader);
            continue;
        }
        bool list = json_array(&reader);
        while (list && json_item(&reader)) {
            if (read_container(&reader, &value) && !found) {
                *ret_value = value;
                found = true;
            }
        }
    }
    return found && !json_failed(&reader);
}

/* ---- pods -------------------------------------------------------------------------------------
 */

/* By its place: masters first, workers behind them, other tasks have none. */
static bool place_rank(const struct plugin_call *call, const struct job_task *own,
                       struct edit_text *ret_rank)
{
    const struct job_task *master = hosts_task(call->job, plugin_text(call, "master"));
    uint32_t before = 0;

    if (own != master) {
        if (!str_is(plugin_text(call, "worker"), own->name))
            return false;
        before = master ? (uint32_t)master->replicas : 0;
    }
    *ret_rank = edit_indexed(STR_NULL, before, STR_NULL);
    return true;
}

static void edit(const struct plugin_call *call, uint32_t task, struct pod_edit *edit)
{
    const struct job_task *own = &call->job->tasks[task];
    const struct edit_env *set = pod_edit_find_env(edit, STR("RANK"));
    cleanup_arena struct arena arena = ARENA_INIT;
    struct edit_text rank;
    struct str told;

    if (kube_pairs_get(&own->annotations, KEY_RANK))
        return;
    if (set)
        rank = set->value; /* another plugin's, which replaces the template's */
    else if (template_rank(own->spec, &arena, &told))
        rank = edit_plain(told);
    else if (!place_rank(call, own, &rank))
        return;
    pod_edit_annotation(edit, STR(KEY_RANK), rank);
}

const struct plugin_type plugin_hcclrank = {.name = "hcclrank", .edit = edit};
