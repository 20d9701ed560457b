/*
 * Watches: what a reader is told, from where, and how a stream ends.
 */
#include "sim.h"

struct stream {
    struct sim *sim;
    struct sim_watch *watch; /* NULL when it is over */
    struct buf told;         /* "ADDED a 12;" for each line */
    struct doc *last;        /* the object of the last line */
    unsigned ends;
};

static void on_line(struct str line, void *arg)
{
    struct stream *stream = arg;
    struct error err = ERROR_INIT;
    if (str_empty(line)) {
        stream->watch = NULL;
        stream->ends++;
        return;
    }
    assert_true(str_ends(line, STR("}\n")));
    struct doc *event = doc_parse(&stream->sim->arena, arena_str(&stream->sim->arena, line), &err);
    assert_non_null(event);
    stream->last = doc_get(event, STR("object"));
    buf_printf(&stream->told, "%s%.*s %.*s", stream->told.n ? "; " : "",
               STR_ARG(doc_str_at(event, "type")),
               STR_ARG(doc_str_at(stream->last, "metadata.name")));
}

static void open_stream(struct sim *sim, struct stream *stream, const char *path)
{
    struct sim_answer answer = SIM_ANSWER_INIT;
    const struct sim_request request = {.method = KUBE_GET, .path = str_of(path)};
    *stream = (struct stream){.sim = sim, .told = BUF_INIT(1 << 16)};
    assert_true(sim_request_is_watch(&request));
    stream->watch = sim_server_watch(sim->server, &request, &answer, on_line, stream);
    assert_non_null(stream->watch);
    assert_int_equal(answer.status, 200);
    buf_clear(&answer.body);
}

static void close_stream(struct stream *stream)
{
    if (stream->watch)
        sim_watch_end(stream->watch);
    buf_clear(&stream->told);
}

static void assert_told(struct stream *stream, const char *text)
{
    assert_str(buf_str(&stream->told), text);
    buf_reset(&stream->told);
}

static void make(struct sim *sim, const char *name, const char *labels)
{
    assert_int_equal(
        sim_post(sim, CONFIGMAPS,
                 sim_text(sim, "{\"metadata\":{\"name\":\"%s\",\"labels\":{%s}}}", name, labels)),
        201);
}

static const char *since(struct sim *sim, const char *path, uint64_t rv)
{
    return sim_text(sim,
                    "%s?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=%llu",
                    path, (unsigned long long)rv);
}

static void test_changes_as_they_come(void **state)
{
    struct sim *sim = *state;
    struct stream stream, all;
    open_stream(sim, &stream, since(sim, CONFIGMAPS, sim_server_rv(sim->server)));
    open_stream(sim, &all, since(sim, "/api/v1/configmaps", sim_server_rv(sim->server)));
    make(sim, "a", "");
    assert_int_equal(sim_merge(sim, CONFIGMAPS "/a", "{\"data\":{\"x\":\"1\"}}"), 200);
    assert_str(doc_str_at(stream.last, "data.x"), "1");
    assert_str(doc_str_at(stream.last, "kind"), "ConfigMap");
    struct str rv = doc_str_at(stream.last, "metadata.resourceVersion");
    assert_int_equal(
        sim_post(sim, "/api/v1/namespaces/default/configmaps", "{\"metadata\":{\"name\":\"o\"}}"),
        201);
    assert_int_equal(sim_remove(sim, CONFIGMAPS "/a", ""), 200);
    assert_str(doc_str_at(stream.last, "data.x"), "1");
    assert_false(str_eq(doc_str_at(stream.last, "metadata.resourceVersion"), rv));
    assert_told(&stream, "ADDED a; MODIFIED a; DELETED a");
    assert_told(&all, "ADDED a; MODIFIED a; ADDED o; DELETED a");
    close_stream(&stream);
    close_stream(&all);
}

static void test_from_a_version(void **state)
{
    struct sim *sim = *state;
    struct stream stream;
    make(sim, "a", "");
    uint64_t rv = sim_server_rv(sim->server);
    make(sim, "b", "");
    assert_int_equal(sim_remove(sim, CONFIGMAPS "/a", ""), 200);
    open_stream(sim, &stream, since(sim, CONFIGMAPS, rv));
    assert_told(&stream, "ADDED b; DELETED a");
    close_stream(&stream);
    open_stream(sim, &stream, since(sim, CONFIGMAPS, 0));
    assert_told(&stream, "ADDED b");
    close_stream(&stream);
    open_stream(sim, &stream, CONFIGMAPS "?watch=true");
    assert_told(&stream, "ADDED b");
    close_stream(&stream);
}

static void test_coming_and_going_of_a_selection(void **state)
{
    struct sim *sim = *state;
    struct stream stream;
    make(sim, "a", "\"s\":\"1\"");
    open_stream(sim, &stream,
                sim_text(sim, "%s&labelSelector=s%%3D1",
                         since(sim, CONFIGMAPS, sim_server_rv(sim->server))));
    make(sim, "b", "");
    assert_int_equal(sim_merge(sim, CONFIGMAPS "/b", "{\"metadata\":{\"labels\":{\"s\":\"1\"}}}"),
                     200);
    assert_told(&stream, "ADDED b");
    assert_int_equal(sim_merge(sim, CONFIGMAPS "/a", "{\"data\":{\"x\":\"1\"}}"), 200);
    assert_int_equal(sim_merge(sim, CONFIGMAPS "/a",
                               "{\"metadata\":{\"labels\":{\"s\":\"2\"}},\"data\":{\"x\":\"2\"}}"),
                     200);
    assert_told(&stream, "MODIFIED a; DELETED a");
    assert_str(doc_str_at(stream.last, "data.x"), "1"); /* as it was when it was meant */
    assert_str(doc_str_at(stream.last, "metadata.resourceVersion"),
               sim_text(sim, "%llu", (unsigned long long)sim_server_rv(sim->server)));
    assert_int_equal(sim_remove(sim, CONFIGMAPS "/a", ""), 200);
    assert_int_equal(sim_remove(sim, CONFIGMAPS "/b", ""), 200);
    assert_told(&stream, "DELETED b");
    close_stream(&stream);
}

/* The change that takes the last finalizer away is itself not shown. */
static void test_the_last_finalizer_goes(void **state)
{
    struct sim *sim = *state;
    struct stream stream;
    make(sim, "a", "");
    assert_int_equal(sim_merge(sim, CONFIGMAPS "/a", "{\"metadata\":{\"finalizers\":[\"x/y\"]}}"),
                     200);
    open_stream(sim, &stream, since(sim, CONFIGMAPS, sim_server_rv(sim->server)));
    assert_int_equal(sim_remove(sim, CONFIGMAPS "/a", ""), 200);
    assert_int_equal(sim_merge(sim, CONFIGMAPS "/a",
                               "{\"metadata\":{\"finalizers\":null,\"labels\":{\"l\":\"1\"}}}"),
                     200);
    assert_str(sim_at(sim, "metadata.labels.l"), "1");
    assert_told(&stream, "MODIFIED a; DELETED a");
    assert_null(doc_at(stream.last, "metadata.labels"));
    assert_int_equal(doc_count(doc_at(stream.last, "metadata.finalizers")), 1);
    close_stream(&stream);
}

static void test_a_version_that_is_forgotten(void **state)
{
    struct sim *sim = *state;
    struct stream stream;
    uint64_t rv = sim_server_rv(sim->server);
    make(sim, "a", "");
    sim_server_compact(sim->server);
    open_stream(sim, &stream, since(sim, CONFIGMAPS, rv));
    assert_told(&stream, "ERROR ");
    assert_int_equal(doc_i64(doc_at(stream.last, "code"), 0), 410);
    assert_str(doc_str_at(stream.last, "reason"), "Expired");
    assert_true(str_starts(doc_str_at(stream.last, "message"), STR("too old resource version: ")));
    make(sim, "b", "");
    sim_wait(sim, NSEC_PER_SEC);
    assert_int_equal(stream.ends, 1);
    assert_told(&stream, "");
    close_stream(&stream);
    open_stream(sim, &stream, since(sim, CONFIGMAPS, sim_server_rv(sim->server)));
    assert_told(&stream, "");
    close_stream(&stream);
}

static void test_bookmarks_and_the_end(void **state)
{
    struct sim *sim = *state;
    struct stream stream, plain;
    open_stream(sim, &stream, since(sim, CONFIGMAPS, sim_server_rv(sim->server)));
    open_stream(sim, &plain, CONFIGMAPS "?watch=1&timeoutSeconds=300");
    assert_int_equal(sim_post(sim, PODS, POD("x")), 201); /* another resource moves it on, too */
    sim_wait(sim, 61 * NSEC_PER_SEC);
    assert_told(&stream, "BOOKMARK ");
    assert_str(doc_str_at(stream.last, "metadata.resourceVersion"),
               sim_text(sim, "%llu", (unsigned long long)sim_server_rv(sim->server)));
    assert_str(doc_str_at(stream.last, "kind"), "ConfigMap");
    sim_wait(sim, 230 * NSEC_PER_SEC);
    assert_int_equal(stream.ends, 0);
    sim_wait(sim, 10 * NSEC_PER_SEC);
    assert_int_equal(stream.ends, 1);
    assert_int_equal(plain.ends, 1);
    assert_told(&plain, "");
    close_stream(&stream);
    close_stream(&plain);
}

static void test_initial_events_end_with_a_bookmark(void **state)
{
    struct sim *sim = *state;
    struct stream stream;
    make(sim, "a", "");
    uint64_t rv = sim_server_rv(sim->server);
    make(sim, "b", "");
    sim_server_compact(sim->server);
    open_stream(sim, &stream,
                sim_text(sim, "%s&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
                         since(sim, CONFIGMAPS, rv)));
    assert_told(&stream, "ADDED a; ADDED b; BOOKMARK ");
    assert_str(doc_str(doc_get(doc_at(stream.last, "metadata.annotations"),
                               STR("k8s.io/initial-events-end"))),
               "true");
    make(sim, "c", "");
    assert_told(&stream, "ADDED c");
    close_stream(&stream);
}

static void test_what_is_refused(void **state)
{
    struct sim *sim = *state;
    static const char *const paths[] = {CONFIGMAPS "?watch=1&resourceVersion=x",
                                        CONFIGMAPS "?watch=1&labelSelector=a+b",
                                        CONFIGMAPS "?watch=1&fieldSelector=q%3D1"};
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct sim_answer answer = SIM_ANSWER_INIT;
        const struct sim_request request = {.method = KUBE_GET, .path = str_of(paths[i])};
        assert_null(sim_server_watch(sim->server, &request, &answer, on_line, NULL));
        assert_int_equal(answer.status, i == 0 ? 500 : 400); /* as the real one has it */
        buf_clear(&answer.body);
    }
    const struct sim_request list = {.method = KUBE_GET, .path = STR(CONFIGMAPS "?limit=1")};
    assert_false(sim_request_is_watch(&list));
}

/* A reader that leaves while another is told, and one that comes, disturb nobody. */
static struct stream leaver;

static void on_line_leave(struct str line, void *arg)
{
    (void)line;
    (void)arg;
    if (leaver.watch)
        sim_watch_end(leaver.watch);
    leaver.watch = NULL;
}

static void test_leaving_while_others_are_told(void **state)
{
    struct sim *sim = *state;
    struct stream last;
    struct sim_answer answer = SIM_ANSWER_INIT;
    const char *path = since(sim, CONFIGMAPS, sim_server_rv(sim->server));
    const struct sim_request request = {.method = KUBE_GET, .path = str_of(path)};
    struct sim_watch *first = sim_server_watch(sim->server, &request, &answer, on_line_leave, NULL);
    open_stream(sim, &leaver, path);
    open_stream(sim, &last, path);
    make(sim, "a", "");
    assert_null(leaver.watch);
    assert_told(&last, "ADDED a");
    make(sim, "b", "");
    assert_told(&last, "ADDED b");
    assert_told(&leaver, "");
    sim_watch_end(first);
    close_stream(&leaver);
    close_stream(&last);
    buf_clear(&answer.body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIM_TEST(test_changes_as_they_come),
        SIM_TEST(test_from_a_version),
        SIM_TEST(test_coming_and_going_of_a_selection),
        SIM_TEST(test_the_last_finalizer_goes),
        SIM_TEST(test_a_version_that_is_forgotten),
        SIM_TEST(test_bookmarks_and_the_end),
        SIM_TEST(test_initial_events_end_with_a_bookmark),
        SIM_TEST(test_what_is_refused),
        SIM_TEST(test_leaving_while_others_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
