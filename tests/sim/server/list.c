/*
 * GET of one object and of many: see rest.h.
 *
 * Pages: the token says the resourceVersion of the first page and the key of the last object that
 * was shown. Later pages show the state at that version, made of what stands and of the changes
 * since; once these are forgotten the token has expired.
 */
#include "base/base64.h"
#include "base/map.h"
#include "server/rest.h"

/* ---- one ------------------------------------------------------------------------------------- */

int sim_rest_get(struct sim_call *call)
{
    struct sim_object *object = sim_call_object(call);
    if (!object)
        return -1;
    call->answer->status = 200;
    buf_add_str(&call->answer->body, object->now->text);
    return 0;
}

/* ---- what a list is about -------------------------------------------------------------------- */

int sim_call_selection(struct sim_call *call, struct sim_selection *ret_selection)
{
    struct error err = ERROR_INIT;
    struct sim_selection selection = {.ns = call->ns};
    struct str labels = sim_call_query(call, "labelSelector");
    struct str fields = sim_call_query(call, "fieldSelector");
    if (sim_selection_labels(call->arena, &selection, labels, &err) < 0 ||
        sim_selection_fields(call->arena, &selection, fields, call->resource, &err) < 0)
        return sim_fail_bad_request(call, "%s", err.text);
    *ret_selection = selection;
    return 0;
}

bool sim_key_in(struct str key, struct str ns)
{
    return str_empty(ns) || (key.n > ns.n && key.p[ns.n] == '/' && str_starts(key, ns));
}

struct sim_object *sim_first_in(struct sim_call *call, struct str ns)
{
    struct str prefix = str_empty(ns) ? ns : arena_printf(call->arena, "%.*s/", STR_ARG(ns));
    struct sim_object *object = sim_store_from(&call->server->store, call->resource, prefix);
    return object && sim_key_in(str_of(object->key), ns) ? object : NULL;
}

struct sim_object *sim_next_in(const struct sim_object *object, struct str ns)
{
    struct sim_object *next = sim_object_next(object);
    return next && sim_key_in(str_of(next->key), ns) ? next : NULL;
}

struct doc *sim_list_doc(struct sim_call *call, struct doc *items)
{
    struct arena *arena = call->arena;
    struct doc *list = doc_new(arena, JSON_OBJECT), *meta = doc_new(arena, JSON_OBJECT);
    char version[SIM_TITLE_MAX];
    sim_resource_api_version(call->resource, version, sizeof(version));
    doc_set_str(arena, list, "kind", arena_printf(arena, "%sList", call->resource->kind));
    doc_set_str(arena, list, "apiVersion", arena_str(arena, str_of(version)));
    doc_set_str(arena, meta, "resourceVersion",
                arena_printf(arena, "%llu", (unsigned long long)call->server->store.rv));
    doc_set(list, STR("metadata"), meta);
    doc_set(list, STR("items"), items);
    return list;
}

/* ---- the state at a version ------------------------------------------------------------------ */

/* One object as it was, where it was otherwise than it is; NULL: it was not there. */
struct former {
    struct str key;
    struct sim_version *version;
};

struct snapshot {
    VEC(struct former) formers; /* in the order of keys */
};

static int compare_formers(const void *a, const void *b)
{
    const struct former *x = a, *y = b;
    return str_cmp(x->key, y->key);
}

/* False when the changes since are forgotten. */
static bool snapshot_take(const struct sim_table *table, uint64_t rv, struct snapshot *snapshot)
{
    struct map seen = MAP_INIT_BORROWS;
    size_t first;
    if (!sim_table_since(table, rv, &first))
        return false;
    for (size_t i = first; i < table->history_count; i++) {
        const struct sim_change *change = sim_table_change(table, i);
        struct former former = {change->after->key, change->before};
        if (map_has(&seen, former.key))
            continue;
        (void)map_set(&seen, former.key, NULL);
        vec_push(&snapshot->formers, former);
    }
    map_clear(&seen);
    if (snapshot->formers.n > 1)
        qsort(snapshot->formers.items, snapshot->formers.n, sizeof(struct former), compare_formers);
    return true;
}

/* Walks what stands and what was, by key. */
struct walk {
    struct sim_object *object;
    const struct former *former, *end;
};

/* The next version of the state in the order of keys, or NULL. */
static struct sim_version *walk_next(struct walk *walk)
{
    while (walk->object || walk->former < walk->end) {
        int order = !walk->object ? 1
                    : walk->former == walk->end
                        ? -1
                        : str_cmp(walk->object->node.key, walk->former->key);
        struct sim_version *version = order < 0 ? walk->object->now : walk->former->version;
        if (order <= 0)
            walk->object = sim_object_next(walk->object);
        if (order >= 0)
            walk->former++;
        if (version)
            return version;
    }
    return NULL;
}

/* ---- pages ----------------------------------------------------------------------------------- */

struct page {
    struct sim_selection selection;
    uint64_t rv;
    uint64_t limit;   /* 0: all */
    struct str after; /* key of the last object shown, empty: none */
    struct str last;  /* of this page */
    size_t shown;
    bool more;
};

static int fail_expired(struct sim_call *call, struct str after)
{
    cleanup_buf struct buf token = BUF_INIT(4096), plain = BUF_INIT(4096);
    buf_printf(&plain, "-1 %.*s", STR_ARG(after));
    base64_encode(&token, buf_str(&plain));
    return sim_fail(
        call,
        &(struct sim_failure){
            .code = 410,
            .reason = "Expired",
            .message =
                STR("The provided continue parameter is too old to display a consistent list "
                    "result. You can start a new list without the continue parameter, or use the "
                    "continue token in this response to retrieve the remainder of the results. "
                    "Continuing with the provided token results in an inconsistent list - objects "
                    "that were created, modified, or deleted between the time the first chunk was "
                    "returned and now may show up in the list."),
            .remain = arena_str(call->arena, buf_str(&token)),
        });
}

/* "RV KEY" in base64; -1 for RV goes on with the state as it is. */
static int read_token(struct sim_call *call, struct str token, struct page *page)
{
    cleanup_buf struct buf plain = BUF_INIT(4096);
    struct str rest, rv;
    int64_t number = 0;
    if (str_empty(token))
        return 0;
    if (!base64_decode(&plain, token) || plain.n == 0)
        return sim_fail_bad_request(call, "continue key is not valid");
    rest = arena_str(call->arena, buf_str(&plain));
    if (!str_split(&rest, ' ', &rv) || !str_to_i64(rv, &number))
        return sim_fail_bad_request(call, "continue key is not valid");
    page->after = rest;
    if (number >= 0)
        page->rv = (uint64_t)number;
    return 0;
}

static int read_page(struct sim_call *call, struct page *page)
{
    struct str limit = sim_call_query(call, "limit"), rv = sim_call_query(call, "resourceVersion");
    struct str match = sim_call_query(call, "resourceVersionMatch");
    *page = (struct page){.rv = call->server->store.rv};
    if (!str_empty(limit) && !str_to_u64(limit, &page->limit))
        return sim_fail_bad_request(call, "limit is no number: %.*s", STR_ARG(limit));
    if (str_is(match, "Exact") && !str_to_u64(rv, &page->rv))
        return sim_fail_bad_request(call, "resourceVersion is no number: %.*s", STR_ARG(rv));
    if (sim_call_selection(call, &page->selection) < 0)
        return -1;
    return read_token(call, sim_call_query(call, "continue"), page);
}

/* Items of what is built in are without kind and apiVersion, which come first in each version. */
static size_t prefix_of(const struct sim_resource *resource)
{
    char version[SIM_TITLE_MAX];
    if (sim_resource_is(resource, SIM_CUSTOM))
        return 0;
    sim_resource_api_version(resource, version, sizeof(version));
    return strlen("{\"kind\":\"\",\"apiVersion\":\"\",") + strlen(resource->kind) + strlen(version);
}

static void write_item(struct sim_call *call, const struct sim_version *version, size_t number)
{
    size_t prefix = prefix_of(call->resource);
    buf_add_cstr(&call->answer->body, number ? "," : "");
    if (prefix)
        buf_add_char(&call->answer->body, '{');
    buf_add_str(&call->answer->body, str_from(version->text, prefix));
}

static bool is_selected(const struct page *page, const struct sim_version *version)
{
    if (sim_selection_is_all(&page->selection))
        return true;
    cleanup_arena struct arena scratch = ARENA_INIT;
    return sim_selection_matches(&page->selection, sim_version_doc(&scratch, version));
}

static void walk_begin(struct sim_call *call, const struct page *page,
                       const struct snapshot *snapshot, struct walk *walk)
{
    struct str ns = page->selection.ns;
    struct str from = str_empty(ns) ? ns : arena_printf(call->arena, "%.*s/", STR_ARG(ns));
    if (!str_empty(page->after)) /* the first key behind it */
        from = arena_str(call->arena, str_make(page->after.p, page->after.n));
    if (!str_empty(page->after))
        from.n++;
    walk->object = sim_store_from(&call->server->store, call->resource, from);
    walk->former = snapshot->formers.items;
    walk->end = walk->former ? walk->former + snapshot->formers.n : NULL;
    while (walk->former < walk->end && str_cmp(walk->former->key, from) < 0)
        walk->former++;
}

static void write_items(struct sim_call *call, struct page *page, struct walk *walk)
{
    struct sim_version *version;
    while ((version = walk_next(walk)) && sim_key_in(version->key, page->selection.ns)) {
        if (!is_selected(page, version))
            continue;
        page->more = page->limit > 0 && page->shown == page->limit;
        if (page->more)
            break;
        write_item(call, version, page->shown++);
        page->last = version->key;
    }
}

static void write_list_meta(struct sim_call *call, const struct page *page)
{
    struct buf *out = &call->answer->body;
    buf_printf(out, "],\"metadata\":{\"resourceVersion\":\"%llu\"", (unsigned long long)page->rv);
    if (page->more) {
        cleanup_buf struct buf plain = BUF_INIT(4096);
        buf_printf(&plain, "%llu %.*s", (unsigned long long)page->rv, STR_ARG(page->last));
        buf_add_cstr(out, ",\"continue\":\"");
        base64_encode(out, buf_str(&plain));
        buf_add_char(out, '"');
    }
    buf_add_cstr(out, "}}");
}

int sim_rest_list(struct sim_call *call)
{
    char version[SIM_TITLE_MAX];
    struct snapshot snapshot = {{NULL, 0, 0}};
    struct page page;
    struct walk walk;
    if (read_page(call, &page) < 0)
        return -1;
    if (!snapshot_take(sim_store_table(&call->server->store, call->resource), page.rv, &snapshot))
        return fail_expired(call, page.after);
    sim_resource_api_version(call->resource, version, sizeof(version));
    call->answer->status = 200;
    buf_printf(&call->answer->body, "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"items\":[",
               call->resource->kind, version);
    walk_begin(call, &page, &snapshot, &walk);
    write_items(call, &page, &walk);
    write_list_meta(call, &page);
    vec_clear(&snapshot.formers);
    return 0;
}
