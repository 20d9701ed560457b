/*
 * Where pods may run and which node is best: rules of nodes and pods, tables against a look at
 * every node, slices of large gangs.
 */
#include "base/limits.h"
#include "cluster.h"
#include "scheduler/census.h"
#include "turns.h"
#include "volumes.h"

/* Whether a pod with these members of its spec gets the node made of the rest. */
static bool fits(const char *labels, const char *node_spec, const char *pod_spec)
{
    struct cluster *c = cluster_new(NULL);
    cleanup_free char *spec =
        xasprintf(",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]%s", pod_spec);
    add_node_json(c, "n0", labels, node_spec, "\"cpu\":\"4\",\"pods\":\"10\"");
    add_group(c, "a", "\"minMember\":1");
    add_pod_spec(c, "a-0", "a", "w", spec);
    run(c);
    bool placed = c->binds == 1;
    check(c);
    cluster_free(c);
    return placed;
}

#define TAINT(effect) "\"taints\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"" effect "\"}]"
#define TOLERATES(rest) ",\"tolerations\":[{" rest "}]"

static void taints_keep_pods_away(void **state)
{
    (void)state;
    assert_false(fits("", TAINT("NoSchedule"), ""));
    assert_false(fits("", TAINT("NoExecute"), ""));
    assert_true(fits("", TAINT("PreferNoSchedule"), ""));
    assert_true(fits("", TAINT("NoSchedule"), TOLERATES("\"key\":\"k\",\"value\":\"v\"")));
    assert_false(fits("", TAINT("NoSchedule"), TOLERATES("\"key\":\"k\",\"value\":\"w\"")));
    assert_true(fits("", TAINT("NoSchedule"), TOLERATES("\"key\":\"k\",\"operator\":\"Exists\"")));
    assert_true(fits("", TAINT("NoExecute"), TOLERATES("\"operator\":\"Exists\"")));
    assert_false(fits("", TAINT("NoSchedule"),
                      TOLERATES("\"operator\":\"Exists\",\"effect\":\"NoExecute\"")));
    assert_false(fits("", TAINT("NoSchedule"), TOLERATES("\"key\":\"k\",\"operator\":\"Gt\"")));
}

static void cordoned_nodes_take_nobody(void **state)
{
    (void)state;
    assert_false(fits("", "\"unschedulable\":true", ""));
    assert_true(fits("", "\"unschedulable\":true",
                     TOLERATES("\"key\":\"node.kubernetes.io/unschedulable\","
                               "\"operator\":\"Exists\"")));
}

/* Volumes are the affair of the plugin predicates. */
static void volumes_count_only_with_predicates(void **state)
{
    (void)state;
    static const char *const confs[] = {NULL,
                                        "actions: \"allocate\"\ntiers:\n- plugins:\n"
                                        "  - name: gang\n",
                                        "actions: \"allocate\"\ntiers:\n- plugins:\n"
                                        "  - name: gang\n  - name: predicates\n"
                                        "    enablePredicate: false\n"};
    for (size_t i = 0; i < ARRAY_SIZE(confs); i++) {
        struct cluster *c = cluster_new(confs[i]);
        add_node(c, "n0", 4);
        struct test_group *g = add_group(c, "a", "\"minMember\":1");
        add_pod_spec(c, "a-0", "a", "w",
                     ",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],"
                     "\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{"
                     "\"claimName\":\"absent\"}}]");
        run(c);
        assert_int_equal(c->binds, i > 0);
        if (i == 0)
            assert_says(g, "1 persistentvolumeclaim");
        check(c);
        cluster_free(c);
    }
}

static void node_selector_holds(void **state)
{
    (void)state;
    assert_true(fits("\"disk\":\"ssd\"", "", ",\"nodeSelector\":{\"disk\":\"ssd\"}"));
    assert_false(fits("\"disk\":\"hdd\"", "", ",\"nodeSelector\":{\"disk\":\"ssd\"}"));
    assert_false(fits("", "", ",\"nodeSelector\":{\"disk\":\"ssd\"}"));
}

static bool affinity(const char *labels, const char *terms)
{
    cleanup_free char *spec =
        xasprintf(",\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnored"
                  "DuringExecution\":{\"nodeSelectorTerms\":[%s]}}}",
                  terms);
    return fits(labels, "", spec);
}

static bool expression(const char *labels, const char *op, const char *values)
{
    cleanup_free char *term = xasprintf(
        "{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"%s\",\"values\":[%s]}]}", op, values);
    return affinity(labels, term);
}

static void affinity_operators(void **state)
{
    (void)state;
    const char *five = "\"k\":\"5\"";
    assert_true(expression(five, "In", "\"4\",\"5\""));
    assert_false(expression(five, "In", "\"4\""));
    assert_false(expression("", "In", "\"5\""));
    assert_false(expression(five, "NotIn", "\"5\""));
    assert_true(expression("", "NotIn", "\"5\""));
    assert_true(expression(five, "Exists", ""));
    assert_false(expression("", "Exists", ""));
    assert_false(expression(five, "DoesNotExist", ""));
    assert_true(expression("", "DoesNotExist", ""));
    assert_true(expression(five, "Gt", "\"4\""));
    assert_false(expression(five, "Gt", "\"5\""));
    assert_true(expression(five, "Lt", "\"6\""));
    assert_false(expression(five, "Lt", "\"5\""));
    assert_false(expression("\"k\":\"x\"", "Gt", "\"4\""));
    assert_false(expression(five, "Later", "\"5\""));
}

static void affinity_terms(void **state)
{
    (void)state;
    assert_false(affinity("", ""));   /* no term: no node */
    assert_false(affinity("", "{}")); /* an empty term matches nothing */
    assert_true(affinity("", "{},{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\","
                             "\"values\":[\"n0\"]}]}"));
    assert_false(affinity("", "{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"NotIn\","
                              "\"values\":[\"n0\"]}]}"));
    assert_false(affinity("\"a\":\"1\"",
                          "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"},"
                          "{\"key\":\"b\",\"operator\":\"Exists\"}]}"));
}

static bool allocatable_takes(const char *allocatable, const char *requests)
{
    struct cluster *c = cluster_new(NULL);
    cleanup_free char *spec =
        xasprintf(",\"containers\":[{\"resources\":{\"requests\":{%s}}}]", requests);
    add_node_json(c, "n0", "", "", allocatable);
    add_group(c, "a", "\"minMember\":1");
    add_pod_spec(c, "a-0", "a", "w", spec);
    run(c);
    bool placed = c->binds == 1;
    cluster_free(c);
    return placed;
}

static void every_resource_counts(void **state)
{
    (void)state;
    const char *node =
        "\"cpu\":\"2\",\"memory\":\"1Gi\",\"pods\":\"1\",\"ephemeral-storage\":\"10G\","
        "\"example.com/fpga\":\"2\",\"hugepages-2Mi\":\"4Mi\"";
    assert_true(allocatable_takes(node, "\"cpu\":\"2\",\"memory\":\"1Gi\""));
    assert_false(allocatable_takes(node, "\"cpu\":\"2001m\""));
    assert_false(allocatable_takes(node, "\"memory\":\"1073741825\""));
    assert_true(allocatable_takes(node, "\"ephemeral-storage\":\"10G\""));
    assert_false(allocatable_takes(node, "\"ephemeral-storage\":\"10000000001\""));
    assert_true(allocatable_takes(node, "\"example.com/fpga\":\"2\",\"hugepages-2Mi\":\"4Mi\""));
    assert_false(allocatable_takes(node, "\"example.com/fpga\":\"3\""));
    assert_false(allocatable_takes(node, "\"example.com/other\":\"1\""));
    assert_false(allocatable_takes("\"cpu\":\"2\",\"pods\":\"0\"", "\"cpu\":\"1\""));
}

static void node_changes_are_followed(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_node_json(c, "n0", "", TAINT("NoSchedule"), "\"cpu\":\"4\",\"pods\":\"10\"");
    add_gang(c, "a", 1, "1");
    run(c);
    assert_int_equal(c->binds, 0);
    assert_says(c->group_list.items[0], "1 node(s) had untolerated taint(s)");
    add_node_json(c, "n0", "", "", "\"cpu\":\"4\",\"pods\":\"10\"");
    run(c);
    assert_int_equal(c->binds, 1);
    /* Another node of that name, tainted from the start. */
    delete_node(c, "n0");
    add_gang(c, "b", 1, "1");
    add_node_json(c, "n0", "", TAINT("NoSchedule"), "\"cpu\":\"4\",\"pods\":\"10\"");
    run(c);
    assert_int_equal(c->binds, 1);
    check(c);
    cluster_free(c);
}

/* A node that has pulled the image is better from then on, though nobody has more room. */
static void images_are_followed(void **state)
{
    static const char spec[] =
        ",\"containers\":[{\"image\":\"a:1\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]";
    cleanup_arena struct arena arena = ARENA_INIT;
    struct cluster *c = cluster_new(NULL);
    (void)state;
    add_nodes(c, 2, 8);
    add_pod_spec(c, "first", "first", "w", spec);
    add_group(c, "first", "\"minMember\":1");
    run(c);
    assert_string_equal(find_pod(c, "first")->node, "n0");
    add_gang(c, "filler", 1, "2");
    run(c);
    assert_string_equal(find_pod(c, "filler-w-0")->node, "n1");
    uint64_t room = c->scheduler->cache.room;
    show(c->nodes, false, false,
         arena_printf(
             &arena,
             "{\"metadata\":{\"name\":\"n1\",\"uid\":\"n-n1\",\"resourceVersion\":\"%llu\"},"
             "\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"64Gi\",\"pods\":\"110\"},"
             "\"images\":[{\"names\":[\"a:1\"],\"sizeBytes\":900000000}]}}",
             (unsigned long long)++c->rv));
    assert_true(c->scheduler->cache.room == room);
    add_pod_spec(c, "second", "second", "w", spec);
    add_group(c, "second", "\"minMember\":1");
    run(c);
    assert_string_equal(find_pod(c, "second")->node, "n1");
    check(c);
    cluster_free(c);
}

/* Points of images do not turn round with the largest weights. */
static void weights_may_be_large(void **state)
{
    static const char spec[] =
        ",\"containers\":[{\"image\":\"a:1\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]";
    static const char *const weights[] = {"1000", "92233720369", "999999999999",
                                          "9223372036854775807"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(weights); i++) {
        cleanup_arena struct arena arena = ARENA_INIT;
        cleanup_free char *conf =
            xasprintf("actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: gang\n"
                      "  - name: nodeorder\n    arguments:\n      imagelocality.weight: %s\n",
                      weights[i]);
        struct cluster *c = cluster_new(conf);
        add_nodes(c, 3, 8);
        show(c->nodes, false, false,
             arena_printf(&arena,
                          "{\"metadata\":{\"name\":\"n1\",\"uid\":\"n-n1\",\"resourceVersion\":"
                          "\"%llu\"},\"status\":{\"allocatable\":{\"cpu\":\"2\",\"pods\":\"110\"},"
                          "\"images\":[{\"names\":[\"a:1\"],\"sizeBytes\":900000000}]}}",
                          (unsigned long long)++c->rv));
        add_pod_spec(c, "p", "p", "w", spec);
        add_group(c, "p", "\"minMember\":1");
        run(c);
        assert_string_equal(find_pod(c, "p")->node, "n1");
        check(c);
        cluster_free(c);
    }
}

/* Who asks for more than is looked at waits, and says so; wherever others have placed it, it
 * counts.
 */
static void pods_that_ask_for_too_much_wait_alone(void **state)
{
    cleanup_buf struct buf spec = BUF_INIT(1 << 20);
    struct cluster *c = cluster_new("actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n"
                                    "  - name: gang\n");
    (void)state;
    add_nodes(c, 2, 2);
    buf_add_cstr(&spec, ",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],"
                        "\"tolerations\":[");
    for (unsigned i = 0; i <= LIMIT_POD_REQUIREMENTS; i++)
        buf_printf(&spec, "%s{\"key\":\"k%u\"}", i ? "," : "", i);
    buf_add_cstr(&spec, "]");
    struct test_group *group = add_group(c, "g", "\"minMember\":2");
    add_pod_spec(c, "g-w-0", "g", "w", spec.p);
    struct test_pod *placed = add_pod_spec(c, "g-w-1", "g", "w", spec.p);
    snprintf(placed->node, sizeof(placed->node), "n0");
    show_pod(c, placed);
    add_gang(c, "other", 3, "1");
    run(c);
    assert_int_equal(bound(c, "g", NULL), 1);
    assert_int_equal(bound(c, "other", NULL), 3);
    assert_says(group, "2 the pod's spec.nodeSelector, spec.tolerations and "
                       "spec.affinity.nodeAffinity have more than 512 labels, tolerations, terms "
                       "and expressions, which is the limit");
    check(c);
    cluster_free(c);
}

static void emptier_nodes_first(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 4, 8);
    add_gang(c, "a", 8, "1");
    run(c);
    for (size_t n = 0; n < 4; n++)
        assert_int_equal(c->scheduler->cache.nodes.items[n]->tasks, 2);
    cluster_free(c);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The best node by a look at every one. */
static const struct sched_node *best_by_hand(const struct cache *cache,
                                             const struct sched_config *config,
                                             const struct pod_class *cls)
{
    const struct sched_node *best = NULL;
    int64_t best_score = 0;
    for (size_t i = 0; i < cache->nodes.n; i++) {
        const struct sched_node *node = cache->nodes.items[i];
        bool fits_in = node && node->object && !config_filter(config, cls, node->object);
        for (uint32_t r = 0; fits_in && r < cls->request.n; r++)
            fits_in = cls->request.items[r].amount <=
                      resource_vector_get(&node->object->allocatable, cls->request.items[r].id) -
                          resource_vector_get(&node->used, cls->request.items[r].id);
        int64_t score = fits_in ? config_score(config, cls, node) : 0;
        if (fits_in && (!best || score > best_score)) {
            best = node;
            best_score = score;
        }
    }
    return best;
}

static struct pod *some_pod(unsigned i, unsigned cpu, unsigned memory)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct error err = ERROR_INIT;
    struct pod *pod = pod_decode(
        arena_printf(&arena,
                     "{\"metadata\":{\"name\":\"p%u\",\"uid\":\"u%u\",\"resourceVersion\":\"1\"},"
                     "\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"%um\","
                     "\"memory\":\"%uMi\"}}}]}}",
                     i, i, cpu, memory),
        &err);
    assert_non_null(pod);
    return pod;
}

static void random_node(struct cluster *c, struct rng *rng)
{
    cleanup_free char *name = xasprintf("n%u", (unsigned)rng_below(rng, 20));
    cleanup_free char *allocatable = xasprintf(
        "\"cpu\":\"%u\",\"memory\":\"%uGi\",\"pods\":\"%u\"", (unsigned)rng_below(rng, 8) + 1,
        (unsigned)rng_below(rng, 8) + 1, (unsigned)rng_below(rng, 12));
    if (rng_below(rng, 5) == 0 && store_get(c->nodes, STR_NULL, str_of(name)))
        delete_node(c, name);
    else
        add_node_json(c, name, "", rng_below(rng, 4) ? "" : TAINT("NoSchedule"), allocatable);
}

/* A pod of nobody's job is on a node, until it ends. */
static struct sched_task *charge(struct cache *cache, struct pod *pod, struct sched_node *node)
{
    struct sched_task *task = xnew(struct sched_task);
    task->pod = pod;
    task->status = TASK_PENDING;
    census_enter(cache, task);
    cache_set_task(cache, task, TASK_BOUND, node);
    return task;
}

static void discharge(struct cache *cache, struct sched_task *task)
{
    cache_set_task(cache, task, TASK_LEAVING, NULL);
    census_leave(cache, task);
    free(task);
}

/* The table's answer is that of a look at every node, whatever happened before. */
static void tables_equal_a_slow_look(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 7);
    struct cluster *c = cluster_new(NULL);
    struct cache *cache = &c->scheduler->cache;
    const struct sched_config *config = c->scheduler->config;
    struct pod *pods[8];
    VEC(struct sched_task *) charged[8] = {0};
    for (unsigned i = 0; i < 8; i++)
        pods[i] = some_pod(i, 100 * (i + 1), 128 * (8 - i));
    for (unsigned round = 0; round < 6000; round++) {
        unsigned i = (unsigned)rng_below(&rng, 8);
        struct pod_class *cls = pods[i]->cls;
        struct sched_node *best = fit_best(cache, fit_table(cache, config, NULL, cls));
        assert_ptr_equal(best, best_by_hand(cache, config, cls));
        if (best && rng_below(&rng, 3))
            vec_push(&charged[i], charge(cache, pods[i], best));
        else if (charged[i].n)
            discharge(cache, charged[i].items[--charged[i].n]);
        if (rng_below(&rng, 10) == 0)
            random_node(c, &rng);
        if (rng_below(&rng, 200) == 0)
            fit_clear(cache);
    }
    for (unsigned i = 0; i < 8; i++) {
        while (charged[i].n)
            discharge(cache, charged[i].items[--charged[i].n]);
        vec_clear(&charged[i]);
        pod_unref(pods[i]);
    }
    cluster_free(c);
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* Longest turn, in CPU time of this thread, until the condition of `count` binds under way. */
static int64_t longest_turn(struct cluster *c, const struct sched_job *job, uint32_t count)
{
    int64_t longest = 0;
    for (unsigned turns = 0; job_have(job) < count && turns < 100000; turns++) {
        int64_t start = cpu_time();
        loop_turn(c->loop, NSEC_PER_SEC);
        int64_t took = cpu_time() - start;
        longest = took > longest ? took : longest;
    }
    return longest;
}

/* Ten thousand pods on a thousand nodes: the loop serves others in between. */
static void large_gangs_are_sliced(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(NULL);
    add_nodes(c, 1000, 32);
    add_gang(c, "a", 10000, "100m");
    run_for(c, 2 * NSEC_PER_MSEC);
    const struct sched_job *job = cache_job(&c->scheduler->cache, "ns", "a");
    uint64_t before;
    int64_t ignored;
    loop_stats(c->loop, &ignored, &before);
    int64_t longest = longest_turn(c, job, 10000);
    uint64_t after;
    loop_stats(c->loop, &ignored, &after);
    assert_int_equal(job_have(job), 10000);
    assert_true(after - before > 10);
    print_message("longest turn %lld us\n", (long long)(longest / NSEC_PER_USEC));
    assert_true(longest < TURN_MOST);
    check(c);
    cluster_free(c);
}

/* What a turn looked at of volumes is work like any other. */
static uint64_t work_with_volumes(unsigned count)
{
    struct cluster *c = cluster_new(NULL);
    struct volumes *volumes = c->scheduler->cache.volumes;
    add_node(c, "n0", 4);
    put_class(volumes, "zonal", NO_PROVISIONER, WAITS, "");
    put_claim(volumes, "x", "zonal", 1);
    for (unsigned i = 0; i < count; i++) {
        cleanup_free char *name = xasprintf("v%u", i);
        put_volume(volumes, name, "zonal", 1, REACHED_FROM("zone", "b"));
    }
    add_group(c, "a", "\"minMember\":1");
    add_pod_spec(c, "a-0", "a", "w",
                 ",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],"
                 "\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{"
                 "\"claimName\":\"x\"}}]");
    run(c);
    assert_int_equal(c->binds, 0);
    uint64_t work = c->scheduler->cache.work;
    cluster_free(c);
    return work;
}

static void looks_at_volumes_are_work(void **state)
{
    (void)state;
    uint64_t few = work_with_volumes(0), many = work_with_volumes(4000);
    assert_true(many >= few + 4000 / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taints_keep_pods_away),
        cmocka_unit_test(cordoned_nodes_take_nobody),
        cmocka_unit_test(volumes_count_only_with_predicates),
        cmocka_unit_test(node_selector_holds),
        cmocka_unit_test(affinity_operators),
        cmocka_unit_test(affinity_terms),
        cmocka_unit_test(every_resource_counts),
        cmocka_unit_test(node_changes_are_followed),
        cmocka_unit_test(images_are_followed),
        cmocka_unit_test(weights_may_be_large),
        cmocka_unit_test(pods_that_ask_for_too_much_wait_alone),
        cmocka_unit_test(emptier_nodes_first),
        cmocka_unit_test(tables_equal_a_slow_look),
        cmocka_unit_test(large_gangs_are_sliced),
        cmocka_unit_test(looks_at_volumes_are_work),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
