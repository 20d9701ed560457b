/*
 * Reading volcano-scheduler.conf. See config.h.
 *
 * The YAML is converted to JSON and read by the pull reader. What is not known is reported and
 * passed over, since files in use have such keys.
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
    [POINT_JOB_ORDER] = "enableJobOrder",
    [POINT_QUEUE_ORDER] = "enableQueueOrder",
    [POINT_JOB_READY] = "enableJobReady",
    [POINT_PREDICATE] = "enablePredicate",
    [POINT_NODE_ORDER] = "enableNodeOrder",
    [POINT_JOB_ENQUEUED] = "enableJobEnqueued",
    [POINT_OVERUSED] = "enabledOverused",
    [POINT_ALLOCATABLE] = "enabledAllocatable",
    [POINT_HIERARCHY] = "enableHierarchy",
    [POINT_TASK_ORDER] = "enableTaskOrder",
    [POINT_JOB_PIPELINED] = "enableJobPipelined",
    [POINT_JOB_STARVING] = "enableJobStarving",
    [POINT_PREEMPTABLE] = "enablePreemptable",
    [POINT_RECLAIMABLE] = "enableReclaimable",
    [POINT_PREEMPTIVE] = "enablePreemptive",
    [POINT_VICTIM] = "enabledVictim",
    [POINT_BEST_NODE] = "enableBestNode",
    [POINT_TARGET_JOB] = "enableTargetJob",
    [POINT_RESERVED_NODES] = "enableReservedNodes",
    [POINT_CLUSTER_ORDER] = "enabledClusterOrder",
    [POINT_HYPERNODE_ORDER] = "enabledHyperNodeOrder",
    [POINT_HYPERNODE_GRADIENT] = "enabledHyperNodeGradient",
    [POINT_SUBJOB_READY] = "enabledSubJobReady",
    [POINT_SUBJOB_PIPELINED] = "enabledSubJobPipelined",
    [POINT_SUBJOB_ORDER] = "enabledSubJobOrder",
};

static const char *const metrics_keys[] = {
    "type",
    "address",
    "interval",
    "tls.insecureSkipVerify",
    "elasticsearch.index",
    "elasticsearch.username",
    "elasticsearch.password",
    "elasticsearch.hostnameFieldName",
    NULL,
};

/* Passes over the value of a key that is not known, and says so. */
static void pass_over(struct json_reader *reader, struct str key, const char *place,
                      const char *known)
{
    log_warn("the configuration has a key that is not known and has no effect key=%.*s "
             "place=\"%s\" known=\"%s\"",
             STR_ARG(key), place, known);
    json_skip(reader);
}

/* The same inside a plugin, where many are known. */
static void pass_over_in_plugin(struct json_reader *reader, struct str key, struct str name)
{
    cleanup_buf struct buf place = BUF_INIT(LIMIT_CONFIG_FILE), known = BUF_INIT(4096);
    buf_printf(&place, "plugin %.*s", STR_ARG(name));
    buf_add_cstr(&known, "name, arguments");
    for (int point = 0; point < POINT_COUNT; point++)
        buf_printf(&known, ", %s", point_keys[point]);
    pass_over(reader, key, place.p, known.p);
}

static struct arguments *arguments_of(const char *kind, struct str name)
{
    cleanup_free char *place = xasprintf("%s %.*s", kind, STR_ARG(name));
    return arguments_new(place);
}

static void ignore(struct arguments *arguments, const char *const *ignored)
{
    for (; ignored && *ignored; ignored++)
        arguments_ignore(arguments, *ignored);
}

/* ---- plugins --------------------------------------------------------------------------------- */

static void plugin_free(struct plugin *plugin)
{
    if (plugin->type && plugin->type->close)
        plugin->type->close(plugin);
    arguments_free(plugin->arguments);
    free(plugin);
}

/* Reads one of the booleans; false when the key is none. */
static bool point_read(struct json_reader *reader, struct str key, struct plugin *plugin)
{
    for (int point = 0; point < POINT_COUNT; point++)
        if (str_is(key, point_keys[point])) {
            config_read_bool(reader, &plugin->enabled[point]);
            return true;
        }
    return false;
}

static int plugin_open(struct plugin *plugin, struct str name, struct error *err)
{
    const struct plugin_type *type = plugin_type_find(name);
    if (!type) {
        log_warn("the configuration names a plugin that does not exist; it is left out "
                 "plugin=\"%.*s\" known=\"%s\"",
                 STR_ARG(name), plugin_names());
        return 0;
    }
    if (type->without_effect)
        log_info("plugin \"%s\" has no effect in this version: %s", type->name,
                 type->without_effect);
    if (type->open && type->open(plugin, err) < 0)
        return error_prefix(err, "plugin \"%s\"", type->name);
    plugin->type = type;
    ignore(plugin->arguments, type->ignored);
    if (!type->without_effect)
        arguments_report(plugin->arguments);
    return 0;
}

/* Of plugins that are named twice the later one counts. */
static void plugin_add(struct sched_config *config, struct plugin *plugin)
{
    for (size_t i = 0; i < config->plugins.n; i++) {
        struct plugin *before = config->plugins.items[i];
        if (before->type != plugin->type)
            continue;
        log_warn("the configuration names a plugin twice; the later one counts plugin=%s tier=%u "
                 "later=%u",
                 plugin->type->name, before->tier + 1, plugin->tier + 1);
        plugin_free(before);
        vec_remove(&config->plugins, i);
        break;
    }
    vec_push(&config->plugins, plugin);
}

static struct plugin *plugin_new(struct str name, unsigned tier)
{
    struct plugin *plugin = xnew(struct plugin);
    plugin->tier = tier;
    plugin->arguments = arguments_of("plugin", name);
    for (int point = 0; point < POINT_COUNT; point++)
        plugin->enabled[point] = point != POINT_HIERARCHY && point != POINT_CLUSTER_ORDER;
    return plugin;
}

/* The name of the plugin that comes next, which may stand behind its other keys. */
static struct str name_ahead(const struct json_reader *reader)
{
    struct json_reader ahead = *reader;
    struct str key, name = STR_NULL;
    bool present = json_peek(&ahead) == JSON_OBJECT && json_object(&ahead);
    while (present && json_key(&ahead, &key))
        if (str_is(key, "name"))
            name = json_str(&ahead);
        else
            json_skip(&ahead);
    return name;
}

static int plugin_read(struct json_reader *reader, struct sched_config *config, unsigned tier,
                       struct error *err)
{
    struct str key, name = name_ahead(reader);
    struct plugin *plugin = plugin_new(name, tier);
    bool present = json_object(reader);
    while (present && json_key(reader, &key)) {
        if (str_is(key, "name"))
            json_skip(reader);
        else if (str_is(key, "arguments"))
            arguments_read(plugin->arguments, reader);
        else if (!point_read(reader, key, plugin))
            pass_over_in_plugin(reader, key, name);
    }
    int rc = json_failed(reader) ? 0 : plugin_open(plugin, name, err);
    if (plugin->type)
        plugin_add(config, plugin);
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
            pass_over(reader, key, "tiers", "plugins");
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

/* Both give queues their shares, by rules that contradict each other. */
static int tiers_check(const struct sched_config *config, struct error *err)
{
    for (size_t i = 0; i < config->plugins.n; i++)
        for (size_t j = 0; j < config->plugins.n; j++) {
            const struct plugin *drf = config->plugins.items[i], *other = config->plugins.items[j];
            if (drf->tier == other->tier && drf->enabled[POINT_HIERARCHY] &&
                strcmp(drf->type->name, "drf") == 0 && strcmp(other->type->name, "proportion") == 0)
                return error_set(err, ERROR_INVALID,
                                 "proportion and drf with hierarchy enabled conflicts (tier %u)",
                                 drf->tier + 1);
        }
    return 0;
}

/* ---- actions --------------------------------------------------------------------------------- */

/* One of `configurations`. */
static void configuration_read(struct json_reader *reader, struct sched_config *config)
{
    struct str key, name = name_ahead(reader);
    struct arguments *arguments = arguments_of("action", name);
    bool present = json_object(reader);
    while (present && json_key(reader, &key)) {
        if (str_is(key, "name"))
            json_skip(reader);
        else if (str_is(key, "arguments"))
            arguments_read(arguments, reader);
        else
            pass_over(reader, key, "configurations", "name, arguments");
    }
    if (action_type_find(name)) {
        arguments_free(map_set(&config->arguments, name, arguments));
        return;
    }
    log_warn("the configuration has arguments for an action that does not exist; they have no "
             "effect action=\"%.*s\" known=\"%s\"",
             STR_ARG(name), action_names());
    arguments_free(arguments);
}

static void configurations_read(struct json_reader *reader, struct sched_config *config)
{
    bool present = json_array(reader);
    while (present && json_item(reader))
        configuration_read(reader, config);
}

static void action_free(struct action *action)
{
    if (action->type && action->type->close)
        action->type->close(action);
    free(action);
}

static int action_add(struct sched_config *config, const struct action_type *type,
                      struct error *err)
{
    struct action *action = xnew(struct action);
    action->arguments = map_get(&config->arguments, str_of(type->name));
    if (!action->arguments) {
        action->arguments = arguments_of("action", str_of(type->name));
        map_set(&config->arguments, str_of(type->name), action->arguments);
    }
    if (type->open && type->open(action, err) < 0) {
        action_free(action);
        return error_prefix(err, "action \"%s\"", type->name);
    }
    action->type = type;
    vec_push(&config->actions, action);
    ignore(action->arguments, type->ignored);
    arguments_report(action->arguments);
    return 0;
}

static int actions_read(struct str text, struct sched_config *config, struct error *err)
{
    struct str part;
    if (str_empty(str_trim(text)))
        return error_set(err, ERROR_INVALID, "\"actions\" names no action");
    while (str_split(&text, ',', &part)) {
        const struct action_type *type = action_type_find(str_trim(part));
        if (!type)
            return error_set(err, ERROR_INVALID,
                             "\"actions\" names the unknown action \"%.*s\" (there are %s)",
                             STR_ARG(str_trim(part)), action_names());
        if (type->without_effect)
            log_info("action \"%s\" has no effect in this version: %s", type->name,
                     type->without_effect);
        else if (action_add(config, type, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Where to learn how busy nodes are. */
static void metrics_read(struct json_reader *reader)
{
    struct arguments *metrics = arguments_new("metrics");
    arguments_read(metrics, reader);
    ignore(metrics, metrics_keys);
    arguments_report(metrics);
    arguments_free(metrics);
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
        else if (str_is(key, "configurations"))
            configurations_read(reader, config);
        else if (str_is(key, "metrics"))
            metrics_read(reader);
        else
            pass_over(reader, key, "the top", "actions, tiers, configurations, metrics");
    }
    if (rc < 0 || json_end(reader, err) < 0 || tiers_check(config, err) < 0)
        return -1;
    return actions_read(actions, config, err);
}

void sched_config_note_askers(struct sched_config *config)
{
    for (size_t i = 0; i < config->plugins.n; i++) {
        struct plugin *plugin = config->plugins.items[i];
        if (plugin->enabled[POINT_PREDICATE] && plugin->type->crowded)
            vec_push(&config->crowded, plugin);
        if (plugin->enabled[POINT_NODE_ORDER] && plugin->type->score)
            vec_push(&config->scorers, plugin);
        if (plugin->type->queue_filter || plugin->type->queue_score || plugin->type->queue_refuse)
            vec_push(&config->by_queue, plugin);
        if (plugin->type->rules)
            plugin->type->rules(plugin, &config->rules);
    }
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
    if (document_read(&reader, config, err) < 0) {
        sched_config_free(config);
        return NULL;
    }
    sched_config_note_askers(config);
    return config;
}

struct sched_config *sched_config_default(void)
{
    struct error err = ERROR_INIT;
    struct sched_config *config = sched_config_parse(str_of(built_in), &err);
    ENSURE(config);
    return config;
}

static void free_arguments(void *value)
{
    arguments_free(value);
}

void sched_config_free(struct sched_config *config)
{
    if (!config)
        return;
    for (size_t i = 0; i < config->plugins.n; i++)
        plugin_free(config->plugins.items[i]);
    for (size_t i = 0; i < config->actions.n; i++)
        action_free(config->actions.items[i]);
    vec_clear(&config->plugins);
    vec_clear(&config->crowded);
    vec_clear(&config->scorers);
    vec_clear(&config->by_queue);
    vec_clear(&config->actions);
    map_clear_with(&config->arguments, free_arguments);
    free(config);
}

const struct action *sched_config_action(const struct sched_config *config, const char *name)
{
    for (size_t i = 0; i < config->actions.n; i++)
        if (strcmp(config->actions.items[i]->type->name, name) == 0)
            return config->actions.items[i];
    return NULL;
}

struct plugin *sched_config_plugin(const struct sched_config *config, const char *name)
{
    for (size_t i = 0; i < config->plugins.n; i++)
        if (strcmp(config->plugins.items[i]->type->name, name) == 0)
            return config->plugins.items[i];
    return NULL;
}

bool sched_config_has_plugin(const struct sched_config *config, const char *name)
{
    return sched_config_plugin(config, name) != NULL;
}

bool sched_config_has_action(const struct sched_config *config, const char *name)
{
    return sched_config_action(config, name) != NULL;
}
