/*
 * The rules of resources in a pod template: of containers, of the pod as a whole and its overhead.
 */
#include "pod_testing.h"

#define LIMITS(list) "'resources':{'limits':{" list "}}"
#define REQUESTS(list) "'resources':{'requests':{" list "}}"
#define BOTH(requests, limits) "'resources':{'requests':{" requests "},'limits':{" limits "}}"

static void test_resources(void **state)
{
    (void)state;
    CHECK_ALL(
        {BOTH("'cpu':'1','memory':'1Gi'", "'cpu':1,'memory':'1024Mi','ephemeral-storage':'1'"), ""},
        {REQUESTS("'cpu':'-1m'"), "@.resources.requests[cpu]: Invalid value"},
        {REQUESTS("'cpu':'x'"), "@.resources.requests[cpu]: Invalid value"},
        {REQUESTS("'gpu':'1'"), "@.resources.requests[gpu]: Invalid value"},
        {LIMITS("'pods':'1'"), "@.resources.limits[pods]: Invalid value"},
        {LIMITS("'example.com/gpu':'1'"), ""},
        {LIMITS("'example.com/gpu':'500m'"), "@.resources.limits[example.com/gpu]: Invalid value"},
        {LIMITS("'requests.example.com/gpu':'1'"),
         "@.resources.limits[requests.example.com/gpu]: Invalid value"},
        {LIMITS("'kubernetes.io/thing':'500m'"), ""},
        {LIMITS("'Example.com/gpu':'1'"), "@.resources.limits[Example.com/gpu]: Invalid value"},
        {BOTH("'cpu':'1001m'", "'cpu':'1'"), "@.resources.requests: Invalid value"},
        {BOTH("'cpu':'1000.1m'", "'cpu':'1.001'"), ""},
        {BOTH("'example.com/gpu':'1'", "'example.com/gpu':'2'"),
         "@.resources.requests: Invalid value"},
        {BOTH("'example.com/gpu':'2'", "'example.com/gpu':'2'"), ""},
        {REQUESTS("'example.com/gpu':'1'"), "@.resources.limits: Required value"},
        {LIMITS("'hugepages-2Mi':'4Mi','cpu':'1'"), ""},
        {LIMITS("'hugepages-2Mi':'3Mi','cpu':'1'"),
         "@.resources.limits[hugepages-2Mi]: Invalid value"},
        {LIMITS("'hugepages-x':'4Mi','cpu':'1'"), "@.resources.limits[hugepages-x]: Invalid value"},
        {LIMITS("'hugepages-2Mi':'4Mi'"), "@.resources: Forbidden"},
        {"'resources':{'limits':[]}", "@.resources.limits: Invalid value"},
        {"'resources':[]", "@.resources: Invalid value"});
}

static void test_claims(void **state)
{
    (void)state;
    CHECK_ALL({"'resources':{'claims':[{'name':'gpu'},{'name':'nic','request':'a'},"
               "{'name':'nic','request':'b'}]}",
               ""},
              {"'resources':{'claims':[{}]}", "@.resources.claims[0]: Required value"},
              {"'resources':{'claims':[{'name':'z'}]}", "@.resources.claims[0]: Not found"},
              {"'resources':{'claims':[{'name':'gpu'},{'name':'gpu'}]}",
               "@.resources.claims[1]: Duplicate value"},
              {"'resources':{'claims':[{'name':'gpu'},{'name':'gpu','request':'a'}]}",
               "@.resources.claims[1]: Duplicate value"},
              {"'resources':{'claims':[{'name':'gpu','request':'a'},{'name':'gpu'}]}",
               "@.resources.claims[1]: Duplicate value"},
              {"'resources':{'claims':[{'name':'gpu','request':'a'},{'name':'gpu','request':'a'}]}",
               "@.resources.claims[1]: Duplicate value"},
              {"'resources':{'claims':[{'name':'gpu','request':'A'}]}",
               "@.resources.claims[0].request: Invalid value"});
}

/* ---- pod-level resources ------------------------------------------------------------------- */

/* A pod with these resources, a container with 1 CPU and one with 3, and these init containers. */
static void check_pod(const char *resources, const char *init, bool gate, const char *expected)
{
    struct buf spec = BUF_INIT(65536);
    buf_printf(&spec,
               "{'resources':%s,'initContainers':[%s],'containers':["
               "{'name':'a','image':'i','resources':{'requests':{'cpu':'1'}}},"
               "{'name':'b','image':'i','resources':{'requests':{'cpu':'3'},"
               "'limits':{'cpu':'3','memory':'1Gi','hugepages-2Mi':'4Mi'}}}]}",
               resources, init);
    check_text(buf_cstr(&spec), gate, true, expected);
    buf_clear(&spec);
}

#define INIT(name, more, cpu)                                                                      \
    "{'name':'" name "','image':'i'," more "'resources':{'requests':{'cpu':'" cpu "'}}}"
#define SIDECAR(name, cpu) INIT(name, "'restartPolicy':'Always',", cpu)

static void test_pod_level(void **state)
{
    (void)state;
    check_pod("{'requests':{'cpu':'4'},'limits':{'cpu':'4'}}", "", true, "");
    check_pod(
        "{'requests':{'cpu':'2'}}", "", true,
        "spec.resources.requests[cpu]: Invalid value: \"2\": must be greater than or equal to "
        "aggregate container requests of 4");
    check_pod("{'requests':{'cpu':'2'}}", "", false, "");
    check_pod("{'requests':{'cpu':'6'},'limits':{'cpu':'4'}}", "", true,
              "spec.resources.requests: Invalid value: \"6\": must be less than or equal to cpu "
              "limit of 4");
    check_pod("{'requests':{'memory':'1Gi'}}", "", true, "");
    check_pod(
        "{'limits':{'cpu':'2','memory':'1023Mi'}}", "", true,
        "spec.resources.containers[1][cpu].limits: Invalid value: \"3\": must be less than or "
        "equal to pod limits of 2\n"
        "spec.resources.containers[1][memory].limits: Invalid value: \"1Gi\": must be less "
        "than or equal to pod limits of 1023Mi");
    check_pod("{'limits':{'cpu':'3','hugepages-2Mi':'4Mi'}}", "", true, "");
    check_pod("{'limits':{'cpu':'3','hugepages-2Mi':'2Mi'}}", "", true,
              "spec.resources.limits[hugepages-2Mi]: Invalid value: \"2Mi\": must be greater than "
              "or equal to aggregate container limits of 4Mi\n"
              "spec.resources.containers[1][hugepages-2Mi].limits: Invalid value: \"4Mi\": must be "
              "less than or equal to pod limits of 2Mi");
}

/* Sidecars count beside the regular containers; an init container beside the sidecars before. */
static void test_pod_level_init(void **state)
{
    (void)state;
    check_pod("{'requests':{'cpu':'4'}}", INIT("n", "", "4"), true, "");
    check_pod(
        "{'requests':{'cpu':'4'}}", INIT("n", "", "4100m"), true,
        "spec.resources.requests[cpu]: Invalid value: \"4\": must be greater than or equal to "
        "aggregate container requests of 4100m");
    check_pod("{'requests':{'cpu':'6'}}", SIDECAR("s", "2"), true, "");
    check_pod(
        "{'requests':{'cpu':'6'}}", SIDECAR("s", "2") "," INIT("n", "", "5"), true,
        "spec.resources.requests[cpu]: Invalid value: \"6\": must be greater than or equal to "
        "aggregate container requests of 7");
    check_pod("{'requests':{'cpu':'6'}}", INIT("n", "", "5") "," SIDECAR("s", "2"), true, "");
}

static void test_pod_level_itself(void **state)
{
    (void)state;
    const char *containers = "'containers':[{'name':'a','image':'i'}]}";
    static const struct container_case cases[] = {
        {"{'resources':{},", ""},
        {"{'resources':{'requests':{'cpu':'-1'}},", "spec.resources.requests[cpu]: Invalid value"},
        {"{'resources':{'limits':{'ephemeral-storage':'1'}},",
         "spec.resources.limits[ephemeral-storage]: Unsupported value"},
        {"{'resources':{'limits':{'example.com/gpu':'1'}},",
         "spec.resources.limits[example.com/gpu]: Unsupported value"},
        {"{'resources':{'limits':{'gpu':'1'}},", "spec.resources.limits[gpu]: Invalid value"},
        {"{'resources':{'limits':{'hugepages-2Mi':'2Mi'}},", "spec.resources: Forbidden"},
        {"{'resources':{'claims':[]},", "spec.resources.claims: Forbidden"},
        {"{'resources':{'claims':[{'name':'z'}]},",
         "spec.resources.claims: Forbidden; spec.resources.claims[0]: Not found"},
        {"{'os':{'name':'windows'},'resources':{'requests':{'cpu':'-1'}},",
         "spec.resources: Forbidden"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct buf spec = BUF_INIT(65536);
        buf_printf(&spec, "%s%s", cases[i].members, containers);
        check_spec(buf_cstr(&spec), cases[i].faults);
        buf_clear(&spec);
    }
}

static void check_overhead(const char *list_text, const char *expected)
{
    struct arena arena = ARENA_INIT;
    struct problems problems = PROBLEMS_INIT;
    struct buf lines = BUF_INIT(65536), out = BUF_INIT(65536);
    struct rule_walk walk = {.problems = &problems, .arena = &arena};
    const struct field at = field_root("spec.overhead");
    cJSON *list = parse(list_text);
    problems.separator = "\n";
    pod_check_resource_list(&walk, list, &at);
    problems_write(&problems, &lines);
    shorten(buf_str(&lines), &out);
    assert_str(buf_str(&out), expected);
    cJSON_Delete(list);
    problems_clear(&problems);
    arena_clear(&arena);
    buf_clear(&lines);
    buf_clear(&out);
}

static void test_overhead(void **state)
{
    (void)state;
    check_overhead("{'cpu':'1','memory':null}", "");
    check_overhead("{'cpu':'-1'}", "spec.overhead.limits[cpu]: Invalid value");
    check_overhead("{'hugepages-2Mi':'2Mi'}", "spec.overhead: Forbidden");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resources),        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_pod_level),        cmocka_unit_test(test_pod_level_init),
        cmocka_unit_test(test_pod_level_itself), cmocka_unit_test(test_overhead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
