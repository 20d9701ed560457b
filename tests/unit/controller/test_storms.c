/*
 * Writes that are taken and change nothing, and objects that the watch does not tell of: they are
 * asked for again ever more seldom, and never in a tight loop.
 */
#include "play.h"

#define HALF_A_MINUTE INT64_C(30000)

static size_t asked_within(struct server *server, int64_t ms)
{
    const size_t before = server->asked;

    run(server, ms);
    return server->asked - before;
}

/* The watch selects by the label: to it the pod is gone. */
static void take_label(struct server *server, const char *name)
{
    cJSON *pod = server_get(server, SERVER_PODS, name), *meta = json_at(pod, "metadata");
    char rv[24];

    cJSON_DeleteItemFromObjectCaseSensitive(json_at(meta, "labels"), KEY_JOB_NAME);
    (void)snprintf(rv, sizeof(rv), "%llu", (unsigned long long)++server->rv);
    json_set(meta, "resourceVersion", cJSON_CreateString(rv));
    server_tell(server, SERVER_PODS, pod, true);
}

static void a_pod_without_its_label_is_waited_for(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    take_label(server, "j-w-0");
    assert_in_range(asked_within(server, HALF_A_MINUTE), 1, 25);
    assert_true(has(str_of(play_message(server)), "without its label volcano.sh/job-name"));
    assert_int_equal(play_lines(&server->said, "FailedCreate"), 1);
    /* With its label the pod is back, and nothing is to be said. */
    play_pod_patch(server, "j-w-0", "{\"metadata\":{\"labels\":{\"volcano.sh/job-name\":\"j\"}}}");
    run(server, HALF_A_MINUTE);
    assert_string_equal(play_message(server), "");
    assert_int_equal(play_number(server, "running"), 2);
    assert_int_equal(play_made(server, "j-w-0"), 1);
}

static int no_status(struct server *server, const struct kube_call_spec *spec)
{
    (void)server;
    return spec->method == KUBE_PATCH && has(spec->path, "/status") ? 404 : 0;
}

static void a_job_whose_status_is_not_found_is_written_seldom(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    server->fault = no_status;
    play_pod(server, "j-w-0", "Succeeded");
    play_command(server, "c", "RestartJob");
    assert_in_range(asked_within(server, HALF_A_MINUTE), 1, 25);
    server->fault = NULL;
    run(server, 2 * HALF_A_MINUTE);
    assert_int_equal(play_number(server, "version"), 1);
    assert_string_equal(play_phase(server), "Running");
}

/* Nothing is known of a job after a version that cannot be read: what is written is about the one
 * before, which is a conflict like others, until there have been many. */
static void a_job_that_cannot_be_read_is_written_seldom(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    play_job(server, JOB(2, "", TASK("w", -1, "")));
    play_pods(server, "Succeeded");
    assert_in_range(asked_within(server, HALF_A_MINUTE), 1, 50);
    assert_in_range(asked_within(server, HALF_A_MINUTE), 1, 8);
    play_job(server, SPEC(2, 2));
    run(server, 2 * HALF_A_MINUTE);
    assert_string_equal(play_phase(server), "Completed");
}

/* The pod can no longer be read, and stays. */
static void a_delete_that_changes_nothing_is_tried_seldom(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    server->grace_ms = INT64_C(1000000);
    play_pod_patch(server, "j-w-0", "{\"metadata\":{\"creationTimestamp\":\"yesterday\"}}");
    play_command(server, "c", "AbortJob");
    assert_in_range(asked_within(server, HALF_A_MINUTE), 1, 25);
    assert_string_equal(play_phase(server), "Aborting");
    server_remove(server, SERVER_PODS, "j-w-0");
    server_remove(server, SERVER_PODS, "j-w-1");
    run(server, 2 * HALF_A_MINUTE);
    assert_string_equal(play_phase(server), "Aborted");
}

/* A grace time of three centuries: Kubernetes takes it. */
static void a_pod_that_goes_in_centuries_is_deleted_once(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    play_pod_patch(server, "j-w-0",
                   "{\"metadata\":{\"deletionTimestamp\":\"2326-01-01T00:00:00Z\","
                   "\"deletionGracePeriodSeconds\":9460800000}}");
    play_command(server, "c", "AbortJob");
    run(server, 2000);
    assert_int_equal(server->pod_deletes, 1);
    assert_int_equal(play_number(server, "terminating"), 1);
    assert_int_equal(asked_within(server, 2 * HALF_A_MINUTE), 0);
    assert_string_equal(play_message(server), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, server_setup, server_teardown)

/* A pass that looks at all pods for each of them that goes would be quadratic. */
static void a_large_job_rests_between_passes(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2500, 2500));
    run(server, 1000);
    struct job_control *control = play_control(server);
    job_control_mark(control);
    assert_true(control->dirty);
    run(server, 1);
    job_control_mark(control);
    assert_false(control->dirty);
    assert_true(loop_timer_active(&control->rest));
    run(server, 3);
    assert_false(loop_timer_active(&control->rest));
    play_command(server, "c", "AbortJob");
    run(server, 60000);
    assert_string_equal(play_phase(server), "Aborted");
    assert_int_equal(play_pod_count(server), 0);
}

static void a_small_one_does_not(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    job_control_mark(play_control(server));
    run(server, 1);
    job_control_mark(play_control(server));
    assert_true(play_control(server)->dirty);
    run(server, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_pod_without_its_label_is_waited_for),
        TEST(a_job_whose_status_is_not_found_is_written_seldom),
        TEST(a_job_that_cannot_be_read_is_written_seldom),
        TEST(a_delete_that_changes_nothing_is_tried_seldom),
        TEST(a_pod_that_goes_in_centuries_is_deleted_once),
        TEST(a_large_job_rests_between_passes),
        TEST(a_small_one_does_not),
    };

    server_quiet();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
