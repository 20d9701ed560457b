/*
 * What only pods have: binding, grace at deletion, eviction within disruption budgets, defaults.
 */
#include "sim.h"

#define BINDING(node)                                                                              \
    "{\"metadata\":{\"name\":\"x\"},\"target\":{\"kind\":\"Node\",\"name\":\"" node "\"}}"
#define EVICTION "{\"metadata\":{\"name\":\"x\"}}"
#define BUDGETS "/apis/policy/v1/namespaces/n/poddisruptionbudgets"

static void make(struct sim *sim, const char *name, const char *labels)
{
    assert_int_equal(
        sim_post(sim, PODS,
                 sim_text(sim,
                          "{\"metadata\":{\"name\":\"%s\",\"labels\":{%s}},"
                          "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
                          name, labels)),
        201);
}

static void bind(struct sim *sim, const char *name)
{
    assert_int_equal(sim_post(sim, sim_text(sim, PODS "/%s/binding", name),
                              sim_text(sim,
                                       "{\"metadata\":{\"name\":\"%s\"},"
                                       "\"target\":{\"kind\":\"Node\",\"name\":\"node\"}}",
                                       name)),
                     201);
}

static void run(struct sim *sim, const char *name)
{
    bind(sim, name);
    assert_int_equal(sim_merge(sim, sim_text(sim, PODS "/%s/status", name),
                               "{\"status\":{\"phase\":\"Running\",\"conditions\":"
                               "[{\"type\":\"Ready\",\"status\":\"True\"}]}}"),
                     200);
}

static void assert_refused(struct sim *sim, const char *message)
{
    assert_str(sim_at(sim, "message"), message);
}

/* ---- binding --------------------------------------------------------------------------------- */

static void test_binding(void **state)
{
    struct sim *sim = *state;
    make(sim, "x", "");
    assert_int_equal(sim_post(sim, PODS "/x/binding",
                              "{\"metadata\":{\"name\":\"x\",\"annotations\":{\"b\":\"1\"}},"
                              "\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}"),
                     201);
    assert_str(sim_at(sim, "status"), "Success");
    assert_int_equal(sim_get(sim, PODS "/x"), 200);
    assert_str(sim_at(sim, "spec.nodeName"), "n1");
    assert_str(sim_at(sim, "metadata.annotations.b"), "1");
    assert_int_equal(sim_number(sim, "metadata.generation"), 1);
    const struct doc *condition = doc_at(sim->body, "status.conditions")->first;
    assert_str(doc_str_at(condition, "type"), "PodScheduled");
    assert_str(doc_str_at(condition, "status"), "True");
    assert_true(doc_is(doc_get(condition, STR("lastProbeTime")), JSON_NULL));
    assert_int_equal(sim_post(sim, PODS "/x/binding", BINDING("n2")), 409);
    assert_refused(sim, "Operation cannot be fulfilled on pods/binding \"x\": pod x is already "
                        "assigned to node \"n1\"");
    assert_int_equal(sim_get(sim, PODS "?fieldSelector=spec.nodeName%3Dn1"), 200);
    assert_str(sim_names(sim), "x");
}

static void test_bindings_that_are_refused(void **state)
{
    struct sim *sim = *state;
    make(sim, "x", "");
    assert_int_equal(sim_post(sim, PODS "/x/binding", "{\"target\":{\"name\":\"n1\"}}"), 400);
    assert_refused(sim, "name in URL does not match name in Binding object");
    assert_int_equal(sim_post(sim, PODS "/x/binding", "{\"metadata\":{\"name\":\"x\"}}"), 422);
    assert_int_equal(sim_post(sim, PODS "/x/binding",
                              "{\"metadata\":{\"name\":\"x\",\"uid\":\"z\"},"
                              "\"target\":{\"name\":\"n1\"}}"),
                     409);
    assert_int_equal(sim_post(sim, PODS "/none/binding",
                              "{\"metadata\":{\"name\":\"none\"},\"target\":{\"name\":\"n1\"}}"),
                     404);
    assert_int_equal(sim_merge(sim, PODS "/x", "{\"metadata\":{\"finalizers\":[\"a/b\"]}}"), 200);
    assert_int_equal(sim_remove(sim, PODS "/x", ""), 200);
    assert_int_equal(sim_post(sim, PODS "/x/binding", BINDING("n1")), 409);
    assert_refused(sim, "Operation cannot be fulfilled on pods/binding \"x\": pod x is being "
                        "deleted, cannot be assigned to a host");
    assert_int_equal(sim_post(sim, PODS,
                              "{\"metadata\":{\"name\":\"g\"},"
                              "\"spec\":{\"schedulingGates\":[{\"name\":\"a\"}]}}"),
                     201);
    assert_str(doc_str_at(doc_at(sim->body, "status.conditions")->first, "reason"),
               "SchedulingGated");
    assert_int_equal(sim_post(sim, PODS "/g/binding",
                              "{\"metadata\":{\"name\":\"g\"},\"target\":{\"name\":\"n1\"}}"),
                     409);
    assert_refused(sim, "Operation cannot be fulfilled on pods/binding \"g\": pod g has non-empty "
                        ".spec.schedulingGates");
}

/* ---- deletion -------------------------------------------------------------------------------- */

static void test_grace(void **state)
{
    struct sim *sim = *state;
    make(sim, "x", "");
    bind(sim, "x");
    assert_int_equal(sim_remove(sim, PODS "/x", ""), 200);
    assert_str(sim_at(sim, "metadata.deletionTimestamp"), "2025-12-01T00:00:31Z");
    assert_int_equal(sim_number(sim, "metadata.deletionGracePeriodSeconds"), 30);
    assert_int_equal(sim_number(sim, "metadata.generation"), 2);
    uint64_t rv = sim_server_rv(sim->server);
    assert_int_equal(sim_remove(sim, PODS "/x", ""), 200);
    assert_int_equal(sim_remove(sim, PODS "/x", "{\"gracePeriodSeconds\":60}"), 200);
    assert_int_equal(sim_server_rv(sim->server), rv);
    assert_int_equal(sim_remove(sim, PODS "/x?gracePeriodSeconds=5", ""), 200);
    assert_str(sim_at(sim, "metadata.deletionTimestamp"), "2025-12-01T00:00:06Z");
    assert_int_equal(sim_number(sim, "metadata.generation"), 2);
    sim_wait(sim, 60 * NSEC_PER_SEC); /* only a kubelet ends it */
    assert_int_equal(sim_get(sim, PODS "/x"), 200);
    assert_int_equal(sim_remove(sim, PODS "/x", "{\"gracePeriodSeconds\":0}"), 200);
    assert_int_equal(sim_get(sim, PODS "/x"), 404);
}

static void test_without_node_or_over_it_goes_at_once(void **state)
{
    struct sim *sim = *state;
    make(sim, "x", "");
    assert_int_equal(sim_remove(sim, PODS "/x", ""), 200);
    assert_str(sim_at(sim, "kind"), "Pod");
    assert_int_equal(sim_get(sim, PODS "/x"), 404);
    make(sim, "x", "");
    bind(sim, "x");
    assert_int_equal(sim_merge(sim, PODS "/x/status", "{\"status\":{\"phase\":\"Failed\"}}"), 200);
    assert_int_equal(sim_remove(sim, PODS "/x", ""), 200);
    assert_int_equal(sim_get(sim, PODS "/x"), 404);
}

static void test_finalizers(void **state)
{
    struct sim *sim = *state;
    make(sim, "x", "");
    assert_int_equal(sim_merge(sim, PODS "/x", "{\"metadata\":{\"finalizers\":[\"a/b\"]}}"), 200);
    assert_int_equal(sim_remove(sim, PODS "/x", ""), 200);
    assert_int_equal(sim_post(sim, PODS, POD("x")), 409);
    assert_refused(sim, "object is being deleted: pods \"x\" already exists");
    assert_int_equal(sim_get(sim, PODS "/x"), 200);
    assert_int_equal(sim_merge(sim, PODS "/x", "{\"metadata\":{\"finalizers\":[\"a/b\",\"c/d\"]}}"),
                     422);
    assert_refused(sim, "Pod \"x\" is invalid: metadata.finalizers: Forbidden: no new finalizers "
                        "can be added if the object is being deleted, found new finalizers "
                        "[]string{\"c/d\"}");
    assert_int_equal(sim_merge(sim, PODS "/x", "{\"metadata\":{\"deletionTimestamp\":null}}"), 200);
    assert_true(sim_at(sim, "metadata.deletionTimestamp").n > 0);
    assert_int_equal(sim_merge(sim, PODS "/x", "{\"metadata\":{\"finalizers\":null}}"), 200);
    assert_int_equal(sim_get(sim, PODS "/x"), 404);
}

static void test_preconditions(void **state)
{
    struct sim *sim = *state;
    make(sim, "x", "");
    struct str uid = sim_at(sim, "metadata.uid");
    assert_int_equal(sim_remove(sim, PODS "/x", "{\"preconditions\":{\"uid\":\"z\"}}"), 409);
    assert_str(sim_at(sim, "reason"), "Conflict");
    assert_refused(sim,
                   sim_text(sim,
                            "Operation cannot be fulfilled on Pod \"x\": the UID in the "
                            "precondition (z) does not match the UID in record (%.*s). The object "
                            "might have been deleted and then recreated",
                            STR_ARG(uid)));
    assert_int_equal(sim_remove(sim, PODS "/x", "{\"preconditions\":{\"resourceVersion\":\"1\"}}"),
                     409);
    assert_int_equal(
        sim_remove(sim, PODS "/x",
                   sim_text(sim, "{\"preconditions\":{\"uid\":\"%.*s\"}}", STR_ARG(uid))),
        200);
    assert_int_equal(sim_remove(sim, PODS "/x", ""), 404);
    assert_int_equal(sim_remove(sim, PODS "/x", "{"), 400);
}

/* ---- eviction -------------------------------------------------------------------------------- */

static void make_budget(struct sim *sim, const char *spec)
{
    assert_int_equal(
        sim_post(sim, BUDGETS,
                 sim_text(sim,
                          "{\"metadata\":{\"name\":\"b\"},\"spec\":{%s,"
                          "\"selector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\","
                          "\"values\":[\"1\",\"2\"]}]}}}",
                          spec)),
        201);
}

static void test_eviction_without_budget(void **state)
{
    struct sim *sim = *state;
    make(sim, "x", "\"a\":\"1\"");
    run(sim, "x");
    assert_int_equal(sim_post(sim, PODS "/x/eviction", "{\"metadata\":{\"name\":\"y\"}}"), 400);
    assert_int_equal(sim_post(sim, PODS "/y/eviction", "{\"metadata\":{\"name\":\"y\"}}"), 404);
    assert_int_equal(sim_post(sim, PODS "/x/eviction",
                              "{\"metadata\":{\"name\":\"x\"},"
                              "\"deleteOptions\":{\"preconditions\":{\"uid\":\"z\"}}}"),
                     409);
    assert_int_equal(sim_post(sim, PODS "/x/eviction", EVICTION), 201);
    assert_str(sim_at(sim, "status"), "Success");
    assert_int_equal(sim_get(sim, PODS "/x"), 200);
    assert_int_equal(sim_number(sim, "metadata.deletionGracePeriodSeconds"), 30);
    assert_int_equal(sim_post(sim, PODS "/x/eviction", EVICTION), 201);
}

static void test_a_budget(void **state)
{
    struct sim *sim = *state;
    static const char *const names[] = {"x", "y", "z"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        make(sim, names[i], "\"a\":\"1\"");
        run(sim, names[i]);
    }
    make_budget(sim, "\"minAvailable\":2");
    assert_int_equal(sim_post(sim, PODS "/x/eviction", EVICTION), 429);
    assert_str(sim_at(sim, "message"),
               "Cannot evict pod as it would violate the pod's disruption budget.");
    assert_int_equal(sim_number(sim, "details.retryAfterSeconds"), 10);
    assert_str(doc_str_at(doc_at(sim->body, "details.causes")->first, "reason"),
               "DisruptionBudget");
    sim_wait(sim, NSEC_PER_SEC);
    assert_int_equal(sim_get(sim, BUDGETS "/b"), 200);
    assert_int_equal(sim_number(sim, "status.expectedPods"), 3);
    assert_int_equal(sim_number(sim, "status.currentHealthy"), 3);
    assert_int_equal(sim_number(sim, "status.desiredHealthy"), 2);
    assert_int_equal(sim_number(sim, "status.disruptionsAllowed"), 1);
    assert_int_equal(sim_post(sim, PODS "/x/eviction", EVICTION), 201);
    assert_int_equal(sim_post(sim, PODS "/y/eviction", "{\"metadata\":{\"name\":\"y\"}}"), 429);
    assert_str(doc_str_at(doc_at(sim->body, "details.causes")->first, "message"),
               "The disruption budget b needs 2 healthy pods and has 3 currently");
    sim_wait(sim, NSEC_PER_SEC);
    assert_int_equal(sim_get(sim, BUDGETS "/b"), 200);
    assert_int_equal(sim_number(sim, "status.currentHealthy"), 2);
    assert_int_equal(sim_number(sim, "status.disruptionsAllowed"), 0);
}

static void test_budgets_do_not_count_what_does_not_run(void **state)
{
    struct sim *sim = *state;
    make_budget(sim, "\"minAvailable\":1");
    sim_wait(sim, NSEC_PER_SEC);
    make(sim, "x", "\"a\":\"2\"");
    assert_int_equal(sim_post(sim, PODS "/x/eviction", EVICTION), 201);
    assert_int_equal(sim_get(sim, PODS "/x"), 404);
    make(sim, "x", "\"a\":\"3\""); /* not of the budget */
    run(sim, "x");
    assert_int_equal(sim_post(sim, PODS "/x/eviction", EVICTION), 201);
}

static void test_two_budgets_are_none(void **state)
{
    struct sim *sim = *state;
    make_budget(sim, "\"maxUnavailable\":\"50%\"");
    assert_int_equal(sim_post(sim, BUDGETS,
                              "{\"metadata\":{\"name\":\"c\"},"
                              "\"spec\":{\"maxUnavailable\":1,\"selector\":{}}}"),
                     201);
    make(sim, "x", "\"a\":\"1\"");
    run(sim, "x");
    assert_int_equal(sim_post(sim, PODS "/x/eviction", EVICTION), 500);
}

/* ---- defaults -------------------------------------------------------------------------------- */

static void test_defaults(void **state)
{
    struct sim *sim = *state;
    assert_int_equal(
        sim_post(sim, "/apis/scheduling.k8s.io/v1/priorityclasses",
                 "{\"metadata\":{\"name\":\"high\"},\"value\":7,\"preemptionPolicy\":\"Never\"}"),
        201);
    assert_int_equal(
        sim_post(sim, PODS,
                 "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"priorityClassName\":\"high\","
                 "\"containers\":[{\"name\":\"c\",\"image\":\"r:5000/i\",\"resources\":"
                 "{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}}]}}"),
        201);
    const struct doc *container = doc_at(sim->body, "spec.containers")->first;
    assert_str(doc_str_at(container, "resources.requests.cpu"), "1");
    assert_str(doc_str_at(container, "imagePullPolicy"), "Always");
    assert_str(sim_at(sim, "status.qosClass"), "Guaranteed");
    assert_str(sim_at(sim, "status.phase"), "Pending");
    assert_int_equal(sim_number(sim, "spec.priority"), 7);
    assert_str(sim_at(sim, "spec.preemptionPolicy"), "Never");
    assert_str(sim_at(sim, "spec.schedulerName"), "default-scheduler");
    assert_int_equal(doc_count(doc_at(sim->body, "spec.tolerations")), 2);
    assert_int_equal(sim_post(sim, PODS,
                              "{\"metadata\":{\"name\":\"y\"},"
                              "\"spec\":{\"priorityClassName\":\"none\"}}"),
                     403);
    assert_refused(sim, "pods \"y\" is forbidden: no PriorityClass with name none was found");
    make(sim, "z", "");
    assert_int_equal(sim_number(sim, "spec.priority"), 0);
    assert_str(sim_at(sim, "status.qosClass"), "BestEffort");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIM_TEST(test_binding),
        SIM_TEST(test_bindings_that_are_refused),
        SIM_TEST(test_grace),
        SIM_TEST(test_without_node_or_over_it_goes_at_once),
        SIM_TEST(test_finalizers),
        SIM_TEST(test_preconditions),
        SIM_TEST(test_eviction_without_budget),
        SIM_TEST(test_a_budget),
        SIM_TEST(test_budgets_do_not_count_what_does_not_run),
        SIM_TEST(test_two_budgets_are_none),
        SIM_TEST(test_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
