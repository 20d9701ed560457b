/*
 * /pods/mutate: a scheduling gate for pods that ask for one, and what the first matching resource
 * group sets.
 *
 * Lists of the pod are taken over byte for byte from the review: trees would round their numbers.
 */
#include "webhook/pod/pods_config.h"
#include "webhook/registry.h"
#include "json/writer.h"

#define GATE "scheduling.volcano.sh/queue-allocation-gate"
#define VALUE_MAX ((size_t)8 << 20)

/* The raw text of spec.<name> in an object; empty when absent. */
static struct str raw_of_spec(const struct admission_case *c, const char *name)
{
    const char *const path[] = {"spec", name};
    struct str text = c->review->object;
    for (size_t i = 0; i < ARRAY_SIZE(path); i++) {
        struct json_reader reader;
        struct str key, found = STR_NULL;
        json_init(&reader, text, c->arena);
        if (json_peek(&reader) != JSON_OBJECT || !json_object(&reader))
            return STR_NULL;
        while (json_key(&reader, &key)) {
            const struct str value = json_raw(&reader);
            if (str_is(key, path[i]))
                found = value;
        }
        text = found;
    }
    return text;
}

/* ---- the gate ------------------------------------------------------------------------------ */

static bool has_gate(const cJSON *gates)
{
    const cJSON *gate;
    cJSON_ArrayForEach(gate, gates)
    {
        if (strcmp(tree_str(gate, "name"), GATE) == 0)
            return true;
    }
    return false;
}

static void add_gate(struct admission_case *c, const cJSON *spec, const cJSON *annotations)
{
    const cJSON *gates = tree_array(spec, "schedulingGates");
    if (!c->rules->scheduling_gates || strcmp(tree_str(annotations, GATE), "true") != 0 ||
        has_gate(gates))
        return;
    if (gates)
        json_patch_add(&c->patch, STR("/spec/schedulingGates/-"), STR("{\"name\":\"" GATE "\"}"));
    else
        json_patch_add(&c->patch, STR("/spec/schedulingGates"), STR("[{\"name\":\"" GATE "\"}]"));
}

/* ---- which group --------------------------------------------------------------------------- */

/* A pod without the annotation matches nothing, not even an empty value. */
static bool annotation_is(const cJSON *annotations, const char *key, struct str value)
{
    const cJSON *item = tree_get(annotations, key);
    return cJSON_IsString(item) && str_is(value, item->valuestring);
}

static bool matches(const struct pods_group *group, struct str ns, const cJSON *annotations)
{
    for (size_t i = 0; i < group->namespace_count; i++) {
        if (str_eq(group->namespaces[i], ns))
            return true;
    }
    for (size_t i = 0; i < group->annotation_count; i++) {
        if (annotation_is(annotations, group->annotations[i].key.p, group->annotations[i].value))
            return true;
    }
    return group->match == PODS_MATCH_GROUP &&
           annotation_is(annotations, POD_RESOURCE_GROUP, group->name);
}

static const struct pods_group *find_group(const struct admission_case *c, const cJSON *metadata)
{
    const cJSON *annotations = tree_get(metadata, "annotations");
    const char *own = tree_str(metadata, "namespace");
    const struct str ns = *own ? str_of(own) : c->review->ns;
    for (size_t i = 0; c->pods && i < c->pods->n; i++) {
        if (matches(&c->pods->groups[i], ns, annotations))
            return &c->pods->groups[i];
    }
    return NULL;
}

/* ---- what it sets -------------------------------------------------------------------------- */

static bool has_label(const struct pods_group *group, struct str key)
{
    for (size_t i = 0; i < group->label_count; i++) {
        if (str_eq(group->labels[i].key, key))
            return true;
    }
    return false;
}

/* The pod's selector, in which the group wins. */
static void set_selector(struct admission_case *c, const struct pods_group *group)
{
    struct buf value cleanup_buf = BUF_INIT(VALUE_MAX);
    struct json_writer writer = json_writer(&value);
    const struct str own = raw_of_spec(c, "nodeSelector");
    struct json_reader reader;
    struct str key;
    json_w_object(&writer);
    json_init(&reader, own.n ? own : STR("null"), c->arena);
    if (json_peek(&reader) == JSON_OBJECT && json_object(&reader)) {
        while (json_key(&reader, &key)) {
            const struct str raw = json_raw(&reader);
            if (has_label(group, key))
                continue;
            json_w_key(&writer, key);
            json_w_raw(&writer, raw);
        }
    }
    for (size_t i = 0; i < group->label_count; i++)
        json_w_member_str(&writer, group->labels[i].key.p, group->labels[i].value);
    json_w_end_object(&writer);
    json_patch_add(&c->patch, STR("/spec/nodeSelector"), buf_str(&value));
}

/* The pod's list with the group's at its end. */
static void set_tolerations(struct admission_case *c, const struct pods_group *group,
                            const cJSON *own)
{
    struct buf value cleanup_buf = BUF_INIT(VALUE_MAX);
    if (own && own->child) {
        const struct str raw = str_trim(raw_of_spec(c, "tolerations"));
        buf_add_str(&value, str_sub(raw, 0, raw.n - 1));
        buf_add_char(&value, ',');
    } else {
        buf_add_char(&value, '[');
    }
    buf_add_str(&value, group->tolerations);
    buf_add_char(&value, ']');
    json_patch_add(&c->patch, STR("/spec/tolerations"), buf_str(&value));
}

static void apply_group(struct admission_case *c, const cJSON *spec, const struct pods_group *group)
{
    if (group->label_count)
        set_selector(c, group);
    if (group->affinity.n && !tree_get(spec, "affinity"))
        json_patch_add(&c->patch, STR("/spec/affinity"), group->affinity);
    if (group->tolerations.n)
        set_tolerations(c, group, tree_array(spec, "tolerations"));
    if (group->scheduler_name.n) {
        struct buf value cleanup_buf = BUF_INIT(VALUE_MAX);
        json_quote(&value, group->scheduler_name);
        json_patch_add(&c->patch, STR("/spec/schedulerName"), buf_str(&value));
    }
}

void pods_mutate(struct admission_case *c)
{
    const cJSON *metadata = tree_get(c->object, "metadata"), *spec = tree_get(c->object, "spec");
    if (!cJSON_IsObject(spec))
        return;
    add_gate(c, spec, tree_get(metadata, "annotations"));
    const struct pods_group *group = find_group(c, metadata);
    if (group)
        apply_group(c, spec, group);
}
