/*
 * Shards that a controller takes over and lets go: what it asks for, what it leaves alone, and that
 * jobs come to no harm whenever it happens.
 */
#include "play.h"

#include "base/rng.h"
#include "controller/adopt.h"

#define SEEDS 60

static shard_set drained;
static struct buf asked; /* "GET jobs/j" of each request about objects */

static void on_drained(shard_set set, void *arg)
{
    (void)arg;
    drained |= set;
}

static shard_set shard_of_j(void)
{
    return UINT64_C(1) << shard_of("n", "j");
}

static int note(struct server *server, const struct kube_call_spec *spec)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    const ptrdiff_t at = str_find(spec->path, STR("/namespaces/n/"));

    (void)server;
    if (at >= 0)
        buf_printf(&asked, "%s %.*s\n", methods[spec->method],
                   STR_ARG(str_from(spec->path, (size_t)at + strlen("/namespaces/n/"))));
    return 0;
}

/* One of several begins; it has nothing. */
static void begin(struct server *server)
{
    server_end(server);
    server_begin(server);
    controller_set_sharded(server->controller, on_drained, NULL);
    run(server, 100);
}

static int setup(void **state)
{
    const int rc = server_setup(state);
    struct server *server = *state;

    drained = SHARDS_NONE;
    buf_init(&asked, (size_t)16 << 20);
    server->fault = note;
    server->group_phase = "Inqueue";
    server->pod_phase = "Running";
    begin(server);
    return rc;
}

static int teardown(void **state)
{
    buf_clear(&asked);
    return server_teardown(state);
}

static void adopt(struct server *server)
{
    controller_adopt(server->controller, shard_of_j());
}

static void let_go(struct server *server)
{
    drained = SHARDS_NONE;
    controller_let_go(server->controller, shard_of_j());
}

/* ---- what is not ours -------------------------------------------------------------------------
 */

static void jobs_of_others_are_left_alone(void **state)
{
    struct server *server = *state;

    controller_adopt(server->controller, ~shard_of_j());
    play_job(server, SPEC(3, 3));
    play_command(server, "c", "AbortJob");
    play_command_for(server, "none", "AbortJob", "j", "no-such-uid");
    run(server, 60000);
    assert_int_equal(asked.n, 0);
    assert_int_equal(map_count(&server->controller->by_uid), 0);
    assert_int_equal(map_count(&server->controller->by_name), 0);
}

static void a_job_comes_with_its_shard(void **state)
{
    struct server *server = *state;

    play_job(server, SPEC(3, 3));
    run(server, 1000);
    assert_int_equal(asked.n, 0);
    adopt(server);
    run(server, 5000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_pod_count(server), 3);
}

/* ---- taking over ------------------------------------------------------------------------------
 */

static void the_first_write_follows_a_get(void **state)
{
    struct server *server = *state;

    adopt(server);
    play_job(server, JOB(2, POLICIES(POLICY("PodFailed", "RestartTask")), TASK("w", 4, "")));
    run(server, 5000);
    assert_string_equal(play_phase(server), "Running");
    /* Each thing that there may be to write first: a status, a delete, a create, a Command. */
    for (int what = 0; what < 4; what++) {
        let_go(server);
        run(server, 100);
        if (what == 0)
            play_pod(server, "j-w-1", "Failed");
        else if (what == 1)
            play_job(server,
                     JOB(2, POLICIES(POLICY("PodFailed", "RestartTask")), TASK("w", 3, "")));
        else if (what == 2)
            server_remove(server, SERVER_PODS, "j-w-0");
        else
            play_command(server, "nothing", "Nonsense");
        buf_reset(&asked);
        adopt(server);
        run(server, 10000);
        assert_true(str_starts(buf_str(&asked), STR("GET jobs/j\n")));
        assert_true(has(buf_str(&asked), "PATCH") || has(buf_str(&asked), "DELETE") ||
                    has(buf_str(&asked), "POST"));
        assert_string_equal(play_phase(server), "Running");
    }
    assert_int_equal(play_pod_count(server), 3);
    assert_int_equal(play_number(server, "retryCount"), 1);
}

static void what_is_right_costs_no_request(void **state)
{
    struct server *server = *state;

    adopt(server);
    play_job(server, SPEC(4, 4));
    run(server, 5000);
    for (int finished = 0; finished <= 1; finished++) {
        let_go(server);
        run(server, 100);
        buf_reset(&asked);
        adopt(server);
        run(server, 60000);
        assert_int_equal(asked.n, 0);
        play_pods(server, "Succeeded");
        run(server, 10000);
        assert_string_equal(play_phase(server), "Completed");
    }
}

/* The other controller has written the status, and we have not heard of it. */
static void what_the_other_said_last_is_not_overwritten(void **state)
{
    struct server *server = *state;

    adopt(server);
    play_job(server, JOB(2, POLICIES(POLICY("PodFailed", "RestartTask")), TASK("w", 4, "")));
    run(server, 5000);
    let_go(server);
    run(server, 100);
    server->lag_ms = 20000;
    cJSON *job = server_get(server, SERVER_JOBS, "j");
    json_set(json_at(job, "status"), "retryCount", cJSON_CreateNumber(7));
    server_touch(server, SERVER_JOBS, job);
    server->lag_ms = 0;
    play_pod(server, "j-w-1", "Failed");
    adopt(server);
    run(server, 10000);
    assert_int_equal(play_number(server, "retryCount"), 8);
}

static struct buf late; /* the body of a status write that takes effect only later */

static int hold_back(struct server *server, const struct kube_call_spec *spec)
{
    if (spec->method != KUBE_PATCH || !has(spec->path, "/status") || late.n > 0)
        return note(server, spec);
    buf_add_str(&late, spec->body);
    return 504;
}

/* A write that got no answer counts as ended, and takes effect when the next controller has
 * written: by then it is about a version that is no more. */
static void what_comes_late_from_the_one_before_is_refused(void **state)
{
    struct server *server = *state;
    cleanup_buf struct buf answer = BUF_INIT((size_t)1 << 20);

    adopt(server);
    play_job(server, JOB(2, POLICIES(POLICY("PodFailed", "RestartTask")), TASK("w", 4, "")));
    run(server, 5000);
    buf_init(&late, (size_t)1 << 20);
    server->fault = hold_back;
    play_pod(server, "j-w-1", "Failed");
    while (late.n == 0)
        run(server, 5);
    run(server, 50); /* the answer has come */
    let_go(server);
    run(server, 100);
    assert_true(drained & shard_of_j());
    server->fault = note;
    adopt(server);
    run(server, 10000);
    play_pod(server, "j-w-2", "Failed");
    run(server, 10000);
    assert_int_equal(play_number(server, "retryCount"), 2);
    cJSON *job = server_get(server, SERVER_JOBS, "j");
    const int code = server_patch(server, SERVER_JOBS, job, buf_str(&late), &answer);
    buf_clear(&late);
    assert_int_equal(code, 409);
    run(server, 20000);
    assert_int_equal(play_number(server, "retryCount"), 2);
    assert_string_equal(play_phase(server), "Running");
}

/* ---- letting go -------------------------------------------------------------------------------
 */

static void nothing_is_left_of_what_was_let_go(void **state)
{
    struct server *server = *state;

    adopt(server);
    play_job(server, SPEC(4, 4));
    run(server, 5000);
    let_go(server);
    assert_int_equal(map_count(&server->controller->by_uid), 0);
    assert_int_equal(map_count(&server->controller->by_name), 0);
    run(server, 10);
    assert_true(drained & shard_of_j());
    buf_reset(&asked);
    play_pods(server, "Failed");
    play_command(server, "c", "AbortJob");
    run(server, 60000);
    assert_int_equal(asked.n, 0);
}

/* What waits is not sent; what is in flight ends, and only then is the shard drained. */
static void it_is_drained_when_what_is_in_flight_has_ended(void **state)
{
    struct server *server = *state;

    server->fake->latency_ns = 400 * NSEC_PER_MSEC;
    adopt(server);
    play_job(server, SPEC(60, 60));
    while (server->pod_posts == 0)
        run(server, 10);
    run(server, 50); /* the answers are on their way, and others wait */
    let_go(server);
    const size_t inflight = server->controller->gates[shard_of("n", "j")].inflight;
    assert_in_range(inflight, 1, 59);
    run(server, 10);
    assert_int_equal(drained & shard_of_j(), 0);
    run(server, 1000);
    assert_true(drained & shard_of_j());
    const size_t made = play_pod_count(server);
    assert_in_range(made, inflight, 59);
    run(server, 60000);
    assert_int_equal(play_pod_count(server), made);
    adopt(server);
    run(server, 60000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_pod_count(server), 60);
    assert_int_equal(map_count(&server->made), 60);
    for (int i = 0; i < 60; i++) {
        cleanup_free char *name = xasprintf("j-w-%d", i);
        assert_int_equal(play_made(server, name), 1);
    }
}

static void commands_under_way_are_let_go_as_well(void **state)
{
    struct server *server = *state;

    server->fake->latency_ns = 200 * NSEC_PER_MSEC;
    adopt(server);
    play_job(server, SPEC(2, 2));
    run(server, 20000);
    play_command(server, "c", "AbortJob");
    while (server->command_deletes == 0 && play_lines(&asked, "DELETE commands") == 0)
        run(server, 10);
    let_go(server);
    assert_int_equal(map_count(&server->controller->command_deletes), 0);
    run(server, 5000);
    adopt(server);
    run(server, 20000);
    assert_string_equal(play_phase(server), "Aborted");
    assert_int_equal(server->command_deletes, 1);
}

/* ---- at any time ------------------------------------------------------------------------------
 */

/* Pods fail and are deleted, the job is scaled, its news is late, and the shard goes and comes back
 * all the time: in the end there is what there is to be, and no restart counts twice. */
static void hand_overs_do_no_harm(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        void *arg;
        struct rng rng;
        int retries = 0;
        (void)setup(&arg);
        struct server *server = arg;
        rng_seed(&rng, seed);
        server->grace_ms = 500;
        server->fake->latency_ns = (int64_t)rng_below(&rng, 100) * NSEC_PER_MSEC;
        adopt(server);
        play_job(server, JOB(1, ",\"maxRetry\":100" POLICIES(POLICY("PodFailed", "RestartTask")),
                             TASK("w", 9, "")));
        for (int round = 0; round < 8; round++) {
            run(server, (int64_t)rng_below(&rng, 400));
            let_go(server);
            while (!(drained & shard_of_j()))
                run(server, 5);
            run(server, (int64_t)rng_below(&rng, 100));
            adopt(server);
            if (rng_below(&rng, 2))
                continue;
            run(server, 20000);
            assert_int_equal(play_number(server, "running"), 9);
            play_pod(server, "j-w-3", "Failed");
            retries++;
        }
        run(server, 30000);
        assert_string_equal(play_phase(server), "Running");
        assert_int_equal(play_pod_count(server), 9);
        assert_int_equal(play_number(server, "running"), 9);
        assert_int_equal(play_number(server, "retryCount"), retries);
        for (int i = 0; i < 9; i++) {
            cleanup_free char *name = xasprintf("j-w-%d", i);
            assert_int_equal(play_made(server, name), retries + 1);
        }
        (void)teardown(&arg);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(jobs_of_others_are_left_alone),
        TEST(a_job_comes_with_its_shard),
        TEST(the_first_write_follows_a_get),
        TEST(what_is_right_costs_no_request),
        TEST(what_the_other_said_last_is_not_overwritten),
        TEST(what_comes_late_from_the_one_before_is_refused),
        TEST(nothing_is_left_of_what_was_let_go),
        TEST(it_is_drained_when_what_is_in_flight_has_ended),
        TEST(commands_under_way_are_let_go_as_well),
        cmocka_unit_test(hand_overs_do_no_harm),
    };
    server_quiet();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
