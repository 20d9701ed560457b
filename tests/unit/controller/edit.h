/*
 * JSON objects of a test's server as cJSON trees: short ways to read and change them, and the merge
 * of a patch (RFC 7396).
 */
#ifndef PUMICE_TESTS_UNIT_CONTROLLER_EDIT_H
#define PUMICE_TESTS_UNIT_CONTROLLER_EDIT_H

#include "testing.h"

#include "base/timefmt.h"
#include <cjson/cJSON.h>

static inline cJSON *json_at(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static inline const char *json_text(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(json_at(object, key));

    return text ? text : "";
}

static inline int json_number(const cJSON *object, const char *key)
{
    const cJSON *item = json_at(object, key);

    return item ? item->valueint : 0;
}

static inline cJSON *json_parse(struct str text)
{
    cJSON *json = cJSON_ParseWithLength(text.p, text.n);

    assert_non_null(json);
    return json;
}

/* The object at `key`, made when absent. */
static inline cJSON *json_member(cJSON *object, const char *key)
{
    cJSON *member = json_at(object, key);

    if (cJSON_IsObject(member))
        return member;
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    return cJSON_AddObjectToObject(object, key);
}

static inline void json_set(cJSON *object, const char *key, cJSON *value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    cJSON_AddItemToObject(object, key, value);
}

/* RFC 7396. */
static inline void json_merge(cJSON *object, const cJSON *patch)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, patch)
    {
        if (cJSON_IsNull(item))
            cJSON_DeleteItemFromObjectCaseSensitive(object, item->string);
        else if (cJSON_IsObject(item))
            json_merge(json_member(object, item->string), item);
        else
            json_set(object, item->string, cJSON_Duplicate(item, true));
    }
}

static inline char *json_print(const cJSON *json)
{
    char *printed = cJSON_PrintUnformatted(json), *copy = xstrdup(printed);

    cJSON_free(printed);
    return copy;
}

static inline void json_set_time(cJSON *object, const char *key, int64_t wall_ns)
{
    char text[TIME_TEXT_MAX];

    (void)time_format(text, wall_ns);
    json_set(object, key, cJSON_CreateString(text));
}

#endif
