/*
 * Objects of plugins and claims of volumes: what is asked for, in which order and how often, and
 * what is made of refusals, lost answers and objects of others.
 */
#include "controller/objects_server.h"

/* ---- tests -------------------------------------------------------------------------------------
 */

static void objects_are_there_before_the_first_pod(void **state)
{
    static const char *const posts[] = {
        "POST /api/v1/namespaces/n/configmaps", "POST /api/v1/namespaces/n/services",
        "POST /api/v1/namespaces/n/secrets",
        "POST /apis/networking.k8s.io/v1/namespaces/n/networkpolicies"};
    static const char *const paths[] = {CONFIG_MAP, SERVICE, SECRET, POLICY};
    struct server *server = *state;

    start_job(server, SPEC(3, SVC_SSH_ENV));
    assert_int_equal(pods_of(server), 3);
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        const cJSON *owner =
            get(get(object_at(server, paths[i]), "metadata"), "ownerReferences")->child;
        assert_int_equal(asked(server, posts[i]), 1);
        assert_true(place_of(server, posts[i]) < place_of(server, "POST " PODS));
        assert_string_equal(text_at(owner, "uid"), JOB_UID);
        assert_string_equal(text_at(owner, "kind"), "Job");
        assert_string_equal(text_at(owner, "apiVersion"), BATCH_API_VERSION);
        assert_true(cJSON_IsTrue(get(owner, "controller")));
        assert_true(cJSON_IsTrue(get(owner, "blockOwnerDeletion")));
    }
    assert_string_equal(note_of(server, "plugin-svc"), "svc");
    assert_string_equal(note_of(server, "plugin-ssh"), "ssh");
    assert_string_equal(note_of(server, "plugin-env"), "env");
    /* No answer was lost: nothing was read, and nothing written twice. */
    assert_int_equal(asked(server, "GET "), 0);
    assert_in_range(asked(server, "PATCH " JOB_PATH), 2, 4);
    assert_int_equal(asked(server, "PATCH /api"),
                     asked(server, "PATCH " JOB_PATH) + asked(server, "PATCH " GROUP_PATH));
}

static void a_plugin_without_objects_costs_nothing(void **state)
{
    struct server *server = *state;

    submit(server, SPEC(2, "\"plugins\":{\"env\":[]}"));
    run(server, 200);
    assert_int_equal(asked(server, "PATCH " JOB_PATH), 1);
    assert_string_equal(note_of(server, "plugin-env"), "env");
    admit(server);
    run(server, 2000);
    move_pods(server, "Succeeded");
    run(server, 5000);
    assert_phase(server, "Completed");
    assert_string_equal(note_of(server, "plugin-env"), "");
    int writes = asked(server, "PATCH " JOB_PATH);
    assert_int_equal(asked(server, "POST /api/v1/namespaces/n/configmaps"), 0);
    run(server, 600000);
    assert_int_equal(asked(server, "PATCH " JOB_PATH), writes);
}

static void an_object_of_others_is_waited_for(void **state)
{
    struct server *server = *state;

    put(server, CONFIG_MAP, "{\"metadata\":{\"name\":\"j-svc\"},\"data\":{\"mine\":\"yes\"}}");
    submit(server, SPEC(2, "\"plugins\":{\"svc\":[]}"));
    run(server, 2000);
    admit(server);
    run(server, 60000);
    assert_int_equal(pods_of(server), 0);
    assert_phase(server, "Pending");
    assert_waits(server, "PluginError", "ConfigMap j-svc exists and belongs to nobody");
    assert_string_equal(text_at(get(object_at(server, CONFIG_MAP), "data"), "mine"), "yes");
    assert_int_equal(asked(server, "PATCH " CONFIG_MAP) + asked(server, "DELETE " CONFIG_MAP), 0);
    assert_in_range(asked(server, "POST /api/v1/namespaces/n/configmaps"), 5, 20);
    assert_string_equal(note_of(server, "plugin-svc"), "");
    drop(server, CONFIG_MAP);
    run(server, 120000);
    assert_int_equal(pods_of(server), 2);
    assert_string_equal(text_at(get(status_of(server), "state"), "message"), "");
    assert_string_equal(note_of(server, "plugin-svc"), "svc");
}

static void an_object_of_an_earlier_job_is_waited_for(void **state)
{
    struct server *server = *state;

    put(server, SERVICE,
        "{\"metadata\":{\"name\":\"j\",\"ownerReferences\":[{\"apiVersion\":"
        "\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"before\","
        "\"controller\":true}]}}");
    submit(server, SPEC(2, "\"plugins\":{\"svc\":[]}"));
    run(server, 2000);
    admit(server);
    run(server, 10000);
    assert_int_equal(pods_of(server), 0);
    assert_waits(server, "PluginError", "Service j exists and belongs to Job j");
    drop(server, SERVICE);
    run(server, 120000);
    assert_int_equal(pods_of(server), 2);
}

static void lost_answers_make_no_second_object(void **state)
{
    struct server *server = *state;

    server->fake->mute = true;
    submit(server, SPEC(2, SVC_SSH_ENV));
    run(server, 20000);
    assert_non_null(object_at(server, SECRET));
    cleanup_free char *uid = xstrdup(uid_of(server, SECRET));
    server->fake->mute = false;
    run(server, 120000);
    admit(server);
    run(server, 5000);
    assert_int_equal(pods_of(server), 2);
    assert_string_equal(uid_of(server, SECRET), uid);
    assert_int_equal(asked(server, "POST /api/v1/namespaces/n/secrets"), 1);
    assert_int_equal(asked(server, "POST /api/v1/namespaces/n/services"), 1);
    assert_int_equal(asked(server, "PATCH " CONFIG_MAP), 0);
    assert_string_equal(note_of(server, "plugin-ssh"), "ssh");
}

static void refusals_are_waited_for(void **state)
{
    static const int codes[] = {403, 429, 500};

    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        assert_int_equal(setup(state), 0);
        struct server *server = *state;
        server->refused = "POST /api/v1/namespaces/n/secrets";
        server->refusal = codes[i];
        submit(server, SPEC(2, SVC_SSH_ENV));
        run(server, 2000);
        admit(server);
        run(server, 60000);
        assert_int_equal(pods_of(server), 0);
        assert_phase(server, "Pending");
        if (codes[i] != 429) /* which the window waits for */
            assert_waits(server, "PluginError", "Secret j-ssh cannot be written: refused with");
        assert_in_range(asked(server, server->refused), 3, 70);
        server->refused = NULL;
        run(server, 120000);
        assert_int_equal(pods_of(server), 2);
        assert_string_equal(text_at(get(status_of(server), "state"), "message"), "");
        assert_int_equal(teardown(state), 0);
    }
}

static void an_object_that_can_never_be_ends_the_job(void **state)
{
    struct server *server = *state;

    server->refused = "POST /api/v1/namespaces/n/services";
    server->refusal = 422;
    submit(server, SPEC(2, "\"plugins\":{\"svc\":[]}"));
    run(server, 60000);
    assert_phase(server, "Failed");
    assert_waits(server, "PluginError", "Service j cannot be written: refused with 422");
    assert_int_equal(pods_of(server), 0);
    assert_in_range(asked(server, server->refused), 1, 2);
    /* What there was of the plugin has gone. */
    assert_null(object_at(server, CONFIG_MAP));
}

static void a_plugin_that_can_never_work_ends_the_job(void **state)
{
    struct server *server = *state;

    submit(server, SPEC(2, "\"plugins\":{\"ray\":[\"--head=boss\"]}"));
    run(server, 5000);
    assert_phase(server, "Failed");
    assert_waits(server, "PluginError", "boss");
}

/* ---- scaling -----------------------------------------------------------------------------------
 */

static void scale(struct server *server, const char *spec, const char *hosts, int writes)
{
    buf_reset(&server->log);
    apply(server, spec);
    run(server, 5000);
    move_pods(server, "Running");
    run(server, 5000);
    assert_string_equal(hosts_of(server), hosts);
    assert_int_equal(asked(server, "PATCH " CONFIG_MAP), writes);
    assert_int_equal(asked(server, "GET "), 0);
    assert_int_equal(asked(server, "PATCH " SECRET) + asked(server, "PATCH " SERVICE), 0);
}

static void hosts_follow_the_job_before_new_pods(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    cleanup_free char *secret = cJSON_PrintUnformatted(object_at(server, SECRET));
    assert_string_equal(hosts_of(server), "j-w-0.j\nj-w-1.j");
    scale(server, SPEC(4, SVC_SSH_ENV), "j-w-0.j\nj-w-1.j\nj-w-2.j\nj-w-3.j", 1);
    assert_true(place_of(server, "PATCH " CONFIG_MAP) < place_of(server, "POST " PODS));
    assert_int_equal(pods_of(server), 4);
    scale(server, SPEC(1, SVC_SSH_ENV), "j-w-0.j", 1);
    assert_int_equal(pods_of(server), 1);
    scale(server, SPEC(1, SVC_SSH_ENV), "j-w-0.j", 0);
    scale(server, SPEC(0, SVC_SSH_ENV), "", 1);
    assert_int_equal(pods_of(server), 0);
    assert_phase(server, "Running");
    scale(server, SPEC(3, SVC_SSH_ENV), "j-w-0.j\nj-w-1.j\nj-w-2.j", 1);
    assert_int_equal(pods_of(server), 3);
    cleanup_free char *now = cJSON_PrintUnformatted(object_at(server, SECRET));
    assert_string_equal(now, secret);
}

/* 400 is how a webhook's refusal without a code is answered: policies change. */
static void an_object_that_a_webhook_refuses_is_waited_for(void **state)
{
    struct server *server = *state;

    server->refused = "POST /api/v1/namespaces/n/services";
    server->refusal = 400;
    submit(server, SPEC(2, "\"plugins\":{\"svc\":[]}"));
    run(server, 60000);
    assert_phase(server, "Pending");
    assert_waits(server, "PluginError", "Service j cannot be written: refused with 400");
    server->refused = NULL;
    admit(server);
    run(server, 60000);
    assert_int_equal(pods_of(server), 2);
}

static void new_pods_wait_for_the_hosts(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    server->refused = "PATCH " CONFIG_MAP;
    server->refusal = 422;
    apply(server, SPEC(4, SVC_SSH_ENV));
    run(server, 30000);
    assert_int_equal(pods_of(server), 2);
    /* The pods that run are worth more than those that cannot be. */
    assert_phase(server, "Running");
    assert_waits(server, "PluginError", "ConfigMap j-svc cannot be written");
    server->refused = NULL;
    run(server, 120000);
    assert_int_equal(pods_of(server), 4);
    assert_string_equal(hosts_of(server), "j-w-0.j\nj-w-1.j\nj-w-2.j\nj-w-3.j");
}

static void hosts_that_went_are_made_again(void **state)
{
    struct server *server = *state;

    start_job(server, SPEC(2, SVC_SSH_ENV));
    drop(server, CONFIG_MAP);
    apply(server, SPEC(3, SVC_SSH_ENV));
    run(server, 10000);
    assert_string_equal(hosts_of(server), "j-w-0.j\nj-w-1.j\nj-w-2.j");
    assert_int_equal(pods_of(server), 3);
}

/* ---- claims ------------------------------------------------------------------------------------
 */

static void a_claim_that_is_named_is_waited_for(void **state)
{
    struct server *server = *state;

    submit(server, SPEC(1, "\"volumes\":[{\"mountPath\":\"/d\",\"volumeClaimName\":\"data\"}]"));
    run(server, 2000);
    admit(server);
    run(server, 120000);
    assert_int_equal(pods_of(server), 0);
    assert_phase(server, "Pending");
    assert_waits(server, "PVCError", "data is not found");
    assert_in_range(asked(server, "GET " CLAIMS "/data"), 5, 20);
    assert_int_equal(asked(server, "POST " CLAIMS), 0);
    put(server, CLAIMS "/data", "{\"metadata\":{\"name\":\"data\"}}");
    run(server, 90000);
    assert_int_equal(pods_of(server), 1);
    assert_string_equal(note_of(server, "volume-pvc-data"), "data");
    assert_string_equal(text_at(get(status_of(server), "state"), "message"), "");
    replace_controller(server);
    assert_int_equal(server->log.n, 0);
}

static void claims_are_made_and_stay(void **state)
{
    struct server *server = *state;
    struct str path, found = STR_NULL;

    start_job(server, SPEC(1, "\"volumes\":[{\"mountPath\":\"/d\",\"volumeClaim\":{\"accessModes\":"
                              "[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":"
                              "\"1Gi\"}}}}]"));
    for (size_t i = 0; map_next(&server->objects, &i, &path, NULL);) {
        if (str_starts(path, STR(CLAIMS "/j-pvc-")))
            found = path;
    }
    assert_int_equal(asked(server, "POST " CLAIMS), 1);
    assert_true(place_of(server, "POST " CLAIMS) < place_of(server, "POST " PODS));
    cleanup_free char *at = str_dup(found);
    const cJSON *claim = object_at(server, at);
    assert_non_null(claim);
    cleanup_free char *spec = cJSON_PrintUnformatted(get(claim, "spec"));
    assert_string_equal(spec, "{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{"
                              "\"storage\":\"1Gi\"}}}");
    assert_string_equal(text_at(get(get(claim, "metadata"), "ownerReferences")->child, "uid"),
                        JOB_UID);
    cleanup_free char *key = xasprintf("volume-pvc-%s", strrchr(at, '/') + 1);
    assert_string_equal(note_of(server, key), strrchr(at, '/') + 1);
    move_pods(server, "Succeeded");
    run(server, 10000);
    assert_phase(server, "Completed");
    assert_non_null(object_at(server, at));
    assert_string_equal(note_of(server, key), strrchr(at, '/') + 1);
    assert_int_equal(asked(server, "DELETE " CLAIMS), 0);
}

/* Admission forbids it, but admission can be away. */
static void a_job_whose_volumes_change_is_taken_as_it_is(void **state)
{
    struct server *server = *state;

    submit(server, SPEC(1, "\"volumes\":[{\"mountPath\":\"/d\",\"volumeClaimName\":\"a\"},{"
                           "\"mountPath\":\"/e\",\"volumeClaimName\":\"b\"}]"));
    run(server, 2000);
    apply(server, SPEC(1, "\"volumes\":[{\"mountPath\":\"/d\",\"volumeClaimName\":\"a\"}]"));
    run(server, 2000);
    apply(server, SPEC(1, "\"minSuccess\":1"));
    run(server, 2000);
    admit(server);
    run(server, 5000);
    assert_int_equal(pods_of(server), 1);
}

/* ---- keys --------------------------------------------------------------------------------------
 */

static struct str decoded(const struct server *server, const char *key, struct buf *out)
{
    const char *value = text_at(get(object_at(server, SECRET), "data"), key);

    assert_true(base64_decode(out, str_of(value)));
    return buf_str(out);
}

static void the_secret_has_a_key_pair(void **state)
{
    struct server *server = *state;
    cleanup_buf struct buf secret = BUF_INIT(1 << 16), open = BUF_INIT(1 << 16),
                           authorized = BUF_INIT(1 << 16), config = BUF_INIT(1 << 16);

    start_job(server, SPEC(1, SVC_SSH_ENV));
    assert_true(
        str_starts(decoded(server, "id_rsa", &secret), STR("-----BEGIN RSA PRIVATE KEY-----\n")));
    assert_true(str_starts(decoded(server, "id_rsa.pub", &open), STR("ssh-rsa AAAAB3NzaC1yc2EA")));
    assert_true(str_eq(decoded(server, "authorized_keys", &authorized), buf_str(&open)));
    assert_str(decoded(server, "config", &config),
               "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nHost j-w-0\n  HostName "
               "j-w-0.j\n  Port 22\n");
}
int main(void)
{
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);

    log_set_fd(quiet);
    const struct CMUnitTest all[] = {
        cmocka_unit_test_setup_teardown(objects_are_there_before_the_first_pod, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plugin_without_objects_costs_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(an_object_of_others_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(an_object_of_an_earlier_job_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(lost_answers_make_no_second_object, setup, teardown),
        cmocka_unit_test(refusals_are_waited_for),
        cmocka_unit_test_setup_teardown(an_object_that_can_never_be_ends_the_job, setup, teardown),
        cmocka_unit_test_setup_teardown(an_object_that_a_webhook_refuses_is_waited_for, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_plugin_that_can_never_work_ends_the_job, setup, teardown),
        cmocka_unit_test_setup_teardown(hosts_follow_the_job_before_new_pods, setup, teardown),
        cmocka_unit_test_setup_teardown(new_pods_wait_for_the_hosts, setup, teardown),
        cmocka_unit_test_setup_teardown(hosts_that_went_are_made_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_claim_that_is_named_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(claims_are_made_and_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_whose_volumes_change_is_taken_as_it_is, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_secret_has_a_key_pair, setup, teardown),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
