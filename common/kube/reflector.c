/*
 * The reflector: one list after another fault or one watch after another, never both, never none.
 *
 * At any time exactly one of two things is under way: a call, or the pause before the next one
 * (`next`). `rv` says what the next call is: 0 a list (from its first page, or from `token`), else
 * a watch from there. Every end of a call goes through `go_on` or `fail`; only real progress of a
 * watch resets the back-off, so whatever a server does, calls get rarer. The reflector owns its
 * call and buffers; store, transport and loop are borrowed. Loop thread only.
 */
#include "kube/reflector.h"
#include "base/limits.h"
#include "base/log.h"
#include "kube/watch_event.h"
#include "kube/watch_lines.h"
#include "loop/backoff.h"
#include <inttypes.h>
#include <stdio.h>

#define PAGE_LIMIT 500
#define LIST_TIMEOUT (60 * NSEC_PER_SEC)
#define WATCH_LEAST_S 40 /* timeoutSeconds is drawn from 40 to 50 */
#define WATCH_SPREAD_S 11
#define OVERDUE_S 5                 /* a stream that has not ended so long after its time is dead */
#define SETTLED (10 * NSEC_PER_SEC) /* a watch that lasts so long has begun well */
#define BACKOFF_FIRST (200 * NSEC_PER_MSEC)
#define BACKOFF_MOST (30 * NSEC_PER_SEC)
#define RETRY_AFTER_MOST (300 * NSEC_PER_SEC)
#define REOPEN_PAUSE (50 * NSEC_PER_MSEC) /* after a watch that ended well, but soon */
#define FAULTS_BEFORE_LIST 10             /* watches in a row that the server itself failed */
#define TROUBLE_MAX (ERROR_TEXT_MAX + 128)

struct reflector {
    struct loop *loop;
    struct kube_transport *transport;
    struct store *store;
    const char *path;          /* borrowed from the spec */
    struct buf selectors;      /* "&fieldSelector=...", escaped */
    struct loop_timer next;    /* ends the pause before the next call */
    struct loop_timer overdue; /* gives up a stream that does not end */
    struct loop_timer settled; /* finds that a watch has begun well */
    struct backoff backoff;
    struct kube_call *call; /* under way, NULL while pausing */
    uint64_t rv;            /* resume watching from here; 0: list */
    bool listing;           /* between store_list_begin and its end */
    uint64_t list_rv;       /* of the first page of the list under way */
    char *token;            /* owned; `continue` of the next page, NULL for the first */
    struct watch_lines lines;
    uint64_t start_rv;  /* where the watch under way began */
    int64_t start_ns;   /* and when */
    struct error fault; /* why we stopped the stream; ERROR_NONE while we have not */
    int64_t fault_retry_after_ns;
    unsigned faults; /* watches in a row that the server failed without progress */
    struct reflector_stats stats;
    char trouble[TROUBLE_MAX];
};

/* ---- between calls -------------------------------------------------------------------------- */

static void go_on(struct reflector *reflector, int64_t pause_ns)
{
    loop_timer_set(reflector->loop, &reflector->next, pause_ns);
}

/* Notes what went wrong and pauses; never shorter than the server asked for. */
static void fail(struct reflector *reflector, const char *verb, const struct error *err,
                 int64_t retry_after_ns)
{
    int64_t pause = backoff_next(&reflector->backoff, loop_rng(reflector->loop));

    if (retry_after_ns > RETRY_AFTER_MOST)
        retry_after_ns = RETRY_AFTER_MOST;
    if (pause < retry_after_ns)
        pause = retry_after_ns;
    reflector->stats.errors++;
    (void)snprintf(reflector->trouble, sizeof(reflector->trouble), "cannot %s %s: %s", verb,
                   reflector->path, err->text);
    log_warn("%s; next try in %" PRId64 " ms", reflector->trouble, pause / NSEC_PER_MSEC);
    go_on(reflector, pause);
}

/* The next call is a list from its first page. */
static void start_over(struct reflector *reflector)
{
    free(take_ptr(reflector->token));
    reflector->rv = 0;
    reflector->faults = 0;
    if (reflector->listing)
        store_list_abort(reflector->store);
    reflector->listing = false;
}

/* Answers that will be the same however often the request is repeated. */
static bool is_final(const struct error *err)
{
    return err->cls == ERROR_GONE || err->cls == ERROR_INVALID || err->cls == ERROR_NOT_FOUND ||
           err->cls == ERROR_LIMIT;
}

/* ---- listing -------------------------------------------------------------------------------- */

static void list_complete(struct reflector *reflector)
{
    store_list_end(reflector->store, reflector->list_rv);
    reflector->listing = false;
    reflector->rv = reflector->list_rv;
    reflector->stats.lists++;
    reflector->stats.synced = true;
    reflector->stats.fresh_ns = loop_now(reflector->loop);
    reflector->trouble[0] = '\0';
    log_debug("listed %s at resourceVersion %" PRIu64 ": %zu", reflector->path, reflector->rv,
              store_count(reflector->store));
}

static int take_page(struct reflector *reflector, struct str body, struct error *err)
{
    struct list_page page;

    if (list_page_apply(reflector->store, body, &page, err) < 0)
        return -1;
    if (!reflector->token)
        reflector->list_rv = page.rv;
    free(take_ptr(reflector->token));
    if (str_empty(page.remain))
        list_complete(reflector);
    else
        reflector->token = str_dup(page.remain);
    return 0;
}

static void list_done(const struct kube_result *result, void *arg)
{
    struct reflector *reflector = arg;
    struct error err = result->error;

    reflector->call = NULL;
    if (err.cls == ERROR_NONE && take_page(reflector, result->body, &err) == 0) {
        go_on(reflector, 0);
        return;
    }
    /* A page can be asked for again, but not with a token that has expired. */
    if (result->outcome == KUBE_ANSWERED && result->error.cls != ERROR_NONE && is_final(&err))
        start_over(reflector);
    fail(reflector, "list", &err, result->retry_after_ns);
}

static void start_list(struct reflector *reflector)
{
    cleanup_buf struct buf path = BUF_INIT(LIMIT_JSON_STRING * 4);

    if (!reflector->listing)
        store_list_begin(reflector->store);
    reflector->listing = true;
    buf_printf(&path, "%s?limit=%d", reflector->path, PAGE_LIMIT);
    if (reflector->token) {
        buf_add_cstr(&path, "&continue=");
        kube_escape(&path, str_of(reflector->token));
    }
    buf_add_str(&path, buf_str(&reflector->selectors));
    reflector->call = kube_start(reflector->transport, &(struct kube_call_spec){
                                                           .method = KUBE_GET,
                                                           .path = buf_str(&path),
                                                           .timeout_ns = LIST_TIMEOUT,
                                                           .on_done = list_done,
                                                           .arg = reflector,
                                                       });
}

/* ---- watching ------------------------------------------------------------------------------- */

/* The watch does what it should: all is forgiven. */
static void begun_well(void *arg)
{
    struct reflector *reflector = arg;
    backoff_reset(&reflector->backoff);
    reflector->faults = 0;
    reflector->trouble[0] = '\0';
    reflector->stats.answered = true;
    loop_timer_cancel(reflector->loop, &reflector->settled);
}

static void watch_answered(void *arg)
{
    struct reflector *reflector = arg;
    reflector->stats.answered = true;
}

static void advance(struct reflector *reflector, uint64_t rv)
{
    reflector->stats.fresh_ns = loop_now(reflector->loop);
    if (rv <= reflector->rv)
        return;
    reflector->rv = rv;
    begun_well(reflector);
}

static bool take_bookmark(struct reflector *reflector, struct str object)
{
    struct kube_identity identity;

    if (kube_identity_read(object, &identity, &reflector->fault) < 0)
        return false;
    store_watched(reflector->store, identity.rv);
    advance(reflector, identity.rv);
    return true;
}

static bool take_change(struct reflector *reflector, const struct watch_event *event)
{
    bool deleted = event->type == WATCH_DELETED;
    uint64_t rv = 0;

    if (store_watch_event(reflector->store, deleted, event->object, &rv, &reflector->fault) < 0)
        return false;
    reflector->stats.events++;
    advance(reflector, rv);
    return true;
}

/* An ERROR event: a Status, as the body of a failed answer would be. */
static bool take_error(struct reflector *reflector, struct str object)
{
    struct kube_result result = {.outcome = KUBE_ANSWERED, .body = object};

    result.status = watch_status_code(object);
    if (result.status < 400)
        result.status = 500;
    kube_result_classify(&result);
    reflector->fault = result.error;
    reflector->fault_retry_after_ns = result.retry_after_ns;
    return false;
}

static bool take_line(struct str line, void *arg)
{
    struct reflector *reflector = arg;
    struct watch_event event;

    if (watch_event_read(line, &event, &reflector->fault) < 0) {
        reflector->fault.cls = ERROR_RETRY; /* the same event may arrive whole the next time */
        return false;
    }
    switch (event.type) {
    case WATCH_ADDED:
    case WATCH_MODIFIED:
    case WATCH_DELETED:
        return take_change(reflector, &event);
    case WATCH_BOOKMARK:
        return take_bookmark(reflector, event.object);
    case WATCH_ERROR:
        return take_error(reflector, event.object);
    case WATCH_UNKNOWN:
        break;
    }
    return true;
}

static bool watch_data(struct str data, void *arg)
{
    struct reflector *reflector = arg;

    switch (watch_lines_add(&reflector->lines, data, take_line, reflector)) {
    case WATCH_LINES_OK:
        return true;
    case WATCH_LINES_STOPPED:
        return false;
    case WATCH_LINES_TOO_LONG:
        break;
    }
    error_set(&reflector->fault, ERROR_LIMIT, "an event is larger than %zu MiB",
              LIMIT_WATCH_EVENT >> 20);
    return false;
}

/* The call is over: nothing of it may act any more. */
static void leave_watch(struct reflector *reflector)
{
    reflector->call = NULL;
    reflector->stats.watching = false;
    loop_timer_cancel(reflector->loop, &reflector->overdue);
    loop_timer_cancel(reflector->loop, &reflector->settled);
    watch_lines_clear(&reflector->lines);
}

static bool has_lasted(const struct reflector *reflector)
{
    return loop_now(reflector->loop) - reflector->start_ns >= SETTLED;
}

/* Why a stream that ended without an error is none the less a failure, if it is. */
static void judge_end(const struct reflector *reflector, bool partial, struct error *err)
{
    bool progress = reflector->rv > reflector->start_rv || has_lasted(reflector);
    if (partial)
        error_set(err, ERROR_RETRY, "the stream ended inside an event");
    else if (!progress)
        error_set(err, ERROR_RETRY, "the stream ended at once without an event");
}

static void watch_failed(struct reflector *reflector, const struct error *err,
                         int64_t retry_after_ns, bool by_server)
{
    if (by_server && retry_after_ns == 0)
        reflector->faults++;
    if (is_final(err) || reflector->faults >= FAULTS_BEFORE_LIST)
        start_over(reflector);
    fail(reflector, "watch", err, retry_after_ns);
}

static void watch_done(const struct kube_result *result, void *arg)
{
    struct reflector *reflector = arg;
    bool stopped = reflector->fault.cls != ERROR_NONE;
    struct error err = stopped ? reflector->fault : result->error;
    int64_t retry_after = stopped ? reflector->fault_retry_after_ns : result->retry_after_ns;

    if (err.cls == ERROR_NONE)
        judge_end(reflector, watch_lines_partial(&reflector->lines), &err);
    leave_watch(reflector);
    if (err.cls == ERROR_NONE) {
        reflector->stats.fresh_ns = loop_now(reflector->loop);
        begun_well(reflector);
        go_on(reflector, has_lasted(reflector) ? 0 : REOPEN_PAUSE);
    } else {
        bool by_server = stopped || (result->outcome == KUBE_ANSWERED && result->status != 429);
        watch_failed(reflector, &err, retry_after, by_server);
    }
}

static void took_too_long(void *arg)
{
    struct reflector *reflector = arg;
    struct error err = ERROR_INIT;

    kube_give_up(reflector->transport, reflector->call);
    leave_watch(reflector);
    error_set(&err, ERROR_RETRY, "the stream did not end in its time: the connection is dead");
    watch_failed(reflector, &err, 0, false);
}

static void start_watch(struct reflector *reflector)
{
    cleanup_buf struct buf path = BUF_INIT(LIMIT_JSON_STRING);
    int seconds = WATCH_LEAST_S + (int)rng_below(loop_rng(reflector->loop), WATCH_SPREAD_S);

    buf_printf(&path,
               "%s?watch=1&allowWatchBookmarks=true&resourceVersion=%" PRIu64 "&timeoutSeconds=%d",
               reflector->path, reflector->rv, seconds);
    buf_add_str(&path, buf_str(&reflector->selectors));
    reflector->start_rv = reflector->rv;
    reflector->start_ns = loop_now(reflector->loop);
    reflector->fault = (struct error)ERROR_INIT;
    reflector->fault_retry_after_ns = 0;
    reflector->stats.watches++;
    reflector->stats.watching = true;
    loop_timer_set(reflector->loop, &reflector->overdue, (seconds + OVERDUE_S) * NSEC_PER_SEC);
    loop_timer_set(reflector->loop, &reflector->settled, SETTLED);
    reflector->call = kube_start(reflector->transport, &(struct kube_call_spec){
                                                           .method = KUBE_GET,
                                                           .path = buf_str(&path),
                                                           .watch = true,
                                                           .on_open = watch_answered,
                                                           .on_data = watch_data,
                                                           .on_done = watch_done,
                                                           .arg = reflector,
                                                       });
}

/* ---- the reflector -------------------------------------------------------------------------- */

static void start(void *arg)
{
    struct reflector *reflector = arg;
    if (reflector->rv == 0)
        start_list(reflector);
    else
        start_watch(reflector);
}

static void add_selector(struct reflector *reflector, const char *name, const char *selector)
{
    if (!selector || !*selector)
        return;
    buf_printf(&reflector->selectors, "&%s=", name);
    kube_escape(&reflector->selectors, str_of(selector));
}

struct reflector *reflector_new(struct loop *loop, struct kube_transport *transport,
                                struct store *store, const struct reflector_spec *spec)
{
    struct reflector *reflector = xnew(struct reflector);

    reflector->loop = loop;
    reflector->transport = transport;
    reflector->store = store;
    reflector->path = spec->path;
    reflector->stats.fresh_ns = loop_now(loop);
    buf_init(&reflector->selectors, LIMIT_JSON_STRING / 2);
    add_selector(reflector, "fieldSelector", spec->field_selector);
    add_selector(reflector, "labelSelector", spec->label_selector);
    loop_timer_init(&reflector->next, start, reflector);
    loop_timer_init(&reflector->overdue, took_too_long, reflector);
    loop_timer_init(&reflector->settled, begun_well, reflector);
    backoff_init(&reflector->backoff, BACKOFF_FIRST, BACKOFF_MOST);
    watch_lines_init(&reflector->lines);
    go_on(reflector, 0);
    return reflector;
}

void reflector_free(struct reflector *reflector)
{
    if (!reflector)
        return;
    if (reflector->call)
        kube_cancel(reflector->transport, reflector->call);
    loop_timer_cancel(reflector->loop, &reflector->next);
    leave_watch(reflector);
    if (reflector->listing)
        store_list_abort(reflector->store);
    free(reflector->token);
    buf_clear(&reflector->selectors);
    free(reflector);
}

struct reflector_stats reflector_stats(const struct reflector *reflector)
{
    return reflector->stats;
}

/* From "/api/v1/RESOURCE" or "/apis/GROUP/VERSION/...RESOURCE". */
char *reflector_resource(const struct reflector *reflector)
{
    struct str rest = str_of(reflector->path), part = STR_NULL, group = STR_NULL;
    const bool grouped = str_starts(rest, STR("/apis/"));

    for (int i = 0; str_split(&rest, '/', &part); i++) {
        if (i == 2)
            group = part;
    }
    return grouped ? xasprintf("%.*s.%.*s", STR_ARG(part), STR_ARG(group)) : str_dup(part);
}

const char *reflector_trouble(const struct reflector *reflector)
{
    return reflector->trouble;
}
