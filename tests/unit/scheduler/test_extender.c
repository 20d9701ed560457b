/*
 * extender: which nodes pods may have and which are best, by the word of a server that may fail.
 */
#include "extender.h"

/* ---- nodes ----------------------------------------------------------------------------------- */

static void only_some_pods_are_asked_about(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES SCORES);
    (void)state;
    add_gpu_nodes(c, 4, 1);
    add_gang(c, "plain", 3, "1");
    pass(c, 2 * SECOND);
    assert_int_equal(bound(c, "plain", NULL), 3);
    assert_int_equal(server.asked[PREDICATE] + server.asked[PRIORITIZE], 0);
    add_gpu_gang(c, "g", 1);
    pass(c, 2 * SECOND);
    assert_int_equal(bound(c, "g", NULL), 1);
    assert_int_equal(server.asked[PREDICATE], 4);
    assert_int_equal(server.asked[PRIORITIZE], 1);
    server_free(&server);
}

static void without_managed_resources_all_are(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, PREDICATES);
    (void)state;
    add_nodes(c, 2, 8);
    add_gang(c, "plain", 3, "1");
    pass(c, 2 * SECOND);
    assert_int_equal(bound(c, "plain", NULL), 3);
    assert_int_equal(server.asked[PREDICATE], 2);
    server_free(&server);
}

static void what_it_refuses_is_not_taken(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    (void)state;
    add_gpu_nodes(c, 5, 8);
    server.only = "n03";
    add_gpu_gang(c, "g", 3);
    struct test_group *large = add_gpu_gang(c, "large", 6);
    pass(c, 2 * SECOND);
    assert_int_equal(bound(c, "g", NULL), 3);
    for (int i = 0; i < 3; i++) {
        cleanup_free char *pod = xasprintf("g-w-%d", i);
        assert_string_equal(node_of_pod(c, pod), "n03");
    }
    assert_int_equal(bound(c, "large", NULL), 0);
    pass(c, 20 * SECOND);
    assert_says(large, "4 refused by the extender: no licence");
    assert_says(large, "1 Insufficient " GPU);
    server_free(&server);
}

/* As in the reference: a code says of what kind a refusal is, not that it is one. */
static void the_words_decide(void **state)
{
    static const struct {
        const char *answer;
        unsigned bound;
    } answers[] = {{"{\"status\":\"\",\"code\":3}", 1},
                   {"{\"code\":3}", 1},
                   {"{\"status\":null}", 1},
                   {"{\"status\":\"no\"}", 0},
                   {"{\"status\":\"no\",\"code\":0}", 0}};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        struct server server;
        struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
        add_gpu_nodes(c, 1, 1);
        server.answers[PREDICATE] = answers[i].answer;
        add_gpu_gang(c, "g", 1);
        pass(c, 2 * SECOND);
        assert_int_equal(bound(c, "g", NULL), answers[i].bound);
        server_free(&server);
    }
}

static void it_is_told_what_it_needs_to_know(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES SCORES);
    (void)state;
    add_gpu_nodes(c, 1, 2);
    add_group(c, "g", "\"minMember\":1");
    add_pod_labelled(c, "g-w-0", "g", "w", "\"app\":\"x\"",
                     ",\"priority\":7,\"containers\":[{\"resources\":{\"requests\":{\"cpu\":"
                     "\"1500m\",\"" GPU "\":\"1\"}}}]");
    pass(c, 2 * SECOND);
    struct str body = str_of(server.bodies[PREDICATE]);
    const char *const parts[] = {
        "\"task\":{\"UID\":\"p-g-w-0",
        "\"Job\":\"ns/g\",\"Name\":\"g-w-0\",\"Namespace\":\"ns\",\"TaskRole\":\"w\"",
        "\"Resreq\":{\"MilliCPU\":1500,\"Memory\":0,\"ScalarResources\":{\"" GPU "\":1000}",
        "\"Pod\":{\"metadata\":{\"name\":\"g-w-0\",\"namespace\":\"ns\"",
        "\"labels\":{\"app\":\"x\"}",
        "\"node\":{\"Name\":\"n00\"",
        "\"Idle\":{\"MilliCPU\":64000,\"Memory\":68719476736,\"ScalarResources\":{\"" GPU
        "\":2000}",
        "\"Allocatable\":{\"MilliCPU\":64000",
    };
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (str_find(body, str_of(parts[i])) < 0)
            fail_msg("\"%s\" is not in %.*s", parts[i], STR_ARG(body));
    assert_true(str_find(str_of(server.bodies[PRIORITIZE]), STR("\"nodes\":[{\"Name\":\"n00\"")) >=
                0);
    server_free(&server);
}

static void its_scores_count(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES SCORES);
    (void)state;
    add_gpu_nodes(c, 5, 8);
    server.best = "n04";
    add_gpu_gang(c, "g", 4);
    pass(c, 2 * SECOND);
    for (int i = 0; i < 4; i++) {
        cleanup_free char *pod = xasprintf("g-w-%d", i);
        assert_string_equal(node_of_pod(c, pod), "n04");
    }
    server_free(&server);
}

static void scores_alone_are_waited_for_too(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED SCORES);
    (void)state;
    add_gpu_nodes(c, 5, 8);
    server.best = "n02";
    add_gpu_gang(c, "g", 1);
    pass(c, 2 * SECOND);
    assert_string_equal(node_of_pod(c, "g-w-0"), "n02");
    assert_int_equal(server.asked[PREDICATE], 0);
    server_free(&server);
}

/* ---- gangs ----------------------------------------------------------------------------------- */

static void a_gang_is_placed_whole(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    (void)state;
    add_gpu_nodes(c, 40, 1);
    add_gpu_gang(c, "g", 20);
    int64_t took = time_to_bind(c, "g", 1, 2 * SECOND);
    assert_true(took > 0 && took < 100 * MS);
    pass(c, 50 * MS);
    assert_int_equal(bound(c, "g", NULL), 20);
    assert_int_equal(server.asked[PREDICATE], 32); /* two rounds of 16 */
    server_free(&server);
}

/* Which are best is the last to be allowed. */
static void all_nodes_are_asked_about_before_it_gives_up(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    (void)state;
    add_gpu_nodes(c, 50, 1);
    server.only = "n4";
    add_gpu_gang(c, "g", 10);
    pass(c, 2 * SECOND);
    assert_int_equal(bound(c, "g", NULL), 10);
    assert_int_equal(server.asked[PREDICATE], 50);
    struct test_group *more = add_gpu_gang(c, "more", 1);
    pass(c, 25 * SECOND);
    assert_int_equal(bound(c, "more", NULL), 0);
    assert_says(more, "40 refused by the extender: no licence");
    server_free(&server);
}

/* Answers come for longer than the first ones count. */
static void a_slow_server_places_large_gangs(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    (void)state;
    add_gpu_nodes(c, 99, 1);
    use_extender(&server, MANAGED PREDICATES "      extender.httpTimeout: 5s\n");
    server.latency_ns = 2500 * MS; /* seven rounds, 17 seconds */
    add_gpu_gang(c, "g", 99);
    assert_true(time_to_bind(c, "g", 99, 40 * SECOND) > 15 * SECOND);
    assert_int_equal(server.asked[PREDICATE], 99);
    server_free(&server);
}

/* Refusals grow old before all nodes are known: those that nobody asked about come first. */
static void the_last_node_gets_its_turn(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    (void)state;
    add_gpu_nodes(c, 99, 1);
    use_extender(&server, MANAGED PREDICATES "      extender.httpTimeout: 5s\n");
    server.latency_ns = 2500 * MS;
    server.only = "n98";
    add_gpu_gang(c, "g", 1);
    assert_true(time_to_bind(c, "g", 1, 20 * SECOND) > 0);
    server_free(&server);
}

static void an_answer_counts_for_a_while(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    (void)state;
    add_gpu_nodes(c, 3, 8);
    add_gpu_gang(c, "a", 2);
    pass(c, 4 * SECOND);
    add_gpu_gang(c, "b", 2);
    pass(c, 4 * SECOND);
    assert_int_equal(bound(c, "b", NULL), 2);
    assert_int_equal(server.asked[PREDICATE], 3);
    pass(c, 4 * SECOND);
    server.only = "n02";
    add_gpu_gang(c, "c", 2);
    pass(c, 2 * SECOND);
    assert_int_equal(server.asked[PREDICATE], 6);
    assert_string_equal(node_of_pod(c, "c-w-0"), "n02");
    assert_string_equal(node_of_pod(c, "c-w-1"), "n02");
    server_free(&server);
}

/* A refusal is asked about again while somebody waits, and only then. */
static void a_refusal_is_reconsidered(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    (void)state;
    add_gpu_nodes(c, 3, 8);
    server.only = "none";
    add_gpu_gang(c, "g", 1);
    pass(c, 5 * SECOND);
    assert_int_equal(server.asked[PREDICATE], 3);
    server.only = NULL;
    assert_true(time_to_bind(c, "g", 1, 10 * SECOND) > 0);
    unsigned asked = server.asked[PREDICATE];
    pass(c, 120 * SECOND);
    assert_int_equal(server.asked[PREDICATE], asked);
    server_free(&server);
}

/* Answers grow old and are asked for again, but what the job says stays. */
static void reasons_do_not_come_and_go(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    (void)state;
    add_gpu_nodes(c, 5, 8);
    server.only = "n03";
    struct test_group *group = add_gpu_gang(c, "large", 9);
    pass(c, 20 * SECOND);
    assert_says(group, "4 refused by the extender: no licence");
    assert_says(group, "1 Insufficient " GPU);
    unsigned patches = group->patches;
    for (int i = 0; i < 300; i++) {
        pass(c, SECOND);
        assert_silent(group, "waiting for the extender");
    }
    assert_true(group->patches - patches <= 5);
    server_free(&server);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* How long a job that needs no extender takes, beside one that does or alone. */
static int64_t time_of_others(const char *arguments, int64_t pause)
{
    struct server server;
    struct cluster *c = cluster_of(&server, arguments);
    add_gpu_nodes(c, 40, 1);
    pass(c, 2 * SECOND);
    if (arguments) {
        server.fake->deaf = true;
        add_gpu_gang(c, "needs", 20);
        pass(c, pause);
    } else {
        pass(c, pause);
    }
    add_gang(c, "free", 30, "2");
    int64_t took = time_to_bind(c, "free", 30, 10 * SECOND);
    assert_true(took > 0);
    assert_int_equal(bound(c, "needs", NULL), 0);
    server_free(&server);
    return took;
}

static void one_that_hangs_delays_nobody_else(void **state)
{
    const int64_t pauses[] = {0, 500 * MS, SECOND, 1500 * MS, 7 * SECOND, 40 * SECOND};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(pauses); i++) {
        int64_t alone = time_of_others(NULL, pauses[i]);
        int64_t beside = time_of_others(MANAGED PREDICATES SCORES, pauses[i]);
        if (beside > alone)
            fail_msg("%lld ns instead of %lld after %lld", (long long)beside, (long long)alone,
                     (long long)pauses[i]);
    }
}

static void a_failure_keeps_its_jobs_waiting(void **state)
{
    static const struct {
        bool deaf, refusing;
        int status;
        const char *answer, *says;
    } failures[] = {
        {.deaf = true, .says = "extender " URL " failed: no answer in time"},
        {.refusing = true, .says = "failed: connection refused"},
        {.status = 500,
         .answer = "no port after 12 ms: refused",
         .says = "failed: HTTP 500: no port: refused"},
        {.status = 503, .answer = "out of order", .says = "failed: HTTP 503: out of order"},
        {.status = 201, .says = "failed: HTTP 201"},
        {.answer = "{\"status\":", .says = "failed: invalid JSON"},
        {.answer = "{\"status\":[]}", .says = "failed: invalid JSON"},
        {.answer = "null", .says = "failed: the answer is null"},
        {.answer = "<html>", .says = "failed: invalid JSON"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
        struct server server;
        struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
        add_gpu_nodes(c, 3, 8);
        server.fake->deaf = failures[i].deaf;
        server.fake->refusing = failures[i].refusing;
        server.status = failures[i].status;
        server.answers[PREDICATE] = failures[i].answer;
        struct test_group *group = add_gpu_gang(c, "g", 2);
        pass(c, 15 * SECOND);
        assert_int_equal(bound(c, "g", NULL), 0);
        assert_says(group, failures[i].says);
        server.fake->deaf = server.fake->refusing = false;
        server.status = 0;
        server.answers[PREDICATE] = NULL;
        assert_true(time_to_bind(c, "g", 2, 31 * SECOND) > 0);
        server_free(&server);
    }
}

/* Any answer may be of no use, or an error that the server names. */
static void scores_may_fail_too(void **state)
{
    static const char *const answers[] = {"{\"errorMessage\":\"no scores today\"}",
                                          "{\"nodeScore\":{\"n00\":\"many\"}}", "[]"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        struct server server;
        struct cluster *c = cluster_of(&server, MANAGED PREDICATES SCORES);
        add_gpu_nodes(c, 3, 8);
        server.answers[PRIORITIZE] = answers[i];
        struct test_group *group = add_gpu_gang(c, "g", 1);
        pass(c, 15 * SECOND);
        assert_int_equal(bound(c, "g", NULL), 0);
        assert_says(group, i == 0 ? "failed: no scores today" : "failed: invalid JSON");
        server_free(&server);
    }
}

/* Whichever is over first. */
static void a_missing_verdict_is_told_before_missing_scores(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES SCORES);
    (void)state;
    add_gpu_nodes(c, 3, 8);
    server.answers[PREDICATE] = "null";
    server.answers[PRIORITIZE] = "[]";
    struct test_group *group = add_gpu_gang(c, "g", 1);
    pass(c, 15 * SECOND);
    assert_says(group, "3 extender " URL " failed: the answer is null");
    server_free(&server);
}

static void a_failure_is_asked_again_ever_more_rarely(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    (void)state;
    add_gpu_nodes(c, 3, 8);
    server.status = 500;
    add_gpu_gang(c, "g", 1);
    pass(c, 63 * SECOND); /* at 0, 1, 3, 7, 15, 31, 61 */
    assert_int_equal(server.asked[PREDICATE], 7 * 3);
    pass(c, 60 * SECOND);
    assert_int_equal(server.asked[PREDICATE], 9 * 3);
    server_free(&server);
}

/* The time of one does not hide that of another that comes later. */
static void each_is_asked_again_in_its_time(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    (void)state;
    add_gpu_nodes(c, 3, 8);
    server.only = "none";
    add_gpu_pod(c, "a", 100, 1);
    pass(c, 4 * SECOND);
    add_gpu_pod(c, "b", 200, 1);
    pass(c, 68 * SECOND); /* texts have settled; asked about a at 70, 80, about b at 74 */
    server.only = NULL;
    assert_true(time_to_bind(c, "b", 1, 3 * SECOND) > 0);
    assert_int_equal(bound(c, "a", NULL), 0);
    server_free(&server);
}

/* Nobody else is asked about either while it does not answer at all. */
static void a_dead_server_is_left_alone(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    (void)state;
    add_gpu_nodes(c, 99, 1);
    server.fake->deaf = true;
    unsigned starts = 0;
    add_gpu_gang(c, "g", 60);
    for (int64_t end = loop_now(c->loop) + 30 * SECOND; loop_now(c->loop) < end;) {
        unsigned open = calls_open(server.fake);
        pass(c, 50 * MS);
        starts += !open && calls_open(server.fake);
        assert_true(calls_open(server.fake) <= 16);
    }
    assert_in_range(starts, 3, 5); /* each of a second, with pauses of 1, 2, 4, ... between them */
    server_free(&server);
}

static void ignorable_failures_permit(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES SCORES IGNORABLE);
    (void)state;
    add_gpu_nodes(c, 20, 1);
    server.fake->deaf = true;
    add_gpu_gang(c, "g", 18);
    int64_t took = time_to_bind(c, "g", 18, 10 * SECOND);
    assert_true(took >= SECOND && took < 3 * SECOND);
    server_free(&server);
}

/* Only the first wait for it; while it is left alone nobody does. */
static void a_dead_server_is_ignored_at_once(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES SCORES IGNORABLE);
    (void)state;
    add_gpu_nodes(c, 20, 8);
    server.fake->deaf = true;
    add_gpu_pod(c, "first", 100, 1);
    assert_true(time_to_bind(c, "first", 1, 5 * SECOND) >= SECOND);
    for (unsigned i = 0; i < 20; i++) {
        cleanup_free char *name = xasprintf("g%u", i);
        add_gpu_pod(c, name, 200 + i, 1);
        int64_t took = time_to_bind(c, name, 1, 5 * SECOND);
        assert_true(took > 0 && took < 100 * MS);
    }
    assert_int_equal(calls_open(server.fake), 0);
    server_free(&server);
}

/* What it does answer counts all the same. */
static void ignored_scores_leave_refusals(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES SCORES IGNORABLE);
    (void)state;
    add_gpu_nodes(c, 4, 8);
    server.answers[PRIORITIZE] = "rubbish";
    server.only = "n03";
    add_gpu_gang(c, "g", 2);
    pass(c, 2 * SECOND);
    assert_string_equal(node_of_pod(c, "g-w-0"), "n03");
    assert_string_equal(node_of_pod(c, "g-w-1"), "n03");
    server_free(&server);
}

/* Its jobs hold no nodes that others could have: whether room is what they lack is not known. */
static void what_was_held_before_it_hung_is_let_go(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    (void)state;
    add_gpu_nodes(c, 20, 1);
    struct test_group *all = add_gpu_gang(c, "all", 20);
    pass(c, 2 * SECOND);
    set_phase(c, "all", "Running");
    add_gpu_gang(c, "g", 2);
    pass(c, 330 * SECOND);
    assert_false(list_empty(&c->scheduler->cache.reservations));
    server.fake->deaf = true;
    end_pods_of(c, all, false);
    pass(c, 5 * SECOND);
    assert_int_equal(bound(c, "g", NULL), 0);
    assert_true(list_empty(&c->scheduler->cache.reservations));
    server_free(&server);
}

static void who_waits_for_it_holds_no_nodes(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    (void)state;
    add_gpu_nodes(c, 20, 1);
    server.fake->deaf = true;
    struct test_group *group = add_gpu_gang(c, "g", 2);
    pass(c, 1200 * SECOND);
    assert_int_equal(bound(c, "g", NULL), 0);
    assert_true(list_empty(&c->scheduler->cache.reservations));
    assert_says(group, "failed: no answer in time");
    server.fake->deaf = false;
    assert_true(time_to_bind(c, "g", 2, 31 * SECOND) > 0);
    server_free(&server);
}

/* ---- time and change ------------------------------------------------------------------------- */

static void an_answer_may_come_after_the_job_is_gone(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES SCORES);
    (void)state;
    add_gpu_nodes(c, 3, 8);
    server.fake->latency_ns = 800 * MS;
    struct test_group *group = add_gpu_gang(c, "g", 2);
    pass(c, 100 * MS);
    assert_int_equal(calls_open(server.fake), 4);
    end_pods_of(c, group, true);
    group->gone = true;
    show_group(c, group);
    delete_node(c, "n01");
    pass(c, 5 * SECOND);
    assert_int_equal(server.asked[PREDICATE], 3);
    add_gpu_nodes(c, 2, 8);
    add_gpu_gang(c, "h", 2);
    pass(c, 5 * SECOND);
    assert_int_equal(bound(c, "h", NULL), 2);
    server_free(&server);
}

static void a_node_may_take_the_place_of_another(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    (void)state;
    add_gpu_nodes(c, 1, 8);
    server.only = "new";
    server.fake->latency_ns = 500 * MS;
    add_gpu_gang(c, "g", 1);
    pass(c, 100 * MS);
    delete_node(c, "n00");
    add_node_json(c, "new", "", "", "\"cpu\":\"4\",\"pods\":\"10\",\"" GPU "\":\"1\"");
    pass(c, 3 * SECOND);
    assert_string_equal(node_of_pod(c, "g-w-0"), "new");
    server_free(&server);
}

static void a_new_configuration_ends_its_calls(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES SCORES);
    (void)state;
    add_gpu_nodes(c, 20, 8);
    server.fake->latency_ns = 900 * MS;
    add_gpu_gang(c, "g", 2);
    pass(c, 100 * MS);
    assert_true(calls_open(server.fake) > 10);
    use_extender(&server, MANAGED SCORES); /* another one, */
    pass(c, 100 * MS);
    assert_int_equal(server.connects, 2);
    assert_int_equal(bound(c, "g", NULL), 2);
    server.fake->latency_ns = 900 * MS;
    add_gpu_gang(c, "h", 2);
    pass(c, 100 * MS);
    use_extender(&server, NULL); /* and none */
    pass(c, 100 * MS);
    pass(c, 5 * SECOND);
    assert_int_equal(bound(c, "h", NULL), 2);
    server_free(&server);
}

static void a_process_may_end_with_calls_under_way(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES SCORES);
    (void)state;
    add_gpu_nodes(c, 20, 8);
    server.fake->deaf = true;
    add_gpu_gang(c, "g", 2);
    pass(c, 100 * MS);
    server_free(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_some_pods_are_asked_about),
        cmocka_unit_test(without_managed_resources_all_are),
        cmocka_unit_test(what_it_refuses_is_not_taken),
        cmocka_unit_test(the_words_decide),
        cmocka_unit_test(it_is_told_what_it_needs_to_know),
        cmocka_unit_test(its_scores_count),
        cmocka_unit_test(scores_alone_are_waited_for_too),
        cmocka_unit_test(a_gang_is_placed_whole),
        cmocka_unit_test(all_nodes_are_asked_about_before_it_gives_up),
        cmocka_unit_test(a_slow_server_places_large_gangs),
        cmocka_unit_test(the_last_node_gets_its_turn),
        cmocka_unit_test(an_answer_counts_for_a_while),
        cmocka_unit_test(a_refusal_is_reconsidered),
        cmocka_unit_test(reasons_do_not_come_and_go),
        cmocka_unit_test(one_that_hangs_delays_nobody_else),
        cmocka_unit_test(a_failure_keeps_its_jobs_waiting),
        cmocka_unit_test(scores_may_fail_too),
        cmocka_unit_test(a_missing_verdict_is_told_before_missing_scores),
        cmocka_unit_test(a_failure_is_asked_again_ever_more_rarely),
        cmocka_unit_test(each_is_asked_again_in_its_time),
        cmocka_unit_test(a_dead_server_is_left_alone),
        cmocka_unit_test(ignorable_failures_permit),
        cmocka_unit_test(a_dead_server_is_ignored_at_once),
        cmocka_unit_test(ignored_scores_leave_refusals),
        cmocka_unit_test(what_was_held_before_it_hung_is_let_go),
        cmocka_unit_test(who_waits_for_it_holds_no_nodes),
        cmocka_unit_test(an_answer_may_come_after_the_job_is_gone),
        cmocka_unit_test(a_node_may_take_the_place_of_another),
        cmocka_unit_test(a_new_configuration_ends_its_calls),
        cmocka_unit_test(a_process_may_end_with_calls_under_way),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
