/*
 * Feeds: snapshots of what is followed, and when a feed is ready. The API server is played by hand.
 */
#include "testing.h"

#include "kube/manual_transport.h"
#include "webhook/feed.h"

struct rig {
    struct loop *loop;
    struct manual *server;
    struct snapshot_cell cell;
    struct feed *feed;
    unsigned published;
};

static void count(void *arg)
{
    struct rig *rig = arg;
    rig->published++;
}

static void rig_start(struct rig *rig, const struct feed_kind *kind)
{
    rig->loop = loop_new_virtual(1, 0);
    rig->server = manual_new(rig->loop);
    rig->published = 0;
    snapshot_cell_init(&rig->cell, NULL);
    rig->feed = feed_new(rig->loop, &rig->server->base, kind, &rig->cell, count, rig);
    run_for(rig->loop, NSEC_PER_MSEC);
}

static void rig_stop(struct rig *rig)
{
    feed_free(rig->feed);
    kube_transport_free(&rig->server->base);
    snapshot_cell_clear(&rig->cell);
    loop_free(rig->loop);
}

static void answer_list(struct rig *rig, const char *items)
{
    char *body = xasprintf("{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[%s]}", items);
    assert_non_null(manual_first(rig->server));
    manual_answer(manual_first(rig->server), 200, body, 0);
    free(body);
    run_for(rig->loop, NSEC_PER_MSEC);
}

/* The head of the answer to the watch comes. */
static void open_watch(struct rig *rig)
{
    struct kube_call *call = manual_first(rig->server);
    assert_non_null(call);
    assert_true(call->spec.watch);
    call->spec.on_open(call->spec.arg);
    run_for(rig->loop, 100 * NSEC_PER_MSEC);
}

static void event(struct rig *rig, const char *type, const char *object)
{
    char *line = xasprintf("{\"type\":\"%s\",\"object\":%s}\n", type, object);
    assert_true(manual_data(manual_first(rig->server), str_of(line)));
    free(line);
    run_for(rig->loop, NSEC_PER_MSEC);
}

static void assert_missing(const struct rig *rig, const char *says)
{
    struct buf missing = BUF_INIT(4096);
    feed_missing(rig->feed, &missing);
    buf_add_char(&missing, '\0');
    assert_non_null(strstr(missing.p, says));
    assert_int_equal(feed_ready(rig->feed), *says == '\0');
    buf_clear(&missing);
}

#define QUEUE(name, rv)                                                                            \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name "\",\"resourceVersion\":\"" rv "\"}}"

static void test_ready_when_the_watch_is_answered(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, &feed_queues);
    assert_missing(&rig, "the list of Queue objects is not complete");
    answer_list(&rig, QUEUE("a", "5"));
    struct queue_snapshot *snapshot = snapshot_cell_get(&rig.cell);
    assert_true(snapshot->synced);
    assert_non_null(queue_snapshot_get(snapshot, STR("a")));
    shared_unref(snapshot);
    assert_int_equal(rig.published, 1);
    assert_missing(&rig, "the watch of Queue objects has not begun");
    /* Right after its CRD was made the server cannot watch yet. */
    manual_answer(manual_first(rig.server), 429, "storage is (re)initializing", NSEC_PER_SEC);
    run_for(rig.loop, 500 * NSEC_PER_MSEC);
    assert_missing(&rig, "has not begun: cannot watch");
    run_for(rig.loop, 2 * NSEC_PER_SEC);
    assert_missing(&rig, "has not begun");
    open_watch(&rig);
    assert_int_equal(rig.published, 2);
    assert_true(feed_ready(rig.feed));
    assert_missing(&rig, "");
    /* Once is enough: a watch that breaks is opened again, and what is known is still served. */
    manual_answer(manual_first(rig.server), 500, "", 0);
    run_for(rig.loop, NSEC_PER_MSEC);
    assert_true(feed_ready(rig.feed));
    rig_stop(&rig);
}

#define NAMESPACE(name, rv, annotations)                                                           \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name "\",\"resourceVersion\":\"" rv        \
    "\",\"annotations\":{" annotations "}}}"
#define IN_QUEUE(queue) "\"scheduling.volcano.sh/queue-name\":\"" queue "\""

/* The queue that a namespace names; NULL without one, "?" when it is not known. */
static const char *queue_of(struct rig *rig, const char *name, char text[64])
{
    struct namespace_snapshot *snapshot = snapshot_cell_get(&rig->cell);
    const struct namespace_view *view = namespace_snapshot_get(snapshot, str_of(name));
    const char *queue = view ? NULL : "?";
    if (view && view->has_queue) {
        memcpy(text, view->queue.p, view->queue.n + 1);
        queue = text;
    }
    shared_unref(snapshot);
    return queue;
}

static void test_namespaces(void **state)
{
    (void)state;
    struct rig rig;
    char text[64];
    rig_start(&rig, &feed_namespaces);
    assert_true(str_starts(manual_first(rig.server)->spec.path, STR("/api/v1/namespaces?")));
    answer_list(&rig, NAMESPACE("a", "1", IN_QUEUE("qa")) "," NAMESPACE(
                          "b", "2", "\"x\":\"y\"") "," NAMESPACE("c", "3", IN_QUEUE("")));
    open_watch(&rig);
    assert_string_equal(queue_of(&rig, "a", text), "qa");
    assert_null(queue_of(&rig, "b", text));
    assert_string_equal(queue_of(&rig, "c", text), "");
    assert_string_equal(queue_of(&rig, "d", text), "?");
    const unsigned before = rig.published;
    event(&rig, "MODIFIED", NAMESPACE("a", "11", IN_QUEUE("qa") ",\"more\":\"1\""));
    assert_int_equal(rig.published, before); /* nothing that matters */
    event(&rig, "MODIFIED", NAMESPACE("a", "12", ""));
    assert_int_equal(rig.published, before + 1);
    assert_null(queue_of(&rig, "a", text));
    event(&rig, "MODIFIED", NAMESPACE("a", "13", IN_QUEUE("")));
    assert_string_equal(queue_of(&rig, "a", text), "");
    event(&rig, "ADDED", NAMESPACE("d", "14", IN_QUEUE("qd")));
    assert_string_equal(queue_of(&rig, "d", text), "qd");
    event(&rig, "DELETED", NAMESPACE("b", "15", ""));
    assert_string_equal(queue_of(&rig, "b", text), "?");
    rig_stop(&rig);
}

#define QUEUE_OF(rv, spec, status)                                                                 \
    "{\"metadata\":{\"name\":\"a\",\"uid\":\"u-a\",\"resourceVersion\":\"" rv                      \
    "\"},\"spec\":{" spec "},\"status\":{" status "}}"

/* Schedulers write the status of queues all the time. */
static void test_changes_of_queues_that_matter(void **state)
{
    (void)state;
    static const char *const others[] = {
        QUEUE_OF("12", "\"capability\":{\"cpu\":\"3\"}", "\"allocated\":{\"pods\":\"1\"}"),
        QUEUE_OF("13", "\"capability\":{\"gpu\":\"3\"}", "\"allocated\":{\"pods\":\"1\"}"),
        QUEUE_OF("14", "\"deserved\":{\"cpu\":\"3\"}", "\"allocated\":{\"pods\":\"1\"}"),
        QUEUE_OF("15", "\"guarantee\":{\"resource\":{\"cpu\":1}}",
                 "\"allocated\":{\"pods\":\"1\"}"),
        QUEUE_OF("16", "\"parent\":\"p\"", "\"allocated\":{\"pods\":\"1\"}"),
        QUEUE_OF("17", "\"parent\":\"p\"", "\"state\":\"Closed\",\"allocated\":{\"pods\":\"1\"}"),
        QUEUE_OF("18", "\"parent\":\"p\"", "\"state\":\"Closed\",\"allocated\":{\"pods\":\"2\"}")};
    struct rig rig;
    rig_start(&rig, &feed_queues);
    answer_list(&rig,
                QUEUE_OF("10", "\"capability\":{\"cpu\":\"2\"}", "\"allocated\":{\"pods\":\"1\"}"));
    open_watch(&rig);
    unsigned before = rig.published;
    event(&rig, "MODIFIED",
          QUEUE_OF("11", "\"weight\":7,\"capability\":{\"cpu\":\"2000m\"}",
                   "\"running\":1,\"allocated\":{\"pods\":\"1\",\"cpu\":\"9\"}"));
    assert_int_equal(rig.published, before);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        event(&rig, "MODIFIED", others[i]);
        assert_int_equal(rig.published, ++before);
    }
    rig_stop(&rig);
}

static void test_no_feed(void **state)
{
    (void)state;
    struct buf missing = BUF_INIT(16);
    assert_true(feed_ready(NULL));
    feed_missing(NULL, &missing);
    assert_int_equal(missing.n, 0);
    feed_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ready_when_the_watch_is_answered),
        cmocka_unit_test(test_namespaces),
        cmocka_unit_test(test_changes_of_queues_that_matter),
        cmocka_unit_test(test_no_feed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
