/*
 * Following a resource for ever: see reflector.h.
 *
 * A small state machine: WAITING (for a timer) -> LISTING (page after page) -> WATCHING -> WAITING.
 * At most one call is under way. The store is borrowed; whatever goes wrong ends in a wait and
 * another try, from the last good resourceVersion or, where that is refused, from a new list.
 * Loop thread only.
 */
#include "kube/reflector.h"
#include "base/limits.h"
#include "base/log.h"
#include "loop/backoff.h"
#include <stdio.h>

#define PAGE_LIMIT 500
#define LIST_TIMEOUT (60 * NSEC_PER_SEC)
#define WATCH_SHORTEST_S 300
#define WATCH_LONGEST_S 600
#define BACKOFF_FIRST (NSEC_PER_SEC / 5)
#define BACKOFF_MOST (30 * NSEC_PER_SEC)
#define PATH_MOST 16384

struct reflector {
    struct loop *loop; /* borrowed, as are the next two */
    struct kube_transport *transport;
    struct store *store;
    struct reflector_spec spec;
    struct kube_call *call; /* under way; NULL while waiting */
    struct loop_timer timer;
    struct backoff backoff;
    struct buf line;           /* the incomplete end of a watch stream */
    struct buf next;           /* continue token of the next page, empty for none */
    uint64_t rv;               /* resume from here; 0: a list is needed */
    uint64_t list_rv;          /* resourceVersion of the list under way */
    bool listing;              /* a list has begun in the store */
    bool progress;             /* the watch under way delivered something */
    bool relist;               /* an ERROR event asked for a new list */
    struct error stream_error; /* why the watch under way was stopped by us */
    char trouble[ERROR_TEXT_MAX + 16];
    struct reflector_stats stats;
};

static void proceed(void *arg);

static void wait_then_proceed(struct reflector *r, int64_t delay_ns)
{
    loop_timer_set(r->loop, &r->timer, delay_ns);
}

/* Something failed: say so once a series, then try again by back-off. */
static void fail(struct reflector *r, const char *doing, const struct error *why,
                 int64_t retry_after_ns)
{
    int64_t delay = backoff_next(&r->backoff, loop_rng(r->loop));

    r->stats.errors++;
    r->stats.watching = false;
    (void)snprintf(r->trouble, sizeof(r->trouble), "%s: %s", doing, why->text);
    if (r->backoff.failures == 2)
        log_warn("%s %s: %s", doing, r->spec.path, why->text);
    wait_then_proceed(r, delay > retry_after_ns ? delay : retry_after_ns);
}

static void succeed(struct reflector *r)
{
    backoff_reset(&r->backoff);
    r->trouble[0] = '\0';
}

/* ---- paths ------------------------------------------------------------------------------------
 */

static void add_query(struct buf *path, const char *key, struct str value)
{
    buf_printf(path, "%c%s=", str_chr(buf_str(path), '?') < 0 ? '?' : '&', key);
    kube_escape(path, value);
}

static void add_selectors(const struct reflector *r, struct buf *path)
{
    if (r->spec.field_selector)
        add_query(path, "fieldSelector", str_of(r->spec.field_selector));
    if (r->spec.label_selector)
        add_query(path, "labelSelector", str_of(r->spec.label_selector));
}

/* ---- listing ----------------------------------------------------------------------------------
 */

static void abort_list(struct reflector *r)
{
    if (r->listing)
        store_list_abort(r->store);
    r->listing = false;
    buf_reset(&r->next);
}

static void read_list_meta(struct json_reader *reader, struct reflector *r)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("resourceVersion"))) {
            if (!str_to_u64(json_str(reader), &r->list_rv))
                json_fail(reader, "metadata.resourceVersion is not a number");
        } else if (str_eq(key, STR("continue"))) {
            buf_reset(&r->next);
            buf_add_str(&r->next, json_str(reader));
        } else {
            json_skip(reader);
        }
    }
}

/* Applies the items of one page; they may come before or after the list's metadata. */
static int read_page(struct reflector *r, struct str body, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct str key;

    buf_reset(&r->next);
    json_init(&reader, body, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_eq(key, STR("metadata"))) {
                read_list_meta(&reader, r);
            } else if (str_eq(key, STR("items")) && json_array(&reader)) {
                while (json_item(&reader)) {
                    struct str raw = json_raw(&reader);
                    if (!json_failed(&reader))
                        (void)store_list_item(r->store, raw);
                }
            } else if (!str_eq(key, STR("items"))) {
                json_skip(&reader);
            }
        }
    }
    return json_end(&reader, err);
}

static void list_done(const struct kube_result *result, void *arg)
{
    struct reflector *r = arg;
    struct error err = ERROR_INIT;

    r->call = NULL;
    if (result->error.cls != ERROR_NONE) {
        abort_list(r);
        fail(r, "list", &result->error, result->retry_after_ns);
        return;
    }
    if (read_page(r, result->body, &err) < 0) {
        abort_list(r);
        fail(r, "list", &err, 0);
        return;
    }
    if (r->next.n > 0) {
        proceed(r);
        return;
    }
    r->listing = false;
    r->rv = r->list_rv;
    r->stats.lists++;
    r->stats.synced = true;
    r->stats.last_event_ns = loop_now(r->loop);
    succeed(r);
    store_list_end(r->store, r->list_rv);
    wait_then_proceed(r, 0);
}

static void list_page(struct reflector *r)
{
    cleanup_buf struct buf path = BUF_INIT(PATH_MOST);

    if (!r->listing) {
        r->listing = true;
        store_list_begin(r->store);
    }
    buf_printf(&path, "%s?limit=%d", r->spec.path, PAGE_LIMIT);
    add_selectors(r, &path);
    if (r->next.n > 0)
        add_query(&path, "continue", buf_str(&r->next));
    r->call = kube_start(r->transport, &(struct kube_call_spec){.method = KUBE_GET,
                                                                .path = buf_str(&path),
                                                                .timeout_ns = LIST_TIMEOUT,
                                                                .on_done = list_done,
                                                                .arg = r});
}

/* ---- watching ---------------------------------------------------------------------------------
 */

/* An ERROR event carries a Status: 410 asks for a new list, anything else ends the stream. */
static void read_error_event(struct reflector *r, struct str status)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct kube_result result = {.outcome = KUBE_ANSWERED, .body = status};
    struct json_reader reader;
    struct str key;

    json_init(&reader, status, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_eq(key, STR("code")))
                result.status = json_i32(&reader);
            else
                json_skip(&reader);
        }
    }
    if (json_failed(&reader) || result.status < 400)
        result.status = 500;
    kube_result_classify(&result);
    r->stream_error = result.error;
    r->relist = result.status == 410;
}

static int apply_event(struct reflector *r, struct str type, struct str object)
{
    struct kube_identity identity = {0};
    uint64_t rv = 0;

    if (str_eq(type, STR("ERROR"))) {
        read_error_event(r, object);
        return -1;
    }
    r->progress = true;
    r->stats.last_event_ns = loop_now(r->loop);
    if (str_eq(type, STR("BOOKMARK"))) {
        if (kube_identity_read(object, &identity, &r->stream_error) < 0)
            return -1;
        rv = identity.rv;
        if (rv)
            store_watched(r->store, rv);
    } else {
        r->stats.events++;
        if (store_watch_event(r->store, str_eq(type, STR("DELETED")), object, &rv,
                              &r->stream_error) < 0)
            return -1;
    }
    if (rv > r->rv)
        r->rv = rv;
    return 0;
}

static int read_event(struct reflector *r, struct str line)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct str type = STR_NULL, object = STR_NULL, key;
    struct json_reader reader;

    json_init(&reader, line, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_eq(key, STR("type")))
                type = json_str(&reader);
            else if (str_eq(key, STR("object")))
                object = json_raw(&reader);
            else
                json_skip(&reader);
        }
    }
    if (json_end(&reader, &r->stream_error) < 0)
        return -1;
    if (str_empty(type) || str_empty(object))
        return error_set(&r->stream_error, ERROR_RETRY, "an event without type or object");
    return apply_event(r, type, object);
}

/* Takes the next whole line off the pending bytes and the new ones. False: no whole line left. */
static bool next_line(struct reflector *r, struct str *data, struct str *ret_line)
{
    ptrdiff_t end = str_chr(*data, '\n');

    if (end < 0) {
        buf_add_str(&r->line, *data);
        return false;
    }
    *ret_line = str_sub(*data, 0, (size_t)end);
    *data = str_from(*data, (size_t)end + 1);
    if (r->line.n > 0) {
        buf_add_str(&r->line, *ret_line);
        *ret_line = buf_str(&r->line);
    }
    return true;
}

static bool watch_data(struct str data, void *arg)
{
    struct reflector *r = arg;
    struct str line;

    while (next_line(r, &data, &line)) {
        if (r->line.overflow)
            break;
        int failed = str_empty(str_trim(line)) ? 0 : read_event(r, line);
        buf_reset(&r->line);
        if (failed)
            return false;
    }
    if (!r->line.overflow)
        return true;
    (void)error_set(&r->stream_error, ERROR_LIMIT, "an event is larger than %zu bytes",
                    LIMIT_WATCH_EVENT);
    r->relist = true;
    return false;
}

static void watch_done(const struct kube_result *result, void *arg)
{
    struct reflector *r = arg;
    const struct error *why = &result->error;

    r->call = NULL;
    r->stats.watching = false;
    buf_clear(&r->line);
    if (r->stream_error.cls != ERROR_NONE)
        why = &r->stream_error;
    if (r->relist || why->cls == ERROR_GONE)
        r->rv = 0;
    if (r->progress)
        succeed(r);
    if (why->cls == ERROR_NONE && r->progress) {
        wait_then_proceed(r, 0);
    } else if (why->cls == ERROR_NONE) {
        struct error empty = ERROR_INIT;
        (void)error_set(&empty, ERROR_RETRY, "the stream ended without an event");
        fail(r, "watch", &empty, 0);
    } else {
        fail(r, "watch", why, result->retry_after_ns);
    }
}

static void watch(struct reflector *r)
{
    cleanup_buf struct buf path = BUF_INIT(PATH_MOST);
    uint64_t spread = rng_below(loop_rng(r->loop), WATCH_LONGEST_S - WATCH_SHORTEST_S);

    r->progress = false;
    r->relist = false;
    r->stream_error = (struct error)ERROR_INIT;
    buf_reset(&r->line);
    buf_printf(
        &path, "%s?watch=true&allowWatchBookmarks=true&resourceVersion=%llu&timeoutSeconds=%llu",
        r->spec.path, (unsigned long long)r->rv, (unsigned long long)(WATCH_SHORTEST_S + spread));
    add_selectors(r, &path);
    r->stats.watches++;
    r->stats.watching = true;
    r->call = kube_start(r->transport, &(struct kube_call_spec){.method = KUBE_GET,
                                                                .path = buf_str(&path),
                                                                .watch = true,
                                                                .on_data = watch_data,
                                                                .on_done = watch_done,
                                                                .arg = r});
}

/* ---- life -------------------------------------------------------------------------------------
 */

static void proceed(void *arg)
{
    struct reflector *r = arg;

    if (r->rv == 0 || r->listing)
        list_page(r);
    else
        watch(r);
}

struct reflector *reflector_new(struct loop *loop, struct kube_transport *transport,
                                struct store *store, const struct reflector_spec *spec)
{
    struct reflector *r = xnew(struct reflector);

    r->loop = loop;
    r->transport = transport;
    r->store = store;
    r->spec = *spec;
    loop_timer_init(&r->timer, proceed, r);
    backoff_init(&r->backoff, BACKOFF_FIRST, BACKOFF_MOST);
    buf_init(&r->line, LIMIT_WATCH_EVENT);
    buf_init(&r->next, PATH_MOST / 2);
    wait_then_proceed(r, 0);
    return r;
}

void reflector_free(struct reflector *r)
{
    if (!r)
        return;
    if (r->call)
        kube_cancel(r->transport, r->call);
    abort_list(r);
    loop_timer_cancel(r->loop, &r->timer);
    buf_clear(&r->line);
    buf_clear(&r->next);
    free(r);
}

struct reflector_stats reflector_stats(const struct reflector *r)
{
    return r->stats;
}

const char *reflector_trouble(const struct reflector *r)
{
    return r->trouble;
}
