/*
 * Minimums that an annotation gives: a count, a part of the pods there are, and where it does not
 * count.
 */
#include "cluster.h"

#define SECOND NSEC_PER_SEC
#define ANNOTATION(key, value) ",\"annotations\":{\"" key "\":\"" value "\"}"
#define EIGHTY ANNOTATION("scheduling.volcano.sh/min-available", "80%")

/* Without shares of queues, so that nodes alone are short. */
static const char conf[] = "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: gang\n"
                           "  - name: predicates\n";

static struct sched_job *job_of(struct cluster *c, const char *name)
{
    struct sched_job *job = cache_job(&c->scheduler->cache, "ns", name);
    assert_non_null(job);
    return job;
}

/* Ten pods of one CPU on nodes for `room`: how many get a node, and the minimum. */
static unsigned started(const char *meta, const char *spec, unsigned room, int32_t *ret_minimum)
{
    struct cluster *c = cluster_new(conf);
    add_nodes(c, room, 1);
    add_group_meta(c, "a", meta, spec);
    add_pods(c, "a", "w", 10, "1");
    run_for(c, 4 * SECOND);
    unsigned count = bound(c, "a", NULL);
    *ret_minimum = job_of(c, "a")->min_member;
    check(c);
    cluster_free(c);
    return count;
}

static const struct {
    const char *meta, *spec;
    unsigned room, bound;
    int32_t minimum;
} cases[] = {
    /* Eighty per cent starts at eighty per cent, not below. */
    {EIGHTY, "", 7, 0, 8},
    {EIGHTY, "", 8, 8, 8},
    {EIGHTY, "\"minMember\":0", 9, 9, 8},
    {ANNOTATION("minAvailable", "75%"), "", 7, 0, 8}, /* rounded up */
    {ANNOTATION("minAvailable", "75%"), "", 8, 8, 8},
    {ANNOTATION("minAvailable", "1%"), "", 1, 1, 1},
    {ANNOTATION("minAvailable", "100%"), "", 9, 0, 10},
    {ANNOTATION("minAvailable", "6"), "", 5, 0, 6},
    {ANNOTATION("minAvailable", "6"), "", 6, 6, 6},
    {ANNOTATION("minAvailable", "12"), "", 10, 0, 12},
    /* It has no effect beside minMember, or when it cannot be read. */
    {EIGHTY, "\"minMember\":3", 4, 4, 3},
    {EIGHTY, "\"minMember\":10", 9, 0, 10},
    {ANNOTATION("minAvailable", "many"), "", 2, 2, 0},
    {ANNOTATION("minAvailable", "101%"), "", 2, 2, 0},
    {"", "", 2, 2, 0},
};

static void a_part_starts_at_that_part(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int32_t minimum;
        unsigned count = started(cases[i].meta, cases[i].spec, cases[i].room, &minimum);
        if (count != cases[i].bound || minimum != cases[i].minimum)
            fail_msg("case %zu: %u have a node, minimum %d", i, count, minimum);
    }
}

/* Pods that come one after the other are not taken for all there are. */
static void it_waits_until_no_more_pods_come(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    cleanup_free char *spec = cpu_spec("1");
    add_nodes(c, 7, 1);
    struct test_group *group = add_group_meta(c, "a", EIGHTY, "");
    for (int i = 0; i < 10; i++) {
        cleanup_free char *name = xasprintf("a-w-%d", i);
        add_pod_spec(c, name, "a", "w", spec);
        run_for(c, 1500 * NSEC_PER_MSEC);
        assert_int_equal(c->binds, 0);
    }
    run_for(c, 10 * SECOND);
    assert_int_equal(c->binds, 0);
    assert_says(group, "7 of the 8 pods that start together fit");
    add_node(c, "n7", 1);
    run_for(c, SECOND); /* nothing to wait for any more */
    assert_int_equal(bound(c, "a", NULL), 8);
    assert_says(group, "\"phase\":\"Running\"");
    check(c);
    cluster_free(c);
}

/* It is of the pods that can still run. */
static void it_follows_the_pods(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    add_nodes(c, 10, 1);
    add_group_meta(c, "a", EIGHTY, "");
    add_pods(c, "a", "w", 10, "1");
    run_for(c, 4 * SECOND);
    assert_int_equal(bound(c, "a", NULL), 10);
    set_phase(c, "a", "Running");
    assert_int_equal(job_of(c, "a")->min_member, 8);
    c->pod_list.items[0]->phase = "Failed";
    c->pod_list.items[1]->deleted = true;
    c->pod_list.items[2]->phase = "Succeeded";
    for (size_t i = 0; i < 3; i++)
        show_pod(c, c->pod_list.items[i]);
    run(c);
    assert_int_equal(job_of(c, "a")->min_member, 7); /* 80 % of 8 are 6.4 */
    add_pods(c, "a", "x", 7, "1");                   /* fifteen: twelve */
    run(c);
    assert_int_equal(job_of(c, "a")->min_member, 12);
    check(c);
    cluster_free(c);
}

/* The minimums of tasks count where the minimum covers their sum, as with minMember. */
static void roles_are_enforced_by_it(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    add_nodes(c, 5, 1);
    add_group_meta(c, "a", ANNOTATION("minAvailable", "50%"),
                   "\"minTaskMember\":{\"m\":1,\"w\":3}");
    add_pods(c, "a", "w", 6, "1");
    run_for(c, 4 * SECOND);
    assert_int_equal(bound(c, "a", "w"), 5); /* 3 of 6 are less than 4: the number alone counts */
    cluster_free(c);

    c = cluster_new(conf);
    add_nodes(c, 5, 1);
    add_group_meta(c, "a", ANNOTATION("minAvailable", "50%"),
                   "\"minTaskMember\":{\"m\":1,\"w\":3}");
    add_pods(c, "a", "w", 7, "1"); /* four: the pod of the other task is waited for */
    run_for(c, 4 * SECOND);
    assert_int_equal(bound(c, "a", NULL), 0);
    add_pods(c, "a", "m", 1, "1");
    run_for(c, 4 * SECOND);
    assert_int_equal(bound(c, "a", "m"), 1);
    assert_int_equal(bound(c, "a", "w"), 4);
    check(c);
    cluster_free(c);
}

/* The annotation may be set later, and changed. */
static void it_may_be_edited(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    struct test_group *group = add_group_meta(c, "a", ANNOTATION("minAvailable", "100%"), "");
    add_nodes(c, 6, 1);
    add_pods(c, "a", "w", 10, "1");
    run_for(c, 5 * SECOND);
    assert_int_equal(c->binds, 0);
    free(group->meta);
    group->meta = xstrdup(ANNOTATION("minAvailable", "60%"));
    show_group(c, group);
    run(c);
    assert_int_equal(bound(c, "a", NULL), 6);
    check(c);
    cluster_free(c);
}

static void one_node_each(struct cluster *c)
{
    add_nodes(c, 10, 1);
}

static void a_restart_finds_the_same(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(conf);
    add_nodes(c, 10, 1);
    add_group_meta(c, "a", EIGHTY, "");
    add_pods(c, "a", "w", 10, "1");
    run_for(c, 4 * SECOND);
    set_phase(c, "a", "Running");
    run_for(c, 4 * SECOND);
    unsigned patches = c->group_list.items[0]->patches;
    cluster_restart(c, one_node_each);
    run_for(c, 10 * SECOND);
    assert_int_equal(job_of(c, "a")->min_member, 8);
    assert_int_equal(c->group_list.items[0]->patches, patches);
    check(c);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_starts_at_that_part),
        cmocka_unit_test(it_waits_until_no_more_pods_come),
        cmocka_unit_test(it_follows_the_pods),
        cmocka_unit_test(roles_are_enforced_by_it),
        cmocka_unit_test(it_may_be_edited),
        cmocka_unit_test(a_restart_finds_the_same),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
