/*
 * Decoding of pods of others: see barepod.h.
 */
#include "api/barepod.h"
#include "json/interned.h"

static void read_spec(struct str raw, struct arena *arena, struct barepod *pod)
{
    struct json_reader reader;
    struct str key;

    json_init(&reader, raw, arena);
    if (!json_object(&reader))
        return;
    while (json_key(&reader, &key)) {
        if (str_eq(key, STR("schedulerName")))
            json_interned(&reader, &pod->scheduler);
        else if (str_eq(key, STR("priorityClassName")))
            json_interned(&reader, &pod->priority_class_name);
        else
            json_skip(&reader);
    }
}

static void read_status(struct json_reader *reader, struct barepod *pod)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("phase"))) {
            const struct str phase = json_str(reader);
            pod->ended = str_is(phase, "Succeeded") || str_is(phase, "Failed");
        } else {
            json_skip(reader);
        }
    }
}

static int read_resources(struct str spec, struct barepod *pod, struct error *err)
{
    resource_list_clear(&pod->requests);
    resource_list_clear(&pod->limits);
    return str_empty(spec) ? 0 : pod_resources_read(spec, &pod->requests, &pod->limits, err);
}

struct barepod *barepod_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct barepod *pod = xnew(struct barepod);
    struct str key, spec = STR_NULL;
    struct json_reader reader;

    pod->scheduler = intern_get(STR(""));
    pod->priority_class_name = intern_get(STR(""));
    json_init(&reader, raw, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_eq(key, STR("metadata")) && !pod->meta.name)
                kube_meta_read(&reader, &pod->meta, NULL);
            else if (str_eq(key, STR("spec")))
                spec = json_raw(&reader);
            else if (str_eq(key, STR("status")))
                read_status(&reader, pod);
            else
                json_skip(&reader);
        }
    }
    if (json_end(&reader, err) < 0 || read_resources(spec, pod, err) < 0) {
        barepod_free(pod);
        return NULL;
    }
    if (!str_empty(spec))
        read_spec(spec, &arena, pod);
    return pod;
}

void barepod_free(struct barepod *pod)
{
    if (!pod)
        return;
    kube_meta_clear(&pod->meta);
    intern_put(pod->scheduler);
    intern_put(pod->priority_class_name);
    resource_list_clear(&pod->requests);
    resource_list_clear(&pod->limits);
    free(pod);
}

static void *decode(struct str raw, struct error *err)
{
    return barepod_decode(raw, err);
}

static void release(void *object)
{
    barepod_free(object);
}

const struct store_type barepod_store_type = {"Pod", decode, release};
