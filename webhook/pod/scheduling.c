/*
 * What the scheduler of a pod reads: tolerations, spread over topologies, gates.
 */
#include "webhook/pod/pod_rules.h"
#include "webhook/rules/naming.h"

/* ---- tolerations --------------------------------------------------------------------------- */

static const char *const taint_effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};
static const char *const toleration_operators[] = {"Equal", "Exists", NULL};

/* A value that does not go with its operator is a fault of the operator. */
static void check_toleration_operator(struct rule_walk *walk, const cJSON *toleration,
                                      const struct field *at)
{
    const cJSON *value = tree_get(toleration, "value");
    const char *name = tree_str(toleration, "operator"), *text = tree_str(toleration, "value");
    const bool exists = strcmp(name, "Exists") == 0;
    const char *reason = NULL;
    if (!*name || strcmp(name, "Equal") == 0)
        reason = naming_label_value(str_of(text));
    else if (exists)
        reason = *text ? "value must be empty when `operator` is 'Exists'" : NULL;
    else
        field_not_supported(walk->problems, at, tree_get(toleration, "operator"),
                            toleration_operators);
    if (reason)
        field_invalid(walk->problems, at, value, "%s", reason);
}

static void check_toleration(struct rule_walk *walk, const cJSON *toleration,
                             const struct field *at)
{
    const struct field operator_at = field_member(at, "operator"),
                       effect_at = field_member(at, "effect");
    if (!*tree_str(toleration, "key") && strcmp(tree_str(toleration, "operator"), "Exists") != 0)
        field_invalid(walk->problems, &operator_at, tree_get(toleration, "operator"),
                      "operator must be Exists when `key` is empty, which means \"match all values "
                      "and all keys\"");
    if (tree_get(toleration, "tolerationSeconds") &&
        strcmp(tree_str(toleration, "effect"), "NoExecute") != 0)
        field_invalid(walk->problems, &effect_at, tree_get(toleration, "effect"),
                      "effect must be 'NoExecute' when `tolerationSeconds` is set");
    check_toleration_operator(walk, toleration, &operator_at);
}

static const struct rule toleration_rules[] = {
    {.name = "key", .kind = RULE_TEXT, .text = naming_key},
    {.name = "effect", .kind = RULE_ENUM, .values = taint_effects},
    {0},
};
const struct shape pod_toleration_shape = {.rules = toleration_rules, .check = check_toleration};

/* ---- spread over topologies ---------------------------------------------------------------- */

static const char *const unsatisfiable_actions[] = {"DoNotSchedule", "ScheduleAnyway", NULL};
static const char *const inclusion_policies[] = {"Honor", "Ignore", NULL};

/* An absent number is 0. */
static void check_positive(struct rule_walk *walk, const cJSON *value, const struct field *at)
{
    if (!value || value->valuedouble < 1)
        field_invalid(walk->problems, at, value, "must be greater than zero");
}

static void check_min_domains(struct rule_walk *walk, const cJSON *constraint,
                              const struct field *at)
{
    const struct field domains_at = field_member(at, "minDomains");
    if (tree_get(constraint, "minDomains") &&
        strcmp(tree_str(constraint, "whenUnsatisfiable"), "DoNotSchedule") != 0)
        field_invalid(walk->problems, &domains_at, tree_get(constraint, "minDomains"),
                      "can only use minDomains if whenUnsatisfiable=DoNotSchedule");
}

static void check_constraint(struct rule_walk *walk, const cJSON *constraint,
                             const struct field *at)
{
    check_min_domains(walk, constraint, at);
    pod_check_match_label_keys(walk, constraint, at);
}

static const struct rule constraint_rules[] = {
    {.name = "maxSkew", .kind = RULE_NUMBER, .flags = RULE_CHECK_ABSENT, .check = check_positive},
    {.name = "topologyKey",
     .kind = RULE_TEXT,
     .flags = RULE_REQUIRED,
     .detail = "can not be empty"},
    {.name = "whenUnsatisfiable",
     .kind = RULE_ENUM,
     .flags = RULE_ABSENT_EMPTY,
     .values = unsatisfiable_actions},
    {.name = "minDomains", .kind = RULE_NUMBER, .check = check_positive},
    {.name = "nodeAffinityPolicy",
     .kind = RULE_ENUM,
     .flags = RULE_EMPTY_COUNTS,
     .values = inclusion_policies},
    {.name = "nodeTaintsPolicy",
     .kind = RULE_ENUM,
     .flags = RULE_EMPTY_COUNTS,
     .values = inclusion_policies},
    {.name = "labelSelector", .kind = RULE_OBJECT, .shape = &pod_label_selector_shape},
    {0},
};
static const struct shape constraint_shape = {.rules = constraint_rules, .check = check_constraint};

/* What a constraint is known by. */
static struct str constraint_pair(struct rule_walk *walk, const cJSON *constraint)
{
    return arena_printf(walk->arena, "{%s, %s}", tree_str(constraint, "topologyKey"),
                        tree_str(constraint, "whenUnsatisfiable"));
}

/* Each constraint that one further down repeats is a fault of its own. */
static void check_repeats(struct rule_walk *walk, const cJSON *list, const struct field *at)
{
    struct map counts = MAP_INIT;
    const cJSON *item;
    size_t index = 0;
    cJSON_ArrayForEach(item, list)
    {
        const struct str pair = constraint_pair(walk, item);
        map_set(&counts, pair, (void *)((uintptr_t)map_get(&counts, pair) + 1));
    }
    cJSON_ArrayForEach(item, list)
    {
        const struct str pair = constraint_pair(walk, item);
        const struct field item_at = field_item(at, index++);
        const struct field pair_at = field_member(&item_at, "{topologyKey, whenUnsatisfiable}");
        const uintptr_t left = (uintptr_t)map_get(&counts, pair) - 1;
        map_set(&counts, pair, (void *)left);
        if (left > 0)
            field_duplicate_text(walk->problems, &pair_at, pair.p);
    }
    map_clear(&counts);
}

void pod_check_spread(struct rule_walk *walk, const cJSON *list, const struct field *at)
{
    const cJSON *item;
    size_t index = 0;
    cJSON_ArrayForEach(item, list)
    {
        const struct field item_at = field_item(at, index++);
        shape_check(walk, &constraint_shape, item, &item_at);
    }
    check_repeats(walk, list, at);
}

/* ---- gates --------------------------------------------------------------------------------- */

/* Faults of a gate are at the item, not at its name. */
void pod_check_scheduling_gates(struct rule_walk *walk, const cJSON *list, const struct field *at)
{
    struct map seen = MAP_INIT;
    const cJSON *gate;
    size_t index = 0;
    cJSON_ArrayForEach(gate, list)
    {
        const struct field gate_at = field_item(at, index++);
        const struct str name = str_of(tree_str(gate, "name"));
        const char *reason = naming_key(name);
        if (reason)
            field_invalid(walk->problems, &gate_at, tree_get(gate, "name"), "%s", reason);
        if (map_has(&seen, name))
            field_duplicate(walk->problems, &gate_at, tree_get(gate, "name"));
        map_set(&seen, name, NULL);
    }
    map_clear(&seen);
}
