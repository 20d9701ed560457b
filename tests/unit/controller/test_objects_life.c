/*
 * Objects of plugins over the life of a job and of its controllers: another controller neither asks
 * nor writes again, and what was made goes when the job has ended.
 */
#include "controller/objects_server.h"

/* ---- another controller ------------------------------------------------------------------------
 */

static void another_controller_writes_nothing_again(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    replace_controller(server);
    if (server->log.n > 0)
        fail_msg("asked for: %s", server->log.p);
}

static void another_controller_lets_hosts_follow(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    replace_controller(server);
    apply(server, SPEC(3, SVC_SSH_ENV));
    run(server, 10000);
    assert_string_equal(hosts_of(server), "j-w-0.j\nj-w-1.j\nj-w-2.j");
    assert_int_equal(pods_of(server), 3);
    assert_int_equal(asked(server, "PATCH " CONFIG_MAP), 1);
    assert_int_equal(asked(server, "GET " JOB_PATH), 1); /* is it still there */
    assert_int_equal(asked(server, "GET "), 2);
}

/* Scaled while no controller ran. */
static void another_controller_sees_that_hosts_are_old(void **state)
{
    struct server *server = *state;
    cJSON *job;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    job = object_at(server, JOB_PATH);
    cJSON_ReplaceItemInObjectCaseSensitive(job, "spec", cJSON_Parse(SPEC(3, SVC_SSH_ENV)));
    touch(server, job);
    replace_controller(server);
    assert_string_equal(hosts_of(server), "j-w-0.j\nj-w-1.j\nj-w-2.j");
    assert_true(place_of(server, "PATCH " CONFIG_MAP) < place_of(server, "POST " PODS));
    assert_int_equal(pods_of(server), 3);
}

/* What was made is there, but was not noted. */
static void another_controller_finds_what_was_made(void **state)
{
    struct server *server = *state;
    cJSON *patch = cJSON_Parse("{\"controlledResources\":null}");

    start_job(server, SPEC(2, SVC_SSH_ENV));
    cleanup_free char *uid = xstrdup(uid_of(server, SECRET));
    merge(cJSON_GetObjectItemCaseSensitive(object_at(server, JOB_PATH), "status"), patch);
    cJSON_Delete(patch);
    touch(server, object_at(server, JOB_PATH));
    replace_controller(server);
    assert_string_equal(uid_of(server, SECRET), uid);
    assert_int_equal(asked(server, "PATCH " CONFIG_MAP), 0);
    assert_int_equal(asked(server, "POST /api/v1/namespaces/n/pods"), 0);
    assert_string_equal(note_of(server, "plugin-ssh"), "ssh");
    assert_string_equal(note_of(server, "plugin-svc"), "svc");
}

/* ---- the end -----------------------------------------------------------------------------------
 */

static void assert_objects(const struct server *server, bool there)
{
    static const char *const paths[] = {CONFIG_MAP, SERVICE, SECRET, POLICY};

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_int_equal(object_at(server, paths[i]) != NULL, there);
    assert_string_equal(note_of(server, "plugin-svc"), there ? "svc" : "");
    assert_string_equal(note_of(server, "plugin-ssh"), there ? "ssh" : "");
    assert_int_equal(*note_of(server, "content-svc") != '\0', there);
}

static void objects_go_when_the_job_has_ended(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    buf_reset(&server->log);
    move_pods(server, "Succeeded");
    run(server, 10000);
    assert_phase(server, "Completed");
    assert_objects(server, false);
    assert_int_equal(asked(server, "GET "), 0);
    assert_int_equal(asked(server, "DELETE /api"), 5); /* with the PodGroup */
    assert_in_range(asked(server, "PATCH " JOB_PATH), 2, 3);
    assert_int_equal(get(status_of(server), "succeeded")->valueint, 2);
    buf_reset(&server->log);
    run(server, 600000);
    assert_int_equal(server->log.n, 0);
    replace_controller(server);
    assert_int_equal(server->log.n, 0);
}

/* The controller ended between the job's end and that of its objects. */
static void another_controller_takes_away_what_is_left(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    server->refused = "DELETE /api";
    server->refusal = 500;
    move_pods(server, "Succeeded");
    run(server, 5000);
    assert_phase(server, "Completed");
    assert_objects(server, true);
    server->refused = NULL;
    /* Meanwhile one has been replaced by an object of somebody else. */
    drop(server, SERVICE);
    put(server, SERVICE, "{\"metadata\":{\"name\":\"j\"}}");
    replace_controller(server);
    assert_non_null(object_at(server, SERVICE));
    assert_null(object_at(server, CONFIG_MAP));
    assert_null(object_at(server, SECRET));
    assert_null(object_at(server, POLICY));
    assert_string_equal(note_of(server, "plugin-svc"), "");
}

static void command(struct server *server, const char *name, const char *action)
{
    cleanup_free char *path =
        xasprintf("/apis/bus.volcano.sh/v1alpha1/namespaces/n/commands/%s", name);
    cleanup_free char *json = xasprintf(
        "{\"metadata\":{\"name\":\"%s\"},\"action\":\"%s\",\"target\":{\"apiVersion\":"
        "\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"" JOB_UID "\"}}",
        name, action);

    put(server, path, json);
    announce(server, server->controller->commands, path);
}

/* The pods that the controller deleted are gone. */
static void forget_pods(struct server *server)
{
    run(server, 5000);
    assert_int_equal(pods_of(server), 0);
}

static void objects_go_with_a_suspended_job_and_come_back(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    command(server, "stop", "AbortJob");
    forget_pods(server);
    run(server, 5000);
    assert_phase(server, "Aborted");
    assert_objects(server, false);
    command(server, "go", "ResumeJob");
    run(server, 10000);
    admit(server);
    run(server, 5000);
    assert_int_equal(pods_of(server), 2);
    assert_objects(server, true);
}

static void objects_stay_through_a_restart(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV
                           ",\"policies\":[{\"event\":\"PodFailed\",\"action\":\"RestartJob\"}]"));
    cleanup_free char *secret = cJSON_PrintUnformatted(object_at(server, SECRET));
    buf_reset(&server->log);
    move_pods(server, "Failed");
    run(server, 10000);
    admit(server);
    run(server, 10000);
    assert_int_equal(asked(server, "DELETE " PODS), 2);
    assert_int_equal(asked(server, "POST " PODS), 2);
    assert_int_equal(asked(server, "DELETE " SECRET) + asked(server, "DELETE " CONFIG_MAP) +
                         asked(server, "DELETE " SERVICE) + asked(server, "PATCH " CONFIG_MAP),
                     0);
    assert_int_equal(asked(server, "POST /api/v1/namespaces/n/secrets"), 0);
    cleanup_free char *now = cJSON_PrintUnformatted(object_at(server, SECRET));
    assert_string_equal(now, secret);
    assert_objects(server, true);
}

static void a_job_that_goes_asks_for_nothing_more(void **state)
{
    struct server *server = *state;

    server->fake->latency_ns = 100 * NSEC_PER_MSEC;
    submit(server, SPEC(2, SVC_SSH_ENV));
    run(server, 60);
    cleanup_free char *job = cJSON_PrintUnformatted(object_at(server, JOB_PATH));
    store_apply_deleted(server->controller->jobs, str_of(job));
    run(server, 1000);
    int before = (int)server->log.n;
    run(server, 60000);
    assert_int_equal(server->log.n, before);
    assert_int_equal(map_count(&server->controller->by_uid), 0);
}
int main(void)
{
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);

    log_set_fd(quiet);
    const struct CMUnitTest all[] = {
        cmocka_unit_test_setup_teardown(another_controller_writes_nothing_again, setup, teardown),
        cmocka_unit_test_setup_teardown(another_controller_lets_hosts_follow, setup, teardown),
        cmocka_unit_test_setup_teardown(another_controller_sees_that_hosts_are_old, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(another_controller_finds_what_was_made, setup, teardown),
        cmocka_unit_test_setup_teardown(objects_go_when_the_job_has_ended, setup, teardown),
        cmocka_unit_test_setup_teardown(another_controller_takes_away_what_is_left, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(objects_go_with_a_suspended_job_and_come_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(objects_stay_through_a_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_that_goes_asks_for_nothing_more, setup, teardown),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
