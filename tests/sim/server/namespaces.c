/*
 * Namespaces: a new one gets its default service account, one that is deleted is emptied first. See
 * controllers.h.
 */
#include "server/controllers.h"

static void make_account(struct sim_server *server, struct str ns)
{
    cleanup_buf struct buf path = BUF_INIT(4096);
    struct sim_answer answer = SIM_ANSWER_INIT;
    const struct sim_request request = {.method = KUBE_POST,
                                        .body = STR("{\"metadata\":{\"name\":\"default\"}}")};
    struct sim_request asked = request;
    buf_printf(&path, "/api/v1/namespaces/%.*s/serviceaccounts", STR_ARG(ns));
    asked.path = buf_str(&path);
    sim_server_handle(server, &asked, &answer); /* 409 when it is there */
    buf_clear(&answer.body);
}

/* Deletes all of a resource in a namespace; true when nothing is left. */
static bool empty(struct sim_server *server, const struct sim_resource *resource, struct str ns)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct str from = arena_printf(&arena, "%.*s/", STR_ARG(ns));
    VEC(char *) uids = {NULL, 0, 0};
    bool left = false;
    for (struct sim_object *one = sim_store_from(&server->store, resource, from);
         one && sim_key_in(str_of(one->key), ns); one = sim_object_next(one))
        vec_push(&uids, xstrdup(one->uid));
    for (size_t i = 0; i < uids.n; i++) {
        struct sim_object *one = sim_store_by_uid(&server->store, str_of(uids.items[i]));
        if (one && !one->terminating)
            sim_controller_delete(server, one, STR("Background"));
        left |= sim_store_by_uid(&server->store, str_of(uids.items[i])) != NULL;
        free(uids.items[i]);
    }
    vec_clear(&uids);
    return !left;
}

static void finish(struct sim_server *server, struct sim_object *object)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct doc *old = sim_version_doc(&arena, object->now);
    struct doc *now = sim_version_doc(&arena, object->now);
    if (doc_get(now, STR("spec")))
        (void)doc_del(doc_get(now, STR("spec")), STR("finalizers"));
    (void)sim_write(server, &arena, object, old, now);
}

void sim_namespace_look(struct sim_server *server, struct str name)
{
    const struct sim_resource *namespaces = sim_resource_at(SIM_NAMESPACES);
    struct sim_object *object = sim_store_find(&server->store, namespaces, name);
    bool left = false;
    if (!object)
        return;
    if (!object->terminating) {
        make_account(server, name);
        return;
    }
    for (size_t i = 0; i < sim_resource_count(); i++)
        if (sim_resource_is(sim_resource_at(i), SIM_NAMESPACED))
            left |= !empty(server, sim_resource_at(i), name);
    if (!left)
        finish(server, object);
}
