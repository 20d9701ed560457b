/*
 * capacity in a small cluster, with flat queues and with a hierarchy.
 */
#include "base/rng.h"
#include "shares.h"

static const char flat[] = CONF("  - name: capacity\n");
static const char tree[] = CONF("  - name: capacity\n    enableHierarchy: true\n");

static void capability_limits_and_deserved_does_not(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(flat);
    add_nodes(c, 2, 4);
    add_queue(c, "q", "", "\"capability\":{\"cpu\":\"5\"},\"deserved\":{\"cpu\":\"2\"}");
    add_greedy(c, "a", "q", 8, "1");
    run(c);
    assert_bound(c, "a", 5);
    assert_waits(c, "a",
                 "cpu 1 is needed, but queue \"q\" holds 5 of the 5 that it may have: 1 "
                 "short");
    check(c);
    cluster_free(c);
}

static void deserved_amounts_order_queues(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(flat);
    add_nodes(c, 2, 4);
    add_queue(c, "none", "", "");
    add_queue(c, "two", "", "\"deserved\":{\"cpu\":\"2\"}");
    add_queue(c, "six", "", "\"deserved\":{\"cpu\":\"6\"}");
    add_greedy(c, "n", "none", 8, "1");
    add_greedy(c, "a", "two", 8, "1");
    add_greedy(c, "b", "six", 8, "1");
    run(c);
    assert_bound(c, "a", 2);
    assert_bound(c, "b", 6);
    assert_bound(c, "n", 0);
    check(c);
    cluster_free(c);
}

static void zero_forbids(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(flat);
    add_node_json(c, "n0", "", "", "\"cpu\":\"8\",\"pods\":\"110\",\"example.com/gpu\":\"4\"");
    add_queue(c, "q", "", "\"capability\":{\"example.com/gpu\":\"0\"}");
    add_queue(c, "r", "", "\"guarantee\":{\"resource\":{\"example.com/gpu\":\"3\"}}");
    static const char spec[] = ",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\","
                               "\"example.com/gpu\":\"1\"}}}]";
    struct test_group *a = add_group(c, "a", "\"minMember\":1,\"queue\":\"q\"");
    add_pod_spec(c, "a-0", "a", "w", spec);
    add_group(c, "b", "\"minMember\":1,\"queue\":\"default\"");
    add_pod_spec(c, "b-0", "b", "w", spec);
    add_pod_spec(c, "b-1", "b", "w", spec);
    run(c);
    assert_bound(c, "a", 0);
    assert_says(a, "example.com/gpu 1 is needed, but queue \\\"q\\\" may have none");
    assert_bound(c, "b", 1); /* of four, three are guaranteed to another queue */
    check(c);
    cluster_free(c);
}

static void guarantees_are_kept_from_all_together(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(flat);
    add_nodes(c, 2, 5);
    add_queue(c, "a", "", "\"guarantee\":{\"resource\":{\"cpu\":\"4\"}}");
    add_queue(c, "b", "", "");
    add_queue(c, "d", "", "");
    add_greedy(c, "b", "b", 9, "1");
    add_greedy(c, "d", "d", 9, "1");
    run(c);
    assert_bound(c, "b", 3); /* who deserves nothing gets the same */
    assert_bound(c, "d", 3);
    assert_waits(c, "b", "the cluster holds 10 (of which 4 is guaranteed to others) of the 10");
    add_greedy(c, "a", "a", 9, "1");
    run(c);
    assert_bound(c, "a", 4);
    check(c);
    cluster_free(c);
}

/* ---- with a hierarchy ------------------------------------------------------------------------ */

static void a_parent_limits_its_children(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(tree);
    add_nodes(c, 2, 4);
    add_queue(c, "root", "", "");
    add_queue(c, "p", "", "\"capability\":{\"cpu\":\"4\"}");
    add_queue(c, "p1", "", "\"parent\":\"p\",\"guarantee\":{\"resource\":{\"cpu\":\"1\"}}");
    add_queue(c, "p2", "", "\"parent\":\"p\"");
    add_greedy(c, "a", "p2", 8, "1");
    run(c);
    assert_bound(c, "a", 3); /* one is kept for p1 */
    assert_waits(c, "a", "queue \"p2\" holds 3 of the 3 that it may have");
    add_greedy(c, "b", "p1", 8, "1");
    run(c);
    assert_bound(c, "b", 1);
    assert_waits(c, "b", "queue \"p\", above queue \"p1\", holds 4 of the 4 that it may have");
    add_greedy(c, "d", "default", 8, "1");
    run(c);
    assert_bound(c, "d", 4);
    check(c);
    cluster_free(c);
}

static void turns_follow_the_shares_of_parents(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(tree);
    add_nodes(c, 2, 4);
    add_queue(c, "root", "", "");
    add_queue(c, "p", "", "\"deserved\":{\"cpu\":\"2\"}");
    add_queue(c, "p1", "", "\"parent\":\"p\",\"deserved\":{\"cpu\":\"1\"}");
    add_queue(c, "p2", "", "\"parent\":\"p\",\"deserved\":{\"cpu\":\"1\"}");
    add_queue(c, "q", "", "\"deserved\":{\"cpu\":\"6\"}");
    add_greedy(c, "a", "p1", 8, "1");
    add_greedy(c, "b", "p2", 8, "1");
    add_greedy(c, "d", "q", 8, "1");
    run(c);
    assert_bound(c, "a", 1);
    assert_bound(c, "b", 1);
    assert_bound(c, "d", 6);
    check(c);
    cluster_free(c);
}

static void only_queues_with_a_fault_are_refused(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(tree);
    add_nodes(c, 2, 4);
    add_queue(c, "x", "", "\"parent\":\"y\"");
    add_queue(c, "y", "", "\"parent\":\"x\"");
    add_queue(c, "lost", "", "\"parent\":\"nowhere\"");
    add_queue(c, "below", "", "\"parent\":\"lost\"");
    add_queue(c, "inner", "", "");
    add_queue(c, "leaf", "", "\"parent\":\"inner\"");
    struct test_group *in_cycle = add_greedy(c, "x", "x", 1, "1");
    struct test_group *lost = add_greedy(c, "lost", "below", 1, "1");
    struct test_group *inner = add_greedy(c, "inner", "inner", 1, "1");
    add_greedy(c, "leaf", "leaf", 1, "1");
    add_greedy(c, "default", "default", 1, "1");
    run(c);
    assert_bound(c, "x", 0);
    assert_says(in_cycle, "queue \\\"x\\\" is its own ancestor");
    assert_bound(c, "lost", 0);
    assert_says(lost, "queue \\\"lost\\\", above queue \\\"below\\\", names the parent "
                      "\\\"nowhere\\\", which does not exist");
    assert_bound(c, "inner", 0);
    assert_says(inner, "queue \\\"inner\\\" has queues below it");
    assert_bound(c, "leaf", 1);
    assert_bound(c, "default", 1);
    add_queue(c, "nowhere", "", ""); /* and when it is mended, they run */
    add_queue(c, "x", "", "\"parent\":\"default2\"");
    add_queue(c, "default2", "", "");
    run(c);
    assert_bound(c, "lost", 1);
    check(c);
    cluster_free(c);
}

static void a_missing_root_stops_nobody(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(tree);
    add_nodes(c, 1, 4);
    add_queue(c, "q", "", "\"parent\":\"root\"");
    add_greedy(c, "a", "q", 2, "1");
    run(c);
    assert_bound(c, "a", 2);
    check(c);
    cluster_free(c);
}

static void minimums_enter_while_parents_have_room(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(tree);
    add_nodes(c, 2, 4);
    add_queue(c, "p", "", "\"capability\":{\"cpu\":\"4\"}");
    add_queue(c, "p1", "", "\"parent\":\"p\"");
    add_queue(c, "p2", "", "\"parent\":\"p\"");
    add_queue(c, "q", "", "");
    add_group(c, "a", "\"minMember\":3,\"queue\":\"p1\",\"minResources\":{\"cpu\":\"3\"}");
    add_group(c, "b", "\"minMember\":2,\"queue\":\"p2\",\"minResources\":{\"cpu\":\"2\"}");
    struct test_group *huge =
        add_group(c, "d", "\"minMember\":2,\"queue\":\"q\",\"minResources\":{\"cpu\":\"99\"}");
    run(c);
    assert_waits(c, "b", "queue \"p\", above queue \"p2\", holds 3 of the 4");
    assert_says(huge, "\"phase\":\"Inqueue\""); /* nothing above it limits what is promised */
    check(c);
    cluster_free(c);
}

/* ---- random clusters ------------------------------------------------------------------------- */

struct random_queue {
    char name[24], parent[24];
    int capability, guarantee; /* whole CPUs; capability 0: none */
};

static int64_t held_below(const struct cluster *c, const struct random_queue *queues, size_t n,
                          size_t at)
{
    int64_t sum = resource_set_get(&cache_queue(&c->scheduler->cache, queues[at].name)->allocated,
                                   RESOURCE_CPU);
    for (size_t i = at + 1; i < n; i++)
        if (strcmp(queues[i].parent, queues[at].name) == 0)
            sum += held_below(c, queues, n, i);
    return sum;
}

/* No queue holds more than its capability, and together they leave what is guaranteed. */
static void check_queues(const struct cluster *c, const struct random_queue *queues, size_t n,
                         int64_t total)
{
    int64_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t held = held_below(c, queues, n, i), guarantee = queues[i].guarantee * 1000;
        if (queues[i].capability && held > queues[i].capability * 1000)
            fail_msg("queue %s holds %lld of %d", queues[i].name, (long long)held,
                     queues[i].capability);
        if (strcmp(queues[i].parent, "root") == 0)
            kept += held > guarantee ? held : guarantee;
    }
    assert_true(kept <= total);
}

static size_t add_random_queues(struct cluster *c, struct rng *rng, struct random_queue *queues,
                                int spare)
{
    size_t n = 2 + rng_below(rng, 7);
    for (size_t i = 0; i < n; i++) {
        struct random_queue *queue = &queues[i];
        snprintf(queue->name, sizeof(queue->name), "q%zu", i);
        bool top = i == 0 || rng_below(rng, 2);
        snprintf(queue->parent, sizeof(queue->parent), "%s",
                 top ? "root" : queues[rng_below(rng, i)].name);
        queue->capability = rng_below(rng, 2) ? 1 + (int)rng_below(rng, 9) : 0;
        queue->guarantee = top && spare > 0 ? (int)rng_below(rng, (uint64_t)spare) : 0;
        if (queue->capability && queue->guarantee > queue->capability)
            queue->guarantee = queue->capability;
        spare -= queue->guarantee;
        cleanup_free char *capability =
            queue->capability ? xasprintf(",\"capability\":{\"cpu\":\"%d\"}", queue->capability)
                              : xstrdup("");
        cleanup_free char *spec = xasprintf(
            "\"parent\":\"%s\",\"guarantee\":{\"resource\":{\"cpu\":\"%d\"}},\"deserved\":{"
            "\"cpu\":\"%d\"}%s",
            queue->parent, queue->guarantee, (int)rng_below(rng, 4), capability);
        add_queue(c, queue->name, "", spec);
    }
    return n;
}

static void add_random_job(struct cluster *c, struct rng *rng, const struct random_queue *queues,
                           size_t n, unsigned number)
{
    unsigned pods = 1 + (unsigned)rng_below(rng, 5), min = 1 + (unsigned)rng_below(rng, pods);
    cleanup_free char *name = xasprintf("j%u", number);
    cleanup_free char *limits =
        rng_below(rng, 2) ? xasprintf(",\"minResources\":{\"cpu\":\"%u\"}", min) : xstrdup("");
    cleanup_free char *spec = xasprintf("\"minMember\":%u,\"queue\":\"%s\"%s", min,
                                        queues[rng_below(rng, n)].name, limits);
    add_group(c, name, spec);
    add_pods(c, name, "w", pods, "1");
}

static void limits_hold_in_random_clusters(void **state)
{
    (void)state;
    unsigned binds = 0;
    for (unsigned seed = 0; seed < 60; seed++) {
        struct rng rng;
        struct random_queue queues[8];
        rng_seed(&rng, seed);
        struct cluster *c = cluster_new(tree);
        int64_t total = 2 * (4 + (int64_t)rng_below(&rng, 4));
        add_nodes(c, 2, (int)total / 2);
        size_t n = add_random_queues(c, &rng, queues, (int)total);
        for (unsigned step = 0; step < 12; step++) {
            cleanup_free char *done = xasprintf("j%u", (unsigned)rng_below(&rng, step + 1));
            add_random_job(c, &rng, queues, n, step);
            run_for(c, NSEC_PER_SEC / 4);
            check_queues(c, queues, n, total * 1000);
            if (rng_below(&rng, 3) == 0)
                set_phase(c, done, "Succeeded");
            run_for(c, NSEC_PER_SEC / 4);
            check_queues(c, queues, n, total * 1000);
            check(c);
        }
        binds += c->binds;
        cluster_free(c);
    }
    assert_true(binds > 500);
}

int main(void)
{
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capability_limits_and_deserved_does_not),
        cmocka_unit_test(deserved_amounts_order_queues),
        cmocka_unit_test(zero_forbids),
        cmocka_unit_test(guarantees_are_kept_from_all_together),
        cmocka_unit_test(a_parent_limits_its_children),
        cmocka_unit_test(turns_follow_the_shares_of_parents),
        cmocka_unit_test(only_queues_with_a_fault_are_refused),
        cmocka_unit_test(a_missing_root_stops_nobody),
        cmocka_unit_test(minimums_enter_while_parents_have_room),
        cmocka_unit_test(limits_hold_in_random_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
