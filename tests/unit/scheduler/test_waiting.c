/*
 * The time-out of gangs that wait: when, what it gives up, what it keeps, when it is tried again,
 * and what a scheduler that takes over makes of it.
 */
#include "cluster.h"

#include "scheduler/waiting.h"

#define SECOND NSEC_PER_SEC
#define MINUTE (60 * SECOND)

#define CONF(arguments)                                                                            \
    "actions: \"enqueue, allocate, backfill\"\n"                                                   \
    "tiers:\n- plugins:\n  - name: priority\n  - name: gang\n" arguments                           \
    "- plugins:\n  - name: overcommit\n    arguments: {overcommit-factor: 1.0}\n"                  \
    "  - name: predicates\n  - name: nodeorder\n"
#define WAITING(value) "    arguments: {defaultWaitingTime: " value "}\n"
#define ANNOTATION(value) ",\"annotations\":{\"pumice.sh/waiting-time\":\"" value "\"}"

/* A gang of ten on one node with room for four pods. It has entered, since it asks for no
 * resources before. */
static struct test_group *add_large(struct cluster *c, const char *meta)
{
    struct test_group *group = add_group_meta(c, "large", meta, "\"minMember\":10");
    add_pods(c, "large", "w", 10, "1");
    return group;
}

static struct cluster *waiting_cluster(const char *conf)
{
    struct cluster *c = cluster_new(conf);
    add_nodes(c, 1, 4);
    return c;
}

static bool is_in(const struct test_group *group, const char *phase)
{
    cleanup_free char *text = xasprintf("\"phase\":\"%s\"", phase);
    return str_find(str_of(group->status), str_of(text)) >= 0;
}

/* Seconds until the time-out shows, -1 when it does not within `most`. */
static int seconds_to_timeout(struct cluster *c, const struct test_group *group, int most)
{
    for (int i = 0; i <= most; i++) {
        if (str_find(str_of(group->status), STR("WaitingTimeout")) >= 0)
            return i;
        run_for(c, SECOND);
    }
    return -1;
}

/* From when it was added; entering takes some milliseconds, so that the next second shows it. */
static int timeout_with(const char *conf, const char *meta, int most)
{
    struct cluster *c = waiting_cluster(conf);
    struct test_group *group = add_large(c, meta);
    int seconds = seconds_to_timeout(c, group, most);
    if (seconds >= 0)
        assert_true(is_in(group, "Pending"));
    check(c);
    cluster_free(c);
    return seconds;
}

static void how_long_is_said_by_argument_and_annotation(void **state)
{
    (void)state;
    assert_in_range(timeout_with(CONF(""), "", 2000), 1800, 1802);
    assert_in_range(timeout_with(CONF(WAITING("90s")), "", 100), 90, 92);
    assert_in_range(timeout_with(CONF(WAITING("20")), "", 100), 20, 22);
    assert_int_equal(timeout_with(CONF(WAITING("0")), "", 8000), -1);
    assert_in_range(timeout_with(CONF(WAITING("0")), ANNOTATION("1m30s"), 100), 90, 92);
    assert_in_range(timeout_with(CONF(WAITING("20")), ANNOTATION("45"), 100), 45, 47);
    assert_in_range(timeout_with(CONF(WAITING("20")), ANNOTATION("soon"), 100), 20, 22);
    assert_in_range(timeout_with(CONF(WAITING("20")), ANNOTATION("-5s"), 100), 20, 22);
    assert_int_equal(timeout_with(CONF(WAITING("20")), ANNOTATION("0"), 8000), -1);
}

/* Without the plugin there are no gangs, whatever is said. */
static void without_gangs_nothing_times_out(void **state)
{
    (void)state;
    assert_int_equal(timeout_with("actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n"
                                  "  - name: predicates\n",
                                  ANNOTATION("10s"), 100),
                     -1);
}

static void the_reason_says_how_long_for_what_and_when_again(void **state)
{
    (void)state;
    struct cluster *c = waiting_cluster(CONF(""));
    struct test_group *group = add_large(c, ANNOTATION("1m"));
    assert_in_range(seconds_to_timeout(c, group, 100), 60, 62);
    assert_says(group, "\"reason\":\"WaitingTimeout\"");
    assert_says(group, "waited 1m0s in queue \\\"default\\\" for the 10 pods that start together, "
                       "0 of which have a node");
    assert_says(group, "tried again at 2025-11-24T16:01:1"); /* ten seconds later */
    assert_says(group, "Why it waited: 6/10 tasks in gang unschedulable");
    assert_says(group, "\"lastTransitionTime\":\"2025-11-24T16:01:0");
    for (size_t i = 0; i < c->pod_list.n; i++)
        assert_false(c->pod_list.items[i]->gone);
    cluster_free(c);
}

/* Its claim keeps others out until then, and they run while it is away. */
static void others_take_its_place(void **state)
{
    (void)state;
    struct cluster *c = waiting_cluster(CONF(""));
    struct test_group *large = add_group_meta(c, "large", ANNOTATION("1m"),
                                              "\"minMember\":4,\"minResources\":{\"cpu\":\"4\"}");
    run(c);
    assert_true(is_in(large, "Inqueue"));
    add_pods(c, "large", "w", 4, "2"); /* larger than was said: two of them fit */
    delete_node(c, "n0");
    add_node_json(c, "n1", "", "\"unschedulable\":true", "\"cpu\":\"4\",\"pods\":\"9\"");
    run(c);
    struct sched_queue *queue = cache_queue(&c->scheduler->cache, "default");
    assert_int_equal(resource_set_get(&queue->inqueue, resource_id(STR("cpu"))), 4000);
    run_for(c, MINUTE);
    assert_true(is_in(large, "Pending"));
    assert_int_equal(resource_set_get(&queue->inqueue, resource_id(STR("cpu"))), 0);
    check(c);
    cluster_free(c);
}

/* So is what is kept free for it on nodes. */
static void it_lets_go_of_nodes(void **state)
{
    (void)state;
    struct cluster *c =
        cluster_new(CONF("    arguments: {defaultWaitingTime: 30s, gang.reserveAfter: 10s}\n"));
    add_nodes(c, 20, 1);
    add_gang(c, "fills", 20, "1");
    run(c);
    assert_int_equal(bound(c, "fills", NULL), 20);
    struct test_group *group = add_gang(c, "a", 2, "1");
    run_for(c, 25 * SECOND);
    assert_non_null(cache_job(&c->scheduler->cache, "ns", "a")->reservation);
    assert_says(group, "HoldsNodes");
    run_for(c, 7 * SECOND);
    assert_null(cache_job(&c->scheduler->cache, "ns", "a")->reservation);
    assert_says(group, "WaitingTimeout");
    assert_silent(group, "HoldsNodes");
    check(c);
    cluster_free(c);
}

/* The times between are 10 s, 20 s, ... 10 min; each time it is in the queue for its 20 s. */
static void it_is_tried_again_ever_more_slowly(void **state)
{
    (void)state;
    static const int out[] = {10, 20, 40, 80, 160, 320, 600, 600};
    struct cluster *c = waiting_cluster(CONF(WAITING("20s")));
    struct test_group *group = add_large(c, "");
    for (size_t i = 0; i < ARRAY_SIZE(out); i++) {
        assert_in_range(seconds_to_timeout(c, group, 30), 18, 22);
        unsigned patches = group->patches;
        run_for(c, (out[i] - 2) * SECOND);
        assert_true(is_in(group, "Pending"));
        assert_int_equal(group->patches, patches);
        run_for(c, 2 * SECOND + SECOND / 2);
        assert_true(is_in(group, "Inqueue"));
        assert_silent(group, "WaitingTimeout");
    }
    check(c);
    add_nodes(c, 3, 4);
    run(c);
    assert_int_equal(bound(c, "large", NULL), 10);
    assert_says(group, "\"phase\":\"Running\"");
    assert_int_equal(cache_job(&c->scheduler->cache, "ns", "large")->wait.timeouts, 0);
    check(c);
    cluster_free(c);
}

/* Between two that could both run, the one that has timed out before comes second, though older. */
static void it_comes_behind_its_peers(void **state)
{
    (void)state;
    struct cluster *c = waiting_cluster(CONF(WAITING("20s")));
    struct test_group *old = add_gang(c, "a", 6, "1");
    run_for(c, 25 * SECOND);
    assert_true(is_in(old, "Pending"));
    add_gang(c, "b", 6, "1");
    run_for(c, 10 * SECOND);
    assert_true(is_in(old, "Inqueue"));
    add_node(c, "n1", 2); /* six in all: one of the two */
    run(c);
    assert_int_equal(bound(c, "a", NULL), 0);
    assert_int_equal(bound(c, "b", NULL), 6);
    check(c);
    cluster_free(c);
}

/* A gang of which a part was bound before: that stays, in phase Pending too, and is completed once
 * it was let in again. */
static void what_is_bound_stays(void **state)
{
    (void)state;
    struct cluster *c = waiting_cluster(CONF(""));
    struct test_group *group = add_large(c, ANNOTATION("30s"));
    for (unsigned i = 0; i < 3; i++) {
        snprintf(c->pod_list.items[i]->node, NAME_SIZE, "n0");
        show_pod(c, c->pod_list.items[i]);
    }
    assert_in_range(seconds_to_timeout(c, group, 40), 29, 32);
    assert_says(group, "3 of which have a node");
    run_for(c, 5 * SECOND);
    assert_true(is_in(group, "Pending"));
    assert_int_equal(bound(c, "large", NULL), 3);
    add_nodes(c, 3, 4);
    run(c);
    assert_int_equal(bound(c, "large", NULL), 3);
    run_for(c, 5 * SECOND);
    assert_int_equal(bound(c, "large", NULL), 10);
    check(c);
    cluster_free(c);
}

/* Jobs that have their minimum never time out. */
static void surplus_pods_wait_for_ever(void **state)
{
    (void)state;
    struct cluster *c = waiting_cluster(CONF(WAITING("10s")));
    struct test_group *group = add_group(c, "a", "\"minMember\":2");
    add_pods(c, "a", "w", 8, "1");
    assert_int_equal(seconds_to_timeout(c, group, 600), -1);
    assert_true(is_in(group, "Running"));
    assert_int_equal(bound(c, "a", NULL), 4);
    cluster_free(c);
}

/* The reason stands on its own where nothing was told before: pods that do not come. */
static void a_gang_without_pods_times_out(void **state)
{
    (void)state;
    struct cluster *c = waiting_cluster(CONF(WAITING("20s")));
    struct test_group *group = add_group(c, "a", "\"minMember\":2");
    assert_in_range(seconds_to_timeout(c, group, 30), 20, 22);
    run_for(c, 5 * SECOND);
    add_pods(c, "a", "w", 2, "1"); /* they are placed once it is let in again, by itself */
    run_for(c, 4 * SECOND);
    assert_int_equal(bound(c, "a", NULL), 0);
    run_for(c, 3 * SECOND);
    assert_int_equal(bound(c, "a", NULL), 2);
    cluster_free(c);
}

static void a_job_without_the_action_enqueue_waits_outside_too(void **state)
{
    (void)state;
    struct cluster *c = waiting_cluster("actions: \"allocate\"\ntiers:\n- plugins:\n"
                                        "  - name: gang\n" WAITING("20s") "  - name: predicates\n");
    struct test_group *group = add_large(c, "");
    assert_in_range(seconds_to_timeout(c, group, 30), 20, 22);
    run_for(c, 8 * SECOND);
    assert_true(is_in(group, "Pending"));
    run_for(c, 3 * SECOND);
    assert_true(is_in(group, "Inqueue"));
    cluster_free(c);
}

static void a_new_configuration_has_new_times(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct cluster *c = waiting_cluster(CONF(""));
    struct test_group *group = add_large(c, "");
    run_for(c, 30 * SECOND);
    scheduler_set_config(c->scheduler, sched_config_parse(STR(CONF(WAITING("50s"))), &err));
    assert_in_range(seconds_to_timeout(c, group, 100), 19, 22);
    cluster_free(c);
}

/* A time-out does not take away what the sla gives: after the back-off it is let in as before. */
static void the_sla_lets_it_in_again(void **state)
{
    (void)state;
    struct cluster *c = waiting_cluster(
        "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n"
        "  - name: sla\n  - name: gang\n" WAITING("20s") "- plugins:\n  - name: overcommit\n");
    struct test_group *group = add_group_meta(
        c, "a",
        ",\"creationTimestamp\":\"2025-11-24T16:00:00Z\",\"annotations\":{\"volcano.sh/"
        "sla-waiting-time\":\"30s\"}",
        "\"minMember\":10,\"minResources\":{\"cpu\":\"10\"}");
    run_for(c, 29 * SECOND);
    assert_true(is_in(group, "Pending"));
    run_for(c, 2 * SECOND);
    assert_true(is_in(group, "Inqueue"));
    assert_in_range(seconds_to_timeout(c, group, 30), 18, 22);
    run_for(c, 8 * SECOND);
    assert_true(is_in(group, "Pending"));
    run_for(c, 3 * SECOND);
    assert_true(is_in(group, "Inqueue"));
    cluster_free(c);
}

/* ---- a scheduler that takes over ------------------------------------------------------------- */

static void one_node(struct cluster *c)
{
    add_nodes(c, 1, 4);
}

static void the_clock_goes_on_after_a_restart(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 1, 4);
    struct test_group *group = add_large(c, ANNOTATION("1m"));
    run_for(c, 40 * SECOND);
    cluster_restart(c, one_node);
    assert_in_range(seconds_to_timeout(c, group, 70), 18, 23);
    cluster_free(c);
}

static void the_backoff_goes_on_after_a_restart(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 1, 4);
    struct test_group *group = add_large(c, ANNOTATION("1m"));
    assert_in_range(seconds_to_timeout(c, group, 70), 60, 62);
    run_for(c, 2 * SECOND);
    unsigned patches = group->patches;
    cluster_restart(c, one_node);
    run_for(c, 4 * SECOND);
    assert_says(group, "WaitingTimeout");
    assert_int_equal(group->patches, patches);
    run_for(c, 5 * SECOND);
    assert_true(is_in(group, "Inqueue"));
    check(c);
    cluster_free(c);
}

static void nothing(void *arg)
{
    (void)arg;
}

/* The virtual clock stands where nothing is due. */
static void let_pass(struct cluster *c, int64_t ns)
{
    struct loop_timer timer;
    loop_timer_init(&timer, nothing, NULL);
    loop_timer_set(c->loop, &timer, ns);
    run_for(c, ns);
    loop_timer_cancel(c->loop, &timer);
}

/* A standby follows what the leader writes, and goes on from there. */
static void a_standby_knows_the_phase(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(CONF(""));
    scheduler_lead(c->scheduler, false);
    add_nodes(c, 1, 4);
    struct test_group *group = add_group_meta(c, "a", ANNOTATION("1m"),
                                              "\"minMember\":10,\"minResources\":{\"cpu\":\"10\"}");
    run(c);
    free(group->status);
    group->status = xstrdup("{\"phase\":\"Inqueue\"}");
    show_group(c, group);
    let_pass(c, 40 * SECOND);
    assert_int_equal(group->patches, 0);
    scheduler_lead(c->scheduler, true);
    run(c);
    assert_silent(group, "Pending"); /* ten do not fit in four: it would not be let in now */
    assert_in_range(seconds_to_timeout(c, group, 70), 16, 19);
    cluster_free(c);
}

/* Seconds until the time-out of a gang that somebody else has told at this time why it waits. */
static int timeout_of_one_told(const char *when)
{
    struct cluster *c = cluster_new(CONF(""));
    scheduler_lead(c->scheduler, false);
    add_nodes(c, 1, 4);
    struct test_group *group = add_large(c, ANNOTATION("1m"));
    free(group->status);
    group->status = xasprintf("{\"phase\":\"Inqueue\",\"conditions\":[{\"type\":\"Unschedulable\","
                              "\"status\":\"True\",\"reason\":\"NotEnoughResources\"%s}]}",
                              when);
    show_group(c, group);
    scheduler_lead(c->scheduler, true);
    int seconds = seconds_to_timeout(c, group, 70);
    cluster_free(c);
    return seconds;
}

/* Time stands at 16:00:00; a condition need not say since when it is true. */
static void a_condition_may_not_say_since_when(void **state)
{
    (void)state;
    assert_in_range(timeout_of_one_told(",\"lastTransitionTime\":\"2025-11-24T15:59:30Z\""), 29,
                    32);
    assert_in_range(timeout_of_one_told(""), 60, 62);
    assert_in_range(timeout_of_one_told(",\"lastTransitionTime\":null"), 60, 62);
    assert_in_range(timeout_of_one_told(",\"lastTransitionTime\":\"1700-01-01T00:00:00Z\""), 60,
                    62);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_long_is_said_by_argument_and_annotation),
        cmocka_unit_test(without_gangs_nothing_times_out),
        cmocka_unit_test(the_reason_says_how_long_for_what_and_when_again),
        cmocka_unit_test(others_take_its_place),
        cmocka_unit_test(it_lets_go_of_nodes),
        cmocka_unit_test(it_is_tried_again_ever_more_slowly),
        cmocka_unit_test(it_comes_behind_its_peers),
        cmocka_unit_test(what_is_bound_stays),
        cmocka_unit_test(surplus_pods_wait_for_ever),
        cmocka_unit_test(a_gang_without_pods_times_out),
        cmocka_unit_test(a_job_without_the_action_enqueue_waits_outside_too),
        cmocka_unit_test(a_new_configuration_has_new_times),
        cmocka_unit_test(the_sla_lets_it_in_again),
        cmocka_unit_test(the_clock_goes_on_after_a_restart),
        cmocka_unit_test(the_backoff_goes_on_after_a_restart),
        cmocka_unit_test(a_standby_knows_the_phase),
        cmocka_unit_test(a_condition_may_not_say_since_when),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
