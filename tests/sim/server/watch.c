/*
 * Watches: see server.h.
 *
 * A stream begins with the changes after a resourceVersion, or with all that stands, and goes on
 * with each change as it is made. An object that comes to be selected is added to the reader, one
 * that is not any more is deleted, in the state in which it was selected. Bookmarks come once a
 * minute and at the end.
 */
#include "base/timefmt.h"
#include "server/rest.h"

#define BOOKMARK_EVERY (60 * NSEC_PER_SEC)
#define TIMEOUT_LEAST_S 1800

struct sim_watch {
    struct list link; /* in the server's */
    struct sim_server *server;
    const struct sim_resource *resource;
    struct arena arena; /* of the selection */
    struct sim_selection selection;
    struct sim_watcher watcher;
    struct loop_timer bookmark, end;
    bool bookmarks;
    bool initial; /* all that stands comes first, whatever the version, and a bookmark says when */
    sim_watch_fn *fn;
    void *arg;
};

bool sim_request_is_watch(const struct sim_request *request)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct sim_answer answer = SIM_ANSWER_INIT;
    struct sim_call call = {.request = request, .answer = &answer, .arena = &arena};
    struct str watch = STR_NULL;
    if (request->method == KUBE_GET && sim_call_read(&call) == 0 && str_empty(call.name))
        watch = sim_call_query(&call, "watch");
    buf_clear(&answer.body);
    return str_is(watch, "1") || str_is(watch, "true");
}

static void watch_free(struct sim_watch *watch)
{
    sim_store_unwatch(&watch->watcher);
    list_remove(&watch->link);
    loop_timer_cancel(watch->server->loop, &watch->bookmark);
    loop_timer_cancel(watch->server->loop, &watch->end);
    arena_clear(&watch->arena);
    free(watch);
}

void sim_watch_end(struct sim_watch *watch)
{
    watch_free(watch);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void send(struct sim_watch *watch, const char *type, struct str object)
{
    cleanup_buf struct buf line = BUF_INIT(LIMIT_RESPONSE_BODY);
    buf_printf(&line, "{\"type\":\"%s\",\"object\":", type);
    buf_add_str(&line, object);
    buf_add_cstr(&line, "}\n");
    watch->fn(buf_str(&line), watch->arg);
}

static void send_doc(struct sim_watch *watch, const char *type, const struct doc *doc)
{
    cleanup_buf struct buf text = BUF_INIT(LIMIT_RESPONSE_BODY);
    doc_print(&text, doc);
    send(watch, type, buf_str(&text));
}

/* `more` is put into the metadata. */
static void send_bookmark(struct sim_watch *watch, const char *more)
{
    char version[SIM_TITLE_MAX];
    cleanup_buf struct buf text = BUF_INIT(1024);
    sim_resource_api_version(watch->resource, version, sizeof(version));
    buf_printf(
        &text,
        "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"%llu\"%s}}",
        watch->resource->kind, version, (unsigned long long)watch->server->store.rv, more);
    send(watch, "BOOKMARK", buf_str(&text));
}

static bool is_meant(const struct sim_watch *watch, const struct sim_version *version)
{
    cleanup_arena struct arena scratch = ARENA_INIT;
    if (!version)
        return false;
    return sim_selection_is_all(&watch->selection) ||
           sim_selection_matches(&watch->selection, sim_version_doc(&scratch, version));
}

/* What was selected and is not any more goes as it was, at the version of the change. */
static void send_leaving(struct sim_watch *watch, const struct sim_change *change)
{
    cleanup_arena struct arena scratch = ARENA_INIT;
    struct doc *doc = sim_version_doc(&scratch, change->before);
    doc_set_str(&scratch, sim_meta(doc), "resourceVersion",
                arena_printf(&scratch, "%llu", (unsigned long long)change->rv));
    send_doc(watch, "DELETED", doc);
}

static void send_change(const struct sim_change *change, void *arg)
{
    struct sim_watch *watch = arg;
    if (!sim_key_in(change->after->key, watch->selection.ns))
        return;
    bool before = is_meant(watch, change->before);
    if (change->type == SIM_DELETED) {
        if (before)
            send(watch, "DELETED", change->after->text);
        return;
    }
    bool after = is_meant(watch, change->after);
    if (after)
        send(watch, before ? "MODIFIED" : "ADDED", change->after->text);
    else if (before)
        send_leaving(watch, change);
}

/* ---- timers ---------------------------------------------------------------------------------- */

static void on_bookmark(void *arg)
{
    struct sim_watch *watch = arg;
    loop_timer_set(watch->server->loop, &watch->bookmark, BOOKMARK_EVERY);
    send_bookmark(watch, "");
}

static void on_end(void *arg)
{
    struct sim_watch *watch = arg;
    sim_watch_fn *fn = watch->fn;
    void *reader = watch->arg;
    bool errs = list_empty(&watch->watcher.link);
    if (watch->bookmarks && !errs)
        send_bookmark(watch, "");
    watch_free(watch);
    fn(STR_NULL, reader);
}

/* ---- beginning ------------------------------------------------------------------------------- */

static void send_expired(struct sim_call *call, struct sim_watch *watch, uint64_t rv)
{
    const struct sim_table *table = sim_store_table(&call->server->store, call->resource);
    struct sim_failure failure = {.code = 410, .reason = "Expired"};
    failure.message = arena_printf(call->arena, "too old resource version: %llu (%llu)",
                                   (unsigned long long)rv, (unsigned long long)table->floor + 1);
    send_doc(watch, "ERROR", sim_failure_doc(call->arena, &failure));
    loop_timer_set(call->server->loop, &watch->end, 0);
}

static void send_standing(struct sim_call *call, struct sim_watch *watch)
{
    struct str ns = watch->selection.ns;
    for (struct sim_object *object = sim_first_in(call, ns); object;
         object = sim_next_in(object, ns))
        if (is_meant(watch, object->now))
            send(watch, "ADDED", object->now->text);
}

static int read_version(struct sim_call *call, uint64_t *ret_rv)
{
    struct str text = sim_call_query(call, "resourceVersion");
    *ret_rv = 0;
    if (!str_empty(text) && !str_to_u64(text, ret_rv))
        return sim_fail(
            call, &(struct sim_failure){
                      .code = 500,
                      .message = arena_printf(call->arena,
                                              "resourceVersion: Invalid value: \"%.*s\": strconv."
                                              "ParseUint: parsing \"%.*s\": invalid syntax",
                                              STR_ARG(text), STR_ARG(text)),
                  });
    return 0;
}

static int64_t timeout_of(const struct sim_call *call)
{
    int64_t seconds = 0;
    if (!str_to_i64(sim_call_query(call, "timeoutSeconds"), &seconds) || seconds <= 0)
        seconds =
            TIMEOUT_LEAST_S + (int64_t)rng_below(&call->server->rng, (uint64_t)TIMEOUT_LEAST_S);
    return seconds * NSEC_PER_SEC;
}

static struct sim_watch *watch_new(struct sim_call *call, sim_watch_fn *fn, void *arg)
{
    struct sim_watch *watch = xnew(struct sim_watch);
    struct sim_call own = *call; /* the selection is to outlive the request */
    watch->server = call->server;
    watch->resource = call->resource;
    watch->fn = fn;
    watch->arg = arg;
    watch->bookmarks = str_is(sim_call_query(call, "allowWatchBookmarks"), "true") ||
                       str_is(sim_call_query(call, "allowWatchBookmarks"), "1");
    watch->initial = str_is(sim_call_query(call, "sendInitialEvents"), "true");
    watch->watcher = (struct sim_watcher){.fn = send_change, .arg = watch};
    list_init(&watch->watcher.link);
    list_append(&call->server->watches, &watch->link);
    loop_timer_init(&watch->bookmark, on_bookmark, watch);
    loop_timer_init(&watch->end, on_end, watch);
    own.arena = &watch->arena;
    own.ns = arena_str(&watch->arena, call->ns);
    own.query = doc_new(&watch->arena, JSON_OBJECT);
    for (doc_each(pair, call->query))
        doc_set_str(&watch->arena, own.query, arena_str(&watch->arena, pair->key).p,
                    arena_str(&watch->arena, pair->text));
    if (sim_call_selection(&own, &watch->selection) < 0) {
        watch_free(watch);
        return NULL;
    }
    return watch;
}

static void begin(struct sim_call *call, struct sim_watch *watch, uint64_t rv)
{
    struct sim_store *store = &call->server->store;
    const struct sim_table *table = sim_store_table(store, call->resource);
    size_t first = table->history_count;
    if (rv > 0 && !watch->initial && !sim_table_since(table, rv, &first)) {
        send_expired(call, watch, rv);
        return;
    }
    if (rv == 0 || watch->initial)
        send_standing(call, watch);
    if (watch->initial && watch->bookmarks)
        send_bookmark(watch, ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}");
    for (size_t i = first; i < table->history_count; i++)
        send_change(sim_table_change(table, i), watch);
    sim_store_watch(store, call->resource, &watch->watcher);
    loop_timer_set(call->server->loop, &watch->end, timeout_of(call));
    if (watch->bookmarks)
        loop_timer_set(call->server->loop, &watch->bookmark, BOOKMARK_EVERY);
}

struct sim_watch *sim_server_watch(struct sim_server *server, const struct sim_request *request,
                                   struct sim_answer *answer, sim_watch_fn *fn, void *arg)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct sim_call call = {
        .server = server, .request = request, .answer = answer, .arena = &arena};
    uint64_t rv;
    if (sim_call_read(&call) < 0 || read_version(&call, &rv) < 0)
        return NULL;
    struct sim_watch *watch = watch_new(&call, fn, arg);
    if (!watch)
        return NULL;
    answer->status = 200;
    begin(&call, watch, rv);
    return watch;
}
