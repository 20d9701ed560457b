/*
 * Phases of jobs: every transition by every action, what is killed, what is written on the way, and
 * what a finished job keeps.
 */
#include "play.h"

#define HOUR_MS INT64_C(3600000)

/* ---- transitions ------------------------------------------------------------------------------
 */

static void end_pods(struct server *server, const char *phase)
{
    play_pods(server, phase);
    run(server, 2000);
}

/* Brings the job of two pods to a phase and leaves it there. */
static void reach(struct server *server, enum job_phase phase)
{
    static const char *const actions[JOB_PHASE_COUNT] = {
        [JOB_RESTARTING] = "RestartJob",    [JOB_ABORTING] = "AbortJob",
        [JOB_ABORTED] = "AbortJob",         [JOB_COMPLETING] = "CompleteJob",
        [JOB_TERMINATING] = "TerminateJob", [JOB_TERMINATED] = "TerminateJob",
    };

    play_start(server, SPEC(2, 2));
    if (phase == JOB_PENDING) {
        end_pods(server, "Pending");
    } else if (phase == JOB_COMPLETED || phase == JOB_FAILED) {
        end_pods(server, phase == JOB_FAILED ? "Failed" : "Succeeded");
    } else if (actions[phase]) {
        server->grace_ms = phase == JOB_ABORTED || phase == JOB_TERMINATED ? 0 : HOUR_MS;
        play_command(server, "reach", actions[phase]);
        run(server, 3000);
    }
    server->grace_ms = HOUR_MS;
    assert_string_equal(play_phase(server), job_phase_name(phase));
}

/* What an action does in a phase; `to` is the phase itself where it does nothing. */
struct row {
    enum job_phase from;
    const char *action;
    enum job_phase to;
    int retry, version; /* by how much they grow */
};

static const char *last_condition(struct server *server)
{
    const cJSON *conditions = json_at(play_status(server), "conditions");

    return json_text(cJSON_GetArrayItem(conditions, cJSON_GetArraySize(conditions) - 1), "status");
}

static void check(struct server *server, const struct row *row)
{
    reach(server, row->from);
    const int retry = play_number(server, "retryCount"), version = play_number(server, "version");
    const size_t writes = server->status_writes;

    play_command(server, "act", row->action);
    run(server, 500);
    assert_string_equal(play_phase(server), job_phase_name(row->to));
    assert_int_equal(play_number(server, "retryCount"), retry + row->retry);
    assert_int_equal(play_number(server, "version"), version + row->version);
    assert_null(server_get(server, SERVER_COMMANDS, "act"));
    if (row->to != row->from || row->version) {
        assert_true(server->status_writes > writes);
        assert_string_equal(last_condition(server), job_phase_name(row->to));
    } else {
        assert_true(has(buf_str(&server->said), "CommandIgnored: Command act: action"));
    }
}

static const struct row rows[] = {
    {JOB_PENDING, "RestartJob", JOB_RESTARTING, 1, 1},
    {JOB_PENDING, "AbortJob", JOB_ABORTING, 0, 1},
    {JOB_PENDING, "CompleteJob", JOB_COMPLETING, 0, 1},
    {JOB_PENDING, "TerminateJob", JOB_TERMINATING, 0, 1},
    {JOB_PENDING, "ResumeJob", JOB_PENDING, 0, 0},
    {JOB_PENDING, "SyncJob", JOB_PENDING, 0, 0},
    {JOB_PENDING, "EnqueueJob", JOB_PENDING, 0, 0},
    {JOB_RUNNING, "RestartJob", JOB_RESTARTING, 1, 1},
    {JOB_RUNNING, "RestartTask", JOB_RUNNING, 0, 0}, /* a Command names no task */
    {JOB_RUNNING, "RestartPod", JOB_RUNNING, 0, 0},
    {JOB_RUNNING, "RestartPartition", JOB_RUNNING, 0, 0},
    {JOB_RUNNING, "AbortJob", JOB_ABORTING, 0, 1},
    {JOB_RUNNING, "CompleteJob", JOB_COMPLETING, 0, 1},
    {JOB_RUNNING, "TerminateJob", JOB_TERMINATING, 0, 1},
    {JOB_RUNNING, "ResumeJob", JOB_RUNNING, 0, 0},
    {JOB_RUNNING, "NoSuchThing", JOB_RUNNING, 0, 0},
    {JOB_RUNNING, "", JOB_RUNNING, 0, 0},
    {JOB_RESTARTING, "RestartJob", JOB_RESTARTING, 0, 1},
    {JOB_RESTARTING, "AbortJob", JOB_ABORTING, 0, 1},
    {JOB_RESTARTING, "CompleteJob", JOB_COMPLETING, 0, 1},
    {JOB_RESTARTING, "TerminateJob", JOB_TERMINATING, 0, 1},
    {JOB_RESTARTING, "ResumeJob", JOB_RESTARTING, 0, 0},
    {JOB_ABORTING, "ResumeJob", JOB_RESTARTING, 0, 1},
    {JOB_ABORTING, "RestartJob", JOB_RESTARTING, 0, 1},
    {JOB_ABORTING, "AbortJob", JOB_ABORTING, 0, 0},
    {JOB_ABORTING, "CompleteJob", JOB_COMPLETING, 0, 1},
    {JOB_ABORTING, "TerminateJob", JOB_TERMINATING, 0, 1},
    {JOB_ABORTED, "ResumeJob", JOB_RUNNING, 0, 1},
    {JOB_ABORTED, "RestartJob", JOB_RUNNING, 0, 1},
    {JOB_ABORTED, "AbortJob", JOB_ABORTED, 0, 0},
    {JOB_ABORTED, "CompleteJob", JOB_COMPLETED, 0, 1},
    {JOB_ABORTED, "TerminateJob", JOB_TERMINATED, 0, 1},
    {JOB_COMPLETING, "AbortJob", JOB_COMPLETING, 0, 0},
    {JOB_COMPLETING, "ResumeJob", JOB_COMPLETING, 0, 0},
    {JOB_COMPLETING, "TerminateJob", JOB_COMPLETING, 0, 0},
    {JOB_TERMINATING, "RestartJob", JOB_TERMINATING, 0, 0},
    {JOB_TERMINATING, "CompleteJob", JOB_TERMINATING, 0, 0},
    {JOB_COMPLETED, "RestartJob", JOB_COMPLETED, 0, 0},
    {JOB_COMPLETED, "ResumeJob", JOB_COMPLETED, 0, 0},
    {JOB_FAILED, "RestartJob", JOB_FAILED, 0, 0},
    {JOB_FAILED, "AbortJob", JOB_FAILED, 0, 0},
    {JOB_TERMINATED, "ResumeJob", JOB_TERMINATED, 0, 0},
    {JOB_TERMINATED, "RestartJob", JOB_TERMINATED, 0, 0},
};

static void every_action_in_every_phase(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        void *server;
        (void)server_setup(&server);
        check(server, &rows[i]);
        (void)server_teardown(&server);
    }
}

/* What the table does not list does nothing, and is told. */
static void every_other_action_does_nothing(void **state)
{
    static const char *const actions[] = {
        "RestartJob",   "RestartTask", "RestartPod", "RestartPartition", "AbortJob", "CompleteJob",
        "TerminateJob", "ResumeJob",   "SyncJob",    "EnqueueJob",       "DanceJob",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(actions) * JOB_PHASE_COUNT; i++) {
        const enum job_phase phase = (enum job_phase)(i % JOB_PHASE_COUNT);
        const struct row row = {phase, actions[i / JOB_PHASE_COUNT], phase, 0, 0};
        bool listed = false;
        for (size_t k = 0; k < ARRAY_SIZE(rows); k++)
            listed = listed || (rows[k].from == phase && strcmp(rows[k].action, row.action) == 0);
        if (listed)
            continue;
        void *server;
        (void)server_setup(&server);
        check(server, &row);
        (void)server_teardown(&server);
    }
}

/* ---- on the way -------------------------------------------------------------------------------
 */

static void each_phase_on_the_way_shows_pods_that_go(void **state)
{
    static const struct {
        const char *action, *line, *end;
    } ways[] = {
        {"AbortJob", "Aborting 2\n", "Aborted 0\n"},
        {"CompleteJob", "Completing 2\n", "Completed 0\n"},
        {"TerminateJob", "Terminating 2\n", "Terminated 0\n"},
        {"RestartJob", "Restarting 2\n", "Running 0\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server, SPEC(2, 2));
        buf_reset(&server->phases);
        play_command(server, "c", ways[i].action);
        run(server, 5000);
        assert_true(str_starts(buf_str(&server->phases), str_of(ways[i].line)));
        assert_true(str_ends(buf_str(&server->phases), str_of(ways[i].end)));
        /* One write each for what is decided and for where it ends; a restart passes Pending. */
        assert_in_range(play_lines(&server->phases, ""), 2, 4);
        (void)server_teardown(&arg);
    }
}

/* Pods that take twenty seconds to go hold their resources for so long. */
static void aborting_lasts_until_the_last_pod_is_gone(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(4, 4));
    server->grace_ms = 20000;
    play_command(server, "stop", "AbortJob");
    run(server, 19000);
    assert_string_equal(play_phase(server), "Aborting");
    assert_int_equal(play_number(server, "terminating"), 4);
    assert_int_equal(play_number(server, "running"), 0);
    assert_string_equal(play_message(server), "");
    run(server, 3000);
    assert_string_equal(play_phase(server), "Aborted");
    assert_int_equal(play_number(server, "terminating"), 0);
    assert_int_equal(server->command_deletes, 1);
    assert_int_equal(server->pod_deletes, 4);
    assert_null(server_get(server, SERVER_GROUPS, GROUP_NAME));
    assert_int_equal(play_lines(&server->said, "ExecuteAction: Start to execute action AbortJob"),
                     1);
}

/* The kubelet of one pod is away. */
static void a_pod_that_never_goes_is_told_of(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(3, 3));
    server->grace_ms = 30000;
    play_command(server, "stop", "TerminateJob");
    run(server, 1000);
    /* Two are gone at once; the third is beyond its grace and stays. */
    server_remove(server, SERVER_PODS, "j-w-0");
    server_remove(server, SERVER_PODS, "j-w-2");
    cJSON *pod = server_get(server, SERVER_PODS, "j-w-1");
    json_set(json_at(pod, "metadata"), "uid", cJSON_CreateString("stays"));
    server_restart(server);
    run(server, 57000);
    assert_string_equal(play_message(server), "");
    const size_t writes = server->status_writes;
    run(server, 5000);
    assert_string_equal(play_phase(server), "Terminating");
    assert_string_equal(json_text(json_at(play_status(server), "state"), "reason"),
                        "PodStillTerminating");
    assert_true(has(str_of(play_message(server)), "pod j-w-1 was to be gone by now"));
    run(server, 600000);
    assert_int_equal(server->status_writes, writes + 1);
    assert_int_equal(play_lines(&server->said, "PodStillTerminating"), 1);
    server_remove(server, SERVER_PODS, "j-w-1");
    run(server, 3000);
    assert_string_equal(play_phase(server), "Terminated");
    assert_string_equal(play_message(server), "");
}

/* ---- ends -------------------------------------------------------------------------------------
 */

static void what_ended_stays_and_what_lives_goes(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(4, 2));
    play_pod(server, "j-w-0", "Succeeded");
    play_pod(server, "j-w-1", "Failed");
    run(server, 1500);
    play_command(server, "c", "TerminateJob");
    run(server, 3000);
    assert_string_equal(play_phase(server), "Terminated");
    assert_int_equal(play_pod_count(server), 2);
    assert_true(play_has_pod(server, "j-w-0") && play_has_pod(server, "j-w-1"));
    assert_int_equal(play_number(server, "succeeded"), 1);
    assert_int_equal(play_number(server, "failed"), 1);
    assert_int_equal(play_number(server, "running"), 0);
}

static void enough_successes_end_the_job(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(4, ",\"minSuccess\":2", TASK("w", 4, "")));
    play_pod(server, "j-w-1", "Succeeded");
    run(server, 2000);
    assert_string_equal(play_phase(server), "Running");
    play_pod(server, "j-w-2", "Succeeded");
    run(server, 100);
    assert_string_equal(play_phase(server), "Completed");
    run(server, 3000);
    assert_int_equal(play_pod_count(server), 2);
    assert_int_equal(play_number(server, "succeeded"), 2);
    assert_int_equal(play_number(server, "running") + play_number(server, "terminating"), 0);
    assert_null(server_get(server, SERVER_GROUPS, GROUP_NAME));
}

/* Two tasks of one pod; the second fails. */
static void minimum_and_successes_decide_between_completed_and_failed(void **state)
{
    static const struct {
        const char *spec, *phase;
    } table[] = {
        {JOB(1, "", TASK("a", 1, "") "," TASK("b", 1, "")), "Completed"},
        {JOB(2, "", TASK("a", 1, "") "," TASK("b", 1, "")), "Failed"},
        {JOB(1, ",\"minSuccess\":1", TASK("a", 1, "") "," TASK("b", 1, "")), "Completed"},
        {JOB(1, ",\"minSuccess\":2", TASK("a", 1, "") "," TASK("b", 1, "")), "Failed"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server, table[i].spec);
        play_pod(server, "j-b-0", "Failed");
        run(server, 1500);
        if (strcmp(play_phase(server), "Running") == 0)
            play_pod(server, "j-a-0", "Succeeded");
        run(server, 2000);
        assert_string_equal(play_phase(server), table[i].phase);
        (void)server_teardown(&arg);
    }
}

static int conflicts;

static int conflict(struct server *server, const struct kube_call_spec *spec)
{
    (void)server;
    if (conflicts == 0 || spec->method != KUBE_PATCH || !has(spec->path, "/jobs/"))
        return 0;
    conflicts--;
    return 409;
}

/* Pods that ended before anybody saw them run, and twenty writes that come too late. */
static void conflicts_are_decided_upon_again(void **state)
{
    struct server *server = *state;

    server->group_phase = "Inqueue";
    server->pod_phase = "Pending";
    play_job(server, SPEC(20, 20));
    run(server, 2000);
    server->fault = conflict;
    conflicts = 20;
    play_pods(server, "Succeeded");
    run(server, 2000);
    assert_int_equal(conflicts, 0);
    assert_string_equal(play_phase(server), "Completed");
    assert_int_equal(play_number(server, "succeeded"), 20);
    assert_int_equal(play_number(server, "retryCount"), 0);
}

static void a_job_whose_pods_failed_unseen_is_failed(void **state)
{
    struct server *server = *state;

    server->group_phase = "Inqueue";
    server->pod_phase = "Pending";
    play_job(server, SPEC(20, 11));
    run(server, 2000);
    for (int i = 0; i < 20; i++) {
        cleanup_free char *name = xasprintf("j-w-%d", i);
        play_pod(server, name, i < 10 ? "Succeeded" : "Failed");
    }
    run(server, 2000);
    assert_string_equal(play_phase(server), "Failed");
    assert_int_equal(play_number(server, "succeeded"), 10);
    assert_int_equal(play_number(server, "failed"), 10);
}

/* ---- finished jobs ----------------------------------------------------------------------------
 */

static void a_finished_job_is_left_alone(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(3, 3));
    run(server, 60000);
    play_pods(server, "Succeeded");
    run(server, 3000);
    assert_string_equal(play_phase(server), "Completed");
    cleanup_free char *before = str_dup(play_status_text(server));
    assert_true(has(str_of(before), "\"runningDuration\":\"1m"));
    const size_t writes = server->status_writes;
    server_restart(server);
    run(server, 600000);
    server_remove(server, SERVER_PODS, "j-w-1");
    run(server, 600000);
    server_restart(server);
    play_job(server, SPEC(2, 3)); /* its last pod is one too many now, and is kept */
    run(server, 600000);
    assert_true(play_has_pod(server, "j-w-2"));
    assert_int_equal(server->status_writes, writes);
    assert_str(play_status_text(server), before);
    assert_int_equal(server->pod_posts, 3);
    assert_int_equal(server->group_posts, 1);
}

/* A running job that nothing happens to costs nothing. */
static void a_running_job_is_left_alone(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(5, 5));
    const unsigned requests = server->fake->requests;
    run(server, 600000);
    assert_int_equal(server->fake->requests, requests);
}

/* Three thousand restarts: the status does not grow. */
static void restarts_without_end_keep_the_status_small(void **state)
{
    struct server *server = *state;

    play_start(server,
               JOB(1, ",\"maxRetry\":2147483647" POLICIES(POLICY("PodFailed", "RestartJob")),
                   TASK("w", 1, "")));
    size_t size = 0;
    for (int i = 0; i < 3000; i++) {
        play_pod(server, "j-w-0", "Failed");
        run(server, 1500);
        if (i == 10)
            size = play_status_text(server).n;
    }
    assert_int_equal(play_number(server, "retryCount"), 3000);
    assert_int_equal(play_made(server, "j-w-0"), 3001);
    assert_in_range(play_status_text(server).n, size, size + 16);
    assert_string_equal(play_phase(server), "Running");
}

int main(void)
{
    server_quiet();
    const struct CMUnitTest all[] = {
        cmocka_unit_test(every_action_in_every_phase),
        cmocka_unit_test(every_other_action_does_nothing),
        cmocka_unit_test(each_phase_on_the_way_shows_pods_that_go),
        cmocka_unit_test_setup_teardown(aborting_lasts_until_the_last_pod_is_gone, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_pod_that_never_goes_is_told_of, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(what_ended_stays_and_what_lives_goes, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(enough_successes_end_the_job, server_setup,
                                        server_teardown),
        cmocka_unit_test(minimum_and_successes_decide_between_completed_and_failed),
        cmocka_unit_test_setup_teardown(conflicts_are_decided_upon_again, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_job_whose_pods_failed_unseen_is_failed, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_finished_job_is_left_alone, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_running_job_is_left_alone, server_setup, server_teardown),
        cmocka_unit_test_setup_teardown(restarts_without_end_keep_the_status_small, server_setup,
                                        server_teardown),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
