/*
 * proportion in a small cluster: who gets how many pods, and what the others are told.
 */
#include "shares.h"

static const char conf[] = CONF("  - name: proportion\n");

static void weights_share_the_cluster(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    add_nodes(c, 2, 4);
    add_queue(c, "one", "", "\"weight\":1");
    add_queue(c, "three", "", "\"weight\":3");
    add_greedy(c, "a", "one", 8, "1");
    add_greedy(c, "b", "three", 8, "1");
    run(c);
    assert_bound(c, "a", 2);
    assert_bound(c, "b", 6);
    assert_waits(c, "a", "queue \"one\"");
    check(c);
    cluster_free(c);
}

static void what_one_does_not_want_goes_to_others(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    add_nodes(c, 2, 4);
    add_queue(c, "one", "", "\"weight\":1");
    add_queue(c, "three", "", "\"weight\":3");
    add_queue(c, "idle", "", "\"weight\":9");
    add_greedy(c, "a", "one", 8, "1");
    add_greedy(c, "b", "three", 2, "1");
    run(c);
    assert_bound(c, "a", 6);
    assert_bound(c, "b", 2);
    check(c);
    cluster_free(c);
}

static void capability_and_guarantees_hold(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    add_nodes(c, 2, 4);
    add_queue(c, "small", "", "\"weight\":9,\"capability\":{\"cpu\":\"1\"}");
    add_queue(c, "away", "", "\"guarantee\":{\"resource\":{\"cpu\":\"3\"}}");
    add_greedy(c, "a", "small", 8, "1");
    add_greedy(c, "b", "default", 8, "1");
    run(c);
    assert_bound(c, "a", 1);
    assert_bound(c, "b", 4); /* 3 are kept for "away" */
    add_greedy(c, "c", "away", 8, "1");
    run(c);
    assert_bound(c, "c", 3);
    check(c);
    cluster_free(c);
}

/* Each of eight queues deserves half a pod. */
static void with_many_queues_some_still_start(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    add_nodes(c, 1, 4);
    for (int i = 0; i < 8; i++) {
        cleanup_free char *name = xasprintf("q%d", i);
        add_queue(c, name, "", "\"weight\":1");
        add_greedy(c, name, name, 3, "1");
    }
    run(c);
    assert_int_equal(c->binds, 4);
    for (int i = 0; i < 4; i++) {
        cleanup_free char *name = xasprintf("q%d", i);
        assert_bound(c, name, 1);
    }
    check(c);
    cluster_free(c);
}

static void jobs_enter_while_their_minimum_has_room(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    add_nodes(c, 2, 4);
    add_queue(c, "q", "", "\"capability\":{\"cpu\":\"5\"}");
    struct test_group *big =
        add_group(c, "big", "\"minMember\":6,\"queue\":\"q\",\"minResources\":{\"cpu\":\"6\"}");
    run(c);
    assert_says(big, "\"phase\":\"Pending\"");
    assert_says(big, "queue resource quota insufficient: insufficient cpu; cpu 6 is needed, but "
                     "queue \\\"q\\\" holds 0 of the 5 that it may have");
    assert_says(big, ": 1 short");
    struct test_group *a =
        add_group(c, "a", "\"minMember\":3,\"queue\":\"q\",\"minResources\":{\"cpu\":\"3\"}");
    run(c);
    assert_says(a, "\"phase\":\"Inqueue\"");
    struct test_group *b =
        add_group(c, "b", "\"minMember\":3,\"queue\":\"q\",\"minResources\":{\"cpu\":\"3\"}");
    run(c);
    assert_says(b, "cpu 3 is needed, but queue \\\"q\\\" holds 3 of the 5");
    assert_says(b, ": 1 short");
    check(c);
    cluster_free(c);
}

/* The gang was let in, but no node has room for its pod. */
static void a_gang_that_does_not_fit_keeps_nobody_out(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    add_nodes(c, 2, 4);
    struct test_group *wide =
        add_group(c, "wide", "\"minMember\":1,\"minResources\":{\"cpu\":\"5\"}");
    run(c);
    assert_says(wide, "\"phase\":\"Inqueue\"");
    add_pods(c, "wide", "w", 1, "5");
    run(c);
    add_group(c, "small", "\"minMember\":4,\"minResources\":{\"cpu\":\"4\"}");
    add_pods(c, "small", "w", 4, "1");
    run_for(c, 5 * NSEC_PER_SEC);
    assert_bound(c, "small", 4);
    assert_bound(c, "wide", 0);
    check(c);
    cluster_free(c);
}

/* A gang of six pods, more than half of the cluster. */
static void add_large(struct cluster *c, const char *name, const char *queue)
{
    cleanup_free char *spec = xasprintf("\"minMember\":6,\"queue\":\"%s\"", queue);
    add_group(c, name, spec);
    add_pods(c, name, "w", 6, "1");
}

static void assert_one_runs(struct cluster *c, const char *name)
{
    static const char *const names[] = {"a1", "a2", "a3", "b1"};
    run(c);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_bound(c, names[i], strcmp(names[i], name) == 0 ? 6 : 0);
    check(c);
}

static void end_gang(struct cluster *c, const char *name)
{
    for (size_t i = 0; i < c->pod_list.n; i++) {
        struct test_pod *pod = c->pod_list.items[i];
        if (strcmp(pod->group, name) != 0)
            continue;
        pod->gone = true;
        show_pod(c, pod);
    }
}

/* Two queues deserve four each and want six: one gang at a time runs, the queues in turn, whatever
 * their age. */
static void gangs_above_the_share_take_turns(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    add_queue(c, "a", "", "\"weight\":1");
    add_queue(c, "b", "", "\"weight\":1");
    add_large(c, "a1", "a");
    add_large(c, "a2", "a");
    add_large(c, "b1", "b");
    add_nodes(c, 2, 4);
    assert_one_runs(c, "a1");
    assert_waits(c, "b1", "cpu 6 is needed, but queue \"b\" holds 0 of the 4");
    assert_waits(c, "b1", "that are its share by weight: 2 short");
    add_large(c, "a3", "a");
    end_gang(c, "a1");
    assert_one_runs(c, "b1");
    end_gang(c, "b1");
    assert_one_runs(c, "a2");
    cluster_free(c);
}

/* Who can use what is free within the shares goes first, whatever the order of the queues. */
static void only_what_nobody_can_use_is_lent(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    add_queue(c, "a", "", "\"weight\":1,\"priority\":9");
    add_queue(c, "b", "", "\"weight\":1");
    add_large(c, "a1", "a");
    add_greedy(c, "g", "b", 8, "1");
    add_nodes(c, 2, 4);
    run(c);
    assert_bound(c, "g", 4);
    assert_bound(c, "a1", 0);
    add_node(c, "n2", 1); /* 4.5 of 9 each */
    run(c);
    assert_bound(c, "a1", 0);
    add_node(c, "n3", 1); /* five of ten */
    add_node(c, "n4", 1);
    run(c);
    assert_bound(c, "g", 5);
    assert_bound(c, "a1", 6); /* 5.5 of 11 */
    check(c);
    cluster_free(c);
}

/* What is lent stays within the queue's capability and beside the guarantees of others; a queue
 * that holds anything is lent nothing. */
static void lending_has_its_limits(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    add_queue(c, "a", "", "\"weight\":1,\"capability\":{\"cpu\":\"5\"}");
    add_queue(c, "b", "", "\"weight\":1");
    add_queue(c, "c", "", "\"weight\":1,\"guarantee\":{\"resource\":{\"cpu\":\"3\"}}");
    add_large(c, "a1", "a");
    add_large(c, "b1", "b");
    add_nodes(c, 2, 4);
    run(c);
    assert_bound(c, "a1", 0);
    assert_bound(c, "b1", 0);
    add_greedy(c, "b0", "b", 1, "1");
    run(c);
    assert_bound(c, "b0", 1);
    add_node(c, "n2", 4);
    run(c);
    assert_bound(c, "b1", 0); /* there is room, but it would be the second of its queue */
    end_gang(c, "b0");
    run(c);
    assert_bound(c, "b1", 6);
    check(c);
    cluster_free(c);
}

/* A gang beyond its share that was cut off half-way is completed. */
static void a_lent_gang_stays_whole(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    add_queue(c, "a", "", "\"weight\":1");
    add_queue(c, "b", "", "\"weight\":1");
    add_large(c, "a1", "a");
    add_large(c, "b1", "b");
    for (size_t i = 0; i < 3; i++)
        c->pod_list.items[i]->fail = 500;
    add_nodes(c, 2, 4);
    run_for(c, 20 * NSEC_PER_SEC);
    assert_one_runs(c, "a1");
    cluster_free(c);
}

static void queues_of_higher_priority_go_first(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    add_nodes(c, 1, 1);
    add_queue(c, "low", "", "\"weight\":5");
    add_queue(c, "high", "", "\"weight\":5,\"priority\":7");
    add_greedy(c, "a", "low", 1, "1");
    add_greedy(c, "b", "high", 1, "1");
    run(c);
    assert_bound(c, "b", 1);
    cluster_free(c);
}

int main(void)
{
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_share_the_cluster),
        cmocka_unit_test(what_one_does_not_want_goes_to_others),
        cmocka_unit_test(capability_and_guarantees_hold),
        cmocka_unit_test(with_many_queues_some_still_start),
        cmocka_unit_test(jobs_enter_while_their_minimum_has_room),
        cmocka_unit_test(a_gang_that_does_not_fit_keeps_nobody_out),
        cmocka_unit_test(gangs_above_the_share_take_turns),
        cmocka_unit_test(only_what_nobody_can_use_is_lent),
        cmocka_unit_test(lending_has_its_limits),
        cmocka_unit_test(a_lent_gang_stays_whole),
        cmocka_unit_test(queues_of_higher_priority_go_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
