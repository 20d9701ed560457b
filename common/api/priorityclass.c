/*
 * Decoding of PriorityClasses, and what a class name is worth: see priorityclass.h.
 */
#include "api/priorityclass.h"
#include "base/alloc.h"

struct priorityclass *priorityclass_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct priorityclass *class = xnew(struct priorityclass);
    struct json_reader reader;
    struct str key;

    json_init(&reader, raw, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_eq(key, STR("metadata")) && !class->meta.name)
                kube_meta_read(&reader, &class->meta, kube_keep_none);
            else if (str_eq(key, STR("value")))
                class->value = json_i32(&reader);
            else if (str_eq(key, STR("globalDefault")))
                class->global_default = json_bool(&reader);
            else if (str_eq(key, STR("preemptionPolicy")))
                class->never_preempts = str_eq(json_str(&reader), STR("Never"));
            else
                json_skip(&reader);
        }
    }
    if (json_end(&reader, err) < 0) {
        priorityclass_free(class);
        return NULL;
    }
    return class;
}

void priorityclass_free(struct priorityclass *priorityclass)
{
    if (!priorityclass)
        return;
    kube_meta_clear(&priorityclass->meta);
    free(priorityclass);
}

int32_t priorityclass_value(const struct store *priorityclasses, const char *name)
{
    const struct priorityclass *class = NULL;

    if (name && *name)
        class = store_get(priorityclasses, STR(""), str_of(name));
    for (size_t i = 0; !class;) {
        const struct priorityclass *candidate = store_next(priorityclasses, &i);
        if (!candidate)
            return 0;
        if (candidate->global_default)
            class = candidate;
    }
    return class->value;
}

static void *decode(struct str raw, struct error *err)
{
    return priorityclass_decode(raw, err);
}

static void release(void *object)
{
    priorityclass_free(object);
}

const struct store_type priorityclass_store_type = {"PriorityClass", decode, release};
