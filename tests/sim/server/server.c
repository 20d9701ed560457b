/*
 * The server: a request goes to its verb. See server.h.
 */
#include "server/server.h"
#include "base/ensure.h"
#include "server/rest.h"

#define HISTORY 10000
#define CONTROLLER_LAG (10 * NSEC_PER_MSEC)

static int on_collection(struct sim_call *call)
{
    bool namespaced = sim_resource_is(call->resource, SIM_NAMESPACED);
    switch (call->request->method) {
    case KUBE_GET:
        return sim_rest_list(call);
    case KUBE_POST:
        return namespaced && str_empty(call->ns) ? sim_fail_method(call) : sim_rest_create(call);
    case KUBE_DELETE:
        return sim_rest_delete_collection(call);
    case KUBE_PUT:
    case KUBE_PATCH:
        break;
    }
    return sim_fail_method(call);
}

static int on_pod_action(struct sim_call *call)
{
    if (call->request->method != KUBE_POST)
        return sim_fail_method(call);
    return str_is(call->sub, "binding") ? sim_pod_bind(call) : sim_pod_evict(call);
}

static int on_object(struct sim_call *call)
{
    switch (call->request->method) {
    case KUBE_GET:
        return sim_rest_get(call);
    case KUBE_PUT:
        return sim_rest_update(call);
    case KUBE_PATCH:
        return sim_rest_patch(call);
    case KUBE_DELETE:
        return str_empty(call->sub) ? sim_rest_delete(call) : sim_fail_method(call);
    case KUBE_POST:
        break;
    }
    return sim_fail_method(call);
}

static int dispatch(struct sim_call *call)
{
    bool pod = call->resource == sim_resource_at(SIM_PODS);
    if (str_empty(call->name))
        return on_collection(call);
    if (pod && (str_is(call->sub, "binding") || str_is(call->sub, "eviction")))
        return on_pod_action(call);
    bool status = str_is(call->sub, "status");
    if (status && !sim_resource_is(call->resource, SIM_STATUS))
        return sim_resource_is(call->resource, SIM_CUSTOM)
                   ? sim_fail_not_found(call, call->resource, call->name)
                   : sim_fail_no_resource(call);
    return str_empty(call->sub) || status ? on_object(call) : sim_fail_no_resource(call);
}

void sim_server_handle(struct sim_server *server, const struct sim_request *request,
                       struct sim_answer *answer)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct sim_call call = {
        .server = server, .request = request, .answer = answer, .arena = &arena};
    if (sim_call_read(&call) == 0)
        (void)dispatch(&call);
    ENSURE(answer->status != 0);
}

/* ---- the server ------------------------------------------------------------------------------ */

static void make_namespace(struct sim_server *server, const char *name)
{
    cleanup_buf struct buf body = BUF_INIT(256);
    struct sim_answer answer = SIM_ANSWER_INIT;
    buf_printf(&body, "{\"metadata\":{\"name\":\"%s\"}}", name);
    const struct sim_request request = {
        .method = KUBE_POST, .path = STR("/api/v1/namespaces"), .body = buf_str(&body)};
    sim_server_handle(server, &request, &answer);
    ENSURE(answer.status == 201);
    buf_clear(&answer.body);
}

struct sim_server *sim_server_new(const struct sim_server_options *options)
{
    static const char *const namespaces[] = {"default", "kube-node-lease", "kube-public",
                                             "kube-system"};
    struct sim_server *server = xnew(struct sim_server);
    server->loop = options->loop;
    rng_seed(&server->rng, options->seed);
    list_init(&server->watches);
    sim_store_init(&server->store, options->history ? options->history : HISTORY);
    sim_controllers_begin(server,
                          options->controller_lag_ns ? options->controller_lag_ns : CONTROLLER_LAG);
    for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++)
        make_namespace(server, namespaces[i]);
    return server;
}

void sim_server_free(struct sim_server *server)
{
    if (!server)
        return;
    ENSURE(list_empty(&server->watches));
    sim_controllers_end(server);
    sim_store_clear(&server->store);
    free(server);
}

uint64_t sim_server_rv(const struct sim_server *server)
{
    return server->store.rv;
}

void sim_server_compact(struct sim_server *server)
{
    sim_store_compact(&server->store);
}
