/*
 * overcommit: a factor for each resource, with the limits worked out by hand.
 */
#include "cluster.h"

#define OVERCOMMIT(arguments)                                                                      \
    "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: gang\n  - name: "               \
    "overcommit\n" arguments
#define SET(name, value) "      overcommit-factor" name ": " value "\n"

/* Whether a job with these minResources, and no pods yet, may enter an empty cluster of 10 CPUs,
 * 100 bytes of memory and 8 GPUs. */
static bool enters(const char *conf, const char *resources, const char *complaint)
{
    struct cluster *c = cluster_new(conf);
    cleanup_free char *spec = xasprintf("\"minMember\":1,\"minResources\":{%s}", resources);
    add_node_json(c, "n0", "", "",
                  "\"cpu\":\"10\",\"memory\":\"100\",\"nvidia.com/gpu\":\"8\",\"pods\":\"110\"");
    struct test_group *group = add_group(c, "a", spec);
    run(c);
    bool entered = str_find(str_of(group->status), STR("Inqueue")) >= 0;
    if (complaint)
        assert_says(group, complaint);
    cluster_free(c);
    return entered;
}

#define assert_enters(conf, resources) assert_true(enters(conf, resources, NULL))
#define assert_waits(conf, resources, complaint) assert_false(enters(conf, resources, complaint))

static void preset_is_for_cpu_and_memory(void **state)
{
    const char *conf = OVERCOMMIT("");
    (void)state;
    assert_enters(conf, "\"cpu\":\"12\",\"memory\":\"120\"");
    assert_waits(conf, "\"cpu\":\"12001m\"",
                 "needs cpu 12.001, but of the cluster's 10 (overcommitted 1.2 times) only 12 are");
    assert_waits(conf, "\"memory\":\"121\"", "needs memory 121");
    assert_enters(conf, "\"nvidia.com/gpu\":\"8\"");
    assert_waits(conf, "\"nvidia.com/gpu\":\"9\"",
                 "needs nvidia.com/gpu 9, but of the cluster's 8 only 8 are");
}

static void each_resource_may_have_its_own(void **state)
{
    const char *conf = OVERCOMMIT("    arguments:\n" SET("", "2") SET(".cpu", "1.5")
                                      SET(".nvidia.com/gpu", "1.25"));
    (void)state;
    assert_enters(conf, "\"cpu\":\"15\",\"memory\":\"200\",\"nvidia.com/gpu\":\"10\"");
    assert_waits(conf, "\"cpu\":\"15001m\"", "(overcommitted 1.5 times)");
    assert_waits(conf, "\"memory\":\"201\"", "(overcommitted 2 times)");
    assert_waits(conf, "\"nvidia.com/gpu\":\"11\"", "(overcommitted 1.25 times) only 10 are");
    assert_waits(OVERCOMMIT("    arguments:\n" SET("", "2")), "\"nvidia.com/gpu\":\"9\"",
                 "of the cluster's 8 only 8");
}

static void factors_below_one_are_not_taken(void **state)
{
    const char *conf = OVERCOMMIT("    arguments:\n" SET("", "0.5") SET(".cpu", "0.9")
                                      SET(".nvidia.com/gpu", "0.5"));
    (void)state;
    assert_enters(conf, "\"cpu\":\"12\",\"memory\":\"120\",\"nvidia.com/gpu\":\"8\"");
    assert_waits(conf, "\"cpu\":\"12001m\"", "(overcommitted 1.2 times)");
}

static void huge_factors_let_everything_in(void **state)
{
    (void)state;
    assert_enters(OVERCOMMIT("    arguments:\n" SET("", "1e300")), "\"cpu\":\"1000000\"");
}

/* 12 CPUs less 4 used and 7 promised are 1. */
static void what_is_used_and_promised_counts(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(OVERCOMMIT(""));
    add_nodes(c, 1, 10);
    add_gang(c, "runs", 2, "2");
    run(c);
    add_group(c, "first", "\"minMember\":9,\"minResources\":{\"cpu\":\"7\"}");
    run(c);
    struct test_group *small =
        add_group(c, "small", "\"minMember\":1,\"minResources\":{\"cpu\":\"1\"}");
    struct test_group *large =
        add_group(c, "large", "\"minMember\":1,\"minResources\":{\"cpu\":\"1001m\"}");
    run(c);
    assert_says(small, "Inqueue");
    assert_says(large, "only 1 are not used");
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(preset_is_for_cpu_and_memory),
        cmocka_unit_test(each_resource_may_have_its_own),
        cmocka_unit_test(factors_below_one_are_not_taken),
        cmocka_unit_test(huge_factors_let_everything_in),
        cmocka_unit_test(what_is_used_and_promised_counts),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
