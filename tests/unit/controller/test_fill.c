/*
 * Which pods are created next: how many of a job at once, and what its annotations ask for.
 */
#include "controller/job/control.h"
#include "play.h"

/* Gives the job "j" one annotation, then its spec. */
static void play_annotated(struct server *server, const char *key, const char *value,
                           const char *spec)
{
    cJSON *job = cJSON_CreateObject();
    cJSON *meta = json_member(job, "metadata");

    json_set(meta, "name", cJSON_CreateString("j"));
    json_set(meta, "generation", cJSON_CreateNumber(1));
    json_set(json_member(meta, "annotations"), key, cJSON_CreateString(value));
    json_set(job, "spec", json_parse(str_of(spec)));
    (void)server_put(server, SERVER_JOBS, job, JOB_UID);
}

static void play_bound(struct server *server, const char *name)
{
    play_pod_patch(server, name, "{\"spec\":{\"nodeName\":\"n\"}}");
}

/* ---- the chunk --------------------------------------------------------------------------------
 */

static uint32_t most_waiting;

static int watch_waiting(struct server *server, const struct kube_call_spec *spec)
{
    const struct job_control *control = play_control(server);

    (void)spec;
    if (control && control->create_count > most_waiting)
        most_waiting = control->create_count;
    return 0;
}

static void no_more_than_a_chunk_waits(void **state)
{
    struct server *server = *state;
    const uint32_t chunks[] = {1, 7, 30, 1000};

    for (size_t i = 0; i < ARRAY_SIZE(chunks); i++) {
        server->controller->creation_chunk = chunks[i];
        server->fault = watch_waiting;
        most_waiting = 0;
        play_start(server, SPEC(60, 60));
        assert_int_equal(play_pod_count(server), 60);
        assert_int_equal(server->pod_posts, 60 * (i + 1));
        assert_in_range(most_waiting, chunks[i] < 60 ? chunks[i] : 60,
                        chunks[i] < 60 ? chunks[i] : 60);
        play_delete_job(server);
        play_gc(server);
        run(server, 3000);
        assert_int_equal(play_pod_count(server), 0);
    }
}

/* ---- beyond the minimum ------------------------------------------------------------------------
 */

static void pods_beyond_the_minimum_come_as_others_get_nodes(void **state)
{
    struct server *server = *state;

    server->group_phase = "Inqueue";
    server->pod_phase = "Pending";
    play_annotated(server, KEY_BEYOND_MINIMUM, "as-placed", SPEC(60, 20));
    run(server, 3000);
    assert_int_equal(play_pod_count(server), 20);
    play_bound(server, "j-w-0"); /* 1 has a node, and 16 more would be 17: the minimum holds */
    run(server, 3000);
    assert_int_equal(play_pod_count(server), 20);
    for (int i = 1; i < 6; i++) {
        cleanup_free char *name = xasprintf("j-w-%d", i);
        play_bound(server, name);
    }
    run(server, 3000);
    assert_int_equal(play_pod_count(server), 22); /* 6 and 16 */
    play_pods(server, "Running");
    run(server, 3000);
    assert_int_equal(play_pod_count(server), 38);
    server->pod_phase = "Running";
    play_pods(server, "Running");
    run(server, 3000);
    assert_int_equal(play_pod_count(server), 60);
    assert_int_equal(server->pod_posts, 60);
    play_pods(server, "Succeeded");
    run(server, 3000);
    assert_string_equal(play_phase(server), "Completed");
    assert_int_equal(play_number(server, "succeeded"), 60);
}

static void minimums_of_tasks_come_first(void **state)
{
    struct server *server = *state;

    server->group_phase = "Inqueue";
    server->pod_phase = "Pending";
    play_annotated(
        server, KEY_BEYOND_MINIMUM, "as-placed",
        JOB(8, "", TASK("a", 30, ",\"minAvailable\":5") "," TASK("b", 30, ",\"minAvailable\":3")));
    run(server, 3000);
    assert_int_equal(play_pod_count(server), 16);
    assert_true(play_has_pod(server, "j-b-2"));
    assert_true(play_has_pod(server, "j-a-12"));
    assert_false(play_has_pod(server, "j-b-3"));
}

static void a_finished_pod_makes_room_and_any_other_value_is_none(void **state)
{
    struct server *server = *state;

    server->group_phase = "Inqueue";
    server->pod_phase = "Pending";
    play_annotated(server, KEY_BEYOND_MINIMUM, "never", SPEC(60, 1));
    run(server, 3000);
    assert_int_equal(play_pod_count(server), 60);
    play_delete_job(server);
    play_gc(server);
    run(server, 3000);
    play_annotated(server, KEY_BEYOND_MINIMUM, "as-placed", SPEC(60, 1));
    run(server, 3000);
    assert_int_equal(play_pod_count(server), 16);
    play_pod(server, "j-w-3", "Succeeded");
    run(server, 3000);
    assert_int_equal(play_pod_count(server), 17);
}

/* A controller that comes later goes on where the one before was. */
static void a_restart_keeps_the_measure(void **state)
{
    struct server *server = *state;

    server->group_phase = "Inqueue";
    server->pod_phase = "Pending";
    play_annotated(server, KEY_BEYOND_MINIMUM, "as-placed", SPEC(60, 20));
    run(server, 3000);
    for (int i = 0; i < 10; i++) {
        cleanup_free char *name = xasprintf("j-w-%d", i);
        play_bound(server, name);
    }
    run(server, 3000);
    server_restart(server);
    run(server, 5000);
    assert_int_equal(play_pod_count(server), 26);
    assert_int_equal(server->pod_posts, 26);
}

/* ---- the weight --------------------------------------------------------------------------------
 */

static void the_weight_of_a_job(void **state)
{
    struct server *server = *state;
    const struct {
        const char *text;
        unsigned weight;
    } rows[] = {{"5", 5}, {"0", 1}, {"-3", 1}, {"1000000", WINDOW_WEIGHT_MOST}, {"much", 1}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        play_annotated(server, KEY_CREATION_WEIGHT, rows[i].text, SPEC(1, 1));
        run(server, 1000);
        assert_int_equal(play_control(server)->flow.weight, rows[i].weight);
        play_delete_job(server);
        play_gc(server);
        run(server, 1000);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, server_setup, server_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_more_than_a_chunk_waits),
        TEST(pods_beyond_the_minimum_come_as_others_get_nodes),
        TEST(minimums_of_tasks_come_first),
        TEST(a_finished_pod_makes_room_and_any_other_value_is_none),
        TEST(a_restart_keeps_the_measure),
        TEST(the_weight_of_a_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
