/*
 * Every member of what is made for a job: its PodGroup and its pods, whole, as the API has them;
 * and what becomes of a PodGroup that others change, delete or make.
 */
#include "play.h"

#define OWNER                                                                                      \
    "\"ownerReferences\":[{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\","         \
    "\"name\":\"j\",\"uid\":\"" JOB_UID "\",\"controller\":true,\"blockOwnerDeletion\":true}]"

/* Creates the job "j" with labels, annotations and all. */
static void submit(struct server *server, const char *text)
{
    (void)server_put(server, SERVER_JOBS, json_parse(str_of(text)), JOB_UID);
}

/* The object but for what the API server adds. */
static void assert_object(const cJSON *object, const char *wanted)
{
    cJSON *is = cJSON_Duplicate(object, true), *meta = json_at(is, "metadata");
    cJSON *should = json_parse(str_of(wanted));

    assert_non_null(object);
    cJSON_DeleteItemFromObjectCaseSensitive(meta, "uid");
    cJSON_DeleteItemFromObjectCaseSensitive(meta, "resourceVersion");
    cJSON_DeleteItemFromObjectCaseSensitive(meta, "creationTimestamp");
    cJSON_DeleteItemFromObjectCaseSensitive(is, "status");
    if (!cJSON_Compare(is, should, true)) {
        cleanup_free char *left = json_print(is), *right = json_print(should);
        fail_msg("%s\nshould be\n%s", left, right);
    }
    cJSON_Delete(is);
    cJSON_Delete(should);
}

static const cJSON *group(struct server *server)
{
    return server_get(server, SERVER_GROUPS, GROUP_NAME);
}

static const cJSON *group_spec(struct server *server)
{
    return json_at(group(server), "spec");
}

/* ---- the PodGroup -----------------------------------------------------------------------------
 */

static const char full_job[] =
    "{\"metadata\":{\"name\":\"j\",\"generation\":1,\"labels\":{\"team\":\"red\"},\"annotations\":{"
    "\"note\":\"a \\\"b\\\"\",\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\"}},"
    "\"spec\":{\"schedulerName\":\"volcano\",\"queue\":\"gold\",\"priorityClassName\":\"high\","
    "\"minAvailable\":5,\"networkTopology\":{\"mode\":\"hard\",\"highestTierAllowed\":2},"
    "\"tasks\":["
    "{\"name\":\"ps\",\"replicas\":2,\"minAvailable\":1,\"template\":{\"spec\":{\"containers\":[{"
    "\"name\":\"m\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}},"
    "{\"name\":\"cut\",\"replicas\":8,\"partitionPolicy\":{\"totalPartitions\":4,"
    "\"partitionSize\":2,\"minPartitions\":2,\"networkTopology\":{\"mode\":\"soft\","
    "\"highestTierName\":\"rack\"}},\"template\":{\"spec\":{\"containers\":[{\"name\":\"m\","
    "\"resources\":{\"requests\":{\"cpu\":\"500m\"}}}]}}},"
    "{\"name\":\"loose\",\"replicas\":4,\"minAvailable\":0,\"partitionPolicy\":{"
    "\"totalPartitions\":2,\"partitionSize\":2},\"template\":{\"spec\":{\"containers\":[{"
    "\"name\":\"m\"}]}}}]}}";

static const char full_group[] =
    "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{"
    "\"name\":\"" GROUP_NAME "\",\"namespace\":\"n\",\"labels\":{\"team\":\"red\"},"
    "\"annotations\":{\"note\":\"a \\\"b\\\"\",\"volcano.sh/job-version\":\"0\"}," OWNER "},"
    "\"spec\":{\"minMember\":5,\"minTaskMember\":{\"ps\":1,\"cut\":4,\"loose\":0},"
    "\"queue\":\"gold\",\"priorityClassName\":\"high\",\"networkTopology\":{\"mode\":\"hard\","
    "\"highestTierAllowed\":2},\"minResources\":{\"pods\":\"5\",\"count/pods\":\"5\","
    "\"cpu\":\"3500m\",\"requests.cpu\":\"3500m\"},\"subGroupPolicy\":["
    "{\"name\":\"cut\",\"subGroupSize\":2,\"minSubGroups\":2,\"labelSelector\":{\"matchLabels\":{"
    "\"volcano.sh/task-spec\":\"cut\"}},\"matchLabelKeys\":[\"volcano.sh/partition-id\"],"
    "\"networkTopology\":{\"mode\":\"soft\",\"highestTierName\":\"rack\"}},"
    "{\"name\":\"loose\",\"subGroupSize\":2,\"minSubGroups\":0,\"labelSelector\":{\"matchLabels\":{"
    "\"volcano.sh/task-spec\":\"loose\"}},\"matchLabelKeys\":[\"volcano.sh/partition-id\"]}]}}";

static void a_group_has_everything_of_its_job(void **state)
{
    struct server *server = *state;

    submit(server, full_job);
    run(server, 2000);
    assert_object(group(server), full_group);
    assert_int_equal(server->group_posts, 1);
}

static void a_plain_job_has_a_plain_group(void **state)
{
    struct server *server = *state;

    play_job(server, SPEC(2, 2));
    run(server, 2000);
    assert_object(
        group(server),
        "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{"
        "\"name\":\"" GROUP_NAME "\",\"namespace\":\"n\",\"labels\":{},\"annotations\":{"
        "\"volcano.sh/job-version\":\"0\"}," OWNER "},\"spec\":{\"minMember\":2,\"minTaskMember\":{"
        "\"w\":2},\"queue\":\"default\",\"minResources\":{\"pods\":\"2\",\"count/pods\":\"2\"}}}");
}

/* Labels and annotations are those of the moment; what they become later is not the group's. */
static void labels_of_a_group_are_not_refreshed(void **state)
{
    struct server *server = *state;

    submit(server, full_job);
    run(server, 2000);
    cJSON *job = server_get(server, SERVER_JOBS, "j");
    json_set(json_at(json_at(job, "metadata"), "labels"), "team", cJSON_CreateString("blue"));
    json_set(json_at(json_at(job, "metadata"), "annotations"), "more", cJSON_CreateString("x"));
    server_touch(server, SERVER_JOBS, job);
    run(server, 60000);
    assert_object(group(server), full_group);
    assert_int_equal(server->group_patches, 0);
}

/* Somebody edits what follows the job: it is put right once, the rest stays as it was edited. */
static void a_group_that_was_edited_is_put_right(void **state)
{
    struct server *server = *state;

    submit(server, full_job);
    run(server, 2000);
    cJSON *spec = json_at(server_get(server, SERVER_GROUPS, GROUP_NAME), "spec");
    json_set(spec, "minMember", cJSON_CreateNumber(1));
    json_set(json_at(spec, "minTaskMember"), "cut", cJSON_CreateNumber(8));
    json_set(json_at(spec, "minResources"), "memory", cJSON_CreateString("1Gi"));
    json_set(spec, "queue", cJSON_CreateString("silver"));
    json_set(spec, "priorityClassName", cJSON_CreateString("low"));
    server_touch(server, SERVER_GROUPS, server_get(server, SERVER_GROUPS, GROUP_NAME));
    run(server, 60000);
    assert_int_equal(server->group_patches, 1);
    assert_string_equal(json_text(group_spec(server), "queue"), "silver");
    json_set(spec, "queue", cJSON_CreateString("gold"));
    assert_object(group(server), full_group);
}

/* The amounts are compared, not how they are written. */
static void an_amount_that_is_written_otherwise_is_the_same(void **state)
{
    struct server *server = *state;

    submit(server, full_job);
    run(server, 2000);
    cJSON *spec = json_at(server_get(server, SERVER_GROUPS, GROUP_NAME), "spec");
    json_set(json_at(spec, "minResources"), "cpu", cJSON_CreateString("3.5"));
    server_touch(server, SERVER_GROUPS, server_get(server, SERVER_GROUPS, GROUP_NAME));
    run(server, 60000);
    assert_int_equal(server->group_patches, 0);
}

static void a_group_that_was_deleted_is_made_again(void **state)
{
    struct server *server = *state;

    play_start(server, SPEC(2, 2));
    server_remove(server, SERVER_GROUPS, GROUP_NAME);
    run(server, 5000);
    assert_non_null(group(server));
    assert_int_equal(server->group_posts, 2);
    assert_string_equal(play_phase(server), "Running");
    assert_int_equal(server->pod_posts, 2);
}

static bool lost;

/* The first POST of a PodGroup is answered by a gateway, after the server has taken it. */
static int lose_answer(struct server *server, const struct kube_call_spec *spec)
{
    static const char status[] = ",\"status\":{\"phase\":\"Inqueue\"}}";

    if (lost || spec->method != KUBE_POST || !has(spec->path, "/podgroups"))
        return 0;
    lost = true;
    cleanup_free char *text = xasprintf("%.*s%s", (int)spec->body.n - 1, spec->body.p, status);
    cJSON *made = json_parse(str_of(text));
    map_set(&server->objects[SERVER_GROUPS], STR(GROUP_NAME), made);
    json_set(json_at(made, "metadata"), "uid", cJSON_CreateString("made-once"));
    json_set(json_at(made, "metadata"), "resourceVersion", cJSON_CreateString("150"));
    return 504;
}

static void a_group_that_was_made_after_all_is_found(void **state)
{
    struct server *server = *state;

    lost = false;
    server->fault = lose_answer;
    server->pod_phase = "Running";
    play_job(server, SPEC(2, 2));
    run(server, 20000);
    assert_true(lost);
    assert_string_equal(json_text(json_at(group(server), "metadata"), "uid"), "made-once");
    assert_string_equal(play_phase(server), "Running");
    assert_string_equal(play_message(server), "");
    assert_int_equal(play_lines(&server->said, "PodGroupError"), 1); /* of the gateway */
    assert_int_equal(server->group_posts, 1);
}

/* A PodGroup of our name that is somebody else's: the job waits and says so. */
static void a_group_of_others_is_waited_for(void **state)
{
    struct server *server = *state;

    (void)server_put(server, SERVER_GROUPS,
                     json_parse(STR("{\"metadata\":{\"name\":\"" GROUP_NAME "\"},\"spec\":{"
                                    "\"minMember\":1},\"status\":{\"phase\":\"Running\"}}")),
                     "other");
    server->group_phase = "Inqueue";
    server->pod_phase = "Running";
    play_job(server, SPEC(2, 2));
    run(server, 60000);
    assert_int_equal(server->pod_posts + server->group_patches + server->group_deletes, 0);
    assert_string_equal(play_phase(server), "Pending");
    assert_true(has(str_of(play_message(server)), "does not belong to this job"));
    server_remove(server, SERVER_GROUPS, GROUP_NAME);
    run(server, 120000);
    assert_string_equal(play_phase(server), "Running");
    assert_string_equal(play_message(server), "");
}

/* ---- pods -------------------------------------------------------------------------------------
 */

static const char pods_job[] =
    "{\"metadata\":{\"name\":\"j\",\"generation\":1,\"labels\":{\"volcano.sh/preemptable\":\"no\","
    "\"volcano.sh/cooldown-time\":\"1m\",\"volcano.sh/revocable-zone\":\"a label\",\"x\":\"y\"},"
    "\"annotations\":{\"volcano.sh/preemptable\":\"true\",\"volcano.sh/cooldown-time\":\"60s\","
    "\"volcano.sh/revocable-zone\":\"rz1\",\"volcano.sh/jdb-min-available\":\"2\","
    "\"volcano.sh/jdb-max-unavailable\":\"1\",\"x\":\"y\"}},"
    "\"spec\":{\"schedulerName\":\"volcano\",\"queue\":\"gold\",\"priorityClassName\":\"high\","
    "\"minAvailable\":1,\"tasks\":[{\"name\":\"cut\",\"replicas\":5,\"topologyPolicy\":"
    "\"restricted\",\"partitionPolicy\":{\"totalPartitions\":3,\"partitionSize\":2},"
    "\"template\":{\"metadata\":{\"name\":\"mine\",\"namespace\":\"elsewhere\",\"labels\":{"
    "\"app\":\"a\"},\"annotations\":{\"why\":\"w\"},\"finalizers\":[\"x/y\"]},"
    "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"m\",\"image\":\"i\"}]}}}]}}";

static const char whole_pod[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"j-cut-3\","
    "\"namespace\":\"n\",\"labels\":{\"app\":\"a\",\"volcano.sh/task-index\":\"3\","
    "\"volcano.sh/job-name\":\"j\",\"volcano.sh/task-spec\":\"cut\","
    "\"volcano.sh/job-namespace\":\"n\",\"volcano.sh/queue-name\":\"gold\","
    "\"volcano.sh/partition-id\":\"1\",\"volcano.sh/preemptable\":\"no\","
    "\"volcano.sh/cooldown-time\":\"1m\"},\"annotations\":{\"why\":\"w\","
    "\"volcano.sh/task-index\":\"3\",\"volcano.sh/task-spec\":\"cut\","
    "\"scheduling.k8s.io/group-name\":\"" GROUP_NAME "\",\"volcano.sh/job-name\":\"j\","
    "\"volcano.sh/queue-name\":\"gold\",\"volcano.sh/job-version\":\"0\","
    "\"volcano.sh/template-uid\":\"j-cut\",\"volcano.sh/job-retry-count\":\"0\","
    "\"volcano.sh/numa-topology-policy\":\"restricted\",\"volcano.sh/preemptable\":\"true\","
    "\"volcano.sh/cooldown-time\":\"60s\",\"volcano.sh/revocable-zone\":\"rz1\","
    "\"volcano.sh/jdb-min-available\":\"2\"},\"finalizers\":[\"x/y\"]," OWNER "},"
    "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"m\",\"image\":\"i\"}],"
    "\"schedulerName\":\"volcano\",\"priorityClassName\":\"high\"}}";

static void a_pod_has_everything_of_its_job_and_task(void **state)
{
    struct server *server = *state;

    server->group_phase = "Inqueue";
    submit(server, pods_job);
    run(server, 2000);
    assert_int_equal(play_pod_count(server), 5);
    assert_object(server_get(server, SERVER_PODS, "j-cut-3"), whole_pod);
}

static const char *annotation(struct server *server, const char *pod, const char *key)
{
    const cJSON *meta = json_at(server_get(server, SERVER_PODS, pod), "metadata");

    return json_text(json_at(meta, "annotations"), key);
}

static const char *label(struct server *server, const char *pod, const char *key)
{
    const cJSON *meta = json_at(server_get(server, SERVER_PODS, pod), "metadata");

    return json_text(json_at(meta, "labels"), key);
}

/* Of the two limits of disruption the second counts where the first is not given. */
static void a_pod_without_a_minimum_has_the_maximum(void **state)
{
    struct server *server = *state;

    server->group_phase = "Inqueue";
    submit(server, "{\"metadata\":{\"name\":\"j\",\"generation\":1,\"annotations\":{"
                   "\"volcano.sh/jdb-max-unavailable\":\"1\"}},\"spec\":" SPEC(1, 1) "}");
    run(server, 2000);
    assert_string_equal(annotation(server, "j-w-0", KEY_JDB_MAX_UNAVAILABLE), "1");
    assert_string_equal(annotation(server, "j-w-0", KEY_JDB_MIN_AVAILABLE), "");
    assert_string_equal(annotation(server, "j-w-0", KEY_NUMA_POLICY), "");
    assert_string_equal(label(server, "j-w-0", KEY_PARTITION_ID), "");
    assert_string_equal(label(server, "j-w-0", KEY_PREEMPTABLE), "");
}

/* Index divided by size; the last partition may be short. */
static void partitions_are_numbered_by_index(void **state)
{
    static const char *const ids[] = {"0", "0", "1", "1", "2"};
    struct server *server = *state;

    server->group_phase = "Inqueue";
    submit(server, pods_job);
    run(server, 2000);
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        cleanup_free char *name = xasprintf("j-cut-%zu", i);
        assert_string_equal(label(server, name, KEY_PARTITION_ID), ids[i]);
        assert_string_equal(annotation(server, name, KEY_PARTITION_ID), "");
    }
}

int main(void)
{
    server_quiet();
#define TEST(name) cmocka_unit_test_setup_teardown(name, server_setup, server_teardown)
    const struct CMUnitTest all[] = {
        TEST(a_group_has_everything_of_its_job),
        TEST(a_plain_job_has_a_plain_group),
        TEST(labels_of_a_group_are_not_refreshed),
        TEST(a_group_that_was_edited_is_put_right),
        TEST(an_amount_that_is_written_otherwise_is_the_same),
        TEST(a_group_that_was_deleted_is_made_again),
        TEST(a_group_that_was_made_after_all_is_found),
        TEST(a_group_of_others_is_waited_for),
        TEST(a_pod_has_everything_of_its_job_and_task),
        TEST(a_pod_without_a_minimum_has_the_maximum),
        TEST(partitions_are_numbered_by_index),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
