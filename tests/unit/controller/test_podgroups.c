/*
 * PodGroups of pods that no job of ours made.
 */
#include "cluster.h"

#include "api/barepod.h"
#include "api/names.h"
#include "api/workload.h"
#include "controller/podgroup/podgroups.h"

#define POD(name) "/api/v1/namespaces/n/pods/" name
#define GROUP(name) "/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups/podgroup-" name
#define POST_GROUP "POST /apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups "
#define OWNED                                                                                      \
    "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"rs\","    \
    "\"uid\":\"u1\",\"controller\":true}]"
#define SPEC                                                                                       \
    "\"spec\":{\"schedulerName\":\"volcano\",\"priorityClassName\":\"high\",\"containers\":[{"     \
    "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"500m\"},\"limits\":{\"cpu\":\"1\"}}}]}"

struct scene {
    struct cluster cluster;
    struct podgroups *podgroups;
};

static int setup(void **state)
{
    struct scene *scene = xnew(struct scene);
    struct cluster *cluster = &scene->cluster;

    cluster_setup(cluster);
    const struct podgroups_stores stores = {
        .pods = cluster_follow(cluster, PATH_PODS, &barepod_store_type),
        .podgroups = cluster_follow(cluster, PATH_PODGROUPS, &podgroup_store_type),
        .replicasets = cluster_follow(cluster, PATH_REPLICASETS, &replicaset_store_type),
        .statefulsets = cluster_follow(cluster, PATH_STATEFULSETS, &statefulset_store_type),
        .daemonsets = cluster_follow(cluster, PATH_DAEMONSETS, &daemonset_store_type),
        .jobs = cluster_follow(cluster, PATH_BATCH_JOBS, &batch_job_store_type),
    };
    for (size_t i = 0; i < cluster->kinds; i++) {
        store_list_begin(cluster->stores[i]);
        store_list_end(cluster->stores[i], 100);
    }
    scene->podgroups = podgroups_new(cluster->loop, cluster->window, &stores);
    podgroups_set_leading(scene->podgroups, true);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;

    podgroups_free(scene->podgroups);
    cluster_teardown(&scene->cluster);
    free(scene);
    return 0;
}

static const char *group_of(struct scene *scene, const char *pod)
{
    const cJSON *meta = json_at(cluster_get(&scene->cluster, pod), "metadata");

    return json_text(json_at(meta, "annotations"), KEY_GROUP_NAME);
}

static void a_bare_pod_gets_a_group_of_its_own(void **state)
{
    struct scene *scene = *state;

    cluster_put(
        &scene->cluster, POD("p"),
        "{\"metadata\":{\"uid\":\"u0\",\"annotations\":{\"scheduling.volcano.sh/queue-name\":"
        "\"q\",\"volcano.sh/preemptable\":\"true\",\"volcano.sh/network-topology-mode\":"
        "\"Soft\",\"volcano.sh/network-topology-highest-tier\":\"2\",\"mine\":\"x\"}}," SPEC "}");
    cluster_run(&scene->cluster, 1000);
    assert_string_equal(group_of(scene, POD("p")), "podgroup-u0");
    const cJSON *group = cluster_get(&scene->cluster, GROUP("u0"));
    assert_non_null(group);
    cleanup_free char *spec = json_print(json_at(group, "spec"));
    assert_string_equal(
        spec, "{\"minMember\":1,\"queue\":\"q\",\"priorityClassName\":\"high\",\"minResources\":{"
              "\"count/pods\":\"1\",\"cpu\":\"500m\",\"limits.cpu\":\"1\",\"pods\":\"1\","
              "\"requests.cpu\":\"500m\"},\"networkTopology\":{\"mode\":\"soft\","
              "\"highestTierAllowed\":2}}");
    const cJSON *meta = json_at(group, "metadata");
    cleanup_free char *notes = json_print(json_at(meta, "annotations"));
    cleanup_free char *owners = json_print(json_at(meta, "ownerReferences"));
    assert_string_equal(notes, "{\"volcano.sh/preemptable\":\"true\"}");
    assert_string_equal(owners, "[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\","
                                "\"uid\":\"u0\",\"controller\":true}]");
    assert_string_equal(json_text(json_at(group, "status"), "phase"), "Pending");
    assert_int_equal(scene->cluster.fake->requests, 2);
}

static void pods_of_one_owner_share_a_group(void **state)
{
    struct scene *scene = *state;

    cluster_put(
        &scene->cluster, "/apis/apps/v1/namespaces/n/replicasets/rs",
        "{\"metadata\":{\"uid\":\"u1\",\"annotations\":{\"volcano.sh/preemptable\":\"false\","
        "\"volcano.sh/other\":\"y\",\"deployment.kubernetes.io/revision\":\"1\","
        "\"scheduling.volcano.sh/group-min-member\":\"3\"}}}");
    cluster_put(&scene->cluster, POD("a"),
                "{\"metadata\":{" OWNED
                ",\"annotations\":{\"volcano.sh/preemptable\":\"true\"}}," SPEC "}");
    cluster_put(&scene->cluster, POD("b"), "{\"metadata\":{" OWNED "}," SPEC "}");
    cluster_put(&scene->cluster, POD("c"), "{\"metadata\":{" OWNED "}," SPEC "}");
    cluster_run(&scene->cluster, 2000);
    assert_int_equal(cluster_count(&scene->cluster, POST_GROUP), 1);
    assert_int_equal(scene->cluster.fake->requests, 4);
    assert_string_equal(group_of(scene, POD("c")), "podgroup-u1");
    const cJSON *group = cluster_get(&scene->cluster, GROUP("u1"));
    assert_int_equal(json_number(json_at(group, "spec"), "minMember"), 3);
    assert_string_equal(json_text(json_at(json_at(group, "spec"), "minResources"), "cpu"), "1500m");
    cleanup_free char *notes = json_print(json_at(json_at(group, "metadata"), "annotations"));
    assert_string_equal(notes, "{\"volcano.sh/preemptable\":\"true\",\"volcano.sh/other\":\"y\"}");
}

static void an_owner_that_is_told_late_is_waited_for(void **state)
{
    struct scene *scene = *state;

    cluster_put(&scene->cluster, POD("a"), "{\"metadata\":{" OWNED "}," SPEC "}");
    cluster_run(&scene->cluster, 2000);
    assert_int_equal(scene->cluster.fake->requests, 0);
    cluster_put(&scene->cluster, "/apis/apps/v1/namespaces/n/replicasets/rs",
                "{\"metadata\":{\"uid\":\"u1\",\"annotations\":{"
                "\"scheduling.volcano.sh/group-min-member\":\"2\"}}}");
    cluster_run(&scene->cluster, 1000);
    assert_int_equal(
        json_number(json_at(cluster_get(&scene->cluster, GROUP("u1")), "spec"), "minMember"), 2);
}

static void an_owner_that_never_comes_is_done_without(void **state)
{
    struct scene *scene = *state;

    cluster_put(&scene->cluster, POD("a"), "{\"metadata\":{" OWNED "}," SPEC "}");
    cluster_run(&scene->cluster, 7000);
    assert_string_equal(group_of(scene, POD("a")), "podgroup-u1");
}

static void what_has_a_group_or_ended_is_left_alone(void **state)
{
    struct scene *scene = *state;

    cluster_put(&scene->cluster, POD("a"),
                "{\"metadata\":{\"annotations\":{\"scheduling.k8s.io/group-name\":\"g\"}}," SPEC
                "}");
    cluster_put(&scene->cluster, POD("b"), "{" SPEC ",\"status\":{\"phase\":\"Succeeded\"}}");
    cluster_run(&scene->cluster, 60000);
    assert_int_equal(scene->cluster.fake->requests, 0);
}

static void a_group_that_is_there_is_not_changed(void **state)
{
    struct scene *scene = *state;

    cluster_put(&scene->cluster, GROUP("u0"), "{\"spec\":{\"minMember\":7,\"queue\":\"users\"}}");
    cluster_put(&scene->cluster, POD("p"), "{\"metadata\":{\"uid\":\"u0\"}," SPEC "}");
    cluster_run(&scene->cluster, 1000);
    assert_string_equal(group_of(scene, POD("p")), "podgroup-u0");
    assert_int_equal(scene->cluster.fake->requests, 1);
}

static int refuse_posts(struct cluster *cluster, const struct kube_call_spec *spec)
{
    (void)cluster;
    return spec->method == KUBE_POST ? 500 : 0;
}

static void refusals_are_tried_again_until_they_heal(void **state)
{
    struct scene *scene = *state;

    scene->cluster.fault = refuse_posts;
    cluster_put(&scene->cluster, POD("a"), "{\"metadata\":{" OWNED "}," SPEC "}");
    cluster_put(&scene->cluster, POD("b"), "{\"metadata\":{" OWNED "}," SPEC "}");
    cluster_run(&scene->cluster, 120000);
    assert_in_range(cluster_count(&scene->cluster, POST_GROUP), 5, 40);
    cluster_remove(&scene->cluster, POD("a"));
    scene->cluster.fault = NULL;
    cluster_run(&scene->cluster, 60000);
    assert_string_equal(group_of(scene, POD("b")), "podgroup-u1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_bare_pod_gets_a_group_of_its_own),
        TEST(pods_of_one_owner_share_a_group),
        TEST(an_owner_that_is_told_late_is_waited_for),
        TEST(an_owner_that_never_comes_is_done_without),
        TEST(what_has_a_group_or_ended_is_left_alone),
        TEST(a_group_that_is_there_is_not_changed),
        TEST(refusals_are_tried_again_until_they_heal),
    };

    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
