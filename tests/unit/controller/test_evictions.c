/*
 * Evictions: what is one and what is not, that a restart does not feed itself, and that finished
 * work is remembered whatever becomes of its pods.
 */
#include "photo.h"

#define RESTART_A TASK("a", 3, POLICIES(POLICY("PodEvicted", "RestartTask")))
#define LOOP JOB(3, ",\"maxRetry\":5", RESTART_A "," TASK("b", 2, ""))
#define EVERY_A "j-a-0 j-a-1 j-a-2 "

/* ---- one restart each -------------------------------------------------------------------------
 */

static void check_one_restart(struct server *server, const struct photo *photo)
{
    assert_remade(server, photo, EVERY_A);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_number(server, "retryCount"), 1);
    assert_int_equal(play_number(server, "version"), 0);
    assert_true(is_same_group(server, photo));
    for (int i = 0; i < 3; i++) {
        cleanup_free char *name = xasprintf("j-a-%d", i);
        assert_int_equal(play_made(server, name), 2);
    }
}

static void one_eviction_is_one_restart(void **state)
{
    static const int64_t graces_ms[] = {0, 1000, 20000};
    static const int64_t lags_ms[] = {0, 50, 700};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(graces_ms) * ARRAY_SIZE(lags_ms); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server, LOOP);
        struct photo photo = take_photo(server);
        server->grace_ms = graces_ms[i / 3];
        server->lag_ms = lags_ms[i % 3];
        server_delete_pod(server, "j-a-1");
        run(server, 120000);
        check_one_restart(server, &photo);
        drop_photo(&photo);
        (void)server_teardown(&arg);
    }
}

static void two_evictions_at_once_cost_one_retry_more_at_most(void **state)
{
    struct server *server = *state;

    play_start(server, LOOP);
    struct photo photo = take_photo(server);
    server->lag_ms = 30;
    server_delete_pod(server, "j-a-1");
    run(server, 10);
    server_delete_pod(server, "j-a-2");
    run(server, 60000);
    assert_remade(server, &photo, EVERY_A);
    assert_string_equal(play_phase(server), "Running");
    assert_in_range(play_number(server, "retryCount"), 1, 2);
    assert_int_equal(play_made(server, "j-b-0"), 1);
    drop_photo(&photo);
}

/* The controller ends at any moment of a restart; the next one finishes it. */
static void a_restart_goes_on_under_another_controller(void **state)
{
    (void)state;
    for (int64_t at_ms = 0; at_ms <= 6000; at_ms += at_ms < 300 ? 7 : 433) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server, LOOP);
        struct photo photo = take_photo(server);
        server->grace_ms = 3000;
        server->lag_ms = 20;
        server_delete_pod(server, "j-a-1");
        run(server, 3000 + at_ms);
        server_end(server);
        run(server, 1000);
        server_begin(server);
        run(server, 60000);
        /* Gone unseen, the eviction is not known: then the one pod alone was made anew. */
        if (play_number(server, "retryCount") == 1)
            check_one_restart(server, &photo);
        else
            assert_remade(server, &photo, "j-a-1 ");
        assert_true(at_ms < 50 || play_number(server, "retryCount") == 1);
        drop_photo(&photo);
        (void)server_teardown(&arg);
    }
}

/* The pod was told to go before the controller ended, and is gone when the next one looks. */
static void an_eviction_that_is_seen_to_its_end_counts(void **state)
{
    struct server *server = *state;

    play_start(server, LOOP);
    struct photo photo = take_photo(server);
    server->grace_ms = 10000;
    server_delete_pod(server, "j-a-1");
    run(server, 2000);
    server_restart(server);
    run(server, 60000);
    check_one_restart(server, &photo);
    drop_photo(&photo);
}

/* ---- what is none -----------------------------------------------------------------------------
 */

#define ABORTS JOB(1, POLICIES(POLICY("PodEvicted", "AbortJob")), TASK("w", 3, ""))

static void scaling_down_is_no_eviction(void **state)
{
    struct server *server = *state;

    play_start(server, ABORTS);
    server->grace_ms = 2000;
    play_job(server, JOB(1, POLICIES(POLICY("PodEvicted", "AbortJob")), TASK("w", 1, "")));
    run(server, 500);
    server_restart(server);
    run(server, 20000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_pod_count(server), 1);
}

static void a_pod_that_had_ended_is_not_evicted(void **state)
{
    struct server *server = *state;

    play_start(server, ABORTS);
    server->grace_ms = 2000;
    play_pod(server, "j-w-1", "Failed"); /* as a kubelet does that says nothing of containers */
    run(server, 2000);
    server_delete_pod(server, "j-w-1");
    run(server, 10000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_made(server, "j-w-1"), 2);
    /* Seen only when it was about to go: its containers tell when it ended. */
    play_exit(server, "j-w-2", 1, 0);
    server_end(server);
    run(server, 2000);
    server_delete_pod(server, "j-w-2");
    server_begin(server);
    run(server, 10000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_made(server, "j-w-2"), 2);
}

/* Kubelets end the containers of a pod that is to go, and say Failed, or Succeeded, at the end. */
static void a_pod_that_ends_because_it_is_told_to_is_evicted(void **state)
{
    static const int codes[] = {137, 0};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server, JOB(3, POLICIES(POLICY("PodEvicted", "RestartJob")), TASK("w", 3, "")));
        server->grace_ms = 30000;
        server_delete_pod(server, "j-w-1");
        run(server, 2000);
        play_exit(server, "j-w-1", codes[i], codes[i]);
        if (codes[i] == 0)
            play_pod_patch(server, "j-w-1", "{\"status\":{\"phase\":\"Succeeded\"}}");
        server_remove(server, SERVER_PODS, "j-w-1");
        run(server, 60000);
        assert_string_equal(play_phase(server), "Running");
        assert_int_equal(play_number(server, "retryCount"), 1);
        assert_int_equal(play_made(server, "j-w-0"), 2);
        assert_int_equal(play_made(server, "j-w-1"), 2);
        (void)server_teardown(&arg);
    }
}

/* Without a policy nothing is done but to make the pod again. */
static void an_evicted_pod_is_made_again(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(3, 3));
    server->grace_ms = 2000;
    server_delete_pod(server, "j-w-1");
    run(server, 500);
    play_pod_patch(server, "j-w-1", "{\"status\":{\"phase\":\"Succeeded\"}}");
    run(server, 20000);
    assert_int_equal(play_made(server, "j-w-1"), 2);
    assert_int_equal(play_number(server, "succeeded"), 0);
    assert_int_equal(play_number(server, "retryCount"), 0);
}

/* ---- finished work ----------------------------------------------------------------------------
 */

#define ON_EVICTION JOB(3, POLICIES(POLICY("PodEvicted", "RestartJob")), TASK("w", 3, ""))

static void finished_work_is_not_done_again(void **state)
{
    static const bool restarts[] = {false, true};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(restarts); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server, ON_EVICTION);
        play_pod(server, "j-w-0", "Succeeded");
        run(server, 2000);
        assert_string_equal(play_memory(server, "finished-w"), "0");
        server_remove(server, SERVER_PODS, "j-w-0");
        if (restarts[i])
            server_restart(server);
        run(server, 60000);
        assert_string_equal(play_phase(server), "Running");
        assert_int_equal(play_number(server, "succeeded"), 1);
        assert_int_equal(play_number(server, "running"), 2);
        play_pods(server, "Succeeded");
        run(server, 3000);
        assert_string_equal(play_phase(server), "Completed");
        assert_int_equal(play_number(server, "succeeded"), 3);
        assert_int_equal(play_number(server, "retryCount"), 0);
        for (int k = 0; k < 3; k++) {
            cleanup_free char *name = xasprintf("j-w-%d", k);
            assert_int_equal(play_made(server, name), 1);
        }
        (void)server_teardown(&arg);
    }
}

/* The count does not go down for as long as a finished pod takes to go. */
static void finished_pods_count_while_they_go(void **state)
{
    struct server *server = *state;

    play_start(server, ON_EVICTION);
    play_pod(server, "j-w-0", "Succeeded");
    run(server, 2000);
    server->grace_ms = 30000;
    server_delete_pod(server, "j-w-0");
    run(server, 5000);
    assert_int_equal(play_number(server, "succeeded"), 1);
    assert_int_equal(play_number(server, "terminating"), 0);
    run(server, 60000);
    assert_int_equal(play_number(server, "succeeded"), 1);
    assert_int_equal(play_made(server, "j-w-0"), 1);
}

/* A restart of the whole job does all work again; one of a task only its own. */
static void a_restart_makes_finished_work_void(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(4, "",
                           TASK("a", 2, POLICIES(POLICY("PodFailed", "RestartTask"))) "," TASK(
                               "b", 2, POLICIES(POLICY("PodFailed", "RestartJob")))));
    play_pod(server, "j-a-0", "Succeeded");
    play_pod(server, "j-b-0", "Succeeded");
    run(server, 2000);
    assert_int_equal(play_number(server, "succeeded"), 2);
    play_exit(server, "j-a-1", 1, 0);
    run(server, 3000);
    assert_int_equal(play_made(server, "j-a-0"), 2);
    assert_int_equal(play_made(server, "j-b-0"), 1);
    assert_int_equal(play_number(server, "succeeded"), 1);
    assert_string_equal(play_memory(server, "finished-a"), "");
    assert_string_equal(play_memory(server, "finished-b"), "0");
    play_exit(server, "j-b-1", 1, 0);
    run(server, 3000);
    assert_int_equal(play_made(server, "j-a-0"), 3);
    assert_int_equal(play_made(server, "j-b-0"), 2);
    assert_int_equal(play_number(server, "succeeded"), 0);
    assert_int_equal(play_number(server, "running"), 4);
    assert_string_equal(play_memory(server, "finished-b"), "");
}

static void suspending_keeps_finished_work(void **state)
{
    struct server *server = *state;

    play_start(server, ON_EVICTION);
    play_pod(server, "j-w-1", "Succeeded");
    run(server, 2000);
    play_command(server, "stop", "AbortJob");
    run(server, 2000);
    assert_string_equal(play_phase(server), "Aborted");
    assert_int_equal(play_number(server, "succeeded"), 1);
    server_remove(server, SERVER_PODS, "j-w-1");
    play_command(server, "go", "ResumeJob");
    run(server, 3000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_made(server, "j-w-1"), 1);
    assert_int_equal(play_made(server, "j-w-0"), 2);
    play_pods(server, "Succeeded");
    run(server, 3000);
    assert_string_equal(play_phase(server), "Completed");
    assert_int_equal(play_number(server, "succeeded"), 3);
}

int main(void)
{
    server_quiet();
    const struct CMUnitTest all[] = {
        cmocka_unit_test(one_eviction_is_one_restart),
        cmocka_unit_test_setup_teardown(two_evictions_at_once_cost_one_retry_more_at_most,
                                        server_setup, server_teardown),
        cmocka_unit_test(a_restart_goes_on_under_another_controller),
        cmocka_unit_test_setup_teardown(an_eviction_that_is_seen_to_its_end_counts, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(scaling_down_is_no_eviction, server_setup, server_teardown),
        cmocka_unit_test_setup_teardown(a_pod_that_had_ended_is_not_evicted, server_setup,
                                        server_teardown),
        cmocka_unit_test(a_pod_that_ends_because_it_is_told_to_is_evicted),
        cmocka_unit_test_setup_teardown(an_evicted_pod_is_made_again, server_setup,
                                        server_teardown),
        cmocka_unit_test(finished_work_is_not_done_again),
        cmocka_unit_test_setup_teardown(finished_pods_count_while_they_go, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_restart_makes_finished_work_void, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(suspending_keeps_finished_work, server_setup,
                                        server_teardown),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
