/*
 * nodeorder: scores worked out by hand.
 */
#include "scores.h"

#include "cluster.h"

/* cpu from 0.2 to 0.3, memory from 0.4 to 0.6, devices from 0.5 to 0.75. */
#define ASKS "\"cpu\":\"1\",\"memory\":\"20\""
#define ASKS_DEVICES ASKS ",\"nvidia.com/gpu\":\"2\""

#define NODEORDER "  - name: nodeorder\n"
#define WEIGHTS(least, most, balanced)                                                             \
    NODEORDER "    arguments:\n      leastrequested.weight: " #least                               \
              "\n      mostrequested.weight: " #most "\n      balancedresource.weight: " #balanced \
              "\n"

static void emptiest_and_fullest(void **state)
{
    (void)state;
    struct bare *b = half_used();
    assert_points(b, WEIGHTS(1, 0, 0), ASKS, 55); /* (70+40)/2 */
    assert_points(b, WEIGHTS(2, 0, 0), ASKS, 110);
    assert_points(b, WEIGHTS(0, 1, 0), ASKS, 45); /* (30+60)/2 */
    assert_points(b, WEIGHTS(1, 1, 0), ASKS, 100);
    assert_points(b, WEIGHTS(0, 0, 0), ASKS, 0);
    assert_points(b, WEIGHTS(1, 0, 0), "\"cpu\":\"9\"", 30); /* too much CPU: (0+60)/2 */
    bare_free(b);
}

static void pods_that_mend_the_balance_are_welcome(void **state)
{
    (void)state;
    struct bare *b = half_used();
    /* Deviation from 0.1 to 0.15. */
    assert_points(b, WEIGHTS(0, 0, 1), ASKS, 72.5);
    assert_points(b, WEIGHTS(0, 0, 4), ASKS, 290);
    /* To 0.4 and 0.4: from 0.1 to 0. */
    assert_points(b, WEIGHTS(0, 0, 1), "\"cpu\":\"2\"", 80);
    /* To 1 and 0.4: from 0.1 to 0.3. */
    assert_points(b, WEIGHTS(0, 0, 1), "\"cpu\":\"8\"", 65);
    /* Who asks for nothing changes nothing. */
    assert_points(b, WEIGHTS(0, 0, 1), "", 0);
    /* 0.2, 0.4, 0.5 deviate by 0.1247219, 0.3, 0.6, 0.75 by 0.1870829. */
    assert_points(b, WEIGHTS(0, 0, 1), ASKS_DEVICES, 71.88195);
    bare_free(b);
}

static void presets_are_least_and_balanced(void **state)
{
    (void)state;
    struct bare *b = half_used();
    assert_points(b, NODEORDER, ASKS, 127.5);
    bare_free(b);
}

/* What a node does not have at all is left out. */
static void nodes_without_memory(void **state)
{
    (void)state;
    struct bare *b = bare_new();
    put_node(b, "n0", "\"cpu\":\"10\",\"pods\":\"110\"");
    assert_points(b, WEIGHTS(1, 0, 0), "\"cpu\":\"1\"", 90);
    assert_points(b, WEIGHTS(0, 0, 1), "\"cpu\":\"1\"", 75);
    bare_free(b);
}

static void pods_without_requests_spread(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    unsigned first = 0;
    add_nodes(c, 2, 4);
    add_group(c, "a", "\"minMember\":1");
    for (unsigned i = 0; i < 6; i++) {
        cleanup_free char *name = xasprintf("a-w-%u", i);
        add_pod_spec(c, name, "a", "w", "");
    }
    run(c);
    assert_int_equal(bound(c, "a", NULL), 6);
    for (size_t i = 0; i < c->pod_list.n; i++)
        first += strcmp(c->pod_list.items[i]->node, "n0") == 0;
    assert_int_equal(first, 3);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emptiest_and_fullest),
        cmocka_unit_test(pods_that_mend_the_balance_are_welcome),
        cmocka_unit_test(presets_are_least_and_balanced),
        cmocka_unit_test(nodes_without_memory),
        cmocka_unit_test(pods_without_requests_spread),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
