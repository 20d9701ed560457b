/*
 * Marks and the timer: see controllers.h.
 */
#include "server/controllers.h"

void sim_mark(struct sim_server *server, enum sim_duty duty, struct str what)
{
    struct sim_controllers *all = server->controllers;
    (void)map_set(&all->marked[duty], what, NULL);
    if (!loop_timer_active(&all->timer))
        loop_timer_set(server->loop, &all->timer, all->lag_ns);
}

/* The namespace that a key begins with; empty for what is in none. */
static struct str namespace_of(const struct sim_resource *resource, struct str key)
{
    ptrdiff_t slash = str_chr(key, '/');
    return sim_resource_is(resource, SIM_NAMESPACED) && slash > 0 ? str_sub(key, 0, (size_t)slash)
                                                                  : STR_NULL;
}

static bool has_any(const struct sim_server *server, enum sim_resource_id id, struct str ns)
{
    cleanup_buf struct buf from = BUF_INIT(4096);
    buf_printf(&from, "%.*s/", STR_ARG(ns));
    const struct sim_object *object =
        sim_store_from(&server->store, sim_resource_at(id), buf_str(&from));
    return object && sim_key_in(str_of(object->key), ns);
}

static void mark_namespace(struct sim_server *server, const struct sim_change *change,
                           struct str ns)
{
    const struct sim_object *object =
        sim_store_find(&server->store, sim_resource_at(SIM_NAMESPACES), ns);
    if (object && object->terminating)
        sim_mark(server, SIM_NAMESPACE, ns);
    /* What else is added was counted at once. */
    bool quota = change->resource == sim_resource_at(SIM_QUOTAS);
    if ((quota || change->type != SIM_ADDED) && has_any(server, SIM_QUOTAS, ns))
        sim_mark(server, SIM_QUOTA, ns);
    bool budgets = change->resource == sim_resource_at(SIM_BUDGETS) ||
                   change->resource == sim_resource_at(SIM_PODS);
    if (budgets && has_any(server, SIM_BUDGETS, ns))
        sim_mark(server, SIM_BUDGET, ns);
}

static void on_change(const struct sim_change *change, void *arg)
{
    struct sim_server *server = arg;
    struct str ns = namespace_of(change->resource, change->after->key);
    sim_garbage_mark(server, change);
    if (change->resource == sim_resource_at(SIM_NAMESPACES))
        sim_mark(server, SIM_NAMESPACE, change->after->key);
    if (!str_empty(ns))
        mark_namespace(server, change, ns);
}

static void on_timer(void *arg)
{
    static void (*const looks[])(struct sim_server *server, struct str what) = {
        [SIM_GARBAGE] = sim_garbage_look,
        [SIM_NAMESPACE] = sim_namespace_look,
        [SIM_QUOTA] = sim_quota_look,
        [SIM_BUDGET] = sim_budget_look,
    };
    struct sim_controllers *all = arg;
    for (size_t duty = 0; duty < SIM_DUTY_COUNT; duty++) {
        struct map now = all->marked[duty]; /* marks that come meanwhile wait for the next time */
        struct str what;
        all->marked[duty] = (struct map)MAP_INIT;
        for (size_t i = 0; map_next(&now, &i, &what, NULL);)
            looks[duty](all->server, what);
        map_clear(&now);
    }
}

void sim_controller_delete(struct sim_server *server, struct sim_object *object,
                           struct str propagation)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct sim_answer answer = SIM_ANSWER_INIT;
    const struct sim_request request = {.method = KUBE_DELETE};
    struct sim_call call = {.server = server,
                            .request = &request,
                            .answer = &answer,
                            .arena = &arena,
                            .resource = object->resource};
    const struct sim_delete_options options = {.grace_s = -1, .propagation = propagation};
    struct doc *last = NULL;
    bool gone = false;
    (void)sim_delete(&call, object, &options, &last, &gone);
    buf_clear(&answer.body);
}

void sim_controllers_begin(struct sim_server *server, int64_t lag_ns)
{
    struct sim_controllers *all = xnew(struct sim_controllers);
    server->controllers = all;
    all->server = server;
    all->lag_ns = lag_ns;
    all->watchers = xcalloc(sim_resource_count(), sizeof(*all->watchers));
    loop_timer_init(&all->timer, on_timer, all);
    for (size_t i = 0; i < sim_resource_count(); i++) {
        all->watchers[i] = (struct sim_watcher){.fn = on_change, .arg = server};
        sim_store_watch(&server->store, sim_resource_at(i), &all->watchers[i]);
    }
}

void sim_controllers_end(struct sim_server *server)
{
    struct sim_controllers *all = server->controllers;
    for (size_t i = 0; i < sim_resource_count(); i++)
        sim_store_unwatch(&all->watchers[i]);
    for (size_t i = 0; i < SIM_DUTY_COUNT; i++)
        map_clear(&all->marked[i]);
    loop_timer_cancel(server->loop, &all->timer);
    free(all->watchers);
    free(all);
}
