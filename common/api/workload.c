/*
 * Decoding of workloads: see workload.h.
 */
#include "api/workload.h"
#include "api/names.h"
#include "json/interned.h"

static bool keep(struct str key)
{
    return str_starts(key, STR("volcano.sh/")) || str_is(key, KEY_GROUP_MIN_MEMBER);
}

static void read_spec(struct json_reader *reader, struct workload *workload)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("replicas")) && json_peek(reader) == JSON_NUMBER)
            workload->scaled_to_zero = json_i32(reader) == 0;
        else
            json_skip(reader);
    }
}

static void read_status(struct json_reader *reader, struct workload *workload)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("updateRevision")))
            json_interned(reader, &workload->revision);
        else
            json_skip(reader);
    }
}

struct workload *workload_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct workload *workload = xnew(struct workload);
    struct json_reader reader;
    struct str key;

    workload->revision = intern_get(STR(""));
    json_init(&reader, raw, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_eq(key, STR("metadata")) && !workload->meta.name)
                kube_meta_read(&reader, &workload->meta, keep);
            else if (str_eq(key, STR("spec")))
                read_spec(&reader, workload);
            else if (str_eq(key, STR("status")))
                read_status(&reader, workload);
            else
                json_skip(&reader);
        }
    }
    kube_pairs_clear(&workload->meta.labels);
    if (json_end(&reader, err) < 0) {
        workload_free(workload);
        return NULL;
    }
    return workload;
}

void workload_free(struct workload *workload)
{
    if (!workload)
        return;
    kube_meta_clear(&workload->meta);
    intern_put(workload->revision);
    free(workload);
}

static void *decode(struct str raw, struct error *err)
{
    return workload_decode(raw, err);
}

static void release(void *object)
{
    workload_free(object);
}

const struct store_type replicaset_store_type = {"ReplicaSet", decode, release};
const struct store_type statefulset_store_type = {"StatefulSet", decode, release};
const struct store_type daemonset_store_type = {"DaemonSet", decode, release};
const struct store_type batch_job_store_type = {"Job", decode, release};
