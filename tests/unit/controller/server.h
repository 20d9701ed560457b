/*
 * A small API server in memory on a virtual clock, with the controller in front of it: what the
 * controller asks for, how often, and what it makes of refusals, lost answers and late news.
 *
 * It keeps one namespace ("n") of Jobs, Pods, PodGroups and Commands; it merges patches, checks UID
 * preconditions, lets pods go after a grace time, and tells of every change through the
 * controller's stores, as a watch would, after `lag_ms`. The controller can be ended and begun anew
 * over the same objects. A test plays user, scheduler and kubelet through server_*.
 */
#ifndef PUMICE_TESTS_UNIT_CONTROLLER_SERVER_H
#define PUMICE_TESTS_UNIT_CONTROLLER_SERVER_H

#include "testing.h"

#include "api/names.h"
#include "base/log.h"
#include "base/map.h"
#include "controller/controller.h"
#include "controller/job/control.h"
#include "edit.h"
#include "kube/fake_transport.h"
#include <fcntl.h>
#include <stdio.h>

enum server_kind { SERVER_JOBS, SERVER_PODS, SERVER_GROUPS, SERVER_COMMANDS, SERVER_KIND_COUNT };

struct server;

/* Something that happens later: news for a store, or the end of a pod's grace. */
struct server_later {
    struct list link;
    struct server *server;
    struct loop_timer timer;
    enum server_kind kind;
    bool deleted; /* news: of a deletion */
    char *text;   /* owned; news: the object; else the pod's name */
    char *uid;    /* owned; NULL: news */
};

/* An HTTP status to answer instead of doing what is asked; 0: do it. */
typedef int server_fault(struct server *server, const struct kube_call_spec *spec);

struct server {
    struct loop *loop;
    struct fake_transport *fake;
    struct window *window;
    struct event_recorder *events;
    struct controller *controller;         /* NULL while there is none */
    struct map objects[SERVER_KIND_COUNT]; /* name -> cJSON, owned */
    struct map made;                       /* name of a pod -> how often it was made */
    struct list later;
    int64_t news_due[SERVER_KIND_COUNT]; /* what is told of one kind keeps its order */
    uint64_t rv;
    unsigned serial;  /* in UIDs */
    int64_t lag_ms;   /* of the watches */
    int64_t grace_ms; /* of pods that are deleted; 0: they are gone at once */
    int refuse_pods;  /* HTTP status for pod creates, 0: take them */
    const char *refusal;
    size_t pod_limit; /* a quota: more pods than this are refused */
    server_fault *fault;
    bool stubborn_groups;    /* patches of PodGroups change nothing */
    const char *group_phase; /* of PodGroups that are made; NULL: none */
    const char *pod_phase;   /* of pods that are made; NULL: none */
    size_t pod_posts, pod_deletes, group_posts, group_patches, group_deletes, status_writes;
    size_t command_deletes, event_posts, event_patches;
    size_t asked;      /* all requests but those of Events */
    struct buf said;   /* a line an Event: "Reason: message" */
    struct buf phases; /* a line a status write: "Phase terminating" */
    struct buf log;    /* a line a write: "DELETE pods/j-w-0" */
    char *text;        /* owned; of the last server_status */
};

#define JOB_UID "11111111-2222-3333-4444-555555555555"
#define GROUP_NAME "j-" JOB_UID

static inline bool has(struct str text, const char *part)
{
    return str_find(text, str_of(part)) >= 0;
}

/* ---- news --------------------------------------------------------------------------------------
 */

static inline struct store *server_store(struct server *server, enum server_kind kind)
{
    struct controller *controller = server->controller;
    struct store *const stores[] = {[SERVER_JOBS] = controller->jobs,
                                    [SERVER_PODS] = controller->pods,
                                    [SERVER_GROUPS] = controller->podgroups,
                                    [SERVER_COMMANDS] = controller->commands};

    return stores[kind];
}

static inline void server_later_free(struct server_later *later)
{
    loop_timer_cancel(later->server->loop, &later->timer);
    list_remove(&later->link);
    free(later->text);
    free(later->uid);
    free(later);
}

/* A watch begins after its list: what the list may not show is told when it is there. */
static inline void server_tell_now(void *arg)
{
    struct server_later *later = arg;
    struct store *store = server_store(later->server, later->kind);

    if (!store_synced(store)) {
        loop_timer_set(later->server->loop, &later->timer, NSEC_PER_MSEC);
        return;
    }
    if (later->deleted)
        store_apply_deleted(store, str_of(later->text));
    else
        (void)store_apply(store, str_of(later->text));
    server_later_free(later);
}

static inline struct server_later *server_later_new(struct server *server, enum server_kind kind,
                                                    loop_fn *fn)
{
    struct server_later *later = xnew(struct server_later);

    later->server = server;
    later->kind = kind;
    loop_timer_init(&later->timer, fn, later);
    list_append(&server->later, &later->link);
    return later;
}

/* Tells the controller of the object as it is now. */
static inline void server_tell(struct server *server, enum server_kind kind, const cJSON *object,
                               bool deleted)
{
    int64_t due = loop_now(server->loop) + server->lag_ms * NSEC_PER_MSEC;

    if (!server->controller)
        return;
    if (due < server->news_due[kind])
        due = server->news_due[kind];
    server->news_due[kind] = due;
    struct server_later *later = server_later_new(server, kind, server_tell_now);
    later->deleted = deleted;
    later->text = json_print(object);
    if (due <= loop_now(server->loop))
        server_tell_now(later);
    else
        loop_timer_set(server->loop, &later->timer, due - loop_now(server->loop));
}

/* ---- objects -----------------------------------------------------------------------------------
 */

static inline cJSON *server_get(struct server *server, enum server_kind kind, const char *name)
{
    return map_get(&server->objects[kind], str_of(name));
}

/* The object has changed. */
static inline void server_touch(struct server *server, enum server_kind kind, cJSON *object)
{
    char rv[24];

    (void)snprintf(rv, sizeof(rv), "%llu", (unsigned long long)++server->rv);
    json_set(json_member(object, "metadata"), "resourceVersion", cJSON_CreateString(rv));
    server_tell(server, kind, object, false);
}

/* Takes the object; `uid` NULL makes one. */
static inline cJSON *server_put(struct server *server, enum server_kind kind, cJSON *object,
                                const char *uid)
{
    cJSON *meta = json_member(object, "metadata");
    cleanup_free char *made = xasprintf("%s-uid-%u", json_text(meta, "name"), ++server->serial);

    json_set(meta, "namespace", cJSON_CreateString("n"));
    json_set(meta, "uid", cJSON_CreateString(uid ? uid : made));
    if (!json_at(meta, "creationTimestamp"))
        json_set_time(meta, "creationTimestamp", loop_wall(server->loop));
    map_set(&server->objects[kind], str_of(json_text(meta, "name")), object);
    server_touch(server, kind, object);
    return object;
}

static inline void server_remove(struct server *server, enum server_kind kind, const char *name)
{
    cJSON *object = map_del(&server->objects[kind], str_of(name));
    char rv[24];

    assert_non_null(object);
    (void)snprintf(rv, sizeof(rv), "%llu", (unsigned long long)++server->rv);
    json_set(json_member(object, "metadata"), "resourceVersion", cJSON_CreateString(rv));
    server_tell(server, kind, object, true);
    cJSON_Delete(object);
}

static inline void server_grace_over(void *arg)
{
    struct server_later *later = arg;
    cJSON *pod = server_get(later->server, later->kind, later->text);

    if (pod && strcmp(json_text(json_at(pod, "metadata"), "uid"), later->uid) == 0)
        server_remove(later->server, later->kind, later->text);
    server_later_free(later);
}

/* Deletes a pod as anybody may: it has its grace time. */
static inline void server_delete_pod(struct server *server, const char *name)
{
    cJSON *pod = server_get(server, SERVER_PODS, name), *meta = json_at(pod, "metadata");

    assert_non_null(pod);
    if (json_at(meta, "deletionTimestamp"))
        return;
    if (server->grace_ms == 0) {
        server_remove(server, SERVER_PODS, name);
        return;
    }
    json_set_time(meta, "deletionTimestamp",
                  loop_wall(server->loop) + server->grace_ms * NSEC_PER_MSEC);
    json_set(meta, "deletionGracePeriodSeconds",
             cJSON_CreateNumber((double)(server->grace_ms / 1000)));
    struct server_later *later = server_later_new(server, SERVER_PODS, server_grace_over);
    later->text = xstrdup(name);
    later->uid = xstrdup(json_text(meta, "uid"));
    loop_timer_set(server->loop, &later->timer, server->grace_ms * NSEC_PER_MSEC);
    server_touch(server, SERVER_PODS, pod);
}

/* ---- requests ----------------------------------------------------------------------------------
 */

static inline int server_refuse(struct buf *body, int code, const char *reason, const char *message)
{
    buf_printf(body,
               "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"%s\","
               "\"message\":\"%s\",\"code\":%d}",
               reason, message, code);
    return code;
}

static inline int server_answer(struct buf *body, const cJSON *object, int code)
{
    cleanup_free char *text = json_print(object);

    buf_add_cstr(body, text);
    return code;
}

static inline int server_refuse_pod(struct server *server, const char *name, struct buf *body)
{
    cleanup_free char *text = xasprintf("pods \\\"%s\\\" is forbidden: exceeded quota: rq", name);

    if (server->refuse_pods)
        return server_refuse(body, server->refuse_pods,
                             server->refuse_pods == 422 ? "Invalid" : "Forbidden", server->refusal);
    if (server->pod_limit && map_count(&server->objects[SERVER_PODS]) >= server->pod_limit)
        return server_refuse(body, 403, "Forbidden", text);
    return 0;
}

/* What scheduler and kubelet would do at once. */
static inline void server_set_phase(struct server *server, enum server_kind kind, cJSON *object)
{
    const char *phase = kind == SERVER_PODS     ? server->pod_phase
                        : kind == SERVER_GROUPS ? server->group_phase
                                                : NULL;

    if (phase)
        json_set(json_member(object, "status"), "phase", cJSON_CreateString(phase));
    if (kind == SERVER_PODS) {
        const char *name = json_text(json_at(object, "metadata"), "name");
        intptr_t times = (intptr_t)map_get(&server->made, str_of(name));
        (void)map_set(&server->made, str_of(name), (void *)(times + 1));
    }
}

static inline int server_create(struct server *server, enum server_kind kind, struct str request,
                                struct buf *body)
{
    cJSON *object = json_parse(request);
    const char *name = json_text(json_at(object, "metadata"), "name");
    int refused = 0;

    server->pod_posts += kind == SERVER_PODS;
    server->group_posts += kind == SERVER_GROUPS;
    buf_printf(&server->log, "POST %s\n", name);
    if (kind == SERVER_PODS)
        refused = server_refuse_pod(server, name, body);
    if (!refused && server_get(server, kind, name))
        refused = server_refuse(body, 409, "AlreadyExists", "exists");
    if (refused) {
        cJSON_Delete(object);
        return refused;
    }
    server_set_phase(server, kind, object);
    return server_answer(body, server_put(server, kind, object, NULL), 201);
}

static inline void server_note_phase(struct server *server, const cJSON *job)
{
    const cJSON *status = json_at(job, "status");

    server->status_writes++;
    buf_printf(&server->phases, "%s %d\n", json_text(json_at(status, "state"), "phase"),
               json_number(status, "terminating"));
}

static inline int server_patch(struct server *server, enum server_kind kind, cJSON *object,
                               struct str request, struct buf *body)
{
    cJSON *patch = json_parse(request);
    const char *uid = json_text(json_at(patch, "metadata"), "uid");
    const char *rv = json_text(json_at(patch, "metadata"), "resourceVersion");
    /* Of a patch of the status of a custom object the API server does not look at the UID. */
    const bool same =
        kind == SERVER_JOBS || strcmp(uid, json_text(json_at(object, "metadata"), "uid")) == 0;
    const bool old = *rv && strcmp(rv, json_text(json_at(object, "metadata"), "resourceVersion"));

    if (!same || old) {
        cJSON_Delete(patch);
        return server_refuse(body, 409, "Conflict",
                             same ? "the object has been modified"
                                  : "Precondition failed: UID in precondition");
    }
    if (kind == SERVER_JOBS) {
        json_merge(json_member(object, "status"), json_at(patch, "status"));
        server_note_phase(server, object);
    } else {
        server->group_patches++;
        if (!server->stubborn_groups)
            json_merge(object, patch);
    }
    cJSON_Delete(patch);
    if (kind == SERVER_JOBS || !server->stubborn_groups)
        server_touch(server, kind, object);
    return server_answer(body, object, 200);
}

static inline int server_delete(struct server *server, enum server_kind kind, const char *name,
                                struct str request, struct buf *body)
{
    cJSON *options = json_parse(request), *object = server_get(server, kind, name);
    const char *uid = json_text(json_at(options, "preconditions"), "uid");
    const bool same = strcmp(uid, json_text(json_at(object, "metadata"), "uid")) == 0;

    cJSON_Delete(options);
    if (!same)
        return server_refuse(body, 409, "Conflict", "Precondition failed: UID in precondition");
    server->pod_deletes += kind == SERVER_PODS;
    server->group_deletes += kind == SERVER_GROUPS;
    server->command_deletes += kind == SERVER_COMMANDS;
    buf_printf(&server->log, "DELETE %s\n", name);
    if (kind == SERVER_PODS)
        server_delete_pod(server, name);
    else
        server_remove(server, kind, name);
    if (server_get(server, kind, name))
        return server_answer(body, server_get(server, kind, name), 200);
    buf_add_cstr(body, "{\"kind\":\"Status\",\"status\":\"Success\"}");
    return 200;
}

static inline int server_list(struct server *server, enum server_kind kind, struct buf *body)
{
    const char *comma = "";
    void *value;

    buf_printf(body, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"items\":[",
               (unsigned long long)server->rv);
    for (size_t i = 0;
         kind < SERVER_KIND_COUNT && map_next(&server->objects[kind], &i, NULL, &value);) {
        buf_add_cstr(body, comma);
        (void)server_answer(body, value, 200);
        comma = ",";
    }
    buf_add_cstr(body, "]}");
    return 200;
}

static inline int server_event(struct server *server, const struct kube_call_spec *spec,
                               struct buf *body)
{
    if (spec->method == KUBE_PATCH) {
        server->event_patches++;
        buf_add_cstr(body, "{}");
        return 200;
    }
    cJSON *event = json_parse(spec->body);
    server->event_posts++;
    buf_printf(&server->said, "%s: %s\n", json_text(event, "reason"), json_text(event, "message"));
    cJSON_Delete(event);
    buf_add_str(body, spec->body);
    return 201;
}

static inline enum server_kind server_kind_of(struct str path)
{
    static const char *const plurals[] = {"/jobs", "/pods", "/podgroups", "/commands"};
    int kind = 0;

    while (kind < SERVER_KIND_COUNT && !has(path, plurals[kind]))
        kind++;
    return (enum server_kind)kind;
}

/* The name in a path, "" in one of a whole resource. */
static inline void server_name_of(struct str path, char *name, size_t size)
{
    ptrdiff_t at = str_find(path, STR("/namespaces/n/"));
    struct str rest = at < 0 ? STR_NULL : str_from(path, (size_t)at + 14), part;

    (void)str_split(&rest, '/', &part);
    if (str_split(&rest, '/', &part))
        (void)snprintf(name, size, "%.*s", STR_ARG(part));
    else
        (void)snprintf(name, size, "%.*s", STR_ARG(at < 0 ? STR_NULL : rest));
}

static inline int server_handle(void *arg, const struct kube_call_spec *spec, struct buf *body)
{
    struct server *server = arg;
    const enum server_kind kind = server_kind_of(spec->path);
    int fault = server->fault ? server->fault(server, spec) : 0;
    char name[256];

    if (has(spec->path, "/events"))
        return server_event(server, spec, body);
    server->asked++;
    if (fault)
        return server_refuse(body, fault, fault == 409 ? "Conflict" : "InternalError", "a fault");
    if (!has(spec->path, "/namespaces/n/"))
        return server_list(server, kind, body);
    if (spec->method == KUBE_POST)
        return server_create(server, kind, spec->body, body);
    server_name_of(spec->path, name, sizeof(name));
    cJSON *object = server_get(server, kind, name);
    if (!object)
        return server_refuse(body, 404, "NotFound", "not found");
    if (spec->method == KUBE_PATCH)
        return server_patch(server, kind, object, spec->body, body);
    if (spec->method == KUBE_DELETE)
        return server_delete(server, kind, name, spec->body, body);
    return server_answer(body, object, 200);
}

/* Watches stay open and silent. */
static inline struct kube_call *server_start_call(struct kube_transport *base,
                                                  const struct kube_call_spec *spec)
{
    struct kube_call *call = fake_start(base, spec);

    if (spec->watch)
        loop_timer_cancel(call->fake->loop, &call->timer);
    return call;
}

/* ---- life --------------------------------------------------------------------------------------
 */

static inline void server_nothing(void *arg)
{
    (void)arg;
}

/* Time goes on, also when there is nothing to do. */
static inline void run(struct server *server, int64_t ms)
{
    int64_t end = loop_now(server->loop) + ms * NSEC_PER_MSEC;
    struct loop_timer timer;

    loop_timer_init(&timer, server_nothing, NULL);
    loop_timer_set(server->loop, &timer, ms * NSEC_PER_MSEC);
    while (loop_now(server->loop) < end)
        (void)loop_turn(server->loop, end - loop_now(server->loop));
    loop_timer_cancel(server->loop, &timer);
}

/* A controller begins, with its lists still to come. */
static inline void server_begin(struct server *server)
{
    server->events = event_recorder_new(server->loop, server->window, "test");
    server->controller =
        controller_new(server->loop, &server->fake->base, server->window, server->events);
    controller_set_leading(server->controller, true);
}

/* The controller ends in the middle of whatever it does: what was sent may take effect. */
static inline void server_end(struct server *server)
{
    struct controller *controller = server->controller;

    server->controller = NULL;
    controller_free(controller);
    event_recorder_free(server->events);
    list_each(link, &server->later)
    {
        struct server_later *later = container_of(link, struct server_later, link);
        if (!later->uid)
            server_later_free(later);
    }
}

static inline void server_restart(struct server *server)
{
    server_end(server);
    server_begin(server);
    run(server, 100);
}

static inline int server_setup(void **state)
{
    static const struct kube_transport_ops ops = {
        .start = server_start_call, .cancel = fake_cancel, .free = fake_free};
    struct server *server = xnew(struct server);

    server->rv = 100;
    list_init(&server->later);
    buf_init(&server->said, (size_t)16 << 20);
    buf_init(&server->phases, (size_t)16 << 20);
    buf_init(&server->log, (size_t)16 << 20);
    server->loop = loop_new_virtual(1, INT64_C(1800000000) * NSEC_PER_SEC);
    server->fake = fake_new(server->loop, server_handle, server);
    server->fake->base.ops = &ops;
    server->window = window_new(server->loop, &server->fake->base, &(struct window_config){0});
    server_begin(server);
    run(server, 100);
    *state = server;
    return 0;
}

/* What the controller logs is not what a test says. */
static inline void server_quiet(void)
{
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
}

static inline void server_free_object(void *object)
{
    cJSON_Delete(object);
}

static inline int server_teardown(void **state)
{
    struct server *server = *state;

    server_end(server);
    list_each(link, &server->later)
        server_later_free(container_of(link, struct server_later, link));
    window_free(server->window);
    kube_transport_free(&server->fake->base);
    loop_free(server->loop);
    for (int kind = 0; kind < SERVER_KIND_COUNT; kind++)
        map_clear_with(&server->objects[kind], server_free_object);
    map_clear(&server->made);
    buf_clear(&server->said);
    buf_clear(&server->phases);
    buf_clear(&server->log);
    free(server->text);
    free(server);
    return 0;
}

#endif
