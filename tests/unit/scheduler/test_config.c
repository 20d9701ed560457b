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
    parse("actions: [", "line");
    struct sched_config *config =
        parse("actions: allocate\nsurprise: {a: 1}\ntiers:\n- plugins:\n  - name: nobody\n"
              "  - name: gang\n    enableSomething: true\n",
              NULL);
    assert_int_equal(config->plugins.n, 1);
    sched_config_free(config);
}

/* ---- what is reported ------------------------------------------------------------------------ */

/* Parses with the log in a file; what it says is NUL-terminated in `log`. */
static struct sched_config *parse_logged(const char *yaml, char *log, size_t size)
{
    FILE *file = tmpfile();
    struct error err = ERROR_INIT;
    assert_non_null(file);
    log_set_fd(fileno(file));
    struct sched_config *config = sched_config_parse(str_of(yaml), &err);
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    rewind(file);
    log[fread(log, 1, size - 1, file)] = '\0';
    fclose(file);
    if (!config)
        fail_msg("%s", err.text);
    return config;
}

#define WITH(plugin) "actions: allocate\ntiers:\n- plugins:\n" plugin

static const struct {
    const char *yaml;
    const char *says[4]; /* all are in the log; none: the log is empty */
} reports[] = {
    {WITH("  - name: gang\n"), {NULL}},
    {WITH("  - name: gang\n    enableJobReady: null\n    enablePreemptable: no\n"), {NULL}},
    {"surprise: {a: 1}\nactions: allocate\n",
     {"not known", "key=surprise", "the top", "actions, tiers, configurations, metrics"}},
    {"actions: allocate\ntiers:\n- plugin: []\n",
     {"key=plugin ", "place=\"tiers\"", "known=\"plugins\""}},
    {WITH("  - enableJobredy: true\n    name: gang\n"),
     {"key=enableJobredy", "plugin gang", "enableJobReady, ", "enabledSubJobOrder"}},
    {WITH("  - name: nobody\n"), {"does not exist", "plugin=\"nobody\"", "gang, priority"}},
    {WITH("  - name: gang\n  - name: gang\n"), {"names a plugin twice", "plugin=gang", "tier=1"}},
    {WITH("  - name: overcommit\n    arguments:\n      overcommit-faktor: 2\n"),
     {"argument=overcommit-faktor", "plugin overcommit", "known=\"overcommit-factor\""}},
    {WITH("  - name: overcommit\n    arguments:\n      overcommit-factor: \"2\"\n"),
     {"wrong type", "argument=overcommit-factor", "value=\"2\"", "a number"}},
    {WITH("  - name: nodeorder\n    arguments:\n      leastrequested.weight: heavy\n"),
     {"wrong type", "leastrequested.weight", "value=\"heavy\"", "a whole number"}},
    {WITH("  - name: nodeorder\n    arguments:\n      leastrequested.weight: 1.5\n"),
     {"wrong type", "value=\"1.5\""}},
    {WITH("  - name: priority\n    arguments:\n      size: 3\n"),
     {"argument=size", "known=\"none\""}},
    {WITH("  - name: gang\n    arguments:\n      defaultWaitingTime: soon\n"),
     {"wrong type", "argument=defaultWaitingTime", "value=\"soon\"", "a duration"}},
    {WITH("  - name: gang\n    arguments:\n      defaultWaitingTime: 90\n"
          "      gang.reserveAfter: 10m\n"),
     {NULL}},
    {"actions: allocate\nconfigurations:\n- name: allocat\n  arguments: {a: 1}\n",
     {"action that does not exist", "action=\"allocat\"", "enqueue, allocate"}},
    {"actions: allocate\nconfigurations:\n- arguments: {a: 1}\n  name: allocate\n  more: 1\n",
     {"key=more", "place=\"configurations\"", "argument=a", "action allocate"}},
    {"actions: allocate\nconfigurations:\n- name: allocate\n  arguments:\n"
     "    predicateErrorCacheEnable: true\n",
     {"no effect in this version", "predicateErrorCacheEnable"}},
    {"actions: allocate, reclaim\nconfigurations:\n- name: reclaim\n  arguments: {a: 1}\n",
     {"argument=a", "action reclaim", "breakGangs"}},
    {"actions: allocate\nmetrics:\n  type: prometheus\n  adress: x\n",
     {"argument=type", "argument=adress", "place=\"metrics\"", "tls.insecureSkipVerify"}},
};

static void what_is_not_known_is_reported(void **state)
{
    static char log[1 << 16];
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(reports); i++) {
        sched_config_free(parse_logged(reports[i].yaml, log, sizeof(log)));
        if (!reports[i].says[0] && log[0])
            fail_msg("case %zu says %s", i, log);
        for (size_t j = 0; j < ARRAY_SIZE(reports[i].says) && reports[i].says[j]; j++)
            if (!strstr(log, reports[i].says[j]))
                fail_msg("case %zu: \"%s\" is not in %s", i, reports[i].says[j], log);
    }
}

/* ---- booleans -------------------------------------------------------------------------------- */

static const struct {
    const char *key;
    enum plugin_point point;
    bool preset;
} booleans[] = {
    {"enableJobOrder", POINT_JOB_ORDER, true},
    {"enableHierarchy", POINT_HIERARCHY, false},
    {"enableJobReady", POINT_JOB_READY, true},
    {"enableJobPipelined", POINT_JOB_PIPELINED, true},
    {"enableTaskOrder", POINT_TASK_ORDER, true},
    {"enablePreemptable", POINT_PREEMPTABLE, true},
    {"enableReclaimable", POINT_RECLAIMABLE, true},
    {"enablePreemptive", POINT_PREEMPTIVE, true},
    {"enableQueueOrder", POINT_QUEUE_ORDER, true},
    {"enabledClusterOrder", POINT_CLUSTER_ORDER, false},
    {"enablePredicate", POINT_PREDICATE, true},
    {"enableBestNode", POINT_BEST_NODE, true},
    {"enableNodeOrder", POINT_NODE_ORDER, true},
    {"enableTargetJob", POINT_TARGET_JOB, true},
    {"enableReservedNodes", POINT_RESERVED_NODES, true},
    {"enableJobEnqueued", POINT_JOB_ENQUEUED, true},
    {"enabledVictim", POINT_VICTIM, true},
    {"enableJobStarving", POINT_JOB_STARVING, true},
    {"enabledOverused", POINT_OVERUSED, true},
    {"enabledAllocatable", POINT_ALLOCATABLE, true},
    {"enabledHyperNodeOrder", POINT_HYPERNODE_ORDER, true},
    {"enabledSubJobReady", POINT_SUBJOB_READY, true},
    {"enabledSubJobPipelined", POINT_SUBJOB_PIPELINED, true},
    {"enabledSubJobOrder", POINT_SUBJOB_ORDER, true},
    {"enabledHyperNodeGradient", POINT_HYPERNODE_GRADIENT, true},
};

static void check_boolean(size_t i, const char *value, bool expected)
{
    cleanup_free char *yaml =
        xasprintf(WITH("  - name: gang\n    %s: %s\n"), booleans[i].key, value);
    struct sched_config *config = parse(yaml, NULL);
    assert_int_equal(config->plugins.items[0]->enabled[booleans[i].point], expected);
    sched_config_free(config);
}

static void every_boolean_is_read(void **state)
{
    (void)state;
    assert_int_equal(ARRAY_SIZE(booleans), POINT_COUNT);
    for (size_t i = 0; i < ARRAY_SIZE(booleans); i++) {
        check_boolean(i, "null", booleans[i].preset);
        check_boolean(i, "true", true);
        check_boolean(i, "false", false);
        check_boolean(i, "\"True\"", true);
        check_boolean(i, "off", false);
        check_boolean(i, "yes", true);
    }
    parse(WITH("  - name: gang\n    enableJobReady: maybe\n"), "neither true nor false");
    parse(WITH("  - name: gang\n    enableJobReady: 1\n"), "invalid JSON");
}

/* ---- plugins and tiers ----------------------------------------------------------------------- */

static void later_of_two_mentions_counts(void **state)
{
    (void)state;
    struct sched_config *config = parse(WITH("  - name: gang\n  - name: priority\n"
                                             "- plugins:\n  - name: gang\n"
                                             "    enableJobOrder: false\n"),
                                        NULL);
    assert_int_equal(config->plugins.n, 2);
    assert_string_equal(config->plugins.items[1]->type->name, "gang");
    assert_int_equal(config->plugins.items[1]->tier, 1);
    assert_false(config->plugins.items[1]->enabled[POINT_JOB_ORDER]);
    sched_config_free(config);
}

static void drf_hierarchy_and_proportion_conflict_in_a_tier(void **state)
{
    (void)state;
    parse(WITH("  - name: proportion\n  - name: drf\n    enableHierarchy: true\n"),
          "proportion and drf with hierarchy enabled conflicts");
    sched_config_free(parse(WITH("  - name: proportion\n  - name: drf\n"), NULL));
    sched_config_free(parse(WITH("  - name: proportion\n- plugins:\n  - name: drf\n"
                                 "    enableHierarchy: true\n"),
                            NULL));
}

/* ---- what the settings do -------------------------------------------------------------------- */

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
        cmocka_unit_test(what_is_not_known_is_reported),
        cmocka_unit_test(every_boolean_is_read),
        cmocka_unit_test(later_of_two_mentions_counts),
        cmocka_unit_test(drf_hierarchy_and_proportion_conflict_in_a_tier),
        cmocka_unit_test(booleans_switch_points_off),
        cmocka_unit_test(no_enqueue_action),
        cmocka_unit_test(overcommit_factor_is_read),
        cmocka_unit_test(priorities_decide),
        cmocka_unit_test(configuration_changes_with_the_next_cycle),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
