/*
 * Whose pods they are: jobs that come back under their name, jobs that are gone, odd objects, and
 * what another controller left behind.
 */
#include "photo.h"

#define SECOND_UID "99999999-2222-3333-4444-555555555555"
#define EIGHT JOB(8, POLICIES(POLICY("PodEvicted", "TerminateJob")), TASK("w", 8, ""))

/* ---- again under the same name ----------------------------------------------------------------
 */

static size_t pods_of(struct server *server, const char *uid)
{
    size_t count = 0;
    void *pod;

    for (size_t i = 0; map_next(&server->objects[SERVER_PODS], &i, NULL, &pod);)
        count += strcmp(json_text(play_owner(pod), "uid"), uid) == 0;
    return count;
}

/* The pods of the first job take five seconds to go; news comes late, and not at one pace. */
static void a_job_that_comes_back_starts_afresh(void **state)
{
    static const int64_t pauses_ms[] = {0, 200, 2000, 6000};
    static const int64_t lags_ms[] = {0, 300, 2900};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(pauses_ms) * ARRAY_SIZE(lags_ms); i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        server->lag_ms = lags_ms[i % 3];
        server->group_phase = "Inqueue";
        server->pod_phase = "Running";
        server->grace_ms = 5000;
        play_job(server, EIGHT);
        run(server, 15000);
        assert_string_equal(play_phase(server), "Running");
        play_delete_job(server);
        run(server, pauses_ms[i / 3]);
        play_job_named(server, "j", SECOND_UID, EIGHT);
        server->lag_ms = lags_ms[(i + 1) % 3];
        run(server, 60000);
        assert_string_equal(play_phase(server), "Running");
        assert_int_equal(pods_of(server, SECOND_UID), 8);
        assert_int_equal(play_pod_count(server), 8);
        assert_int_equal(play_number(server, "retryCount"), 0);
        assert_int_equal(play_number(server, "version"), 0);
        assert_int_equal(play_number(server, "running"), 8);
        assert_int_equal(map_count(&server->controller->by_uid), 1);
        (void)server_teardown(&arg);
    }
}

/* ---- gone -------------------------------------------------------------------------------------
 */

static void nothing_is_made_for_a_job_that_is_gone(void **state)
{
    static const int64_t lags_ms[] = {0, 20, 500};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lags_ms) * 10; i++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        server->lag_ms = lags_ms[i % 3];
        server->group_phase = "Inqueue";
        server->pod_phase = "Running";
        play_job(server, SPEC(4, 1));
        run(server, (int64_t)(i / 3) * 13);
        play_delete_job(server);
        run(server, 1000);
        const size_t posts = server->pod_posts, groups = server->group_posts;
        run(server, 60000);
        assert_int_equal(server->pod_posts, posts);
        assert_int_equal(server->group_posts, groups);
        (void)server_teardown(&arg);
    }
}

static size_t refused_groups;

static int no_groups(struct server *server, const struct kube_call_spec *spec)
{
    const bool create = spec->method == KUBE_POST && has(spec->path, "/podgroups");

    (void)server;
    refused_groups += create;
    return create ? 403 : 0;
}

/* News of the job's end comes three seconds after that of its pods and PodGroup: each kind has a
 * watch of its own. Nothing takes the place of what is gone. */
static void a_job_whose_end_is_not_heard_of_yet_gets_nothing(void **state)
{
    (void)state;
    for (int how = 0; how < 6; how++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server, SPEC(2, 2));
        server->lag_ms = 3000;
        cJSON *job = server_get(server, SERVER_JOBS, "j");
        if (how % 3 == 1) { /* in the foreground */
            json_set_time(json_at(job, "metadata"), "deletionTimestamp", loop_wall(server->loop));
            server_touch(server, SERVER_JOBS, job);
        } else {
            server_remove(server, SERVER_JOBS, "j");
        }
        if (how % 3 == 2) /* its name has a job again */
            play_job_named(server, "j", SECOND_UID, SPEC(2, 2));
        server->lag_ms = 0;
        server_remove(server, how < 3 ? SERVER_PODS : SERVER_GROUPS,
                      how < 3 ? "j-w-1" : GROUP_NAME);
        const size_t pods = pods_of(server, JOB_UID), posts = server->pod_posts;
        run(server, 2900);
        assert_int_equal(pods_of(server, JOB_UID), pods);
        assert_int_equal(server->pod_posts - posts, pods_of(server, SECOND_UID));
        assert_true(how < 3 || !server_get(server, SERVER_GROUPS, GROUP_NAME));
        (void)server_teardown(&arg);
    }
}

/* What is refused is not tried again for a job that went meanwhile, unheard of. */
static void what_was_refused_is_not_tried_for_a_job_that_is_gone(void **state)
{
    (void)state;
    for (int group = 0; group < 2; group++) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        server->group_phase = "Inqueue";
        server->refuse_pods = 403;
        server->refusal = "exceeded quota: rq";
        server->fault = group ? no_groups : NULL;
        play_job(server, SPEC(2, 2));
        run(server, 5000);
        assert_true(group ? refused_groups > 0 : server->pod_posts > 0);
        server->lag_ms = 300000;
        server_remove(server, SERVER_JOBS, "j");
        const size_t posts = server->pod_posts, groups = refused_groups;
        run(server, 290000);
        assert_int_equal(server->pod_posts, posts);
        assert_int_equal(refused_groups, groups);
        (void)server_teardown(&arg);
    }
}

static unsigned job_reads;

static int count_job_reads(struct server *server, const struct kube_call_spec *spec)
{
    (void)server;
    job_reads += spec->method == KUBE_GET && has(spec->path, "/jobs/");
    return 0;
}

/* A job that is there is asked for once, whatever goes at once, and gets its pods again. */
static void a_job_that_lost_pods_is_asked_for_once(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(4, 4));
    job_reads = 0;
    server->fault = count_job_reads;
    for (int i = 0; i < 4; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "j-w-%d", i);
        server_remove(server, SERVER_PODS, name);
    }
    run(server, 1000);
    assert_int_equal(play_pod_count(server), 4);
    assert_int_equal(job_reads, 1);
}

static int no_answers_for_jobs(struct server *server, const struct kube_call_spec *spec)
{
    const unsigned before = job_reads;

    (void)count_job_reads(server, spec);
    return job_reads > before ? 503 : 0;
}

/* While the question is not answered nothing is made; then all is. */
static void a_job_that_cannot_be_asked_for_waits(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(4, 4));
    job_reads = 0;
    server->fault = no_answers_for_jobs;
    server_remove(server, SERVER_PODS, "j-w-1");
    run(server, 20000);
    assert_int_equal(play_pod_count(server), 3);
    assert_in_range(job_reads, 3, 12);
    server->fault = NULL;
    run(server, 31000);
    assert_int_equal(play_pod_count(server), 4);
}

/* In the same moment a pod is touched and the job deleted, with its pods orphaned or not. */
static void touching_a_pod_brings_no_job_back(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(1, 1));
    server->lag_ms = 50;
    play_pod_patch(server, "j-w-0", "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}");
    server_remove(server, SERVER_JOBS, "j");
    run(server, 1000);
    const unsigned requests = server->fake->requests;
    play_pod_patch(server, "j-w-0", "{\"metadata\":{\"labels\":{\"x\":\"z\"}}}");
    run(server, 1000);
    cJSON *pod = server_get(server, SERVER_PODS, "j-w-0");
    cJSON_DeleteItemFromObjectCaseSensitive(json_at(pod, "metadata"), "ownerReferences");
    server_touch(server, SERVER_PODS, pod);
    run(server, 60000);
    assert_int_equal(server->fake->requests, requests);
    assert_true(play_has_pod(server, "j-w-0"));
    assert_int_equal(map_count(&server->controller->by_uid), 0);
}

/* A job with a deletionTimestamp (foreground, or a finalizer of somebody's) is left alone. */
static void a_job_that_is_going_is_left_alone(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(3, 3));
    cJSON *job = server_get(server, SERVER_JOBS, "j");
    json_set_time(json_at(job, "metadata"), "deletionTimestamp", loop_wall(server->loop));
    server_touch(server, SERVER_JOBS, job);
    run(server, 100);
    const unsigned requests = server->fake->requests;
    server_remove(server, SERVER_PODS, "j-w-1");
    run(server, 60000);
    assert_int_equal(server->fake->requests, requests);
}

/* The job is deleted at each step of being killed. */
static void a_job_may_go_at_every_step_of_a_kill(void **state)
{
    (void)state;
    for (int64_t at_ms = 0; at_ms < 400; at_ms += 4) {
        void *arg;
        (void)server_setup(&arg);
        struct server *server = arg;
        play_start(server, SPEC(3, 3));
        server->grace_ms = 200;
        server->lag_ms = 9;
        play_command(server, "stop", at_ms % 8 ? "AbortJob" : "RestartJob");
        run(server, at_ms);
        play_delete_job(server);
        run(server, 1000);
        play_gc(server); /* of what was under way */
        run(server, 30000);
        assert_int_equal(play_pod_count(server), 0);
        assert_int_equal(map_count(&server->controller->by_uid), 0);
        assert_int_equal(map_count(&server->objects[SERVER_GROUPS]), 0);
        (void)server_teardown(&arg);
    }
}

/* ---- odd objects ------------------------------------------------------------------------------
 */

#define OWNED(kind, uid)                                                                           \
    "\"ownerReferences\":[{\"apiVersion\":\"" BATCH_API_VERSION "\",\"kind\":\"" kind              \
    "\",\"name\":\"j\",\"uid\":\"" uid "\",\"controller\":true}]"
#define OURS "\"labels\":{\"volcano.sh/job-name\":\"j\"}"

static void odd_objects_stop_nothing(void **state)
{
    static const char *const pods[] = {
        "{\"metadata\":{\"name\":\"a\"," OURS "}}",
        "{\"metadata\":{\"name\":\"b\"," OURS "," OWNED("Job", JOB_UID) "}}",
        "{\"metadata\":{\"name\":\"c\"," OURS "," OWNED(
            "Job",
            JOB_UID) ",\"annotations\":{"
                     "\"volcano.sh/task-spec\":\"w\",\"volcano.sh/task-index\":\"1\","
                     "\"volcano.sh/job-version\":\"many\"}},\"status\":{\"phase\":\"Running\"}}",
        "{\"metadata\":{\"name\":\"d\"," OURS "," OWNED(
            "Job",
            JOB_UID) ",\"annotations\":{"
                     "\"volcano.sh/task-spec\":\"w\",\"volcano.sh/task-index\":\"99999999999\"}}}",
        "{\"metadata\":{\"name\":\"e\"," OURS
        "," OWNED("Job",
                  JOB_UID) ",\"annotations\":{"
                           "\"volcano.sh/task-spec\":\"nobody\",\"volcano.sh/task-index\":\"0\"}}}",
        "{\"metadata\":{\"name\":\"f\"," OURS "," OWNED("Robot", JOB_UID) "}}",
        "{\"metadata\":{\"name\":\"g\"," OURS "},\"status\":{\"phase\":17}}",
        "{\"metadata\":{\"name\":\"h\"," OURS ",\"ownerReferences\":\"none\"}}",
    };
    struct server *server = *state;

    for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
        (void)server_put(server, SERVER_PODS, json_parse(str_of(pods[i])), NULL);
    (void)server_put(server, SERVER_GROUPS, json_parse(STR("{\"metadata\":{\"name\":\"g\"}}")),
                     NULL);
    (void)server_put(server, SERVER_GROUPS,
                     json_parse(STR("{\"metadata\":{\"name\":\"h\"},\"spec\":7}")), NULL);
    play_job_named(server, "odd", "odd-uid", "{\"tasks\":7}");
    play_job_named(server, "odder", "odder-uid",
                   "{\"minAvailable\":-3,\"plugins\":{\"env\":null},"
                   "\"tasks\":[{\"replicas\":1}]}");
    play_job_named(server, "empty", "empty-uid", "{}");
    play_start(server, SPEC(3, 3));
    run(server, 10000);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_number(server, "running"), 3);
    play_command(server, "end", "TerminateJob");
    run(server, 10000);
    assert_string_equal(play_phase(server), "Terminated");
    /* Those that are owned go with the job's end, the others stay. */
    assert_true(play_has_pod(server, "a") && play_has_pod(server, "f"));
    assert_true(play_has_pod(server, "g") && play_has_pod(server, "h"));
    assert_false(play_has_pod(server, "b") || play_has_pod(server, "c"));
    assert_false(play_has_pod(server, "d") || play_has_pod(server, "e"));
}

/* ---- adopted ----------------------------------------------------------------------------------
 */

/* A job that the reference has restarted twice: its PodGroup has no mark of the run. */
static void a_running_job_of_another_controller_goes_on(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(3, 3));
    server_end(server);
    cJSON *job = server_get(server, SERVER_JOBS, "j");
    json_set(json_at(job, "status"), "version", cJSON_CreateNumber(2));
    json_set(json_at(job, "status"), "retryCount", cJSON_CreateNumber(2));
    cJSON_DeleteItemFromObjectCaseSensitive(json_at(job, "status"), "controlledResources");
    for (int i = 0; i < 3; i++) {
        cleanup_free char *name = xasprintf("j-w-%d", i);
        play_pod_patch(server, name,
                       "{\"metadata\":{\"annotations\":{\"volcano.sh/job-version\":\"2\","
                       "\"volcano.sh/job-retry-count\":\"2\"}}}");
    }
    cJSON *group = server_get(server, SERVER_GROUPS, GROUP_NAME);
    cJSON_DeleteItemFromObjectCaseSensitive(json_at(json_at(group, "metadata"), "annotations"),
                                            KEY_JOB_VERSION);
    struct photo photo = take_photo(server);
    server_begin(server);
    run(server, 10000);
    assert_remade(server, &photo, "");
    assert_true(is_same_group(server, &photo));
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(server->pod_deletes + server->group_deletes, 0);
    drop_photo(&photo);
}

/* Caught while it restarts: the old PodGroup and pods go, then all begins again. */
static void a_restarting_job_of_another_controller_goes_on(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    server_end(server);
    cJSON *status = json_at(server_get(server, SERVER_JOBS, "j"), "status");
    json_set(json_member(status, "state"), "phase", cJSON_CreateString("Restarting"));
    json_set(status, "version", cJSON_CreateNumber(1));
    json_set(status, "retryCount", cJSON_CreateNumber(1));
    cJSON *group = server_get(server, SERVER_GROUPS, GROUP_NAME);
    cJSON_DeleteItemFromObjectCaseSensitive(json_at(json_at(group, "metadata"), "annotations"),
                                            KEY_JOB_VERSION);
    struct photo photo = take_photo(server);
    server_begin(server);
    run(server, 10000);
    assert_remade(server, &photo, "j-w-0 j-w-1 ");
    assert_false(is_same_group(server, &photo));
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(play_number(server, "retryCount"), 1);
    drop_photo(&photo);
}

int main(void)
{
    server_quiet();
    const struct CMUnitTest all[] = {
        cmocka_unit_test(a_job_that_comes_back_starts_afresh),
        cmocka_unit_test(nothing_is_made_for_a_job_that_is_gone),
        cmocka_unit_test(a_job_whose_end_is_not_heard_of_yet_gets_nothing),
        cmocka_unit_test(what_was_refused_is_not_tried_for_a_job_that_is_gone),
        cmocka_unit_test_setup_teardown(a_job_that_lost_pods_is_asked_for_once, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_job_that_cannot_be_asked_for_waits, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(touching_a_pod_brings_no_job_back, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_job_that_is_going_is_left_alone, server_setup,
                                        server_teardown),
        cmocka_unit_test(a_job_may_go_at_every_step_of_a_kill),
        cmocka_unit_test_setup_teardown(odd_objects_stop_nothing, server_setup, server_teardown),
        cmocka_unit_test_setup_teardown(a_running_job_of_another_controller_goes_on, server_setup,
                                        server_teardown),
        cmocka_unit_test_setup_teardown(a_restarting_job_of_another_controller_goes_on,
                                        server_setup, server_teardown),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
