/*
 * Decoding of Namespaces. See namespace.h.
 */
#include "api/namespace.h"
#include "base/alloc.h"

struct namespace_labels *namespace_labels_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct namespace_labels *space = xnew(struct namespace_labels);
    struct json_reader reader;
    struct str key;
    json_init(&reader, raw, &arena);
    if (json_object(&reader))
        while (json_key(&reader, &key)) {
            if (str_is(key, "metadata") && !space->meta.name)
                kube_meta_read(&reader, &space->meta, kube_keep_none);
            else
                json_skip(&reader);
        }
    if (json_end(&reader, err) == 0)
        return space;
    namespace_labels_free(space);
    return NULL;
}

void namespace_labels_free(struct namespace_labels *space)
{
    if (!space)
        return;
    kube_meta_clear(&space->meta);
    free(space);
}

static void *decode(struct str raw, struct error *err)
{
    return namespace_labels_decode(raw, err);
}

static void release(void *object)
{
    namespace_labels_free(object);
}

const struct store_type namespace_labels_store_type = {"Namespace", decode, release};
