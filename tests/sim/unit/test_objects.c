/*
 * Making, reading and changing objects, and how that is refused: as kube-apiserver 1.36 does it.
 */
#include "sim.h"

#define MESSAGE "message"

static void assert_status(struct sim *sim, const char *reason, const char *message)
{
    assert_str(sim_at(sim, "kind"), "Status");
    assert_str(sim_at(sim, "reason"), reason);
    assert_str(sim_at(sim, MESSAGE), message);
}

static void test_new_object(void **state)
{
    struct sim *sim = *state;
    assert_int_equal(sim_post(sim, CONFIGMAPS,
                              "{\"metadata\":{\"name\":\"c\",\"labels\":{},\"generation\":7,"
                              "\"uid\":\"mine\",\"deletionTimestamp\":\"2025-01-01T00:00:00Z\"},"
                              "\"data\":{\"a\":\"b\"}}"),
                     201);
    assert_str(sim_at(sim, "kind"), "ConfigMap");
    assert_str(sim_at(sim, "apiVersion"), "v1");
    assert_str(sim_at(sim, "metadata.namespace"), "n");
    assert_str(sim_at(sim, "metadata.creationTimestamp"), "2025-12-01T00:00:01Z");
    assert_int_equal(sim_at(sim, "metadata.uid").n, 36);
    assert_null(doc_at(sim->body, "metadata.labels"));
    assert_null(doc_at(sim->body, "metadata.generation"));
    assert_null(doc_at(sim->body, "metadata.deletionTimestamp"));
    struct str rv = sim_at(sim, "metadata.resourceVersion");
    assert_int_equal(sim_get(sim, CONFIGMAPS "/c"), 200);
    assert_true(str_eq(sim_at(sim, "metadata.resourceVersion"), rv));
    assert_str(sim_at(sim, "data.a"), "b");
}

static void test_what_is_not_there(void **state)
{
    struct sim *sim = *state;
    assert_int_equal(sim_get(sim, PODS "/x"), 404);
    assert_status(sim, "NotFound", "pods \"x\" not found");
    assert_str(sim_at(sim, "details.name"), "x");
    assert_str(sim_at(sim, "details.kind"), "pods");
    assert_null(doc_at(sim->body, "details.group"));
    assert_int_equal(sim_get(sim, JOBS "/x"), 404);
    assert_status(sim, "NotFound", "jobs.batch.volcano.sh \"x\" not found");
    assert_str(sim_at(sim, "details.group"), "batch.volcano.sh");
    assert_int_equal(sim_get(sim, "/api/v1/foos"), 404);
    assert_status(sim, "NotFound", "the server could not find the requested resource");
    assert_int_equal(sim_get(sim, "/apis/no.such/v1/foos"), 404);
    assert_null(sim->body);
    assert_int_equal(sim_get(sim, "/nonsense"), 404);
    assert_int_equal(sim_post(sim, "/api/v1/namespaces/none/pods", POD("x")), 404);
    assert_status(sim, "NotFound", "namespaces \"none\" not found");
    assert_int_equal(sim_post(sim, PODS "/x", POD("x")), 405);
    assert_status(sim, "MethodNotAllowed",
                  "the server does not allow this method on the requested resource");
    assert_int_equal(sim_get(sim, "/api/v1/pods/x"), 404);
}

static void test_what_cannot_be_made(void **state)
{
    struct sim *sim = *state;
    assert_int_equal(sim_post(sim, PODS, POD("x")), 201);
    assert_int_equal(sim_post(sim, PODS, POD("x")), 409);
    assert_status(sim, "AlreadyExists", "pods \"x\" already exists");
    assert_int_equal(sim_post(sim, PODS, "{\"metadata\":{}}"), 422);
    assert_status(sim, "Invalid",
                  "Pod \"\" is invalid: metadata.name: Required value: name or generateName is "
                  "required");
    assert_int_equal(sim_post(sim, PODS, POD("Bad_name")), 422);
    assert_str(sim_at(sim, "details.name"), "Bad_name");
    assert_int_equal(sim_post(sim, PODS, POD("a..b")), 422);
    assert_int_equal(sim_post(sim, PODS, POD("a-")), 422);
    assert_int_equal(sim_post(sim, PODS, POD("0.a-b")), 201);
    assert_int_equal(sim_post(sim, PODS, "{bad"), 400);
    assert_str(sim_at(sim, "reason"), "BadRequest");
    assert_int_equal(sim_post(sim, PODS, "{\"metadata\":{\"name\":\"y\",\"namespace\":\"other\"}}"),
                     400);
    assert_int_equal(
        sim_post(sim, PODS, "{\"metadata\":{\"name\":\"y\",\"resourceVersion\":\"5\"}}"), 500);
    assert_int_equal(sim_post(sim, PODS, "{\"kind\":\"Node\",\"metadata\":{\"name\":\"y\"}}"), 400);
    assert_int_equal(sim_post(sim, JOBS, "{\"metadata\":{\"name\":\"y\"}}"), 400);
}

static void test_generated_names_differ(void **state)
{
    struct sim *sim = *state;
    assert_int_equal(sim_post(sim, PODS, "{\"metadata\":{\"generateName\":\"g-\"}}"), 201);
    struct str first = sim_at(sim, "metadata.name");
    assert_int_equal(first.n, 7);
    assert_true(str_starts(first, STR("g-")));
    assert_int_equal(sim_post(sim, PODS, "{\"metadata\":{\"generateName\":\"g-\"}}"), 201);
    assert_false(str_eq(sim_at(sim, "metadata.name"), first));
}

static void test_dry_run_leaves_nothing(void **state)
{
    struct sim *sim = *state;
    uint64_t rv = sim_server_rv(sim->server);
    assert_int_equal(sim_post(sim, CONFIGMAPS "?dryRun=All", "{\"metadata\":{\"name\":\"c\"}}"),
                     201);
    assert_null(doc_at(sim->body, "metadata.resourceVersion"));
    assert_int_equal(sim_get(sim, CONFIGMAPS "/c"), 404);
    assert_int_equal(sim_post(sim, CONFIGMAPS, "{\"metadata\":{\"name\":\"c\"}}"), 201);
    assert_int_equal(sim_server_rv(sim->server), rv + 1);
    assert_int_equal(sim_merge(sim, CONFIGMAPS "/c?dryRun=All", "{\"data\":{\"a\":\"b\"}}"), 200);
    assert_str(sim_at(sim, "data.a"), "b");
    assert_int_equal(sim_remove(sim, CONFIGMAPS "/c", "{\"dryRun\":[\"All\"]}"), 200);
    assert_int_equal(sim_get(sim, CONFIGMAPS "/c"), 200);
    assert_null(doc_at(sim->body, "data"));
}

static void test_put_and_its_versions(void **state)
{
    struct sim *sim = *state;
    assert_int_equal(sim_post(sim, CONFIGMAPS, "{\"metadata\":{\"name\":\"c\"}}"), 201);
    struct str uid = sim_at(sim, "metadata.uid");
    struct str rv = sim_at(sim, "metadata.resourceVersion");
    assert_int_equal(
        sim_put(sim, CONFIGMAPS "/c", "{\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"b\"}}"),
        200);
    assert_true(str_eq(sim_at(sim, "metadata.uid"), uid));
    assert_false(str_eq(sim_at(sim, "metadata.resourceVersion"), rv));
    const char *stale =
        sim_text(sim, "{\"metadata\":{\"name\":\"c\",\"resourceVersion\":\"%.*s\"}}", STR_ARG(rv));
    assert_int_equal(sim_put(sim, CONFIGMAPS "/c", stale), 409);
    assert_status(
        sim, "Conflict",
        "Operation cannot be fulfilled on configmaps \"c\": the object has been modified; "
        "please apply your changes to the latest version and try again");
    assert_int_equal(sim_put(sim, CONFIGMAPS "/c", "{\"metadata\":{\"name\":\"d\"}}"), 400);
    assert_status(sim, "BadRequest",
                  "the name of the object (d) does not match the name on the URL (c)");
    assert_int_equal(sim_put(sim, CONFIGMAPS "/c", "{\"metadata\":{\"name\":\"c\",\"uid\":\"z\"}}"),
                     409);
    assert_true(str_ends(sim_at(sim, MESSAGE),
                         arena_printf(&sim->arena,
                                      "Precondition failed: UID in precondition: z, UID in object "
                                      "meta: %.*s",
                                      STR_ARG(uid))));
    assert_int_equal(sim_put(sim, CONFIGMAPS "/d", "{\"metadata\":{\"name\":\"d\"}}"), 404);
}

static void test_put_of_custom_objects_names_a_version(void **state)
{
    struct sim *sim = *state;
    const char *job = "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\","
                      "\"metadata\":{\"name\":\"j\"},\"spec\":{}}";
    assert_int_equal(sim_post(sim, JOBS, job), 201);
    assert_int_equal(sim_put(sim, JOBS "/j", job), 422);
    assert_status(
        sim, "Invalid",
        "jobs.batch.volcano.sh \"j\" is invalid: metadata.resourceVersion: Invalid value: "
        "0: must be specified for an update");
    assert_str(sim_at(sim, "details.kind"), "jobs");
}

static void test_a_put_makes_leases(void **state)
{
    struct sim *sim = *state;
    const char *path = "/apis/coordination.k8s.io/v1/namespaces/n/leases/l";
    assert_int_equal(sim_put(sim, path, "{\"metadata\":{\"name\":\"l\",\"uid\":\"z\"}}"), 409);
    assert_int_equal(
        sim_put(sim, path, "{\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"5\"},\"spec\":{}}"),
        201);
    assert_int_equal(sim_get(sim, path), 200);
}

static void test_nothing_changed_is_no_write(void **state)
{
    struct sim *sim = *state;
    assert_int_equal(sim_post(sim, PODS, POD("x")), 201);
    uint64_t rv = sim_server_rv(sim->server);
    assert_int_equal(sim_merge(sim, PODS "/x", "{\"metadata\":{\"labels\":{\"a\":null}}}"), 200);
    assert_int_equal(sim_merge(sim, PODS "/x", "{\"status\":{\"phase\":\"Failed\"}}"), 200);
    assert_str(sim_at(sim, "status.phase"), "Pending");
    assert_int_equal(sim_server_rv(sim->server), rv);
}

static void test_generation_and_status(void **state)
{
    struct sim *sim = *state;
    assert_int_equal(sim_post(sim, JOBS,
                              "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\","
                              "\"metadata\":{\"name\":\"j\"},\"spec\":{\"minAvailable\":1},"
                              "\"status\":{\"running\":5}}"),
                     201);
    assert_null(doc_at(sim->body, "status"));
    assert_int_equal(sim_number(sim, "metadata.generation"), 1);
    assert_int_equal(sim_number(sim, "spec.maxRetry"), 3);
    assert_str(sim_at(sim, "spec.queue"), "default");
    assert_int_equal(sim_merge(sim, JOBS "/j/status",
                               "{\"metadata\":{\"labels\":{\"a\":\"b\"}},"
                               "\"spec\":{\"minAvailable\":2},\"status\":{\"running\":1}}"),
                     200);
    assert_int_equal(sim_number(sim, "status.running"), 1);
    assert_int_equal(sim_number(sim, "spec.minAvailable"), 1);
    assert_null(doc_at(sim->body, "metadata.labels"));
    assert_int_equal(sim_number(sim, "metadata.generation"), 1);
    struct str uid = sim_at(sim, "metadata.uid");
    assert_int_equal(sim_merge(sim, JOBS "/j/status", "{\"metadata\":{\"uid\":\"z\"}}"), 200);
    assert_true(str_eq(sim_at(sim, "metadata.uid"), uid)); /* it guards nothing there */
    assert_int_equal(sim_merge(sim, PODS "/j/status", "{}"), 404);
    assert_int_equal(sim_merge(sim, JOBS "/j",
                               "{\"metadata\":{\"labels\":{\"a\":\"b\"}},"
                               "\"spec\":{\"minAvailable\":2},\"status\":{\"running\":9}}"),
                     200);
    assert_int_equal(sim_number(sim, "status.running"), 1);
    assert_int_equal(sim_number(sim, "metadata.generation"), 2);
    assert_str(sim_at(sim, "metadata.labels.a"), "b");
}

static void test_podgroups_have_no_status_of_their_own(void **state)
{
    struct sim *sim = *state;
    assert_int_equal(sim_post(sim, PODGROUPS,
                              "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\","
                              "\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\"},\"spec\":{},"
                              "\"status\":{\"phase\":\"Pending\"}}"),
                     201);
    assert_str(sim_at(sim, "status.phase"), "Pending");
    assert_int_equal(sim_merge(sim, PODGROUPS "/g", "{\"status\":{\"phase\":\"Inqueue\"}}"), 200);
    assert_int_equal(sim_number(sim, "metadata.generation"), 2);
    assert_int_equal(sim_merge(sim, PODGROUPS "/g/status", "{}"), 404);
    assert_status(sim, "NotFound", "podgroups.scheduling.volcano.sh \"g\" not found");
    assert_int_equal(sim_merge(sim, CONFIGMAPS "/g/status", "{}"), 404);
    assert_status(sim, "NotFound", "the server could not find the requested resource");
}

static void test_status_of_pods_takes_labels_along(void **state)
{
    struct sim *sim = *state;
    assert_int_equal(sim_post(sim, PODS, POD("x")), 201);
    assert_int_equal(sim_merge(sim, PODS "/x/status",
                               "{\"metadata\":{\"labels\":{\"l\":\"2\"}},"
                               "\"spec\":{\"nodeName\":\"z\"},\"status\":{\"phase\":\"Running\"}}"),
                     200);
    assert_str(sim_at(sim, "status.phase"), "Running");
    assert_str(sim_at(sim, "metadata.labels.l"), "2");
    assert_null(doc_at(sim->body, "spec.nodeName"));
    assert_int_equal(sim_number(sim, "metadata.generation"), 1);
}

static void test_patches_that_are_refused(void **state)
{
    struct sim *sim = *state;
    assert_int_equal(sim_post(sim, PODS, POD("x")), 201);
    assert_int_equal(sim_merge(sim, PODS "/x", "{\"metadata\":{\"uid\":\"z\"}}"), 422);
    assert_status(sim, "Invalid",
                  "Pod \"x\" is invalid: metadata.uid: Invalid value: \"z\": field is immutable");
    assert_int_equal(sim_merge(sim, PODS "/x", "{\"metadata\":{\"resourceVersion\":\"1\"}}"), 409);
    assert_int_equal(sim_merge(sim, PODS "/x", "{\"metadata\":{\"name\":\"y\"}}"), 400);
    assert_int_equal(sim_ask(sim, KUBE_PATCH, KUBE_JSON_PATCH, PODS "/x",
                             "[{\"op\":\"test\",\"path\":\"/metadata/name\",\"value\":\"z\"}]"),
                     422);
    assert_status(sim, "Invalid", "the server rejected our request due to an error in our request");
    assert_int_equal(sim_ask(sim, KUBE_PATCH, KUBE_JSON_PATCH, PODS "/x", "{}"), 400);
    assert_int_equal(sim_ask(sim, KUBE_PATCH, KUBE_STRATEGIC_PATCH, JOBS "/x", "{}"), 404);
    assert_int_equal(sim_merge(sim, PODS "/none", "{}"), 404);
    assert_int_equal(sim_post(sim, QUEUES,
                              "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\","
                              "\"kind\":\"Queue\",\"metadata\":{\"name\":\"q\"}}"),
                     201);
    assert_int_equal(sim_ask(sim, KUBE_PATCH, KUBE_STRATEGIC_PATCH, QUEUES "/q", "{}"), 415);
    assert_int_equal(sim_ask(sim, KUBE_PATCH, KUBE_JSON, QUEUES "/q", "{}"), 415);
}

#define QUEUE(rest)                                                                                \
    "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\","                        \
    "\"metadata\":{\"name\":\"q\"}," rest "}"

static void test_apply(void **state)
{
    struct sim *sim = *state;
    const char *by_a = QUEUES "/q?fieldManager=a&force=true", *by_b = QUEUES "/q?fieldManager=b";
    assert_int_equal(sim_ask(sim, KUBE_PATCH, KUBE_APPLY_PATCH, by_a,
                             QUEUE("\"spec\":{\"weight\":2},\"status\":{\"state\":\"Open\"}")),
                     201);
    assert_null(doc_at(sim->body, "status"));
    assert_int_equal(
        sim_ask(sim, KUBE_PATCH, KUBE_APPLY_PATCH, by_a, QUEUE("\"spec\":{\"reclaimable\":false}")),
        200);
    assert_int_equal(sim_number(sim, "spec.weight"), 1); /* the default again */
    assert_int_equal(sim_number(sim, "metadata.generation"), 2);
    assert_int_equal(
        sim_ask(sim, KUBE_PATCH, KUBE_APPLY_PATCH, by_b, QUEUE("\"spec\":{\"reclaimable\":true}")),
        409);
    assert_status(sim, "Conflict",
                  "Apply failed with 1 conflict: conflict with \"a\": .spec.reclaimable");
    assert_int_equal(sim_ask(sim, KUBE_PATCH, KUBE_APPLY_PATCH,
                             QUEUES "/q/status?fieldManager=a&force=true",
                             QUEUE("\"status\":{\"state\":\"Open\"}")),
                     200);
    assert_str(sim_at(sim, "status.state"), "Open");
    assert_false(doc_is_true(doc_at(sim->body, "spec.reclaimable")));
    assert_int_equal(sim_ask(sim, KUBE_PATCH, KUBE_APPLY_PATCH, QUEUES "/q", QUEUE("\"spec\":{}")),
                     422);
    assert_int_equal(sim_ask(sim, KUBE_PATCH, KUBE_APPLY_PATCH,
                             QUEUES "/none/status?fieldManager=a&force=true",
                             "{\"metadata\":{\"name\":\"none\"}}"),
                     404);
}

static void test_apply_guarded_by_a_version(void **state)
{
    struct sim *sim = *state;
    const char *path = QUEUES "/q?fieldManager=a&force=true";
    assert_int_equal(sim_ask(sim, KUBE_PATCH, KUBE_APPLY_PATCH, path, QUEUE("\"spec\":{}")), 201);
    assert_int_equal(sim_ask(sim, KUBE_PATCH, KUBE_APPLY_PATCH, path,
                             "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\","
                             "\"kind\":\"Queue\",\"metadata\":{\"name\":\"q\","
                             "\"resourceVersion\":\"1\"},\"spec\":{\"weight\":5}}"),
                     409);
    assert_int_equal(sim_get(sim, QUEUES "/q"), 200);
    assert_int_equal(sim_number(sim, "spec.weight"), 1);
}

static void test_large_numbers_survive(void **state)
{
    struct sim *sim = *state;
    assert_int_equal(sim_post(sim, JOBS,
                              "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\","
                              "\"metadata\":{\"name\":\"j\"},\"spec\":{\"x\":9007199254740993}}"),
                     201);
    assert_int_equal(sim_merge(sim, JOBS "/j", "{\"spec\":{\"y\":1}}"), 200);
    assert_int_equal(sim_number(sim, "spec.x"), INT64_C(9007199254740993));
}

static void test_the_same_seed_gives_the_same_objects(void **state)
{
    struct sim *sim = *state;
    void *other_state = NULL;
    assert_int_equal(sim_begin(&other_state), 0);
    struct sim *other = other_state;
    assert_int_equal(sim_post(sim, PODS, POD("x")), 201);
    assert_int_equal(sim_post(other, PODS, POD("x")), 201);
    assert_true(doc_equal(sim->body, other->body));
    assert_int_equal(sim_end(&other_state), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIM_TEST(test_new_object),
        SIM_TEST(test_what_is_not_there),
        SIM_TEST(test_what_cannot_be_made),
        SIM_TEST(test_generated_names_differ),
        SIM_TEST(test_dry_run_leaves_nothing),
        SIM_TEST(test_put_and_its_versions),
        SIM_TEST(test_put_of_custom_objects_names_a_version),
        SIM_TEST(test_a_put_makes_leases),
        SIM_TEST(test_nothing_changed_is_no_write),
        SIM_TEST(test_generation_and_status),
        SIM_TEST(test_podgroups_have_no_status_of_their_own),
        SIM_TEST(test_status_of_pods_takes_labels_along),
        SIM_TEST(test_patches_that_are_refused),
        SIM_TEST(test_apply),
        SIM_TEST(test_apply_guarded_by_a_version),
        SIM_TEST(test_large_numbers_survive),
        SIM_TEST(test_the_same_seed_gives_the_same_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
