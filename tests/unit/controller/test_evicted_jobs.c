/*
 * Jobs that were evicted: they cost no retry, nothing that comes of an eviction is a failure, and
 * the job waits in its queue until it may run again.
 */
#include "photo.h"

#define ON_EVICTION(action) POLICY("PodEvicted", action)
#define ON_FAILURE POLICY("PodFailed", "RestartJob")

/* ---- retries ----------------------------------------------------------------------------------
 */

static void evict_three_times(struct server *server)
{
    static const int64_t graces_ms[] = {0, 1000, 20000}, lags_ms[] = {0, 50, 700};

    for (int i = 1; i <= 3; i++) {
        server->grace_ms = graces_ms[i - 1];
        server->lag_ms = lags_ms[i - 1];
        server_delete_pod(server, "j-w-1");
        run(server, 60000);
        assert_string_equal(play_phase(server), "Running");
        assert_int_equal(play_number(server, "running"), 3);
        assert_int_equal(play_number(server, "retryCount"), i);
        server_restart(server);
        run(server, 1000);
    }
    assert_string_equal(play_memory(server, "evicted"), "3");
}

/* A single run is allowed, and still there after three evictions; a failure ends it. */
static void evictions_use_up_no_retry(void **state)
{
    static const char *const policies[] = {POLICIES(ON_EVICTION("RestartJob") "," ON_FAILURE),
                                           POLICIES(ON_EVICTION("RestartTask") "," ON_FAILURE),
                                           POLICIES(ON_EVICTION("RestartPod") "," ON_FAILURE),
                                           POLICIES(POLICY("*", "RestartJob"))};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        cleanup_free char *spec =
            xasprintf("{\"minAvailable\":3,\"queue\":\"default\",\"maxRetry\":1,\"tasks\":[{"
                      "\"name\":\"w\",\"replicas\":3%s,\"template\":{\"spec\":{\"containers\":[{"
                      "\"name\":\"m\"}]}}}]}",
                      policies[i]);
        play_start(server, spec);
        evict_three_times(server);
        play_exit(server, "j-w-0", 1, 0);
        run(server, 5000);
        assert_string_equal(play_phase(server), "Failed");
        assert_string_equal(json_text(json_at(play_status(server), "state"), "reason"),
                            "MaxRetryReached");
        assert_non_null(strstr(play_message(server), "restarted 1 times"));
        assert_int_equal(play_number(server, "retryCount"), 4);
        (void)server_teardown(&arg);
    }
}

/* Pods fail when those they talk to are taken away, before it is their turn or while they stay. */
static void what_fails_while_others_are_evicted_costs_no_retry(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(3, ",\"maxRetry\":1" POLICIES(ON_FAILURE), TASK("w", 3, "")));
    server->grace_ms = 10000;
    server_delete_pod(server, "j-w-1");
    run(server, 1000);
    play_exit(server, "j-w-0", 1, 0);
    run(server, 40000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_number(server, "running"), 3);
    assert_int_equal(play_number(server, "retryCount"), 1);
    assert_string_equal(play_memory(server, "evicted"), "1");
    assert_int_equal(play_made(server, "j-w-2"), 2);
    /* Nobody is being evicted now. */
    play_exit(server, "j-w-0", 1, 0);
    run(server, 40000);
    assert_string_equal(play_phase(server), "Failed");
}

/* What we delete ourselves is no excuse. */
static void failures_among_our_own_deletions_count(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(1, ",\"maxRetry\":2" POLICIES(POLICY("PodFailed", "RestartPod")),
                           TASK("w", 3, "")));
    server->grace_ms = 20000;
    play_exit(server, "j-w-0", 1, 0);
    run(server, 30000);
    assert_string_equal(play_phase(server), "Running");
    assert_string_equal(play_memory(server, "evicted"), "");
    play_job(server, JOB(1, ",\"maxRetry\":2" POLICIES(POLICY("PodFailed", "RestartPod")),
                         TASK("w", 2, "")));
    run(server, 1000);
    play_exit(server, "j-w-1", 1, 0);
    run(server, 5000);
    assert_string_equal(play_phase(server), "Failed");
    assert_string_equal(play_memory(server, "evicted"), "");
}

static void set_memory(struct server *server, const char *key, const char *value)
{
    cJSON *job = server_get(server, SERVER_JOBS, "j");
    cJSON *memory = json_member(json_member(job, "status"), "controlledResources");

    json_set(memory, key, cJSON_CreateString(value));
    server_touch(server, SERVER_JOBS, job);
}

/* Nobody can spare a job more restarts than it had. */
static void nonsense_in_the_status_spares_nothing(void **state)
{
    static const char *const texts[] = {"7", "-3", "many", ""};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server, JOB(3, ",\"maxRetry\":1" POLICIES(ON_FAILURE), TASK("w", 3, "")));
        set_memory(server, "evicted", texts[i]);
        run(server, 3000);
        assert_int_equal(play_control(server)->spared, 0);
        play_exit(server, "j-w-0", 1, 0);
        run(server, 5000);
        assert_string_equal(play_phase(server), "Failed");
        (void)server_teardown(&arg);
    }
}

/* ---- disruptions ------------------------------------------------------------------------------
 */

#define TARGET(status) "{\"type\":\"DisruptionTarget\",\"status\":\"" status "\"}"

static void set_conditions(struct server *server, const char *pod, const char *list)
{
    cleanup_free char *patch = xasprintf("{\"status\":{\"conditions\":[%s]}}", list);

    play_pod_patch(server, pod, patch);
}

/* The kubelet fails a pod of a node that is short of memory, and leaves it. */
static void disrupt(struct server *server, const char *pod)
{
    set_conditions(server, pod, "{\"type\":\"Ready\",\"status\":\"False\"}," TARGET("True"));
    play_exit(server, pod, 137, 0);
}

/* Failed for no fault of its own: another takes its place, and nothing has failed. */
static void a_pod_that_was_disrupted_is_made_again(void **state)
{
    static const char *const specs[] = {
        SPEC(1, 1), JOB(1, POLICIES(POLICY("PodFailed", "TerminateJob")), TASK("w", 1, "")),
        JOB(1, ",\"maxRetry\":1" POLICIES("{\"exitCode\":137,\"action\":\"RestartJob\"}"),
            TASK("w", 1, ""))};

    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_SIZE(specs); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server, specs[i / 2]);
        server->grace_ms = 3000;
        disrupt(server, "j-w-0");
        run(server, 1000);
        assert_int_equal(play_number(server, "failed"), 0);
        assert_int_equal(play_number(server, "terminating"), 1);
        if (i % 2)
            server_restart(server);
        run(server, 20000);
        assert_string_equal(play_phase(server), "Running");
        assert_int_equal(play_number(server, "running"), 1);
        assert_int_equal(play_number(server, "failed"), 0);
        assert_int_equal(play_number(server, "retryCount"), 0);
        assert_int_equal(play_made(server, "j-w-0"), 2);
        (void)server_teardown(&arg);
    }
}

/* Deleted by us or by others, it was evicted. */
static void policies_see_it_as_evicted(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server,
                   JOB(3, ",\"maxRetry\":1" POLICIES(ON_EVICTION("RestartJob") "," ON_FAILURE),
                       TASK("w", 3, "")));
        server->grace_ms = i % 2 ? 5000 : 0;
        disrupt(server, "j-w-0");
        if (i / 2)
            server_remove(server, SERVER_PODS, "j-w-0");
        run(server, 40000);
        assert_string_equal(play_phase(server), "Running");
        assert_int_equal(play_number(server, "running"), 3);
        assert_int_equal(play_number(server, "retryCount"), 1);
        assert_string_equal(play_memory(server, "evicted"), "1");
        assert_int_equal(play_made(server, "j-w-0"), 2);
        assert_int_equal(play_made(server, "j-w-1"), 2);
        (void)server_teardown(&arg);
    }
}

/* It was to go, and was left in peace; what it does then is its own. */
static void a_disruption_that_was_called_off_excuses_nothing(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(3, ",\"maxRetry\":1" POLICIES(ON_FAILURE), TASK("w", 3, "")));
    set_conditions(server, "j-w-0", TARGET("True"));
    run(server, 2000);
    assert_int_equal(play_number(server, "running"), 3);
    set_conditions(server, "j-w-0", TARGET("False"));
    play_exit(server, "j-w-0", 1, 0);
    run(server, 5000);
    assert_string_equal(play_phase(server), "Failed");
}

/* What is left of a job that has ended, or is suspended, stays as it is. */
static void nobody_cleans_up_after_the_end(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 1));
    play_command(server, "stop", "AbortJob");
    server->grace_ms = 5000;
    run(server, 1000);
    disrupt(server, "j-w-0");
    run(server, 20000);
    assert_string_equal(play_phase(server), "Aborted");
    assert_int_equal(play_number(server, "terminating"), 0);
    play_command(server, "go", "ResumeJob");
    run(server, 20000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_number(server, "running"), 2);
}

/* ---- back in the queue ------------------------------------------------------------------------
 */

/* All pods of a gang go: as each is gone another waits in its place, and the job with them. */
static void an_evicted_gang_waits_again(void **state)
{
    struct server *server = *state;
    static const char *const pods[] = {"j-w-0", "j-w-1", "j-w-2"};

    play_start(server, SPEC(3, 3));
    struct photo photo = take_photo(server);
    server->pod_phase = "Pending";
    server->grace_ms = 3000;
    for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
        server_delete_pod(server, pods[i]);
        run(server, 100);
    }
    run(server, 1900);
    assert_int_equal(play_number(server, "terminating"), 3);
    run(server, 10000);
    assert_remade(server, &photo, "j-w-0 j-w-1 j-w-2 ");
    assert_true(is_same_group(server, &photo));
    assert_string_equal(play_phase(server), "Pending");
    assert_int_equal(play_number(server, "pending"), 3);
    assert_int_equal(play_number(server, "retryCount"), 0);
    play_pods(server, "Running");
    run(server, 3000);
    assert_string_equal(play_phase(server), "Running");
    drop_photo(&photo);
}

/* Once the scheduler has put its PodGroup back, pods that are missing wait to be let in. */
static void no_pods_are_made_before_it_is_let_in_again(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    server->pod_phase = "Pending";
    server->lag_ms = 500;
    server_remove(server, SERVER_PODS, "j-w-0");
    server_remove(server, SERVER_PODS, "j-w-1");
    play_group(server, "Pending");
    run(server, 20000);
    assert_int_equal(play_pod_count(server), 0);
    assert_int_equal(play_number(server, "retryCount"), 0);
    play_admit(server);
    run(server, 20000);
    assert_int_equal(play_pod_count(server), 2);
    play_pods(server, "Running");
    run(server, 3000);
    assert_string_equal(play_phase(server), "Running");
}

int main(void)
{
    server_quiet();
    const struct CMUnitTest all[] = {
        cmocka_unit_test(evictions_use_up_no_retry),
        cmocka_unit_test_setup_teardown(what_fails_while_others_are_evicted_costs_no_retry,
                                        server_setup, server_teardown),
        cmocka_unit_test_setup_teardown(failures_among_our_own_deletions_count, server_setup,
                                        server_teardown),
        cmocka_unit_test(nonsense_in_the_status_spares_nothing),
        cmocka_unit_test(a_pod_that_was_disrupted_is_made_again),
        cmocka_unit_test(policies_see_it_as_evicted),
        cmocka_unit_test_setup_teardown(a_disruption_that_was_called_off_excuses_nothing,
                                        server_setup, server_teardown),
        cmocka_unit_test_setup_teardown(nobody_cleans_up_after_the_end, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(an_evicted_gang_waits_again, server_setup, server_teardown),
        cmocka_unit_test_setup_teardown(no_pods_are_made_before_it_is_let_in_again, server_setup,
                                        server_teardown),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
