/*
 * Lifecycle policies: every event and every action, which policy answers, exit codes, timeouts, and
 * that a restart touches no more than it names.
 */
#include "photo.h"

/* ---- actions ----------------------------------------------------------------------------------
 */

#define PARTITIONS ",\"partitionPolicy\":{\"totalPartitions\":2,\"partitionSize\":2}"
#define TWO(policies) JOB(6, policies, TASK("a", 4, PARTITIONS) "," TASK("b", 2, ""))

/* What each action does when pod a-1 fails. */
static void each_action_touches_what_it_names(void **state)
{
    static const struct {
        const char *spec, *remade;
        int version;
    } rows[] = {
        {TWO(POLICIES(POLICY("PodFailed", "RestartPod"))), "j-a-1 ", 0},
        {TWO(POLICIES(POLICY("PodFailed", "RestartPartition"))), "j-a-0 j-a-1 ", 0},
        {TWO(POLICIES(POLICY("PodFailed", "RestartTask"))), "j-a-0 j-a-1 j-a-2 j-a-3 ", 0},
        {TWO(POLICIES(POLICY("PodFailed", "RestartJob"))), "j-a-0 j-a-1 j-a-2 j-a-3 j-b-0 j-b-1 ",
         1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server, rows[i].spec);
        struct photo photo = take_photo(server);
        play_exit(server, "j-a-1", 1, 0);
        run(server, 5000);
        assert_remade(server, &photo, rows[i].remade);
        assert_int_equal(is_same_group(server, &photo), rows[i].version == 0);
        assert_string_equal(play_phase(server), "Running");
        assert_int_equal(play_number(server, "retryCount"), 1);
        assert_int_equal(play_number(server, "version"), rows[i].version);
        assert_int_equal(play_lines(&server->said, "ExecuteAction: "), 1);
        assert_true(has(buf_str(&server->phases), "Restarting "));
        assert_string_equal(play_memory(server, "restart-a"), "");
        assert_string_equal(play_memory(server, "restart"), "");
        drop_photo(&photo);
        (void)server_teardown(&arg);
    }
}

static void pods_carry_the_run_they_belong_to(void **state)
{
    struct server *server = *state;

    play_start(server, TWO(POLICIES(POLICY("PodFailed", "RestartJob"))));
    play_exit(server, "j-a-1", 1, 0);
    run(server, 5000);
    const cJSON *meta = json_at(server_get(server, SERVER_PODS, "j-b-1"), "metadata");
    assert_string_equal(json_text(json_at(meta, "annotations"), KEY_JOB_VERSION), "1");
    assert_string_equal(json_text(json_at(meta, "annotations"), KEY_JOB_RETRY_COUNT), "1");
}

static void actions_that_end_the_job(void **state)
{
    static const struct {
        const char *spec, *phase;
    } rows[] = {
        {TWO(POLICIES(POLICY("PodFailed", "AbortJob"))), "Aborted"},
        {TWO(POLICIES(POLICY("PodFailed", "CompleteJob"))), "Completed"},
        {TWO(POLICIES(POLICY("PodFailed", "TerminateJob"))), "Terminated"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server, rows[i].spec);
        play_exit(server, "j-a-1", 1, 0);
        run(server, 5000);
        assert_string_equal(play_phase(server), rows[i].phase);
        assert_int_equal(play_pod_count(server), 1);
        assert_int_equal(play_number(server, "failed"), 1);
        assert_int_equal(play_number(server, "retryCount"), 0);
        (void)server_teardown(&arg);
    }
}

/* While one restart is under way, what fails meanwhile is part of it. */
static void failures_during_a_restart_cost_no_further_retry(void **state)
{
    struct server *server = *state;

    play_start(server, TWO(POLICIES(POLICY("PodFailed", "RestartJob"))));
    server->grace_ms = 10000;
    play_exit(server, "j-a-1", 1, 0);
    run(server, 2000);
    play_exit(server, "j-a-2", 1, 0);
    play_exit(server, "j-b-0", 1, 0);
    run(server, 20000);
    assert_int_equal(play_number(server, "retryCount"), 1);
    assert_string_equal(play_phase(server), "Running");
}

/* A pod whose number of the retry cannot be right costs no write after the other. */
static void a_pod_from_the_future_costs_no_endless_writes(void **state)
{
    struct server *server = *state;

    play_start(server, TWO(",\"maxRetry\":4" POLICIES(POLICY("PodFailed", "RestartPod"))));
    play_pod_patch(server, "j-a-1",
                   "{\"metadata\":{\"annotations\":{\"volcano.sh/job-retry-count\":\"77\"}}}");
    server->grace_ms = 20000;
    play_exit(server, "j-b-0", 1, 0);
    run(server, 3000);
    play_exit(server, "j-a-1", 1, 0);
    run(server, 60000);
    /* It stays, as it were of a later run; the job ends by its retries. */
    assert_string_equal(play_phase(server), "Failed");
    assert_in_range(server->status_writes, 5, 40);
}

/* ---- events -----------------------------------------------------------------------------------
 */

static void pod_failed(struct server *server)
{
    play_exit(server, "j-a-1", 7, 0);
}

static void pod_evicted(struct server *server)
{
    server_delete_pod(server, "j-a-1");
}

static void pod_pending(struct server *server)
{
    play_pod(server, "j-a-1", "Pending");
    run(server, 60000);
}

static void group_unknown(struct server *server)
{
    play_group(server, "Unknown");
}

static void task_completed(struct server *server)
{
    for (int i = 0; i < 4; i++) {
        cleanup_free char *name = xasprintf("j-a-%d", i);
        play_pod(server, name, "Succeeded");
    }
}

static void task_failed(struct server *server)
{
    play_pod_patch(server, "j-a-0",
                   "{\"status\":{\"containerStatuses\":[{\"restartCount\":2}],"
                   "\"initContainerStatuses\":[{\"restartCount\":1}]}}");
}

static void nothing_happens(struct server *server)
{
    run(server, 60000);
}

#define AND_TIMEOUT(event, timeout)                                                                \
    "{\"event\":\"" event "\",\"action\":\"AbortJob\",\"timeout\":\"" timeout "\"}"
#define ABORT_ON(event) POLICIES(POLICY(event, "AbortJob"))
#define CODE(code, action) "{\"exitCode\":" #code ",\"action\":\"" action "\"}"

/* Which events a policy answers: the job is aborted or goes on. */
static void events_and_those_who_wait_for_them(void **state)
{
    static const struct {
        const char *policies;
        void (*happen)(struct server *server);
        bool aborts;
    } rows[] = {
        {ABORT_ON("PodFailed"), pod_failed, true},
        {ABORT_ON("PodFailed"), pod_evicted, false},
        {ABORT_ON("PodEvicted"), pod_evicted, true},
        {ABORT_ON("PodEvicted"), pod_failed, false},
        {ABORT_ON("PodPending"), pod_pending, false}, /* without a timeout it never acts */
        {POLICIES(AND_TIMEOUT("PodPending", "10s")), pod_pending, true},
        {POLICIES(AND_TIMEOUT("PodPending", "10s")), nothing_happens, false},
        {ABORT_ON("Unknown"), group_unknown, true},
        {ABORT_ON("Unknown"), pod_failed, false},
        {ABORT_ON("TaskCompleted"), task_completed, true},
        {ABORT_ON("TaskCompleted"), pod_failed, false},
        {ABORT_ON("TaskFailed"), task_failed, true},
        {ABORT_ON("TaskFailed"), pod_failed, false},
        {ABORT_ON("JobUpdated"), pod_failed, false},
        {ABORT_ON("NoSuchEvent"), pod_failed, false},
        {ABORT_ON("PodRunning"), nothing_happens, false}, /* the controller's own events */
        {ABORT_ON("OutOfSync"), pod_failed, false},
        {ABORT_ON("CommandIssued"), pod_failed, false},
        {ABORT_ON("*"), pod_failed, true},
        {ABORT_ON("*"), pod_evicted, true},
        {ABORT_ON("*"), pod_pending, false},
        {ABORT_ON("*"), group_unknown, true},
        {ABORT_ON("*"), task_completed, true},
        {ABORT_ON("*"), task_failed, true},
        {ABORT_ON("*"), nothing_happens, false},
        {POLICIES("{\"events\":[\"Unknown\",\"PodEvicted\"],\"action\":\"AbortJob\"}"), pod_evicted,
         true},
        {POLICIES("{\"events\":[\"Unknown\",\"PodEvicted\"],\"action\":\"AbortJob\"}"), pod_failed,
         false},
        {POLICIES("{\"event\":\"PodFailed\",\"events\":[\"PodEvicted\"],\"action\":\"AbortJob\"}"),
         pod_evicted, true},
        {POLICIES("{\"event\":\"PodFailed\",\"events\":[\"PodEvicted\"],\"action\":\"AbortJob\"}"),
         pod_failed, true},
        {POLICIES("{\"events\":[\"*\"],\"action\":\"AbortJob\"}"), pod_failed, true},
        {POLICIES("{\"action\":\"AbortJob\"}"), pod_failed, false},
        {POLICIES(CODE(7, "AbortJob")), pod_failed, true},
        {POLICIES(CODE(8, "AbortJob")), pod_failed, false},
        {POLICIES(CODE(0, "AbortJob")), pod_failed, false},
        {"", pod_failed, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        cleanup_free char *spec =
            xasprintf(JOB(2, "%s", TASK("a", 4, "") "," TASK("b", 2, "")), rows[i].policies);
        play_start(server, spec);
        rows[i].happen(server);
        run(server, 5000);
        if ((strcmp(play_phase(server), "Aborted") == 0) != rows[i].aborts)
            print_error("row %zu: %s\n", i, play_phase(server));
        assert_int_equal(strcmp(play_phase(server), "Aborted") == 0, rows[i].aborts);
        (void)server_teardown(&arg);
    }
}

/* TaskFailed counts the restarts of the task's containers against its maxRetry. */
static void a_task_may_restart_its_containers_so_often(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(2, ABORT_ON("TaskFailed"), TASK("a", 2, ",\"maxRetry\":5")));
    play_pod_patch(server, "j-a-0", "{\"status\":{\"containerStatuses\":[{\"restartCount\":3}]}}");
    play_pod_patch(server, "j-a-1", "{\"status\":{\"containerStatuses\":[{\"restartCount\":1}]}}");
    run(server, 3000);
    assert_string_equal(play_phase(server), "Running");
    play_pod_patch(server, "j-a-1", "{\"status\":{\"containerStatuses\":[{\"restartCount\":2}]}}");
    run(server, 3000);
    assert_string_equal(play_phase(server), "Aborted");
}

/* The first container ended well, the second did not. */
static void the_exit_code_of_any_container_counts(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(2, POLICIES(CODE(137, "AbortJob")), TASK("a", 2, "")));
    play_exit(server, "j-a-0", 0, 137);
    run(server, 3000);
    assert_string_equal(play_phase(server), "Aborted");
}

static void policies_of_the_task_come_first_and_in_order(void **state)
{
    struct server *server = *state;

    play_start(server,
               JOB(2, POLICIES(POLICY("PodFailed", "AbortJob")),
                   TASK("a", 2,
                        POLICIES(POLICY("PodEvicted", "AbortJob") "," POLICY(
                            "PodFailed",
                            "RestartPod") ","
                                          "" POLICY("*", "TerminateJob"))) "," TASK("b", 2, "")));
    play_exit(server, "j-a-0", 1, 0);
    run(server, 3000);
    assert_int_equal(play_made(server, "j-a-0"), 2);
    assert_string_equal(play_phase(server), "Running");
    /* The other task has none of its own. */
    play_exit(server, "j-b-0", 1, 0);
    run(server, 3000);
    assert_string_equal(play_phase(server), "Aborted");
}

/* The controller was away when the pod failed. */
static void what_failed_unseen_is_acted_upon(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(2, POLICIES(POLICY("PodFailed", "RestartPod")), TASK("a", 2, "")));
    server_end(server);
    play_exit(server, "j-a-0", 1, 0);
    server_begin(server);
    run(server, 3000);
    assert_int_equal(play_made(server, "j-a-0"), 2);
    assert_int_equal(play_made(server, "j-a-1"), 1);
    assert_int_equal(play_number(server, "retryCount"), 1);
}

/* The group of the run before stays Unknown until it is deleted. */
static void an_unknown_group_restarts_the_job_once(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(2, POLICIES(POLICY("Unknown", "RestartJob")), TASK("a", 2, "")));
    server->fake->latency_ns = 200 * NSEC_PER_MSEC;
    play_group(server, "Unknown");
    run(server, 10000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_number(server, "retryCount"), 1);
    assert_int_equal(play_number(server, "version"), 1);
    assert_int_equal(server->group_deletes, 1);
    assert_int_equal(server->group_posts, 2);
}

/* ---- timeouts ---------------------------------------------------------------------------------
 */

static void a_pod_that_does_not_start_in_time_is_replaced_alone(void **state)
{
    struct server *server = *state;

    server->group_phase = "Inqueue";
    server->pod_phase = "Pending";
    play_job(server, JOB(2,
                         POLICIES("{\"event\":\"PodPending\",\"timeout\":\"10s\","
                                  "\"action\":\"RestartPod\"}"),
                         TASK("w", 3, "")));
    run(server, 2000);
    play_pod(server, "j-w-0", "Running");
    run(server, 3000);
    play_pod(server, "j-w-2", "Running");
    run(server, 4000);
    /* Nine seconds; a new controller goes on counting. */
    server_restart(server);
    assert_int_equal(play_made(server, "j-w-1"), 1);
    run(server, 3000);
    assert_int_equal(play_made(server, "j-w-1"), 2);
    assert_int_equal(play_made(server, "j-w-0") + play_made(server, "j-w-2"), 2);
    assert_int_equal(play_number(server, "retryCount"), 1);
    /* Told of once, by the controller that saw it begin; the replacement is told of again. */
    assert_int_equal(
        play_lines(&server->said, "ExecuteAction: Execute action RestartPod after 10s"), 2);
}

/* The longest that there is, and times that a clock gone wrong has written. */
static void a_timeout_of_centuries_is_not_over_at_once(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(1,
                           POLICIES(AND_TIMEOUT("PodFailed", "2562047h") "," AND_TIMEOUT(
                               "PodPending", "2562047h47m")),
                           TASK("w", 2, "")));
    play_exit(server, "j-w-0", 1, 0);
    play_pod(server, "j-w-1", "Pending");
    run(server, 10000);
    play_pod_patch(server, "j-w-0",
                   "{\"status\":{\"containerStatuses\":[{\"state\":{\"terminated\":{\"exitCode\":1,"
                   "\"finishedAt\":\"2262-04-01T00:00:00Z\"}}}]}}");
    run(server, 10000);
    assert_int_equal(play_number(server, "version"), 0);
    assert_int_equal(play_lines(&server->said, "ExecuteAction: Start"), 0);
}

static void a_delayed_action_is_told_of_once(void **state)
{
    struct server *server = *state;

    server->group_phase = "Inqueue";
    server->pod_phase = "Pending";
    play_job(server, JOB(20, POLICIES(AND_TIMEOUT("PodPending", "1h")), TASK("w", 20, "")));
    run(server, 1800000);
    assert_int_equal(
        play_lines(&server->said, "ExecuteAction: Execute action AbortJob after 1h0m0s"), 1);
    assert_int_equal(server->event_patches, 0);
    server_restart(server);
    run(server, 60000);
    assert_int_equal(play_lines(&server->said, "ExecuteAction: "), 1);
    run(server, 1800000);
    assert_string_equal(play_phase(server), "Aborted");
}

/* Every event that a timeout can follow, with a new controller half way. */
static void timeouts_go_on_over_a_restart_of_the_controller(void **state)
{
    static const struct {
        const char *event;
        void (*happen)(struct server *server);
    } rows[] = {
        {"PodFailed", pod_failed},
        {"Unknown", group_unknown},
        {"TaskCompleted", task_completed},
        {"TaskFailed", task_failed},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        cleanup_free char *spec = xasprintf(
            JOB(2, POLICIES("{\"event\":\"%s\",\"action\":\"AbortJob\",\"timeout\":\"1m\"}"),
                TASK("a", 4, "") "," TASK("b", 2, "")),
            rows[i].event);
        play_start(server, spec);
        rows[i].happen(server);
        run(server, 55000);
        assert_string_equal(play_phase(server), "Running");
        server_restart(server);
        run(server, 2000);
        assert_string_equal(play_phase(server), "Running");
        run(server, 70000);
        assert_string_equal(play_phase(server), "Aborted");
        (void)server_teardown(&arg);
    }
}

static void an_eviction_is_forgiven_when_the_pod_runs_again_in_time(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(2, POLICIES(AND_TIMEOUT("PodEvicted", "30s")), TASK("a", 2, "")));
    server_delete_pod(server, "j-a-1");
    run(server, 60000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_made(server, "j-a-1"), 2);
    server->pod_phase = "Pending";
    server_delete_pod(server, "j-a-1");
    run(server, 25000);
    assert_int_equal(play_made(server, "j-a-1"), 3);
    assert_false(has(buf_str(&server->phases), "Abort"));
    run(server, 10000);
    assert_string_equal(play_phase(server), "Aborted");
}

int main(void)
{
    server_quiet();
    const struct CMUnitTest all[] = {
        cmocka_unit_test(each_action_touches_what_it_names),
        cmocka_unit_test_setup_teardown(pods_carry_the_run_they_belong_to, server_setup,
                                        server_teardown),
        cmocka_unit_test(actions_that_end_the_job),
        cmocka_unit_test_setup_teardown(failures_during_a_restart_cost_no_further_retry,
                                        server_setup, server_teardown),
        cmocka_unit_test_setup_teardown(a_pod_from_the_future_costs_no_endless_writes, server_setup,
                                        server_teardown),
        cmocka_unit_test(events_and_those_who_wait_for_them),
        cmocka_unit_test_setup_teardown(a_task_may_restart_its_containers_so_often, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(the_exit_code_of_any_container_counts, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(policies_of_the_task_come_first_and_in_order, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(what_failed_unseen_is_acted_upon, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(an_unknown_group_restarts_the_job_once, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_pod_that_does_not_start_in_time_is_replaced_alone,
                                        server_setup, server_teardown),
        cmocka_unit_test_setup_teardown(a_delayed_action_is_told_of_once, server_setup,
                                        server_teardown),
        cmocka_unit_test(timeouts_go_on_over_a_restart_of_the_controller),
        cmocka_unit_test_setup_teardown(a_timeout_of_centuries_is_not_over_at_once, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(an_eviction_is_forgiven_when_the_pod_runs_again_in_time,
                                        server_setup, server_teardown),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
