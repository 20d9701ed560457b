/*
 * Walking an object along its table of rules: see shape.h.
 */
#include "webhook/rules/shape.h"
#include "base/map.h"

static char nothing[] = "";
static const cJSON empty_text = {.type = cJSON_String, .valuestring = nothing};

/* An empty value of the wrong type is not absent: it is wrong. */
static bool is_absent(const struct rule *rule, const cJSON *value)
{
    const bool text = rule->kind == RULE_TEXT || rule->kind == RULE_ENUM || rule->kind == RULE_ANY;
    const bool list = rule->kind == RULE_LIST || rule->kind == RULE_ANY;
    if (!value)
        return true;
    if (cJSON_IsString(value) && text)
        return value->valuestring[0] == '\0' && !(rule->flags & RULE_EMPTY_COUNTS);
    if (cJSON_IsArray(value) && list)
        return !value->child && !(rule->flags & RULE_EMPTY_COUNTS);
    if (cJSON_IsNumber(value))
        return value->valuedouble == 0 && (rule->flags & RULE_ZERO_ABSENT);
    return cJSON_IsFalse(value) && (rule->flags & RULE_FALSE_ABSENT);
}

static bool type_fits(const struct rule *rule, const cJSON *value)
{
    switch (rule->kind) {
    case RULE_TEXT:
    case RULE_ENUM:
        return cJSON_IsString(value);
    case RULE_NUMBER:
        return cJSON_IsNumber(value);
    case RULE_BOOL:
        return cJSON_IsBool(value);
    case RULE_OBJECT:
        return cJSON_IsObject(value);
    case RULE_LIST:
        return cJSON_IsArray(value);
    case RULE_ANY:
        break;
    }
    return true;
}

static const char *const type_names[] = {
    [RULE_ANY] = "a value",     [RULE_TEXT] = "a string",      [RULE_ENUM] = "a string",
    [RULE_NUMBER] = "a number", [RULE_BOOL] = "true or false", [RULE_OBJECT] = "an object",
    [RULE_LIST] = "a list"};

static void check_text(struct rule_walk *walk, rule_text_fn *text, const cJSON *value,
                       const struct field *at)
{
    const char *reason = text ? text(str_of(value->valuestring)) : NULL;
    if (reason)
        field_invalid(walk->problems, at, value, "%s", reason);
}

static void check_enum(struct rule_walk *walk, const struct rule *rule, const cJSON *value,
                       const struct field *at)
{
    for (size_t i = 0; rule->values[i]; i++) {
        if (strcmp(rule->values[i], value->valuestring) == 0)
            return;
    }
    field_not_supported(walk->problems, at, value, rule->values);
}

static void check_number(struct rule_walk *walk, const struct rule *rule, const cJSON *value,
                         const struct field *at)
{
    const double number = value->valuedouble;
    const double low = (double)rule->low, high = (double)rule->high;
    if ((rule->low == 0 && rule->high == 0) || (number >= low && number <= high))
        return;
    if (rule->detail)
        field_invalid(walk->problems, at, value, "%s", rule->detail);
    else if (rule->high >= INT32_MAX && rule->low == 0)
        field_invalid(walk->problems, at, value, "must be greater than or equal to 0");
    else if (rule->high >= INT32_MAX && rule->low == 1)
        field_invalid(walk->problems, at, value, "must be greater than zero");
    else
        field_invalid(walk->problems, at, value, "must be between %lld and %lld, inclusive",
                      (long long)rule->low, (long long)rule->high);
}

/* ---- lists --------------------------------------------------------------------------------- */

static void check_unique(struct rule_walk *walk, const struct rule *rule, struct map *seen,
                         const cJSON *item, const struct field *at)
{
    const cJSON *value = *rule->unique ? tree_get(item, rule->unique) : item;
    if (!cJSON_IsString(value) || !*value->valuestring)
        return;
    const struct field member = field_member(at, rule->unique);
    if (map_has(seen, str_of(value->valuestring)))
        field_duplicate(walk->problems, *rule->unique ? &member : at, value);
    else
        map_set(seen, str_of(value->valuestring), NULL);
}

/* A null among strings is an empty one. */
static void check_text_item(struct rule_walk *walk, const struct rule *rule, const cJSON *item,
                            const struct field *at)
{
    if (cJSON_IsNull(item))
        check_text(walk, rule->text, &empty_text, at);
    else if (cJSON_IsString(item))
        check_text(walk, rule->text, item, at);
    else
        field_invalid(walk->problems, at, item, "must be a string");
}

static void check_list(struct rule_walk *walk, const struct rule *rule, const cJSON *list,
                       const struct field *at)
{
    struct map seen = MAP_INIT;
    const cJSON *item;
    size_t index = 0;
    cJSON_ArrayForEach(item, list)
    {
        const struct field item_at = field_item(at, index++);
        if (rule->shape)
            shape_check(walk, rule->shape, item, &item_at);
        else if (rule->text)
            check_text_item(walk, rule, item, &item_at);
        if (rule->unique)
            check_unique(walk, rule, &seen, item, &item_at);
    }
    map_clear(&seen);
}

/* ---- members ------------------------------------------------------------------------------- */

static void check_value(struct rule_walk *walk, const struct rule *rule, const cJSON *value,
                        const struct field *at)
{
    switch (rule->kind) {
    case RULE_TEXT:
        check_text(walk, rule->text, value, at);
        break;
    case RULE_ENUM:
        check_enum(walk, rule, value, at);
        break;
    case RULE_NUMBER:
        check_number(walk, rule, value, at);
        break;
    case RULE_OBJECT:
        if (rule->shape)
            shape_check(walk, rule->shape, value, at);
        break;
    case RULE_LIST:
        check_list(walk, rule, value, at);
        break;
    case RULE_ANY:
    case RULE_BOOL:
        break;
    }
    if (rule->check)
        rule->check(walk, value, at);
}

static bool is_empty_text(const cJSON *value)
{
    return cJSON_IsString(value) && value->valuestring[0] == '\0';
}

static void check_member(struct rule_walk *walk, const struct rule *rule, const cJSON *object,
                         const struct field *at)
{
    const struct field member = field_member(at, rule->name);
    const cJSON *value = tree_get(object, rule->name);
    if ((rule->flags & RULE_ABSENT_EMPTY) && (!value || is_empty_text(value))) {
        check_value(walk, rule, &empty_text, &member);
    } else if ((rule->flags & RULE_EMPTY_REQUIRED) && is_empty_text(value)) {
        field_required(walk->problems, &member, rule->detail ? rule->detail : "");
    } else if (is_absent(rule, value)) {
        if (rule->flags & RULE_REQUIRED)
            field_required(walk->problems, &member, rule->detail ? rule->detail : "");
        if (rule->check && (rule->flags & RULE_CHECK_ABSENT))
            rule->check(walk, NULL, &member);
    } else if (rule->flags & RULE_FORBIDDEN) {
        field_forbidden(walk->problems, &member, rule->detail ? rule->detail : "");
    } else if (!type_fits(rule, value)) {
        field_invalid(walk->problems, &member, value, "must be %s", type_names[rule->kind]);
    } else {
        check_value(walk, rule, value, &member);
    }
}

void shape_check(struct rule_walk *walk, const struct shape *shape, const cJSON *object,
                 const struct field *at)
{
    if (object && !cJSON_IsObject(object) && !cJSON_IsNull(object)) {
        field_invalid(walk->problems, at, object, "must be an object");
        return;
    }
    for (const struct rule *rule = shape->rules; rule->name; rule++)
        check_member(walk, rule, object, at);
    if (shape->check)
        shape->check(walk, object, at);
}

size_t shape_count_present(const cJSON *object, const char *const *names)
{
    size_t count = 0;
    for (size_t i = 0; names[i]; i++)
        count += tree_get(object, names[i]) != NULL;
    return count;
}
