/*
 * A small API server in memory on a virtual clock, and a controller that works against it: for
 * tests of the objects that a job has beside its pods. Every request but lists is noted.
 */
#ifndef PUMICE_TESTS_UNIT_CONTROLLER_OBJECTS_SERVER_H
#define PUMICE_TESTS_UNIT_CONTROLLER_OBJECTS_SERVER_H

#include "testing.h"

#include "api/names.h"
#include "base/base64.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/map.h"
#include "controller/controller.h"
#include "controller/job/control.h"
#include "kube/fake_transport.h"
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <stdio.h>

#define JOB_UID "11111111-2222-3333-4444-555555555555"
#define JOB_PATH "/apis/batch.volcano.sh/v1alpha1/namespaces/n/jobs/j"
#define GROUP_PATH "/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups/j-" JOB_UID
#define CONFIG_MAP "/api/v1/namespaces/n/configmaps/j-svc"
#define SERVICE "/api/v1/namespaces/n/services/j"
#define SECRET "/api/v1/namespaces/n/secrets/j-ssh"
#define POLICY "/apis/networking.k8s.io/v1/namespaces/n/networkpolicies/j"
#define CLAIMS "/api/v1/namespaces/n/persistentvolumeclaims"
#define PODS "/api/v1/namespaces/n/pods"

/* ---- the server --------------------------------------------------------------------------------
 */

struct server {
    struct loop *loop;
    struct fake_transport *fake;
    struct window *window;
    struct event_recorder *events;
    struct controller *controller;
    struct map objects; /* path -> cJSON, owned */
    struct buf log;     /* "METHOD path\n" for each request that is no list */
    uint64_t rv;
    unsigned serial;
    const char *refused; /* requests that begin so ("POST /api...") get `refusal`; NULL: none */
    int refusal;
};

static inline const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static inline const char *text_at(const cJSON *object, const char *key)
{
    const cJSON *item = get(object, key);

    return cJSON_IsString(item) ? item->valuestring : "";
}

/* RFC 7396. */
static inline void merge(cJSON *target, const cJSON *patch)
{
    const cJSON *member;

    cJSON_ArrayForEach(member, patch)
    {
        cJSON *now = cJSON_GetObjectItemCaseSensitive(target, member->string);
        if (cJSON_IsNull(member)) {
            cJSON_DeleteItemFromObjectCaseSensitive(target, member->string);
            continue;
        }
        if (!cJSON_IsObject(member)) {
            cJSON_DeleteItemFromObjectCaseSensitive(target, member->string);
            cJSON_AddItemToObject(target, member->string, cJSON_Duplicate(member, true));
            continue;
        }
        if (!cJSON_IsObject(now)) {
            cJSON_DeleteItemFromObjectCaseSensitive(target, member->string);
            now = cJSON_AddObjectToObject(target, member->string);
        }
        merge(now, member);
    }
}

static inline void set_text(cJSON *object, const char *key, const char *value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    cJSON_AddStringToObject(object, key, value);
}

static inline cJSON *object_at(const struct server *server, const char *path)
{
    return map_get(&server->objects, str_of(path));
}

static inline void touch(struct server *server, cJSON *object)
{
    char rv[24];

    (void)snprintf(rv, sizeof(rv), "%llu", (unsigned long long)++server->rv);
    set_text(cJSON_GetObjectItemCaseSensitive(object, "metadata"), "resourceVersion", rv);
}

/* Keeps the object (taken over) under this path with a new UID. */
static inline void keep(struct server *server, const char *path, cJSON *object)
{
    cJSON *meta = cJSON_GetObjectItemCaseSensitive(object, "metadata");
    char uid[32];

    (void)snprintf(uid, sizeof(uid), "uid-%u", ++server->serial);
    if (!get(meta, "uid"))
        set_text(meta, "uid", uid);
    set_text(meta, "namespace", "n");
    touch(server, object);
    cJSON_Delete(map_set(&server->objects, str_of(path), object));
}

static inline void put(struct server *server, const char *path, const char *json)
{
    cJSON *object = cJSON_Parse(json);

    assert_non_null(object);
    keep(server, path, object);
}

static inline void drop(struct server *server, const char *path)
{
    cJSON *object = map_del(&server->objects, str_of(path));

    assert_non_null(object);
    cJSON_Delete(object);
}

static inline int refuse(struct buf *body, int code, const char *reason)
{
    buf_printf(body,
               "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"%s\","
               "\"message\":\"refused with %d\",\"code\":%d}",
               reason, code, code);
    return code;
}

static inline int answer(const cJSON *object, int code, struct buf *body)
{
    cleanup_free char *text = cJSON_PrintUnformatted(object);

    buf_add_cstr(body, text);
    return code;
}

static inline int create(struct server *server, const char *path, cJSON *object, struct buf *body)
{
    cleanup_free char *at = xasprintf("%s/%s", path, text_at(get(object, "metadata"), "name"));

    if (object_at(server, at)) {
        cJSON_Delete(object);
        return refuse(body, 409, "AlreadyExists");
    }
    keep(server, at, object);
    return answer(object, 201, body);
}

static inline int change(struct server *server, const char *path, const cJSON *patch,
                         struct buf *body)
{
    cJSON *object = object_at(server, path);
    const char *uid = text_at(get(patch, "metadata"), "uid");

    if (*uid && strcmp(uid, text_at(get(object, "metadata"), "uid")) != 0)
        return refuse(body, 409, "Conflict");
    merge(object, patch);
    touch(server, object);
    return answer(object, 200, body);
}

static inline int take_away(struct server *server, const char *path, const cJSON *options,
                            struct buf *body)
{
    const char *uid = text_at(get(options, "preconditions"), "uid");

    assert_string_not_equal(uid, "");
    if (strcmp(uid, text_at(get(object_at(server, path), "metadata"), "uid")) != 0)
        return refuse(body, 409, "Conflict");
    drop(server, path);
    buf_add_cstr(body, "{\"kind\":\"Status\",\"status\":\"Success\"}");
    return 200;
}

static inline int serve(struct server *server, enum kube_method method, const char *path,
                        struct str request, struct buf *body)
{
    cJSON *sent = request.n ? cJSON_ParseWithLength(request.p, request.n) : NULL;
    int code;

    if (method == KUBE_POST)
        return create(server, path, sent, body);
    if (!object_at(server, path))
        code = refuse(body, 404, "NotFound");
    else if (method == KUBE_PATCH)
        code = change(server, path, sent, body);
    else if (method == KUBE_DELETE)
        code = take_away(server, path, sent, body);
    else
        code = answer(object_at(server, path), 200, body);
    cJSON_Delete(sent);
    return code;
}

/* All objects of a kind: "/api/v1/pods" are those below "/api/v1/namespaces/n/pods/". */
static inline void list(struct server *server, struct str kind, struct buf *body)
{
    cleanup_buf struct buf start = BUF_INIT(1024);
    size_t slash = kind.n;
    struct str path;
    void *object;
    bool comma = false;

    while (kind.p[slash - 1] != '/')
        slash--;
    buf_printf(&start, "%.*snamespaces/n/%.*s/", (int)slash, kind.p,
               STR_ARG(str_from(kind, slash)));
    buf_printf(body, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"items\":[",
               (unsigned long long)server->rv);
    for (size_t i = 0; map_next(&server->objects, &i, &path, &object);) {
        if (!str_starts(path, buf_str(&start)))
            continue;
        if (comma)
            buf_add_char(body, ',');
        comma = true;
        (void)answer(object, 200, body);
    }
    buf_add_cstr(body, "]}");
}

static inline bool is_list(struct str path)
{
    return str_find(path, STR("/namespaces/")) < 0;
}

static inline int handle(void *arg, const struct kube_call_spec *spec, struct buf *body)
{
    static const char *const verbs[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    struct server *server = arg;
    struct str rest = spec->path, path;

    (void)str_split(&rest, '?', &path);
    if (str_find(path, STR("/events")) >= 0)
        return refuse(body, 500, "InternalError");
    if (is_list(path)) {
        list(server, path, body);
        return 200;
    }
    cleanup_free char *line = xasprintf("%s %.*s", verbs[spec->method], STR_ARG(path));
    buf_printf(&server->log, "%s\n", line);
    if (server->refused && str_starts(str_of(line), str_of(server->refused)))
        return refuse(body, server->refusal, server->refusal == 422 ? "Invalid" : "Forbidden");
    if (str_ends(path, STR("/status")))
        path = str_sub(path, 0, path.n - 7);
    cleanup_free char *at = str_dup(path);
    return serve(server, spec->method, at, spec->body, body);
}

/* Watches stay open and silent. */
static inline struct kube_call *start_call(struct kube_transport *base,
                                           const struct kube_call_spec *spec)
{
    struct kube_call *call = fake_start(base, spec);

    if (spec->watch)
        loop_timer_cancel(call->fake->loop, &call->timer);
    return call;
}

static const struct kube_transport_ops ops = {
    .start = start_call, .cancel = fake_cancel, .free = fake_free};

/* ---- the test's side ---------------------------------------------------------------------------
 */

static inline void run(struct server *server, int64_t ms)
{
    int64_t end = loop_now(server->loop) + ms * NSEC_PER_MSEC;

    while (loop_now(server->loop) < end)
        (void)loop_turn(server->loop, end - loop_now(server->loop));
}

/* How many requests begin so. */
static inline int asked(const struct server *server, const char *start)
{
    struct str rest = buf_str(&server->log), line;
    int count = 0;

    while (str_split(&rest, '\n', &line))
        count += str_starts(line, str_of(start));
    return count;
}

/* The place of the first request that begins so. */
static inline int place_of(const struct server *server, const char *start)
{
    struct str rest = buf_str(&server->log), line;

    for (int at = 0; str_split(&rest, '\n', &line); at++) {
        if (str_starts(line, str_of(start)))
            return at;
    }
    fail_msg("%s was not asked for: %s", start, server->log.p);
    return -1;
}

static inline void tell(struct store *store, const cJSON *object)
{
    cleanup_free char *text = cJSON_PrintUnformatted(object);

    (void)store_apply(store, str_of(text));
}

static inline void announce(struct server *server, struct store *store, const char *start)
{
    struct str path;
    void *object;

    for (size_t i = 0; map_next(&server->objects, &i, &path, &object);) {
        if (str_starts(path, str_of(start)))
            tell(store, object);
    }
}

static inline void start_controller(struct server *server)
{
    server->window = window_new(server->loop, &server->fake->base,
                                &(struct window_config){.fixed_inflight = 16});
    server->events = event_recorder_new(server->loop, server->window, "test");
    server->controller =
        controller_new(server->loop, &server->fake->base, server->window, server->events);
    controller_set_leading(server->controller, true);
}

static inline void stop_controller(struct server *server)
{
    controller_free(server->controller);
    event_recorder_free(server->events);
    window_free(server->window);
}

/* Another controller takes over. */
static inline void replace_controller(struct server *server)
{
    stop_controller(server);
    buf_reset(&server->log);
    start_controller(server);
    run(server, 10000);
}

static inline int setup(void **state)
{
    struct server *server = xnew(struct server);

    server->rv = 100;
    server->log = BUF_INIT((size_t)1 << 20);
    server->loop = loop_new_virtual(1, INT64_C(1800000000) * NSEC_PER_SEC);
    server->fake = fake_new(server->loop, handle, server);
    server->fake->base.ops = &ops;
    start_controller(server);
    run(server, 100);
    *state = server;
    return 0;
}

static inline void free_object(void *object)
{
    cJSON_Delete(object);
}

static inline int teardown(void **state)
{
    struct server *server = *state;

    stop_controller(server);
    kube_transport_free(&server->fake->base);
    loop_free(server->loop);
    map_clear_with(&server->objects, free_object);
    buf_clear(&server->log);
    free(server);
    return 0;
}

#define TASK(replicas)                                                                             \
    "\"tasks\":[{\"name\":\"w\",\"replicas\":" #replicas ",\"template\":{\"spec\":{"               \
    "\"containers\":[{\"name\":\"m\"}]}}}]"
#define SPEC(replicas, members)                                                                    \
    "{\"minAvailable\":1,\"queue\":\"default\"," members "," TASK(replicas) "}"
#define SVC_SSH_ENV "\"plugins\":{\"env\":[],\"ssh\":[],\"svc\":[]}"

static inline void submit(struct server *server, const char *spec)
{
    cleanup_free char *json = xasprintf("{\"metadata\":{\"name\":\"j\",\"uid\":\"" JOB_UID
                                        "\",\"generation\":1},\"spec\":%s}",
                                        spec);

    put(server, JOB_PATH, json);
    announce(server, server->controller->jobs, JOB_PATH);
}

/* A change of the spec. */
static inline void apply(struct server *server, const char *spec)
{
    cJSON *job = object_at(server, JOB_PATH),
          *meta = cJSON_GetObjectItemCaseSensitive(job, "metadata");
    const int generation = get(meta, "generation")->valueint;

    cJSON_ReplaceItemInObjectCaseSensitive(job, "spec", cJSON_Parse(spec));
    cJSON_ReplaceItemInObjectCaseSensitive(meta, "generation", cJSON_CreateNumber(generation + 1));
    touch(server, job);
    tell(server->controller->jobs, job);
}

/* The scheduler lets the group in. */
static inline void admit(struct server *server)
{
    cJSON *group = object_at(server, GROUP_PATH), *patch = NULL;

    assert_non_null(group);
    patch = cJSON_Parse("{\"status\":{\"phase\":\"Inqueue\"}}");
    merge(group, patch);
    cJSON_Delete(patch);
    touch(server, group);
    tell(server->controller->podgroups, group);
}

/* Every pod goes to this phase. */
static inline void move_pods(struct server *server, const char *phase)
{
    cleanup_free char *json = xasprintf("{\"status\":{\"phase\":\"%s\"}}", phase);
    cJSON *patch = cJSON_Parse(json);
    struct str path;
    void *object;

    for (size_t i = 0; map_next(&server->objects, &i, &path, &object);) {
        if (!str_starts(path, STR(PODS)))
            continue;
        merge(object, patch);
        touch(server, object);
        tell(server->controller->pods, object);
    }
    cJSON_Delete(patch);
}

static inline const cJSON *status_of(const struct server *server)
{
    return get(object_at(server, JOB_PATH), "status");
}

static inline const char *note_of(const struct server *server, const char *key)
{
    return text_at(get(status_of(server), "controlledResources"), key);
}

static inline void assert_phase(const struct server *server, const char *phase)
{
    assert_string_equal(text_at(get(status_of(server), "state"), "phase"), phase);
}

static inline void assert_waits(const struct server *server, const char *reason, const char *part)
{
    const cJSON *state = get(status_of(server), "state");

    assert_string_equal(text_at(state, "reason"), reason);
    if (!strstr(text_at(state, "message"), part))
        fail_msg("%s does not say %s", text_at(state, "message"), part);
}

static inline int pods_of(const struct server *server)
{
    struct str path;
    int count = 0;

    for (size_t i = 0; map_next(&server->objects, &i, &path, NULL);)
        count += str_starts(path, STR(PODS "/"));
    return count;
}

static inline const char *uid_of(const struct server *server, const char *path)
{
    return text_at(get(object_at(server, path), "metadata"), "uid");
}

/* A job that runs, with all its plugins' objects. */
static inline void start_job(struct server *server, const char *spec)
{
    submit(server, spec);
    run(server, 2000);
    admit(server);
    run(server, 2000);
    move_pods(server, "Running");
    run(server, 3000);
    assert_phase(server, "Running");
}

/* The hosts that the job's ConfigMap lists for its task. */
static inline const char *hosts_of(const struct server *server)
{
    return text_at(get(object_at(server, CONFIG_MAP), "data"), "w.host");
}

#endif
