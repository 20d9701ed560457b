/*
 * Reading the configuration of /pods/mutate: see pods_config.h.
 *
 * The file is YAML; it is turned into JSON and read with the pull reader, so that scalars keep
 * their text: "value: 1" of an annotation means the text "1".
 */
#include "webhook/pod/pods_config.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"

#define JSON_MAX (4 * LIMIT_CONFIG_FILE)

/* Pairs in the order they were first named. */
struct pair_list {
    VEC(struct pods_pair) items;
    struct map index; /* key -> place + 1 */
};

/* A group while it is read; its strings live in the configuration's arena. */
struct draft {
    struct pods_group *group;
    struct str key;         /* object.key */
    VEC(struct str) values; /* object.value */
    struct pair_list labels, annotations;
    struct buf tolerations;
};

/* ---- parts --------------------------------------------------------------------------------- */

/* The text of a scalar, copied; null gives "". */
static struct str read_text(struct json_reader *reader, struct arena *arena)
{
    switch (json_peek(reader)) {
    case JSON_BOOL:
        return json_bool(reader) ? STR("true") : STR("false");
    case JSON_NULL:
        json_skip(reader);
        return STR("");
    default:
        return arena_str(arena, json_scalar(reader));
    }
}

static void pair_set(struct pair_list *list, struct str key, struct str value, bool keep_first)
{
    const size_t place = (size_t)(uintptr_t)map_get(&list->index, key);
    if (place == 0) {
        vec_push(&list->items, ((struct pods_pair){key, value}));
        map_set(&list->index, key, (void *)(uintptr_t)list->items.n);
    } else if (!keep_first) {
        list->items.items[place - 1].value = value;
    }
}

static void read_pairs(struct json_reader *reader, struct arena *arena, struct pair_list *list,
                       bool keep_first)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (list->items.n >= PODS_CONFIG_ITEMS_MAX)
            json_fail(reader, "a resource group has too many labels or annotations");
        key = arena_str(arena, key);
        pair_set(list, key, read_text(reader, arena), keep_first);
    }
}

static void read_values(struct json_reader *reader, struct arena *arena, struct draft *draft)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        if (draft->values.n >= PODS_CONFIG_ITEMS_MAX)
            json_fail(reader, "a resource group has too many values");
        vec_push(&draft->values, read_text(reader, arena));
    }
}

static void read_object(struct json_reader *reader, struct arena *arena, struct draft *draft)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "key"))
            draft->key = read_text(reader, arena);
        else if (str_is(key, "value"))
            read_values(reader, arena, draft);
        else
            json_skip(reader);
    }
}

/* Members that are empty are left out, as in any toleration. */
static void read_toleration(struct json_reader *reader, struct arena *arena, struct buf *out)
{
    static const char *const names[] = {"key", "operator", "value", "effect"};
    struct json_writer writer = json_writer(out);
    struct str key, texts[ARRAY_SIZE(names)] = {{0}};
    bool has_seconds = false;
    int64_t seconds = 0;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        size_t i = 0;
        while (i < ARRAY_SIZE(names) && !str_is(key, names[i]))
            i++;
        if (i < ARRAY_SIZE(names)) {
            texts[i] = read_text(reader, arena);
        } else if (str_is(key, "tolerationseconds") || str_is(key, "tolerationSeconds")) {
            has_seconds = json_peek(reader) != JSON_NULL;
            seconds = json_i64(reader);
        } else {
            json_skip(reader);
        }
    }
    if (out->n)
        buf_add_char(out, ',');
    json_w_object(&writer);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (texts[i].n)
            json_w_member_str(&writer, names[i], texts[i]);
    }
    if (has_seconds)
        json_w_member_i64(&writer, "tolerationSeconds", seconds);
    json_w_end_object(&writer);
}

static void read_tolerations(struct json_reader *reader, struct arena *arena, struct buf *out)
{
    size_t count = 0;
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        if (++count > PODS_CONFIG_ITEMS_MAX)
            json_fail(reader, "a resource group has too many tolerations");
        read_toleration(reader, arena, out);
    }
}

/* ---- a group ------------------------------------------------------------------------------- */

/* Whether `text` is JSON that can be an Affinity. */
static bool is_affinity(struct str text)
{
    static const char *const names[] = {"nodeAffinity", "podAffinity", "podAntiAffinity"};
    struct arena arena cleanup_arena = ARENA_INIT;
    struct json_reader reader;
    struct str key;
    json_init(&reader, text, &arena);
    if (json_peek(&reader) != JSON_OBJECT || !json_object(&reader))
        return false;
    while (json_key(&reader, &key)) {
        const enum json_type type = json_peek(&reader);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
            if (str_is(key, names[i]) && type != JSON_OBJECT && type != JSON_NULL)
                json_fail(&reader, "an object is expected");
        }
        json_skip(&reader);
    }
    return json_end(&reader, NULL) == 0;
}

/* One value of an annotation group: a map of annotations, in YAML once more. */
static void read_annotations(struct draft *draft, struct str text, struct arena *arena)
{
    struct arena scratch cleanup_arena = ARENA_INIT;
    struct buf json cleanup_buf = BUF_INIT(JSON_MAX);
    struct json_reader reader;
    struct error err = ERROR_INIT;
    if (yaml_to_json(text, &json, &err) == 0) {
        json_init(&reader, buf_str(&json), &scratch);
        read_pairs(&reader, arena, &draft->annotations, true);
        if (json_end(&reader, &err) == 0)
            return;
    }
    log_warn("admission configuration: a value of a resource group is no map of annotations, it "
             "is left out resourceGroup=\"%.*s\" cause=\"%s\"",
             STR_ARG(draft->group->name), err.text);
}

static struct pods_pair *keep_pairs(struct arena *arena, const struct pair_list *list,
                                    size_t *ret_n)
{
    struct pods_pair *kept = arena_calloc(arena, list->items.n + 1, sizeof(*kept));
    for (size_t i = 0; i < list->items.n; i++)
        kept[i] = list->items.items[i];
    *ret_n = list->items.n;
    return kept;
}

static void finish_match(struct draft *draft, struct arena *arena)
{
    struct pods_group *group = draft->group;
    group->namespaces = arena_calloc(arena, draft->values.n + 1, sizeof(*group->namespaces));
    if (str_is(draft->key, "namespace")) {
        group->match = PODS_MATCH_NAMESPACE;
        for (size_t i = 0; i < draft->values.n; i++)
            group->namespaces[group->namespace_count++] = draft->values.items[i];
    } else if (str_empty(draft->key) || str_is(draft->key, "annotation")) {
        group->match = str_empty(draft->key) ? PODS_MATCH_GROUP : PODS_MATCH_ANNOTATION;
        for (size_t i = 0; i < draft->values.n; i++)
            read_annotations(draft, draft->values.items[i], arena);
    } else {
        group->match = PODS_MATCH_NEVER;
        log_warn("admission configuration: object.key \"%.*s\" is neither namespace nor "
                 "annotation, the group matches no pod resourceGroup=\"%.*s\"",
                 STR_ARG(str_cut(draft->key, 64)), STR_ARG(group->name));
    }
}

static void finish_group(struct draft *draft, struct arena *arena)
{
    struct pods_group *group = draft->group;
    finish_match(draft, arena);
    group->annotations = keep_pairs(arena, &draft->annotations, &group->annotation_count);
    group->labels = keep_pairs(arena, &draft->labels, &group->label_count);
    group->tolerations = arena_str(arena, buf_str(&draft->tolerations));
    if (group->affinity.n && !is_affinity(group->affinity)) {
        log_warn("admission configuration: affinity is not an affinity in JSON, it is left out "
                 "resourceGroup=\"%.*s\"",
                 STR_ARG(group->name));
        group->affinity = STR_NULL;
    }
}

static void read_members(struct json_reader *reader, struct arena *arena, struct draft *draft)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "resourceGroup"))
            draft->group->name = read_text(reader, arena);
        else if (str_is(key, "object"))
            read_object(reader, arena, draft);
        else if (str_is(key, "schedulerName"))
            draft->group->scheduler_name = read_text(reader, arena);
        else if (str_is(key, "tolerations"))
            read_tolerations(reader, arena, &draft->tolerations);
        else if (str_is(key, "labels"))
            read_pairs(reader, arena, &draft->labels, false);
        else if (str_is(key, "affinity"))
            draft->group->affinity = read_text(reader, arena);
        else
            json_skip(reader);
    }
}

static void read_group(struct json_reader *reader, struct arena *arena, struct pods_group *group)
{
    struct draft draft = {.group = group, .tolerations = BUF_INIT(JSON_MAX)};
    read_members(reader, arena, &draft);
    if (!json_failed(reader))
        finish_group(&draft, arena);
    vec_clear(&draft.values);
    vec_clear(&draft.labels.items);
    vec_clear(&draft.annotations.items);
    map_clear(&draft.labels.index);
    map_clear(&draft.annotations.index);
    buf_clear(&draft.tolerations);
}

/* ---- the file ------------------------------------------------------------------------------ */

static void free_config(void *object)
{
    struct pods_config *config = object;
    arena_clear(&config->arena);
    free(config);
}

static void read_groups(struct json_reader *reader, struct pods_config *config)
{
    if (!json_array(reader))
        return;
    if (!config->groups)
        config->groups =
            arena_calloc(&config->arena, PODS_CONFIG_GROUPS_MAX, sizeof(*config->groups));
    while (json_item(reader)) {
        if (config->n >= PODS_CONFIG_GROUPS_MAX) {
            json_fail(reader, "there are too many resource groups");
            return;
        }
        read_group(reader, &config->arena, &config->groups[config->n++]);
    }
}

struct pods_config *pods_config_parse(struct str yaml, struct error *err)
{
    struct arena scratch cleanup_arena = ARENA_INIT;
    struct buf json cleanup_buf = BUF_INIT(JSON_MAX);
    struct json_reader reader;
    struct str key;
    if (yaml_to_json(yaml, &json, err) < 0)
        return NULL;
    struct pods_config *config = xnew(struct pods_config);
    shared_init(&config->shared, free_config);
    json_init(&reader, buf_str(&json), &scratch);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_is(key, "resourceGroups"))
                read_groups(&reader, config);
            else
                json_skip(&reader);
        }
    }
    if (json_end(&reader, err) == 0)
        return config;
    (void)error_prefix(err, "its content as JSON");
    shared_unref(config);
    return NULL;
}
