/*
 * What the handlers of the smaller kinds share: see kind_rules.h.
 */
#include "webhook/kinds/kind_rules.h"
#include "json/reader.h"

/* The raw text of a member of an object; empty when there is none. */
static struct str member(struct str object, const char *name, struct arena *arena)
{
    struct json_reader reader;
    struct str key, found = STR_NULL;
    json_init(&reader, object, arena);
    if (json_peek(&reader) != JSON_OBJECT || !json_object(&reader))
        return found;
    while (json_key(&reader, &key)) {
        const struct str value = json_raw(&reader);
        if (str_is(key, name))
            found = value;
    }
    return found;
}

bool kind_unchanged(const struct admission_case *c, const char *const *path)
{
    struct str now = c->review->object, before = c->review->old_object;
    if (!str_is(c->review->operation, "UPDATE"))
        return false;
    for (; *path; path++) {
        now = member(now, *path, c->arena);
        before = member(before, *path, c->arena);
    }
    return str_eq(now, before);
}
