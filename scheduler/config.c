/*
 * Reading volcano-scheduler.conf. See config.h.
 *
 * The YAML is converted to JSON and read by the pull reader; unknown keys are skipped without a
 * word, as users' files rely on.
 */
#include "scheduler/config.h"
#include "base/ensure.h"
#include "base/log.h"
#include "scheduler/action.h"
#include "json/yaml.h"

static const char built_in[] = "actions: \"enqueue, allocate, backfill\"\n"
                               "tiers:\n"
                               "- plugins:\n"
                               "  - name: priority\n"
                               "  - name: gang\n"
                               "  - name: conformance\n"
                               "- plugins:\n"
                               "  - name: overcommit\n"
                               "  - name: drf\n"
                               "  - name: predicates\n"
                               "  - name: proportion\n"
                               "  - name: nodeorder\n";

static const char *const point_keys[POINT_COUNT] = {
    [POINT_JOB_ORDER] = "enableJobOrder",   [POINT_QUEUE_ORDER] = "enableQueueOrder",
    [POINT_JOB_READY] = "enableJobReady",   [POINT_PREDICATE] = "enablePredicate",
    [POINT_NODE_ORDER] = "enableNodeOrder", [POINT_JOB_ENQUEUED] = "enableJobEnqueued",
    [POINT_OVERUSED] = "enabledOverused",   [POINT_ALLOCATABLE] = "enabledAllocatable",
    [POINT_HIERARCHY] = "enableHierarchy",
};

/* ---- plugins --------------------------------------------------------------------------------- */

static void plugin_free(struct plugin *plugin)
{
    if (plugin->type && plugin->type->close)
        plugin->type->close(plugin);
    map_clear_with(&plugin->arguments, free);
    free(plugin);
}

static void arguments_read(struct json_reader *reader, struct plugin *plugin)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        enum json_type type = json_peek(reader);
        bool scalar = type == JSON_STRING || type == JSON_NUMBER;
        char *text = str_dup(scalar ? json_scalar(reader) : json_raw(reader));
        free(map_set(&plugin->arguments, key, text));
    }
}

/* Reads one of the booleans; false when the key is none. */
static bool point_read(struct json_reader *reader, struct str key, struct plugin *plugin)
{
    for (int point = 0; point < POINT_COUNT; point++)
        if (str_is(key, point_keys[point])) {
            plugin->enabled[point] = json_bool(reader);
            return true;
        }
    return false;
}

static int plugin_open(struct plugin *plugin, struct str name, struct error *err)
{
    const struct plugin_type *type = plugin_type_find(name);
    if (!type) {
        log_warn("the configuration names a plugin that does not exist; it is left out "
                 "plugin=\"%.*s\"",
                 STR_ARG(name));
        return 0;
    }
    if (type->without_effect)
        log_info("plugin \"%s\" has no effect in this version: %s", type->name,
                 type->without_effect);
    if (type->open && type->open(plugin, err) < 0)
        return error_prefix(err, "plugin \"%s\"", type->name);
    plugin->type = type;
    return 0;
}

static int plugin_read(struct json_reader *reader, struct sched_config *config, unsigned tier,
                       struct error *err)
{
    struct plugin *plugin = xnew(struct plugin);
    struct str key, name = STR_NULL;
    plugin->tier = tier;
    for (int point = 0; point < POINT_COUNT; point++)
        plugin->enabled[point] = point != POINT_HIERARCHY;
    bool present = json_object(reader);
    while (present && json_key(reader, &key)) {
        if (str_is(key, "name"))
            name = json_str(reader);
        else if (str_is(key, "arguments"))
            arguments_read(reader, plugin);
        else if (!point_read(reader, key, plugin))
            json_skip(reader);
    }
    int rc = json_failed(reader) ? 0 : plugin_open(plugin, name, err);
    if (plugin->type)
        vec_push(&config->plugins, plugin);
    else
        plugin_free(plugin);
    return rc;
}

static int tier_read(struct json_reader *reader, struct sched_config *config, unsigned tier,
                     struct error *err)
{
    struct str key;
    int rc = 0;
    if (!json_object(reader))
        return 0;
    while (json_key(reader, &key)) {
        if (!str_is(key, "plugins")) {
            json_skip(reader);
            continue;
        }
        bool present = json_array(reader);
        while (present && json_item(reader))
            if (rc == 0)
                rc = plugin_read(reader, config, tier, err);
            else
                json_skip(reader);
    }
    return rc;
}

static int tiers_read(struct json_reader *reader, struct sched_config *config, struct error *err)
{
    unsigned tier = 0;
    int rc = 0;
    if (!json_array(reader))
        return 0;
    while (json_item(reader))
        if (rc == 0)
            rc = tier_read(reader, config, tier++, err);
        else
            json_skip(reader);
    return rc;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int actions_read(struct str text, struct sched_config *config, struct error *err)
{
    struct str part;
    if (str_empty(str_trim(text)))
        return error_set(err, ERROR_INVALID, "\"actions\" names no action");
    while (str_split(&text, ',', &part)) {
        const struct action_type *action = action_type_find(str_trim(part));
        if (!action)
            return error_set(err, ERROR_INVALID,
                             "\"actions\" names the unknown action \"%.*s\" (there are %s)",
                             STR_ARG(str_trim(part)), action_names());
        if (action->without_effect)
            log_info("action \"%s\" has no effect in this version: %s", action->name,
                     action->without_effect);
        else
            vec_push(&config->actions, action);
    }
    return 0;
}

static int document_read(struct json_reader *reader, struct sched_config *config, struct error *err)
{
    struct str key, actions = STR_NULL;
    int rc = 0;
    bool present = json_object(reader);
    while (present && json_key(reader, &key)) {
        if (str_is(key, "actions"))
            actions = json_str(reader);
        else if (str_is(key, "tiers") && rc == 0)
            rc = tiers_read(reader, config, err);
        else
            json_skip(reader);
    }
    if (rc < 0 || json_end(reader, err) < 0)
        return -1;
    return actions_read(actions, config, err);
}

struct sched_config *sched_config_parse(struct str yaml, struct error *err)
{
    static uint64_t generation;
    cleanup_buf struct buf json = BUF_INIT(4 * LIMIT_CONFIG_FILE);
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    if (yaml_to_json(yaml, &json, err) < 0)
        return NULL;
    struct sched_config *config = xnew(struct sched_config);
    config->generation = ++generation;
    json_init(&reader, buf_str(&json), &arena);
    if (document_read(&reader, config, err) == 0)
        return config;
    sched_config_free(config);
    return NULL;
}

struct sched_config *sched_config_default(void)
{
    struct error err = ERROR_INIT;
    struct sched_config *config = sched_config_parse(str_of(built_in), &err);
    ENSURE(config);
    return config;
}

void sched_config_free(struct sched_config *config)
{
    if (!config)
        return;
    for (size_t i = 0; i < config->plugins.n; i++)
        plugin_free(config->plugins.items[i]);
    vec_clear(&config->plugins);
    vec_clear(&config->actions);
    free(config);
}

bool sched_config_has_action(const struct sched_config *config, const char *name)
{
    for (size_t i = 0; i < config->actions.n; i++)
        if (strcmp(config->actions.items[i]->name, name) == 0)
            return true;
    return false;
}

/* ---- arguments ------------------------------------------------------------------------------- */

int plugin_int(const struct plugin *plugin, const char *name, int64_t *value, struct error *err)
{
    const char *text = map_get(&plugin->arguments, str_of(name));
    if (text && !str_to_i64(str_of(text), value))
        return error_set(err, ERROR_INVALID, "argument \"%s\" is \"%s\", not a whole number", name,
                         text);
    return 0;
}

int plugin_double(const struct plugin *plugin, const char *name, double *value, struct error *err)
{
    const char *text = map_get(&plugin->arguments, str_of(name));
    if (text && !str_to_double(str_of(text), value))
        return error_set(err, ERROR_INVALID, "argument \"%s\" is \"%s\", not a number", name, text);
    return 0;
}
