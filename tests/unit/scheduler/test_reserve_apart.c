/*
 * Nodes held for gangs whose pods matter to one another: no place counts that they could not have
 * beside the others.
 */
#include "apps.h"
#include "scheduler/holds.h"
#include "scheduler/reserve.h"

#define MINUTE (60 * NSEC_PER_SEC)

#define CONF                                                                                       \
    "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: priority\n"           \
    "  - name: gang\n    arguments:\n      defaultWaitingTime: 0\n      gang.reserveAfter: 1m\n"   \
    "  - name: predicates\n  - name: nodeorder\n"

static struct sched_job *job_of(struct cluster *c, const char *name)
{
    struct sched_job *job = cache_job(&c->scheduler->cache, "ns", name);
    assert_non_null(job);
    return job;
}

/* ---- the emptied cluster --------------------------------------------------------------------- */

static bool would_fit(struct cluster *c, const char *name)
{
    struct reserve_plan *plan = reserve_plan_new(c->scheduler, job_of(c, name));
    while (!reserve_plan_step(plan))
        ;
    bool fits = reserve_plan_fits(plan);
    reserve_plan_free(plan);
    return fits;
}

/* So many pods of the kind in a cluster of 7 nodes with 4 CPUs: 3 in z0, 2 in z1 and in z2. */
static bool so_many_fit(unsigned count, const char *spec)
{
    struct cluster *c = cluster_new(CONF);
    add_zoned_nodes(c, 7, "4");
    add_app(c, "fills", 28, "\"app\":\"b\"", CPU("1"));
    run(c);
    assert_int_equal(c->binds, 28);
    add_app(c, "a", count, "\"app\":\"a\"", spec);
    run(c);
    bool fits = would_fit(c, "a");
    cluster_free(c);
    return fits;
}

static void pods_that_keep_apart(void **state)
{
    (void)state;
    assert_true(so_many_fit(28, CPU("1")));
    assert_true(so_many_fit(7, CPU("1") APART(HOST)));
    assert_false(so_many_fit(8, CPU("1") APART(HOST)));
    assert_true(so_many_fit(3, CPU("1") APART(ZONE)));
    assert_false(so_many_fit(4, CPU("1") APART(ZONE)));
}

static void pods_that_stay_together(void **state)
{
    (void)state;
    assert_true(so_many_fit(12, CPU("1") NEAR(ZONE)));
    assert_false(so_many_fit(13, CPU("1") NEAR(ZONE)));
    assert_false(so_many_fit(5, CPU("1") NEAR(HOST)));
}

static void pods_that_are_spread(void **state)
{
    (void)state;
    assert_true(so_many_fit(25, CPU("1") SPREAD(ZONE, "DoNotSchedule"))); /* 9, 8 and 8 */
    assert_false(so_many_fit(26, CPU("1") SPREAD(ZONE, "DoNotSchedule")));
    assert_true(so_many_fit(28, CPU("1") SPREAD(ZONE, "ScheduleAnyway")));
}

/* Those that are on nodes keep the others away, and so do pods of another kind. */
static bool beside_others(unsigned placed, unsigned others)
{
    struct cluster *c = cluster_new(CONF);
    add_zoned_nodes(c, 3, "4");
    cleanup_free char *min = xasprintf("\"minMember\":%u", placed + others);
    add_app(c, "a", placed, "\"app\":\"a\"", CPU("1") APART(HOST));
    run(c);
    assert_int_equal(bound(c, "a", NULL), placed);
    add_group(c, "a", min);
    for (unsigned i = 0; i < others; i++) {
        cleanup_free char *pod = xasprintf("other-%u", i);
        add_pod_labelled(c, pod, "a", "o", "\"app\":\"o\"", CPU("3") APART(HOST));
    }
    bool fits = would_fit(c, "a");
    cluster_free(c);
    return fits;
}

static void pods_of_the_job_that_are_there(void **state)
{
    (void)state;
    assert_true(beside_others(1, 2));
    assert_false(beside_others(1, 3)); /* there is room for it beside the first */
    assert_false(beside_others(2, 2));
}

/* ---- places ---------------------------------------------------------------------------------- */

/* 20 nodes of 4 CPUs full of single pods, and a gang that waits for eight. */
static struct cluster *full_cluster(const char *spec)
{
    struct cluster *c = cluster_new(CONF);
    add_zoned_nodes(c, 20, "4");
    for (unsigned i = 0; i < 80; i++) {
        cleanup_free char *name = xasprintf("s%02u", i);
        add_gang(c, name, 1, "1");
    }
    run(c);
    assert_int_equal(c->binds, 80);
    add_app(c, "big", 8, "\"app\":\"a\"", spec);
    return c;
}

/* All pods of a node end. */
static void empty_node(struct cluster *c, const char *node)
{
    for (size_t i = 0; i < c->pod_list.n; i++) {
        struct test_pod *pod = c->pod_list.items[i];
        if (!pod->gone && strcmp(pod->node, node) == 0 && pod->name[0] == 's')
            set_phase(c, pod->group, "Succeeded");
    }
    run(c);
}

static unsigned held_on(struct cluster *c, const char *node)
{
    const struct node_hold *hold = cache_node(&c->scheduler->cache, node)->holds;
    unsigned sum = 0;
    for (size_t i = 0; hold && i < hold->parts.n; i++)
        sum += hold->parts.items[i].pods;
    return sum;
}

static unsigned held_in_zone(struct cluster *c, unsigned zone)
{
    unsigned sum = 0;
    for (unsigned i = zone; i < 20; i += 3) {
        cleanup_free char *name = xasprintf("n%u", i);
        sum += held_on(c, name);
    }
    return sum;
}

static unsigned held(struct cluster *c)
{
    return held_in_zone(c, 0) + held_in_zone(c, 1) + held_in_zone(c, 2);
}

static void one_place_a_node(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(CPU("1") APART(HOST));
    empty_node(c, "n3"); /* four are free, one of use */
    run_for(c, 2 * MINUTE);
    assert_non_null(job_of(c, "big")->reservation);
    assert_int_equal(held(c), 8);
    for (unsigned i = 0; i < 20; i++) {
        cleanup_free char *name = xasprintf("n%u", i);
        assert_in_range(held_on(c, name), 0, 1);
    }
    assert_int_equal(held_on(c, "n3"), 1);
    check(c);
    cluster_free(c);
}

static void places_of_one_zone(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(CPU("1") NEAR(ZONE));
    empty_node(c, "n4");
    empty_node(c, "n6");
    run_for(c, 2 * MINUTE);
    assert_non_null(job_of(c, "big")->reservation);
    assert_int_equal(held(c), 8);
    assert_int_equal(held_in_zone(c, 0) % 8 + held_in_zone(c, 1) % 8 + held_in_zone(c, 2) % 8, 0);
    check(c);
    cluster_free(c);
}

static void places_in_all_zones(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(CPU("1") SPREAD(ZONE, "DoNotSchedule"));
    empty_node(c, "n4");
    empty_node(c, "n7"); /* both in z1 */
    run_for(c, 2 * MINUTE);
    assert_non_null(job_of(c, "big")->reservation);
    assert_int_equal(held(c), 8);
    for (unsigned zone = 0; zone < 3; zone++)
        assert_in_range(held_in_zone(c, zone), 2, 3);
    check(c);
    cluster_free(c);
}

/* The most work of one turn of the loop in that time. */
static uint64_t dearest_turn(struct cluster *c, int64_t ns)
{
    int64_t end = loop_now(c->loop) + ns;
    uint64_t most = 0;
    while (loop_now(c->loop) < end) {
        uint64_t work = c->scheduler->cache.work;
        if (!loop_turn(c->loop, end - loop_now(c->loop)))
            break;
        work = c->scheduler->cache.work - work;
        most = work > most ? work : most;
    }
    return most;
}

/* A gang of pods that are all of different kinds keeps the loop no longer than others. */
static void kinds_are_looked_at_one_by_one(void **state)
{
    (void)state;
    const unsigned count = 200;
    struct cluster *c = cluster_new(CONF);
    add_zoned_nodes(c, count, "1");
    for (unsigned i = 0; i < count; i++) {
        cleanup_free char *name = xasprintf("s%03u", i);
        add_gang(c, name, 1, "1");
    }
    run(c);
    assert_int_equal(c->binds, count);
    cleanup_free char *min = xasprintf("\"minMember\":%u", count);
    add_group(c, "big", min);
    for (unsigned i = 0; i < count; i++) {
        cleanup_free char *name = xasprintf("big-%u", i), *cpu = xasprintf("%um", 1000 - i);
        cleanup_free char *asks = cpu_spec(cpu);
        cleanup_free char *spec = xasprintf("%s" APART(HOST), asks);
        add_pod_labelled(c, name, "big", "w", "\"app\":\"a\"", spec);
    }
    uint64_t most = dearest_turn(c, 5 * MINUTE);
    assert_non_null(job_of(c, "big")->reservation);
    assert_in_range(most, 1, 25000); /* a slice, and a look at all nodes */
    check(c);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_that_keep_apart), cmocka_unit_test(pods_that_stay_together),
        cmocka_unit_test(pods_that_are_spread), cmocka_unit_test(pods_of_the_job_that_are_there),
        cmocka_unit_test(one_place_a_node),     cmocka_unit_test(places_of_one_zone),
        cmocka_unit_test(places_in_all_zones),  cmocka_unit_test(kinds_are_looked_at_one_by_one),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
