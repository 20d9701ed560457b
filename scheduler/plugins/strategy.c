/*
 * Reading the arguments of resource-strategy-fit. See strategy.h.
 */
#include "scheduler/plugins/strategy.h"
#include "api/names.h"
#include "api/resources.h"
#include "base/alloc.h"
#include "base/log.h"

#define GIGABYTE 1e9

/* The arguments, and where texts with escapes are put while they are read. */
struct source {
    struct arguments *arguments;
    struct arena arena;
};

typedef void member_fn(struct json_reader *reader, struct str key, void *arg);

/* Gives each member to `read`; one of the wrong shape is named in the log, and ends the reading. */
static void each_member(struct source *source, const char *name, struct str json, member_fn *read,
                        void *arg)
{
    struct error err = ERROR_INIT;
    struct json_reader reader;
    struct str key;
    json_init(&reader, json, &source->arena);
    bool present = json_object(&reader);
    while (present && json_key(&reader, &key))
        read(&reader, key, arg);
    if (json_end(&reader, &err) < 0)
        log_warn("an argument in the configuration cannot be read to its end place=\"%s\" "
                 "argument=%s error=\"%s\"",
                 source->arguments->place, name, err.text);
}

static double positive(double weight)
{
    return weight > 0 ? weight : 1;
}

static void pass_over(struct json_reader *reader, struct str key, const char *place)
{
    log_warn("the configuration has a key that is not known and has no effect key=%.*s "
             "place=\"resource-strategy-fit: %s\"",
             STR_ARG(key), place);
    json_skip(reader);
}

/* ---- resources ------------------------------------------------------------------------------- */

static void rule_add(struct strategy *strategy, struct str name, bool most, double weight)
{
    bool prefix = str_ends(name, STR("*"));
    if (prefix)
        name = str_sub(name, 0, name.n - 1);
    if (str_empty(name)) {
        log_warn("a rule for every resource is passed over plugin=resource-strategy-fit");
        return;
    }
    vec_push(
        &strategy->rules,
        ((struct strategy_rule){
            .name = str_dup(name), .prefix = prefix, .most = most, .weight = positive(weight)}));
}

static bool is_most(struct str type, struct str name)
{
    if (!str_is(type, SCORING_MOST) && !str_is(type, SCORING_LEAST))
        log_warn("a strategy is not known; " SCORING_LEAST " is used plugin=resource-strategy-fit "
                 "resource=%.*s type=\"%.*s\" known=\"" SCORING_LEAST ", " SCORING_MOST "\"",
                 STR_ARG(name), STR_ARG(type));
    return str_is(type, SCORING_MOST);
}

static void rule_read(struct json_reader *reader, struct str name, void *arg)
{
    struct str key, type = STR(SCORING_LEAST);
    double weight = 1;
    bool present = json_object(reader);
    while (present && json_key(reader, &key)) {
        if (str_is(key, "type"))
            type = json_str(reader);
        else if (str_is(key, "weight"))
            weight = json_double(reader);
        else
            pass_over(reader, key, "resources");
    }
    if (!json_failed(reader))
        rule_add(arg, name, is_most(type, name), weight);
}

const struct strategy_rule *strategy_rule_of(const struct strategy *strategy, const char *name)
{
    const struct strategy_rule *best = NULL;
    for (size_t i = 0; i < strategy->rules.n; i++) {
        const struct strategy_rule *rule = &strategy->rules.items[i];
        if (!rule->prefix && strcmp(rule->name, name) == 0)
            return rule;
        bool fits = rule->prefix && str_starts(str_of(name), str_of(rule->name));
        if (fits && (!best || strlen(rule->name) > strlen(best->name)))
            best = rule;
    }
    return best;
}

/* ---- sra and proportional -------------------------------------------------------------------- */

/* The value of a member that may come as a boolean or as a text. */
struct policy {
    bool enable;
    struct str resources;
    double weight;
    struct str details; /* JSON: resourceWeight or resourceProportion */
};

static void policy_read(struct json_reader *reader, struct str key, void *arg)
{
    struct policy *policy = arg;
    if (str_is(key, "enable"))
        config_read_bool(reader, &policy->enable);
    else if (str_is(key, "resources"))
        policy->resources = json_str(reader);
    else if (str_is(key, "weight"))
        policy->weight = json_double(reader);
    else if (str_is(key, "resourceWeight") || str_is(key, "resourceProportion"))
        policy->details = json_raw(reader);
    else
        pass_over(reader, key, "sra, proportional");
}

static struct policy policy_of(struct source *source, const char *name)
{
    struct policy policy = {.enable = false, .weight = 1};
    struct str json;
    if (arguments_json(source->arguments, name, JSON_OBJECT, &json))
        each_member(source, name, json, policy_read, &policy);
    return policy;
}

/* The next of the names, which are separated by commas. */
static bool next_resource(struct str *list, struct str *ret_name)
{
    while (str_split(list, ',', ret_name)) {
        *ret_name = str_trim(*ret_name);
        if (!str_empty(*ret_name))
            return true;
    }
    return false;
}

/* A number among the details. */
struct wanted {
    struct str key;
    double value;
};

static void wanted_read(struct json_reader *reader, struct str key, void *arg)
{
    struct wanted *wanted = arg;
    if (str_eq(key, wanted->key))
        wanted->value = json_double(reader);
    else
        json_skip(reader);
}

static double detail_of(struct source *source, const char *name, const struct policy *policy,
                        struct str key, double preset)
{
    struct wanted wanted = {key, preset};
    if (policy->details.n)
        each_member(source, name, policy->details, wanted_read, &wanted);
    return wanted.value;
}

static void scarce_read(struct strategy *strategy, struct source *source)
{
    struct policy policy = policy_of(source, "sra");
    struct str rest, name;
    if (!policy.enable)
        return;
    strategy->scarce_weight = positive(policy.weight);
    for (rest = policy.resources; next_resource(&rest, &name);) {
        double weight = positive(detail_of(source, "sra", &policy, name, 1));
        vec_push(&strategy->scarce, ((struct strategy_scarce){resource_id(name), weight}));
    }
}

static void ratios_read(struct strategy *strategy, struct source *source)
{
    struct policy policy = policy_of(source, "proportional");
    struct str rest, name;
    if (!policy.enable)
        return;
    for (rest = policy.resources; next_resource(&rest, &name);) {
        cleanup_free char *cpu = xasprintf("%.*s.cpu", STR_ARG(name));
        cleanup_free char *memory = xasprintf("%.*s.memory", STR_ARG(name));
        struct strategy_ratio ratio = {.id = resource_id(name)};
        ratio.cpu = 1000 * detail_of(source, "proportional", &policy, str_of(cpu), 1);
        ratio.memory = GIGABYTE * detail_of(source, "proportional", &policy, str_of(memory), 1);
        ratio.reason = xasprintf("proportional of resource %.*s check failed", STR_ARG(name));
        vec_push(&strategy->ratios, ratio);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

void strategy_read(struct strategy *strategy, struct arguments *arguments)
{
    struct source source = {arguments, ARENA_INIT};
    struct str json;
    strategy->weight = 10;
    (void)arguments_double(arguments, "resourceStrategyFitWeight", &strategy->weight);
    if (arguments_json(arguments, "resources", JSON_OBJECT, &json)) {
        each_member(&source, "resources", json, rule_read, strategy);
    } else {
        rule_add(strategy, STR("cpu"), false, 1);
        rule_add(strategy, STR("memory"), false, 1);
    }
    scarce_read(strategy, &source);
    ratios_read(strategy, &source);
    arena_clear(&source.arena);
}

void strategy_clear(struct strategy *strategy)
{
    for (size_t i = 0; i < strategy->rules.n; i++)
        free(strategy->rules.items[i].name);
    for (size_t i = 0; i < strategy->ratios.n; i++)
        free(strategy->ratios.items[i].reason);
    vec_clear(&strategy->rules);
    vec_clear(&strategy->scarce);
    vec_clear(&strategy->ratios);
}
