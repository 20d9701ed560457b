/*
 * What terms of pods about other pods cost those whom they mean: nothing, where they are about a
 * label that no node has; and how many there may be.
 */
#include "apps.h"
#include "scheduler/census.h"

/* A pod of its own that keeps away from everybody over the domains of `n` labels, from `key` on. */
static struct test_group *add_pest(struct cluster *c, const char *name, const char *cpu,
                                   const char *key, unsigned n)
{
    cleanup_buf struct buf spec = BUF_INIT(1 << 20);
    cleanup_free char *asks = cpu_spec(cpu);
    buf_printf(&spec,
               "%s,\"affinity\":{\"podAntiAffinity\":{"
               "\"requiredDuringSchedulingIgnoredDuringExecution\":[",
               asks);
    for (unsigned i = 0; i < n; i++)
        buf_printf(&spec, "%s{\"labelSelector\":{},\"topologyKey\":\"%s%u\"}", i ? "," : "", key,
                   i);
    buf_add_cstr(&spec, "]}}");
    return add_app(c, name, 1, "\"app\":\"pest\"", spec.p);
}

static void label_node(struct cluster *c, unsigned i, const char *more)
{
    cleanup_free char *name = xasprintf("n%u", i);
    cleanup_free char *labels = xasprintf("\"zone\":\"z%u\"%s", i, more);
    add_node_json(c, name, labels, "", "\"cpu\":\"8\",\"pods\":\"110\"");
}

static void label_nodes(struct cluster *c, unsigned count, const char *more)
{
    for (unsigned i = 0; i < count; i++)
        label_node(c, i, more);
}

static struct census *census_of(const struct cluster *c)
{
    return c->scheduler->cache.census;
}

/* Whoever waits with many terms, or runs with them, makes nothing dearer for others. */
static void labels_that_no_node_has_cost_nobody(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    label_nodes(c, 3, "");
    add_pest(c, "waits", "100", "a", 64);
    add_pest(c, "runs", "1", "b", 64);
    struct test_group *g = add_app(c, "plain", 4, "\"app\":\"a\"", CPU("1"));
    run(c);
    assert_int_equal(bound(c, "waits", NULL), 0);
    assert_int_equal(bound(c, "runs", NULL), 1);
    assert_int_equal(bound(c, g->name, NULL), 4);
    assert_int_equal(census_of(c)->carried, 128);
    assert_int_equal(census_of(c)->felt, 0);
    assert_int_equal(map_count(&c->scheduler->cache.topologies), 0);
    check(c);
    cluster_free(c);
}

/* What a term says counts from when a node gets its label until the last one loses it. */
static void a_label_may_come_late(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    label_nodes(c, 2, "");
    add_pest(c, "pest", "1", "rack", 1);
    run(c);
    assert_int_equal(bound(c, "pest", NULL), 1);
    add_app(c, "first", 1, "", CPU("1"));
    run(c);
    assert_int_equal(bound(c, "first", NULL), 1);
    label_nodes(c, 2, ",\"rack0\":\"r\"");
    struct test_group *second = add_app(c, "second", 1, "", CPU("1"));
    run(c);
    assert_int_equal(census_of(c)->felt, 1);
    assert_int_equal(bound(c, "second", NULL), 0);
    assert_says(second, "2 node(s) didn't satisfy existing pods anti-affinity rules");
    assert_string_equal(find_pod(c, "pest-0")->node, "n0");
    label_node(c, 1, "");
    run(c);
    assert_string_equal(find_pod(c, "second-0")->node, "n1"); /* which is in no rack any more */
    label_nodes(c, 2, "");
    add_app(c, "third", 12, "", CPU("1"));
    run(c);
    assert_int_equal(census_of(c)->felt, 0);
    assert_int_equal(bound(c, "third", NULL), 12);
    check(c);
    cluster_free(c);
}

/* A wish to be near others over the domains of such a label is one that no node fulfils. */
static void nobody_is_near_without_a_label(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    label_nodes(c, 2, "");
    struct test_group *g =
        add_app(c, "a", 2, "\"app\":\"a\"", CPU("1") NEAR(",\"topologyKey\":\"rack\""));
    run(c);
    assert_int_equal(bound(c, "a", NULL), 0);
    assert_says(g, "2 node(s) didn't match pod affinity rules");
    label_nodes(c, 1, ",\"rack\":\"r\"");
    run(c);
    assert_int_equal(bound(c, "a", NULL), 2);
    assert_string_equal(find_pod(c, "a-1")->node, "n0");
    check(c);
    cluster_free(c);
}

/* The node with the label goes, and comes back, with the pods that carry terms about it. */
static void nodes_take_their_labels_along(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    label_nodes(c, 1, ",\"rack0\":\"r\"");
    add_pest(c, "pest", "1", "rack", 1);
    run(c);
    assert_int_equal(bound(c, "pest", NULL), 1);
    assert_int_equal(census_of(c)->felt, 1);
    delete_node(c, "n0");
    run(c);
    assert_int_equal(census_of(c)->felt, 0);
    check(c);
    label_nodes(c, 1, ",\"rack0\":\"r\"");
    add_app(c, "a", 1, "", CPU("1"));
    run(c);
    assert_int_equal(census_of(c)->felt, 1);
    assert_int_equal(bound(c, "a", NULL), 0);
    check(c);
    cluster_free(c);
}

/* Terms may be of one selection and about ever more labels. */
static void terms_have_a_limit(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    census_of(c)->most = 9;
    label_nodes(c, 3, "");
    struct test_group *first = add_pest(c, "first", "1", "a", 5);
    add_pest(c, "second", "1", "b", 4);
    struct test_group *third = add_pest(c, "third", "1", "c", 1);
    run(c);
    assert_int_equal(bound(c, "first", NULL), 1);
    assert_int_equal(bound(c, "second", NULL), 1);
    assert_int_equal(bound(c, "third", NULL), 0);
    assert_says(third, "select pods in too many different ways");
    end_pods_of(c, first, true);
    run(c);
    assert_int_equal(bound(c, "third", NULL), 1);
    assert_int_equal(census_of(c)->carried, 5);
    check(c);
    cluster_free(c);
}

/* A pod that runs there by another's doing. */
static void run_elsewhere(struct cluster *c, const char *name, const char *node, const char *spec)
{
    struct test_pod *pod = add_pod_labelled(c, name, name, "w", "", spec);
    snprintf(pod->node, sizeof(pod->node), "%s", node);
    pod->phase = "Running";
    show_pod(c, pod);
}

static void add_host(struct cluster *c, unsigned i, const char *cpu)
{
    cleanup_free char *name = xasprintf("n%u", i);
    cleanup_free char *labels = xasprintf("\"kubernetes.io/hostname\":\"n%u\"", i);
    cleanup_free char *allocatable = xasprintf("\"cpu\":\"%s\",\"pods\":\"110\"", cpu);
    add_node_json(c, name, labels, "", allocatable);
}

/* Nodes of 2, 8 and 4 CPUs, and so many without room that a table is not made anew for the few
 * that change. */
static void add_hosts(struct cluster *c)
{
    add_host(c, 0, "2");
    add_host(c, 1, "8");
    add_host(c, 2, "4");
    for (unsigned i = 3; i < 40; i++)
        add_host(c, i, "10m");
}

/* "first" and "stranger" keep the same others away from their nodes; the latter is counted only
 * when "filler", which has two terms of the four there may be, is gone. */
static void who_counts_late_keeps_others_away_from_then_on(void **state)
{
    (void)state;
    static const char term[] =
        "\"affinity\":{\"podAntiAffinity\":{"
        "\"requiredDuringSchedulingIgnoredDuringExecution\":[{" OURS HOST "}";
    cleanup_free char *apart = xasprintf(CPU("1") ",%s]}}", term);
    cleanup_free char *twice = xasprintf(CPU("6") ",%s,{" OURS ZONE "}]}}", term);
    struct cluster *c = cluster_new(NULL);
    census_of(c)->most = 4;
    add_host(c, 0, "2");
    add_app(c, "first", 1, "", apart);
    struct test_group *filler = add_pest(c, "filler", "1", "a", 2);
    run(c);
    assert_int_equal(c->binds, 2);
    add_hosts(c);
    run_elsewhere(c, "stranger", "n1", twice);
    add_app(c, "before", 1, "\"app\":\"a\"", CPU("1"));
    run(c);
    add_app(c, "plug", 1, "", CPU("3"));
    run(c);
    assert_string_equal(find_pod(c, "before-0")->node, "n2");
    assert_string_equal(find_pod(c, "plug-0")->node, "n2");
    assert_int_equal(census_of(c)->uncounted, 1);
    end_pods_of(c, filler, true);
    add_app(c, "alike", 1, "", twice);
    struct test_group *after = add_app(c, "after", 1, "\"app\":\"a\"", CPU("1"));
    run(c);
    assert_int_equal(census_of(c)->uncounted, 0);
    assert_int_equal(bound(c, after->name, NULL), 0);
    assert_says(after, "2 node(s) didn't satisfy existing pods anti-affinity rules");
    check(c);
    cluster_free(c);
}

/* A namespace is news where that changes who is meant, which may take several of its kind. */
static void namespaces_are_news_where_they_matter(void **state)
{
    (void)state;
    static const char spec[] =
        CPU("1") ",\"affinity\":{\"podAffinity\":{"
                 "\"requiredDuringSchedulingIgnoredDuringExecution\":[{" OURS ZONE
                 ",\"namespaces\":[\"ns\"]},{" OURS ZONE
                 ",\"namespaceSelector\":{\"matchLabels\":{\"team\":\"x\"}}}]}}";
    struct kube_pair team = {intern_get(STR("team")), intern_get(STR("x"))};
    const struct kube_pairs labels = {&team, 1}, none = {NULL, 0};
    struct cluster *c = cluster_new(NULL);
    struct cache *cache = &c->scheduler->cache;
    label_nodes(c, 3, "");
    add_app(c, "friend", 1, "\"app\":\"a\"", CPU("1"));
    add_app(c, "a", 1, "\"app\":\"b\"", spec);
    run(c);
    assert_int_equal(bound(c, "a", NULL), 0);
    uint64_t room = cache->room;
    assert_false(cache_set_namespace(cache, "other", &labels)); /* without pods */
    assert_false(cache_set_namespace(cache, "ns", &none));
    assert_false(cache_set_namespace(cache, "other", NULL));
    assert_true(cache->room == room);
    assert_true(cache_set_namespace(cache, "ns", &labels));
    assert_true(cache->room > room);
    check(c);
    scheduler_wake(c->scheduler);
    run(c);
    assert_int_equal(bound(c, "a", NULL), 1);
    assert_true(cache_set_namespace(cache, "ns", NULL));
    check(c);
    cluster_free(c);
    intern_put(team.key);
    intern_put(team.value);
}

/* Tables are kept for the classes that were used last; those of others are made again. */
static void tables_have_a_limit(void **state)
{
    (void)state;
    struct cluster *c = cluster_new("actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n"
                                    "  - name: gang\n  - name: predicates\n");
    label_nodes(c, 3, "");
    for (unsigned i = 0; i < 4200; i++) {
        cleanup_free char *cpu = xasprintf("%u", 9 + i); /* each a class, and too large */
        cleanup_free char *name = xasprintf("g%u", i);
        add_gang(c, name, 1, cpu);
    }
    run(c);
    assert_int_equal(c->scheduler->cache.table_count, 4096);
    label_nodes(c, 4, "");
    run(c);
    assert_int_equal(c->scheduler->cache.table_count, 4096);
    assert_int_equal(c->binds, 0);
    add_gang(c, "fits", 1, "8");
    run(c);
    assert_int_equal(bound(c, "fits", NULL), 1);
    check(c);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_that_no_node_has_cost_nobody),
        cmocka_unit_test(a_label_may_come_late),
        cmocka_unit_test(nobody_is_near_without_a_label),
        cmocka_unit_test(nodes_take_their_labels_along),
        cmocka_unit_test(terms_have_a_limit),
        cmocka_unit_test(who_counts_late_keeps_others_away_from_then_on),
        cmocka_unit_test(namespaces_are_news_where_they_matter),
        cmocka_unit_test(tables_have_a_limit),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
