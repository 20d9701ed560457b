/*
 * Why a job waits: on the job, in one Event for each change, and gone when the cause is gone; and
 * the metrics about jobs.
 */
#include "play.h"

#include "controller/job/metrics.h"

/* ---- the scheduler's reason -------------------------------------------------------------------
 */

static void set_condition(struct server *server, const char *status, const char *message)
{
    cleanup_free char *text =
        xasprintf("{\"status\":{\"conditions\":[{\"type\":\"Unschedulable\",\"status\":\"%s\","
                  "\"reason\":\"NotEnoughResources\",\"message\":\"%s\"}]}}",
                  status, message);
    cJSON *group = server_get(server, SERVER_GROUPS, GROUP_NAME), *patch = json_parse(str_of(text));

    json_merge(group, patch);
    cJSON_Delete(patch);
    server_touch(server, SERVER_GROUPS, group);
}

static const char *reason(struct server *server)
{
    return json_text(json_at(play_status(server), "state"), "reason");
}

static void what_the_scheduler_says_is_told_once_for_each_change(void **state)
{
    struct server *server = *state;

    play_job(server, SPEC(3, 3));
    run(server, 2000);
    set_condition(server, "True", "cpu: 3 short");
    run(server, 2000);
    assert_string_equal(reason(server), "NotEnoughResources");
    assert_string_equal(play_message(server), "cpu: 3 short");
    for (int i = 0; i < 20; i++) {
        set_condition(server, "True", "cpu: 3 short");
        run(server, 60000);
    }
    server_restart(server);
    run(server, 60000);
    assert_int_equal(
        play_lines(&server->said, "PodGroupPending: PodGroup n:j unschedulable, reason: cpu: 3"),
        1);
    assert_int_equal(server->event_patches, 0);
    const size_t writes = server->status_writes;
    set_condition(server, "True", "cpu: 1 short");
    run(server, 2000);
    assert_int_equal(server->status_writes, writes + 1);
    assert_int_equal(play_lines(&server->said, "PodGroupPending: "), 2);
    set_condition(server, "False", "");
    run(server, 2000);
    assert_string_equal(reason(server), "");
    assert_string_equal(play_message(server), "");
    assert_int_equal(play_lines(&server->said, "PodGroupPending: "), 2);
}

/* A finalizer keeps the PodGroup of the run before. */
static void a_group_that_does_not_go_is_told_of(void **state)
{
    struct server *server = *state;
    cleanup_buf struct buf text = BUF_INIT(1024);

    play_start(server, SPEC(2, 2));
    cJSON *group = server_get(server, SERVER_GROUPS, GROUP_NAME);
    json_set_time(json_at(group, "metadata"), "deletionTimestamp", loop_wall(server->loop));
    server_touch(server, SERVER_GROUPS, group);
    play_command(server, "c", "RestartJob");
    run(server, 20000);
    assert_string_equal(reason(server), "");
    run(server, 40000);
    assert_string_equal(reason(server), "PodGroupStillTerminating");
    assert_int_equal(play_lines(&server->said, "PodGroupStillTerminating: PodGroup " GROUP_NAME),
                     1);
    server_remove(server, SERVER_GROUPS, GROUP_NAME);
    run(server, 5000);
    assert_string_equal(play_phase(server), "Running");
    assert_string_equal(reason(server), "");
}

/* ---- the API server's -------------------------------------------------------------------------
 */

static int fault_status;
static const char *fault_path;
static enum kube_method fault_method;
static size_t fault_count;

static int fail_some(struct server *server, const struct kube_call_spec *spec)
{
    (void)server;
    if (spec->method != fault_method || !has(spec->path, fault_path))
        return 0;
    fault_count++;
    return fault_status;
}

static void fail_with(struct server *server, enum kube_method method, const char *path, int status)
{
    fault_method = method;
    fault_path = path;
    fault_status = status;
    fault_count = 0;
    server->fault = fail_some;
}

/* Ten minutes of refusals: few tries, one Event, no end; then the job goes on by itself. */
static void refusals_that_can_heal_are_waited_for(void **state)
{
    static const struct {
        const char *path, *reason;
        int status;
    } rows[] = {
        {"/podgroups", "PodGroupError", 403}, /* the queue is missing or closed */
        {"/podgroups", "PodGroupError", 500}, {"/podgroups", "PodGroupError", 422},
        {"/podgroups", "PodGroupError", 429}, {"/pods", "FailedCreate", 403},
        {"/pods", "FailedCreate", 429},       {"/pods", "FailedCreate", 500},
        {"/pods", "FailedCreate", 503},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        server->group_phase = "Inqueue";
        server->pod_phase = "Running";
        fail_with(server, KUBE_POST, rows[i].path, rows[i].status);
        play_job(server, SPEC(3, 3));
        run(server, 300000);
        server_restart(server);
        run(server, 300000);
        assert_string_equal(play_phase(server), "Pending");
        assert_string_equal(reason(server), rows[i].reason);
        assert_true(has(str_of(play_message(server)), "a fault"));
        cleanup_free char *event = xasprintf("%s: ", rows[i].reason);
        assert_int_equal(play_lines(&server->said, event), 1);
        assert_in_range(fault_count, 5, 90);
        server->fault = NULL;
        run(server, 90000);
        assert_string_equal(play_phase(server), "Running");
        assert_string_equal(play_message(server), "");
        (void)server_teardown(&arg);
    }
}

/* The status cannot say it: an Event does, and what was decided is written when it can be. */
static void a_status_that_cannot_be_written_is_told_of(void **state)
{
    static const int statuses[] = {403, 429, 500};
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
        fail_with(server, KUBE_PATCH, "/status", statuses[i]);
        play_pods(server, i % 2 ? "Running" : "Pending");
        run(server, 600000);
        assert_int_equal(
            play_lines(&server->said, "JobStatusError: Status cannot be written: a fault"), i + 1);
        assert_in_range(fault_count, 5, 90);
        server->fault = NULL;
        run(server, 90000);
        assert_int_equal(play_number(server, i % 2 ? "running" : "pending"), 2);
    }
}

static void a_pod_that_cannot_be_deleted_is_told_of(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    fail_with(server, KUBE_DELETE, "/pods/j-w-1", 500);
    play_command(server, "stop", "AbortJob");
    run(server, 120000);
    assert_string_equal(play_phase(server), "Aborting");
    assert_int_equal(play_number(server, "terminating"), 1);
    assert_int_equal(play_lines(&server->said, "FailedDelete: Error deleting pod j-w-1"), 1);
    assert_in_range(fault_count, 4, 20);
    server->fault = NULL;
    run(server, 40000);
    assert_string_equal(play_phase(server), "Aborted");
}

/* ---- metrics ----------------------------------------------------------------------------------
 */

static void ends_and_latencies_are_counted(void **state)
{
    static const char *const values[] = {"n/j", "default"};
    struct server *server = *state;
    struct metrics *metrics = metrics_new();

    controller_set_metrics(server->controller, metrics);
    server->group_phase = "Inqueue";
    play_job(server, SPEC(3, 3));
    run(server, 2000);
    play_pods(server, "Succeeded");
    run(server, 2000);
    assert_string_equal(play_phase(server), "Completed");
    const struct job_metrics *families = &server->controller->job_metrics;
    assert_true(metric_value(families->completed, values) == 1);
    assert_true(metric_value(families->failed, values) == 0);
    assert_true(metric_value(families->pod_latency, NULL) == 3);
    cleanup_buf struct buf page = BUF_INIT((size_t)1 << 20);
    metrics_print(metrics, &page);
    assert_true(has(buf_str(&page), "volcano_job_completed_phase_count{job_name=\"n/j\","
                                    "queue_name=\"default\"} 1\n"));
    assert_true(has(buf_str(&page), "volcano_controller_job_to_pod_creation_latency_milliseconds"
                                    "_bucket{le=\"60000\"} 3\n"));
    server_remove(server, SERVER_JOBS, "j");
    run(server, 1000);
    buf_reset(&page);
    metrics_print(metrics, &page);
    assert_false(has(buf_str(&page), "n/j"));
    server_end(server);
    metrics_free(metrics);
    server_begin(server);
}

/* Finished jobs that nobody deletes are no more than so many lines for each scrape. */
static void the_last_jobs_to_end_have_series(void **state)
{
    struct server *server = *state;
    struct metrics *metrics = metrics_new();
    struct job job = {.queue = "default"};
    struct job_control control = {.controller = server->controller, .ns = "n", .job = &job};
    struct metric *completed;

    controller_set_metrics(server->controller, metrics);
    completed = server->controller->job_metrics.completed;
    for (unsigned i = 0; i < JOB_METRICS_MOST + 2; i++) {
        char name[32], whole[40];
        snprintf(name, sizeof(name), "j%u", i);
        snprintf(whole, sizeof(whole), "n/%s", name);
        const char *const values[] = {whole, "default"};
        control.name = name;
        job_metrics_phase(&control, JOB_COMPLETED);
        job_metrics_phase(&control, JOB_COMPLETED);
        assert_true(metric_value(completed, values) == 2);
    }
    assert_true(metric_value(completed, (const char *const[]){"n/j1", "default"}) == 0);
    assert_true(metric_value(completed, (const char *const[]){"n/j2", "default"}) == 2);
    cleanup_buf struct buf page = BUF_INIT((size_t)1 << 20);
    metrics_print(metrics, &page);
    assert_false(has(buf_str(&page), "\"n/j1\""));
    server_end(server);
    metrics_free(metrics);
    server_begin(server);
}

static void failures_are_counted(void **state)
{
    static const char *const values[] = {"n/j", "default"};
    struct server *server = *state;
    struct metrics *metrics = metrics_new();

    controller_set_metrics(server->controller, metrics);
    play_start(server, SPEC(1, 1));
    play_pods(server, "Failed");
    run(server, 2000);
    assert_string_equal(play_phase(server), "Failed");
    run(server, 60000);
    assert_true(metric_value(server->controller->job_metrics.failed, values) == 1);
    assert_true(metric_value(server->controller->job_metrics.completed, values) == 0);
    cleanup_buf struct buf page = BUF_INIT((size_t)1 << 20);
    metrics_print(metrics, &page);
    assert_true(has(buf_str(&page), "volcano_job_failed_phase_count{job_name=\"n/j\","
                                    "queue_name=\"default\"} 1\n"));
    server_end(server);
    metrics_free(metrics);
    server_begin(server);
}

int main(void)
{
    server_quiet();
    const struct CMUnitTest all[] = {
        cmocka_unit_test_setup_teardown(what_the_scheduler_says_is_told_once_for_each_change,
                                        server_setup, server_teardown),
        cmocka_unit_test_setup_teardown(a_group_that_does_not_go_is_told_of, server_setup,
                                        server_teardown),
        cmocka_unit_test(refusals_that_can_heal_are_waited_for),
        cmocka_unit_test_setup_teardown(a_status_that_cannot_be_written_is_told_of, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_pod_that_cannot_be_deleted_is_told_of, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(ends_and_latencies_are_counted, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(the_last_jobs_to_end_have_series, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(failures_are_counted, server_setup, server_teardown),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
