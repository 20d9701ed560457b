/*
 * What a pod asks for, by the rules of Kubernetes, with hand-computed numbers.
 */
#include "testing.h"

#include "api/pod.h"

/* The request of a pod as "cpu=1000 memory=5 pods=1". */
static char *asks(const char *spec, const char *status)
{
    struct error err = ERROR_INIT;
    cleanup_free char *text =
        xasprintf("{\"status\":{%s},\"metadata\":{\"name\":\"p\",\"namespace\":"
                  "\"ns\",\"uid\":\"u\"},\"spec\":{%s}}",
                  status, spec);
    cleanup_buf struct buf out = BUF_INIT(4096);
    struct pod *pod = pod_decode(str_of(text), &err);
    if (!pod)
        fail_msg("%s", err.text);
    const struct resource_set *request = &pod->cls->request;
    for (uint32_t i = 0; i < request->n; i++)
        buf_printf(&out, "%s%s=%lld", i ? " " : "", resource_name(request->items[i].id),
                   (long long)request->items[i].amount);
    pod_unref(pod);
    return str_dup(buf_str(&out));
}

#define assert_asks(spec, status, expected)                                                        \
    do {                                                                                           \
        cleanup_free char *text_ = asks((spec), (status));                                         \
        assert_string_equal(text_, (expected));                                                    \
    } while (0)

#define C(rest) "{\"resources\":{" rest "}}"
#define NAMED(name, rest) "{\"name\":\"" name "\",\"resources\":{" rest "}}"
#define SIDECAR(rest) "{\"name\":\"s\",\"restartPolicy\":\"Always\",\"resources\":{" rest "}}"
#define CPU(n) "\"requests\":{\"cpu\":\"" n "\"}"
#define MAIN(list) "\"containers\":[" list "]"
#define INIT(list) "\"initContainers\":[" list "],"

/* A limit stands in where a request is absent, not where it is 0. */
static void limits_stand_in(void **state)
{
    (void)state;
    assert_asks(MAIN(C("\"limits\":{\"cpu\":\"2\",\"memory\":\"7\"}," CPU("1"))), "",
                "cpu=1000 memory=7 pods=1");
    assert_asks(MAIN(C("\"limits\":{\"cpu\":\"2\"}," CPU("0"))), "", "pods=1");
    assert_asks(MAIN(C(CPU("0") ",\"limits\":{\"cpu\":\"2\"}")), "", "pods=1");
    assert_asks(MAIN(C("\"limits\":{\"cpu\":\"2\"},\"requests\":null")), "", "cpu=2000 pods=1");
    assert_asks(MAIN(C("\"limits\":null") ",{\"resources\":null},{}"), "", "pods=1");
}

/* The place of a sidecar among the init containers decides whether they run beside it. */
static void sidecars_in_their_place(void **state)
{
    (void)state;
    /* 1 + 2 running; init 4 + 1 before it, 3 after it: 4 + nothing = 4, 1 + 3 = 4 */
    assert_asks(INIT(C(CPU("4")) "," SIDECAR(CPU("1")) "," C(CPU("3"))) MAIN(C(CPU("2"))), "",
                "cpu=4000 pods=1");
    /* two sidecars: the last init container runs beside both: 1 + 1 + 3 = 5 */
    assert_asks(INIT(SIDECAR(CPU("1")) "," C(CPU("3")) "," SIDECAR(CPU("1")) "," C(CPU("3")))
                    MAIN(C(CPU("2"))),
                "", "cpu=5000 pods=1");
    /* each resource for itself */
    assert_asks(INIT(C("\"requests\":{\"cpu\":\"1\",\"memory\":\"9\"}"))
                    MAIN(C("\"requests\":{\"cpu\":\"3\",\"memory\":\"2\"}")),
                "", "cpu=3000 memory=9 pods=1");
    /* of main containers the field means nothing */
    assert_asks(INIT(C(CPU("3"))) MAIN(SIDECAR(CPU("1"))), "", "cpu=3000 pods=1");
    /* wherever the field stands */
    assert_asks(INIT("{\"resources\":{" CPU("1") "},\"restartPolicy\":\"Always\"}")
                    MAIN(C(CPU("2"))),
                "", "cpu=3000 pods=1");
}

static void the_whole_pod(void **state)
{
    (void)state;
    assert_asks(MAIN(C(CPU("1"))) ",\"resources\":{" CPU("3") "}", "", "cpu=3000 pods=1");
    /* what the pod does not name stays with the containers */
    assert_asks(
        MAIN(C("\"requests\":{\"cpu\":\"1\",\"memory\":\"5\"}")) ",\"resources\":{" CPU("3") "}",
        "", "cpu=3000 memory=5 pods=1");
    /* a limit of the pod counts only where nobody asks */
    assert_asks(MAIN(C(CPU("1"))) ",\"resources\":{\"limits\":{\"cpu\":\"4\",\"memory\":\"8\"}}",
                "", "cpu=1000 memory=8 pods=1");
    /* cpu, memory and hugepages are all that a pod can ask for itself */
    assert_asks(MAIN(C("\"requests\":{\"example.com/gpu\":\"1\"}")) ",\"resources\":{\"requests\":{"
                                                                    "\"example.com/gpu\":\"3\"}}",
                "", "pods=1 example.com/gpu=1");
    assert_asks(MAIN("{}") ",\"resources\":{\"requests\":{\"hugepages-2Mi\":\"4Mi\"}}", "",
                "pods=1 hugepages-2Mi=4194304");
    /* the overhead comes on top, whoever asks */
    assert_asks(INIT(C(CPU("5"))) MAIN(C(CPU("1"))) ",\"overhead\":{\"cpu\":\"250m\"}", "",
                "cpu=5250 pods=1");
    assert_asks(
        MAIN("{}") ",\"resources\":{" CPU("3") "},\"overhead\":{\"cpu\":\"1\",\"memory\":\"0\"}",
        "", "cpu=4000 pods=1");
}

static void odd_amounts(void **state)
{
    (void)state;
    /* rounded up: half a byte, a tenth of a thousandth of a CPU */
    assert_asks(MAIN(C("\"requests\":{\"cpu\":\"100u\",\"memory\":\"500m\"}")), "",
                "cpu=1 memory=1 pods=1");
    assert_asks(MAIN(C("\"requests\":{\"hugepages-1Gi\":\"2Gi\",\"ephemeral-storage\":\"1k\"}")),
                "", "ephemeral-storage=1000 pods=1 hugepages-1Gi=2147483648");
    /* no amount is more than can be added up */
    assert_asks(MAIN(C("\"requests\":{\"memory\":\"8Ei\"}")), "", "memory=1125899906842624 pods=1");
    assert_asks(MAIN(C("\"requests\":{\"memory\":\"-1\"}")), "", "pods=1");
}

#define STATUS(list) "\"phase\":\"Running\",\"containerStatuses\":[" list "]"
#define GIVEN(name, allocated, actuated)                                                           \
    "{\"name\":\"" name "\",\"allocatedResources\":{\"cpu\":\"" allocated                          \
    "\"},\"resources\":{" CPU(actuated) "}}"
#define INFEASIBLE ",\"conditions\":[{\"type\":\"PodResizePending\",\"reason\":\"Infeasible\"}]"

/* While a resize is under way the most of what is asked for, allocated and in use is charged. */
static void resizes(void **state)
{
    const char *two = MAIN(NAMED("a", CPU("2")) "," NAMED("b", CPU("1")));
    (void)state;
    assert_asks(two, STATUS(GIVEN("a", "2", "2") "," GIVEN("b", "1", "1")), "cpu=3000 pods=1");
    assert_asks(two, STATUS(GIVEN("a", "2", "5")), "cpu=6000 pods=1"); /* shrinks */
    assert_asks(two, STATUS(GIVEN("a", "4", "1")), "cpu=5000 pods=1"); /* was allocated more */
    assert_asks(two, STATUS(GIVEN("b", "500m", "500m")), "cpu=3000 pods=1"); /* grows */
    assert_asks(two, STATUS(GIVEN("b", "500m", "500m")) INFEASIBLE, "cpu=2500 pods=1");
    assert_asks(two, STATUS("{\"name\":\"a\",\"allocatedResources\":{\"cpu\":\"9\"}}"),
                "cpu=3000 pods=1"); /* `resources` absent: nothing is known */
    /* of sidecars too, but not of init containers that end */
    assert_asks(INIT(SIDECAR(CPU("1"))) MAIN(C(CPU("2"))),
                "\"initContainerStatuses\":[" GIVEN("s", "3", "3") "]", "cpu=5000 pods=1");
    assert_asks(INIT(NAMED("i", CPU("1"))) MAIN(C(CPU("2"))),
                "\"initContainerStatuses\":[" GIVEN("i", "3", "3") "]", "cpu=2000 pods=1");
    /* and of the whole pod */
    assert_asks(MAIN(C(CPU("1"))) ",\"resources\":{" CPU("2") "}",
                "\"allocatedResources\":{\"cpu\":\"3\"},\"resources\":{" CPU("1") "}",
                "cpu=3000 pods=1");
}

/* A container that has ended is charged until its pod has. */
static void ended_containers_count(void **state)
{
    (void)state;
    assert_asks(MAIN(NAMED("a", CPU("2")) "," NAMED("b", CPU("1"))),
                STATUS("{\"name\":\"a\",\"state\":{\"terminated\":{\"exitCode\":0}}}"),
                "cpu=3000 pods=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_stand_in), cmocka_unit_test(sidecars_in_their_place),
        cmocka_unit_test(the_whole_pod),   cmocka_unit_test(odd_amounts),
        cmocka_unit_test(resizes),         cmocka_unit_test(ended_containers_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
