/*
 * Lenient reading of cJSON trees: see tree.h.
 */
#include "webhook/rules/tree.h"

/* cJSON's own test is a call into its library, which costs more than all else here. */
static inline bool has_type(const cJSON *item, int type)
{
    return item && (item->type & 0xff) == type;
}

const cJSON *tree_get(const cJSON *object, const char *key)
{
    const cJSON *found = NULL;
    if (!has_type(object, cJSON_Object))
        return NULL;
    for (const cJSON *item = object->child; item; item = item->next) {
        if (item->string[0] == key[0] && strcmp(item->string, key) == 0)
            found = item; /* of two the last one counts, as in Go */
    }
    return has_type(found, cJSON_NULL) ? NULL : found;
}

const cJSON *tree_object(const cJSON *object, const char *key)
{
    const cJSON *item = tree_get(object, key);
    return cJSON_IsObject(item) && item->child ? item : NULL;
}

const cJSON *tree_array(const cJSON *object, const char *key)
{
    const cJSON *item = tree_get(object, key);
    return cJSON_IsArray(item) ? item : NULL;
}

const char *tree_str(const cJSON *object, const char *key)
{
    const cJSON *item = tree_get(object, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

bool tree_bool(const cJSON *object, const char *key)
{
    return cJSON_IsTrue(tree_get(object, key));
}

static int64_t whole(double value)
{
    if (value >= 9223372036854775807.0)
        return INT64_MAX;
    if (value <= -9223372036854775808.0)
        return INT64_MIN;
    return (int64_t)value;
}

bool tree_i64(const cJSON *object, const char *key, int64_t *ret_value)
{
    const cJSON *item = tree_get(object, key);
    if (!cJSON_IsNumber(item))
        return false;
    *ret_value = whole(item->valuedouble);
    return true;
}

int64_t tree_i64_or_0(const cJSON *object, const char *key)
{
    int64_t value = 0;
    return tree_i64(object, key, &value) ? value : 0;
}

struct str tree_scalar(const cJSON *item, struct arena *arena)
{
    if (cJSON_IsString(item))
        return str_of(item->valuestring);
    if (!cJSON_IsNumber(item))
        return STR_NULL;
    int64_t value = whole(item->valuedouble);
    if ((double)value == item->valuedouble)
        return arena_printf(arena, "%lld", (long long)value);
    return arena_printf(arena, "%.17g", item->valuedouble);
}
