/*
 * resource-strategy-fit: scores worked out by hand, nodes with scarce resources, and what has to
 * stay free for devices.
 */
#include "scores.h"

#include "cluster.h"

/* cpu (2+1)/10 = 0.3, memory (40+20)/100 = 0.6, devices (4+2)/8 = 0.75. */
#define ASKS "\"cpu\":\"1\",\"memory\":\"20\""
#define ASKS_DEVICES ASKS ",\"nvidia.com/gpu\":\"2\""

#define PLUGIN "  - name: resource-strategy-fit\n"
#define WITH(arguments) PLUGIN "    arguments:\n" arguments
#define RULES(rules) WITH("      resources:\n" rules)
#define RULE(name, type, weight)                                                                   \
    "        " name ":\n          type: " type "\n          weight: " weight "\n"
#define LEAST "LeastAllocated"
#define MOST "MostAllocated"

static void each_resource_has_its_strategy(void **state)
{
    (void)state;
    struct bare *b = half_used();
    assert_points(b, PLUGIN, ASKS, 550);         /* 10 * (70+40)/2 */
    assert_points(b, PLUGIN, ASKS_DEVICES, 550); /* no rule for devices */
    assert_points(b, PLUGIN, "\"cpu\":\"1\"", 700);
    assert_points(b, PLUGIN, "", 0);
    assert_points(b, PLUGIN, "\"cpu\":\"9\"", 0); /* 11 of 10 */
    assert_points(b, WITH("      resourceStrategyFitWeight: 2\n"), ASKS, 110);
    assert_points(b, WITH("      resourceStrategyFitWeight: 0\n"), ASKS, 0);
    assert_points(b, RULES(RULE("cpu", MOST, "1") RULE("memory", MOST, "1")), ASKS, 450);
    assert_points(b, RULES(RULE("nvidia.com/gpu", MOST, "2") RULE("cpu", LEAST, "1")), ASKS_DEVICES,
                  733.333333); /* (2*75+70)/3 */
    assert_points(b, RULES(RULE("cpu", LEAST, "0") RULE("memory", LEAST, "3")), ASKS,
                  475); /* (70+3*40)/4 */
    assert_points(b, RULES(RULE("cpu", "Middle", "-1")), ASKS, 700);
    assert_points(b, RULES("        cpu: {}\n"), ASKS, 700);
    bare_free(b);
}

static void the_longest_prefix_counts(void **state)
{
    (void)state;
    struct bare *b = half_used();
    assert_points(b, RULES(RULE("nvidia.com/*", MOST, "1")), ASKS_DEVICES, 750);
    assert_points(b, RULES(RULE("nvidia.com/*", LEAST, "1") RULE("nvidia.com/g*", MOST, "1")),
                  ASKS_DEVICES, 750);
    assert_points(b, RULES(RULE("nvidia.com/g*", MOST, "1") RULE("nvidia.com/*", LEAST, "1")),
                  ASKS_DEVICES, 750);
    assert_points(b, RULES(RULE("nvidia.com/gpu*", MOST, "1") RULE("nvidia.com/gpu", LEAST, "1")),
                  ASKS_DEVICES, 250);
    assert_points(b, RULES(RULE("amd.com/*", MOST, "1")), ASKS_DEVICES, 0);
    assert_points(b, RULES(RULE("\"*\"", MOST, "1")), ASKS_DEVICES, 0);
    bare_free(b);
}

#define SRA(enable)                                                                                \
    WITH("      resourceStrategyFitWeight: 0\n"                                                    \
         "      sra:\n        enable: " enable                                                     \
         "\n        resources: nvidia.com/gpu, example.com/foo\n"                                  \
         "        weight: 2\n        resourceWeight: {nvidia.com/gpu: 1, example.com/foo: 3}\n")

static void scarce_resources_are_kept(void **state)
{
    (void)state;
    struct bare *b = half_used();
    assert_points(b, SRA("true"), ASKS, 150); /* 200 * (1 - 1/4) */
    assert_points(b, SRA("\"yes\""), ASKS, 150);
    assert_points(b, SRA("false"), ASKS, 0);
    assert_points(
        b, WITH("      sra: {enable: true, resources: \"nvidia.com/gpu,example.com/foo\"}\n"), ASKS,
        600); /* 550 + 100 * (1 - 1/2) */
    assert_points(b, WITH("      sra: {enable: true}\n"), ASKS, 550);
    bare_free(b);
}

static double points_of(const struct bare *b, const char *type, const char *weight)
{
    cleanup_free char *annotations =
        xasprintf("\"volcano.sh/resource-strategy-scoring-type\":\"%s\"%s%s%s", type,
                  weight ? ",\"volcano.sh/resource-strategy-weight\":\"" : "", weight ? weight : "",
                  weight ? "\"" : "");
    return points_for(b, PLUGIN, ASKS_DEVICES, annotations);
}

#define assert_pod_points(b, type, weight, expected)                                               \
    do {                                                                                           \
        double points_ = points_of(b, type, weight);                                               \
        if (fabs(points_ - (expected)) > 1e-5)                                                     \
            fail_msg("%.7f points, not %.7f", points_, (double)(expected));                        \
    } while (0)

/* Type and weights of the pod stand for those of the configuration. */
static void pods_may_have_a_strategy_of_their_own(void **state)
{
    (void)state;
    struct bare *b = half_used();
    assert_pod_points(b, MOST, "{\\\"cpu\\\":1,\\\"nvidia.com/gpu\\\":2}", 600); /* (30+2*75)/3 */
    assert_pod_points(b, LEAST, "{\\\"cpu\\\":1,\\\"nvidia.com/gpu\\\":2}", 400);
    assert_pod_points(b, MOST, "{\\\"memory\\\":7}", 600);
    assert_pod_points(b, MOST, "{\\\"memory\\\":7,\\\"cpu\\\":-1}", 600);
    assert_pod_points(b, MOST, NULL, 0);
    assert_pod_points(b, MOST, "{\\\"cpu\\\":1", 0);
    assert_pod_points(b, MOST, "{\\\"cpu\\\":1,\\\"memory\\\":\\\"much\\\"}", 0);
    assert_pod_points(b, "Middle", "{\\\"cpu\\\":1}", 550);
    bare_free(b);
}

/* Such pods are of different classes. */
static void classes_are_told_apart(void **state)
{
    (void)state;
    struct pod *plain = pod_asking(ASKS, "");
    struct pod *most =
        pod_asking(ASKS, "\"volcano.sh/resource-strategy-scoring-type\":\"MostAllocated\"");
    struct pod *again =
        pod_asking(ASKS, "\"volcano.sh/resource-strategy-scoring-type\":\"MostAllocated\"");
    assert_ptr_not_equal(plain->cls, most->cls);
    assert_ptr_equal(most->cls, again->cls);
    pod_unref(plain);
    pod_unref(most);
    pod_unref(again);
}

/* What cannot be read is passed over. */
static void wrong_arguments_change_nothing(void **state)
{
    (void)state;
    struct bare *b = half_used();
    assert_points(b, WITH("      resources: cpu\n"), ASKS, 550);
    assert_points(b, WITH("      resourceStrategyFitWeight: heavy\n      sra: 7\n"), ASKS, 550);
    assert_points(b, RULES("        memory: 5\n"), ASKS, 0);
    assert_points(b, WITH("      proportional: {enable: maybe, resources: 1}\n"), ASKS, 550);
    bare_free(b);
}

#define CONF                                                                                       \
    "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: gang\n" WITH(                   \
        "      proportional:\n        enable: true\n        resources: nvidia.com/gpu\n"           \
        "        resourceProportion:\n          nvidia.com/gpu.cpu: 8\n"                           \
        "          nvidia.com/gpu.memory: 8\n")

static struct test_group *add_one(struct cluster *c, const char *name, const char *requests)
{
    cleanup_free char *pod = xasprintf("%s-0", name);
    cleanup_free char *spec =
        xasprintf(",\"containers\":[{\"resources\":{\"requests\":{%s}}}]", requests);
    struct test_group *group = add_group(c, name, "\"minMember\":1");
    add_pod_spec(c, pod, name, "w", spec);
    run(c);
    return group;
}

/* 8 idle devices need 64 of 74 CPUs and 64 of 128 GB: 10 CPUs and 64 GB may go to others. */
static void devices_keep_what_they_need(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(CONF);
    add_node_json(c, "n0", "", "",
                  "\"cpu\":\"74\",\"memory\":\"128G\",\"nvidia.com/gpu\":\"8\",\"pods\":\"110\"");
    (void)add_one(c, "a", "\"cpu\":\"8\",\"memory\":\"8G\"");
    assert_int_equal(bound(c, "a", NULL), 1); /* 66 left */
    struct test_group *waits = add_one(c, "b", "\"cpu\":\"8\",\"memory\":\"8G\"");
    assert_int_equal(bound(c, "b", NULL), 0); /* 58 would be */
    assert_says(waits, "1 proportional of resource nvidia.com/gpu check failed");
    (void)add_one(c, "c", "\"cpu\":\"2\",\"memory\":\"57G\"");
    assert_int_equal(bound(c, "c", NULL), 0); /* 63 GB would be */
    (void)add_one(c, "d", "\"cpu\":\"2\",\"memory\":\"56G\"");
    assert_int_equal(bound(c, "d", NULL), 1); /* 64 and 64 left */
    /* Who asks for devices is let in, and makes room: 7 idle ones need 56 CPUs and 56 GB. */
    (void)add_one(c, "e", "\"cpu\":\"0\",\"nvidia.com/gpu\":\"1\"");
    assert_int_equal(bound(c, "e", NULL), 1);
    assert_int_equal(bound(c, "b", NULL), 1);
    assert_int_equal(bound(c, "c", NULL), 0);
    check(c);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_resource_has_its_strategy),
        cmocka_unit_test(the_longest_prefix_counts),
        cmocka_unit_test(scarce_resources_are_kept),
        cmocka_unit_test(pods_may_have_a_strategy_of_their_own),
        cmocka_unit_test(classes_are_told_apart),
        cmocka_unit_test(wrong_arguments_change_nothing),
        cmocka_unit_test(devices_keep_what_they_need),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
