/*
 * The places for which others are evicted: they are for the pods for which that was decided, as
 * long as the decision stands.
 */
#include "evictions.h"

/* ---- for whom a place is --------------------------------------------------------------------- */

static void add_one(struct cluster *c, const char *group, const char *role, const char *cpu)
{
    cleanup_free char *name = xasprintf("%s-%s-0", group, role), *spec = cpu_spec(cpu);
    add_pod_spec(c, name, group, role, spec);
}

static void start(struct cluster *c, const char *const *victims, const char *const (*places)[2])
{
    struct evict_victim go[2];
    struct evict_place to[2];
    for (size_t i = 0; i < 2; i++) {
        go[i] = (struct evict_victim){task_of(c, victims[i]), false};
        to[i] = (struct evict_place){task_of(c, places[i][0]),
                                     cache_node(&c->scheduler->cache, places[i][1])};
    }
    evictor_start(c->scheduler, job_of(c, "high"), go, 2, to, 2, "preempt");
    scheduler_wake(c->scheduler);
}

/* The small pod comes first, and the emptier node would be better for it; but the large one fits
 * nowhere else. */
static void unlike_pods_have_their_own(void **state)
{
    (void)state;
    struct cluster *c = cluster_open(CONF, false);
    add_node(c, "n0", 4);
    add_group(c, "low", "\"minMember\":1");
    add_one(c, "low", "x", "4");
    run(c);
    add_node(c, "n1", 4);
    add_one(c, "low", "y", "2");
    add_one(c, "low", "z", "2");
    run(c);
    assert_int_equal(bound(c, "low", NULL), 3);
    add_group(c, "high", "\"minMember\":2");
    add_one(c, "high", "a", "2");
    add_one(c, "high", "b", "4");
    run(c);
    start(c, (const char *const[]){"low-x-0", "low-y-0"},
          (const char *const[][2]){{"high-a-0", "n1"}, {"high-b-0", "n0"}});
    run_for(c, SECOND);
    assert_int_equal(show_evicted(c, true), 2);
    run(c);
    assert_string_equal(find_pod(c, "high-a-0")->node, "n1");
    assert_string_equal(find_pod(c, "high-b-0")->node, "n0");
    assert_null(job_of(c, "high")->decision);
    check(c);
    cluster_free(c);
}

/* ---- for whom it is not ---------------------------------------------------------------------- */

/* A gang of which half is gone comes first, and would have room there. */
static void not_for_gangs_that_were_cut_off(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(1, 1, false);
    decide(c, 1);
    add_node(c, "n1", 1);
    add_node(c, "n2", 1);
    add_gang(c, "hurt", 2, "1");
    run_for(c, SECOND);
    assert_int_equal(bound(c, "hurt", NULL), 2);
    for (size_t i = 0; i < c->pod_list.n; i++) {
        struct test_pod *pod = c->pod_list.items[i];
        pod->gone = pod->gone || strcmp(pod->node, "n2") == 0;
        if (strcmp(pod->node, "n2") == 0)
            show_pod(c, pod);
    }
    delete_node(c, "n2");
    add_pods(c, "hurt", "again", 1, "1");
    run(c);
    assert_int_equal(bound(c, "hurt", NULL), 1);
    assert_int_equal(show_evicted(c, true), 2);
    run(c);
    assert_int_equal(bound(c, "high", NULL), 1);
    assert_int_equal(bound(c, "hurt", NULL), 1);
    check(c);
    cluster_free(c);
}

/* What would have room in some of the places, but not in all that it needs. */
static void not_for_gangs_that_do_not_fit(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(2, 2, false);
    decide(c, 2);
    run_for(c, SECOND);
    show(c->priorityclasses, false, false,
         STR("{\"metadata\":{\"name\":\"urgent\",\"uid\":\"pc\",\"resourceVersion\":\"900\"},"
             "\"value\":100}"));
    add_group(c, "urgent", "\"minMember\":2,\"priorityClassName\":\"urgent\"");
    add_pods(c, "urgent", "w", 2, "2");
    for (size_t i = 0; i < 2; i++) { /* one node only */
        struct test_pod *pod = victim_on(c, "n0");
        pod->gone = true;
        show_pod(c, pod);
    }
    run(c);
    assert_int_equal(bound(c, "urgent", NULL), 0);
    assert_non_null(job_of(c, "high")->decision);
    assert_int_equal(holds_pods(job_of(c, "high")->reservation), 2);
    check(c);
    show_evicted(c, true); /* now it fits, and goes before */
    run(c);
    assert_int_equal(bound(c, "urgent", NULL), 2);
    assert_given_up(c);
    cluster_free(c);
}

/* The victim leaves more than what is wanted of its room: another may have the rest before. */
static void what_is_left_of_a_node_is_for_others(void **state)
{
    (void)state;
    struct cluster *c = cluster_open(CONF, false);
    add_node(c, "n0", 4);
    add_gang(c, "low", 1, "2");
    run(c);
    add_gang(c, "high", 1, "3");
    run(c);
    const struct evict_victim victim = {task_of(c, "low-w-0"), false};
    const struct evict_place place = {task_of(c, "high-w-0"),
                                      cache_node(&c->scheduler->cache, "n0")};
    evictor_start(c->scheduler, job_of(c, "high"), &victim, 1, &place, 1, "preempt");
    run_for(c, SECOND);
    show(c->priorityclasses, false, false,
         STR("{\"metadata\":{\"name\":\"urgent\",\"uid\":\"pc\",\"resourceVersion\":\"900\"},"
             "\"value\":100}"));
    add_group(c, "urgent", "\"minMember\":1,\"priorityClassName\":\"urgent\"");
    add_pods(c, "urgent", "w", 1, "1");
    run(c);
    assert_int_equal(bound(c, "urgent", NULL), 1);
    assert_non_null(job_of(c, "high")->decision);
    show_evicted(c, true);
    run(c);
    assert_int_equal(bound(c, "high", NULL), 1);
    check(c);
    cluster_free(c);
}

/* ---- for how long ---------------------------------------------------------------------------- */

/* Victims may take longer than the job may wait: a decision ends by itself. */
static void waiting_does_not_time_out_meanwhile(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(1, 1, false);
    c->grace_ns = 60 * SECOND;
    job_of(c, "high")->wait.limit_ns = 20 * SECOND;
    decide(c, 1);
    run_for(c, SECOND);
    show_evicted(c, false);
    run_for(c, 50 * SECOND);
    assert_non_null(job_of(c, "high")->decision);
    assert_int_equal(job_of(c, "high")->phase, JOB_INQUEUE);
    show_evicted(c, true);
    run(c);
    assert_int_equal(bound(c, "high", NULL), 1);
    check(c);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unlike_pods_have_their_own),
        cmocka_unit_test(not_for_gangs_that_were_cut_off),
        cmocka_unit_test(not_for_gangs_that_do_not_fit),
        cmocka_unit_test(what_is_left_of_a_node_is_for_others),
        cmocka_unit_test(waiting_does_not_time_out_meanwhile),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
