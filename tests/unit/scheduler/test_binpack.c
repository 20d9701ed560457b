/*
 * binpack: scores worked out by hand, and nodes that are filled one after the other.
 */
#include "scores.h"

#include "cluster.h"

/* cpu (2+1)/10 = 0.3, memory (40+20)/100 = 0.6, devices (4+2)/8 = 0.75. */
#define ASKS "\"cpu\":\"1\",\"memory\":\"20\""
#define ASKS_DEVICES ASKS ",\"nvidia.com/gpu\":\"2\""

#define BINPACK "  - name: binpack\n"
#define WITH(arguments) BINPACK "    arguments:\n" arguments
#define SET(name, value) "      binpack." name ": " value "\n"

static void cpu_and_memory_are_averaged_by_weight(void **state)
{
    (void)state;
    struct bare *b = half_used();
    assert_points(b, BINPACK, ASKS, 45);                                      /* (30+60)/2 */
    assert_points(b, WITH(SET("cpu", "3")), ASKS, 37.5);                      /* (90+60)/4 */
    assert_points(b, WITH(SET("cpu", "0.7") SET("memory", "0.3")), ASKS, 39); /* 21+18 */
    assert_points(b, WITH(SET("cpu", "0")), ASKS, 60);                        /* memory alone */
    assert_points(b, WITH(SET("cpu", "0") SET("memory", "0")), ASKS, 0);      /* nothing */
    assert_points(b, WITH(SET("cpu", "-2") SET("memory", "-0.5")), ASKS, 45); /* as 1 and 1 */
    assert_points(b, WITH(SET("weight", "10")), ASKS, 450);
    assert_points(b, WITH(SET("weight", "0.5")), ASKS, 22.5);
    assert_points(b, WITH(SET("weight", "0")), ASKS, 0);
    bare_free(b);
}

static void only_what_is_asked_for_counts(void **state)
{
    (void)state;
    struct bare *b = half_used();
    assert_points(b, BINPACK, "\"cpu\":\"1\"", 30);
    assert_points(b, WITH(SET("cpu", "0")), "\"cpu\":\"1\"", 0);
    assert_points(b, BINPACK, "", 0);
    assert_points(b, BINPACK, "\"cpu\":\"8\"", 100);
    assert_points(b, BINPACK, "\"cpu\":\"9\"", 0); /* 11 of 10 */
    bare_free(b);
}

static void devices_have_weights_of_their_own(void **state)
{
    (void)state;
    struct bare *b = half_used();
    assert_points(b, BINPACK, ASKS_DEVICES, 45); /* not named: they do not count */
    assert_points(b, WITH(SET("resources", "nvidia.com/gpu")), ASKS_DEVICES, 55);
    assert_points(b,
                  WITH(SET("resources", "\"nvidia.com/gpu, example.com/foo,\"")
                           SET("resources.nvidia.com/gpu", "2")),
                  ASKS_DEVICES, 60); /* (30+60+2*75)/4 */
    assert_points(b,
                  WITH(SET("cpu", "0") SET("memory", "0") SET("resources", "nvidia.com/gpu")
                           SET("resources.nvidia.com/gpu", "0.1")),
                  ASKS_DEVICES, 75);
    /* What the node does not have counts as empty. */
    assert_points(b, WITH(SET("resources", "example.com/foo")), ASKS ",\"example.com/foo\":\"1\"",
                  30);
    bare_free(b);
}

/* How many pods of the group the fullest node got. */
static unsigned fullest(const struct cluster *c)
{
    unsigned most = 0, counts[8] = {0};
    for (size_t i = 0; i < c->pod_list.n; i++)
        if (c->pod_list.items[i]->node[0])
            counts[c->pod_list.items[i]->node[1] - '0']++;
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
        most = counts[i] > most ? counts[i] : most;
    return most;
}

static unsigned fullest_with(const char *plugins)
{
    cleanup_free char *conf = xasprintf(
        "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: gang\n%s", plugins);
    struct cluster *c = cluster_new(conf);
    add_nodes(c, 4, 4);
    add_gang(c, "a", 4, "1");
    run(c);
    assert_int_equal(bound(c, "a", NULL), 4);
    check(c);
    unsigned most = fullest(c);
    cluster_free(c);
    return most;
}

static void binpack_fills_and_nodeorder_spreads(void **state)
{
    (void)state;
    assert_int_equal(fullest_with("  - name: binpack\n"), 4);
    assert_int_equal(fullest_with("  - name: nodeorder\n"), 1);
    assert_int_equal(fullest_with("  - name: nodeorder\n" WITH(SET("weight", "10"))), 4);
    assert_int_equal(fullest_with("  - name: nodeorder\n" WITH(SET("weight", "0"))), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_and_memory_are_averaged_by_weight),
        cmocka_unit_test(only_what_is_asked_for_counts),
        cmocka_unit_test(devices_have_weights_of_their_own),
        cmocka_unit_test(binpack_fills_and_nodeorder_spreads),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
