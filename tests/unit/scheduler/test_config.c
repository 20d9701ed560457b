/*
 * The configuration file: grammar, what is rejected, what is passed over, and what the settings do.
 */
#include "cluster.h"

static struct sched_config *parse(const char *yaml, const char *complaint)
{
    struct error err = ERROR_INIT;
    struct sched_config *config = sched_config_parse(str_of(yaml), &err);
    if (complaint) {
        assert_null(config);
        if (!strstr(err.text, complaint))
            fail_msg("\"%s\" is not in \"%s\"", complaint, err.text);
    } else if (!config) {
        fail_msg("%s", err.text);
    }
    return config;
}

static void shipped_file_is_read(void **state)
{
    (void)state;
    struct sched_config *config = parse("actions: \"enqueue, allocate, backfill\"\n"
                                        "tiers:\n"
                                        "- plugins:\n"
                                        "  - name: priority\n"
                                        "  - name: gang\n"
                                        "    enablePreemptable: false\n"
                                        "  - name: conformance\n"
                                        "- plugins:\n"
                                        "  - name: overcommit\n"
                                        "  - name: drf\n"
                                        "    enablePreemptable: false\n"
                                        "  - name: predicates\n"
                                        "  - name: proportion\n"
                                        "  - name: nodeorder\n"
                                        "  - name: binpack\n",
                                        NULL);
    assert_int_equal(config->actions.n, 3);
    assert_int_equal(config->plugins.n, 9);
    assert_int_equal(config->plugins.items[0]->tier, 0);
    assert_int_equal(config->plugins.items[8]->tier, 1);
    assert_true(sched_config_has_action(config, "backfill"));
    assert_false(sched_config_has_action(config, "preempt"));
    sched_config_free(config);
}

static void unknown_names(void **state)
{
    (void)state;
    sched_config_free(parse("actions: \"allocate, reclaim, preempt, shuffle\"\n", NULL));
    parse("actions: \"allocate, shuffel\"\n", "unknown action \"shuffel\"");
    parse("actions: \"\"\n", "names no action");
    parse("tiers: []\n", "names no action");
    parse("actions: allocate\ntiers:\n- plugins:\n  - name: nodeorder\n    arguments:\n"
          "      leastrequested.weight: heavy\n",
          "argument \"leastrequested.weight\" is \"heavy\"");
    parse("actions: [", "line");
    struct sched_config *config =
        parse("actions: allocate\nsurprise: {a: 1}\ntiers:\n- plugins:\n  - name: nobody\n"
              "  - name: gang\n    enableSomething: true\n",
              NULL);
    assert_int_equal(config->plugins.n, 1);
    sched_config_free(config);
}

static void booleans_switch_points_off(void **state)
{
    (void)state;
    /* Without its readiness, gang holds nothing back. */
    struct cluster *c = cluster_new("actions: enqueue, allocate\ntiers:\n- plugins:\n"
                                    "  - name: gang\n    enableJobReady: false\n");
    add_nodes(c, 2, 1);
    add_gang(c, "a", 3, "1");
    run(c);
    assert_int_equal(bound(c, "a", NULL), 2);
    cluster_free(c);
    /* Without predicates, taints and cordons are not looked at; resources are. */
    c = cluster_new("actions: enqueue, allocate\ntiers:\n- plugins:\n  - name: gang\n");
    add_node_json(c, "n0", "", "\"unschedulable\":true", "\"cpu\":\"1\",\"pods\":\"9\"");
    add_gang(c, "a", 1, "1");
    add_gang(c, "b", 1, "1");
    run(c);
    assert_int_equal(c->binds, 1);
    cluster_free(c);
}

/* Without the enqueue action jobs enter by themselves. */
static void no_enqueue_action(void **state)
{
    (void)state;
    struct cluster *c = cluster_new("actions: allocate\ntiers:\n- plugins:\n  - name: gang\n"
                                    "  - name: overcommit\n");
    add_nodes(c, 2, 1);
    struct test_group *g = add_group(c, "a", "\"minMember\":2,\"minResources\":{\"cpu\":\"100\"}");
    add_pods(c, "a", "w", 2, "1");
    run(c);
    assert_says(g, "Running");
    cluster_free(c);
}

static void overcommit_factor_is_read(void **state)
{
    (void)state;
    struct cluster *c =
        cluster_new("actions: enqueue, allocate\ntiers:\n- plugins:\n  - name: overcommit\n"
                    "    arguments:\n      overcommit-factor: 2.0\n");
    add_nodes(c, 2, 1);
    struct test_group *fits = add_group(c, "a", "\"minMember\":1,\"minResources\":{\"cpu\":\"4\"}");
    struct test_group *more =
        add_group(c, "b", "\"minMember\":1,\"minResources\":{\"cpu\":\"4001m\"}");
    run(c);
    assert_says(fits, "Inqueue");
    assert_silent(more, "Inqueue");
    assert_says(more, "overcommitted 2 times");
    cluster_free(c);
}

static void priorities_decide(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    struct error err = ERROR_INIT;
    uint64_t rv;
    add_group(c, "low", "\"minMember\":1");
    add_pods(c, "low", "w", 1, "1");
    add_group(c, "high", "\"minMember\":1,\"priorityClassName\":\"high\"");
    add_pods(c, "high", "w", 1, "1");
    store_watch_event(c->priorityclasses, false,
                      STR("{\"metadata\":{\"name\":\"high\",\"uid\":\"h\",\"resourceVersion\":"
                          "\"500\"},\"value\":1000}"),
                      &rv, &err);
    run(c);
    add_nodes(c, 1, 1);
    run(c);
    assert_int_equal(bound(c, "high", NULL), 1);
    assert_int_equal(bound(c, "low", NULL), 0);
    cluster_free(c);
}

static void configuration_changes_with_the_next_cycle(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_node_json(c, "n0", "", "\"unschedulable\":true", "\"cpu\":\"1\",\"pods\":\"9\"");
    add_gang(c, "a", 1, "1");
    run(c);
    assert_int_equal(c->binds, 0);
    scheduler_set_config(c->scheduler,
                         parse("actions: enqueue, allocate\ntiers:\n- plugins: []\n", NULL));
    run(c);
    assert_int_equal(c->binds, 1);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_file_is_read),
        cmocka_unit_test(unknown_names),
        cmocka_unit_test(booleans_switch_points_off),
        cmocka_unit_test(no_enqueue_action),
        cmocka_unit_test(overcommit_factor_is_read),
        cmocka_unit_test(priorities_decide),
        cmocka_unit_test(configuration_changes_with_the_next_cycle),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
