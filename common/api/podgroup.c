/*
 * Decoding of PodGroups: see podgroup.h.
 */
#include "api/podgroup.h"
#include "api/names.h"
#include "api/resourcelist.h"
#include "base/timefmt.h"
#include "json/interned.h"

static int by_task(const void *a, const void *b)
{
    const struct podgroup_task_member *left = a, *right = b;

    return strcmp(left->task, right->task);
}

static void read_task_members(struct json_reader *reader, struct podgroup *podgroup)
{
    VEC(struct podgroup_task_member) members = {0};
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        struct podgroup_task_member member = {intern_get(key), json_i32(reader)};
        vec_push(&members, member);
    }
    if (members.n > 1)
        qsort(members.items, members.n, sizeof(*members.items), by_task);
    podgroup->min_task_member = members.items;
    podgroup->min_task_member_count = (uint32_t)members.n;
}

static void read_min_resources(struct json_reader *reader, struct podgroup *podgroup)
{
    resource_list list = {0};

    podgroup->has_min_resources = json_peek(reader) == JSON_OBJECT;
    resource_list_read(reader, &list);
    podgroup->min_resources = list.items;
    podgroup->min_resources_count = (uint32_t)list.n;
}

static void read_topology(struct json_reader *reader, struct podgroup *podgroup)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("mode")))
            json_interned(reader, &podgroup->topology_mode);
        else if (str_eq(key, STR("highestTierAllowed")))
            podgroup->topology_tier = json_i64(reader);
        else
            json_skip(reader);
    }
}

static void read_spec(struct json_reader *reader, struct podgroup *podgroup)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("minMember")))
            podgroup->min_member = json_i32(reader);
        else if (str_eq(key, STR("queue")))
            json_interned(reader, &podgroup->queue);
        else if (str_eq(key, STR("priorityClassName")))
            json_interned(reader, &podgroup->priority_class_name);
        else if (str_eq(key, STR("minTaskMember")) && !podgroup->min_task_member)
            read_task_members(reader, podgroup);
        else if (str_eq(key, STR("minResources")) && !podgroup->min_resources)
            read_min_resources(reader, podgroup);
        else if (str_eq(key, STR("networkTopology")))
            read_topology(reader, podgroup);
        else
            json_skip(reader);
    }
}

static void read_condition(struct json_reader *reader, struct podgroup_condition *condition)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("type")))
            json_interned(reader, &condition->type);
        else if (str_eq(key, STR("status")))
            json_interned(reader, &condition->status);
        else if (str_eq(key, STR("reason")))
            json_interned(reader, &condition->reason);
        else if (str_eq(key, STR("transitionID")))
            json_interned(reader, &condition->transition_id);
        else if (str_eq(key, STR("lastTransitionTime")))
            (void)time_parse(json_str(reader), &condition->transition_ns);
        else if (str_eq(key, STR("message")) && !condition->message)
            condition->message = str_dup(json_str(reader));
        else
            json_skip(reader);
    }
}

static void read_conditions(struct json_reader *reader, struct podgroup *podgroup)
{
    VEC(struct podgroup_condition) conditions = {0};

    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        struct podgroup_condition condition = {
            .type = intern_get(STR("")),
            .status = intern_get(STR("")),
            .reason = intern_get(STR("")),
            .transition_id = intern_get(STR("")),
        };
        read_condition(reader, &condition);
        if (!condition.message)
            condition.message = xstrdup("");
        vec_push(&conditions, condition);
    }
    podgroup->conditions = conditions.items;
    podgroup->condition_count = (uint32_t)conditions.n;
}

static void read_status(struct json_reader *reader, struct podgroup *podgroup)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("phase")))
            json_interned(reader, &podgroup->phase);
        else if (str_eq(key, STR("running")))
            podgroup->running = json_i32(reader);
        else if (str_eq(key, STR("succeeded")))
            podgroup->succeeded = json_i32(reader);
        else if (str_eq(key, STR("failed")))
            podgroup->failed = json_i32(reader);
        else if (str_eq(key, STR("conditions")) && !podgroup->conditions)
            read_conditions(reader, podgroup);
        else
            json_skip(reader);
    }
}

static void default_to(const char **slot, struct str text)
{
    if (**slot == '\0') {
        intern_put(*slot);
        *slot = intern_get(text);
    }
}

struct podgroup *podgroup_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct podgroup *podgroup = xnew(struct podgroup);
    struct json_reader reader;
    struct str key;

    podgroup->queue = intern_get(STR(""));
    podgroup->priority_class_name = intern_get(STR(""));
    podgroup->phase = intern_get(STR(""));
    podgroup->topology_mode = intern_get(STR(""));
    podgroup->topology_tier = -1;
    json_init(&reader, raw, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_eq(key, STR("metadata")) && !podgroup->meta.name)
                kube_meta_read(&reader, &podgroup->meta, NULL);
            else if (str_eq(key, STR("spec")))
                read_spec(&reader, podgroup);
            else if (str_eq(key, STR("status")))
                read_status(&reader, podgroup);
            else
                json_skip(&reader);
        }
    }
    default_to(&podgroup->queue, STR(DEFAULT_QUEUE));
    default_to(&podgroup->phase, STR(PODGROUP_PENDING));
    if (json_end(&reader, err) < 0) {
        podgroup_free(podgroup);
        return NULL;
    }
    return podgroup;
}

void podgroup_free(struct podgroup *podgroup)
{
    if (!podgroup)
        return;
    kube_meta_clear(&podgroup->meta);
    intern_put(podgroup->queue);
    intern_put(podgroup->priority_class_name);
    intern_put(podgroup->phase);
    intern_put(podgroup->topology_mode);
    for (uint32_t i = 0; i < podgroup->min_task_member_count; i++)
        intern_put(podgroup->min_task_member[i].task);
    free(podgroup->min_task_member);
    for (uint32_t i = 0; i < podgroup->min_resources_count; i++)
        intern_put(podgroup->min_resources[i].name);
    free(podgroup->min_resources);
    for (uint32_t i = 0; i < podgroup->condition_count; i++) {
        intern_put(podgroup->conditions[i].type);
        intern_put(podgroup->conditions[i].status);
        intern_put(podgroup->conditions[i].reason);
        intern_put(podgroup->conditions[i].transition_id);
        free(podgroup->conditions[i].message);
    }
    free(podgroup->conditions);
    free(podgroup);
}

const struct podgroup_condition *podgroup_condition(const struct podgroup *podgroup,
                                                    const char *type)
{
    for (uint32_t i = 0; i < podgroup->condition_count; i++) {
        if (strcmp(podgroup->conditions[i].type, type) == 0)
            return &podgroup->conditions[i];
    }
    return NULL;
}

static void *decode(struct str raw, struct error *err)
{
    return podgroup_decode(raw, err);
}

static void release(void *object)
{
    podgroup_free(object);
}

const struct store_type podgroup_store_type = {"PodGroup", decode, release};
