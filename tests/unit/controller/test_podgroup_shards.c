/*
 * PodGroups of pods, by shard: those of other controllers are left alone, and come and go. Pods
 * that others write, or replace, meanwhile.
 */
#include "cluster.h"

#include "api/barepod.h"
#include "api/names.h"
#include "api/podgroup.h"
#include "controller/podgroup/podgroups.h"

#define POD "/api/v1/namespaces/n/pods/a"
#define GROUP "podgroup-a-uid"
#define JSON                                                                                       \
    "{\"metadata\":{\"uid\":\"a-uid\"},\"spec\":{\"schedulerName\":\"volcano\","                   \
    "\"containers\":[{\"name\":\"c\"}]}}"

struct scene {
    struct cluster cluster;
    struct podgroups *podgroups;
    struct podgroups_stores stores;
    struct store *pods;
    shard_set shards;
    struct window_gate gates[SHARD_COUNT];
};

static int setup(void **state)
{
    struct scene *scene = xnew(struct scene);
    struct cluster *cluster = &scene->cluster;

    cluster_setup(cluster);
    scene->stores.podgroups = cluster_follow(cluster, PATH_PODGROUPS, &podgroup_store_type);
    scene->pods = cluster_follow(cluster, PATH_PODS, &barepod_store_type);
    for (size_t i = 0; i < cluster->kinds; i++) {
        store_list_begin(cluster->stores[i]);
        store_list_end(cluster->stores[i], 100);
    }
    const struct podgroups_rules rules = {
        .inherit = true, .shards = &scene->shards, .gates = scene->gates};
    scene->podgroups = podgroups_new(cluster->loop, cluster->window, &scene->stores, &rules);
    podgroups_add_pods(scene->podgroups, scene->pods);
    podgroups_set_leading(scene->podgroups, true);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;

    podgroups_free(scene->podgroups);
    for (int i = 0; i < SHARD_COUNT; i++)
        window_clear_gate(scene->cluster.window, &scene->gates[i]);
    cluster_teardown(&scene->cluster);
    free(scene);
    return 0;
}

static shard_set ours(void)
{
    return UINT64_C(1) << shard_of("n", GROUP);
}

static void adopt(struct scene *scene)
{
    scene->shards |= ours();
    window_open_gate(scene->cluster.window, &scene->gates[shard_of("n", GROUP)]);
    podgroups_adopt(scene->podgroups, ours());
}

static void let_go(struct scene *scene)
{
    scene->shards &= ~ours();
    window_close_gate(scene->cluster.window, &scene->gates[shard_of("n", GROUP)]);
    podgroups_let_go(scene->podgroups, ours());
}

static const char *group_of_pod(struct scene *scene)
{
    const cJSON *meta = json_at(cluster_get(&scene->cluster, POD), "metadata");

    return json_text(json_at(meta, "annotations"), KEY_GROUP_NAME);
}

static int requests(struct scene *scene)
{
    return cluster_count(&scene->cluster, "POST") + cluster_count(&scene->cluster, "PATCH");
}

static void groups_of_others_are_left_alone(void **state)
{
    struct scene *scene = *state;

    scene->shards = ~ours();
    cluster_put(&scene->cluster, POD, JSON);
    cluster_run(&scene->cluster, 60000);
    assert_int_equal(requests(scene), 0);
    adopt(scene);
    cluster_run(&scene->cluster, 1000);
    assert_int_equal(requests(scene), 2);
    assert_string_equal(group_of_pod(scene), GROUP);
}

static void what_was_let_go_is_done_by_nobody_here(void **state)
{
    struct scene *scene = *state;

    adopt(scene);
    cluster_put(&scene->cluster, POD, JSON);
    cluster_run(&scene->cluster, 1000);
    let_go(scene);
    cluster_put(&scene->cluster, POD, JSON); /* without its annotation */
    cluster_run(&scene->cluster, 60000);
    assert_int_equal(requests(scene), 2);
    assert_string_equal(group_of_pod(scene), "");
    adopt(scene);
    cluster_run(&scene->cluster, 1000);
    assert_int_equal(requests(scene), 3); /* the group is there */
    assert_string_equal(group_of_pod(scene), GROUP);
}

static void what_is_in_flight_is_left_to_end(void **state)
{
    struct scene *scene = *state;
    const struct window_gate *gate = &scene->gates[shard_of("n", GROUP)];

    scene->cluster.fake->latency_ns = NSEC_PER_SEC;
    adopt(scene);
    cluster_put(&scene->cluster, POD, JSON);
    cluster_run(&scene->cluster, 100);
    assert_int_equal(gate->inflight, 1);
    let_go(scene);
    assert_int_equal(gate->inflight, 1);
    cluster_run(&scene->cluster, 5000);
    assert_int_equal(gate->inflight, 0);
    assert_int_equal(requests(scene), 1);
    adopt(scene);
    cluster_run(&scene->cluster, 5000);
    assert_int_equal(cluster_count(&scene->cluster, "POST"), 1);
    assert_string_equal(group_of_pod(scene), GROUP);
}

static int refuse_the_first_patch(struct cluster *cluster, const struct kube_call_spec *spec)
{
    return spec->method == KUBE_PATCH && cluster_count(cluster, "PATCH") == 0 ? 409 : 0;
}

/* The API server tries a patch a few times and gives up where others write the pod all the time. */
static void a_pod_that_others_write_is_not_given_up(void **state)
{
    struct scene *scene = *state;

    adopt(scene);
    scene->cluster.fault = refuse_the_first_patch;
    cluster_put(&scene->cluster, POD, JSON);
    cluster_run(&scene->cluster, 5000);
    assert_string_equal(group_of_pod(scene), GROUP);
    assert_int_equal(cluster_count(&scene->cluster, "PATCH"), 2);
}

static void a_pod_that_was_replaced_is_left_at_once(void **state)
{
    struct scene *scene = *state;

    adopt(scene);
    scene->cluster.fake->latency_ns = NSEC_PER_SEC;
    cluster_put(&scene->cluster, POD, JSON);
    scene->cluster.silent = true;
    cluster_remove(&scene->cluster, POD);
    cluster_put(&scene->cluster, POD,
                "{\"metadata\":{\"uid\":\"b-uid\"},\"spec\":{\"schedulerName\":\"volcano\","
                "\"containers\":[{\"name\":\"c\"}]}}");
    cluster_run(&scene->cluster, 30000);
    assert_int_equal(cluster_count(&scene->cluster, "PATCH"), 1);
    assert_string_equal(group_of_pod(scene), "");
    scene->cluster.silent = false;
    scene->shards = SHARDS_ALL;
    cluster_touch(&scene->cluster, POD);
    cluster_run(&scene->cluster, 5000);
    assert_string_equal(group_of_pod(scene), "podgroup-b-uid");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(groups_of_others_are_left_alone),
        TEST(what_was_let_go_is_done_by_nobody_here),
        TEST(what_is_in_flight_is_left_to_end),
        TEST(a_pod_that_others_write_is_not_given_up),
        TEST(a_pod_that_was_replaced_is_left_at_once),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
