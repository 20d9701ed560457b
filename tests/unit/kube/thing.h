/*
 * A smallest object for tests of stores and reflectors: metadata and one number. `spec.bad: true`
 * makes it unreadable for its decoder.
 */
#ifndef PUMICE_TESTS_UNIT_KUBE_THING_H
#define PUMICE_TESTS_UNIT_KUBE_THING_H

#include "kube/store.h"
#include <stdio.h>

struct thing {
    struct kube_meta meta;
    int64_t value;
};

static inline void thing_free(void *object)
{
    struct thing *thing = object;
    kube_meta_clear(&thing->meta);
    free(thing);
}

static inline void thing_read_spec(struct json_reader *reader, struct thing *thing)
{
    struct str key;
    for (bool open = json_object(reader); open && json_key(reader, &key);) {
        if (str_is(key, "value"))
            thing->value = json_i64(reader);
        else if (str_is(key, "bad") && json_bool(reader))
            json_fail(reader, "spec.bad is true");
        else if (!str_is(key, "bad"))
            json_skip(reader);
    }
}

static inline void *thing_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct thing *thing = xnew(struct thing);
    struct json_reader reader;
    struct str key;

    json_init(&reader, raw, &arena);
    for (bool open = json_object(&reader); open && json_key(&reader, &key);) {
        if (str_is(key, "metadata"))
            kube_meta_read(&reader, &thing->meta, NULL);
        else if (str_is(key, "spec"))
            thing_read_spec(&reader, thing);
        else
            json_skip(&reader);
    }
    if (json_end(&reader, err) == 0)
        return thing;
    thing_free(thing);
    return NULL;
}

static const struct store_type thing_type = {"Thing", thing_decode, thing_free};

/* The JSON of a thing in namespace "ns"; owned by the caller. */
static inline char *thing_json(const char *name, const char *uid, uint64_t rv, bool bad)
{
    return xasprintf("{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"%s\","
                     "\"resourceVersion\":\"%llu\"},\"spec\":{\"value\":%llu,\"bad\":%s}}",
                     name, uid, (unsigned long long)rv, (unsigned long long)rv,
                     bad ? "true" : "false");
}

#endif
