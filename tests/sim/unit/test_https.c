/*
 * The server over HTTPS, asked by the transport that the programs use.
 */
#include "sim.h"

#include "certs/authority.h"
#include "front/https.h"
#include "kube/transport.h"
#include <stdio.h>
#include <time.h>

#define MANY 30U /* the transport has 32 connections for HTTP/1.1 */

struct bench {
    struct sim sim;
    struct sim_https *https;
    struct cert_bundle bundle;
    struct kube_config config;
    struct kube_transport *transport;
    unsigned done;             /* calls that have ended */
    struct kube_result result; /* of the last one, without its body */
    char body[4096];
    unsigned opened, lines; /* of watches */
    char line[4096];        /* the last one */
};

static int set_up(void **state)
{
    struct bench *bench = xnew(struct bench);
    struct error err = ERROR_INIT;
    const struct cert_names names = {.items = {"127.0.0.1"}, .n = 1};
    cert_bundle_init(&bench->bundle);
    assert_int_equal(
        cert_bundle_make(&bench->bundle, &names, (int64_t)time(NULL) * NSEC_PER_SEC, &err), 0);
    bench->sim.loop = loop_new(1);
    bench->sim.server =
        sim_server_new(&(struct sim_server_options){.loop = bench->sim.loop,
                                                    .seed = 1,
                                                    /* no controller looks while a test runs */
                                                    .controller_lag_ns = 60 * NSEC_PER_SEC});
    bench->https = sim_https_new(&(struct sim_https_options){.loop = bench->sim.loop,
                                                             .server = bench->sim.server,
                                                             .cert = bench->bundle.cert.p,
                                                             .key = bench->bundle.key.p},
                                 &err);
    assert_non_null(bench->https);
    bench->config.server = xasprintf("https://127.0.0.1:%u", sim_https_port(bench->https));
    buf_init(&bench->config.ca, LIMIT_REQUEST_BODY);
    buf_add_str(&bench->config.ca, buf_str(&bench->bundle.ca_cert));
    bench->config.origin = xstrdup("the test");
    bench->transport = kube_transport_curl_new(bench->sim.loop, &bench->config, "test/1", &err);
    assert_non_null(bench->transport);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    kube_transport_free(bench->transport);
    sim_https_free(bench->https);
    sim_server_free(bench->sim.server);
    loop_free(bench->sim.loop);
    kube_config_clear(&bench->config);
    cert_bundle_clear(&bench->bundle);
    arena_clear(&bench->sim.arena);
    free(bench);
    return 0;
}

static void on_done(const struct kube_result *result, void *arg)
{
    struct bench *bench = arg;
    bench->done++;
    bench->result = *result;
    struct str body = str_cut(result->body, sizeof(bench->body) - 1);
    if (body.n)
        memcpy(bench->body, body.p, body.n);
    bench->body[body.n] = '\0';
}

static bool on_data(struct str data, void *arg)
{
    struct bench *bench = arg;
    struct str line = str_cut(data, sizeof(bench->line) - 1);
    bench->lines++;
    memcpy(bench->line, line.p, line.n);
    bench->line[line.n] = '\0';
    return true;
}

static void on_open(void *arg)
{
    struct bench *bench = arg;
    bench->opened++;
}

/* Turns until *counter is at least `least`; fails after ten seconds. */
static void turn_until(struct bench *bench, const unsigned *counter, unsigned least)
{
    int64_t end = loop_now_fresh(bench->sim.loop) + 10 * NSEC_PER_SEC;
    while (*counter < least && loop_now(bench->sim.loop) < end)
        (void)loop_turn(bench->sim.loop, 50 * NSEC_PER_MSEC);
    assert_true(*counter >= least);
}

static int ask(struct bench *bench, enum kube_method method, enum kube_content content,
               const char *path, const char *body)
{
    unsigned before = bench->done;
    (void)kube_start(bench->transport, &(struct kube_call_spec){.method = method,
                                                                .path = str_of(path),
                                                                .content = content,
                                                                .body = str_of(body),
                                                                .timeout_ns = 5 * NSEC_PER_SEC,
                                                                .on_done = on_done,
                                                                .arg = bench});
    turn_until(bench, &bench->done, before + 1);
    assert_int_equal(bench->result.outcome, KUBE_ANSWERED);
    return bench->result.status;
}

static struct kube_call *watch(struct bench *bench, const char *path)
{
    return kube_start(bench->transport, &(struct kube_call_spec){.method = KUBE_GET,
                                                                 .path = str_of(path),
                                                                 .watch = true,
                                                                 .on_open = on_open,
                                                                 .on_data = on_data,
                                                                 .on_done = on_done,
                                                                 .arg = bench});
}

#define NEW_NAMESPACE "{\"metadata\":{\"name\":\"n\"}}"
#define NEW_MAP(name) "{\"metadata\":{\"name\":\"" name "\"},\"data\":{\"a\":\"1\"}}"

static void test_verbs_and_kinds_of_patches(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(ask(bench, KUBE_POST, KUBE_JSON, "/api/v1/namespaces", NEW_NAMESPACE), 201);
    assert_int_equal(ask(bench, KUBE_POST, KUBE_JSON, CONFIGMAPS, NEW_MAP("m")), 201);
    assert_int_equal(ask(bench, KUBE_POST, KUBE_JSON, CONFIGMAPS, NEW_MAP("m")), 409);
    assert_int_equal(ask(bench, KUBE_PATCH, KUBE_MERGE_PATCH, CONFIGMAPS "/m",
                         "{\"data\":{\"a\":null,\"b\":\"2\"}}"),
                     200);
    assert_non_null(strstr(bench->body, "\"data\":{\"b\":\"2\"}"));
    assert_int_equal(ask(bench, KUBE_PATCH, KUBE_JSON_PATCH, CONFIGMAPS "/m",
                         "[{\"op\":\"add\",\"path\":\"/data/c\",\"value\":\"3\"}]"),
                     200);
    assert_non_null(strstr(bench->body, "\"c\":\"3\""));
    assert_int_equal(ask(bench, KUBE_GET, KUBE_JSON, CONFIGMAPS "?labelSelector=a%3Db", ""), 200);
    assert_null(strstr(bench->body, "\"c\":\"3\""));
    assert_int_equal(ask(bench, KUBE_DELETE, KUBE_JSON, CONFIGMAPS "/m", ""), 200);
    assert_int_equal(ask(bench, KUBE_GET, KUBE_JSON, CONFIGMAPS "/m", ""), 404);
}

static void test_a_watch_hears_of_changes_after_it_fell_silent(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(ask(bench, KUBE_POST, KUBE_JSON, "/api/v1/namespaces", NEW_NAMESPACE), 201);
    (void)watch(bench, CONFIGMAPS "?watch=1&resourceVersion=0");
    turn_until(bench, &bench->opened, 1);
    for (unsigned i = 0; i < 3; i++) {
        char map[80];
        (void)snprintf(map, sizeof(map), "{\"metadata\":{\"name\":\"m-%u\"}}", i);
        unsigned before = bench->lines;
        assert_int_equal(ask(bench, KUBE_POST, KUBE_JSON, CONFIGMAPS, map), 201);
        turn_until(bench, &bench->lines, before + 1);
        (void)snprintf(map, sizeof(map), "\"name\":\"m-%u\"", i);
        assert_non_null(strstr(bench->line, "\"type\":\"ADDED\""));
        assert_non_null(strstr(bench->line, map));
    }
    assert_int_equal(sim_https_watches(bench->https), 1);
}

static void test_a_watch_ends_when_its_time_is_up(void **state)
{
    struct bench *bench = *state;
    (void)watch(bench, "/api/v1/nodes?watch=1&resourceVersion=0&timeoutSeconds=1");
    turn_until(bench, &bench->done, 1);
    assert_int_equal(bench->result.outcome, KUBE_ANSWERED);
    assert_int_equal(bench->result.error.cls, ERROR_NONE);
    for (unsigned i = 0; i < 10 && sim_https_watches(bench->https); i++)
        (void)loop_turn(bench->sim.loop, 50 * NSEC_PER_MSEC);
    assert_int_equal(sim_https_watches(bench->https), 0);
}

static void test_who_left_is_forgotten(void **state)
{
    struct bench *bench = *state;
    struct kube_call *call = watch(bench, "/api/v1/namespaces?watch=1&resourceVersion=0");
    turn_until(bench, &bench->opened, 1);
    kube_cancel(bench->transport, call);
    assert_int_equal(sim_https_watches(bench->https), 1);
    int64_t end = loop_now_fresh(bench->sim.loop) + 5 * NSEC_PER_SEC;
    while (sim_https_watches(bench->https) && loop_now(bench->sim.loop) < end)
        (void)loop_turn(bench->sim.loop, 50 * NSEC_PER_MSEC);
    assert_int_equal(sim_https_watches(bench->https), 0);
}

static void test_many_watches_at_once(void **state)
{
    struct bench *bench = *state;
    for (unsigned i = 0; i < MANY; i++)
        (void)watch(bench, "/api/v1/nodes?watch=1&resourceVersion=0");
    turn_until(bench, &bench->opened, MANY);
    assert_int_equal(sim_https_watches(bench->https), MANY);
    assert_int_equal(
        ask(bench, KUBE_POST, KUBE_JSON, "/api/v1/nodes", "{\"metadata\":{\"name\":\"n-0\"}}"),
        201);
    turn_until(bench, &bench->lines, MANY);
}

static void test_retry_after_is_a_header_too(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(ask(bench, KUBE_POST, KUBE_JSON, "/api/v1/namespaces", NEW_NAMESPACE), 201);
    assert_int_equal(ask(bench, KUBE_POST, KUBE_JSON, PODS,
                         "{\"metadata\":{\"name\":\"p\",\"labels\":{\"a\":\"b\"}},"
                         "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"),
                     201);
    assert_int_equal(ask(bench, KUBE_POST, KUBE_JSON,
                         "/apis/policy/v1/namespaces/n/poddisruptionbudgets",
                         "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"minAvailable\":1,"
                         "\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}}"),
                     201);
    assert_int_equal(ask(bench, KUBE_PATCH, KUBE_MERGE_PATCH, PODS "/p/status",
                         "{\"status\":{\"phase\":\"Running\"}}"),
                     200);
    assert_int_equal(
        ask(bench, KUBE_POST, KUBE_JSON, PODS "/p/eviction", "{\"metadata\":{\"name\":\"p\"}}"),
        429);
    assert_int_equal(bench->result.retry_after_ns, 10 * NSEC_PER_SEC);
}

static void test_discovery(void **state)
{
    struct bench *bench = *state;
    static const struct {
        const char *path, *part;
    } cases[] = {
        {"/readyz", "ok"},
        {"/version?timeout=32s", "\"minor\":\"36\""},
        {"/api", "\"versions\":[\"v1\"]"},
        {"/apis", "\"groupVersion\":\"batch.volcano.sh/v1alpha1\""},
        {"/apis/policy", "\"kind\":\"APIGroup\""},
        {"/api/v1", "\"name\":\"nodes/status\""},
        {"/api/v1", "\"shortNames\":[\"po\"]"},
        {"/apis/batch.volcano.sh/v1alpha1", "\"shortNames\":[\"vcjob\",\"vj\"]"},
        {"/apis/batch.volcano.sh/v1alpha1", "\"singularName\":\"cronjob\""},
        {"/openapi/v3?timeout=32s", "\"serverRelativeURL\":\"/openapi/v3/apis/policy/v1\""},
        {"/openapi/v3/apis/policy/v1",
         "\"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/{name}\":{\"patch\""},
        {"/apis/policy/v1", "\"namespaced\":true,\"kind\":\"PodDisruptionBudget\""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(ask(bench, KUBE_GET, KUBE_JSON, cases[i].path, ""), 200);
        assert_non_null(strstr(bench->body, cases[i].part));
    }
    assert_int_equal(ask(bench, KUBE_GET, KUBE_JSON, "/apis/nobody.test/v1", ""), 404);
    assert_int_equal(ask(bench, KUBE_GET, KUBE_JSON, "/openapi/v3/apis/nobody.test/v1", ""), 404);
    assert_int_equal(ask(bench, KUBE_GET, KUBE_JSON, "/nothing", ""), 404);
}

static void test_the_port_that_is_taken_is_named(void **state)
{
    struct bench *bench = *state;
    struct error err = ERROR_INIT;
    struct sim_https_options options = {.loop = bench->sim.loop,
                                        .server = bench->sim.server,
                                        .port = sim_https_port(bench->https),
                                        .cert = bench->bundle.cert.p,
                                        .key = bench->bundle.key.p};
    assert_null(sim_https_new(&options, &err));
    char address[40];
    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", options.port);
    assert_non_null(strstr(err.text, address));
    options.port = 0;
    options.key = "none";
    assert_null(sim_https_new(&options, &err));
    assert_non_null(strstr(err.text, "certificate"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_verbs_and_kinds_of_patches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_watch_hears_of_changes_after_it_fell_silent, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_watch_ends_when_its_time_is_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_left_is_forgotten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_watches_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_retry_after_is_a_header_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_discovery, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_port_that_is_taken_is_named, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
