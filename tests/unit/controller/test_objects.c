/*
 * Objects of plugins and claims of volumes: the controller against a small API server in memory on
 * a virtual clock. What is asked for, in which order and how often, what it makes of refusals, lost
 * answers and objects of others, and what another controller does with what this one left.
 */
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

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *text_at(const cJSON *object, const char *key)
{
    const cJSON *item = get(object, key);

    return cJSON_IsString(item) ? item->valuestring : "";
}

/* RFC 7396. */
static void merge(cJSON *target, const cJSON *patch)
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

static void set_text(cJSON *object, const char *key, const char *value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    cJSON_AddStringToObject(object, key, value);
}

static cJSON *object_at(const struct server *server, const char *path)
{
    return map_get(&server->objects, str_of(path));
}

static void touch(struct server *server, cJSON *object)
{
    char rv[24];

    (void)snprintf(rv, sizeof(rv), "%llu", (unsigned long long)++server->rv);
    set_text(cJSON_GetObjectItemCaseSensitive(object, "metadata"), "resourceVersion", rv);
}

/* Keeps the object (taken over) under this path with a new UID. */
static void keep(struct server *server, const char *path, cJSON *object)
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

static void put(struct server *server, const char *path, const char *json)
{
    cJSON *object = cJSON_Parse(json);

    assert_non_null(object);
    keep(server, path, object);
}

static void drop(struct server *server, const char *path)
{
    cJSON *object = map_del(&server->objects, str_of(path));

    assert_non_null(object);
    cJSON_Delete(object);
}

static int refuse(struct buf *body, int code, const char *reason)
{
    buf_printf(body,
               "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"%s\","
               "\"message\":\"refused with %d\",\"code\":%d}",
               reason, code, code);
    return code;
}

static int answer(const cJSON *object, int code, struct buf *body)
{
    cleanup_free char *text = cJSON_PrintUnformatted(object);

    buf_add_cstr(body, text);
    return code;
}

static int create(struct server *server, const char *path, cJSON *object, struct buf *body)
{
    cleanup_free char *at = xasprintf("%s/%s", path, text_at(get(object, "metadata"), "name"));

    if (object_at(server, at)) {
        cJSON_Delete(object);
        return refuse(body, 409, "AlreadyExists");
    }
    keep(server, at, object);
    return answer(object, 201, body);
}

static int change(struct server *server, const char *path, const cJSON *patch, struct buf *body)
{
    cJSON *object = object_at(server, path);
    const char *uid = text_at(get(patch, "metadata"), "uid");

    if (*uid && strcmp(uid, text_at(get(object, "metadata"), "uid")) != 0)
        return refuse(body, 409, "Conflict");
    merge(object, patch);
    touch(server, object);
    return answer(object, 200, body);
}

static int take_away(struct server *server, const char *path, const cJSON *options,
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

static int serve(struct server *server, enum kube_method method, const char *path,
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
static void list(struct server *server, struct str kind, struct buf *body)
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

static bool is_list(struct str path)
{
    return str_find(path, STR("/namespaces/")) < 0;
}

static int handle(void *arg, const struct kube_call_spec *spec, struct buf *body)
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
static struct kube_call *start_call(struct kube_transport *base, const struct kube_call_spec *spec)
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

static void run(struct server *server, int64_t ms)
{
    int64_t end = loop_now(server->loop) + ms * NSEC_PER_MSEC;

    while (loop_now(server->loop) < end)
        (void)loop_turn(server->loop, end - loop_now(server->loop));
}

/* How many requests begin so. */
static int asked(const struct server *server, const char *start)
{
    struct str rest = buf_str(&server->log), line;
    int count = 0;

    while (str_split(&rest, '\n', &line))
        count += str_starts(line, str_of(start));
    return count;
}

/* The place of the first request that begins so. */
static int place_of(const struct server *server, const char *start)
{
    struct str rest = buf_str(&server->log), line;

    for (int at = 0; str_split(&rest, '\n', &line); at++) {
        if (str_starts(line, str_of(start)))
            return at;
    }
    fail_msg("%s was not asked for: %s", start, server->log.p);
    return -1;
}

static void tell(struct store *store, const cJSON *object)
{
    cleanup_free char *text = cJSON_PrintUnformatted(object);

    (void)store_apply(store, str_of(text));
}

static void announce(struct server *server, struct store *store, const char *start)
{
    struct str path;
    void *object;

    for (size_t i = 0; map_next(&server->objects, &i, &path, &object);) {
        if (str_starts(path, str_of(start)))
            tell(store, object);
    }
}

static void start_controller(struct server *server)
{
    server->window = window_new(server->loop, &server->fake->base, &(struct window_config){0});
    server->events = event_recorder_new(server->loop, server->window, "test");
    server->controller =
        controller_new(server->loop, &server->fake->base, server->window, server->events);
    controller_set_leading(server->controller, true);
}

static void stop_controller(struct server *server)
{
    controller_free(server->controller);
    event_recorder_free(server->events);
    window_free(server->window);
}

/* Another controller takes over. */
static void replace_controller(struct server *server)
{
    stop_controller(server);
    buf_reset(&server->log);
    start_controller(server);
    run(server, 10000);
}

static int setup(void **state)
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

static void free_object(void *object)
{
    cJSON_Delete(object);
}

static int teardown(void **state)
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

static void submit(struct server *server, const char *spec)
{
    cleanup_free char *json = xasprintf("{\"metadata\":{\"name\":\"j\",\"uid\":\"" JOB_UID
                                        "\",\"generation\":1},\"spec\":%s}",
                                        spec);

    put(server, JOB_PATH, json);
    announce(server, server->controller->jobs, JOB_PATH);
}

/* A change of the spec. */
static void apply(struct server *server, const char *spec)
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
static void admit(struct server *server)
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
static void move_pods(struct server *server, const char *phase)
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

static const cJSON *status_of(const struct server *server)
{
    return get(object_at(server, JOB_PATH), "status");
}

static const char *note_of(const struct server *server, const char *key)
{
    return text_at(get(status_of(server), "controlledResources"), key);
}

static void assert_phase(const struct server *server, const char *phase)
{
    assert_string_equal(text_at(get(status_of(server), "state"), "phase"), phase);
}

static void assert_waits(const struct server *server, const char *reason, const char *part)
{
    const cJSON *state = get(status_of(server), "state");

    assert_string_equal(text_at(state, "reason"), reason);
    if (!strstr(text_at(state, "message"), part))
        fail_msg("%s does not say %s", text_at(state, "message"), part);
}

static int pods_of(const struct server *server)
{
    struct str path;
    int count = 0;

    for (size_t i = 0; map_next(&server->objects, &i, &path, NULL);)
        count += str_starts(path, STR(PODS "/"));
    return count;
}

static const char *uid_of(const struct server *server, const char *path)
{
    return text_at(get(object_at(server, path), "metadata"), "uid");
}

/* A job that runs, with all its plugins' objects. */
static void start_job(struct server *server, const char *spec)
{
    submit(server, spec);
    run(server, 2000);
    admit(server);
    run(server, 2000);
    move_pods(server, "Running");
    run(server, 3000);
    assert_phase(server, "Running");
}

/* ---- tests -------------------------------------------------------------------------------------
 */

static void objects_are_there_before_the_first_pod(void **state)
{
    static const char *const posts[] = {
        "POST /api/v1/namespaces/n/configmaps", "POST /api/v1/namespaces/n/services",
        "POST /api/v1/namespaces/n/secrets",
        "POST /apis/networking.k8s.io/v1/namespaces/n/networkpolicies"};
    static const char *const paths[] = {CONFIG_MAP, SERVICE, SECRET, POLICY};
    struct server *server = *state;

    start_job(server, SPEC(3, SVC_SSH_ENV));
    assert_int_equal(pods_of(server), 3);
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        const cJSON *owner =
            get(get(object_at(server, paths[i]), "metadata"), "ownerReferences")->child;
        assert_int_equal(asked(server, posts[i]), 1);
        assert_true(place_of(server, posts[i]) < place_of(server, "POST " PODS));
        assert_string_equal(text_at(owner, "uid"), JOB_UID);
        assert_string_equal(text_at(owner, "kind"), "Job");
        assert_string_equal(text_at(owner, "apiVersion"), BATCH_API_VERSION);
        assert_true(cJSON_IsTrue(get(owner, "controller")));
        assert_true(cJSON_IsTrue(get(owner, "blockOwnerDeletion")));
    }
    assert_string_equal(note_of(server, "plugin-svc"), "svc");
    assert_string_equal(note_of(server, "plugin-ssh"), "ssh");
    assert_string_equal(note_of(server, "plugin-env"), "env");
    /* No answer was lost: nothing was read, and nothing written twice. */
    assert_int_equal(asked(server, "GET "), 0);
    assert_in_range(asked(server, "PATCH " JOB_PATH), 2, 4);
    assert_int_equal(asked(server, "PATCH /api"),
                     asked(server, "PATCH " JOB_PATH) + asked(server, "PATCH " GROUP_PATH));
}

static void a_plugin_without_objects_costs_nothing(void **state)
{
    struct server *server = *state;

    submit(server, SPEC(2, "\"plugins\":{\"env\":[]}"));
    run(server, 200);
    assert_int_equal(asked(server, "PATCH " JOB_PATH), 1);
    assert_string_equal(note_of(server, "plugin-env"), "env");
    admit(server);
    run(server, 2000);
    move_pods(server, "Succeeded");
    run(server, 5000);
    assert_phase(server, "Completed");
    assert_string_equal(note_of(server, "plugin-env"), "");
    int writes = asked(server, "PATCH " JOB_PATH);
    assert_int_equal(asked(server, "POST /api/v1/namespaces/n/configmaps"), 0);
    run(server, 600000);
    assert_int_equal(asked(server, "PATCH " JOB_PATH), writes);
}

static void an_object_of_others_is_waited_for(void **state)
{
    struct server *server = *state;

    put(server, CONFIG_MAP, "{\"metadata\":{\"name\":\"j-svc\"},\"data\":{\"mine\":\"yes\"}}");
    submit(server, SPEC(2, "\"plugins\":{\"svc\":[]}"));
    run(server, 2000);
    admit(server);
    run(server, 60000);
    assert_int_equal(pods_of(server), 0);
    assert_phase(server, "Pending");
    assert_waits(server, "PluginError", "ConfigMap j-svc exists and belongs to nobody");
    assert_string_equal(text_at(get(object_at(server, CONFIG_MAP), "data"), "mine"), "yes");
    assert_int_equal(asked(server, "PATCH " CONFIG_MAP) + asked(server, "DELETE " CONFIG_MAP), 0);
    assert_in_range(asked(server, "POST /api/v1/namespaces/n/configmaps"), 5, 20);
    assert_string_equal(note_of(server, "plugin-svc"), "");
    drop(server, CONFIG_MAP);
    run(server, 120000);
    assert_int_equal(pods_of(server), 2);
    assert_string_equal(text_at(get(status_of(server), "state"), "message"), "");
    assert_string_equal(note_of(server, "plugin-svc"), "svc");
}

static void an_object_of_an_earlier_job_is_waited_for(void **state)
{
    struct server *server = *state;

    put(server, SERVICE,
        "{\"metadata\":{\"name\":\"j\",\"ownerReferences\":[{\"apiVersion\":"
        "\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"before\","
        "\"controller\":true}]}}");
    submit(server, SPEC(2, "\"plugins\":{\"svc\":[]}"));
    run(server, 2000);
    admit(server);
    run(server, 10000);
    assert_int_equal(pods_of(server), 0);
    assert_waits(server, "PluginError", "Service j exists and belongs to Job j");
    drop(server, SERVICE);
    run(server, 120000);
    assert_int_equal(pods_of(server), 2);
}

static void lost_answers_make_no_second_object(void **state)
{
    struct server *server = *state;

    server->fake->mute = true;
    submit(server, SPEC(2, SVC_SSH_ENV));
    run(server, 20000);
    assert_non_null(object_at(server, SECRET));
    cleanup_free char *uid = xstrdup(uid_of(server, SECRET));
    server->fake->mute = false;
    run(server, 120000);
    admit(server);
    run(server, 5000);
    assert_int_equal(pods_of(server), 2);
    assert_string_equal(uid_of(server, SECRET), uid);
    assert_int_equal(asked(server, "POST /api/v1/namespaces/n/secrets"), 1);
    assert_int_equal(asked(server, "POST /api/v1/namespaces/n/services"), 1);
    assert_int_equal(asked(server, "PATCH " CONFIG_MAP), 0);
    assert_string_equal(note_of(server, "plugin-ssh"), "ssh");
}

static void refusals_are_waited_for(void **state)
{
    static const int codes[] = {403, 429, 500};

    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        assert_int_equal(setup(state), 0);
        struct server *server = *state;
        server->refused = "POST /api/v1/namespaces/n/secrets";
        server->refusal = codes[i];
        submit(server, SPEC(2, SVC_SSH_ENV));
        run(server, 2000);
        admit(server);
        run(server, 60000);
        assert_int_equal(pods_of(server), 0);
        assert_phase(server, "Pending");
        if (codes[i] != 429) /* which the window waits for */
            assert_waits(server, "PluginError", "Secret j-ssh cannot be written: refused with");
        assert_in_range(asked(server, server->refused), 3, 70);
        server->refused = NULL;
        run(server, 120000);
        assert_int_equal(pods_of(server), 2);
        assert_string_equal(text_at(get(status_of(server), "state"), "message"), "");
        assert_int_equal(teardown(state), 0);
    }
}

static void an_object_that_can_never_be_ends_the_job(void **state)
{
    struct server *server = *state;

    server->refused = "POST /api/v1/namespaces/n/services";
    server->refusal = 422;
    submit(server, SPEC(2, "\"plugins\":{\"svc\":[]}"));
    run(server, 60000);
    assert_phase(server, "Failed");
    assert_waits(server, "PluginError", "Service j cannot be written: refused with 422");
    assert_int_equal(pods_of(server), 0);
    assert_in_range(asked(server, server->refused), 1, 2);
    /* What there was of the plugin has gone. */
    assert_null(object_at(server, CONFIG_MAP));
}

static void a_plugin_that_can_never_work_ends_the_job(void **state)
{
    struct server *server = *state;

    submit(server, SPEC(2, "\"plugins\":{\"ray\":[\"--head=boss\"]}"));
    run(server, 5000);
    assert_phase(server, "Failed");
    assert_waits(server, "PluginError", "boss");
}

/* ---- scaling -----------------------------------------------------------------------------------
 */

static const char *hosts_of(const struct server *server)
{
    return text_at(get(object_at(server, CONFIG_MAP), "data"), "w.host");
}

static void scale(struct server *server, const char *spec, const char *hosts, int writes)
{
    buf_reset(&server->log);
    apply(server, spec);
    run(server, 5000);
    move_pods(server, "Running");
    run(server, 5000);
    assert_string_equal(hosts_of(server), hosts);
    assert_int_equal(asked(server, "PATCH " CONFIG_MAP), writes);
    assert_int_equal(asked(server, "GET "), 0);
    assert_int_equal(asked(server, "PATCH " SECRET) + asked(server, "PATCH " SERVICE), 0);
}

static void hosts_follow_the_job_before_new_pods(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    cleanup_free char *secret = cJSON_PrintUnformatted(object_at(server, SECRET));
    assert_string_equal(hosts_of(server), "j-w-0.j\nj-w-1.j");
    scale(server, SPEC(4, SVC_SSH_ENV), "j-w-0.j\nj-w-1.j\nj-w-2.j\nj-w-3.j", 1);
    assert_true(place_of(server, "PATCH " CONFIG_MAP) < place_of(server, "POST " PODS));
    assert_int_equal(pods_of(server), 4);
    scale(server, SPEC(1, SVC_SSH_ENV), "j-w-0.j", 1);
    assert_int_equal(pods_of(server), 1);
    scale(server, SPEC(1, SVC_SSH_ENV), "j-w-0.j", 0);
    scale(server, SPEC(0, SVC_SSH_ENV), "", 1);
    assert_int_equal(pods_of(server), 0);
    assert_phase(server, "Running");
    scale(server, SPEC(3, SVC_SSH_ENV), "j-w-0.j\nj-w-1.j\nj-w-2.j", 1);
    assert_int_equal(pods_of(server), 3);
    cleanup_free char *now = cJSON_PrintUnformatted(object_at(server, SECRET));
    assert_string_equal(now, secret);
}

static void new_pods_wait_for_the_hosts(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    server->refused = "PATCH " CONFIG_MAP;
    server->refusal = 422;
    apply(server, SPEC(4, SVC_SSH_ENV));
    run(server, 30000);
    assert_int_equal(pods_of(server), 2);
    /* The pods that run are worth more than those that cannot be. */
    assert_phase(server, "Running");
    assert_waits(server, "PluginError", "ConfigMap j-svc cannot be written");
    server->refused = NULL;
    run(server, 120000);
    assert_int_equal(pods_of(server), 4);
    assert_string_equal(hosts_of(server), "j-w-0.j\nj-w-1.j\nj-w-2.j\nj-w-3.j");
}

static void hosts_that_went_are_made_again(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    drop(server, CONFIG_MAP);
    apply(server, SPEC(3, SVC_SSH_ENV));
    run(server, 10000);
    assert_string_equal(hosts_of(server), "j-w-0.j\nj-w-1.j\nj-w-2.j");
    assert_int_equal(pods_of(server), 3);
}

/* ---- another controller ------------------------------------------------------------------------
 */

static void another_controller_writes_nothing_again(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    replace_controller(server);
    if (server->log.n > 0)
        fail_msg("asked for: %s", server->log.p);
}

static void another_controller_lets_hosts_follow(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    replace_controller(server);
    apply(server, SPEC(3, SVC_SSH_ENV));
    run(server, 10000);
    assert_string_equal(hosts_of(server), "j-w-0.j\nj-w-1.j\nj-w-2.j");
    assert_int_equal(pods_of(server), 3);
    assert_int_equal(asked(server, "PATCH " CONFIG_MAP), 1);
    assert_int_equal(asked(server, "GET "), 1);
}

/* Scaled while no controller ran. */
static void another_controller_sees_that_hosts_are_old(void **state)
{
    struct server *server = *state;
    cJSON *job;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    job = object_at(server, JOB_PATH);
    cJSON_ReplaceItemInObjectCaseSensitive(job, "spec", cJSON_Parse(SPEC(3, SVC_SSH_ENV)));
    touch(server, job);
    replace_controller(server);
    assert_string_equal(hosts_of(server), "j-w-0.j\nj-w-1.j\nj-w-2.j");
    assert_true(place_of(server, "PATCH " CONFIG_MAP) < place_of(server, "POST " PODS));
    assert_int_equal(pods_of(server), 3);
}

/* What was made is there, but was not noted. */
static void another_controller_finds_what_was_made(void **state)
{
    struct server *server = *state;
    cJSON *patch = cJSON_Parse("{\"controlledResources\":null}");

    start_job(server, SPEC(2, SVC_SSH_ENV));
    cleanup_free char *uid = xstrdup(uid_of(server, SECRET));
    merge(cJSON_GetObjectItemCaseSensitive(object_at(server, JOB_PATH), "status"), patch);
    cJSON_Delete(patch);
    touch(server, object_at(server, JOB_PATH));
    replace_controller(server);
    assert_string_equal(uid_of(server, SECRET), uid);
    assert_int_equal(asked(server, "PATCH " CONFIG_MAP), 0);
    assert_int_equal(asked(server, "POST /api/v1/namespaces/n/pods"), 0);
    assert_string_equal(note_of(server, "plugin-ssh"), "ssh");
    assert_string_equal(note_of(server, "plugin-svc"), "svc");
}

/* ---- the end -----------------------------------------------------------------------------------
 */

static void assert_objects(const struct server *server, bool there)
{
    static const char *const paths[] = {CONFIG_MAP, SERVICE, SECRET, POLICY};

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_int_equal(object_at(server, paths[i]) != NULL, there);
    assert_string_equal(note_of(server, "plugin-svc"), there ? "svc" : "");
    assert_string_equal(note_of(server, "plugin-ssh"), there ? "ssh" : "");
    assert_int_equal(*note_of(server, "content-svc") != '\0', there);
}

static void objects_go_when_the_job_has_ended(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    buf_reset(&server->log);
    move_pods(server, "Succeeded");
    run(server, 10000);
    assert_phase(server, "Completed");
    assert_objects(server, false);
    assert_int_equal(asked(server, "GET "), 0);
    assert_int_equal(asked(server, "DELETE /api"), 5); /* with the PodGroup */
    assert_in_range(asked(server, "PATCH " JOB_PATH), 2, 3);
    assert_int_equal(get(status_of(server), "succeeded")->valueint, 2);
    buf_reset(&server->log);
    run(server, 600000);
    assert_int_equal(server->log.n, 0);
    replace_controller(server);
    assert_int_equal(server->log.n, 0);
}

/* The controller ended between the job's end and that of its objects. */
static void another_controller_takes_away_what_is_left(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    server->refused = "DELETE /api";
    server->refusal = 500;
    move_pods(server, "Succeeded");
    run(server, 5000);
    assert_phase(server, "Completed");
    assert_objects(server, true);
    server->refused = NULL;
    /* Meanwhile one has been replaced by an object of somebody else. */
    drop(server, SERVICE);
    put(server, SERVICE, "{\"metadata\":{\"name\":\"j\"}}");
    replace_controller(server);
    assert_non_null(object_at(server, SERVICE));
    assert_null(object_at(server, CONFIG_MAP));
    assert_null(object_at(server, SECRET));
    assert_null(object_at(server, POLICY));
    assert_string_equal(note_of(server, "plugin-svc"), "");
}

static void command(struct server *server, const char *name, const char *action)
{
    cleanup_free char *path =
        xasprintf("/apis/bus.volcano.sh/v1alpha1/namespaces/n/commands/%s", name);
    cleanup_free char *json = xasprintf(
        "{\"metadata\":{\"name\":\"%s\"},\"action\":\"%s\",\"target\":{\"apiVersion\":"
        "\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"" JOB_UID "\"}}",
        name, action);

    put(server, path, json);
    announce(server, server->controller->commands, path);
}

/* The pods that the controller deleted are gone. */
static void forget_pods(struct server *server)
{
    run(server, 5000);
    assert_int_equal(pods_of(server), 0);
}

static void objects_go_with_a_suspended_job_and_come_back(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    command(server, "stop", "AbortJob");
    forget_pods(server);
    run(server, 5000);
    assert_phase(server, "Aborted");
    assert_objects(server, false);
    command(server, "go", "ResumeJob");
    run(server, 10000);
    admit(server);
    run(server, 5000);
    assert_int_equal(pods_of(server), 2);
    assert_objects(server, true);
}

static void objects_stay_through_a_restart(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV
                           ",\"policies\":[{\"event\":\"PodFailed\",\"action\":\"RestartJob\"}]"));
    cleanup_free char *secret = cJSON_PrintUnformatted(object_at(server, SECRET));
    buf_reset(&server->log);
    move_pods(server, "Failed");
    run(server, 10000);
    admit(server);
    run(server, 10000);
    assert_int_equal(asked(server, "DELETE " PODS), 2);
    assert_int_equal(asked(server, "POST " PODS), 2);
    assert_int_equal(asked(server, "DELETE " SECRET) + asked(server, "DELETE " CONFIG_MAP) +
                         asked(server, "DELETE " SERVICE) + asked(server, "PATCH " CONFIG_MAP),
                     0);
    assert_int_equal(asked(server, "POST /api/v1/namespaces/n/secrets"), 0);
    cleanup_free char *now = cJSON_PrintUnformatted(object_at(server, SECRET));
    assert_string_equal(now, secret);
    assert_objects(server, true);
}

static void a_job_that_goes_asks_for_nothing_more(void **state)
{
    struct server *server = *state;

    server->fake->latency_ns = 100 * NSEC_PER_MSEC;
    submit(server, SPEC(2, SVC_SSH_ENV));
    run(server, 60);
    cleanup_free char *job = cJSON_PrintUnformatted(object_at(server, JOB_PATH));
    store_apply_deleted(server->controller->jobs, str_of(job));
    run(server, 1000);
    int before = (int)server->log.n;
    run(server, 60000);
    assert_int_equal(server->log.n, before);
    assert_int_equal(map_count(&server->controller->by_uid), 0);
}

/* ---- claims ------------------------------------------------------------------------------------
 */

static void a_claim_that_is_named_is_waited_for(void **state)
{
    struct server *server = *state;

    submit(server, SPEC(1, "\"volumes\":[{\"mountPath\":\"/d\",\"volumeClaimName\":\"data\"}]"));
    run(server, 2000);
    admit(server);
    run(server, 120000);
    assert_int_equal(pods_of(server), 0);
    assert_phase(server, "Pending");
    assert_waits(server, "PVCError", "data is not found");
    assert_in_range(asked(server, "GET " CLAIMS "/data"), 5, 20);
    assert_int_equal(asked(server, "POST " CLAIMS), 0);
    put(server, CLAIMS "/data", "{\"metadata\":{\"name\":\"data\"}}");
    run(server, 90000);
    assert_int_equal(pods_of(server), 1);
    assert_string_equal(note_of(server, "volume-pvc-data"), "data");
    assert_string_equal(text_at(get(status_of(server), "state"), "message"), "");
    replace_controller(server);
    assert_int_equal(server->log.n, 0);
}

static void claims_are_made_and_stay(void **state)
{
    struct server *server = *state;
    struct str path, found = STR_NULL;

    start_job(server, SPEC(1, "\"volumes\":[{\"mountPath\":\"/d\",\"volumeClaim\":{\"accessModes\":"
                              "[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":"
                              "\"1Gi\"}}}}]"));
    for (size_t i = 0; map_next(&server->objects, &i, &path, NULL);) {
        if (str_starts(path, STR(CLAIMS "/j-pvc-")))
            found = path;
    }
    assert_int_equal(asked(server, "POST " CLAIMS), 1);
    assert_true(place_of(server, "POST " CLAIMS) < place_of(server, "POST " PODS));
    cleanup_free char *at = str_dup(found);
    const cJSON *claim = object_at(server, at);
    assert_non_null(claim);
    cleanup_free char *spec = cJSON_PrintUnformatted(get(claim, "spec"));
    assert_string_equal(spec, "{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{"
                              "\"storage\":\"1Gi\"}}}");
    assert_string_equal(text_at(get(get(claim, "metadata"), "ownerReferences")->child, "uid"),
                        JOB_UID);
    cleanup_free char *key = xasprintf("volume-pvc-%s", strrchr(at, '/') + 1);
    assert_string_equal(note_of(server, key), strrchr(at, '/') + 1);
    move_pods(server, "Succeeded");
    run(server, 10000);
    assert_phase(server, "Completed");
    assert_non_null(object_at(server, at));
    assert_string_equal(note_of(server, key), strrchr(at, '/') + 1);
    assert_int_equal(asked(server, "DELETE " CLAIMS), 0);
}

/* Admission forbids it, but admission can be away. */
static void a_job_whose_volumes_change_is_taken_as_it_is(void **state)
{
    struct server *server = *state;

    submit(server, SPEC(1, "\"volumes\":[{\"mountPath\":\"/d\",\"volumeClaimName\":\"a\"},{"
                           "\"mountPath\":\"/e\",\"volumeClaimName\":\"b\"}]"));
    run(server, 2000);
    apply(server, SPEC(1, "\"volumes\":[{\"mountPath\":\"/d\",\"volumeClaimName\":\"a\"}]"));
    run(server, 2000);
    apply(server, SPEC(1, "\"minSuccess\":1"));
    run(server, 2000);
    admit(server);
    run(server, 5000);
    assert_int_equal(pods_of(server), 1);
}

/* ---- keys --------------------------------------------------------------------------------------
 */

static struct str decoded(const struct server *server, const char *key, struct buf *out)
{
    const char *value = text_at(get(object_at(server, SECRET), "data"), key);

    assert_true(base64_decode(out, str_of(value)));
    return buf_str(out);
}

static void the_secret_has_a_key_pair(void **state)
{
    struct server *server = *state;
    cleanup_buf struct buf secret = BUF_INIT(1 << 16), open = BUF_INIT(1 << 16),
                           authorized = BUF_INIT(1 << 16), config = BUF_INIT(1 << 16);

    start_job(server, SPEC(1, SVC_SSH_ENV));
    assert_true(
        str_starts(decoded(server, "id_rsa", &secret), STR("-----BEGIN RSA PRIVATE KEY-----\n")));
    assert_true(str_starts(decoded(server, "id_rsa.pub", &open), STR("ssh-rsa AAAAB3NzaC1yc2EA")));
    assert_true(str_eq(decoded(server, "authorized_keys", &authorized), buf_str(&open)));
    assert_str(decoded(server, "config", &config),
               "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nHost j-w-0\n  HostName "
               "j-w-0.j\n  Port 22\n");
}

int main(void)
{
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);

    log_set_fd(quiet);
    const struct CMUnitTest all[] = {
        cmocka_unit_test_setup_teardown(objects_are_there_before_the_first_pod, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plugin_without_objects_costs_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(an_object_of_others_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(an_object_of_an_earlier_job_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(lost_answers_make_no_second_object, setup, teardown),
        cmocka_unit_test(refusals_are_waited_for),
        cmocka_unit_test_setup_teardown(an_object_that_can_never_be_ends_the_job, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plugin_that_can_never_work_ends_the_job, setup, teardown),
        cmocka_unit_test_setup_teardown(hosts_follow_the_job_before_new_pods, setup, teardown),
        cmocka_unit_test_setup_teardown(new_pods_wait_for_the_hosts, setup, teardown),
        cmocka_unit_test_setup_teardown(hosts_that_went_are_made_again, setup, teardown),
        cmocka_unit_test_setup_teardown(another_controller_writes_nothing_again, setup, teardown),
        cmocka_unit_test_setup_teardown(another_controller_lets_hosts_follow, setup, teardown),
        cmocka_unit_test_setup_teardown(another_controller_sees_that_hosts_are_old, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(another_controller_finds_what_was_made, setup, teardown),
        cmocka_unit_test_setup_teardown(objects_go_when_the_job_has_ended, setup, teardown),
        cmocka_unit_test_setup_teardown(another_controller_takes_away_what_is_left, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(objects_go_with_a_suspended_job_and_come_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(objects_stay_through_a_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_that_goes_asks_for_nothing_more, setup, teardown),
        cmocka_unit_test_setup_teardown(a_claim_that_is_named_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(claims_are_made_and_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_whose_volumes_change_is_taken_as_it_is, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_secret_has_a_key_pair, setup, teardown),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
