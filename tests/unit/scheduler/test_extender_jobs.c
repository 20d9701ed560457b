/*
 * extender: which jobs may enter and start, which queues have had their share, what it is told, and
 * its arguments.
 */
#include "extender.h"
#include "scheduler/metrics.h"

/* ---- entering -------------------------------------------------------------------------------- */

static void who_may_enter_is_asked_first(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED ENTERING);
    (void)state;
    add_gpu_nodes(c, 4, 1);
    server.fake->latency_ns = 10 * SECOND;
    server.fake->deaf = true;
    struct test_group *group = add_gpu_gang(c, "g", 2);
    add_gang(c, "plain", 2, "1");
    pass(c, 500 * MS);
    assert_int_equal(bound(c, "plain", NULL), 2);
    assert_int_equal(bound(c, "g", NULL), 0);
    assert_silent(group, "Inqueue");
    server.fake->deaf = false;
    server.fake->latency_ns = 10 * MS;
    server.answers[ENQUEUEABLE] = "{\"status\":1}";
    assert_true(time_to_bind(c, "g", 2, 5 * SECOND) > 0);
    assert_true(str_find(str_of(server.bodies[ENQUEUEABLE]),
                         STR("\"job\":{\"UID\":\"ns/g\",\"PgUID\":\"g-g-")) >= 0);
    assert_true(str_find(str_of(server.bodies[ENQUEUEABLE]),
                         STR("\"MinResources\":{\"MilliCPU\":0,\"Memory\":0,\"ScalarResources\":{"
                             "\"" GPU "\":2000}")) >= 0);
    server_free(&server);
}

/* By one that asks for nothing it has no say. */
static void an_abstention_lets_others_decide(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED ENTERING);
    (void)state;
    add_gpu_nodes(c, 4, 1);
    server.answers[ENQUEUEABLE] = "{\"status\":0}";
    add_gpu_gang(c, "g", 2);
    pass(c, 2 * SECOND);
    assert_int_equal(bound(c, "g", NULL), 2);
    server_free(&server);
}

static void who_may_not_enter_is_asked_again(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED ENTERING);
    (void)state;
    add_gpu_nodes(c, 4, 1);
    server.answers[ENQUEUEABLE] = "{\"status\":-1}";
    struct test_group *group = add_gpu_gang(c, "g", 2);
    pass(c, 25 * SECOND);
    assert_says(group, "the extender refuses it");
    assert_in_range(server.asked[ENQUEUEABLE], 2, 4);
    server.answers[ENQUEUEABLE] = "{\"status\":1}";
    assert_true(time_to_bind(c, "g", 2, 11 * SECOND) > 0);
    server_free(&server);
}

static void without_an_answer_nobody_enters(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED ENTERING);
    (void)state;
    add_gpu_nodes(c, 4, 1);
    server.fake->deaf = true;
    struct test_group *group = add_gpu_gang(c, "g", 2);
    pass(c, 20 * SECOND);
    assert_silent(group, "Inqueue");
    assert_says(group, "the extender failed: no answer in time");
    server.fake->deaf = false;
    assert_true(time_to_bind(c, "g", 2, 31 * SECOND) > 0);
    server_free(&server);
}

static void ignorable_failures_let_jobs_in(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED ENTERING IGNORABLE);
    (void)state;
    add_gpu_nodes(c, 4, 1);
    server.fake->deaf = true;
    add_gpu_gang(c, "g", 2);
    int64_t took = time_to_bind(c, "g", 2, 5 * SECOND);
    assert_true(took >= SECOND && took < 2 * SECOND);
    server_free(&server);
}

/* ---- ready ----------------------------------------------------------------------------------- */

static void a_job_starts_when_it_is_ready(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED READINESS);
    (void)state;
    add_gpu_nodes(c, 4, 1);
    server.answers[READY] = "{\"status\":false}";
    struct test_group *group = add_gpu_gang(c, "g", 2);
    add_gang(c, "plain", 2, "1");
    pass(c, 25 * SECOND);
    assert_int_equal(bound(c, "plain", NULL), 2);
    assert_int_equal(bound(c, "g", NULL), 0);
    assert_says(group, "has not found the job ready");
    assert_in_range(server.asked[READY], 2, 5);
    server.answers[READY] = "{\"status\":true}";
    assert_true(time_to_bind(c, "g", 2, 11 * SECOND) > 0);
    pass(c, 60 * SECOND);
    assert_int_equal(bound(c, "g", NULL), 2);
    server_free(&server);
}

/* What is found ready is the job with the pods that would start. */
static void it_is_judged_with_its_pods(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED READINESS);
    (void)state;
    add_gpu_nodes(c, 4, 1);
    server.answers[READY] = "{\"status\":true}";
    add_gpu_gang(c, "g", 1);
    assert_true(time_to_bind(c, "g", 1, SECOND) > 0);
    assert_true(str_find(str_of(server.bodies[READY]), STR("\"NodeName\":\"n0")) >= 0);
    server_free(&server);
}

static void whoever_fails_finds_them_ready_unless_ignored(void **state)
{
    (void)state;
    for (int ignored = 0; ignored < 2; ignored++) {
        struct server server;
        struct cluster *c =
            cluster_of(&server, ignored ? MANAGED READINESS IGNORABLE : MANAGED READINESS);
        add_gpu_nodes(c, 4, 1);
        server.status = 500;
        add_gpu_gang(c, "g", 2);
        pass(c, 5 * SECOND);
        assert_int_equal(bound(c, "g", NULL), ignored ? 0 : 2);
        server_free(&server);
    }
}

/* ---- queues ---------------------------------------------------------------------------------- */

static void a_queue_may_have_had_its_share(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, OVERUSE);
    (void)state;
    add_nodes(c, 4, 8);
    server.answers[OVERUSED] = "{\"overused\":true}";
    add_gang(c, "first", 2, "1"); /* before anything is known */
    pass(c, 3 * SECOND);
    assert_int_equal(bound(c, "first", NULL), 2);
    struct test_group *second = add_gang(c, "second", 2, "1");
    pass(c, 25 * SECOND);
    assert_int_equal(bound(c, "second", NULL), 0);
    assert_says(second, "has had its share");
    assert_true(str_find(str_of(server.bodies[OVERUSED]),
                         STR("\"queue\":{\"UID\":\"default\",\"Name\":\"default\"")) >= 0);
    server.answers[OVERUSED] = "{\"overused\":false}";
    assert_true(time_to_bind(c, "second", 2, 11 * SECOND) > 0);
    server_free(&server);
}

static void queues_with_a_failure_are_overused_unless_ignored(void **state)
{
    (void)state;
    for (int ignored = 0; ignored < 2; ignored++) {
        struct server server;
        struct cluster *c = cluster_of(&server, ignored ? OVERUSE IGNORABLE : OVERUSE);
        add_nodes(c, 4, 8);
        server.status = 500;
        add_gang(c, "first", 1, "1");
        pass(c, 5 * SECOND);
        add_gang(c, "g", 2, "1");
        pass(c, 5 * SECOND);
        assert_int_equal(bound(c, "g", NULL), ignored ? 2 : 0);
        server.status = 0;
        assert_true(ignored || time_to_bind(c, "g", 2, 31 * SECOND) > 0);
        server_free(&server);
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static void it_is_told_of_binds_in_order(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED MESSAGES);
    (void)state;
    add_gpu_nodes(c, 4, 1);
    add_gang(c, "plain", 2, "1");
    add_group(c, "g", "\"minMember\":3,\"minResources\":{\"" GPU "\":\"3\"}");
    for (int i = 0; i < 3; i++) {
        cleanup_free char *name = xasprintf("g-w-%d", i);
        struct test_pod *pod =
            add_pod_spec(c, name, "g", "w",
                         ",\"containers\":[{\"resources\":{\"requests\":{\"" GPU "\":\"1\"}}}]");
        pod->fail = i == 1 ? 422 : 0;
    }
    pass(c, 5 * SECOND);
    assert_int_equal(bound(c, "g", NULL), 3);
    assert_str(buf_str(&server.told),
               "alloc g-w-0;alloc g-w-1;alloc g-w-2;dealloc g-w-1;alloc g-w-1;");
    assert_int_equal(server.asked[ENQUEUED], 1);
    assert_true(str_find(str_of(server.bodies[ALLOC]), STR("\"NodeName\":\"n0")) >= 0);
    server_free(&server);
}

/* What is told is told once, whatever comes of it. */
static void nothing_waits_for_what_is_told(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED MESSAGES);
    (void)state;
    add_gpu_nodes(c, 4, 8);
    server.fake->deaf = true;
    add_gpu_gang(c, "g", 20);
    int64_t took = time_to_bind(c, "g", 20, SECOND);
    assert_true(took > 0 && took < 200 * MS);
    assert_int_equal(calls_open(server.fake), 1);
    pass(c, 30 * SECOND);
    assert_int_equal(calls_open(server.fake), 0);
    server.fake->deaf = false;
    server.answers[ALLOC] = "{\"errorMessage\":\"unknown pod\"}";
    add_gpu_gang(c, "h", 2);
    pass(c, 2 * SECOND);
    assert_int_equal(server.asked[ALLOC], 2);
    server_free(&server);
}

/* ---- metrics and arguments ------------------------------------------------------------------- */

static void calls_are_counted(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES MESSAGES);
    struct metrics *all = metrics_new();
    (void)state;
    c->scheduler->params.metrics = all;
    c->scheduler->metrics = metrics_start(c->scheduler);
    add_gpu_nodes(c, 3, 8);
    server.answers[ALLOC] = "{\"errorMessage\":\"unknown pod\"}";
    add_gpu_gang(c, "g", 1);
    pass(c, 2 * SECOND);
    cleanup_buf struct buf page = BUF_INIT(1 << 20);
    metrics_print(all, &page);
    const char *const lines[] = {
        "pumice_extender_requests_total{verb=\"predicate\",result=\"answered\"} 3\n",
        "pumice_extender_requests_total{verb=\"jobEnqueued\",result=\"answered\"} 1\n",
        "pumice_extender_requests_total{verb=\"allocateFunc\",result=\"failed\"} 1\n",
        "pumice_extender_seconds_count{verb=\"predicate\"} 3\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        if (str_find(buf_str(&page), str_of(lines[i])) < 0)
            fail_msg("\"%s\" is not in %s", lines[i], page.p);
    server_free(&server);
    metrics_free(all);
}

static void the_arguments_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *resources;
        size_t n;
    } lists[] = {{"", 0},
                 {"      extender.managedResources: a.b/c, d.e/f ,\n", 2},
                 {"      extender.managedResources: [a.b/c, d.e/f, g.h/i]\n", 3},
                 {"      extender.managedResources:\n      - a.b/c\n", 1},
                 {"      extender.managedResources: {a: b}\n", 0}};
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        cleanup_free char *arguments =
            xasprintf("%s      extender.predicateVerb: /a/b/\n      extender.httpTimeout: 250ms\n"
                      "      extender.prioritizeVerb: \"\"\n      extender.onSessionOpenVerb: x\n",
                      lists[i].resources);
        struct sched_config *config = extender_config(arguments);
        const struct extender *extender = config->plugins.items[config->plugins.n - 1]->state;
        assert_int_equal(extender->settings.resources.n, lists[i].n);
        assert_string_equal(extender->settings.url, URL);
        assert_string_equal(extender->settings.paths[EXTENDER_PREDICATE], "/a/b");
        assert_null(extender->settings.paths[EXTENDER_PRIORITIZE]);
        assert_int_equal(extender->settings.timeout_ns, 250 * MS);
        assert_false(extender->settings.ignorable);
        sched_config_free(config);
    }
}

/* What is between the scheme and the host is for nobody's eyes. */
static void passwords_are_not_shown(void **state)
{
    static const struct {
        const char *url, *shown;
    } urls[] = {{"http://a:b@ext/hook", "http://ext/hook"},
                {"https://a@b:c@[::1]:80", "https://[::1]:80"},
                {"http://ext/a@b", "http://ext/a@b"},
                {"http://ext:80", "http://ext:80"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
        struct error err = ERROR_INIT;
        cleanup_free char *yaml =
            xasprintf("actions: allocate\ntiers:\n- plugins:\n  - name: extender\n"
                      "    arguments:\n      extender.urlPrefix: \"%s\"\n",
                      urls[i].url);
        struct sched_config *config = sched_config_parse(str_of(yaml), &err);
        assert_non_null(config);
        const struct extender *extender = config->plugins.items[0]->state;
        assert_string_equal(extender->settings.url, urls[i].url);
        assert_string_equal(extender->settings.shown, urls[i].shown);
        sched_config_free(config);
    }
}

static void without_a_url_the_file_is_rejected(void **state)
{
    static const char *const arguments[] = {"",
                                            "    arguments:\n      extender.urlPrefix: ext:80\n",
                                            "    arguments:\n      extender.urlPrefix: ftp://x\n"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
        struct error err = ERROR_INIT;
        cleanup_free char *yaml = xasprintf(
            "actions: allocate\ntiers:\n- plugins:\n  - name: extender\n%s", arguments[i]);
        assert_null(sched_config_parse(str_of(yaml), &err));
        assert_true(str_find(str_of(err.text), STR("http://")) >= 0);
    }
}

/* There is no way to other servers, or it does not come about. */
static void without_a_connection_it_has_failed(void **state)
{
    struct server server;
    struct cluster *c = cluster_of(&server, MANAGED PREDICATES);
    (void)state;
    c->scheduler->params.connect = NULL;
    use_extender(&server, MANAGED PREDICATES);
    add_gpu_nodes(c, 2, 8);
    struct test_group *group = add_gpu_gang(c, "g", 1);
    add_gang(c, "plain", 1, "1");
    pass(c, 15 * SECOND);
    assert_int_equal(bound(c, "g", NULL), 0);
    assert_int_equal(bound(c, "plain", NULL), 1);
    assert_says(group, "failed: there is no way to other servers");
    server_free(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_may_enter_is_asked_first),
        cmocka_unit_test(an_abstention_lets_others_decide),
        cmocka_unit_test(who_may_not_enter_is_asked_again),
        cmocka_unit_test(without_an_answer_nobody_enters),
        cmocka_unit_test(ignorable_failures_let_jobs_in),
        cmocka_unit_test(a_job_starts_when_it_is_ready),
        cmocka_unit_test(it_is_judged_with_its_pods),
        cmocka_unit_test(whoever_fails_finds_them_ready_unless_ignored),
        cmocka_unit_test(a_queue_may_have_had_its_share),
        cmocka_unit_test(queues_with_a_failure_are_overused_unless_ignored),
        cmocka_unit_test(it_is_told_of_binds_in_order),
        cmocka_unit_test(nothing_waits_for_what_is_told),
        cmocka_unit_test(calls_are_counted),
        cmocka_unit_test(the_arguments_are_read),
        cmocka_unit_test(passwords_are_not_shown),
        cmocka_unit_test(without_a_url_the_file_is_rejected),
        cmocka_unit_test(without_a_connection_it_has_failed),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
