/*
 * Decoding of pods for the scheduler: what they ask for, whose they are, classes of equal pods.
 */
#include "testing.h"

#include "api/pod.h"
#include "base/intern.h"
#include "base/timefmt.h"

static struct pod *decode(const char *spec)
{
    struct error err = ERROR_INIT;
    cleanup_free char *text =
        xasprintf("{\"metadata\":{\"name\":\"job-w-12\",\"namespace\":\"ns\",\"uid\":\"u\","
                  "\"resourceVersion\":\"1\"},\"spec\":{%s}}",
                  spec);
    struct pod *pod = pod_decode(str_of(text), &err);
    if (!pod)
        assert_int_equal(err.cls, ERROR_INVALID);
    return pod;
}

static int64_t asks(const char *spec, uint32_t id)
{
    struct pod *pod = decode(spec);
    assert_non_null(pod);
    int64_t amount = resource_set_get(&pod->cls->request, id);
    pod_unref(pod);
    return amount;
}

#define C(rest) "{\"resources\":{" rest "}}"
#define CPU(n) "\"requests\":{\"cpu\":\"" n "\"}"
#define SIDECAR(n) "{\"restartPolicy\":\"Always\",\"resources\":{" CPU(n) "}}"

static void requests_follow_the_rules(void **state)
{
    (void)state;
    assert_int_equal(asks("\"containers\":[" C(CPU("100m")) "," C(CPU("200m")) "]", RESOURCE_CPU),
                     300);
    assert_int_equal(asks("\"containers\":[" C("\"limits\":{\"cpu\":\"10m\"}") "]", RESOURCE_CPU),
                     10);
    assert_int_equal(
        asks("\"containers\":[" C("\"limits\":{\"cpu\":\"2\"}," CPU("1")) "]", RESOURCE_CPU), 1000);
    assert_int_equal(asks("\"initContainers\":[" C(CPU("6")) "," C(CPU("5")) "],\"containers\":[" C(
                              CPU("1")) "]",
                          RESOURCE_CPU),
                     6000);
    assert_int_equal(
        asks("\"containers\":[" C(CPU("1")) "],\"overhead\":{\"cpu\":\"250m\"}", RESOURCE_CPU),
        1250);
    assert_int_equal(
        asks("\"containers\":[" C(CPU("1")) "],\"resources\":{" CPU("3") "}", RESOURCE_CPU), 3000);
    assert_int_equal(asks("\"containers\":[{}]", RESOURCE_PODS), 1);
}

/* Sidecars run on: they count with the containers, and with init containers after them. */
static void sidecars_count(void **state)
{
    (void)state;
    assert_int_equal(asks("\"initContainers\":[" SIDECAR("1") "],\"containers\":[" C(CPU("2")) "]",
                          RESOURCE_CPU),
                     3000);
    assert_int_equal(asks("\"initContainers\":[" SIDECAR("1") "," C(
                              CPU("5")) "],\"containers\":[" C(CPU("2")) "]",
                          RESOURCE_CPU),
                     6000);
    assert_int_equal(asks("\"initContainers\":[" C(CPU("5")) "," SIDECAR(
                              "1") "],\"containers\":[" C(CPU("2")) "]",
                          RESOURCE_CPU),
                     5000);
}

static void whose_it_is(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct pod *pod = pod_decode(
        STR("{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\"},{\"type\":"
            "\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\"}]},"
            "\"spec\":{\"schedulerName\":\"volcano\",\"nodeName\":\"n1\",\"priority\":7,"
            "\"schedulingGates\":[{\"name\":\"g\"}]},\"metadata\":{\"name\":\"a-3\",\"namespace\":"
            "\"ns\",\"uid\":\"u\",\"resourceVersion\":\"1\",\"labels\":{\"volcano.sh/task-spec\":"
            "\"label\"},\"annotations\":{\"scheduling.k8s.io/"
            "group-name\":\"g\",\"other\":\"x\"}}}"),
        &err);
    assert_non_null(pod);
    assert_string_equal(pod->group, "g");
    assert_string_equal(pod->role, "label");
    assert_string_equal(pod->node, "n1");
    assert_string_equal(pod->scheduler, "volcano");
    assert_int_equal(pod->priority, 7);
    assert_int_equal(pod->ordinal, 3);
    assert_int_equal(pod->phase, POD_PHASE_RUNNING);
    assert_true(pod->gated);
    assert_true(pod->unschedulable);
    assert_int_equal(pod->meta.labels.n + pod->meta.annotations.n, 0);
    pod_unref(pod);
    assert_int_equal(intern_count(), 0);
}

static void task_priority_wins(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct pod *pod = pod_decode(
        STR("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"annotations\":{\"volcano.sh/"
            "task-priority\":\"-4\",\"volcano.sh/task-spec\":\"r\"}},\"spec\":{\"priority\":7}}"),
        &err);
    assert_int_equal(pod->priority, -4);
    assert_int_equal(pod->ordinal, UINT32_MAX);
    assert_string_equal(pod->role, "r");
    pod_unref(pod);
    pod = decode("\"containers\":[]");
    assert_int_equal(pod->priority, 1);
    assert_string_equal(pod->group, "");
    assert_true(pod->cls->best_effort);
    pod_unref(pod);
}

static void classes_of_the_system(void **state)
{
    static const struct {
        const char *spec;
        bool critical;
    } rows[] = {
        {"\"priorityClassName\":\"system-cluster-critical\"", true},
        {"\"priorityClassName\":\"system-node-critical\"", true},
        {"\"priorityClassName\":\"system-critical\"", false},
        {"\"priorityClassName\":\"\"", false},
        {"\"priorityClassName\":null,\"priority\":2000001000", false},
        {"", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct pod *pod = decode(rows[i].spec);
        assert_non_null(pod);
        assert_int_equal(pod->critical, rows[i].critical);
        pod_unref(pod);
    }
}

static int64_t spared_until(const char *meta, const char *conditions)
{
    struct error err = ERROR_INIT;
    cleanup_free char *text =
        xasprintf("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"%s},\"spec\":{},\"status\":{"
                  "\"conditions\":[%s]}}",
                  meta, conditions);
    struct pod *pod = pod_decode(str_of(text), &err);
    assert_non_null(pod);
    int64_t until_ns = pod->spared_until_ns;
    pod_unref(pod);
    return until_ns;
}

#define COOLDOWN(time) "{\"volcano.sh/cooldown-time\":" time "}"
#define LABEL(time) ",\"labels\":" COOLDOWN(time)
#define ANNOTATION(time) ",\"annotations\":" COOLDOWN(time)
#define SCHEDULED(status, time)                                                                    \
    "{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"2026-11-30T18:00:00Z\"},"    \
    "{\"lastTransitionTime\":" time ",\"status\":\"" status "\",\"type\":\"PodScheduled\"}"
#define GIVEN "\"2025-11-24T16:00:00Z\""
#define GIVEN_NS (INT64_C(1764000000) * NSEC_PER_SEC)

/* It begins when the pod gets its node. */
static void cooldown_has_an_end(void **state)
{
    static const struct {
        const char *meta, *conditions;
        int64_t until_ns;
    } rows[] = {
        {LABEL("\"10m\""), SCHEDULED("True", GIVEN), GIVEN_NS + 600 * NSEC_PER_SEC},
        {ANNOTATION("\"1.5s\""), SCHEDULED("True", GIVEN), GIVEN_NS + 1500 * NSEC_PER_MSEC},
        {LABEL("\"1m\"") ANNOTATION("\"2m\""), SCHEDULED("True", GIVEN),
         GIVEN_NS + 60 * NSEC_PER_SEC},
        {LABEL("\"10m\""), SCHEDULED("False", GIVEN), 0},
        {LABEL("\"10m\""), SCHEDULED("True", "null"), 0},
        {LABEL("\"10m\""), SCHEDULED("True", "\"soon\""), 0},
        {LABEL("\"10m\""), "", 0},
        {LABEL("\"600\""), SCHEDULED("True", GIVEN), 0},
        {LABEL("\"-10m\""), SCHEDULED("True", GIVEN), 0},
        {LABEL("\"0s\""), SCHEDULED("True", GIVEN), 0},
        {LABEL("\"\""), SCHEDULED("True", GIVEN), 0},
        {LABEL("\"2540400h\""), SCHEDULED("True", GIVEN), INT64_MAX},
        {"", SCHEDULED("True", GIVEN), 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_int_equal(spared_until(rows[i].meta, rows[i].conditions), rows[i].until_ns);
    assert_int_equal(intern_count(), 0);
}

static void what_matters_for_evictions(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct pod *pod = pod_decode(
        STR("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"},\"spec\":{\"preemptionPolicy\":\"Never\"}"
            ","
            "\"status\":{\"startTime\":\"2026-11-30T10:00:07Z\",\"nominatedNodeName\":\"n1\","
            "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"},{\"type\":\"Initialized\","
            "\"status\":\"False\"}]}}"),
        &err);
    assert_true(pod->never_preempts);
    assert_true(pod->ready);
    assert_string_equal(pod->nominated, "n1");
    assert_int_equal(pod->started_ns, INT64_C(1796032807) * NSEC_PER_SEC);
    pod_unref(pod);
    pod = decode("\"preemptionPolicy\":\"PreemptLowerPriority\"");
    assert_false(pod->never_preempts);
    assert_false(pod->ready);
    assert_string_equal(pod->nominated, "");
    assert_int_equal(pod->started_ns, 0);
    pod_unref(pod);
    assert_int_equal(intern_count(), 0);
}

static void who_says_that_it_may_be_evicted(void **state)
{
    static const struct {
        const char *annotations, *labels;
        bool preemptable;
    } rows[] = {
        {"", "", true},
        {"\"volcano.sh/preemptable\":\"false\"", "\"volcano.sh/preemptable\":\"true\"", false},
        {"\"volcano.sh/preemptable\":\"true\"", "\"volcano.sh/preemptable\":\"false\"", true},
        {"", "\"volcano.sh/preemptable\":\"false\"", false},
        {"", "\"volcano.sh/preemptable\":\"F\"", false},
        {"", "\"volcano.sh/preemptable\":\"1\"", true},
        {"\"volcano.sh/preemptable\":\"no\"", "", false},
        {"\"volcano.sh/preemptable\":\"\"", "", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error err = ERROR_INIT;
        cleanup_free char *text =
            xasprintf("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"annotations\":{%s},\"labels\":"
                      "{%s}}}",
                      rows[i].annotations, rows[i].labels);
        struct pod *pod = pod_decode(str_of(text), &err);
        assert_non_null(pod);
        assert_int_equal(pod->preemptable, rows[i].preemptable);
        pod_unref(pod);
    }
}

static void equal_pods_share_a_class(void **state)
{
    (void)state;
    const char *spec = "\"containers\":[" C(CPU("1")) "],\"nodeSelector\":{\"a\":\"b\"},"
                                                      "\"tolerations\":[{\"key\":\"k\"}]";
    struct pod *a = decode(spec), *b = decode(spec);
    struct pod *other = decode("\"containers\":[" C(CPU("1")) "],\"nodeSelector\":{\"a\":\"c\"}");
    struct pod *same_sum = decode("\"containers\":[" C(CPU("500m")) "," C(
        CPU("500m")) "],\"nodeSelector\":{\"a\":\"c\"},\"affinity\":null");
    assert_ptr_equal(a->cls, b->cls);
    assert_ptr_not_equal(a->cls, other->cls);
    assert_ptr_equal(other->cls, same_sum->cls);
    assert_int_equal(pod_class_count(), 2);
    pod_unref(a);
    pod_unref(b);
    pod_unref(other);
    pod_unref(same_sum);
    assert_int_equal(pod_class_count(), 0);
    assert_int_equal(intern_count(), 0);
}

static void broken_pods_are_refused(void **state)
{
    (void)state;
    assert_null(decode("\"containers\":[" C("\"requests\":{\"cpu\":\"lots\"}") "]"));
    assert_null(decode("\"containers\":7"));
    assert_null(decode("\"nodeSelector\":[1]"));
    assert_null(decode("\"affinity\":{\"nodeAffinity\":7}"));
    assert_null(decode("\"tolerations\":{}"));
    assert_null(decode("\"schedulingGates\":1"));
    struct error err = ERROR_INIT;
    assert_null(pod_decode(STR("{\"metadata\":{\"name\":\"x\"}}"), &err));
    assert_null(pod_decode(STR("{"), &err));
    assert_int_equal(pod_class_count(), 0);
    assert_int_equal(intern_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_follow_the_rules),
        cmocka_unit_test(sidecars_count),
        cmocka_unit_test(whose_it_is),
        cmocka_unit_test(task_priority_wins),
        cmocka_unit_test(classes_of_the_system),
        cmocka_unit_test(cooldown_has_an_end),
        cmocka_unit_test(what_matters_for_evictions),
        cmocka_unit_test(who_says_that_it_may_be_evicted),
        cmocka_unit_test(equal_pods_share_a_class),
        cmocka_unit_test(broken_pods_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
