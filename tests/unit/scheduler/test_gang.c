/*
 * Gangs: all or nothing, minimums of roles, what happens when one does not fit.
 */
#include "cluster.h"

static void gang_starts_whole(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 3, 2);
    struct test_group *g = add_gang(c, "a", 6, "1");
    run(c);
    assert_int_equal(bound(c, "a", NULL), 6);
    assert_int_equal(c->queue_posts, 2);
    assert_says(g, "\"phase\":\"Running\"");
    assert_says(g, "\"type\":\"Scheduled\"");
    assert_int_equal(g->patches, 2);
    check(c);
    cluster_free(c);
}

/* The budget: Inqueue, Running, the counts once, the end. Nothing at rest. */
static void writes_are_few(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 4, 4);
    struct test_group *g = add_gang(c, "a", 8, "1");
    run(c);
    assert_int_equal(g->patches, 2);
    set_phase(c, "a", "Running");
    run_for(c, 10 * NSEC_PER_SEC);
    assert_int_equal(g->patches, 3);
    assert_says(g, "\"running\":8");
    set_phase(c, "a", "Succeeded");
    run_for(c, 10 * NSEC_PER_SEC);
    assert_int_equal(g->patches, 4);
    assert_says(g, "\"phase\":\"Completed\"");
    assert_says(g, "\"succeeded\":8");
    unsigned requests = c->fake->requests;
    uint64_t cycles = c->scheduler->cycle.number;
    run_for(c, 600 * NSEC_PER_SEC);
    assert_int_equal(c->fake->requests, requests);
    assert_int_equal(c->scheduler->cycle.number, cycles);
    cluster_free(c);
}

/* A Job that ends takes its PodGroup away at that moment: the end is written only if it does not.
 */
static void end_of_a_job_is_not_written_at_once(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 4, 4);
    struct test_group *g = add_gang(c, "a", 8, "1");
    free(g->meta);
    g->meta = xstrdup(
        ",\"ownerReferences\":[{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\","
        "\"name\":\"a\",\"uid\":\"u\",\"controller\":true}]");
    show_group(c, g);
    run(c);
    set_phase(c, "a", "Running");
    run_for(c, 10 * NSEC_PER_SEC);
    unsigned patches = g->patches;
    set_phase(c, "a", "Succeeded");
    run_for(c, 900 * NSEC_PER_MSEC);
    assert_int_equal(g->patches, patches);
    run_for(c, 200 * NSEC_PER_MSEC);
    assert_int_equal(g->patches, patches + 1);
    assert_says(g, "\"phase\":\"Completed\"");
    cluster_free(c);
}

/* Counts that keep changing are written every two seconds, not more. */
static void counts_are_merged(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 10, 4);
    struct test_group *g = add_gang(c, "a", 40, "1");
    run(c);
    assert_int_equal(g->patches, 2);
    for (size_t i = 0; i < 40; i++) {
        c->pod_list.items[i]->phase = "Running";
        show_pod(c, c->pod_list.items[i]);
        run_for(c, 200 * NSEC_PER_MSEC);
    }
    assert_in_range(g->patches, 5, 6);
    run_for(c, 3 * NSEC_PER_SEC);
    assert_says(g, "\"running\":40");
    assert_in_range(g->patches, 5, 6);
    cluster_free(c);
}

static void two_gangs_of_sixty_per_cent(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 10, 1);
    struct test_group *a = add_gang(c, "a", 6, "1");
    struct test_group *b = add_gang(c, "b", 6, "1");
    run_for(c, 20 * NSEC_PER_SEC);
    unsigned first = bound(c, "a", NULL), second = bound(c, "b", NULL);
    assert_int_equal(first + second, 6);
    assert_true(first == 0 || second == 0);
    assert_says(first ? b : a, "NotEnoughResources");
    assert_says(first ? b : a, "cpu");
    check(c);
    set_phase(c, first ? "a" : "b", "Succeeded");
    run(c);
    assert_int_equal(bound(c, "a", NULL) + bound(c, "b", NULL), 12);
    assert_says(a, "\"type\":\"Scheduled\"");
    assert_says(b, "\"type\":\"Scheduled\"");
    assert_silent(first ? b : a, "Unschedulable");
    check(c);
    cluster_free(c);
}

/* Queues without limits of their own: jobs enter by what overcommit says. */
static const char overcommitted[] = "actions: \"enqueue, allocate, backfill\"\n"
                                    "tiers:\n- plugins:\n  - name: priority\n  - name: gang\n"
                                    "- plugins:\n  - name: overcommit\n  - name: predicates\n"
                                    "  - name: nodeorder\n";

/* G2: nothing stays reserved, the small job runs, the scheduler sleeps. */
static void too_large_a_gang_blocks_nobody(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(overcommitted);
    add_nodes(c, 9, 1);
    struct test_group *big =
        add_group(c, "big", "\"minMember\":10,\"minResources\":{\"cpu\":\"10\"}");
    run(c);
    assert_says(big, "\"phase\":\"Inqueue\"");
    add_pods(c, "big", "w", 10, "1");
    run(c);
    assert_int_equal(bound(c, "big", NULL), 0);
    assert_says(big, "9 of the 10 pods");
    assert_says(big, "cpu 10 and 9 is free (1 short)");
    assert_says(big, "0/9 nodes are available: 9 Insufficient cpu.");
    add_group(c, "small", "\"minMember\":2,\"minResources\":{\"cpu\":\"2\"}");
    add_pods(c, "small", "w", 2, "1");
    run(c);
    assert_int_equal(bound(c, "small", NULL), 2);
    assert_int_equal(bound(c, "big", NULL), 0);
    run_for(c, 120 * NSEC_PER_SEC);
    uint64_t cycles = c->scheduler->cycle.number;
    unsigned patches = big->patches;
    run_for(c, 600 * NSEC_PER_SEC);
    assert_true(c->scheduler->cycle.number - cycles <= 1);
    assert_true(big->patches - patches <= 1);
    check(c);
    cluster_free(c);
}

/* What the waiting of a gang looks like to its pods. */
static void waiting_pods_are_told_once(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 2, 1);
    add_gang(c, "a", 3, "1");
    run_for(c, 4 * NSEC_PER_SEC);
    for (size_t i = 0; i < c->pod_list.n; i++)
        assert_int_equal(c->pod_list.items[i]->tellings, 0);
    run_for(c, 10 * NSEC_PER_SEC);
    add_node_json(c, "n9", "", "\"unschedulable\":true", "\"cpu\":\"8\",\"pods\":\"9\"");
    add_gang(c, "b", 1, "4");
    run_for(c, 120 * NSEC_PER_SEC);
    for (size_t i = 0; i < 3; i++) {
        assert_true(c->pod_list.items[i]->tellings >= 1);
        assert_true(c->pod_list.items[i]->tellings <= 2); /* a second kind of reason came */
    }
    cluster_free(c);
}

static struct cluster *mix(int nodes, const char *min, unsigned t1, unsigned t2)
{
    struct cluster *c = cluster_new(NULL);
    cleanup_free char *spec =
        xasprintf("\"minMember\":%s,\"minTaskMember\":{\"t1\":2,\"t2\":2,\"t3\":0}", min);
    add_nodes(c, (unsigned)nodes, 1);
    add_group(c, "mix", spec);
    add_pods(c, "mix", "t1", t1, "1");
    add_pods(c, "mix", "t2", t2, "1");
    run(c);
    check(c);
    return c;
}

/* G3: five are free: three of t1 and two of t2, never five of t1. */
static void role_minimums_hold(void **state)
{
    (void)state;
    struct cluster *c = mix(5, "5", 6, 2);
    assert_int_equal(bound(c, "mix", "t1"), 3);
    assert_int_equal(bound(c, "mix", "t2"), 2);
    cluster_free(c);
    c = mix(4, "4", 6, 2);
    assert_int_equal(bound(c, "mix", "t1"), 2);
    assert_int_equal(bound(c, "mix", "t2"), 2);
    cluster_free(c);
    c = mix(8, "8", 6, 2);
    assert_int_equal(bound(c, "mix", NULL), 8);
    cluster_free(c);
}

static void role_minimums_hold_back(void **state)
{
    (void)state;
    struct cluster *c = mix(3, "4", 6, 2);
    assert_int_equal(bound(c, "mix", NULL), 0);
    cluster_free(c);
    c = mix(9, "5", 6, 1); /* one of t2 is not there */
    assert_int_equal(bound(c, "mix", NULL), 0);
    run_for(c, 29 * NSEC_PER_SEC);
    assert_says(c->group_list.items[0],
                "not enough pods of task \\\"t2\\\" exist: 1 of at least 2");
    assert_says(c->group_list.items[0], "NotEnoughTasks");
    cluster_free(c);
}

/* Below the sum of the role minimums only the total counts. */
static void low_minimum_ignores_roles(void **state)
{
    (void)state;
    struct cluster *c = mix(3, "3", 6, 0);
    assert_int_equal(bound(c, "mix", "t1"), 3);
    cluster_free(c);
}

static void surplus_pods_follow(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 5, 1);
    struct test_group *g = add_group(c, "e", "\"minMember\":2");
    add_pods(c, "e", "w", 8, "1");
    run(c);
    assert_int_equal(bound(c, "e", NULL), 5);
    assert_says(g, "\"phase\":\"Running\"");
    assert_silent(g, "Unschedulable");
    assert_string_equal(find_pod(c, "e-w-0")->node[0] ? "bound" : "", "bound");
    assert_string_equal(find_pod(c, "e-w-7")->node, "");
    add_node(c, "n5", 3);
    run(c);
    assert_int_equal(bound(c, "e", NULL), 8);
    cluster_free(c);
}

/* A gang comes before more pods for jobs that run. */
static void gangs_before_surplus(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_group(c, "e", "\"minMember\":1");
    add_pods(c, "e", "w", 8, "1");
    add_gang(c, "g", 3, "1");
    add_nodes(c, 4, 1);
    run(c);
    assert_int_equal(bound(c, "e", NULL), 1);
    assert_int_equal(bound(c, "g", NULL), 3);
    cluster_free(c);
}

static void best_effort_pods_count_when_placed(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_group(c, "be", "\"minMember\":2");
    for (int i = 0; i < 3; i++) {
        cleanup_free char *name = xasprintf("be-w-%d", i);
        add_pod_spec(c, name, "be", "w", "");
    }
    add_node_json(c, "n0", "", "", "\"cpu\":\"1\",\"pods\":\"1\"");
    run(c);
    assert_int_equal(bound(c, "be", NULL), 0); /* one fits: not half of the gang */
    add_node_json(c, "n1", "", "", "\"cpu\":\"1\",\"pods\":\"2\"");
    run(c);
    assert_int_equal(bound(c, "be", NULL), 3); /* two by allocate, the third by backfill */
    check(c);
    cluster_free(c);
}

static void gated_pods_wait(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 4, 1);
    add_group(c, "g", "\"minMember\":2");
    add_pods(c, "g", "w", 1, "1");
    struct test_pod *gated =
        add_pod_spec(c, "g-w-1", "g", "w", ",\"schedulingGates\":[{\"name\":\"x/y\"}]");
    run_for(c, 27 * NSEC_PER_SEC);
    assert_silent(c->group_list.items[0], "scheduling gates");
    run_for(c, 4 * NSEC_PER_SEC);
    assert_int_equal(bound(c, "g", NULL), 0);
    assert_says(c->group_list.items[0], "1 have scheduling gates");
    free(gated->spec);
    gated->spec = xstrdup("");
    show_pod(c, gated);
    run(c);
    assert_int_equal(bound(c, "g", NULL), 2);
    check(c);
    cluster_free(c);
}

/* A pod whose group is changed wakes the scheduler for the gang that it makes whole. */
static void a_pod_that_changes_its_group_counts_there(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 2, 4);
    add_group(c, "a", "\"minMember\":3");
    add_group(c, "b", "\"minMember\":2");
    add_pods(c, "a", "w", 2, "1");
    add_pods(c, "b", "w", 1, "1");
    run(c);
    assert_int_equal(c->binds, 0);
    struct test_pod *pod = find_pod(c, "a-w-0");
    assert_non_null(pod);
    pod->group[0] = 'b';
    show_pod(c, pod);
    run(c);
    assert_int_equal(bound(c, "b", NULL), 2);
    assert_int_equal(bound(c, "a", NULL), 0);
    check(c);
    cluster_free(c);
}

static void pods_of_others_are_left_alone(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 1, 4);
    add_gang(c, "g", 1, "1");
    show(c->pods, false, false,
         STR("{\"metadata\":{\"name\":\"o\",\"namespace\":\"ns\",\"uid\":\"o\","
             "\"resourceVersion\":\"900\",\"annotations\":{\"scheduling.k8s.io/"
             "group-name\":\"g\"}},\"spec\":{\"schedulerName\":\"default-scheduler\"}}"));
    add_pods(c, "", "w", 1, "1"); /* ours, but of no group */
    run(c);
    assert_int_equal(c->binds, 1);
    cluster_free(c);
}

/* X14: the rest of a gang whose pods end one by one is left alone. */
static void pods_that_end_one_by_one(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 4, 1);
    struct test_group *g = add_gang(c, "a", 4, "1");
    run(c);
    set_phase(c, "a", "Running");
    for (size_t i = 0; i < 4; i++) {
        run(c);
        assert_says(g, "\"phase\":\"Running\"");
        c->pod_list.items[i]->phase = "Succeeded";
        show_pod(c, c->pod_list.items[i]);
    }
    run(c);
    assert_says(g, "\"phase\":\"Completed\"");
    /* G8: cleaning up does not wake it again. */
    for (size_t i = 0; i < 4; i++) {
        c->pod_list.items[i]->gone = true;
        show_pod(c, c->pod_list.items[i]);
    }
    run_for(c, 60 * NSEC_PER_SEC);
    assert_says(g, "\"phase\":\"Completed\"");
    cluster_free(c);
}

/* G8: an admitted group without pods gives its claim back. */
static void claim_without_pods_ends(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 10, 1);
    struct test_group *old =
        add_group(c, "old", "\"minMember\":8,\"minResources\":{\"cpu\":\"8\"}");
    run(c);
    assert_says(old, "\"phase\":\"Inqueue\"");
    struct test_group *next =
        add_group(c, "next", "\"minMember\":8,\"minResources\":{\"cpu\":\"8\"}");
    run(c);
    assert_says(next, "waiting to enter queue");
    assert_says(next, "its minimum needs cpu 8");
    assert_silent(next, "Inqueue");
    run_for(c, 28 * NSEC_PER_SEC);
    assert_says(next, "\"phase\":\"Inqueue\"");
    assert_silent(next, "Unschedulable");
    cluster_free(c);
}

/* Admission stops where it should: three gangs of 60 %, two may have pods. */
static void overcommit_bounds_waiting_jobs(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(overcommitted);
    add_nodes(c, 10, 1);
    struct test_group *groups[3];
    for (int i = 0; i < 3; i++) {
        cleanup_free char *name = xasprintf("g%d", i);
        groups[i] = add_group(c, name, "\"minMember\":6,\"minResources\":{\"cpu\":\"6\"}");
        add_pods(c, name, "w", 6, "1");
    }
    run(c);
    unsigned admitted = 0;
    for (int i = 0; i < 3; i++)
        admitted += str_find(str_of(groups[i]->status), STR("NotEnoughResources")) < 0 ||
                    str_find(str_of(groups[i]->status), STR("Inqueue")) >= 0;
    assert_int_equal(admitted, 2);
    assert_int_equal(c->binds, 6);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gang_starts_whole),
        cmocka_unit_test(writes_are_few),
        cmocka_unit_test(end_of_a_job_is_not_written_at_once),
        cmocka_unit_test(counts_are_merged),
        cmocka_unit_test(two_gangs_of_sixty_per_cent),
        cmocka_unit_test(too_large_a_gang_blocks_nobody),
        cmocka_unit_test(waiting_pods_are_told_once),
        cmocka_unit_test(role_minimums_hold),
        cmocka_unit_test(role_minimums_hold_back),
        cmocka_unit_test(low_minimum_ignores_roles),
        cmocka_unit_test(surplus_pods_follow),
        cmocka_unit_test(gangs_before_surplus),
        cmocka_unit_test(best_effort_pods_count_when_placed),
        cmocka_unit_test(gated_pods_wait),
        cmocka_unit_test(a_pod_that_changes_its_group_counts_there),
        cmocka_unit_test(pods_of_others_are_left_alone),
        cmocka_unit_test(pods_that_end_one_by_one),
        cmocka_unit_test(claim_without_pods_ends),
        cmocka_unit_test(overcommit_bounds_waiting_jobs),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
