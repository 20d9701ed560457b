/*
 * Commands and retries: each Command is obeyed once and in turn, whatever happens to the
 * controller; what counts against maxRetry and what does not.
 */
#include "play.h"

/* ---- retries ----------------------------------------------------------------------------------
 */

/* A pod that always fails, with a job that restarts on that. */
static void max_retry_counts_runs(void **state)
{
    static const struct {
        const char *max_retry;
        int runs;
    } rows[] = {
        {"", 3},
        {",\"maxRetry\":0", 3},
        {",\"maxRetry\":1", 1},
        {",\"maxRetry\":2", 2},
        {",\"maxRetry\":3", 3},
    };
    static const char *const actions[] = {"RestartJob", "RestartTask", "RestartPod"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows) * ARRAY_SIZE(actions); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        cleanup_free char *spec = xasprintf(
            JOB(1, "%s" POLICIES("{\"event\":\"PodFailed\",\"action\":\"%s\"}"), TASK("w", 2, "")),
            rows[i / 3].max_retry, actions[i % 3]);
        play_start(server, spec);
        for (int k = 0; k < 10 && strcmp(play_phase(server), "Running") == 0; k++) {
            play_exit(server, "j-w-0", 1, 0);
            run(server, 3000);
        }
        assert_string_equal(play_phase(server), "Failed");
        assert_int_equal(play_made(server, "j-w-0"), rows[i / 3].runs);
        assert_int_equal(play_number(server, "retryCount"), rows[i / 3].runs);
        /* The pod that failed last is kept for its log, the other one goes. */
        assert_true(play_has_pod(server, "j-w-0"));
        assert_false(play_has_pod(server, "j-w-1"));
        assert_int_equal(play_number(server, "failed"), 1);
        const cJSON *state_now = json_at(play_status(server), "state");
        assert_string_equal(json_text(state_now, "reason"), "MaxRetryReached");
        assert_non_null(strstr(play_message(server), "had to be restarted"));
        assert_null(server_get(server, SERVER_GROUPS, GROUP_NAME));
        (void)server_teardown(&arg);
    }
}

/* Another controller takes over between the last restart and the end. */
static void the_last_pod_is_kept_over_a_restart_of_the_controller(void **state)
{
    (void)state;
    for (int64_t at_ms = 0; at_ms < 200; at_ms += 5) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server, JOB(1, ",\"maxRetry\":1" POLICIES(POLICY("PodFailed", "RestartJob")),
                               TASK("w", 2, "")));
        play_exit(server, "j-w-0", 1, 0);
        run(server, at_ms);
        server_restart(server);
        run(server, 5000);
        assert_string_equal(play_phase(server), "Failed");
        assert_int_equal(play_made(server, "j-w-0"), 1);
        assert_true(play_has_pod(server, "j-w-0"));
        assert_int_equal(play_number(server, "retryCount"), 1);
        (void)server_teardown(&arg);
    }
}

static void suspending_and_resuming_costs_no_retry(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    for (int i = 0; i < 5; i++) {
        cleanup_free char *stop = xasprintf("stop-%d", i), *go = xasprintf("go-%d", i);
        play_command(server, stop, "AbortJob");
        run(server, 3000);
        assert_string_equal(play_phase(server), "Aborted");
        assert_int_equal(play_pod_count(server), 0);
        assert_null(server_get(server, SERVER_GROUPS, GROUP_NAME));
        play_command(server, go, "ResumeJob");
        run(server, 3000);
        assert_string_equal(play_phase(server), "Running");
    }
    assert_int_equal(play_number(server, "retryCount"), 0);
    assert_int_equal(play_number(server, "version"), 10);
    assert_int_equal(play_made(server, "j-w-0"), 6);
    assert_int_equal(server->command_deletes, 10);
    assert_int_equal(play_lines(&server->said, "CommandIssued: "), 2);
    assert_int_equal(play_number(server, "running"), 2);
}

/* ---- one Command ------------------------------------------------------------------------------
 */

/* The controller ends at any moment after the Command came. */
static void a_command_is_obeyed_once(void **state)
{
    (void)state;
    for (int64_t at_ms = 0; at_ms < 120; at_ms += 3) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server, SPEC(2, 2));
        server->lag_ms = 15;
        play_command(server, "again", "RestartJob");
        run(server, at_ms);
        server_restart(server);
        run(server, 10000);
        assert_string_equal(play_phase(server), "Running");
        assert_int_equal(play_number(server, "version"), 1);
        assert_int_equal(play_number(server, "retryCount"), 1);
        assert_int_equal(server->command_deletes, 1);
        assert_null(server_get(server, SERVER_COMMANDS, "again"));
        assert_int_equal(play_made(server, "j-w-0"), 2);
        (void)server_teardown(&arg);
    }
}

static int failing_deletes(struct server *server, const struct kube_call_spec *spec)
{
    (void)server;
    return spec->method == KUBE_DELETE && has(spec->path, "/commands/") ? 500 : 0;
}

/* It cannot be deleted for a while. */
static void a_command_that_stays_is_not_obeyed_again(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    server->fault = failing_deletes;
    play_command(server, "again", "RestartJob");
    run(server, 30000);
    server_restart(server);
    run(server, 30000);
    assert_int_equal(play_number(server, "version"), 1);
    /* What comes after it waits: were the controller to end, nobody could tell which was first. */
    play_command(server, "stop", "AbortJob");
    run(server, 30000);
    assert_string_equal(play_phase(server), "Running");
    server->fault = NULL;
    run(server, 60000);
    assert_string_equal(play_phase(server), "Aborted");
    assert_int_equal(play_number(server, "version"), 2);
    assert_int_equal(server->command_deletes, 2);
}

static void commands_are_obeyed_in_turn(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    /* Of one second: by resourceVersion, whatever their names. */
    play_command(server, "c", "AbortJob");
    play_command(server, "b", "ResumeJob");
    play_command(server, "a", "TerminateJob");
    run(server, 10000);
    assert_string_equal(play_phase(server), "Terminated");
    assert_true(has(buf_str(&server->phases), "Aborting"));
    assert_true(has(buf_str(&server->phases), "Restarting"));
    assert_int_equal(server->command_deletes, 3);
    assert_false(has(buf_str(&server->said), "CommandIgnored"));
}

/* Clocks of API servers differ: an older one may come after a newer one was obeyed. */
static void an_older_command_waits_for_the_one_that_was_obeyed(void **state)
{
    (void)state;
    for (int64_t at_ms = 0; at_ms < 60; at_ms += 3) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server, SPEC(2, 2));
        play_command(server, "stop", "AbortJob");
        run(server, at_ms);
        (void)server_put(server, SERVER_COMMANDS,
                         json_parse(STR("{\"metadata\":{\"name\":\"go\",\"creationTimestamp\":"
                                        "\"2020-01-01T00:00:00Z\"},\"action\":\"ResumeJob\","
                                        "\"target\":{\"apiVersion\":\"" BATCH_API_VERSION
                                        "\",\"kind\":\"Job\",\"name\":\"j\"}}")),
                         NULL);
        run(server, 10000);
        assert_int_equal(map_count(&server->objects[SERVER_COMMANDS]), 0);
        (void)server_teardown(&arg);
    }
}

/* One that came before its job did, and before the controller. */
static void a_command_that_was_there_before_is_obeyed(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    server_end(server);
    play_command(server, "stop", "AbortJob");
    server_begin(server);
    run(server, 5000);
    assert_string_equal(play_phase(server), "Aborted");
}

/* ---- odd Commands -----------------------------------------------------------------------------
 */

static void odd_command(struct server *server, const char *name, const char *rest)
{
    cleanup_free char *text = xasprintf("{\"metadata\":{\"name\":\"%s\"}%s}", name, rest);

    (void)server_put(server, SERVER_COMMANDS, json_parse(str_of(text)), NULL);
}

#define TARGET(api, kind)                                                                          \
    "\"target\":{\"apiVersion\":\"" api "\",\"kind\":\"" kind "\",\"name\":\"j\"}"

static void odd_commands_do_nothing(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    const size_t writes = server->status_writes;
    play_command_for(server, "unknown-job", "AbortJob", "nobody", NULL);
    play_command_for(server, "another-uid", "AbortJob", "j", "of-an-earlier-job");
    play_command(server, "unknown-action", "DanceJob");
    odd_command(server, "empty", "");
    odd_command(server, "empty-target", ",\"action\":\"AbortJob\",\"target\":{}");
    odd_command(server, "batch", ",\"action\":\"AbortJob\"," TARGET("batch/v1", "Job"));
    run(server, 30000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(server->status_writes, writes);
    /* Those for jobs of ours are deleted, whether there is such a job or not. */
    assert_null(server_get(server, SERVER_COMMANDS, "unknown-job"));
    assert_null(server_get(server, SERVER_COMMANDS, "another-uid"));
    assert_null(server_get(server, SERVER_COMMANDS, "unknown-action"));
    assert_int_equal(server->command_deletes, 3);
    assert_non_null(server_get(server, SERVER_COMMANDS, "empty-target"));
    assert_non_null(server_get(server, SERVER_COMMANDS, "batch"));
}

/* A Command without a UID is for whatever has the name. */
static void a_command_may_leave_the_uid_out(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    play_command_for(server, "stop", "AbortJob", "j", NULL);
    run(server, 5000);
    assert_string_equal(play_phase(server), "Aborted");
}

/* News of the job comes later than that of its Command. */
static void a_command_may_come_before_its_job(void **state)
{
    struct server *server = *state;

    play_command(server, "stop", "AbortJob");
    run(server, 5000);
    play_job(server, SPEC(2, 2));
    run(server, 30000);
    assert_string_equal(play_phase(server), "Aborted");
    assert_null(server_get(server, SERVER_COMMANDS, "stop"));
}

static int refuse_status(struct server *server, const struct kube_call_spec *spec)
{
    (void)server;
    return spec->method == KUBE_PATCH && str_ends(spec->path, STR("/status")) ? 500 : 0;
}

/* The job is deleted before its Command is obeyed. */
static void commands_go_with_their_job(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    server->fault = refuse_status;
    play_command(server, "stop", "AbortJob");
    run(server, 1000);
    play_delete_job(server);
    server->fault = NULL;
    run(server, 30000);
    assert_null(server_get(server, SERVER_COMMANDS, "stop"));
}

/* They come without end, each for a job that there is not. */
static void a_stream_of_lost_commands_is_cleared_away(void **state)
{
    struct server *server = *state;

    for (int i = 0; i < 30; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "lost-%d", i);
        play_command_for(server, name, "AbortJob", "nobody", NULL);
        run(server, 10000);
        assert_in_range(map_count(&server->objects[SERVER_COMMANDS]), 1, 4);
    }
    play_command_for(server, "late", "AbortJob", "j", NULL);
    run(server, 14000);
    assert_non_null(server_get(server, SERVER_COMMANDS, "late"));
    run(server, 20000);
    assert_int_equal(map_count(&server->objects[SERVER_COMMANDS]), 0);
}

int main(void)
{
    server_quiet();
    const struct CMUnitTest all[] = {
        cmocka_unit_test(max_retry_counts_runs),
        cmocka_unit_test(the_last_pod_is_kept_over_a_restart_of_the_controller),
        cmocka_unit_test_setup_teardown(suspending_and_resuming_costs_no_retry, server_setup,
                                        server_teardown),
        cmocka_unit_test(a_command_is_obeyed_once),
        cmocka_unit_test_setup_teardown(a_command_that_stays_is_not_obeyed_again, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(commands_are_obeyed_in_turn, server_setup, server_teardown),
        cmocka_unit_test(an_older_command_waits_for_the_one_that_was_obeyed),
        cmocka_unit_test_setup_teardown(a_command_that_was_there_before_is_obeyed, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(odd_commands_do_nothing, server_setup, server_teardown),
        cmocka_unit_test_setup_teardown(a_command_may_come_before_its_job, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(commands_go_with_their_job, server_setup, server_teardown),
        cmocka_unit_test_setup_teardown(a_stream_of_lost_commands_is_cleared_away, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_command_may_leave_the_uid_out, server_setup,
                                        server_teardown),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
