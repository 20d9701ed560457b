/*
 * Gangs whose pods matter to one another: affinity, anti-affinity and spread count the pods of the
 * gang itself, and it is placed whole or not at all. (That every single decision is the right one:
 * test_slow_scorer.c.)
 */
#include "apps.h"
#include "scheduler/census.h"

static unsigned in_zone(const struct cluster *c, unsigned zone, unsigned nodes)
{
    unsigned sum = 0;
    for (unsigned i = zone; i < nodes; i += 3) {
        cleanup_free char *name = xasprintf("n%u", i);
        sum += on_node(c, name);
    }
    return sum;
}

static void one_pod_a_node(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 5, "8");
    add_app(c, "a", 5, "\"app\":\"a\"", CPU("1") APART(HOST));
    run(c);
    assert_int_equal(bound(c, "a", NULL), 5);
    for (unsigned i = 0; i < 5; i++) {
        cleanup_free char *name = xasprintf("n%u", i);
        assert_int_equal(on_node(c, name), 1);
    }
    check(c);
    cluster_free(c);
}

static void one_too_many_places_none(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 5, "8");
    struct test_group *g = add_app(c, "a", 6, "\"app\":\"a\"", CPU("1") APART(HOST));
    run(c);
    assert_int_equal(c->binds, 0);
    assert_says(g, "0/5 nodes are available: 5 node(s) didn't match pod anti-affinity rules");
    add_zoned_nodes(c, 6, "8");
    run(c);
    assert_int_equal(bound(c, "a", NULL), 6);
    check(c);
    cluster_free(c);
}

/* Pods on nodes keep away whom their terms mean, though the newcomer has none. */
static void those_who_are_there_count(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 4, "8");
    add_app(c, "first", 2, "\"app\":\"b\"", CPU("1") APART(HOST));
    run(c);
    struct test_group *g = add_app(c, "second", 3, "\"app\":\"a\"", CPU("5"));
    run(c);
    assert_int_equal(bound(c, "first", NULL), 2);
    assert_int_equal(bound(c, "second", NULL), 0);
    assert_says(g, "2 node(s) didn't satisfy existing pods anti-affinity rules");
    set_phase(c, "first", "Succeeded");
    run(c);
    assert_int_equal(bound(c, "second", NULL), 3);
    check(c);
    cluster_free(c);
}

static void friends_share_a_zone(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 9, "2");
    add_app(c, "a", 6, "\"app\":\"a\"", CPU("1") NEAR(ZONE));
    run(c);
    assert_int_equal(bound(c, "a", NULL), 6);
    unsigned full = 0;
    for (unsigned zone = 0; zone < 3; zone++)
        full += in_zone(c, zone, 9) == 6;
    assert_int_equal(full, 1);
    check(c);
    cluster_free(c);
}

/* The first pod does not go to the emptiest node when the others would not find room near it. */
static void friends_find_the_zone_that_is_large_enough(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 2, "4"); /* zones 0 and 1, one empty node each */
    for (unsigned i = 0; i < 4; i++) {
        cleanup_free char *name = xasprintf("large-%u", i);
        cleanup_free char *labels =
            xasprintf("\"kubernetes.io/hostname\":\"large-%u\",\"zone\":\"z2\"", i);
        add_node_json(c, name, labels, "", "\"cpu\":\"3\",\"pods\":\"110\"");
    }
    add_app(c, "fill", 4, "\"app\":\"b\"", CPU("1") ",\"nodeSelector\":{\"zone\":\"z2\"}");
    run(c);
    assert_int_equal(bound(c, "fill", NULL), 4);
    add_app(c, "a", 8, "\"app\":\"a\"", CPU("1") NEAR(ZONE));
    run(c);
    assert_int_equal(bound(c, "a", NULL), 8);
    check(c);
    cluster_free(c);
}

/* The first pod of a series that wants to be near itself may go anywhere; others wait for it. */
static void strangers_wait_for_their_friends(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 3, "8");
    struct test_group *g = add_app(c, "late", 1, "\"app\":\"b\"", CPU("1") NEAR(ZONE));
    run(c);
    assert_int_equal(bound(c, "late", NULL), 0);
    assert_says(g, "3 node(s) didn't match pod affinity rules");
    add_app(c, "a", 1, "\"app\":\"a\"", CPU("8"));
    run(c);
    assert_int_equal(bound(c, "late", NULL), 0); /* its friend's zone has no room */
    add_app(c, "a2", 1, "\"app\":\"a\"", CPU("4"));
    run(c);
    assert_int_equal(bound(c, "late", NULL), 1); /* nothing but the new friend's coming told */
    check(c);
    cluster_free(c);
}

static void spread_evenly(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 7, "8"); /* three nodes in zone 0, two in each other */
    add_app(c, "a", 12, "\"app\":\"a\"", CPU("1") SPREAD(ZONE, "DoNotSchedule"));
    run(c);
    assert_int_equal(bound(c, "a", NULL), 12);
    for (unsigned zone = 0; zone < 3; zone++)
        assert_int_equal(in_zone(c, zone, 7), 4);
    check(c);
    cluster_free(c);
}

static void a_full_zone_stops_the_gang(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 3, "3");
    struct test_group *fill = add_app(c, "fill", 1, "\"app\":\"b\"", CPU("2"));
    run(c);
    struct test_group *g =
        add_app(c, "a", 7, "\"app\":\"a\"", CPU("1") SPREAD(ZONE, "DoNotSchedule"));
    run(c);
    assert_int_equal(bound(c, "fill", NULL), 1);
    assert_int_equal(bound(c, "a", NULL), 0); /* 1, 2, 2 and no more */
    assert_says(g, "node(s) didn't match pod topology spread constraints");
    set_phase(c, fill->name, "Succeeded");
    run(c);
    assert_int_equal(bound(c, "a", NULL), 7);
    check(c);
    cluster_free(c);
}

/* A running pod of another scheduler, with the label app=a. */
static void show_other(struct cluster *c, unsigned i, const char *node)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    show(c->pods, false, false,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"o%u\",\"namespace\":\"ns\",\"uid\":\"o%u\","
                      "\"resourceVersion\":\"%llu\",\"labels\":{\"app\":\"a\"}},\"spec\":{"
                      "\"schedulerName\":\"other\",\"nodeName\":\"%s\"},\"status\":{\"phase\":"
                      "\"Running\"}}",
                      i, i, (unsigned long long)++c->rv, node));
}

/* Pods of other schedulers come to nodes that nobody has told of yet: few at a time, so that tables
 * have places for them. */
static void nodes_may_come_after_their_pods(void **state)
{
    (void)state;
    static const char spec[] = CPU("1") APART(HOST) SPREAD(ZONE, "ScheduleAnyway");
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 30, "8");
    add_app(c, "a", 4, "\"app\":\"a\"", spec);
    run(c);
    assert_int_equal(bound(c, "a", NULL), 4);
    for (unsigned i = 0; i < 12; i++) {
        cleanup_free char *node = xasprintf("x%u", i), *name = xasprintf("b%u", i);
        show_other(c, i, node);
        if (i % 4 != 3)
            continue;
        add_app(c, name, 2, "\"app\":\"a\"", spec);
        run(c);
        assert_int_equal(bound(c, name, NULL), 2);
    }
    check(c);
    cluster_free(c);
}

/* Nothing is asked for, nothing ends: only the friend's coming tells. */
static void a_friend_that_comes_wakes_who_waits(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 3, "8");
    add_app(c, "late", 1, "\"app\":\"b\"", CPU("1") NEAR(ZONE));
    run_for(c, 600 * NSEC_PER_SEC);
    assert_int_equal(bound(c, "late", NULL), 0);
    show_other(c, 0, "n1");
    run(c);
    assert_int_equal(bound(c, "late", NULL), 1);
    assert_string_equal(find_pod(c, "late-0")->node, "n1");
    check(c);
    cluster_free(c);
}

/* Preferences give way when there is no other room. */
static void spread_if_possible(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 3, "8");
    add_app(c, "a", 24, "\"app\":\"a\"", CPU("1") SPREAD(ZONE, "ScheduleAnyway"));
    run(c);
    assert_int_equal(bound(c, "a", NULL), 24);
    check(c);
    cluster_free(c);
}

/* Labels that a namespace gets or loses count from then on. */
static void namespaces_are_selected_by_their_labels(void **state)
{
    (void)state;
    static const char spec[] =
        CPU("1") ",\"affinity\":{\"podAffinity\":{"
                 "\"requiredDuringSchedulingIgnoredDuringExecution\":[{" OURS HOST
                 ",\"namespaceSelector\":{\"matchLabels\":{\"team\":\"x\"}}}]}}";
    struct kube_pair team = {intern_get(STR("team")), intern_get(STR("x"))};
    const struct kube_pairs labels = {&team, 1}, none = {NULL, 0};
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 3, "8");
    add_app(c, "friend", 1, "\"app\":\"a\"", CPU("1"));
    run(c);
    add_app(c, "late", 1, "\"app\":\"b\"", spec);
    run(c);
    assert_int_equal(bound(c, "late", NULL), 0);
    assert_true(cache_set_namespace(&c->scheduler->cache, "ns", &labels));
    assert_false(cache_set_namespace(&c->scheduler->cache, "ns", &labels));
    scheduler_wake(c->scheduler);
    run(c);
    assert_int_equal(bound(c, "late", NULL), 1);
    assert_string_equal(find_pod(c, "late-0")->node, find_pod(c, "friend-0")->node);
    assert_true(cache_set_namespace(&c->scheduler->cache, "ns", &none));
    add_app(c, "later", 1, "\"app\":\"b\"", spec);
    run(c);
    assert_int_equal(bound(c, "later", NULL), 0);
    check(c);
    cluster_free(c);
    intern_put(team.key);
    intern_put(team.value);
}

/* A selector may name what tells the pods of a task apart. */
static void indices_of_tasks_are_labels(void **state)
{
    (void)state;
    static const char spec[] =
        CPU("1") ",\"affinity\":{\"podAntiAffinity\":{"
                 "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"labelSelector\":{"
                 "\"matchLabels\":{\"volcano.sh/task-index\":\"0\"}}" HOST "}]}}";
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 2, "8");
    add_group(c, "a", "\"minMember\":4");
    for (unsigned i = 0; i < 4; i++) {
        cleanup_free char *pod = xasprintf("a-%u", i);
        cleanup_free char *labels = xasprintf("\"volcano.sh/task-index\":\"%u\"", i);
        add_pod_labelled(c, pod, "a", "w", labels, spec);
    }
    run(c);
    assert_int_equal(bound(c, "a", NULL), 4);
    const char *first = find_pod(c, "a-0")->node;
    for (unsigned i = 1; i < 4; i++) {
        cleanup_free char *pod = xasprintf("a-%u", i);
        assert_string_not_equal(find_pod(c, pod)->node, first);
    }
    check(c);
    cluster_free(c);
}

/* Nothing is left over of rules, labels and domains once their pods have gone. */
static void everything_is_forgotten(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 6, "8");
    struct test_group *a =
        add_app(c, "a", 4, "\"app\":\"a\"", CPU("1") APART(HOST) SPREAD(ZONE, "DoNotSchedule"));
    run(c);
    assert_int_equal(bound(c, "a", NULL), 4);
    assert_true(map_count(&c->scheduler->cache.topologies) >= 2);
    end_pods_of(c, a, true);
    a->gone = true;
    show_group(c, a);
    run(c);
    fit_clear(&c->scheduler->cache);
    assert_int_equal(map_count(&c->scheduler->cache.topologies), 0);
    assert_int_equal(map_count(&c->scheduler->cache.census->populations), 0);
    assert_int_equal(c->scheduler->cache.census->carried, 0);
    assert_int_equal(label_set_count(), 0);
    cluster_free(c);
}

static void ports_of_the_node_are_had_once(void **state)
{
    (void)state;
    static const char spec[] = ",\"containers\":[{\"ports\":[{\"hostPort\":8080}],\"resources\":{"
                               "\"requests\":{\"cpu\":\"1\"}}}]";
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 3, "8");
    struct test_group *g = add_app(c, "a", 4, "", spec);
    run(c);
    assert_int_equal(bound(c, "a", NULL), 0);
    assert_says(g, "3 node(s) didn't have free ports for the requested pod ports");
    add_zoned_nodes(c, 4, "8");
    run(c);
    assert_int_equal(bound(c, "a", NULL), 4);
    check(c);
    cluster_free(c);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* A gang whose pods keep away from `terms` different kinds of pods. */
static struct test_group *add_shy(struct cluster *c, const char *name, unsigned terms)
{
    cleanup_buf struct buf spec = BUF_INIT(1 << 20);
    buf_add_cstr(&spec, CPU("1") ",\"affinity\":{\"podAntiAffinity\":{"
                                 "\"requiredDuringSchedulingIgnoredDuringExecution\":[");
    for (unsigned i = 0; i < terms; i++)
        buf_printf(&spec, "%s{\"labelSelector\":{\"matchLabels\":{\"of-%s\":\"%u\"}}" HOST "}",
                   i ? "," : "", name, i);
    buf_add_cstr(&spec, "]}}");
    return add_app(c, name, 2, "\"app\":\"a\"", spec.p);
}

static void pods_with_too_many_terms_wait_alone(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_zoned_nodes(c, 3, "8");
    struct test_group *g = add_shy(c, "more", 65);
    add_shy(c, "most", 64);
    add_app(c, "other", 2, "", CPU("1"));
    run(c);
    assert_int_equal(bound(c, "more", NULL), 0);
    assert_int_equal(bound(c, "most", NULL), 2);
    assert_int_equal(bound(c, "other", NULL), 2);
    assert_says(g, "0/3 nodes are available: 3 the pod's spec.affinity has more than 64 terms "
                   "about other pods, which is the limit.");
    check(c);
    cluster_free(c);
}

/* The last that came wait until there is room for what they select; what is there counts on. */
static void selections_have_a_limit(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    c->scheduler->cache.census->most = 8;
    add_zoned_nodes(c, 3, "8");
    struct test_group *first = add_shy(c, "first", 4);
    add_shy(c, "second", 3);
    struct test_group *third = add_shy(c, "third", 2);
    add_app(c, "other", 2, "", CPU("1"));
    run(c);
    assert_int_equal(bound(c, "first", NULL), 2);
    assert_int_equal(bound(c, "second", NULL), 2);
    assert_int_equal(bound(c, "other", NULL), 2);
    assert_int_equal(bound(c, "third", NULL), 0);
    assert_says(third, "3 the affinity and spread constraints of all pods in the cluster select "
                       "pods in too many different ways");
    /* One of its pods is on a node by another's doing, where it counts as soon as there is room. */
    snprintf(find_pod(c, "third-0")->node, NAME_SIZE, "n0");
    show_pod(c, find_pod(c, "third-0"));
    end_pods_of(c, first, true);
    run(c);
    assert_int_equal(bound(c, "third", NULL), 2);
    struct test_group *last =
        add_app(c, "last", 1, "\"of-third\":\"1\"", CPU("1") ",\"nodeSelector\":{\"zone\":\"z0\"}");
    run(c);
    assert_int_equal(bound(c, "last", NULL), 0);
    assert_says(last, "1 node(s) didn't satisfy existing pods anti-affinity rules");
    check(c);
    cluster_free(c);
}

/* A pod that comes just when there is room again brings those in that came before it. */
static void selections_count_all_pods_once_there_is_room(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    c->scheduler->cache.census->most = 8;
    add_zoned_nodes(c, 3, "8");
    struct test_group *first = add_shy(c, "first", 7);
    run(c);
    struct test_group *third = add_shy(c, "third", 2);
    snprintf(find_pod(c, "third-0")->node, NAME_SIZE, "n0");
    show_pod(c, find_pod(c, "third-0"));
    run(c);
    assert_int_equal(bound(c, "first", NULL), 2);
    end_pods_of(c, first, true);
    add_pod_labelled(c, "third-2", "third", "w", "\"app\":\"a\"", find_pod(c, "third-0")->spec);
    struct test_group *last =
        add_app(c, "last", 1, "\"of-third\":\"1\"", CPU("1") ",\"nodeSelector\":{\"zone\":\"z0\"}");
    run(c);
    assert_int_equal(bound(c, "third", NULL), 3);
    assert_int_equal(bound(c, "last", NULL), 0);
    assert_says(last, "1 node(s) didn't satisfy existing pods anti-affinity rules");
    end_pods_of(c, third, true);
    run(c);
    assert_int_equal(bound(c, "last", NULL), 1);
    check(c);
    cluster_free(c);
}

/* Terms of pods on nodes count, though those of others that wait have taken all room before; as
 * after a restart, where pods come in any order. */
static void whoever_runs_comes_before_those_that_wait(void **state)
{
    (void)state;
    struct cluster *c = cluster_new("actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n"
                                    "  - name: gang\n  - name: predicates\n");
    c->scheduler->cache.census->most = 8;
    add_zoned_nodes(c, 3, "1");
    add_app(c, "full-1", 1, "", CPU("1") ",\"nodeSelector\":{\"zone\":\"z1\"}");
    add_app(c, "full-2", 1, "", CPU("1") ",\"nodeSelector\":{\"zone\":\"z2\"}");
    run(c);
    struct test_group *first = add_shy(c, "first", 3), *second = add_shy(c, "second", 3);
    run(c);
    assert_says(first, "Insufficient cpu");
    assert_says(second, "Insufficient cpu");
    struct test_group *third = add_shy(c, "third", 3);
    snprintf(find_pod(c, "third-0")->node, NAME_SIZE, "n0");
    show_pod(c, find_pod(c, "third-0"));
    run_for(c, 5 * NSEC_PER_SEC); /* reasons are told again now and then */
    assert_int_equal(c->scheduler->cache.census->held, 4);
    assert_says(first, "Insufficient cpu");
    assert_says(second, "select pods in too many different ways");
    check(c);
    struct test_group *last =
        add_app(c, "last", 1, "\"of-third\":\"1\"", ",\"nodeSelector\":{\"zone\":\"z0\"}");
    run(c);
    assert_int_equal(bound(c, "last", NULL), 0);
    assert_says(last, "1 node(s) didn't satisfy existing pods anti-affinity rules");
    end_pods_of(c, third, true);
    run(c);
    assert_int_equal(bound(c, "last", NULL), 1);
    run_for(c, 5 * NSEC_PER_SEC);
    assert_says(second, "Insufficient cpu");
    assert_int_equal(c->scheduler->cache.census->held, 0);
    check(c);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pod_a_node),
        cmocka_unit_test(one_too_many_places_none),
        cmocka_unit_test(those_who_are_there_count),
        cmocka_unit_test(friends_share_a_zone),
        cmocka_unit_test(friends_find_the_zone_that_is_large_enough),
        cmocka_unit_test(strangers_wait_for_their_friends),
        cmocka_unit_test(spread_evenly),
        cmocka_unit_test(a_full_zone_stops_the_gang),
        cmocka_unit_test(nodes_may_come_after_their_pods),
        cmocka_unit_test(a_friend_that_comes_wakes_who_waits),
        cmocka_unit_test(spread_if_possible),
        cmocka_unit_test(namespaces_are_selected_by_their_labels),
        cmocka_unit_test(indices_of_tasks_are_labels),
        cmocka_unit_test(everything_is_forgotten),
        cmocka_unit_test(ports_of_the_node_are_had_once),
        cmocka_unit_test(pods_with_too_many_terms_wait_alone),
        cmocka_unit_test(selections_have_a_limit),
        cmocka_unit_test(selections_count_all_pods_once_there_is_room),
        cmocka_unit_test(whoever_runs_comes_before_those_that_wait),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
