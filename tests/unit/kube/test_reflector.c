/*
 * The reflector against a server played by hand on a virtual clock: lists and pages, watches, and
 * every fault that a watch is known to meet (expired versions, errors inside a stream, silence, cut
 * events, throttling, servers that are down), with what it must do and must not do about each.
 */
#include "testing.h"

#include "base/limits.h"
#include "base/log.h"
#include "kube/reflector.h"
#include "kube/watch_lines.h"
#include "manual_transport.h"
#include "thing.h"
#include <fcntl.h>
#include <inttypes.h>

#define EMPTY_LIST "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[]}"
#define STATUS_410                                                                                 \
    "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":\"too old version\"}"
#define BOOKMARK(rv)                                                                               \
    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" rv "\"}}}\n"

struct fixture {
    struct loop *loop;
    struct manual *server;
    struct store *store;
    struct reflector *reflector;
    struct store_handler handler;
    char log[4096]; /* "+a1 ~a2 -a2 S": added, updated, deleted, synced */
};

static void note(struct fixture *f, const char *sign, const struct thing *thing)
{
    size_t n = strlen(f->log);
    (void)snprintf(f->log + n, sizeof(f->log) - n, "%s%s%s", n ? " " : "", sign,
                   thing ? thing->meta.name : "");
    n = strlen(f->log);
    if (thing)
        (void)snprintf(f->log + n, sizeof(f->log) - n, "%llu", (unsigned long long)thing->meta.rv);
}

static void on_changed(void *arg, void *old_object, void *new_object)
{
    note(arg,
         old_object && new_object ? "~"
         : new_object             ? "+"
                                  : "-",
         new_object ? new_object : old_object);
}

static void on_synced(void *arg)
{
    note(arg, "S", NULL);
}

static int setup(void **state)
{
    static const struct reflector_spec spec = {"/api/things", NULL, NULL};
    struct fixture *f = xnew(struct fixture);
    f->loop = loop_new_virtual(1, 0);
    f->server = manual_new(f->loop);
    f->store = store_new(&thing_type);
    f->handler = (struct store_handler){.changed = on_changed, .synced = on_synced, .arg = f};
    store_subscribe(f->store, &f->handler);
    f->reflector = reflector_new(f->loop, &f->server->base, f->store, &spec);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    reflector_free(f->reflector);
    assert_int_equal(f->server->inflight, 0);
    kube_transport_free(&f->server->base);
    store_free(f->store);
    loop_free(f->loop);
    free(f);
    return 0;
}

/* ---- playing the server ---------------------------------------------------------------------- */

/* The one call under way, at the latest after `within_ns`; its path begins with `path`. */
static struct kube_call *expect_call(struct fixture *f, const char *path, int64_t within_ns)
{
    for (int64_t end = loop_now(f->loop) + within_ns; !manual_first(f->server);) {
        if (loop_now(f->loop) >= end)
            fail_msg("no call of %s within %lld ms", path, (long long)(within_ns / NSEC_PER_MSEC));
        run_for(f->loop, NSEC_PER_MSEC);
    }
    struct kube_call *call = manual_first(f->server);
    assert_int_equal(f->server->inflight, 1);
    if (!str_starts(call->spec.path, str_of(path)))
        fail_msg("%s is not %s", call->path, path);
    return call;
}

static struct kube_call *expect_list(struct fixture *f)
{
    struct kube_call *call = expect_call(f, "/api/things?limit=500", NSEC_PER_SEC);
    assert_string_equal(call->path, "/api/things?limit=500");
    assert_false(call->spec.watch);
    assert_true(call->spec.timeout_ns > 0);
    return call;
}

static struct kube_call *expect_watch(struct fixture *f, uint64_t rv)
{
    char path[120];
    (void)snprintf(path, sizeof(path),
                   "/api/things?watch=1&allowWatchBookmarks=true&resourceVersion=%llu&",
                   (unsigned long long)rv);
    struct kube_call *call = expect_call(f, path, NSEC_PER_SEC);
    assert_true(call->spec.watch && call->spec.timeout_ns == 0);
    return call;
}

/* Answers a list with things "name uid rv" (name and uid alike), then the list's metadata. */
static void answer_list(struct kube_call *call, const char *const *names, const uint64_t *rvs,
                        size_t n, uint64_t rv, const char *token)
{
    cleanup_buf struct buf body = BUF_INIT(100000);
    buf_add_cstr(&body, "{\"kind\":\"ThingList\",\"items\":[");
    for (size_t i = 0; i < n; i++) {
        cleanup_free char *json = thing_json(names[i], names[i], rvs[i], false);
        buf_printf(&body, "%s%s", i ? "," : "", json);
    }
    buf_printf(&body, "],\"metadata\":{\"resourceVersion\":\"%llu\",\"continue\":\"%s\"}}",
               (unsigned long long)rv, token);
    manual_answer(call, 200, body.p, 0);
}

/* a at 1 and b at 2 are listed at 10. */
static struct kube_call *listed(struct fixture *f)
{
    answer_list(expect_list(f), (const char *[]){"a", "b"}, (uint64_t[]){1, 2}, 2, 10, "");
    return expect_watch(f, 10);
}

/* The line of an event; owned by the caller. */
static char *event_line(const char *type, const char *name, uint64_t rv)
{
    cleanup_free char *json = thing_json(name, name, rv, false);
    return xasprintf("{\"type\":\"%s\",\"object\":%s}\n", type, json);
}

static bool event(struct kube_call *call, const char *type, const char *name, uint64_t rv)
{
    cleanup_free char *line = event_line(type, name, rv);
    return manual_data(call, str_of(line));
}

static void assert_log(struct fixture *f, const char *want)
{
    assert_string_equal(f->log, want);
    f->log[0] = '\0';
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void test_lists_then_watches(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(f->server->inflight, 0); /* not before the next turn */
    struct kube_call *call = listed(f);
    assert_log(f, "+a1 +b2 S");
    assert_true(event(call, "ADDED", "c", 11));
    assert_true(event(call, "MODIFIED", "a", 12));
    assert_true(event(call, "DELETED", "b", 13));
    assert_log(f, "+c11 ~a12 -b2");
    struct reflector_stats stats = reflector_stats(f->reflector);
    assert_true(stats.synced && stats.watching);
    assert_int_equal(stats.lists, 1);
    assert_int_equal(stats.watches, 1);
    assert_int_equal(stats.events, 3);
    assert_int_equal(stats.errors, 0);
    assert_int_equal(stats.fresh_ns, loop_now(f->loop));
    assert_string_equal(reflector_trouble(f->reflector), "");
}

static void test_pages_follow_escaped_tokens(void **state)
{
    struct fixture *f = *state;
    answer_list(expect_list(f), (const char *[]){"a"}, (uint64_t[]){1}, 1, 10, "x+/=");
    struct kube_call *call = expect_call(f, "/api/things?limit=500&continue=", NSEC_PER_SEC);
    assert_string_equal(call->path, "/api/things?limit=500&continue=x%2B%2F%3D");
    assert_false(store_synced(f->store));
    answer_list(call, (const char *[]){"b"}, (uint64_t[]){2}, 1, 11, "");
    assert_log(f, "+a1 +b2 S");
    expect_watch(f, 10); /* the first page's version: nothing can be missed */
}

static void test_selectors_are_escaped(void **state)
{
    struct fixture *f = *state;
    static const struct reflector_spec spec = {"/p", "spec.nodeName=", "a in (b,c)"};
    reflector_free(f->reflector);
    f->reflector = reflector_new(f->loop, &f->server->base, f->store, &spec);
    struct kube_call *call = expect_call(f, "/p?limit=500", NSEC_PER_SEC);
    const char *selectors = "&fieldSelector=spec.nodeName%3D&labelSelector=a%20in%20%28b%2Cc%29";
    assert_true(str_ends(call->spec.path, str_of(selectors)));
    manual_answer(call, 200, EMPTY_LIST, 0);
    call = expect_call(f, "/p?watch=1", NSEC_PER_SEC);
    assert_true(str_ends(call->spec.path, str_of(selectors)));
}

static void test_what_is_no_list_removes_nothing(void **state)
{
    struct fixture *f = *state;
    manual_answer(listed(f), 410, STATUS_410, 0);
    f->log[0] = '\0';
    const char *const bodies[] = {
        "",
        "{}",
        "null",
        "<html>",
        "{\"metadata\":{\"resourceVersion\":\"20\"}}",
        "{\"metadata\":{},\"items\":[]}",
        "{\"metadata\":{\"resourceVersion\":\"0\"},\"items\":[]}",
        "{\"metadata\":{\"resourceVersion\":\"x\"},\"items\":[]}",
        "{\"metadata\":{\"resourceVersion\":\"20\"},\"items\":[]",
        "{\"metadata\":{\"resourceVersion\":\"20\"},\"items\":{}}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        manual_answer(expect_call(f, "/api/things?limit=500", 40 * NSEC_PER_SEC), 200, bodies[i],
                      0);
        assert_int_equal(reflector_stats(f->reflector).errors, i + 2);
        assert_non_null(strstr(reflector_trouble(f->reflector), "cannot list /api/things"));
    }
    assert_log(f, "");
    manual_answer(expect_call(f, "/api/things?limit=500", 40 * NSEC_PER_SEC), 200,
                  "{\"metadata\":{\"resourceVersion\":\"20\"},\"items\":null}", 0);
    assert_log(f, "-a1 -b2");
    assert_string_equal(reflector_trouble(f->reflector), "");
}

static void test_a_failed_page_is_asked_for_again(void **state)
{
    struct fixture *f = *state;
    answer_list(expect_list(f), (const char *[]){"a"}, (uint64_t[]){1}, 1, 10, "t");
    struct kube_call *call = expect_call(f, "/api/things?limit=500&continue=t", NSEC_PER_SEC);
    manual_answer(call, 500, "", 0);
    call = expect_call(f, "/api/things?limit=500&continue=t", NSEC_PER_SEC);
    manual_answer(call, 200, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[", 0);
    call = expect_call(f, "/api/things?limit=500&continue=t", NSEC_PER_SEC);
    manual_fail(call, KUBE_IN_DOUBT, ERROR_RETRY);
    call = expect_call(f, "/api/things?limit=500&continue=t", 2 * NSEC_PER_SEC);
    answer_list(call, NULL, NULL, 0, 10, "");
    assert_log(f, "+a1 S");
}

/* ---- watches: what ends them, and how they go on --------------------------------------------- */

static void test_resumes_after_the_last_event(void **state)
{
    struct fixture *f = *state;
    struct kube_call *call = listed(f);
    event(call, "ADDED", "c", 17);
    manual_answer(call, 200, "", 0); /* timeoutSeconds has passed */
    call = expect_watch(f, 17);
    assert_int_equal(reflector_stats(f->reflector).errors, 0);
    assert_int_equal(reflector_stats(f->reflector).lists, 1);
    event(call, "DELETED", "c", 18);
    manual_fail(call, KUBE_IN_DOUBT, ERROR_RETRY); /* the connection broke */
    assert_non_null(strstr(reflector_trouble(f->reflector), "the line is dead"));
    call = expect_watch(f, 18);
    event(call, "ADDED", "d", 19);
    assert_string_equal(reflector_trouble(f->reflector), "");
    assert_log(f, "+a1 +b2 S +c17 -c17 +d19");
}

/* C1 (a), (i): 410 on the start of a watch; what was deleted meanwhile is found by the list. */
static void test_410_at_the_start_lists_again(void **state)
{
    struct fixture *f = *state;
    manual_answer(listed(f), 410, STATUS_410, 0);
    f->log[0] = '\0';
    answer_list(expect_list(f), (const char *[]){"b", "c"}, (uint64_t[]){2, 15}, 2, 20, "");
    assert_log(f, "+c15 -a1"); /* and b, unchanged, is not announced again */
    expect_watch(f, 20);
}

/* C1 (b): the same inside a stream that began with 200, after an event. */
static void test_410_inside_the_stream_lists_again(void **state)
{
    struct fixture *f = *state;
    struct kube_call *call = listed(f);
    event(call, "MODIFIED", "a", 11);
    assert_false(manual_data(call, STR("{\"type\":\"ERROR\",\"object\":" STATUS_410 "}\n")));
    assert_non_null(strstr(reflector_trouble(f->reflector), "too old version"));
    answer_list(expect_list(f), (const char *[]){"a"}, (uint64_t[]){11}, 1, 20, "");
    expect_watch(f, 20);
    assert_log(f, "+a1 +b2 S ~a11 -b2");
}

/* C1 (c): a token that has expired. */
static void test_410_on_a_later_page_starts_the_list_over(void **state)
{
    struct fixture *f = *state;
    answer_list(expect_list(f), (const char *[]){"a"}, (uint64_t[]){1}, 1, 10, "t");
    manual_answer(expect_call(f, "/api/things?limit=500&continue=t", NSEC_PER_SEC), 410, STATUS_410,
                  0);
    answer_list(expect_list(f), (const char *[]){"b"}, (uint64_t[]){2}, 1, 20, "");
    assert_log(f, "+a1 +b2 -a1 S"); /* a was deleted between the two lists */
    expect_watch(f, 20);
}

/* C1 (d): nothing comes any more, and no end either. */
static void test_a_dead_stream_is_given_up(void **state)
{
    struct fixture *f = *state;
    struct kube_call *call = listed(f);
    int64_t at = loop_now(f->loop);
    run_for(f->loop, 30 * NSEC_PER_SEC);
    event(call, "MODIFIED", "a", 12); /* and then the line goes dead */
    run_for(f->loop, 44 * NSEC_PER_SEC - (loop_now(f->loop) - at));
    assert_ptr_equal(manual_first(f->server), call); /* that may be how it is meant */
    run_for(f->loop, 12 * NSEC_PER_SEC);
    /* Not cancelled: the next watch would go over the same connection. */
    assert_int_equal(f->server->given_up, 1);
    expect_watch(f, 12);
    assert_non_null(strstr(reflector_trouble(f->reflector), "the connection is dead"));
    assert_log(f, "+a1 +b2 S ~a12");
}

static int64_t stale_s(const struct fixture *f)
{
    return (loop_now(f->loop) - reflector_stats(f->reflector).fresh_ns) / NSEC_PER_SEC;
}

/* News, the word that there is none, and a stream that ends as it should make what is known fresh.
 */
static void test_tells_how_old_its_knowledge_is(void **state)
{
    struct fixture *f = *state;
    run_for(f->loop, 7 * NSEC_PER_SEC); /* the list is not answered */
    assert_int_equal(stale_s(f), 7);
    struct kube_call *call = listed(f);
    assert_int_equal(stale_s(f), 0);
    run_for(f->loop, 11 * NSEC_PER_SEC);
    assert_int_equal(stale_s(f), 11);
    event(call, "MODIFIED", "a", 12);
    assert_int_equal(stale_s(f), 0);
    run_for(f->loop, 12 * NSEC_PER_SEC);
    manual_data(call, STR("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":"
                          "{\"resourceVersion\":\"12\"}}}\n"));
    assert_int_equal(stale_s(f), 0);
    run_for(f->loop, 13 * NSEC_PER_SEC);
    manual_answer(call, 200, "", 0);
    assert_int_equal(stale_s(f), 0);
    call = expect_watch(f, 12);
    run_for(f->loop, 14 * NSEC_PER_SEC);
    manual_fail(call, KUBE_NOT_SENT, ERROR_RETRY); /* nothing is known by that */
    call = expect_watch(f, 12);
    manual_answer(call, 410, STATUS_410, 0);
    call = expect_list(f);
    assert_in_range(stale_s(f), 14, 16);
    answer_list(call, NULL, NULL, 0, 90, "");
    assert_int_equal(stale_s(f), 0);
}

static void test_names_its_resource_as_kubectl_does(void **state)
{
    struct fixture *f = *state;
    static const char *const cases[][2] = {
        {"/api/v1/pods", "pods"},
        {"/apis/batch.volcano.sh/v1alpha1/jobs", "jobs.batch.volcano.sh"},
        {"/apis/coordination.k8s.io/v1/namespaces/sys/leases", "leases.coordination.k8s.io"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct reflector_spec spec = {cases[i][0], NULL, NULL};
        struct reflector *other = reflector_new(f->loop, &f->server->base, f->store, &spec);
        cleanup_free char *name = reflector_resource(other);
        assert_string_equal(name, cases[i][1]);
        reflector_free(other);
    }
}

/* C1 (e): half an event, then the end. */
static void test_a_cut_event_is_fetched_again(void **state)
{
    struct fixture *f = *state;
    struct kube_call *call = listed(f);
    event(call, "ADDED", "c", 11);
    manual_data(call, STR("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"d\""));
    manual_answer(call, 200, "", 0);
    assert_non_null(strstr(reflector_trouble(f->reflector), "ended inside an event"));
    call = expect_watch(f, 11);
    event(call, "ADDED", "d", 12);
    assert_false(manual_data(call, STR("{\"type\":\"ADDED\",\"object\":{\"meta\n")));
    call = expect_watch(f, 12);
    event(call, "ADDED", "e", 13);
    assert_log(f, "+a1 +b2 S +c11 +d12 +e13");
    assert_int_equal(reflector_stats(f->reflector).lists, 1);
}

/* C1 (f): an hour of bookmarks alone; every new watch starts at the last of them. */
static void test_bookmarks_move_the_start(void **state)
{
    struct fixture *f = *state;
    struct kube_call *call = listed(f);
    unsigned watches = 1;
    for (uint64_t rv = 1000; watches < 90; rv += 1000, watches++) {
        char line[120];
        run_for(f->loop, 38 * NSEC_PER_SEC);
        (void)snprintf(line, sizeof(line),
                       "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":"
                       "\"%" PRIu64 "\"}}}\n",
                       rv);
        assert_true(manual_data(call, str_of(line)));
        run_for(f->loop, 2 * NSEC_PER_SEC);
        int64_t at = loop_now(f->loop);
        manual_answer(call, 200, "", 0);
        call = expect_watch(f, rv);
        assert_true(call->start_ns - at <= NSEC_PER_MSEC); /* without a gap */
    }
    struct reflector_stats stats = reflector_stats(f->reflector);
    assert_int_equal(stats.watches, watches);
    assert_int_equal(stats.errors, 0);
    assert_int_equal(stats.lists, 1);
    manual_answer(call, 410, STATUS_410, 0); /* compaction after all */
    answer_list(expect_list(f), NULL, NULL, 0, 90000, "");
    assert_log(f, "+a1 +b2 S -a1 -b2");
}

/* C1 (g): 429 for the list, the watch and inside the stream; never earlier than asked. */
static void test_retry_after_is_honoured(void **state)
{
    struct fixture *f = *state;
    manual_answer(expect_list(f), 429, "", 7 * NSEC_PER_SEC);
    run_for(f->loop, 7 * NSEC_PER_SEC - NSEC_PER_MSEC);
    assert_null(manual_first(f->server));
    struct kube_call *call = listed(f);
    int64_t at = loop_now(f->loop);
    manual_answer(call, 429, "", 3 * NSEC_PER_SEC);
    call = expect_call(f, "/api/things?watch=1", 4 * NSEC_PER_SEC);
    assert_true(call->start_ns - at >= 3 * NSEC_PER_SEC);
    at = loop_now(f->loop);
    manual_data(call, STR("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":429,"
                          "\"message\":\"m\",\"details\":{\"retryAfterSeconds\":5}}}\n"));
    call = expect_call(f, "/api/things?watch=1", 6 * NSEC_PER_SEC);
    assert_true(call->start_ns - at >= 5 * NSEC_PER_SEC);
    manual_answer(call, 429, "", 100000 * NSEC_PER_SEC); /* five minutes is all we wait */
    run_for(f->loop, 299 * NSEC_PER_SEC);
    assert_null(manual_first(f->server));
    expect_watch(f, 10);
    assert_int_equal(reflector_stats(f->reflector).lists, 1);
}

/* C1 (h): 500 twenty times; rarer and rarer, and well at once when the server is. */
static void test_a_broken_server_is_asked_less_and_less(void **state)
{
    struct fixture *f = *state;
    int64_t last = 0, longest = 0;
    for (int i = 0; i < 20; i++) {
        struct kube_call *call = expect_call(f, "/api/things?limit=500", 37 * NSEC_PER_SEC);
        int64_t gap = i ? call->start_ns - last : 0;
        assert_true(i < 1 || gap >= 160 * NSEC_PER_MSEC);
        assert_true(i < 9 || gap >= 24 * NSEC_PER_SEC);
        longest = gap > longest ? gap : longest;
        last = call->start_ns;
        manual_answer(call, 500, "boom", 0);
        assert_non_null(strstr(reflector_trouble(f->reflector), "boom"));
    }
    assert_true(longest <= 36 * NSEC_PER_SEC);
    struct kube_call *call = expect_call(f, "/api/things?limit=500", 37 * NSEC_PER_SEC);
    manual_answer(call, 200, EMPTY_LIST, 0);
    event(expect_watch(f, 10), "ADDED", "a", 11);
    assert_log(f, "S +a11");
}

/* A server that fails each watch may not know the version any more: list in the end. */
static void test_a_watch_that_keeps_failing_ends_in_a_list(void **state)
{
    struct fixture *f = *state;
    struct kube_call *call = listed(f);
    for (int i = 1; i <= 10; i++) {
        manual_answer(call, 500, "", 0);
        call =
            expect_call(f, i < 10 ? "/api/things?watch" : "/api/things?limit", 37 * NSEC_PER_SEC);
    }
    answer_list(call, (const char *[]){"a", "b"}, (uint64_t[]){1, 2}, 2, 20, "");
    call = expect_watch(f, 20);
    for (int i = 1; i <= 20; i++) { /* but a server that cannot be reached says nothing of it */
        manual_fail(call, KUBE_NOT_SENT, ERROR_RETRY);
        call = expect_call(f, "/api/things?watch", 37 * NSEC_PER_SEC);
    }
    manual_answer(call, 400, "", 0); /* a version it cannot even read */
    expect_call(f, "/api/things?limit", 37 * NSEC_PER_SEC);
    assert_log(f, "+a1 +b2 S");
}

static void test_watches_that_end_at_once_do_not_spin(void **state)
{
    struct fixture *f = *state;
    struct kube_call *call = listed(f);
    int64_t begin = loop_now(f->loop);
    for (int i = 0; i < 12; i++) {
        /* A bookmark that brings nothing new is no progress. */
        manual_data(call, STR(BOOKMARK("10")));
        manual_answer(call, 200, "", 0);
        call = expect_call(f, "/api/things?", 37 * NSEC_PER_SEC);
        if (!call->spec.watch) {
            answer_list(call, NULL, NULL, 0, 10, "");
            call = expect_watch(f, 10);
        }
    }
    assert_true(loop_now(f->loop) - begin > 60 * NSEC_PER_SEC);
    assert_int_equal(reflector_stats(f->reflector).errors, 12);
    run_for(f->loop, 10 * NSEC_PER_SEC); /* one that lasts is well without any event */
    assert_string_equal(reflector_trouble(f->reflector), "");
    manual_answer(call, 200, "", 0);
    int64_t at = loop_now(f->loop);
    call = expect_watch(f, 10);
    assert_true(call->start_ns - at < 100 * NSEC_PER_MSEC);
}

static void test_timeouts_are_spread(void **state)
{
    struct fixture *f = *state;
    struct kube_call *call = listed(f);
    int64_t least = INT64_MAX, most = 0;
    for (uint64_t i = 0; i < 200; i++) {
        int64_t seconds = 0;
        ptrdiff_t at = str_find(call->spec.path, STR("timeoutSeconds="));
        assert_true(at > 0 && str_to_i64(str_from(call->spec.path, (size_t)at + 15), &seconds));
        assert_in_range(seconds, 40, 50);
        least = seconds < least ? seconds : least;
        most = seconds > most ? seconds : most;
        event(call, "MODIFIED", "a", 11 + i);
        manual_answer(call, 200, "", 0);
        call = expect_watch(f, 11 + i);
    }
    assert_true(least == 40 && most == 50);
}

static void test_bad_and_unknown_events_stop_nothing(void **state)
{
    struct fixture *f = *state;
    struct kube_call *call = listed(f);
    cleanup_free char *bad = thing_json("c", "c", 11, true);
    cleanup_free char *line = xasprintf("{\"type\":\"ADDED\",\"object\":%s}\n", bad);
    assert_true(manual_data(call, str_of(line)));
    assert_true(manual_data(call, STR("{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}\n")));
    assert_true(manual_data(call, STR("{\"type\":\"NEWS\",\"object\":{}}\n\n \r\n")));
    assert_true(event(call, "ADDED", "d", 12));
    assert_log(f, "+a1 +b2 S +d12");
    assert_false(manual_data(call, STR("{\"object\":{}}\n"))); /* but no type at all is broken */
    expect_watch(f, 12);
}

/* ---- pieces and sizes ------------------------------------------------------------------------ */

static void test_events_cut_anywhere_arrive_whole(void **state)
{
    struct fixture *f = *state;
    struct kube_call *call = listed(f);
    f->log[0] = '\0';
    cleanup_free char *one = event_line("ADDED", "c", 11), *two = event_line("DELETED", "c", 12);
    cleanup_free char *both = xasprintf("%s%s", one, two);
    size_t n = strlen(both);
    for (size_t i = 0; i < n; i++)
        assert_true(manual_data(call, str_make(both + i, 1)));
    assert_log(f, "+c11 -c11");
    for (uint64_t cut = 1; cut < 120; cut++) {
        cleanup_free char *a = event_line("ADDED", "x", 100 + 2 * cut);
        cleanup_free char *b = event_line("DELETED", "x", 101 + 2 * cut);
        cleanup_free char *ab = xasprintf("%s%s", a, b);
        assert_true(manual_data(call, str_make(ab, cut)));
        assert_true(manual_data(call, str_from(str_of(ab), cut)));
        f->log[0] = '\0';
    }
    assert_int_equal(store_count(f->store), 2);
    assert_int_equal(reflector_stats(f->reflector).events, 2 + 2 * 119);
}

static bool count_line(struct str line, void *arg)
{
    *(size_t *)arg = line.n;
    return line.p[0] != '!';
}

/* `size` bytes and a line end, in pieces of `piece`; what came of it. */
static enum watch_lines_result feed_line(size_t size, size_t piece, size_t *seen)
{
    struct watch_lines lines;
    cleanup_free char *text = xmalloc(size + 1);
    enum watch_lines_result result = WATCH_LINES_OK;
    memset(text, 'x', size);
    text[size] = '\n';
    *seen = 0;
    watch_lines_init(&lines);
    for (size_t at = 0; at <= size && result == WATCH_LINES_OK; at += piece) {
        size_t n = size + 1 - at < piece ? size + 1 - at : piece;
        result = watch_lines_add(&lines, str_make(text + at, n), count_line, seen);
    }
    watch_lines_clear(&lines);
    return result;
}

static void test_lines_at_the_limit(void **state)
{
    (void)state;
    const size_t most = LIMIT_WATCH_EVENT, pieces[] = {most + 2, most, most - 1, 1 << 20};
    size_t seen;
    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
        assert_int_equal(feed_line(most, pieces[i], &seen), WATCH_LINES_OK);
        assert_int_equal(seen, most);
        assert_int_equal(feed_line(most + 1, pieces[i], &seen), WATCH_LINES_TOO_LONG);
        assert_int_equal(seen, 0);
    }
    struct watch_lines lines;
    watch_lines_init(&lines);
    assert_int_equal(watch_lines_add(&lines, STR("a\n!b\nc"), count_line, &seen),
                     WATCH_LINES_STOPPED);
    watch_lines_clear(&lines);
    assert_int_equal(watch_lines_add(&lines, STR("!"), count_line, &seen), WATCH_LINES_OK);
    assert_true(watch_lines_partial(&lines));
    assert_int_equal(watch_lines_add(&lines, STR("\n"), count_line, &seen), WATCH_LINES_STOPPED);
    assert_false(watch_lines_partial(&lines));
    watch_lines_clear(&lines);
}

static void test_an_event_too_large_lists_again(void **state)
{
    struct fixture *f = *state;
    struct kube_call *call = listed(f);
    cleanup_free char *text = xmalloc(LIMIT_WATCH_EVENT + 1);
    memset(text, 'x', LIMIT_WATCH_EVENT + 1);
    assert_false(manual_data(call, str_make(text, LIMIT_WATCH_EVENT + 1)));
    assert_non_null(strstr(reflector_trouble(f->reflector), "larger than 16 MiB"));
    expect_list(f);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void test_freed_in_any_state(void **state)
{
    struct fixture *f = *state;
    static const struct reflector_spec spec = {"/api/things", NULL, NULL};
    for (int stage = 0; stage < 5; stage++) {
        reflector_free(f->reflector);
        assert_null(manual_first(f->server));
        f->reflector = reflector_new(f->loop, &f->server->base, f->store, &spec);
        if (stage == 0)
            continue;
        struct kube_call *call = expect_list(f);
        if (stage == 1)
            continue;
        answer_list(call, NULL, NULL, 0, 10, stage == 2 ? "t" : "");
        if (stage == 2)
            continue;
        call = expect_watch(f, 10);
        manual_data(call, STR("{\"type\":"));
        if (stage == 4)
            manual_fail(call, KUBE_IN_DOUBT, ERROR_RETRY);
    }
    reflector_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lists_then_watches),
        TEST(test_pages_follow_escaped_tokens),
        TEST(test_selectors_are_escaped),
        TEST(test_what_is_no_list_removes_nothing),
        TEST(test_a_failed_page_is_asked_for_again),
        TEST(test_resumes_after_the_last_event),
        TEST(test_410_at_the_start_lists_again),
        TEST(test_410_inside_the_stream_lists_again),
        TEST(test_410_on_a_later_page_starts_the_list_over),
        TEST(test_a_dead_stream_is_given_up),
        TEST(test_tells_how_old_its_knowledge_is),
        TEST(test_names_its_resource_as_kubectl_does),
        TEST(test_a_cut_event_is_fetched_again),
        TEST(test_bookmarks_move_the_start),
        TEST(test_retry_after_is_honoured),
        TEST(test_a_broken_server_is_asked_less_and_less),
        TEST(test_a_watch_that_keeps_failing_ends_in_a_list),
        TEST(test_watches_that_end_at_once_do_not_spin),
        TEST(test_timeouts_are_spread),
        TEST(test_bad_and_unknown_events_stop_nothing),
        TEST(test_events_cut_anywhere_arrive_whole),
        cmocka_unit_test(test_lines_at_the_limit),
        TEST(test_an_event_too_large_lists_again),
        TEST(test_freed_in_any_state),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
