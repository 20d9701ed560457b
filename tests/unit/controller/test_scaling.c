/*
 * Scaling and dependencies: which pods come and go and in which order, what the PodGroup follows,
 * and tasks that wait for others without the gang waiting for them.
 */
#include "photo.h"

/* ---- the PodGroup -----------------------------------------------------------------------------
 */

static const cJSON *group_spec(struct server *server)
{
    return json_at(server_get(server, SERVER_GROUPS, GROUP_NAME), "spec");
}

static int minimum_of(struct server *server, const char *task)
{
    const cJSON *item = json_at(json_at(group_spec(server), "minTaskMember"), task);

    return item ? item->valueint : -1;
}

static int pods_needed(struct server *server)
{
    const char *text = json_text(json_at(group_spec(server), "minResources"), "pods");

    return *text ? (int)(text[0] - '0') : 0;
}

/* ---- scaling ----------------------------------------------------------------------------------
 */

#define PS_AND_WORKERS(minimum, workers)                                                           \
    JOB(minimum, "", TASK("ps", 1, "") "," TASK("w", workers, ""))

static void up_down_to_zero_and_back(void **state)
{
    struct server *server = *state;

    play_start(server, PS_AND_WORKERS(1, 2));
    play_job(server, PS_AND_WORKERS(2, 4));
    run(server, 3000);
    assert_int_equal(play_pod_count(server), 5);
    assert_int_equal(json_number(group_spec(server), "minMember"), 2);
    assert_int_equal(minimum_of(server, "w"), 4);
    play_job(server, PS_AND_WORKERS(1, 1));
    run(server, 3000);
    assert_int_equal(play_pod_count(server), 2);
    assert_true(play_has_pod(server, "j-w-0"));
    play_job(server, PS_AND_WORKERS(1, 0));
    run(server, 3000);
    assert_int_equal(play_pod_count(server), 1);
    assert_int_equal(minimum_of(server, "w"), 0);
    assert_string_equal(play_phase(server), "Running");
    play_job(server, PS_AND_WORKERS(1, 3));
    run(server, 3000);
    assert_int_equal(play_pod_count(server), 4);
    assert_int_equal(play_made(server, "j-w-0"), 2);
    assert_int_equal(play_number(server, "running"), 4);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_number(server, "retryCount") + play_number(server, "version"), 0);
    /* One patch of the group for each change. */
    assert_int_equal(server->group_patches, 4);
}

static void all_tasks_at_zero_keep_the_phase(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    play_job(server, SPEC(0, 0));
    run(server, 3000);
    assert_int_equal(play_pod_count(server), 0);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(pods_needed(server), 0);
    assert_int_equal(server->group_patches, 1);
    run(server, 600000);
    assert_int_equal(server->group_patches, 1);
    play_job(server, SPEC(3, 3));
    run(server, 3000);
    assert_int_equal(play_number(server, "running"), 3);
    assert_int_equal(pods_needed(server), 3);
}

/* The highest indices go: those that wait first, then those that cost least. */
static void the_order_of_those_that_go(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(8, 1));
    play_pod(server, "j-w-3", "Pending");
    play_pod_patch(server, "j-w-7",
                   "{\"metadata\":{\"annotations\":{"
                   "\"controller.kubernetes.io/pod-deletion-cost\":\"100\"}}}");
    play_pod_patch(server, "j-w-4",
                   "{\"metadata\":{\"annotations\":{"
                   "\"controller.kubernetes.io/pod-deletion-cost\":\"-5\"}}}");
    play_pod_patch(server, "j-w-5",
                   "{\"metadata\":{\"annotations\":{"
                   "\"controller.kubernetes.io/pod-deletion-cost\":\"dear\"}}}");
    run(server, 1000);
    buf_reset(&server->log);
    play_job(server, SPEC(2, 1));
    run(server, 1000);
    assert_str(buf_str(&server->log), "DELETE j-w-3\nDELETE j-w-4\nDELETE j-w-6\nDELETE j-w-5\n"
                                      "DELETE j-w-2\nDELETE j-w-7\n");
}

/* What was scaled away after it had finished is new work when it comes back. */
static void scaled_away_work_is_forgotten(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(3, 1));
    play_pod(server, "j-w-2", "Succeeded");
    run(server, 2000);
    assert_string_equal(play_memory(server, "finished-w"), "2");
    play_job(server, SPEC(2, 1));
    run(server, 3000);
    assert_false(play_has_pod(server, "j-w-2"));
    assert_string_equal(play_memory(server, "finished-w"), "");
    assert_int_equal(play_number(server, "succeeded"), 0);
    play_job(server, SPEC(3, 1));
    run(server, 3000);
    assert_int_equal(play_made(server, "j-w-2"), 2);
    assert_int_equal(play_number(server, "running"), 3);
}

/* Scaled up again while the pods that were too many are still going. */
static void down_and_up_again_at_once(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(1, POLICIES(POLICY("PodEvicted", "AbortJob")), TASK("w", 4, "")));
    server->grace_ms = 5000;
    play_job(server, JOB(1, POLICIES(POLICY("PodEvicted", "AbortJob")), TASK("w", 1, "")));
    run(server, 1500);
    assert_int_equal(play_number(server, "terminating"), 3);
    play_job(server, JOB(1, POLICIES(POLICY("PodEvicted", "AbortJob")), TASK("w", 4, "")));
    run(server, 20000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_number(server, "running"), 4);
    assert_int_equal(play_made(server, "j-w-3"), 2);
    assert_int_equal(play_made(server, "j-w-0"), 1);
}

static void the_priority_class_reaches_the_group(void **state)
{
    static const char *const classes[] = {"low", "high", ""};
    struct server *server = *state;

    server->group_phase = "Inqueue";
    for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
        cleanup_free char *spec =
            xasprintf(JOB(2, ",\"priorityClassName\":\"%s\"", TASK("w", 2, "")), classes[i]);
        play_job(server, spec);
        run(server, 2000);
        assert_string_equal(json_text(group_spec(server), "priorityClassName"), classes[i]);
    }
    assert_int_equal(server->group_patches, 2);
}

/* ---- dependencies -----------------------------------------------------------------------------
 */

#define AFTER(names) ",\"dependsOn\":{\"name\":[" names "]}"
#define AFTER_ANY(names) ",\"dependsOn\":{\"name\":[" names "],\"iteration\":\"any\"}"
#define MIN(n) ",\"minAvailable\":" #n

/* The gang is counted without the task that waits, until that is let go. */
static void a_task_that_waits_is_no_part_of_the_gang(void **state)
{
    struct server *server = *state;

    server->group_phase = "Inqueue";
    server->pod_phase = "Pending";
    play_job(server, JOB(5, "", TASK("ps", 2, MIN(2)) "," TASK("w", 3, MIN(3) AFTER("\"ps\""))));
    run(server, 2000);
    assert_int_equal(json_number(group_spec(server), "minMember"), 2);
    assert_int_equal(minimum_of(server, "ps"), 2);
    assert_int_equal(minimum_of(server, "w"), -1);
    assert_int_equal(pods_needed(server), 2);
    assert_int_equal(play_pod_count(server), 2);
    assert_string_equal(play_phase(server), "Pending");
    assert_string_equal(play_message(server), "task w waits for task ps");
    play_pod(server, "j-ps-0", "Running");
    /* Running, but its container is not ready yet. */
    play_pod_patch(
        server, "j-ps-1",
        "{\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{\"ready\":false}]}}");
    run(server, 2000);
    assert_int_equal(play_pod_count(server), 2);
    play_pod(server, "j-ps-1", "Running");
    run(server, 2000);
    assert_int_equal(json_number(group_spec(server), "minMember"), 5);
    assert_int_equal(minimum_of(server, "w"), 3);
    assert_int_equal(pods_needed(server), 5);
    assert_int_equal(play_pod_count(server), 5);
    play_pods(server, "Running");
    run(server, 2000);
    assert_string_equal(play_phase(server), "Running");
    assert_string_equal(play_message(server), "");
}

/* First the group, then the pods: else they would be placed one by one. */
static void the_group_is_told_before_the_pods_are_made(void **state)
{
    struct server *server = *state;

    server->group_phase = "Inqueue";
    server->pod_phase = "Running";
    server->stubborn_groups = true;
    play_job(server, JOB(2, "", TASK("a", 1, MIN(1)) "," TASK("b", 1, MIN(1) AFTER("\"a\""))));
    run(server, 2000);
    play_pod(server, "j-a-0", "Running");
    run(server, 5000);
    assert_int_equal(play_made(server, "j-b-0"), 0);
    server->stubborn_groups = false;
    run(server, 30000);
    assert_int_equal(play_made(server, "j-b-0"), 1);
}

static void who_waits_for_whom(void **state)
{
    static const struct {
        const char *depends; /* of task c */
        bool a, b, starts;   /* ready */
    } rows[] = {
        {AFTER("\"a\",\"b\""), false, false, false},
        {AFTER("\"a\",\"b\""), true, false, false},
        {AFTER("\"a\",\"b\""), true, true, true},
        {AFTER_ANY("\"a\",\"b\""), false, false, false},
        {AFTER_ANY("\"a\",\"b\""), false, true, true},
        {AFTER_ANY("\"b\""), true, false, false},
        {AFTER("\"nobody\""), false, false, true},
        {AFTER(""), false, false, true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        cleanup_free char *spec =
            xasprintf(JOB(1, "", TASK("a", 2, MIN(1)) "," TASK("b", 2, "") "," TASK("c", 1, "%s")),
                      rows[i].depends);
        server->group_phase = "Inqueue";
        server->pod_phase = "Pending";
        play_job(server, spec);
        run(server, 2000);
        if (rows[i].a)
            play_pod(server, "j-a-1", "Running"); /* its minimum is one */
        play_pod(server, "j-b-0", "Running");
        if (rows[i].b)
            play_pod(server, "j-b-1", "Succeeded");
        run(server, 3000);
        assert_int_equal(play_made(server, "j-c-0"), rows[i].starts);
        (void)server_teardown(&arg);
    }
}

/* Once begun, a task goes on when what it waited for fails; also under another controller. */
static void a_task_that_was_let_go_stays_so(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(1, "", TASK("a", 1, MIN(1)) "," TASK("b", 2, AFTER("\"a\""))));
    play_pods(server, "Running");
    run(server, 2000);
    assert_int_equal(play_made(server, "j-b-0"), 1);
    play_pod(server, "j-a-0", "Failed");
    server_delete_pod(server, "j-b-0");
    run(server, 2000);
    assert_int_equal(play_made(server, "j-b-0"), 2);
    server_restart(server);
    server_delete_pod(server, "j-b-0");
    run(server, 2000);
    assert_int_equal(play_made(server, "j-b-0"), 3);
    assert_int_equal(minimum_of(server, "b"), 2);
}

/* A restart of the job begins with the order again. */
static void a_restart_of_the_job_keeps_the_order(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(1, "", TASK("a", 1, MIN(1)) "," TASK("b", 1, AFTER("\"a\""))));
    play_pods(server, "Running");
    run(server, 2000);
    server->pod_phase = "Pending";
    server->grace_ms = 2000;
    play_command(server, "again", "RestartJob");
    run(server, 10000);
    assert_int_equal(play_made(server, "j-a-0"), 2);
    assert_int_equal(play_made(server, "j-b-0"), 1);
    assert_int_equal(minimum_of(server, "b"), -1);
    play_pods(server, "Running");
    run(server, 2000);
    assert_int_equal(play_made(server, "j-b-0"), 2);
}

/* Whatever the minimums are, what does not wait can start. */
static void the_gang_without_those_who_wait_can_start(void **state)
{
    static const struct {
        const char *spec;
        int minimum;
    } rows[] = {
        {JOB(8, "", TASK("a", 5, MIN(3)) "," TASK("b", 5, MIN(5) AFTER("\"a\""))), 3},
        {JOB(4, "", TASK("a", 3, MIN(3)) "," TASK("b", 5, MIN(5) AFTER("\"a\""))), 3},
        {JOB(6, "", TASK("a", 3, MIN(1)) "," TASK("b", 5, MIN(1) AFTER("\"a\""))), 3},
        {JOB(2, "", TASK("a", 3, MIN(3)) "," TASK("b", 5, MIN(5) AFTER("\"a\""))), 2},
        {JOB(1, "", TASK("a", 0, MIN(0)) "," TASK("b", 1, MIN(1) AFTER("\"a\""))), 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_job(server, rows[i].spec);
        run(server, 2000);
        assert_int_equal(json_number(group_spec(server), "minMember"), rows[i].minimum);
        (void)server_teardown(&arg);
    }
}

int main(void)
{
    server_quiet();
    const struct CMUnitTest all[] = {
        cmocka_unit_test_setup_teardown(up_down_to_zero_and_back, server_setup, server_teardown),
        cmocka_unit_test_setup_teardown(all_tasks_at_zero_keep_the_phase, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(the_order_of_those_that_go, server_setup, server_teardown),
        cmocka_unit_test_setup_teardown(scaled_away_work_is_forgotten, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(down_and_up_again_at_once, server_setup, server_teardown),
        cmocka_unit_test_setup_teardown(the_priority_class_reaches_the_group, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_task_that_waits_is_no_part_of_the_gang, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(the_group_is_told_before_the_pods_are_made, server_setup,
                                        server_teardown),
        cmocka_unit_test(who_waits_for_whom),
        cmocka_unit_test_setup_teardown(a_task_that_was_let_go_stays_so, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_restart_of_the_job_keeps_the_order, server_setup,
                                        server_teardown),
        cmocka_unit_test(the_gang_without_those_who_wait_can_start),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
