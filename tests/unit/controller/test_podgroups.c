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
    struct podgroups_stores stores;
    struct store *pods;
};

static void begin(struct scene *scene, bool inherit, bool follow)
{
    scene->podgroups =
        podgroups_new(scene->cluster.loop, scene->cluster.window, &scene->stores,
                      &(struct podgroups_rules){.inherit = inherit, .follow = follow});
    podgroups_add_pods(scene->podgroups, scene->pods);
    podgroups_set_leading(scene->podgroups, true);
}

static int setup(void **state)
{
    struct scene *scene = xnew(struct scene);
    struct cluster *cluster = &scene->cluster;

    cluster_setup(cluster);
    scene->stores = (struct podgroups_stores){
        .podgroups = cluster_follow(cluster, PATH_PODGROUPS, &podgroup_store_type),
        .replicasets = cluster_follow(cluster, PATH_REPLICASETS, &replicaset_store_type),
        .statefulsets = cluster_follow(cluster, PATH_STATEFULSETS, &statefulset_store_type),
        .daemonsets = cluster_follow(cluster, PATH_DAEMONSETS, &daemonset_store_type),
        .jobs = cluster_follow(cluster, PATH_BATCH_JOBS, &batch_job_store_type),
    };
    scene->pods = cluster_follow(cluster, PATH_PODS, &barepod_store_type);
    for (size_t i = 0; i < cluster->kinds; i++) {
        store_list_begin(cluster->stores[i]);
        store_list_end(cluster->stores[i], 100);
    }
    begin(scene, true, true);
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

/* With the settings that were taken over shortened to "...". */
static char *annotations_of(const cJSON *object)
{
    cJSON *notes = cJSON_Duplicate(json_at(json_at(object, "metadata"), "annotations"), true);

    if (json_at(notes, KEY_APPLIED_SETTINGS))
        json_set(notes, KEY_APPLIED_SETTINGS, cJSON_CreateString("..."));
    char *text = json_print(notes);
    cJSON_Delete(notes);
    return text;
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
    cleanup_free char *notes = annotations_of(group);
    cleanup_free char *owners = json_print(json_at(meta, "ownerReferences"));
    assert_string_equal(
        notes, "{\"volcano.sh/preemptable\":\"true\",\"volcano.sh/applied-settings\":\"...\"}");
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
    cluster_put(&scene->cluster, POD("a"), "{\"metadata\":{" OWNED "}," SPEC "}");
    cluster_put(&scene->cluster, POD("b"), "{\"metadata\":{" OWNED "}," SPEC "}");
    cluster_put(&scene->cluster, POD("c"),
                "{\"metadata\":{" OWNED
                ",\"annotations\":{\"volcano.sh/preemptable\":\"true\"}}," SPEC "}");
    cluster_run(&scene->cluster, 2000);
    assert_int_equal(cluster_count(&scene->cluster, POST_GROUP), 1);
    assert_int_equal(scene->cluster.fake->requests, 4);
    assert_string_equal(group_of(scene, POD("c")), "podgroup-u1");
    const cJSON *group = cluster_get(&scene->cluster, GROUP("u1"));
    assert_int_equal(json_number(json_at(group, "spec"), "minMember"), 3);
    assert_string_equal(json_text(json_at(json_at(group, "spec"), "minResources"), "cpu"), "1500m");
    cleanup_free char *notes = annotations_of(group);
    assert_string_equal(notes, "{\"volcano.sh/preemptable\":\"true\",\"volcano.sh/other\":\"y\","
                               "\"volcano.sh/applied-settings\":\"...\"}");
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

/* What is put on a pod, and what comes of it. */
static void everything_a_pod_may_say(void **state)
{
    static const struct {
        const char *labels, *annotations; /* of the pod */
        const char *group_labels, *group_annotations, *topology;
    } rows[] = {
        {"\"volcano.sh/cooldown-time\":\"60s\",\"a\":\"b\"",
         "\"volcano.sh/cooldown-time\":\"30s\",\"volcano.sh/revocable-zone\":\"*\",\"c\":\"d\"",
         "{\"volcano.sh/cooldown-time\":\"60s\"}",
         "{\"volcano.sh/cooldown-time\":\"30s\",\"volcano.sh/revocable-zone\":\"*\","
         "\"volcano.sh/applied-settings\":\"...\"}",
         NULL},
        {"\"volcano.sh/preemptable\":\"true\"",
         "\"volcano.sh/jdb-max-unavailable\":\"2\",\"volcano.sh/jdb-min-available\":\"1\"",
         "{\"volcano.sh/preemptable\":\"true\"}",
         "{\"volcano.sh/jdb-min-available\":\"1\",\"volcano.sh/applied-settings\":\"...\"}", NULL},
        {"", "\"volcano.sh/jdb-max-unavailable\":\"2\"", "{}",
         "{\"volcano.sh/jdb-max-unavailable\":\"2\",\"volcano.sh/applied-settings\":\"...\"}",
         NULL},
        {"", "\"volcano.sh/network-topology-mode\":\"SOFT\"", "{}",
         "{\"volcano.sh/applied-settings\":\"...\"}", "{\"mode\":\"soft\"}"},
        {"", "\"volcano.sh/network-topology-mode\":\"firm\"", "{}",
         "{\"volcano.sh/applied-settings\":\"...\"}", "{\"mode\":\"hard\"}"},
        {"", "\"volcano.sh/network-topology-highest-tier\":\"3\"", "{}",
         "{\"volcano.sh/applied-settings\":\"...\"}",
         "{\"mode\":\"hard\",\"highestTierAllowed\":3}"},
    };
    struct scene *scene = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        cleanup_free char *text = xasprintf(
            "{\"metadata\":{\"uid\":\"u0\",\"labels\":{%s},\"annotations\":{%s}}," SPEC "}",
            rows[i].labels, rows[i].annotations);
        cluster_put(&scene->cluster, POD("p"), text);
        cluster_run(&scene->cluster, 1000);
        const cJSON *group = cluster_get(&scene->cluster, GROUP("u0"));
        cleanup_free char *labels = json_print(json_at(json_at(group, "metadata"), "labels"));
        cleanup_free char *notes = annotations_of(group);
        assert_string_equal(labels, rows[i].group_labels);
        assert_string_equal(notes, rows[i].group_annotations);
        const cJSON *topology = json_at(json_at(group, "spec"), "networkTopology");
        cleanup_free char *told = topology ? json_print(topology) : NULL;
        assert_int_equal(told != NULL, rows[i].topology != NULL);
        if (told)
            assert_string_equal(told, rows[i].topology);
        cluster_remove(&scene->cluster, POD("p"));
        cluster_remove(&scene->cluster, GROUP("u0"));
    }
}

static void only_whole_minimums_count(void **state)
{
    static const struct {
        const char *text;
        int minimum;
    } rows[] = {{"0", 0}, {"7", 7}, {"-1", 1}, {"two", 1}, {"", 1}, {"99999999999", 1}};
    struct scene *scene = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        cleanup_free char *owner = xasprintf("{\"metadata\":{\"uid\":\"u1\",\"annotations\":{"
                                             "\"scheduling.volcano.sh/group-min-member\":\"%s\"}}}",
                                             rows[i].text);
        cluster_put(&scene->cluster, "/apis/apps/v1/namespaces/n/replicasets/rs", owner);
        cluster_put(&scene->cluster, POD("p"), "{\"metadata\":{" OWNED "}," SPEC "}");
        cluster_run(&scene->cluster, 1000);
        const cJSON *spec = json_at(cluster_get(&scene->cluster, GROUP("u1")), "spec");
        assert_int_equal(json_number(spec, "minMember"), rows[i].minimum);
        cluster_remove(&scene->cluster, POD("p"));
        cluster_remove(&scene->cluster, GROUP("u1"));
    }
}

/* ---- following ---------------------------------------------------------------------------------
 */

#define RS "/apis/apps/v1/namespaces/n/replicasets/rs"
#define STS "/apis/apps/v1/namespaces/n/statefulsets/sts"
#define CHANGE "PATCH " GROUP("u1") " "

/* An owner with the UID "u1". */
static void put_owner(struct scene *scene, const char *path, const char *annotations,
                      const char *more)
{
    cleanup_free char *text =
        xasprintf("{\"metadata\":{\"uid\":\"u1\",\"annotations\":{%s}}%s}", annotations, more);

    cluster_put(&scene->cluster, path, text);
    cluster_run(&scene->cluster, 1000);
}

/* A pod of it, of that age in seconds. */
static void put_pod(struct scene *scene, const char *path, const char *kind, int age,
                    const char *meta, const char *spec)
{
    char created[TIME_TEXT_MAX];
    (void)time_format(created, loop_wall(scene->cluster.loop) - age * NSEC_PER_SEC);
    cleanup_free char *text = xasprintf(
        "{\"metadata\":{\"creationTimestamp\":\"%s\",\"ownerReferences\":[{\"apiVersion\":\"%s\","
        "\"kind\":\"%s\",\"name\":\"o\",\"uid\":\"u1\",\"controller\":true}]%s},\"spec\":{%s}}",
        created, strcmp(kind, "Job") == 0 ? "batch/v1" : "apps/v1", kind, meta, spec);

    cluster_put(&scene->cluster, path, text);
    cluster_run(&scene->cluster, 1000);
}

static const cJSON *group_spec(struct scene *scene)
{
    return json_at(cluster_get(&scene->cluster, GROUP("u1")), "spec");
}

static const char *note(struct scene *scene, const char *key)
{
    const cJSON *meta = json_at(cluster_get(&scene->cluster, GROUP("u1")), "metadata");

    return json_text(json_at(meta, "annotations"), key);
}

#define CPU "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"500m\"}}}]"
#define MINIMUM(n) "\"scheduling.volcano.sh/group-min-member\":\"" n "\""

static void annotations_of_owners_are_followed(void **state)
{
    static const struct {
        const char *kind, *path;
    } rows[] = {{"ReplicaSet", RS},
                {"StatefulSet", STS},
                {"DaemonSet", "/apis/apps/v1/namespaces/n/daemonsets/ds"},
                {"Job", "/apis/batch/v1/namespaces/n/jobs/j"}};
    struct scene *scene = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        put_owner(scene, rows[i].path,
                  MINIMUM("3") ",\"volcano.sh/a\":\"1\",\"volcano.sh/b\":\"1\"", "");
        put_pod(scene, POD("p"), rows[i].kind, 0, "", CPU);
        assert_int_equal(json_number(group_spec(scene), "minMember"), 3);
        const unsigned requests = scene->cluster.fake->requests;
        put_owner(scene, rows[i].path,
                  MINIMUM("2") ",\"volcano.sh/b\":\"2\",\"volcano.sh/c\":\"3\"", "");
        assert_int_equal(scene->cluster.fake->requests, requests + 1);
        assert_int_equal(json_number(group_spec(scene), "minMember"), 2);
        assert_string_equal(json_text(json_at(group_spec(scene), "minResources"), "cpu"), "1");
        assert_string_equal(note(scene, "volcano.sh/a"), "");
        assert_string_equal(note(scene, "volcano.sh/b"), "2");
        assert_string_equal(note(scene, "volcano.sh/c"), "3");
        cluster_run(&scene->cluster, 600000);
        assert_int_equal(scene->cluster.fake->requests, requests + 1);
        cluster_remove(&scene->cluster, POD("p"));
        cluster_remove(&scene->cluster, rows[i].path);
        cluster_remove(&scene->cluster, GROUP("u1"));
        cluster_run(&scene->cluster, 1000);
    }
}

static void what_users_set_on_a_group_stays(void **state)
{
    struct scene *scene = *state;

    put_owner(scene, RS, MINIMUM("3") ",\"volcano.sh/a\":\"1\",\"volcano.sh/b\":\"1\"", "");
    put_pod(scene, POD("p"), "ReplicaSet", 0, "", CPU);
    cluster_merge(&scene->cluster, GROUP("u1"),
                  "{\"metadata\":{\"annotations\":{\"volcano.sh/a\":\"mine\",\"volcano.sh/n\":"
                  "\"mine\"}},\"spec\":{\"minMember\":7,\"queue\":\"mine\",\"minResources\":{"
                  "\"cpu\":\"9\"},\"priorityClassName\":\"mine\",\"networkTopology\":{\"mode\":"
                  "\"soft\"}}}");
    for (int i = 0; i < 2; i++) {
        put_owner(scene, RS,
                  i ? MINIMUM("5")
                    : MINIMUM("4") ",\"volcano.sh/a\":\"2\","
                                   "\"volcano.sh/b\":\"2\",\"volcano.sh/n\":\"2\"",
                  "");
        assert_int_equal(cluster_count(&scene->cluster, CHANGE), i + 1);
        assert_int_equal(json_number(group_spec(scene), "minMember"), 7);
        assert_string_equal(json_text(group_spec(scene), "queue"), "mine");
        assert_string_equal(json_text(group_spec(scene), "priorityClassName"), "mine");
        assert_string_equal(json_text(json_at(group_spec(scene), "minResources"), "cpu"), "9");
        assert_string_equal(json_text(json_at(group_spec(scene), "networkTopology"), "mode"),
                            "soft");
        assert_string_equal(note(scene, "volcano.sh/a"), "mine");
        assert_string_equal(note(scene, "volcano.sh/n"), "mine");
        assert_string_equal(note(scene, "volcano.sh/b"), i ? "" : "2");
    }
}

#define REVISION(text) ",\"labels\":{\"controller-revision-hash\":\"" text "\"}"
#define WITH(labels, notes) ",\"labels\":{" labels "},\"annotations\":{" notes "}"

static void the_newest_pod_of_the_newest_revision_is_followed(void **state)
{
    struct scene *scene = *state;

    put_owner(scene, STS, "", ",\"spec\":{\"replicas\":2},\"status\":{\"updateRevision\":\"r1\"}");
    put_pod(scene, POD("p-0"), "StatefulSet", 60, REVISION("r1"), CPU);
    assert_string_equal(json_text(group_spec(scene), "queue"), "");
    put_owner(scene, STS, "", ",\"spec\":{\"replicas\":2},\"status\":{\"updateRevision\":\"r2\"}");
    put_pod(scene, POD("p-1"), "StatefulSet", 30,
            WITH("\"controller-revision-hash\":\"r2\",\"volcano.sh/preemptable\":\"true\"",
                 "\"scheduling.volcano.sh/queue-name\":\"q\",\"volcano.sh/revocable-zone\":\"z\","
                 "\"volcano.sh/network-topology-mode\":\"soft\","
                 "\"volcano.sh/network-topology-highest-tier\":\"2\""),
            CPU ",\"priorityClassName\":\"high\"");
    const cJSON *topology = json_at(group_spec(scene), "networkTopology");
    const cJSON *meta = json_at(cluster_get(&scene->cluster, GROUP("u1")), "metadata");
    assert_string_equal(json_text(group_spec(scene), "queue"), "q");
    assert_string_equal(json_text(group_spec(scene), "priorityClassName"), "high");
    assert_string_equal(json_text(topology, "mode"), "soft");
    assert_int_equal(json_number(topology, "highestTierAllowed"), 2);
    assert_string_equal(json_text(json_at(meta, "labels"), "volcano.sh/preemptable"), "true");
    assert_string_equal(note(scene, "volcano.sh/revocable-zone"), "z");
    /* One of the revision before changes nothing, though it is newer. */
    const int changes = cluster_count(&scene->cluster, CHANGE);
    put_pod(scene, POD("p-2"), "StatefulSet", 0, REVISION("r1"), CPU);
    assert_int_equal(cluster_count(&scene->cluster, CHANGE), changes);
    put_pod(scene, POD("p-3"), "StatefulSet", 0, REVISION("r2"),
            "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"memory\":\"1Gi\"}}}]");
    cleanup_free char *spec = json_print(group_spec(scene));
    assert_string_equal(
        spec, "{\"minMember\":1,\"minResources\":{\"count/pods\":\"1\",\"memory\":\"1Gi\",\"pods\":"
              "\"1\",\"requests.memory\":\"1Gi\"},\"queue\":\"default\"}");
    assert_string_equal(json_text(json_at(meta, "labels"), "volcano.sh/preemptable"), "");
    assert_string_equal(note(scene, "volcano.sh/revocable-zone"), "");
}

static void the_group_goes_when_its_owner_is_scaled_to_zero(void **state)
{
    static const char *const kinds[] = {"ReplicaSet", "StatefulSet"};
    static const char *const paths[] = {RS, STS};
    struct scene *scene = *state;

    for (size_t i = 0; i < 2; i++) {
        put_owner(scene, paths[i], "", ",\"spec\":{\"replicas\":1}");
        put_pod(scene, POD("p"), kinds[i], 0, "", CPU);
        put_owner(scene, paths[i], "", ",\"spec\":{\"replicas\":0}");
        assert_non_null(cluster_get(&scene->cluster, GROUP("u1"))); /* its pod lives */
        cluster_merge(&scene->cluster, POD("p"),
                      "{\"metadata\":{\"deletionTimestamp\":\"2027-01-15T08:00:00Z\"}}");
        cluster_run(&scene->cluster, 1000);
        assert_null(cluster_get(&scene->cluster, GROUP("u1")));
        cluster_remove(&scene->cluster, POD("p"));
        put_owner(scene, paths[i], "", ",\"spec\":{\"replicas\":1}");
        put_pod(scene, POD("again"), kinds[i], 0, "", CPU);
        assert_string_equal(group_of(scene, POD("again")), "podgroup-u1");
        assert_non_null(cluster_get(&scene->cluster, GROUP("u1")));
        cluster_remove(&scene->cluster, POD("again"));
        cluster_remove(&scene->cluster, paths[i]);
        cluster_remove(&scene->cluster, GROUP("u1"));
        cluster_run(&scene->cluster, 1000);
    }
}

/* The server has got the DELETE; a pod comes before the answer. */
static int bring_a_pod(struct cluster *cluster, const struct kube_call_spec *spec)
{
    if (spec->method == KUBE_DELETE && !cluster_get(cluster, POD("late")))
        cluster_put(cluster, POD("late"), "{\"metadata\":{" OWNED "}," SPEC "}");
    return 0;
}

static void a_pod_that_comes_as_its_group_goes_gets_a_new_one(void **state)
{
    struct scene *scene = *state;

    put_owner(scene, RS, "", ",\"spec\":{\"replicas\":1}");
    put_pod(scene, POD("p"), "ReplicaSet", 0, "", CPU);
    cluster_remove(&scene->cluster, POD("p"));
    scene->cluster.fault = bring_a_pod;
    put_owner(scene, RS, "", ",\"spec\":{\"replicas\":0}");
    cluster_run(&scene->cluster, 1000);
    assert_int_equal(cluster_count(&scene->cluster, "DELETE "), 1);
    assert_int_equal(cluster_count(&scene->cluster, POST_GROUP), 2);
    assert_non_null(cluster_get(&scene->cluster, GROUP("u1")));
    assert_string_equal(group_of(scene, POD("late")), "podgroup-u1");
}

static void what_changed_while_nobody_looked_is_followed(void **state)
{
    struct scene *scene = *state;

    put_owner(scene, RS, MINIMUM("3"), ",\"spec\":{\"replicas\":1}");
    put_pod(scene, POD("p"), "ReplicaSet", 0, "", CPU);
    podgroups_free(scene->podgroups);
    put_owner(scene, RS, MINIMUM("2"), ",\"spec\":{\"replicas\":1}");
    begin(scene, true, true);
    cluster_run(&scene->cluster, 1000);
    assert_int_equal(json_number(group_spec(scene), "minMember"), 2);
    podgroups_free(scene->podgroups);
    const unsigned requests = scene->cluster.fake->requests;
    begin(scene, true, true);
    cluster_run(&scene->cluster, 60000);
    assert_int_equal(scene->cluster.fake->requests, requests);
    podgroups_free(scene->podgroups);
    cluster_remove(&scene->cluster, POD("p"));
    put_owner(scene, RS, "", ",\"spec\":{\"replicas\":0}");
    begin(scene, true, true);
    cluster_run(&scene->cluster, 1000);
    assert_null(cluster_get(&scene->cluster, GROUP("u1")));
}

static void groups_that_others_made_are_not_changed(void **state)
{
    struct scene *scene = *state;

    cluster_put(&scene->cluster, GROUP("u1"), "{\"spec\":{\"minMember\":9}}");
    put_owner(scene, RS, MINIMUM("3"), ",\"spec\":{\"replicas\":1}");
    put_pod(scene, POD("p"), "ReplicaSet", 0, "", CPU);
    assert_string_equal(group_of(scene, POD("p")), "podgroup-u1");
    put_owner(scene, RS, MINIMUM("2"), ",\"spec\":{\"replicas\":0}");
    cluster_remove(&scene->cluster, POD("p"));
    cluster_run(&scene->cluster, 60000);
    assert_int_equal(json_number(group_spec(scene), "minMember"), 9);
    assert_int_equal(scene->cluster.fake->requests, 1);
}

static void owners_of_other_kinds_are_not_followed(void **state)
{
    struct scene *scene = *state;

    put_pod(scene, POD("driver"), "SparkApplication", 60,
            ",\"annotations\":{\"scheduling.volcano.sh/queue-name\":\"q\"}", CPU);
    put_pod(scene, POD("executor"), "SparkApplication", 0, "", CPU);
    assert_string_equal(group_of(scene, POD("executor")), "podgroup-u1");
    assert_string_equal(json_text(group_spec(scene), "queue"), "q");
    assert_int_equal(scene->cluster.fake->requests, 3);
}

static void a_group_that_is_deleted_is_made_again(void **state)
{
    struct scene *scene = *state;

    put_owner(scene, RS, "", ",\"spec\":{\"replicas\":1}");
    put_pod(scene, POD("p"), "ReplicaSet", 0, "", CPU);
    cluster_remove(&scene->cluster, GROUP("u1"));
    cluster_run(&scene->cluster, 1000);
    assert_non_null(cluster_get(&scene->cluster, GROUP("u1")));
    cluster_merge(&scene->cluster, RS,
                  "{\"metadata\":{\"deletionTimestamp\":\"2027-01-15T08:00:00Z\"}}");
    cluster_remove(&scene->cluster, GROUP("u1"));
    cluster_run(&scene->cluster, 60000);
    assert_null(cluster_get(&scene->cluster, GROUP("u1"))); /* it goes with its owner */
}

static void flags_turn_inheriting_and_following_off(void **state)
{
    struct scene *scene = *state;

    podgroups_free(scene->podgroups);
    begin(scene, false, true);
    put_owner(scene, RS, MINIMUM("3") ",\"volcano.sh/a\":\"1\"", ",\"spec\":{\"replicas\":1}");
    put_pod(scene, POD("p"), "ReplicaSet", 0, "", CPU);
    assert_int_equal(json_number(group_spec(scene), "minMember"), 1);
    assert_string_equal(note(scene, "volcano.sh/a"), "");
    podgroups_free(scene->podgroups);
    begin(scene, true, false);
    put_owner(scene, RS, MINIMUM("3"), ",\"spec\":{\"replicas\":0}");
    cluster_remove(&scene->cluster, POD("p"));
    cluster_run(&scene->cluster, 60000);
    assert_int_equal(json_number(group_spec(scene), "minMember"), 1);
    cluster_remove(&scene->cluster, GROUP("u1"));
    put_pod(scene, POD("p"), "ReplicaSet", 0, "", CPU);
    assert_int_equal(json_number(group_spec(scene), "minMember"), 3);
}

static int refuse_changes(struct cluster *cluster, const struct kube_call_spec *spec)
{
    (void)cluster;
    return spec->method == KUBE_PATCH && str_find(spec->path, STR("/podgroups/")) >= 0 ? 403 : 0;
}

static void a_change_that_is_refused_is_tried_again_slowly(void **state)
{
    struct scene *scene = *state;

    put_owner(scene, RS, MINIMUM("3"), "");
    put_pod(scene, POD("p"), "ReplicaSet", 0, "", CPU);
    scene->cluster.fault = refuse_changes;
    put_owner(scene, RS, MINIMUM("2"), "");
    cluster_run(&scene->cluster, 120000);
    assert_in_range(cluster_count(&scene->cluster, CHANGE), 5, 20);
    put_pod(scene, POD("q"), "ReplicaSet", 0, "", CPU);
    assert_string_equal(group_of(scene, POD("q")), "podgroup-u1"); /* pods do not wait for it */
    scene->cluster.fault = NULL;
    cluster_run(&scene->cluster, 60000);
    assert_int_equal(json_number(group_spec(scene), "minMember"), 2);
}

/* Writes are taken, and undone by somebody's webhook. */
static int take_changes(struct cluster *cluster, const struct kube_call_spec *spec)
{
    (void)cluster;
    return spec->method == KUBE_PATCH ? 200 : 0;
}

static void what_is_undone_is_tried_again_slowly(void **state)
{
    struct scene *scene = *state;

    put_owner(scene, RS, MINIMUM("3"), "");
    put_pod(scene, POD("p"), "ReplicaSet", 0, "", CPU);
    scene->cluster.fault = take_changes;
    const unsigned requests = scene->cluster.fake->requests;
    put_owner(scene, RS, MINIMUM("2"), "");
    put_pod(scene, POD("q"), "ReplicaSet", 0, "", CPU);
    cluster_run(&scene->cluster, 30000);
    assert_in_range(scene->cluster.fake->requests - requests, 4, 30);
    scene->cluster.fault = NULL;
    cluster_run(&scene->cluster, 60000);
    assert_int_equal(json_number(group_spec(scene), "minMember"), 2);
    assert_string_equal(group_of(scene, POD("q")), "podgroup-u1");
}

static void pods_of_all_schedulers_keep_a_group(void **state)
{
    struct scene *scene = *state;
    struct store *others = store_new(&barepod_store_type);

    podgroups_add_pods(scene->podgroups, others);
    store_list_begin(others);
    store_list_end(others, 1);
    put_owner(scene, RS, "", ",\"spec\":{\"replicas\":2}");
    put_pod(scene, POD("p"), "ReplicaSet", 0, "", CPU);
    (void)store_apply(others, STR("{\"metadata\":{\"name\":\"o\",\"namespace\":\"n\",\"uid\":\"o\","
                                  "\"resourceVersion\":\"900\"," OWNED
                                  ",\"annotations\":{\"scheduling.k8s.io/group-name\":"
                                  "\"podgroup-u1\"}}," SPEC "}"));
    cluster_remove(&scene->cluster, POD("p"));
    put_owner(scene, RS, "", ",\"spec\":{\"replicas\":0}");
    assert_non_null(cluster_get(&scene->cluster, GROUP("u1")));
    store_forget(others, STR("n"), STR("o"), STR("o"));
    cluster_run(&scene->cluster, 1000);
    assert_null(cluster_get(&scene->cluster, GROUP("u1")));
    podgroups_free(take_ptr(scene->podgroups));
    store_free(others);
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
        TEST(everything_a_pod_may_say),
        TEST(only_whole_minimums_count),
        TEST(annotations_of_owners_are_followed),
        TEST(what_users_set_on_a_group_stays),
        TEST(the_newest_pod_of_the_newest_revision_is_followed),
        TEST(the_group_goes_when_its_owner_is_scaled_to_zero),
        TEST(a_pod_that_comes_as_its_group_goes_gets_a_new_one),
        TEST(what_changed_while_nobody_looked_is_followed),
        TEST(groups_that_others_made_are_not_changed),
        TEST(owners_of_other_kinds_are_not_followed),
        TEST(a_group_that_is_deleted_is_made_again),
        TEST(flags_turn_inheriting_and_following_off),
        TEST(a_change_that_is_refused_is_tried_again_slowly),
        TEST(what_is_undone_is_tried_again_slowly),
        TEST(pods_of_all_schedulers_keep_a_group),
    };

    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
