/*
 * extender: bounds on what it keeps and sends, and what it costs others.
 */
#include "extender.h"

/* There may be many reasons, but no table can tell all of them apart, and none is kept twice. */
static void texts_have_a_bound(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    (void)state;
    add_gpu_nodes(c, 1, 8);
    struct test_group *group = add_gpu_gang(c, "g", 1);
    const struct extender *extender = extender_of(&server);
    for (int i = 0; i < 250; i++) {
        cleanup_free char *answer = xasprintf("{\"status\":\"no.\\n%d\"}", i);
        server.answers[PREDICATE] = answer;
        pass(c, 11 * SECOND);
        assert_true(map_count(&extender->refusals) <= 100);
    }
    server.answers[PREDICATE] = "{\"status\":\"no.\\n3\"}";
    pass(c, 100 * SECOND);
    assert_says(group, "refused by the extender: no. 3.");
    server_free(&server);
}

/* Pods of many kinds take turns. */
static void no_more_than_some_calls_at_once(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES SCORES);
    (void)state;
    add_gpu_nodes(c, 40, 8);
    for (int i = 0; i < 12; i++) {
        cleanup_free char *name = xasprintf("g%d", i);
        add_gpu_pod(c, name, 100 + (unsigned)i, 1);
    }
    pass(c, 2 * SECOND);
    assert_int_equal(c->binds, 12);
    assert_in_range(server.most_at_once, 17, EXTENDER_CALLS_MAX);
    server_free(&server);
}

/* However many kinds of pods there are and however large they are; all get their turn. */
static void questions_that_wait_have_a_bound(void **state)
{
    static const struct {
        unsigned pods;
        size_t label;
    } cases[] = {{400, 1}, {20, 200000}};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct server server;
        struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
        size_t most = 0, most_bytes = 0;
        add_gpu_nodes(c, 20, 32);
        server.fake->latency_ns = 500 * MS;
        for (unsigned n = 0; n < cases[i].pods; n++) {
            cleanup_free char *name = xasprintf("g%u", n);
            add_gpu_pod(c, name, 100 + n, cases[i].label);
        }
        for (int n = 0; n < 1500 && c->binds < cases[i].pods; n++) {
            const struct extender *extender = extender_of(&server);
            pass(c, 100 * MS);
            most = extender->asks.n > most ? extender->asks.n : most;
            most_bytes = extender->asks.bytes > most_bytes ? extender->asks.bytes : most_bytes;
        }
        assert_int_equal(c->binds, cases[i].pods);
        assert_true(most < EXTENDER_WAITING_MAX + EXTENDER_NODES_AT_ONCE);
        assert_true(most_bytes < EXTENDER_WAITING_BYTES + (4 << 20));
        assert_true(most >= EXTENDER_WAITING_MAX || most_bytes >= EXTENDER_WAITING_BYTES);
        server_free(&server);
    }
}

/* The server does not even hear of them; what is new is worth more than what is old. */
static void messages_that_wait_have_a_bound(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED MESSAGES);
    const struct extender *extender = extender_of(&server);
    (void)state;
    add_gpu_nodes(c, 20, 32);
    server.fake->deaf = true;
    for (unsigned i = 0; i < 100; i++) {
        cleanup_free char *name = xasprintf("g%02u", i);
        add_gpu_pod(c, name, 100, 400000);
        pass(c, 100 * MS);
        assert_true(extender->tells.bytes < EXTENDER_WAITING_BYTES + (1 << 20));
    }
    assert_int_equal(c->binds, 100);
    assert_true(extender->tells.bytes > EXTENDER_WAITING_BYTES / 2);
    server.fake->deaf = false;
    pass(c, 5 * SECOND);
    assert_int_equal(extender->tells.n, 0);
    assert_int_equal(extender->tells.bytes, 0);
    assert_true(str_find(buf_str(&server.told), STR("alloc g00;")) < 0);
    assert_true(str_find(buf_str(&server.told), STR("alloc g98;alloc g99;")) >= 0);
    server_free(&server);
}

/* A look at all nodes for one of them is a look for all that are alike. */
static void many_that_wait_cost_little(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    uint64_t least = UINT64_MAX;
    (void)state;
    add_gpu_nodes(c, 500, 8);
    server.fake->deaf = true;
    for (unsigned i = 0; i < 300; i++) {
        cleanup_free char *name = xasprintf("g%u", i);
        add_gpu_pod(c, name, 100, 1);
    }
    for (int i = 0; i < 1000; i++) { /* in 50 s it is tried four times */
        uint64_t work = c->scheduler->cache.work;
        bool quiet = calls_open(server.fake) == 0;
        pass(c, 50 * MS);
        work = c->scheduler->cache.work - work;
        if (quiet && calls_open(server.fake) && work < least)
            least = work;
    }
    assert_in_range(least, 300, 100000); /* 500 nodes for each of them are 150,000 */
    server_free(&server);
}

static void what_nobody_needs_is_dropped(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES READINESS);
    const struct extender *extender = extender_of(&server);
    (void)state;
    add_gpu_nodes(c, 20, 8);
    server.only = "n1";
    server.answers[READY] = "{\"status\":true}";
    struct test_group *group = add_gpu_gang(c, "g", 2);
    pass(c, 2 * SECOND);
    assert_int_equal(bound(c, "g", NULL), 2);
    assert_int_equal(map_count(&extender->classes), 1);
    assert_int_equal(map_count(&extender->jobs), 1);
    end_pods_of(c, group, true);
    group->gone = true;
    show_group(c, group);
    for (int i = 0; i < 4; i++) { /* jobs of others keep cycles coming */
        cleanup_free char *name = xasprintf("plain%d", i);
        add_gang(c, name, 1, "1");
        pass(c, 65 * SECOND);
    }
    assert_int_equal(map_count(&extender->classes), 0);
    assert_int_equal(map_count(&extender->jobs), 0);
    add_gpu_gang(c, "h", 2);
    pass(c, 2 * SECOND);
    assert_int_equal(bound(c, "h", NULL), 2);
    server_free(&server);
}

/* As many bytes as may be, and one more. */
static void answers_have_a_limit(void **state)
{
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        struct server server;
        struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
        cleanup_buf struct buf answer = BUF_INIT(EXTENDER_ANSWER_MAX + 2);
        buf_add_cstr(&answer, "{\"pad\":\"");
        while (answer.n + 2 < EXTENDER_ANSWER_MAX + more)
            buf_add_char(&answer, 'x');
        buf_add_cstr(&answer, "\"}");
        server.answers[PREDICATE] = answer.p;
        add_gpu_nodes(c, 1, 8);
        struct test_group *group = add_gpu_gang(c, "g", 1);
        pass(c, 15 * SECOND);
        assert_int_equal(bound(c, "g", NULL), 1 - more);
        if (more)
            assert_says(group, "failed: the answer is larger than allowed");
        server_free(&server);
    }
}

static unsigned lines_with(FILE *log, const char *text)
{
    char line[1024];
    unsigned count = 0;
    assert_int_equal(fseek(log, 0, SEEK_SET), 0);
    while (fgets(line, sizeof(line), log))
        count += strstr(line, text) != NULL;
    return count;
}

/* One line says how often. */
static void the_log_has_few_lines(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES MESSAGES);
    FILE *log = tmpfile();
    (void)state;
    assert_non_null(log);
    add_gpu_nodes(c, 4, 20);
    server.answers[ALLOC] = "{\"errorMessage\":\"unknown pod\"}";
    log_set_fd(fileno(log));
    add_gpu_gang(c, "g", 20);
    pass(c, 5 * SECOND);
    assert_int_equal(server.asked[ALLOC], 20);
    assert_int_equal(lines_with(log, "call=allocateFunc"), 1);
    pass(c, 6 * SECOND);
    server.answers[PREDICATE] = "no JSON";
    add_gpu_gang(c, "h", 1);
    pass(c, SECOND);
    assert_int_equal(lines_with(log, "call=predicate"), 1); /* each verb has its own */
    server.answers[PREDICATE] = NULL;
    pass(c, 5 * SECOND);
    assert_int_equal(lines_with(log, "call=allocateFunc"), 2);
    assert_int_equal(lines_with(log, "error=\"unknown pod\" times=20"), 1);
    log_set_fd(STDERR_FILENO);
    fclose(log);
    server_free(&server);
}

/* Whether it answers again a few questions tell; the others are not asked in vain. */
static void a_silent_server_is_tried_with_few(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    const struct extender *extender = extender_of(&server);
    size_t most = 0;
    (void)state;
    add_gpu_nodes(c, 40, 8);
    server.fake->deaf = true;
    for (unsigned i = 0; i < 12; i++) {
        cleanup_free char *name = xasprintf("g%u", i);
        add_gpu_pod(c, name, 100 + i, 1);
    }
    pass(c, 1500 * MS); /* the first have found no answer */
    for (int i = 0; i < 300; i++) {
        pass(c, 50 * MS);
        size_t questions = extender->asks.n + extender->asked;
        most = questions > most ? questions : most;
    }
    assert_in_range(most, 1, 2 * EXTENDER_NODES_AT_ONCE - 1);
    server.fake->deaf = false;
    pass(c, 40 * SECOND);
    assert_int_equal(c->binds, 12);
    server_free(&server);
}

/* The most work of a cycle in that time. */
static uint64_t dearest_cycle(struct cluster *c, int64_t ns)
{
    int64_t end = loop_now(c->loop) + ns;
    uint64_t number = 0, work = 0, most = 0;
    while (loop_now(c->loop) < end && loop_turn(c->loop, 50 * MS)) {
        uint64_t grown = c->scheduler->cache.work - work;
        if (c->scheduler->cycle.number == number && grown > most)
            most = grown;
        if (c->scheduler->cycle.number != number)
            work = c->scheduler->cache.work;
        number = c->scheduler->cycle.number;
    }
    return most;
}

/* However many kinds of pods wait: no cycle is about all of them, and all have their turn. */
static void kinds_take_turns(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    const unsigned nodes = 300, kinds = 80;
    (void)state;
    add_gpu_nodes(c, nodes, 8);
    server.only = "nowhere";
    for (unsigned i = 0; i < kinds; i++) {
        cleanup_free char *name = xasprintf("g%u", i);
        add_gpu_pod(c, name, 100 + i, 1);
    }
    pass(c, 2 * SECOND); /* by now there are all tables */
    assert_in_range(dearest_cycle(c, 5 * SECOND), 1, 25 * nodes + 20 * kinds);
    pass(c, 20 * SECOND);
    assert_true(server.asked[PREDICATE] >= kinds * nodes);
    server.only = NULL;
    pass(c, 30 * SECOND);
    assert_int_equal(c->binds, kinds);
    server_free(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_have_a_bound),
        cmocka_unit_test(no_more_than_some_calls_at_once),
        cmocka_unit_test(questions_that_wait_have_a_bound),
        cmocka_unit_test(messages_that_wait_have_a_bound),
        cmocka_unit_test(many_that_wait_cost_little),
        cmocka_unit_test(what_nobody_needs_is_dropped),
        cmocka_unit_test(answers_have_a_limit),
        cmocka_unit_test(the_log_has_few_lines),
        cmocka_unit_test(a_silent_server_is_tried_with_few),
        cmocka_unit_test(kinds_take_turns),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
