/*
 * nodegroup: which groups of nodes the jobs of a queue may use, and which they prefer, in a cluster
 * on a virtual clock. Limits are in test_nodegroup_limits.c.
 */
#include "nodegroups.h"

#include "scheduler/fit.h"

/* ---- which groups ---------------------------------------------------------------------------- */

#define LOOSE ARGUMENTS("strict: false")

static const struct {
    const char *what, *conf, *annotations, *spec, *group;
    const char *says; /* NULL: the node is used */
} rows[] = {
    {"no group, no affinity", CONF(""), "", "", NULL, NO_LABEL},
    {"no group, affinity", CONF(""), "", ONLY_A, NULL, NO_LABEL},
    {"no group, no affinity, loose", LOOSE, "", "", NULL, NULL},
    {"no group, affinity, loose", LOOSE, "", ONLY_A, NULL, NO_LABEL},
    {"an empty group is none", CONF(""), "", ONLY_A, "", NO_LABEL},
    {"no affinity", CONF(""), "", "", "a", NO_AFFINITY},
    {"no affinity, loose", LOOSE, "", "", "a", NO_AFFINITY},
    {"an empty affinity is none", CONF(""), "", AFFINITY(REQUIRED(""), ""), "a", NO_AFFINITY},
    {"required", CONF(""), "", ONLY_A, "a", NULL},
    {"another is required", CONF(""), "", ONLY_A, "b", NOT_ALLOWED},
    {"preferred", CONF(""), "", AFFINITY(PREFERRED("\"a\""), ""), "a", NULL},
    {"another is preferred", CONF(""), "", AFFINITY(PREFERRED("\"b\""), ""), "a", NOT_ALLOWED},
    {"required to be avoided", CONF(""), "", AFFINITY("", REQUIRED("\"a\"")), "a", NOT_ALLOWED},
    {"another is to be avoided", CONF(""), "", AFFINITY("", REQUIRED("\"b\"")), "a", NOT_ALLOWED},
    {"better avoided", CONF(""), "", AFFINITY("", PREFERRED("\"a\"")), "a", NULL},
    {"required, and to be avoided", CONF(""), "",
     AFFINITY(REQUIRED("\"a\",\"b\""), REQUIRED("\"a\"")), "a", NOT_ALLOWED},
    {"required, and better avoided", CONF(""), "", AFFINITY(REQUIRED("\"b\""), PREFERRED("\"a\"")),
     "a", NULL},
    {"to be avoided, if possible", CONF(""), "",
     AFFINITY("", REQUIRED("\"a\"") "," PREFERRED("\"a\"")), "a", NULL},
    {"limits that cannot be read", CONF(""), LIMITS("{"), ONLY_A, "a", INVALID},
    {"these come first", CONF(""), LIMITS("[]"), "", NULL, INVALID},
    {"enough", CONF(""), CPU_OF_A("2"), ONLY_A, "a", NULL},
    {"a thousandth too little", CONF(""), CPU_OF_A("1999m"), ONLY_A, "a", EXCEEDED},
    {"0 CPU is no limit", CONF(""), CPU_OF_A("0"), ONLY_A, "a", NULL},
    {"0 pods are none", CONF(""), LIMITS("{\\\"a\\\":{\\\"pods\\\":0}}"), ONLY_A, "a", EXCEEDED},
    {"what it does not ask for", CONF(""), LIMITS("{\\\"a\\\":{\\\"x/gpu\\\":0}}"), ONLY_A, "a",
     NULL},
    {"a limit of another group", CONF(""), LIMITS("{\\\"b\\\":{\\\"cpu\\\":1}}"), ONLY_A, "a",
     NULL},
    {"switched off", CONF("    enablePredicate: false\n"), CPU_OF_A("1"), "", "a", NULL},
    {"no plugin", GANG, CPU_OF_A("1"), "", NULL, NULL},
};

static void by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct cluster *c = cluster_new(rows[i].conf);
        add_node_of(c, "n0", rows[i].group, 8);
        add_queue(c, "q", rows[i].annotations, rows[i].spec);
        struct test_group *job = add_job(c, "q", "j", 1, "2");
        run(c);
        if ((bound(c, "j", NULL) == 1) != !rows[i].says)
            fail_msg("%s: %s", rows[i].what, job->status);
        if (rows[i].says && str_find(str_of(job->status), str_of(rows[i].says)) < 0)
            fail_msg("%s: %s", rows[i].what, job->status);
        check(c);
        cluster_free(c);
    }
}

/* Pods that ask for nothing, too. */
static void best_effort_pods_have_groups(void **state)
{
    struct cluster *c = cluster_new(CONF(""));
    (void)state;
    add_node_of(c, "n0", "b", 8);
    add_node_of(c, "n1", "a", 8);
    add_queue(c, "q", LIMITS("{\\\"a\\\":{\\\"pods\\\":\\\"2\\\"}}"), ONLY_A);
    add_group(c, "j", "\"minMember\":1,\"queue\":\"q\"");
    for (int i = 0; i < 3; i++) {
        cleanup_free char *name = xasprintf("j-%d", i);
        add_pod_spec(c, name, "j", "w", "");
    }
    run(c);
    assert_on(c, "j", "n1 n1 -");
    check(c);
    cluster_free(c);
}

/* A table is one queue's: jobs of the same pods in other queues go elsewhere. */
static void queues_do_not_share_tables(void **state)
{
    struct cluster *c = cluster_new(CONF(""));
    (void)state;
    add_node_of(c, "n0", "a", 8);
    add_node_of(c, "n1", "b", 8);
    add_queue(c, "qa", "", ONLY_A);
    add_queue(c, "qb", "", AFFINITY(REQUIRED("\"b\""), ""));
    add_queue(c, "none", "", "");
    add_job(c, "qb", "j0", 1, "1");
    add_job(c, "qa", "j1", 1, "1");
    struct test_group *job = add_job(c, "none", "j2", 1, "1");
    add_job(c, "qb", "j3", 1, "1");
    run(c);
    assert_on(c, "j0", "n1");
    assert_on(c, "j1", "n0");
    assert_on(c, "j3", "n1");
    assert_says(job, "0/2 nodes are available: 2 " NO_AFFINITY);
    check(c);
    cluster_free(c);
}

/* ---- which first ----------------------------------------------------------------------------- */

#define PLAIN CONF("")
#define ORDERED ARGUMENTS("enablePreferredOrder: true")

static const struct {
    const char *what, *conf, *spec;
    const char *first, *second; /* groups of the nodes: the second is taken when it is better */
    bool second_is_better;
} scores[] = {
    {"required before preferred", PLAIN, AFFINITY(REQUIRED("\"b\"") "," PREFERRED("\"a\""), ""),
     "a", "b", true},
    {"both before required", PLAIN, AFFINITY(REQUIRED("\"a\",\"b\"") "," PREFERRED("\"b\""), ""),
     "a", "b", true},
    {"preferred are alike", PLAIN, AFFINITY(PREFERRED("\"b\",\"a\""), ""), "a", "b", false},
    {"preferred in order", ORDERED, AFFINITY(PREFERRED("\"b\",\"a\""), ""), "a", "b", true},
    {"in that order alone", ORDERED, AFFINITY(PREFERRED("\"a\",\"b\""), ""), "a", "b", false},
    {"the last before those to be avoided", ORDERED,
     AFFINITY(PREFERRED("\"c\",\"b\""), PREFERRED("\"a\"")), "a", "b", true},
    {"preferred but to be avoided", PLAIN,
     AFFINITY(REQUIRED("\"a\"") "," PREFERRED("\"a\",\"b\""), PREFERRED("\"a\"")), "a", "b", true},
    {"switched off", CONF("    enableNodeOrder: false\n"),
     AFFINITY(REQUIRED("\"b\"") "," PREFERRED("\"a\""), ""), "a", "b", false},
};

static void which_group_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(scores); i++) {
        struct cluster *c = cluster_new(scores[i].conf);
        add_node_of(c, "n0", scores[i].first, 8);
        add_node_of(c, "n1", scores[i].second, 8);
        add_queue(c, "q", "", scores[i].spec);
        add_job(c, "q", "j", 1, "2");
        run(c);
        const char *node = find_pod(c, "j-w-0")->node;
        if (strcmp(node, scores[i].second_is_better ? "n1" : "n0") != 0)
            fail_msg("%s: %s", scores[i].what, node);
        cluster_free(c);
    }
}

/* In the points that nodeorder's weights count in: 100 for what is required, -1 for the avoided. */
static void points_are_those_of_other_plugins(void **state)
{
    static const struct {
        int weight; /* of a node that is emptier by half: 50 points */
        const char *node;
    } all[] = {{1, "n0"}, {3, "n1"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        cleanup_free char *conf =
            xasprintf(CONF("  - name: nodeorder\n    arguments: {leastrequested.weight: %d, "
                           "balancedresource.weight: 0}\n"),
                      all[i].weight);
        struct cluster *c = cluster_new(conf);
        add_node_of(c, "n0", "a", 4);
        add_node_of(c, "n1", "b", 64);
        add_queue(c, "q", "", AFFINITY(REQUIRED("\"a\"") "," PREFERRED("\"b\""), ""));
        add_job(c, "q", "j", 1, "4");
        run(c);
        assert_on(c, "j", all[i].node);
        cluster_free(c);
    }
}

/* ---- queues above ---------------------------------------------------------------------------- */

#define BELOW(parent, rest) "\"parent\":\"" parent "\"" rest
#define INHERITS CONF("    enableHierarchy: true\n")

static void add_tree(struct cluster *c)
{
    add_node_of(c, "n0", "a", 8);
    add_node_of(c, "n1", "b", 8);
    add_queue(c, "top", "", ONLY_A);
    add_queue(c, "mid", "", BELOW("top", ""));
    add_queue(c, "own", "", BELOW("mid", "," AFFINITY(REQUIRED("\"b\""), "")));
    add_queue(c, "low", "", BELOW("mid", ""));
    add_queue(c, "lone", "", "");
}

static void affinity_is_inherited(void **state)
{
    struct cluster *c = cluster_new(INHERITS);
    (void)state;
    add_tree(c);
    add_job(c, "low", "j0", 1, "1");
    add_job(c, "own", "j1", 1, "1");
    struct test_group *lone = add_job(c, "lone", "j2", 1, "1");
    run(c);
    assert_on(c, "j0", "n0");
    assert_on(c, "j1", "n1");
    assert_says(lone, NO_AFFINITY);
    /* From the nearest that has one. */
    add_queue(c, "mid", "", BELOW("top", "," AFFINITY(REQUIRED("\"b\""), "")));
    add_job(c, "low", "j3", 1, "1");
    run(c);
    assert_on(c, "j3", "n1");
    /* By the parents as they are now. */
    add_queue(c, "low", "", BELOW("top", ""));
    add_job(c, "low", "j4", 1, "1");
    run(c);
    assert_on(c, "j4", "n0");
    add_queue(c, "lone", "", BELOW("own", ""));
    run_for(c, 10 * NSEC_PER_SEC);
    assert_on(c, "j2", "n1");
    check(c);
    cluster_free(c);
}

static void without_the_flag_it_is_not(void **state)
{
    struct cluster *c = cluster_new(CONF(""));
    (void)state;
    add_tree(c);
    struct test_group *job = add_job(c, "low", "j", 1, "1");
    run(c);
    assert_says(job, NO_AFFINITY);
    cluster_free(c);
}

/* Limits are a queue's own. */
static void limits_are_not_inherited(void **state)
{
    struct cluster *c = cluster_new(INHERITS);
    (void)state;
    add_tree(c);
    add_queue(c, "top", CPU_OF_A("1"), ONLY_A);
    add_job(c, "low", "j0", 2, "1");
    struct test_group *job = add_job(c, "top", "j1", 2, "1");
    run(c);
    assert_on(c, "j0", "n0 n0");
    assert_says(job, EXCEEDED);
    cluster_free(c);
}

/* ---- changes --------------------------------------------------------------------------------- */

static void what_the_queue_says_is_followed(void **state)
{
    struct cluster *c = cluster_new(CONF(""));
    (void)state;
    add_node_of(c, "n0", "a", 8);
    add_node_of(c, "n1", "b", 8);
    add_queue(c, "q", "", AFFINITY(REQUIRED("\"c\""), ""));
    struct test_group *job = add_job(c, "q", "j0", 1, "1");
    run(c);
    assert_says(job, "2 " NOT_ALLOWED);
    add_queue(c, "q", "", AFFINITY(REQUIRED("\"b\""), ""));
    run(c);
    assert_on(c, "j0", "n1");
    add_queue(c, "q", "", AFFINITY(REQUIRED("\"a\",\"b\"") "," PREFERRED("\"a\""), ""));
    add_job(c, "q", "j1", 1, "1");
    run(c);
    assert_on(c, "j1", "n0");
    add_queue(c, "q", LIMITS("no"), ONLY_A);
    job = add_job(c, "q", "j2", 1, "1");
    run(c);
    assert_says(job, "2 " INVALID);
    add_queue(c, "q", "", ONLY_A);
    run(c);
    assert_on(c, "j2", "n0");
    check(c);
    cluster_free(c);
}

static void groups_of_nodes_are_followed(void **state)
{
    struct cluster *c = cluster_new(CONF(""));
    (void)state;
    add_node_of(c, "n0", NULL, 8);
    add_queue(c, "q", "", ONLY_A);
    struct test_group *job = add_job(c, "q", "j0", 1, "1");
    run(c);
    assert_says(job, NO_LABEL);
    add_node_of(c, "n0", "a", 8);
    run(c);
    assert_on(c, "j0", "n0");
    add_node_of(c, "n0", "b", 8);
    job = add_job(c, "q", "j1", 1, "1");
    run(c);
    assert_says(job, NOT_ALLOWED);
    cluster_free(c);
}

/* A queue that comes with the place of one that has gone has nothing of it. */
static void a_queue_that_is_gone_leaves_nothing(void **state)
{
    struct cluster *c = cluster_new(CONF(""));
    cleanup_arena struct arena arena = ARENA_INIT;
    (void)state;
    add_node_of(c, "n0", "a", 8);
    add_node_of(c, "n1", "b", 8);
    add_queue(c, "old", CPU_OF_A("1"), ONLY_A);
    struct test_group *job = add_job(c, "old", "j0", 1, "1");
    run(c);
    assert_on(c, "j0", "n0");
    uint32_t index = cache_queue(&c->scheduler->cache, "old")->index;
    end_pods_of(c, job, true);
    job->gone = true;
    show_group(c, job);
    show(c->queues, false, true,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"old\",\"uid\":\"q-old\",\"resourceVersion\":"
                      "\"%llu\"}}",
                      (unsigned long long)++c->rv));
    run(c);
    assert_null(cache_queue(&c->scheduler->cache, "old"));
    assert_int_equal(map_count(&c->scheduler->cache.tables_by_key), 0);
    add_queue(c, "new", "", AFFINITY(REQUIRED("\"b\""), ""));
    add_job(c, "new", "j1", 1, "1");
    run(c);
    assert_int_equal(cache_queue(&c->scheduler->cache, "new")->index, index);
    assert_on(c, "j1", "n1");
    cluster_free(c);
}

/* Each queue has tables of its own: those of sixty with five kinds of pods are all kept. */
static void tables_of_many_queues_are_kept(void **state)
{
    enum { QUEUES = 60, KINDS = 5, NODES = 5000 };
    struct cluster *c = cluster_new(CONF(""));
    struct cache *cache = &c->scheduler->cache;
    (void)state;
    for (unsigned i = 0; i < NODES; i++) {
        cleanup_free char *name = xasprintf("n%u", i);
        add_node_of(c, name, "a", 8);
    }
    for (unsigned q = 0; q < QUEUES; q++) {
        cleanup_free char *name = xasprintf("q%u", q);
        cleanup_free char *spec = xasprintf("\"minMember\":1,\"queue\":\"%s\"", name);
        add_queue(c, name, "", ONLY_A);
        add_group(c, name, spec);
        for (unsigned k = 0; k < KINDS; k++) {
            cleanup_free char *role = xasprintf("w%u", k), *cpu = xasprintf("%um", 100 + k);
            add_pods(c, name, role, 1, cpu);
        }
    }
    run(c);
    assert_int_equal(c->binds, QUEUES * KINDS);
    unsigned made = 0;
    for (unsigned q = 0; q < QUEUES; q++) {
        cleanup_free char *name = xasprintf("q%u", q);
        const struct sched_job *job = cache_job(cache, "ns", name);
        for (size_t g = 0; g < job->groups.n; g++) {
            uint64_t work = cache->work;
            (void)fit_table(cache, c->scheduler->config, job->queue, job->groups.items[g]->cls);
            made += cache->work - work >= NODES;
        }
    }
    assert_int_equal(made, 0);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(best_effort_pods_have_groups),
        cmocka_unit_test(queues_do_not_share_tables),
        cmocka_unit_test(which_group_first),
        cmocka_unit_test(points_are_those_of_other_plugins),
        cmocka_unit_test(affinity_is_inherited),
        cmocka_unit_test(without_the_flag_it_is_not),
        cmocka_unit_test(limits_are_not_inherited),
        cmocka_unit_test(what_the_queue_says_is_followed),
        cmocka_unit_test(groups_of_nodes_are_followed),
        cmocka_unit_test(a_queue_that_is_gone_leaves_nothing),
        cmocka_unit_test(tables_of_many_queues_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
