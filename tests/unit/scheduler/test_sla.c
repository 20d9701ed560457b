/*
 * sla: whose time ends first comes first, and who has waited for long enough enters.
 */
#include "cluster.h"

#define SECOND NSEC_PER_SEC

static struct sched_config *config_with(const char *arguments)
{
    struct error err = ERROR_INIT;
    cleanup_free char *yaml =
        xasprintf("actions: allocate\ntiers:\n- plugins:\n  - name: sla\n%s", arguments);
    struct sched_config *config = sched_config_parse(str_of(yaml), &err);
    if (!config)
        fail_msg("%s", err.text);
    return config;
}

#define GLOBAL(value) "    arguments:\n      sla-waiting-time: " value "\n"

static const struct {
    const char *arguments;
    struct sched_job a, b;
    bool first; /* a before b */
} orders[] = {
    /* Without any, by age. */
    {"", {.created_ns = 1 * SECOND}, {.created_ns = 2 * SECOND}, true},
    {"", {.created_ns = 2 * SECOND}, {.created_ns = 1 * SECOND}, false},
    /* One with a time before one without, though it is younger and has long to go. */
    {"", {.created_ns = 9 * SECOND, .sla_ns = 900 * SECOND}, {.created_ns = 1 * SECOND}, true},
    /* Ends at 9 + 1 = 10 and 1 + 10 = 11. */
    {"",
     {.created_ns = 9 * SECOND, .sla_ns = 1 * SECOND},
     {.created_ns = 1 * SECOND, .sla_ns = 10 * SECOND},
     true},
    /* Both end at 11: by age. */
    {"",
     {.created_ns = 2 * SECOND, .sla_ns = 9 * SECOND},
     {.created_ns = 1 * SECOND, .sla_ns = 10 * SECOND},
     false},
    /* All have 10 seconds but one that has 5: 12 and 6 + 5 = 11. */
    {GLOBAL("10s"),
     {.created_ns = 6 * SECOND, .sla_ns = 5 * SECOND},
     {.created_ns = 2 * SECOND},
     true},
    {GLOBAL("10s"),
     {.created_ns = 8 * SECOND, .sla_ns = 5 * SECOND},
     {.created_ns = 2 * SECOND},
     false},
    /* No time at all: by age. */
    {GLOBAL("soon"), {.created_ns = 2 * SECOND}, {.created_ns = 1 * SECOND}, false},
    {GLOBAL("-1s"), {.created_ns = 2 * SECOND}, {.created_ns = 1 * SECOND}, false},
    {"", {.created_ns = 2 * SECOND, .sla_ns = INT64_MAX}, {.created_ns = 1 * SECOND}, false},
};

static void earliest_end_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        struct sched_config *config = config_with(orders[i].arguments);
        struct sched_job a = orders[i].a, b = orders[i].b;
        a.uid = "a";
        b.uid = "b";
        if (config_job_before(config, &a, &b) != orders[i].first ||
            config_job_before(config, &b, &a) == orders[i].first)
            fail_msg("case %zu", i);
        sched_config_free(config);
    }
}

#define CREATED (INT64_C(1764000000) * SECOND)

/* A cluster of one CPU that runs a pod, and a job that wants ten. */
static struct test_group *crowd(struct cluster **ret_cluster, const char *plugins,
                                const char *annotations)
{
    cleanup_free char *conf = xasprintf("actions: \"enqueue, allocate\"\ntiers:\n%s", plugins);
    cleanup_free char *meta = xasprintf(
        ",\"creationTimestamp\":\"2025-11-24T16:00:00Z\",\"annotations\":{%s}", annotations);
    struct cluster *c = cluster_new(conf);
    add_nodes(c, 1, 1);
    add_gang(c, "runs", 1, "1");
    run(c);
    *ret_cluster = c;
    return add_group_meta(c, "a", meta, "\"minMember\":10,\"minResources\":{\"cpu\":\"10\"}");
}

/* Whether it is in its queue `seconds` after it was made, without anything else happening. */
static bool enters(const char *plugins, const char *annotations, int seconds)
{
    struct cluster *c;
    struct test_group *group = crowd(&c, plugins, annotations);
    run_for(c, CREATED + seconds * SECOND - loop_wall(c->loop));
    bool entered = str_find(str_of(group->status), STR("Inqueue")) >= 0;
    if (!entered)
        assert_says(group, "its minimum needs cpu 10");
    cluster_free(c);
    return entered;
}

#define EARLIER "- plugins:\n  - name: sla\n- plugins:\n  - name: overcommit\n"
#define SAME "- plugins:\n  - name: sla\n  - name: overcommit\n"
#define LATER "- plugins:\n  - name: overcommit\n- plugins:\n  - name: sla\n"
#define WITH_GLOBAL "- plugins:\n  - name: sla\n" GLOBAL("1m") "- plugins:\n  - name: overcommit\n"
#define OFF                                                                                        \
    "- plugins:\n  - name: sla\n    enableJobEnqueued: false\n- plugins:\n  - name: overcommit\n"

static void who_has_waited_long_enough_enters(void **state)
{
    const char *half_minute = "\"volcano.sh/sla-waiting-time\":\"30s\"";
    (void)state;
    assert_false(enters(EARLIER, half_minute, 29));
    assert_true(enters(EARLIER, half_minute, 31));
    assert_true(enters(EARLIER, "\"sla-waiting-time\":\"30s\"", 31));
    assert_false(enters(EARLIER, "", 3600));
    assert_false(enters(EARLIER, "\"volcano.sh/sla-waiting-time\":\"0s\"", 3600));
    assert_false(enters(EARLIER, "\"volcano.sh/sla-waiting-time\":\"soon\"", 3600));
}

static void the_plugin_has_a_time_for_all(void **state)
{
    (void)state;
    assert_false(enters(WITH_GLOBAL, "", 59));
    assert_true(enters(WITH_GLOBAL, "", 61));
    assert_true(enters(WITH_GLOBAL, "\"volcano.sh/sla-waiting-time\":\"30s\"", 31));
    assert_false(enters(WITH_GLOBAL, "\"volcano.sh/sla-waiting-time\":\"2m\"", 119));
    assert_true(enters(WITH_GLOBAL, "\"volcano.sh/sla-waiting-time\":\"soon\"", 61));
}

/* The plugin comes, and with it the time of a job that waits already. */
static void a_new_configuration_has_new_times(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct cluster *c;
    struct test_group *group = crowd(&c, "- plugins:\n  - name: overcommit\n", "");
    run_for(c, 20 * SECOND);
    cache_room(&c->scheduler->cache);
    scheduler_wake(c->scheduler);
    run_for(c, SECOND / 2); /* asked for and told just now: nothing is due */
    scheduler_set_config(
        c->scheduler,
        sched_config_parse(
            STR("actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: sla\n" GLOBAL(
                "20m") "- plugins:\n  - name: overcommit\n"),
            &err));
    run_for(c, CREATED + 1199 * SECOND - loop_wall(c->loop));
    assert_silent(group, "Inqueue");
    run_for(c, 2 * SECOND);
    assert_says(group, "Inqueue");
    cluster_free(c);
}

/* A no of its own tier, or of one before, is a no. */
static void only_later_tiers_are_overruled(void **state)
{
    (void)state;
    assert_false(enters(SAME, "\"volcano.sh/sla-waiting-time\":\"30s\"", 3600));
    assert_false(enters(LATER, "\"volcano.sh/sla-waiting-time\":\"30s\"", 3600));
    assert_false(enters(OFF, "\"volcano.sh/sla-waiting-time\":\"30s\"", 3600));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(earliest_end_first),
        cmocka_unit_test(who_has_waited_long_enough_enters),
        cmocka_unit_test(the_plugin_has_a_time_for_all),
        cmocka_unit_test(only_later_tiers_are_overruled),
        cmocka_unit_test(a_new_configuration_has_new_times),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
