/*
 * Objects of any kind in memory behind a window, for modules that are given their stores: creates,
 * patches and deletes change them, and the stores are told at once, or when a test says so. Every
 * request is noted as "METHOD path body".
 */
#ifndef PUMICE_TESTS_UNIT_CONTROLLER_CLUSTER_H
#define PUMICE_TESTS_UNIT_CONTROLLER_CLUSTER_H

#include "testing.h"

#include "base/log.h"
#include "base/map.h"
#include "edit.h"
#include "kube/fake_transport.h"
#include "kube/store.h"
#include "kube/window.h"
#include <fcntl.h>
#include <stdio.h>

enum { CLUSTER_KINDS = 8 };

struct cluster;

/* An HTTP status to answer instead of doing what is asked; 0: do it. */
typedef int cluster_fault(struct cluster *cluster, const struct kube_call_spec *spec);

struct cluster {
    struct loop *loop;
    struct fake_transport *fake;
    struct window *window;
    struct map objects;                   /* path -> cJSON, owned */
    const char *resources[CLUSTER_KINDS]; /* the path up to the last name or namespace */
    struct store *stores[CLUSTER_KINDS];  /* owned */
    size_t kinds;
    uint64_t rv;
    unsigned serial;
    bool silent; /* changes are not told */
    cluster_fault *fault;
    struct buf log; /* a line a request */
};

/* ---- news --------------------------------------------------------------------------------------
 */

/* Follows what is kept under this path, "/api/v1/pods". */
static inline struct store *cluster_follow(struct cluster *cluster, const char *path,
                                           const struct store_type *type)
{
    struct store *store = store_new(type);

    assert_in_range(cluster->kinds, 0, CLUSTER_KINDS - 1);
    cluster->resources[cluster->kinds] = path;
    cluster->stores[cluster->kinds++] = store;
    return store;
}

/* The resource of an object's path: without namespace and name. */
static inline void cluster_resource(struct str path, struct buf *resource)
{
    ptrdiff_t at = str_find(path, STR("/namespaces/"));
    struct str rest = STR_NULL, part;

    if (at < 0) {
        size_t end = path.n;
        while (path.p[end - 1] != '/')
            end--;
        buf_add_str(resource, str_sub(path, 0, end - 1));
        return;
    }
    rest = str_from(path, (size_t)at + 12);
    (void)str_split(&rest, '/', &part);
    (void)str_split(&rest, '/', &part);
    buf_printf(resource, "%.*s/%.*s", (int)at, path.p, STR_ARG(part));
}

static inline struct store *cluster_store(struct cluster *cluster, struct str path)
{
    cleanup_buf struct buf resource = BUF_INIT(1024);

    cluster_resource(path, &resource);
    for (size_t i = 0; i < cluster->kinds; i++) {
        if (str_is(buf_str(&resource), cluster->resources[i]))
            return cluster->stores[i];
    }
    return NULL;
}

static inline void cluster_tell(struct cluster *cluster, struct str path, const cJSON *object,
                                bool deleted)
{
    struct store *store = cluster_store(cluster, path);
    cleanup_free char *text = json_print(object);

    if (!store || cluster->silent)
        return;
    if (deleted)
        store_apply_deleted(store, str_of(text));
    else
        (void)store_apply(store, str_of(text));
}

/* ---- objects -----------------------------------------------------------------------------------
 */

static inline cJSON *cluster_get(struct cluster *cluster, const char *path)
{
    return map_get(&cluster->objects, str_of(path));
}

/* The object has changed. */
static inline void cluster_touch(struct cluster *cluster, const char *path)
{
    cJSON *object = cluster_get(cluster, path);
    char rv[24];

    assert_non_null(object);
    (void)snprintf(rv, sizeof(rv), "%llu", (unsigned long long)++cluster->rv);
    json_set(json_member(object, "metadata"), "resourceVersion", cJSON_CreateString(rv));
    cluster_tell(cluster, str_of(path), object, false);
}

/* Makes the object of that path from its JSON, or puts that in its place. */
static inline void cluster_put(struct cluster *cluster, const char *path, const char *json)
{
    cJSON *object = json_parse(str_of(json)), *meta = json_member(object, "metadata");
    struct str at = str_of(path);
    const char *name = strrchr(path, '/') + 1;
    ptrdiff_t ns = str_find(at, STR("/namespaces/"));
    const cJSON *old = cluster_get(cluster, path);
    char uid[64];

    json_set(meta, "name", cJSON_CreateString(name));
    if (ns >= 0) {
        struct str rest = str_from(at, (size_t)ns + 12), part;
        (void)str_split(&rest, '/', &part);
        cleanup_free char *text = str_dup(part);
        json_set(meta, "namespace", cJSON_CreateString(text));
    }
    (void)snprintf(uid, sizeof(uid), "%s-uid-%u", name, ++cluster->serial);
    if (!json_at(meta, "uid"))
        json_set(meta, "uid",
                 cJSON_CreateString(old ? json_text(json_at(old, "metadata"), "uid") : uid));
    if (!json_at(meta, "creationTimestamp"))
        json_set_time(meta, "creationTimestamp", loop_wall(cluster->loop));
    cJSON_Delete(map_set(&cluster->objects, at, object));
    cluster_touch(cluster, path);
}

static inline void cluster_remove(struct cluster *cluster, const char *path)
{
    cJSON *object = map_del(&cluster->objects, str_of(path));
    char rv[24];

    assert_non_null(object);
    (void)snprintf(rv, sizeof(rv), "%llu", (unsigned long long)++cluster->rv);
    json_set(json_member(object, "metadata"), "resourceVersion", cJSON_CreateString(rv));
    cluster_tell(cluster, str_of(path), object, true);
    cJSON_Delete(object);
}

/* Merges `patch` (RFC 7396) into the object. */
static inline void cluster_merge(struct cluster *cluster, const char *path, const char *patch)
{
    cJSON *parsed = json_parse(str_of(patch));

    assert_non_null(cluster_get(cluster, path));
    json_merge(cluster_get(cluster, path), parsed);
    cJSON_Delete(parsed);
    cluster_touch(cluster, path);
}

/* ---- requests ----------------------------------------------------------------------------------
 */

static inline int cluster_refuse(struct buf *body, int code, const char *reason)
{
    buf_printf(body,
               "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"%s\","
               "\"message\":\"refused\",\"code\":%d}",
               reason, code);
    return code;
}

static inline int cluster_answer(struct cluster *cluster, const char *path, int code,
                                 struct buf *body)
{
    cleanup_free char *text = json_print(cluster_get(cluster, path));

    buf_add_cstr(body, text);
    return code;
}

static inline int cluster_post(struct cluster *cluster, const char *path, struct str request,
                               struct buf *body)
{
    cJSON *object = json_parse(request);
    cleanup_free char *text = json_print(object);
    cleanup_free char *at =
        xasprintf("%s/%s", path, json_text(json_at(object, "metadata"), "name"));

    cJSON_Delete(object);
    if (cluster_get(cluster, at))
        return cluster_refuse(body, 409, "AlreadyExists");
    cluster_put(cluster, at, text);
    return cluster_answer(cluster, at, 201, body);
}

/* Merge, strategic merge (of objects only) and apply are one here. */
static inline int cluster_patch(struct cluster *cluster, const char *path, struct str request,
                                struct buf *body)
{
    cJSON *patch = json_parse(request), *object = cluster_get(cluster, path);
    const char *uid = json_text(json_at(patch, "metadata"), "uid");
    const bool other = *uid && strcmp(uid, json_text(json_at(object, "metadata"), "uid")) != 0;

    if (!other)
        json_merge(object, patch);
    cJSON_Delete(patch);
    if (other) {
        buf_add_cstr(body, "{\"kind\":\"Status\",\"reason\":\"Invalid\",\"details\":{\"causes\":["
                           "{\"field\":\"metadata.uid\"}]},\"code\":422}");
        return 422;
    }
    cluster_touch(cluster, path);
    return cluster_answer(cluster, path, 200, body);
}

static inline int cluster_delete(struct cluster *cluster, const char *path, struct str request,
                                 struct buf *body)
{
    cJSON *options = json_parse(request);
    const char *uid = json_text(json_at(options, "preconditions"), "uid");
    const cJSON *meta = json_at(cluster_get(cluster, path), "metadata");
    const bool other = strcmp(uid, json_text(meta, "uid")) != 0;

    cJSON_Delete(options);
    if (other)
        return cluster_refuse(body, 409, "Conflict");
    cluster_remove(cluster, path);
    buf_add_cstr(body, "{\"kind\":\"Status\",\"status\":\"Success\"}");
    return 200;
}

static inline int cluster_handle(void *arg, const struct kube_call_spec *spec, struct buf *body)
{
    static const char *const verbs[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    struct cluster *cluster = arg;
    struct str rest = spec->path, path;
    const int fault = cluster->fault ? cluster->fault(cluster, spec) : 0;

    buf_printf(&cluster->log, "%s %.*s %.*s\n", verbs[spec->method], STR_ARG(spec->path),
               STR_ARG(spec->body));
    if (fault)
        return cluster_refuse(body, fault, fault == 409 ? "Conflict" : "InternalError");
    (void)str_split(&rest, '?', &path);
    if (str_ends(path, STR("/status")))
        path = str_sub(path, 0, path.n - strlen("/status"));
    cleanup_free char *at = str_dup(path);
    if (spec->method == KUBE_POST)
        return cluster_post(cluster, at, spec->body, body);
    if (!cluster_get(cluster, at))
        return cluster_refuse(body, 404, "NotFound");
    if (spec->method == KUBE_PATCH)
        return cluster_patch(cluster, at, spec->body, body);
    if (spec->method == KUBE_DELETE)
        return cluster_delete(cluster, at, spec->body, body);
    return cluster_answer(cluster, at, 200, body);
}

/* ---- time and what a test reads ----------------------------------------------------------------
 */

static inline void cluster_end_run(void *arg)
{
    *(bool *)arg = true;
}

static inline void cluster_run(struct cluster *cluster, int64_t ms)
{
    bool over = false;
    struct loop_timer end;

    loop_timer_init(&end, cluster_end_run, &over);
    loop_timer_set(cluster->loop, &end, ms * NSEC_PER_MSEC);
    while (!over)
        (void)loop_turn(cluster->loop, ms * NSEC_PER_MSEC);
}

/* How many requests begin with `start`. */
static inline int cluster_count(const struct cluster *cluster, const char *start)
{
    struct str rest = buf_str(&cluster->log), line;
    int count = 0;

    while (str_split(&rest, '\n', &line))
        count += str_starts(line, str_of(start));
    return count;
}

static inline bool cluster_said(const struct cluster *cluster, const char *part)
{
    return str_find(buf_str(&cluster->log), str_of(part)) >= 0;
}

/* ---- life --------------------------------------------------------------------------------------
 */

static inline void cluster_setup(struct cluster *cluster)
{
    *cluster = (struct cluster){.rv = 100};
    buf_init(&cluster->log, (size_t)16 << 20);
    cluster->loop = loop_new_virtual(1, INT64_C(1800000000) * NSEC_PER_SEC);
    cluster->fake = fake_new(cluster->loop, cluster_handle, cluster);
    cluster->window = window_new(cluster->loop, &cluster->fake->base, &(struct window_config){0});
}

static inline void cluster_free_object(void *object)
{
    cJSON_Delete(object);
}

/* What uses window and stores is gone by now. */
static inline void cluster_teardown(struct cluster *cluster)
{
    window_free(cluster->window);
    kube_transport_free(&cluster->fake->base);
    for (size_t i = 0; i < cluster->kinds; i++)
        store_free(cluster->stores[i]);
    loop_free(cluster->loop);
    map_clear_with(&cluster->objects, cluster_free_object);
    buf_clear(&cluster->log);
}

#endif
