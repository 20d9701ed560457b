/*
 * Creates and deletes that are refused or lost while others go through: each is tried again ever
 * more seldom, and none holds up the rest.
 */
#include "play.h"

#define HALF_A_MINUTE INT64_C(30000)

static size_t asked_within(struct server *server, int64_t ms)
{
    const size_t before = server->asked;

    run(server, ms);
    return server->asked - before;
}

/* ---- some of a job's pods are refused ----------------------------------------------------------
 */

static bool makes_pod(const struct kube_call_spec *spec)
{
    return spec->method == KUBE_POST && has(spec->path, "/pods");
}

static int refusal;

/* A policy that refuses pods with an even index. */
static int no_even_pods(struct server *server, const struct kube_call_spec *spec)
{
    ptrdiff_t at = str_find(spec->body, STR("\"j-w-"));
    struct str rest = at < 0 ? STR_NULL : str_from(spec->body, (size_t)at + 5), index;

    if (!makes_pod(spec) || !str_split(&rest, '"', &index))
        return 0;
    server->pod_posts++;
    return (index.p[index.n - 1] - '0') % 2 == 0 ? refusal : 0;
}

static void check_every_second(struct server *server)
{
    server->group_phase = "Inqueue";
    server->pod_phase = "Running";
    server->fault = no_even_pods;
    play_job(server, SPEC(100, 10));
    run(server, 2 * HALF_A_MINUTE);
    assert_int_equal(play_pod_count(server), 50);
    assert_string_equal(play_phase(server), "Running");
    assert_string_equal(play_message(server), "a fault");
    server->pod_posts = 0;
    run(server, 20 * HALF_A_MINUTE);
    assert_in_range(server->pod_posts, 5, 30);
    server->fault = NULL;
    run(server, 4 * HALF_A_MINUTE);
    assert_int_equal(play_pod_count(server), 100);
    assert_string_equal(play_message(server), "");
}

static void every_second_pod_is_refused(void **state)
{
    refusal = 403;
    check_every_second(*state);
}

/* A webhook that says no code is answered for with 400. */
static void every_second_pod_is_refused_by_a_webhook(void **state)
{
    refusal = 400;
    check_every_second(*state);
}

/* A policy that refuses the pods of one task. */
static int no_first_task(struct server *server, const struct kube_call_spec *spec)
{
    (void)server;
    return makes_pod(spec) && has(spec->body, "\"j-first-") ? 403 : 0;
}

static void a_task_that_is_refused_keeps_no_other(void **state)
{
    struct server *server = *state;

    server->group_phase = "Inqueue";
    server->pod_phase = "Running";
    server->fault = no_first_task;
    play_job(server, JOB(100, "", TASK("first", 100, "") "," TASK("second", 500, "")));
    run(server, 2 * HALF_A_MINUTE);
    assert_int_equal(play_pod_count(server), 500);
    assert_string_equal(play_phase(server), "Running");
    server->fault = NULL;
    run(server, 4 * HALF_A_MINUTE);
    assert_int_equal(play_pod_count(server), 600);
}

/* Quotas are counted by several API servers: now and then some creates come too late for all. */
static unsigned conflicts;

static int quota_conflict(struct server *server, const struct kube_call_spec *spec)
{
    (void)server;
    return makes_pod(spec) && conflicts++ % 100 < 20 ? 409 : 0;
}

static void conflicts_of_a_quota_are_no_refusals(void **state)
{
    struct server *server = *state;

    server->group_phase = "Inqueue";
    server->pod_phase = "Running";
    server->fault = quota_conflict;
    conflicts = 0;
    play_job(server, SPEC(500, 500));
    run(server, 2000);
    assert_int_equal(play_pod_count(server), 500);
    assert_int_equal(play_lines(&server->said, "FailedCreate"), 0);
}

/* ---- connections that break --------------------------------------------------------------------
 */

static const char *breaks; /* calls with this in their path are cut off once they are sent */
static size_t broken;

static void cut_off(void *arg)
{
    struct kube_call *call = arg;

    call->sent = true;
    broken++;
    fake_fail(call, "the connection broke before the answer came");
}

static struct kube_call *start_breaking(struct kube_transport *base,
                                        const struct kube_call_spec *spec)
{
    struct kube_call *call = server_start_call(base, spec);

    if (breaks && spec->method == KUBE_POST && has(spec->path, breaks)) {
        loop_timer_cancel(call->fake->loop, &call->timer);
        loop_timer_init(&call->timer, cut_off, call);
        loop_timer_set(call->fake->loop, &call->timer, call->fake->latency_ns);
    }
    return call;
}

static const struct kube_transport_ops breaking = {
    .start = start_breaking, .cancel = fake_cancel, .free = fake_free};

static void creates_that_break_are_no_storm(void **state)
{
    struct server *server = *state;

    server->fake->base.ops = &breaking;
    server->group_phase = "Inqueue";
    server->pod_phase = "Running";
    breaks = "/pods";
    broken = 0;
    play_job(server, SPEC(100, 10));
    size_t asked = asked_within(server, HALF_A_MINUTE);
    size_t later = asked_within(server, HALF_A_MINUTE);
    assert_true(has(str_of(play_message(server)), "the connection broke"));
    breaks = NULL;
    run(server, 2 * HALF_A_MINUTE);
    assert_int_equal(play_pod_count(server), 100);
    assert_in_range(asked + broken, 20, 300);
    assert_in_range(later, 2, 12);
}

static void groups_that_break_are_no_storm(void **state)
{
    struct server *server = *state;

    server->fake->base.ops = &breaking;
    server->group_phase = "Inqueue";
    server->pod_phase = "Running";
    breaks = "/podgroups";
    broken = 0;
    play_job(server, SPEC(100, 10));
    size_t asked = asked_within(server, HALF_A_MINUTE);
    assert_true(has(str_of(play_message(server)), "the connection broke"));
    breaks = NULL;
    run(server, 2 * HALF_A_MINUTE);
    assert_int_equal(play_pod_count(server), 100);
    assert_in_range(asked + broken, 10, 40);
}

/* ---- deletes -----------------------------------------------------------------------------------
 */

static size_t refused_deletes;

static int no_deletes(struct server *server, const struct kube_call_spec *spec)
{
    (void)server;
    if (spec->method != KUBE_DELETE || !has(spec->path, "/pods"))
        return 0;
    refused_deletes++;
    return 500;
}

static void deletes_that_are_refused_are_no_storm(void **state)
{
    struct server *server = *state;

    refused_deletes = 0;
    play_start(server, SPEC(1000, 1000));
    server->fault = no_deletes;
    play_command(server, "c", "AbortJob");
    run(server, 2 * HALF_A_MINUTE);
    assert_in_range(refused_deletes, 10, 300); /* those that were in flight */
    refused_deletes = 0;
    run(server, 4 * HALF_A_MINUTE);
    assert_in_range(refused_deletes, 3, 6);
    assert_int_equal(play_lines(&server->said, "FailedDelete"), 1);
    server->fault = NULL;
    run(server, 2 * HALF_A_MINUTE);
    assert_string_equal(play_phase(server), "Aborted");
    assert_int_equal(server->pod_deletes, 1000);
}

/* A policy that protects one pod. */
static int no_delete_of_one(struct server *server, const struct kube_call_spec *spec)
{
    (void)server;
    return spec->method == KUBE_DELETE && has(spec->path, "/pods/j-w-0") ? 403 : 0;
}

static void a_delete_that_is_refused_keeps_no_other(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(100, 100));
    server->fault = no_delete_of_one;
    play_command(server, "c", "AbortJob");
    run(server, HALF_A_MINUTE);
    assert_int_equal(play_pod_count(server), 1);
    server->fault = NULL;
    run(server, 2 * HALF_A_MINUTE);
    assert_string_equal(play_phase(server), "Aborted");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, server_setup, server_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_second_pod_is_refused),           TEST(every_second_pod_is_refused_by_a_webhook),
        TEST(a_task_that_is_refused_keeps_no_other), TEST(conflicts_of_a_quota_are_no_refusals),
        TEST(creates_that_break_are_no_storm),       TEST(groups_that_break_are_no_storm),
        TEST(deletes_that_are_refused_are_no_storm), TEST(a_delete_that_is_refused_keeps_no_other),
    };

    server_quiet();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
