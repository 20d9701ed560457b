/*
 * Leases of one namespace in memory, on a virtual clock, with list and watch: what members of the
 * active controllers need of an API server. Each client has a transport of its own.
 */
#ifndef PUMICE_TESTS_UNIT_CONTROLLER_LEASE_SERVER_H
#define PUMICE_TESTS_UNIT_CONTROLLER_LEASE_SERVER_H

#include "testing.h"

#include "base/map.h"
#include "base/vec.h"
#include "edit.h"
#include "kube/fake_transport.h"
#include <stdio.h>

#define LEASES_PATH "/apis/coordination.k8s.io/v1/namespaces/sys/leases"

struct lease_event {
    uint64_t rv;
    char *line; /* owned */
};

struct lease_client;

struct lease_server {
    struct loop *loop;
    struct map objects; /* name -> cJSON, owned */
    VEC(struct lease_event) events;
    VEC(struct lease_client *) clients; /* borrowed */
    uint64_t rv;
    unsigned serial;
    unsigned puts, posts, deletes, gets, lists;
};

struct lease_client {
    struct lease_server *server;
    struct fake_transport *fake;
    struct kube_call *watch; /* NULL: none */
    uint64_t told;           /* the version that its watch is at */
    struct loop_timer tell;
    int64_t lag_ns;
    int refuse_deletes;  /* an HTTP status; 0: take them */
    const char *undying; /* the only Lease whose deletion is refused; NULL: all are alike */
    bool mute_posts;     /* they take effect, and nobody hears of it */
};

/* ---- watches --------------------------------------------------------------------------------- */

/* Tells what has happened `lag_ns` ago, which is all there is when the timer fires. */
static inline void lease_client_tell(void *arg)
{
    struct lease_client *client = arg;
    for (size_t i = 0; client->watch && i < client->server->events.n; i++) {
        const struct lease_event *event = &client->server->events.items[i];
        if (event->rv <= client->told)
            continue;
        client->told = event->rv;
        (void)client->watch->spec.on_data(str_of(event->line), client->watch->spec.arg);
    }
}

static inline void lease_server_note(struct lease_server *server, const char *type,
                                     const cJSON *object)
{
    cleanup_free char *text = json_print(object);
    vec_push(&server->events,
             ((struct lease_event){server->rv,
                                   xasprintf("{\"type\":\"%s\",\"object\":%s}\n", type, text)}));
    for (size_t i = 0; i < server->clients.n; i++)
        loop_timer_set_earlier(server->loop, &server->clients.items[i]->tell,
                               server->clients.items[i]->lag_ns);
}

/* ---- objects --------------------------------------------------------------------------------- */

static inline void lease_server_stamp(struct lease_server *server, cJSON *object)
{
    char rv[24];
    (void)snprintf(rv, sizeof(rv), "%llu", (unsigned long long)++server->rv);
    json_set(json_member(object, "metadata"), "resourceVersion", cJSON_CreateString(rv));
}

static inline const char *lease_server_rv(const cJSON *object)
{
    return json_text(json_at(object, "metadata"), "resourceVersion");
}

static inline void lease_server_remove(struct lease_server *server, const char *name)
{
    cJSON *object = map_del(&server->objects, str_of(name));
    assert_non_null(object);
    lease_server_stamp(server, object);
    lease_server_note(server, "DELETED", object);
    cJSON_Delete(object);
}

static inline int lease_server_refuse(struct buf *body, int code, const char *reason)
{
    buf_printf(body, "{\"kind\":\"Status\",\"reason\":\"%s\",\"code\":%d}", reason, code);
    return code;
}

static inline int lease_server_answer(const cJSON *object, struct buf *body, int code)
{
    cleanup_free char *text = json_print(object);
    buf_add_cstr(body, text);
    return code;
}

static inline int lease_server_write(struct lease_server *server, const char *name,
                                     const struct kube_call_spec *spec, struct buf *body)
{
    cJSON *object = json_parse(spec->body), *before = map_get(&server->objects, str_of(name));
    const bool create = spec->method == KUBE_POST;
    server->posts += create;
    server->puts += !create;
    if (create ? before != NULL
               : !before || strcmp(lease_server_rv(before), lease_server_rv(object)) != 0) {
        cJSON_Delete(object);
        return create || before
                   ? lease_server_refuse(body, 409, create ? "AlreadyExists" : "Conflict")
                   : lease_server_refuse(body, 404, "NotFound");
    }
    if (create) {
        cleanup_free char *uid = xasprintf("uid-%u", ++server->serial);
        json_set(json_member(object, "metadata"), "uid", cJSON_CreateString(uid));
    }
    lease_server_stamp(server, object);
    cJSON_Delete(map_set(&server->objects, str_of(name), object));
    lease_server_note(server, create ? "ADDED" : "MODIFIED", object);
    return lease_server_answer(object, body, create ? 201 : 200);
}

static inline int lease_server_delete(struct lease_client *client, const char *name,
                                      const struct kube_call_spec *spec, struct buf *body)
{
    struct lease_server *server = client->server;
    cJSON *object = map_get(&server->objects, str_of(name));
    server->deletes++;
    if (client->refuse_deletes && (!client->undying || strcmp(client->undying, name) == 0))
        return lease_server_refuse(body, client->refuse_deletes, "Forbidden");
    if (!object)
        return lease_server_refuse(body, 404, "NotFound");
    cleanup_free char *uid =
        xasprintf("\"uid\":\"%s\"", json_text(json_at(object, "metadata"), "uid"));
    if (str_find(spec->body, str_of(uid)) < 0)
        return lease_server_refuse(body, 409, "Conflict");
    lease_server_remove(server, name);
    buf_add_cstr(body, "{\"kind\":\"Status\",\"status\":\"Success\"}");
    return 200;
}

static inline int lease_server_list(struct lease_server *server, struct buf *body)
{
    const char *comma = "";
    void *value;
    server->lists++;
    buf_printf(body, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"items\":[",
               (unsigned long long)server->rv);
    for (size_t i = 0; map_next(&server->objects, &i, NULL, &value);) {
        buf_add_cstr(body, comma);
        (void)lease_server_answer(value, body, 200);
        comma = ",";
    }
    buf_add_cstr(body, "]}");
    return 200;
}

/* ---- requests -------------------------------------------------------------------------------- */

static inline int lease_server_serve(void *arg, const struct kube_call_spec *spec, struct buf *body)
{
    struct lease_client *client = arg;
    struct lease_server *server = client->server;
    struct str path = spec->path;
    const ptrdiff_t query = str_chr(path, '?');
    if (query >= 0)
        path = str_sub(path, 0, (size_t)query);
    assert_true(str_starts(path, STR(LEASES_PATH)));
    path = str_from(path, strlen(LEASES_PATH) + 1);
    cleanup_free char *name = str_dup(path);
    if (spec->method == KUBE_POST) {
        cJSON *object = json_parse(spec->body);
        cleanup_free char *made = xstrdup(json_text(json_at(object, "metadata"), "name"));
        cJSON_Delete(object);
        return lease_server_write(server, made, spec, body);
    }
    if (spec->method == KUBE_PUT)
        return lease_server_write(server, name, spec, body);
    if (spec->method == KUBE_DELETE)
        return lease_server_delete(client, name, spec, body);
    if (!*name)
        return lease_server_list(server, body);
    server->gets++;
    cJSON *object = map_get(&server->objects, path);
    return object ? lease_server_answer(object, body, 200)
                  : lease_server_refuse(body, 404, "NotFound");
}

static inline struct lease_client *lease_client_of(struct kube_transport *base)
{
    return container_of(base, struct fake_transport, base)->arg;
}

static inline struct kube_call *lease_client_start(struct kube_transport *base,
                                                   const struct kube_call_spec *spec)
{
    struct lease_client *client = lease_client_of(base);
    struct kube_call *call = fake_start(base, spec);
    const bool mute = client->mute_posts && spec->method == KUBE_POST;
    if (mute)
        call->fake->mute = true;
    if (!spec->watch)
        return call;
    loop_timer_cancel(call->fake->loop, &call->timer);
    const ptrdiff_t at = str_find(spec->path, STR("resourceVersion="));
    struct str rest = str_from(spec->path, (size_t)at + strlen("resourceVersion=")), version;
    (void)str_split(&rest, '&', &version);
    assert_true(str_to_u64(version, &client->told));
    client->watch = call;
    loop_timer_set(client->server->loop, &client->tell, client->lag_ns);
    return call;
}

static inline void lease_client_cancel(struct kube_transport *base, struct kube_call *call)
{
    struct lease_client *client = lease_client_of(base);
    if (client->watch == call)
        client->watch = NULL;
    fake_cancel(base, call);
}

/* ---- life ------------------------------------------------------------------------------------ */

static inline void lease_client_init(struct lease_client *client, struct lease_server *server)
{
    static const struct kube_transport_ops ops = {
        .start = lease_client_start, .cancel = lease_client_cancel, .free = fake_free};
    *client = (struct lease_client){.server = server, .lag_ns = 5 * NSEC_PER_MSEC};
    client->fake = fake_new(server->loop, lease_server_serve, client);
    client->fake->base.ops = &ops;
    loop_timer_init(&client->tell, lease_client_tell, client);
    vec_push(&server->clients, client);
}

static inline void lease_client_clear(struct lease_client *client)
{
    struct lease_server *server = client->server;
    loop_timer_cancel(server->loop, &client->tell);
    kube_transport_free(&client->fake->base);
    for (size_t i = 0; i < server->clients.n; i++)
        if (server->clients.items[i] == client) {
            vec_remove(&server->clients, i);
            break;
        }
}

static inline void lease_server_free_object(void *object)
{
    cJSON_Delete(object);
}

static inline void lease_server_clear(struct lease_server *server)
{
    map_clear_with(&server->objects, lease_server_free_object);
    for (size_t i = 0; i < server->events.n; i++)
        free(server->events.items[i].line);
    vec_clear(&server->events);
    vec_clear(&server->clients);
}

#endif
