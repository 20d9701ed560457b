/*
 * Affinity to nodes and to other pods, and label selectors.
 */
#include "webhook/pod/pod_rules.h"
#include "webhook/rules/naming.h"

/* ---- operators and the values they take ---------------------------------------------------- */

enum operator_values { VALUES_SOME, VALUES_NONE, VALUES_ONE };

struct operator_rule {
    const char *name; /* NULL ends the table */
    enum operator_values values;
    const char *detail;
};

#define SOME_DETAIL "must be specified when `operator` is 'In' or 'NotIn'"
#define NONE_DETAIL "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"

static const struct operator_rule selector_operators[] = {
    {"In", VALUES_SOME, SOME_DETAIL},
    {"NotIn", VALUES_SOME, SOME_DETAIL},
    {"Exists", VALUES_NONE, NONE_DETAIL},
    {"DoesNotExist", VALUES_NONE, NONE_DETAIL},
    {NULL, VALUES_NONE, NULL},
};

#define NUMBER_DETAIL "must be specified single value when `operator` is 'Lt' or 'Gt'"

static const struct operator_rule node_operators[] = {
    {"In", VALUES_SOME, SOME_DETAIL},
    {"NotIn", VALUES_SOME, SOME_DETAIL},
    {"Exists", VALUES_NONE, NONE_DETAIL},
    {"DoesNotExist", VALUES_NONE, NONE_DETAIL},
    {"Gt", VALUES_ONE, NUMBER_DETAIL},
    {"Lt", VALUES_ONE, NUMBER_DETAIL},
    {NULL, VALUES_NONE, NULL},
};

#define FIELD_DETAIL                                                                               \
    "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"

static const struct operator_rule field_operators[] = {
    {"In", VALUES_ONE, FIELD_DETAIL},
    {"NotIn", VALUES_ONE, FIELD_DETAIL},
    {NULL, VALUES_NONE, NULL},
};

static void check_operator(struct rule_walk *walk, const cJSON *requirement, const struct field *at,
                           const struct operator_rule *rule)
{
    const char *name = tree_str(requirement, "operator");
    const int count = cJSON_GetArraySize(tree_array(requirement, "values"));
    const struct field operator_at = field_member(at, "operator"),
                       values_at = field_member(at, "values");
    while (rule->name && strcmp(rule->name, name) != 0)
        rule++;
    if (!rule->name)
        field_invalid(walk->problems, &operator_at, tree_get(requirement, "operator"),
                      "not a valid selector operator");
    else if (rule->values == VALUES_NONE && count > 0)
        field_forbidden(walk->problems, &values_at, rule->detail);
    else if ((rule->values == VALUES_SOME && count == 0) ||
             (rule->values == VALUES_ONE && count != 1))
        field_required(walk->problems, &values_at, rule->detail);
}

#define KEY_RULE {.name = "key", .kind = RULE_TEXT, .flags = RULE_ABSENT_EMPTY, .text = naming_key}

/* ---- label selectors ----------------------------------------------------------------------- */

static void check_selector_operator(struct rule_walk *walk, const cJSON *requirement,
                                    const struct field *at)
{
    check_operator(walk, requirement, at, selector_operators);
}

static const struct rule requirement_rules[] = {
    KEY_RULE,
    {.name = "values", .kind = RULE_LIST, .text = naming_label_value},
    {0},
};
static const struct shape requirement_shape = {.rules = requirement_rules,
                                               .check = check_selector_operator};

static const struct rule label_selector_rules[] = {
    {.name = "matchLabels", .kind = RULE_OBJECT, .check = pod_check_labels},
    {.name = "matchExpressions", .kind = RULE_LIST, .shape = &requirement_shape},
    {0},
};
const struct shape pod_label_selector_shape = {.rules = label_selector_rules};

/* ---- nodes --------------------------------------------------------------------------------- */

static void check_node_operator(struct rule_walk *walk, const cJSON *requirement,
                                const struct field *at)
{
    check_operator(walk, requirement, at, node_operators);
}

static const struct shape required_node_shape = {.rules = requirement_rules,
                                                 .check = check_node_operator};

/* Values that no node can have do no harm to a wish. */
static const struct rule preferred_node_rules[] = {KEY_RULE, {0}};
static const struct shape preferred_node_shape = {.rules = preferred_node_rules,
                                                  .check = check_node_operator};

static const struct rule field_value_rules[] = {
    {.name = "values", .kind = RULE_LIST, .text = naming_subdomain},
    {0},
};
static const struct shape field_value_shape = {.rules = field_value_rules};

static void check_node_field(struct rule_walk *walk, const cJSON *requirement,
                             const struct field *at)
{
    const struct field key_at = field_member(at, "key");
    check_operator(walk, requirement, at, field_operators);
    if (strcmp(tree_str(requirement, "key"), "metadata.name") == 0)
        shape_check(walk, &field_value_shape, requirement, at);
    else
        field_invalid(walk->problems, &key_at, tree_get(requirement, "key"),
                      "not a valid field selector key; metadata.name is");
}

static const struct rule no_rules[] = {{0}};
static const struct shape node_field_shape = {.rules = no_rules, .check = check_node_field};

static const struct rule required_term_rules[] = {
    {.name = "matchExpressions", .kind = RULE_LIST, .shape = &required_node_shape},
    {.name = "matchFields", .kind = RULE_LIST, .shape = &node_field_shape},
    {0},
};
static const struct shape required_term_shape = {.rules = required_term_rules};

static const struct rule preferred_term_rules[] = {
    {.name = "matchExpressions", .kind = RULE_LIST, .shape = &preferred_node_shape},
    {.name = "matchFields", .kind = RULE_LIST, .shape = &node_field_shape},
    {0},
};
static const struct shape preferred_term_shape = {.rules = preferred_term_rules};

/* A weight that is absent is 0, which is none. */
static void check_weight(struct rule_walk *walk, const cJSON *value, const struct field *at)
{
    const double weight = value ? value->valuedouble : 0;
    if (weight < 1 || weight > 100)
        field_invalid(walk->problems, at, value, "must be in the range 1-100");
}

#define WEIGHT_RULE                                                                                \
    {.name = "weight", .kind = RULE_NUMBER, .flags = RULE_CHECK_ABSENT, .check = check_weight}

static const struct rule node_wish_rules[] = {
    WEIGHT_RULE,
    {.name = "preference", .kind = RULE_OBJECT, .shape = &preferred_term_shape},
    {0},
};
static const struct shape node_wish_shape = {.rules = node_wish_rules};

static const struct rule node_terms_rules[] = {
    {.name = "nodeSelectorTerms",
     .kind = RULE_LIST,
     .flags = RULE_REQUIRED,
     .detail = "must have at least one node selector term",
     .shape = &required_term_shape},
    {0},
};
static const struct shape node_terms_shape = {.rules = node_terms_rules};

#define REQUIRED_AFFINITY "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED_AFFINITY "preferredDuringSchedulingIgnoredDuringExecution"

static const struct rule node_affinity_rules[] = {
    {.name = REQUIRED_AFFINITY, .kind = RULE_OBJECT, .shape = &node_terms_shape},
    {.name = PREFERRED_AFFINITY, .kind = RULE_LIST, .shape = &node_wish_shape},
    {0},
};
static const struct shape node_affinity_shape = {.rules = node_affinity_rules};

/* ---- pods ---------------------------------------------------------------------------------- */

/* Faults are at "namespace", without the index. */
static void check_namespaces(struct rule_walk *walk, const cJSON *list, const struct field *at)
{
    const struct field name_at = field_member(at->parent, "namespace");
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        const char *text = cJSON_IsString(item) ? item->valuestring : "";
        const char *reason = naming_label(str_of(text));
        if (reason)
            field_invalid(walk->problems, &name_at, item, "%s", reason);
    }
}

static void check_label_keys(struct rule_walk *walk, const cJSON *term, const char *member,
                             const struct field *at)
{
    const struct field list_at = field_member(at, member);
    const cJSON *list = tree_array(term, member), *item;
    size_t index = 0;
    if (cJSON_GetArraySize(list) == 0)
        return;
    if (!tree_get(term, "labelSelector")) {
        field_forbidden(walk->problems, &list_at,
                        "must not be specified when labelSelector is not set");
        return;
    }
    cJSON_ArrayForEach(item, list)
    {
        const struct field item_at = field_item(&list_at, index++);
        const char *text = cJSON_IsString(item) ? item->valuestring : "";
        const char *reason = naming_key(str_of(text));
        if (reason)
            field_invalid(walk->problems, &item_at, item, "%s", reason);
    }
}

/* The texts of a list, each with its position + 1 (of equal ones, the last). */
static void index_texts(struct map *map, const cJSON *list)
{
    uintptr_t position = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        position++;
        if (cJSON_IsString(item))
            map_set(map, str_of(item->valuestring), (void *)position);
    }
}

/*
 * A key of matchLabelKeys that the selector has twice: once of its own. Kubernetes puts the fault
 * at "<term>[<position>]".
 */
static void check_keys_of_selector(struct rule_walk *walk, const cJSON *term,
                                   const struct map *keys, const struct field *at)
{
    const cJSON *selector = tree_get(term, "labelSelector"), *item;
    struct map seen = MAP_INIT;
    cJSON_ArrayForEach(item, tree_object(selector, "matchLabels"))
        map_set(&seen, str_of(item->string), NULL);
    cJSON_ArrayForEach(item, tree_array(selector, "matchExpressions"))
    {
        const struct str key = str_of(tree_str(item, "key"));
        const uintptr_t position = (uintptr_t)map_get(keys, key);
        if (position && map_has(&seen, key)) {
            const struct field key_at = field_item(at, position - 1);
            field_invalid(walk->problems, &key_at, tree_get(item, "key"),
                          "exists in both matchLabelKeys and labelSelector");
        }
        map_set(&seen, key, NULL);
    }
    map_clear(&seen);
}

static void check_keys_of_both(struct rule_walk *walk, const cJSON *term, const struct map *others,
                               const struct field *at)
{
    const struct field list_at = field_member(at, "matchLabelKeys");
    const cJSON *item;
    size_t index = 0;
    cJSON_ArrayForEach(item, tree_array(term, "matchLabelKeys"))
    {
        const struct field item_at = field_item(&list_at, index++);
        if (cJSON_IsString(item) && map_has(others, str_of(item->valuestring)))
            field_invalid(walk->problems, &item_at, item,
                          "exists in both matchLabelKeys and mismatchLabelKeys");
    }
}

void pod_check_match_label_keys(struct rule_walk *walk, const cJSON *term, const struct field *at)
{
    struct map keys = MAP_INIT;
    index_texts(&keys, tree_array(term, "matchLabelKeys"));
    check_label_keys(walk, term, "matchLabelKeys", at);
    check_keys_of_selector(walk, term, &keys, at);
    map_clear(&keys);
}

static void check_term_keys(struct rule_walk *walk, const cJSON *term, const struct field *at)
{
    struct map others = MAP_INIT;
    index_texts(&others, tree_array(term, "mismatchLabelKeys"));
    pod_check_match_label_keys(walk, term, at);
    check_label_keys(walk, term, "mismatchLabelKeys", at);
    check_keys_of_both(walk, term, &others, at);
    map_clear(&others);
}

static const struct rule pod_term_rules[] = {
    {.name = "labelSelector", .kind = RULE_OBJECT, .shape = &pod_label_selector_shape},
    {.name = "namespaceSelector", .kind = RULE_OBJECT, .shape = &pod_label_selector_shape},
    {.name = "namespaces", .kind = RULE_LIST, .check = check_namespaces},
    {.name = "topologyKey",
     .kind = RULE_TEXT,
     .flags = RULE_REQUIRED,
     .detail = "can not be empty",
     .text = naming_key},
    {0},
};
static const struct shape pod_term_shape = {.rules = pod_term_rules, .check = check_term_keys};

/* An absent term is an empty one: it lacks its key. */
static void check_weighted_term(struct rule_walk *walk, const cJSON *value, const struct field *at)
{
    shape_check(walk, &pod_term_shape, value, at);
}

static const struct rule pod_wish_rules[] = {
    WEIGHT_RULE,
    {.name = "podAffinityTerm",
     .kind = RULE_OBJECT,
     .flags = RULE_CHECK_ABSENT,
     .check = check_weighted_term},
    {0},
};
static const struct shape pod_wish_shape = {.rules = pod_wish_rules};

static const struct rule pod_affinity_rules[] = {
    {.name = REQUIRED_AFFINITY, .kind = RULE_LIST, .shape = &pod_term_shape},
    {.name = PREFERRED_AFFINITY, .kind = RULE_LIST, .shape = &pod_wish_shape},
    {0},
};
static const struct shape pods_affinity_shape = {.rules = pod_affinity_rules};

static const struct rule affinity_rules[] = {
    {.name = "nodeAffinity", .kind = RULE_OBJECT, .shape = &node_affinity_shape},
    {.name = "podAffinity", .kind = RULE_OBJECT, .shape = &pods_affinity_shape},
    {.name = "podAntiAffinity", .kind = RULE_OBJECT, .shape = &pods_affinity_shape},
    {0},
};
const struct shape pod_affinity_shape = {.rules = affinity_rules};
