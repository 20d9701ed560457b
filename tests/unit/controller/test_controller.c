/*
 * The controller and its requests: what it asks for, how often, and what it makes of refusals and
 * lost answers.
 */
#include "play.h"

#include "base/limits.h"
#include "controller/options.h"

/* ---- tests -------------------------------------------------------------------------------------
 */

static void no_pod_before_the_group_is_let_in(void **state)
{
    struct server *server = *state;

    play_job(server, SPEC(3, 3));
    run(server, 5000);
    assert_int_equal(server->group_posts, 1);
    assert_int_equal(server->pod_posts, 0);
    assert_int_equal(server->status_writes, 1);
    play_admit(server);
    run(server, 5000);
    assert_int_equal(server->pod_posts, 3);
    assert_int_equal(play_pod_count(server), 3);
}

static void a_job_from_start_to_end_costs_few_writes(void **state)
{
    struct server *server = *state;

    play_job(server, SPEC(20, 20));
    run(server, 200);
    play_admit(server);
    run(server, 500);
    play_pods(server, "Running");
    run(server, 3000);
    assert_true(has(play_status_text(server), "\"phase\":\"Running\""));
    assert_true(has(play_status_text(server), "\"running\":20"));
    assert_in_range(server->status_writes, 2, 3);
    play_pods(server, "Succeeded");
    run(server, 3000);
    assert_true(has(play_status_text(server), "\"phase\":\"Completed\""));
    assert_true(has(play_status_text(server), "\"succeeded\":20"));
    assert_in_range(server->status_writes, 3, 4);
    assert_int_equal(server->pod_posts, 20);
    assert_int_equal(server->group_posts, 1);
    assert_int_equal(server->group_deletes, 1);
    /* A finished job costs no further writes, whatever becomes of its pods. */
    size_t writes = server->status_writes;
    for (int i = 0; i < 20; i++) {
        cleanup_free char *name = xasprintf("j-w-%d", i);
        server_remove(server, SERVER_PODS, name);
    }
    run(server, 600000);
    assert_int_equal(server->status_writes, writes);
    assert_int_equal(server->pod_posts, 20);
}

static void lost_answers_make_no_second_pod(void **state)
{
    struct server *server = *state;

    play_job(server, SPEC(10, 10));
    run(server, 200);
    play_admit(server);
    server->fake->mute = true;
    run(server, 20000);
    assert_int_equal(play_pod_count(server),
                     4); /* no more go to a server that has said so little */
    server->fake->mute = false;
    run(server, 120000);
    /* Each was created once; those in doubt were looked up, not created again. */
    assert_int_equal(server->pod_posts, 10);
    assert_int_equal(job_control_present(play_control(server)), 10);
    assert_int_equal(play_control(server)->create_count, 0);
}

static void a_foreign_pod_is_waited_for(void **state)
{
    struct server *server = *state;

    (void)server_put(server, SERVER_PODS, json_parse(STR("{\"metadata\":{\"name\":\"j-w-1\"}}")),
                     "other");
    play_job(server, SPEC(3, 3));
    run(server, 200);
    play_admit(server);
    run(server, 20000);
    assert_int_equal(job_control_present(play_control(server)), 2);
    assert_true(has(play_status_text(server), "exists and belongs to"));
    server_remove(server, SERVER_PODS, "j-w-1");
    run(server, 120000);
    assert_int_equal(job_control_present(play_control(server)), 3);
    assert_false(has(play_status_text(server), "exists and belongs to"));
}

/* What a hand made with our owner, task and index keeps nothing of the job from its place. */
static void a_pod_of_another_name_takes_no_place(void **state)
{
    struct server *server = *state;

    (void)server_put(
        server, SERVER_PODS,
        json_parse(
            STR("{\"metadata\":{\"name\":\"mine\",\"labels\":{\"volcano.sh/job-name\":\"j\"},"
                "\"ownerReferences\":[{\"apiVersion\":\"batch.volcano.sh/v1alpha1\","
                "\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"" JOB_UID
                "\",\"controller\":true}],\"annotations\":{"
                "\"volcano.sh/task-spec\":\"w\",\"volcano.sh/task-index\":\"1\","
                "\"volcano.sh/job-version\":\"0\"}},\"status\":{\"phase\":\"Running\"}}")),
        "other");
    play_start(server, SPEC(3, 3));
    for (int run_of = 0; run_of < 2; run_of++) {
        run(server, 5000);
        assert_true(play_has_pod(server, "mine") && play_has_pod(server, "j-w-1"));
        assert_string_equal(play_phase(server), "Running");
        assert_int_equal(play_number(server, "running"), 3);
        if (run_of == 0)
            play_command(server, "again", "RestartJob");
    }
}

/* The pod as a deletion of its job with "Orphan", or a hand, leaves it. */
static void orphan(struct server *server, const char *name)
{
    cJSON *pod = server_get(server, SERVER_PODS, name);

    if (!pod) {
        cleanup_free char *text =
            xasprintf("{\"metadata\":{\"name\":\"%s\",\"labels\":{\"volcano.sh/job-name\":\"j\","
                      "\"volcano.sh/task-spec\":\"w\",\"volcano.sh/task-index\":\"1\"}}}",
                      name);
        (void)server_put(server, SERVER_PODS, json_parse(str_of(text)), NULL);
        return;
    }
    cJSON_DeleteItemFromObjectCaseSensitive(json_at(pod, "metadata"), "ownerReferences");
    server_touch(server, SERVER_PODS, pod);
}

static void a_pod_that_loses_its_owner_is_waited_for(void **state)
{
    struct server *server = *state;

    play_job(server, SPEC(3, 3));
    run(server, 200);
    play_admit(server);
    run(server, 1000);
    assert_int_equal(job_control_present(play_control(server)), 3);
    orphan(server, "j-w-1");
    run(server, 5000);
    assert_int_equal(job_control_present(play_control(server)), 2);
    assert_true(has(play_status_text(server), "exists and belongs to nobody;"));
    server_remove(server, SERVER_PODS, "j-w-1");
    run(server, 120000);
    assert_int_equal(job_control_present(play_control(server)), 3);
    assert_false(has(play_status_text(server), "exists and belongs to"));
}

static void orphans_of_an_earlier_job_are_waited_for(void **state)
{
    struct server *server = *state;

    orphan(server, "j-w-1");
    play_job(server, SPEC(3, 3));
    run(server, 200);
    play_admit(server);
    run(server, 20000);
    assert_int_equal(job_control_present(play_control(server)), 2);
    assert_true(has(play_status_text(server), "exists and belongs to nobody;"));
    server_remove(server, SERVER_PODS, "j-w-1");
    run(server, 120000);
    assert_int_equal(job_control_present(play_control(server)), 3);
}

static void pods_of_an_earlier_job_are_told_of_when_they_stay(void **state)
{
    struct server *server = *state;
    const char *pod =
        "{\"metadata\":{\"name\":\"j-w-1\",\"labels\":{\"volcano.sh/job-name\":\"j\"},"
        "\"ownerReferences\":[{\"apiVersion\":\"" BATCH_API_VERSION "\",\"kind\":\"Job\","
        "\"name\":\"j\",\"uid\":\"uid-old\",\"controller\":true}]}}";

    (void)server_put(server, SERVER_PODS, json_parse(str_of(pod)), "pod-old");
    play_job(server, SPEC(3, 3));
    run(server, 200);
    play_admit(server);
    run(server, 300);
    /* One that goes soon is not worth a write. */
    assert_int_equal(server->status_writes, 1);
    run(server, 1750);
    assert_true(has(play_status_text(server), "pods of an earlier job of this name still exist"));
    assert_int_equal(server->status_writes, 2);
    assert_int_equal(server->pod_posts, 2);
    server_remove(server, SERVER_PODS, "j-w-1");
    run(server, 5000);
    assert_int_equal(server->pod_posts, 3);
    assert_false(has(play_status_text(server), "earlier job"));
}

/* A PodGroup of the job under another name. */
static void announce_group(struct server *server, const char *name)
{
    cleanup_free char *group = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[{\"apiVersion\":\"" BATCH_API_VERSION
        "\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"" JOB_UID
        "\",\"controller\":true}]},\"spec\":{\"minMember\":1}}",
        name);

    (void)server_put(server, SERVER_GROUPS, json_parse(str_of(group)), NULL);
}

static void another_group_of_the_job_changes_nothing(void **state)
{
    struct server *server = *state;

    play_job(server, SPEC(3, 3));
    run(server, 200);
    play_admit(server);
    run(server, 1000);
    const struct podgroup *ours = play_control(server)->podgroup;
    assert_non_null(ours);
    announce_group(server, "mine");
    run(server, 1000);
    server_remove(server, SERVER_GROUPS, "mine");
    run(server, 60000);
    assert_ptr_equal(play_control(server)->podgroup, ours);
    assert_int_equal(server->group_posts, 1);
    assert_int_equal(server->group_patches, 0);
}

static void a_group_that_loses_its_owner_is_let_go(void **state)
{
    struct server *server = *state;

    play_job(server, SPEC(3, 3));
    run(server, 200);
    assert_non_null(play_control(server)->podgroup);
    cJSON *group = server_get(server, SERVER_GROUPS, GROUP_NAME);
    cJSON_DeleteItemFromObjectCaseSensitive(json_at(group, "metadata"), "ownerReferences");
    server_touch(server, SERVER_GROUPS, group);
    assert_null(play_control(server)->podgroup);
    run(server, 60000);
    /* The server takes any create; each answer has the same UID and owner as before. */
    assert_in_range(server->group_posts, 2, 20);
}

static void a_quota_is_waited_for_without_storming(void **state)
{
    struct server *server = *state;

    server->pod_limit = 5;
    play_job(server, SPEC(500, 3));
    run(server, 200);
    play_admit(server);
    run(server, 300000);
    assert_int_equal(play_pod_count(server), 5);
    /* What was in flight was refused; after that one try each back-off. */
    assert_in_range(server->pod_posts, 6, 60);
    assert_string_equal(play_message(server), "exceeded quota: rq"); /* of which pod changes */
    assert_int_equal(play_lines(&server->said, "FailedCreate: "), 1);
    assert_true(has(play_status_text(server), "\"phase\":\"Pending\""));
    server->pod_limit = 0;
    run(server, 120000);
    assert_int_equal(play_pod_count(server), 500);
    assert_false(has(play_status_text(server), "exceeded quota"));
}

static void a_pod_that_can_never_be_ends_the_job(void **state)
{
    struct server *server = *state;

    server->refuse_pods = 422;
    server->refusal = "Pod is invalid: spec.containers: Required value";
    play_job(server, SPEC(3, 3));
    run(server, 200);
    play_admit(server);
    run(server, 10000);
    assert_true(has(play_status_text(server), "\"phase\":\"Failed\""));
    assert_true(has(play_status_text(server), "Required value"));
    size_t posts = server->pod_posts;
    run(server, 300000);
    assert_int_equal(server->pod_posts, posts);
}

static void a_deleted_job_asks_for_nothing_more(void **state)
{
    struct server *server = *state;

    server->fake->latency_ns = 100 * NSEC_PER_MSEC;
    play_job(server, SPEC(2000, 2000));
    run(server, 500);
    play_admit(server);
    run(server, 500);
    assert_in_range(server->pod_posts, 16, 1000);
    server_remove(server, SERVER_JOBS, "j");
    run(server, 200);
    size_t posts = server->pod_posts;
    run(server, 60000);
    assert_int_equal(server->pod_posts, posts);
}

static void scaling_down_takes_the_highest(void **state)
{
    struct server *server = *state;

    server->stubborn_groups = true; /* what is not taken is not written in a tight loop */
    play_job(server, SPEC(8, 2));
    run(server, 200);
    play_admit(server);
    run(server, 500);
    assert_int_equal(play_pod_count(server), 8);
    play_job(server, "{\"minAvailable\":2,\"queue\":\"default\",\"tasks\":[{\"name\":\"w\","
                     "\"replicas\":2,\"template\":{\"spec\":{\"containers\":[{\"name\":\"m\"}"
                     "]}}}],\"x\":0}");
    run(server, 1000);
    assert_int_equal(server->pod_deletes, 6);
    run(server, 60000);
    assert_in_range(server->group_patches, 1, 20);
    assert_true(play_has_pod(server, "j-w-0"));
    assert_true(play_has_pod(server, "j-w-1"));
}

static void nothing_is_written_without_leading(void **state)
{
    struct server *server = *state;

    controller_set_leading(server->controller, false);
    play_job(server, SPEC(3, 3));
    run(server, 60000);
    assert_int_equal(server->group_posts + server->status_writes + server->pod_posts, 0);
    server_remove(server, SERVER_JOBS, "j");
    run(server, 1000);
    /* A standby forgets what is gone. */
    assert_int_equal(map_count(&server->controller->by_uid), 0);
}

static void a_large_job_waits_in_small_memory(void **state)
{
    struct server *server = *state;

    server->fake->latency_ns = NSEC_PER_SEC;
    play_job(server, SPEC(10000, 10000));
    run(server, 3000);
    play_admit(server);
    run(server, 100);
    assert_int_equal(play_control(server)->create_count, CREATION_CHUNK_PRESET);
}

#define TWO_TASKS(first, second)                                                                   \
    "{\"minAvailable\":1,\"queue\":\"default\",\"tasks\":[{\"name\":\"a\",\"replicas\":" first     \
    "},{\"name\":\"b\",\"replicas\":" second "}]}"

static void a_job_gets_places_for_so_many_pods_and_no_more(void **state)
{
    struct server *server = *state;

    assert_int_equal(LIMIT_JOB_PODS, 1000000);
    play_job(server, TWO_TASKS("999999", "1"));
    assert_int_equal(play_control(server)->tasks[0].size, 999999);
    assert_int_equal(play_control(server)->tasks[1].size, 1);
    play_job(server, TWO_TASKS("999999", "2 "));
    assert_int_equal(play_control(server)->tasks[1].size, 1);
    play_job(server, TWO_TASKS("2147483647", "2147483647"));
    assert_int_equal(play_control(server)->tasks[0].size, LIMIT_JOB_PODS);
    assert_int_equal(play_control(server)->tasks[1].size, 0);
    run(server, 1000);
}

int main(void)
{
    server_quiet();
    const struct CMUnitTest all[] = {
        cmocka_unit_test_setup_teardown(no_pod_before_the_group_is_let_in, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_job_from_start_to_end_costs_few_writes, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(lost_answers_make_no_second_pod, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_foreign_pod_is_waited_for, server_setup, server_teardown),
        cmocka_unit_test_setup_teardown(a_pod_of_another_name_takes_no_place, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_pod_that_loses_its_owner_is_waited_for, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(orphans_of_an_earlier_job_are_waited_for, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(pods_of_an_earlier_job_are_told_of_when_they_stay,
                                        server_setup, server_teardown),
        cmocka_unit_test_setup_teardown(another_group_of_the_job_changes_nothing, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_group_that_loses_its_owner_is_let_go, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_quota_is_waited_for_without_storming, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_pod_that_can_never_be_ends_the_job, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_deleted_job_asks_for_nothing_more, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(scaling_down_takes_the_highest, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(nothing_is_written_without_leading, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_large_job_waits_in_small_memory, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_job_gets_places_for_so_many_pods_and_no_more,
                                        server_setup, server_teardown),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
