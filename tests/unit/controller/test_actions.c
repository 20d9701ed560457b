/*
 * Every event with every action, in every phase in which it can happen: what is made anew, which
 * phase follows, and what it costs.
 */
#include "photo.h"

#include "controller/job/phase.h"

/* ---- events -----------------------------------------------------------------------------------
 */

#define PARTITIONS ",\"partitionPolicy\":{\"totalPartitions\":2,\"partitionSize\":2}"
#define TASKS TASK("a", 4, PARTITIONS) "," TASK("b", 2, "")
#define ALL_A "j-a-0 j-a-1 j-a-2 j-a-3 "
#define ALL ALL_A "j-b-0 j-b-1 "

static void pod_fails(struct server *server)
{
    play_exit(server, "j-a-1", 7, 0);
}

static void pod_is_evicted(struct server *server)
{
    server_delete_pod(server, "j-a-1");
}

/* Back from the virtual kubelet with a node that is gone; then it waits. */
static void pod_waits(struct server *server)
{
    play_pod(server, "j-a-1", "Pending");
    run(server, 12000);
}

static void group_is_unknown(struct server *server)
{
    play_group(server, "Unknown");
}

/* Pod a-1 is the last to end. */
static void task_completes(struct server *server)
{
    static const char *const names[] = {"j-a-0", "j-a-2", "j-a-3", "j-a-1"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char at[TIME_TEXT_MAX];
        (void)time_format(at, loop_wall(server->loop));
        cleanup_free char *patch =
            xasprintf("{\"status\":{\"phase\":\"Succeeded\",\"containerStatuses\":[{\"state\":{"
                      "\"terminated\":{\"exitCode\":0,\"finishedAt\":\"%s\"}}}]}}",
                      at);
        play_pod_patch(server, names[i], patch);
        run(server, 1500);
    }
}

/* Pod a-1 is the one whose container restarts once too often. */
static void task_fails(struct server *server)
{
    play_pod_patch(server, "j-a-0",
                   "{\"status\":{\"containerStatuses\":[{\"restartCount\":1,\"lastState\":{"
                   "\"terminated\":{\"finishedAt\":\"2027-01-15T08:00:00Z\"}}}]}}");
    run(server, 1500);
    play_pod_patch(server, "j-a-1",
                   "{\"status\":{\"containerStatuses\":[{\"restartCount\":2,\"lastState\":{"
                   "\"terminated\":{\"finishedAt\":\"2027-01-15T08:00:02Z\"}}}]}}");
}

static const struct {
    const char *name, *timeout;
    void (*happen)(struct server *server);
    bool of_a_pod; /* it names pod a-1 */
} events[] = {
    {"PodFailed", "", pod_fails, true},
    {"PodEvicted", "", pod_is_evicted, true},
    {"PodPending", ",\"timeout\":\"10s\"", pod_waits, true},
    {"TaskCompleted", "", task_completes, true},
    {"TaskFailed", "", task_fails, true},
    {"Unknown", "", group_is_unknown, false},
};

/* ---- actions ----------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    const char *remade; /* by an event of pod a-1; NULL: the job ends or stays as it is */
    const char *phase;  /* on the way */
    bool targeted;
} actions[] = {
    {"RestartPod", "j-a-1 ", "Restarting", true},
    {"RestartPartition", "j-a-0 j-a-1 ", "Restarting", true},
    {"RestartTask", ALL_A, "Restarting", true},
    {"RestartJob", ALL, "Restarting", false},
    {"AbortJob", NULL, "Aborting", false},
    {"CompleteJob", NULL, "Completing", false},
    {"TerminateJob", NULL, "Terminating", false},
    {"ResumeJob", NULL, "", false},
    {"SyncJob", NULL, "", false},
    {"EnqueueJob", NULL, "", false},
};

static void check_restart(struct server *server, const struct photo *photo, size_t event,
                          size_t action)
{
    const bool acts = events[event].of_a_pod || !actions[action].targeted;

    run(server, 10000);
    assert_remade(server, photo, acts ? actions[action].remade : "");
    assert_int_equal(play_number(server, "retryCount"), acts);
    assert_int_equal(play_number(server, "version"), acts && !actions[action].targeted);
    assert_int_equal(is_same_group(server, photo), !acts || actions[action].targeted);
    assert_int_equal(has(buf_str(&server->phases), "Restarting "), acts);
}

static void check_end(struct server *server, size_t action)
{
    static const char *const ends[] = {"Aborting",  "Aborted",     "Completing",
                                       "Completed", "Terminating", "Terminated"};
    const char *end = NULL;

    run(server, 10000);
    for (size_t i = 0; i < ARRAY_SIZE(ends); i += 2) {
        if (strcmp(actions[action].phase, ends[i]) == 0)
            end = ends[i + 1];
    }
    if (end)
        assert_string_equal(play_phase(server), end);
    else
        assert_true(job_phase_wants_pods(play_control(server)->job->status.phase));
    assert_int_equal(play_number(server, "retryCount"), 0);
    assert_int_equal(play_number(server, "version"), *actions[action].phase != '\0');
}

/* What is looked at now: told when it fails. */
static const char *looked_at;

static int tell_where(void **state)
{
    (void)state;
    if (looked_at)
        print_error("at %s\n", looked_at);
    looked_at = NULL;
    return 0;
}

static void check(struct server *server, size_t event, size_t action, const char *phase)
{
    cleanup_free char *spec =
        xasprintf(JOB(6, POLICIES("{\"event\":\"%s\",\"action\":\"%s\"%s}"), TASKS),
                  events[event].name, actions[action].name, events[event].timeout);
    cleanup_free char *said =
        xasprintf("ExecuteAction: Start to execute action %s", actions[action].name);

    server->group_phase = "Inqueue";
    server->pod_phase = phase;
    play_job(server, spec);
    run(server, 2000);
    assert_string_equal(play_phase(server), phase);
    struct photo photo = take_photo(server);
    server->pod_phase = "Running";
    events[event].happen(server);
    if (actions[action].remade)
        check_restart(server, &photo, event, action);
    else
        check_end(server, action);
    const bool acts =
        *actions[action].phase && (events[event].of_a_pod || !actions[action].targeted);
    assert_int_equal(play_lines(&server->said, said), acts);
    drop_photo(&photo);
}

static void every_event_with_every_action(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(events) * ARRAY_SIZE(actions); i++) {
        const size_t event = i / ARRAY_SIZE(actions), action = i % ARRAY_SIZE(actions);
        cleanup_free char *where = xasprintf("%s %s", events[event].name, actions[action].name);
        void *server;
        looked_at = where;
        (void)server_setup(&server);
        check(server, event, action, "Running");
        (void)server_teardown(&server);
        looked_at = NULL;
    }
}

/* The gang is not complete yet; one of its pods has failed. */
static void every_action_while_the_job_is_pending(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        void *arg;
        looked_at = actions[i].name;
        (void)server_setup(&arg);
        struct server *server = arg;
        server->pod_phase = "Pending";
        check(server, 0, i, "Pending");
        (void)server_teardown(&arg);
        looked_at = NULL;
    }
}

/* ---- during a restart -------------------------------------------------------------------------
 */

static void a_restart_takes_in_what_fails_meanwhile(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(6, POLICIES(POLICY("PodFailed", "RestartPod")), TASKS));
    struct photo photo = take_photo(server);
    server->grace_ms = 10000;
    play_exit(server, "j-a-1", 1, 0);
    run(server, 2000);
    assert_string_equal(play_phase(server), "Restarting");
    play_exit(server, "j-b-0", 1, 0);
    run(server, 30000);
    assert_remade(server, &photo, "j-a-1 j-b-0 ");
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_number(server, "retryCount"), 1);
    assert_int_equal(play_number(server, "version"), 0);
    drop_photo(&photo);
}

/* Two of four are enough: with two gone the job goes on, while the others are still going. */
static void restarting_ends_when_enough_pods_are_gone(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(4, 2));
    server->grace_ms = 60000;
    play_command(server, "again", "RestartJob");
    run(server, 2000);
    assert_string_equal(play_phase(server), "Restarting");
    assert_int_equal(play_number(server, "terminating"), 4);
    server_remove(server, SERVER_PODS, "j-w-3");
    run(server, 2000);
    assert_string_equal(play_phase(server), "Restarting");
    server->pod_phase = "Pending";
    server_remove(server, SERVER_PODS, "j-w-1");
    run(server, 2000);
    assert_string_equal(play_phase(server), "Pending");
    assert_int_equal(play_number(server, "terminating"), 2);
    assert_int_equal(play_number(server, "pending"), 2);
    play_pods(server, "Running");
    run(server, 2000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_number(server, "terminating"), 2);
    server->pod_phase = "Running";
    run(server, 60000);
    assert_int_equal(play_number(server, "running"), 4);
    assert_int_equal(play_made(server, "j-w-0") + play_made(server, "j-w-3"), 4);
}

/* A restart of a few pods is over as soon as the others are enough. */
static void a_small_restart_does_not_hold_up_the_job(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(5, POLICIES(POLICY("PodFailed", "RestartPod")), TASKS));
    server->grace_ms = 60000;
    play_exit(server, "j-a-1", 1, 0);
    run(server, 3000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_number(server, "terminating"), 1);
    assert_true(has(buf_str(&server->phases), "Restarting 1\n"));
}

/* Its pods are gone, its new group is not let in: it waits as any other job does. */
static void a_restarted_job_without_room_is_pending(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    server->group_phase = "Pending";
    play_command(server, "again", "RestartJob");
    run(server, 10000);
    assert_string_equal(play_phase(server), "Pending");
    assert_int_equal(play_pod_count(server), 0);
    assert_int_equal(server->group_posts, 2);
    assert_int_equal(play_number(server, "pending") + play_number(server, "running"), 0);
    play_admit(server);
    run(server, 3000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_number(server, "retryCount"), 1);
}

/* ---- what acts on nothing ---------------------------------------------------------------------
 */

static void restarting_a_partition_needs_one(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(6, POLICIES(POLICY("PodFailed", "RestartPartition")), TASKS));
    const size_t writes = server->status_writes;
    play_exit(server, "j-b-0", 1, 0);
    run(server, 10000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_made(server, "j-b-0"), 1);
    assert_int_equal(play_number(server, "retryCount"), 0);
    assert_int_equal(server->status_writes, writes + 1); /* of the count */
}

static void containers_may_restart_without_end(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(2, POLICIES(POLICY("TaskFailed", "AbortJob")),
                           TASK("a", 4, ",\"maxRetry\":-1")));
    play_pod_patch(server, "j-a-0",
                   "{\"status\":{\"containerStatuses\":[{\"restartCount\":1000}]}}");
    run(server, 10000);
    assert_string_equal(play_phase(server), "Running");
}

/* ---- delayed actions --------------------------------------------------------------------------
 */

#define LATER(event, action, timeout)                                                              \
    "{\"event\":\"" event "\",\"action\":\"" action "\",\"timeout\":\"" timeout "\"}"

/* Somebody deletes the pod that failed, and the next one runs before the time is over. */
static void a_failure_is_forgiven_when_the_pod_runs_again_in_time(void **state)
{
    struct server *server = *state;

    play_start(server, JOB(2, POLICIES(LATER("PodFailed", "AbortJob", "30s")), TASKS));
    play_exit(server, "j-a-1", 1, 0);
    run(server, 20000);
    server_delete_pod(server, "j-a-1");
    run(server, 60000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_made(server, "j-a-1"), 2);
}

/* The pods of a new run begin to wait anew. */
static void a_restart_ends_what_was_waited_for(void **state)
{
    struct server *server = *state;

    server->group_phase = "Inqueue";
    server->pod_phase = "Pending";
    play_job(server, JOB(6,
                         POLICIES(LATER("PodPending", "AbortJob", "60s") "," POLICY("PodFailed",
                                                                                    "RestartJob")),
                         TASKS));
    run(server, 50000);
    play_exit(server, "j-a-1", 1, 0);
    run(server, 50000);
    assert_string_equal(play_phase(server), "Pending");
    assert_int_equal(play_number(server, "retryCount"), 1);
    run(server, 15000);
    assert_string_equal(play_phase(server), "Aborted");
}

int main(void)
{
    server_quiet();
#define TEST(name) cmocka_unit_test_setup_teardown(name, server_setup, server_teardown)
    const struct CMUnitTest all[] = {
        cmocka_unit_test_setup_teardown(every_event_with_every_action, NULL, tell_where),
        cmocka_unit_test_setup_teardown(every_action_while_the_job_is_pending, NULL, tell_where),
        TEST(a_restart_takes_in_what_fails_meanwhile),
        TEST(restarting_ends_when_enough_pods_are_gone),
        TEST(a_small_restart_does_not_hold_up_the_job),
        TEST(a_restarted_job_without_room_is_pending),
        TEST(restarting_a_partition_needs_one),
        TEST(containers_may_restart_without_end),
        TEST(a_failure_is_forgiven_when_the_pod_runs_again_in_time),
        TEST(a_restart_ends_what_was_waited_for),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
