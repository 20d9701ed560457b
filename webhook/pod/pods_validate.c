/*
 * /pods/validate: the two annotations by which a pod of ours limits disruption.
 *
 * An UPDATE is asked only about annotations that it changes.
 */
#include "api/names.h"
#include "webhook/registry.h"

#define SHOWN_MAX 64 /* of a value in a message, bytes */

static const char *const limit_keys[] = {KEY_JDB_MIN_AVAILABLE, KEY_JDB_MAX_UNAVAILABLE};

static bool is_ours(const struct admission_rules *rules, const char *scheduler)
{
    for (size_t i = 0; i < rules->scheduler_name_count; i++) {
        if (strcmp(rules->scheduler_names[i], scheduler) == 0)
            return true;
    }
    return false;
}

/* Digits with blanks, signs and per cent signs among them: meant to be a number. */
static bool looks_numeric(struct str text)
{
    size_t digits = 0;
    for (size_t i = 0; i < text.n; i++) {
        const char at = text.p[i];
        digits += at >= '0' && at <= '9';
        if (!(at >= '0' && at <= '9') && at != '%' && at != '-' && at != '+')
            return false;
    }
    return digits > 0;
}

static void check_value(struct admission_case *c, const char *key, const char *value)
{
    const struct str text = str_of(value), shown = str_cut(text, SHOWN_MAX);
    int32_t number;
    const bool per_cent = str_ends(text, STR("%"));
    if (str_to_i32(text, &number)) {
        if (number <= 0)
            problem_invalid(&c->problems,
                            "invalid value <\"%.*s\"> for %s, it must be a positive integer",
                            STR_ARG(shown), key);
        return;
    }
    if (per_cent && text.p[0] != '+' && str_to_i32(str_sub(text, 0, text.n - 1), &number) &&
        number >= 1 && number <= 99)
        return;
    if (looks_numeric(text))
        problem_invalid(&c->problems,
                        "invalid value <\"%.*s\"> for %s, it must be a valid percentage which "
                        "between 1%% ~ 99%%",
                        STR_ARG(shown), key);
    else
        problem_invalid(&c->problems,
                        "invalid value <\"%.*s\": neither a positive integer nor a percentage> "
                        "for %s",
                        STR_ARG(shown), key);
}

static const cJSON *annotations_of(const cJSON *pod)
{
    return tree_get(tree_get(pod, "metadata"), "annotations");
}

/* True when an UPDATE leaves the annotation as it was. */
static bool is_old(const struct admission_case *c, const char *key, const cJSON *value)
{
    const cJSON *old = tree_get(annotations_of(c->old), key);
    return cJSON_IsString(old) && strcmp(old->valuestring, value->valuestring) == 0;
}

void pods_validate(struct admission_case *c)
{
    const cJSON *annotations = annotations_of(c->object);
    size_t present = 0, fresh = 0;
    if (!is_ours(c->rules, tree_str(tree_get(c->object, "spec"), "schedulerName")))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(limit_keys); i++) {
        const cJSON *value = tree_get(annotations, limit_keys[i]);
        if (!cJSON_IsString(value))
            continue;
        present++;
        if (is_old(c, limit_keys[i], value))
            continue;
        fresh++;
        check_value(c, limit_keys[i], value->valuestring);
    }
    if (present == ARRAY_SIZE(limit_keys) && fresh && c->problems.count == 0)
        problem_invalid(&c->problems,
                        "not allow configure multiple annotations <[" KEY_JDB_MIN_AVAILABLE
                        " " KEY_JDB_MAX_UNAVAILABLE "]> at same time");
}
