/*
 * What nodes are charged with: who is counted, from when and until when, on nodes that come late,
 * shrink, grow and go.
 */
#include "bare.h"

#define CPUS(n)                                                                                    \
    ",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"" n "\"}}}]"
#define ON(node) ",\"nodeName\":\"" node "\""
#define RUNNING "\"phase\":\"Running\""

static int64_t used(const struct bare *b, const char *name)
{
    const struct sched_node *node = cache_node(&b->cache, name);
    audited(b);
    return node ? resource_vector_get(&node->used, RESOURCE_CPU) : 0;
}

static int64_t free_cpus(const struct bare *b)
{
    audited(b);
    return resource_vector_get(&b->cache.free, RESOURCE_CPU);
}

/* Any pod on a node is charged to it, whoever placed it and whatever it belongs to. */
static void whose_pods(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_node(b, "n", "\"cpu\":\"8\",\"pods\":\"10\"");
    assert_true(put_pod(b, "own", "", CPUS("1") ON("n"), RUNNING));
    assert_true(put_pod(b, "others", "", ",\"schedulerName\":\"default\"" CPUS("2") ON("n"), ""));
    assert_int_equal(used(b, "n"), 3000);
    assert_false(put_pod(b, "elsewhere", "", ",\"schedulerName\":\"default\"" CPUS("2"), ""));
    assert_null(task_of(b, "elsewhere")); /* until it has a node */
    put_pod(b, "elsewhere", "", ",\"schedulerName\":\"default\"" CPUS("2") ON("n"), "");
    assert_int_equal(used(b, "n"), 5000);
    put_pod(b, "elsewhere", "", ",\"schedulerName\":\"default\"" CPUS("2") ON("n"),
            "\"phase\":\"Failed\"");
    assert_null(task_of(b, "elsewhere"));
    assert_int_equal(used(b, "n"), 3000);
    assert_int_equal(free_cpus(b), 5000);
    bare_free(b);
}

/* From the decision to bind until it has finished or is gone. */
static void until_gone(void **state)
{
    struct bare *b = bare_new();
    static const char *const live[] = {"", "\"phase\":\"Pending\"", RUNNING,
                                       "\"phase\":\"Unknown\""};
    (void)state;
    put_node(b, "n", "\"cpu\":\"8\",\"pods\":\"10\"");
    put_pod(b, "p", "g", CPUS("2"), "");
    assert_int_equal(used(b, "n"), 0);
    cache_set_task(&b->cache, task_of(b, "p"), TASK_BINDING, cache_node(&b->cache, "n"));
    put_pod(b, "p", "g", CPUS("2"), ""); /* an old version: the bind is under way */
    assert_int_equal(used(b, "n"), 2000);
    for (size_t i = 0; i < ARRAY_SIZE(live); i++) {
        put_pod(b, "p", "g", CPUS("2") ON("n"), live[i]);
        assert_int_equal(used(b, "n"), 2000);
    }
    struct error err = ERROR_INIT;
    struct pod *leaving = pod_decode(
        STR("{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u-p\",\"annotations\":{"
            "\"scheduling.k8s.io/group-name\":\"g\"},\"deletionTimestamp\":"
            "\"2026-11-29T18:00:00Z\"},\"spec\":{\"schedulerName\":\"volcano\"" CPUS("2")
                ON("n") "},\"status\":{\"phase\":\"Running\"}}"),
        &err);
    assert_non_null(leaving);
    cache_set_pod(&b->cache, "u-p", leaving);
    pod_unref(leaving);
    assert_int_equal(task_of(b, "p")->status, TASK_RELEASING);
    assert_int_equal(used(b, "n"), 2000); /* its containers still run */
    cut_pod(b, "p");
    assert_int_equal(used(b, "n"), 0);
    bare_free(b);
}

/* A resize moves the charge of a pod that is on its node. */
static void a_resize(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_node(b, "n", "\"cpu\":\"8\",\"pods\":\"10\"");
    put_group(b, "g", "\"minMember\":1,\"queue\":\"q\"", "Running");
    put_pod(b, "p", "g", CPUS("2") ON("n"), RUNNING);
    put_pod(b, "p", "g", CPUS("3") ON("n"), RUNNING);
    assert_int_equal(used(b, "n"), 3000);
    assert_set(b, &cache_queue(&b->cache, "q")->allocated, "cpu=3000 pods=1");
    put_pod(b, "p", "g", CPUS("1") ON("n"),
            RUNNING ",\"containerStatuses\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":"
                    "\"3\"}}}]"); /* asked to shrink, but has not yet */
    assert_int_equal(used(b, "n"), 3000);
    put_pod(b, "p", "g", CPUS("1") ON("n"),
            RUNNING ",\"containerStatuses\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":"
                    "\"1\"}}}]");
    assert_int_equal(used(b, "n"), 1000);
    bare_free(b);
}

/* A node may have less than its pods ask for; it lends nothing to the others. */
static void a_node_that_shrinks(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_node(b, "n", "\"cpu\":\"8\",\"example.com/gpu\":\"4\",\"pods\":\"10\"");
    put_node(b, "m", "\"cpu\":\"4\",\"pods\":\"10\"");
    put_pod(b, "p", "g", CPUS("6") ON("n"), RUNNING);
    assert_int_equal(free_cpus(b), 6000);
    put_node(b, "n", "\"cpu\":\"5\",\"pods\":\"10\"");
    assert_int_equal(free_cpus(b), 4000); /* those of m, not one less */
    assert_int_equal(resource_vector_get(&b->cache.allocatable, RESOURCE_CPU), 9000);
    assert_int_equal(resource_vector_get(&b->cache.used, RESOURCE_CPU), 6000);
    assert_int_equal(resource_vector_get(&b->cache.free, resource_id(STR("example.com/gpu"))), 0);
    put_pod(b, "q", "g", CPUS("1") ON("n"), RUNNING); /* another scheduler's doing */
    assert_int_equal(free_cpus(b), 4000);
    cut_pod(b, "p");
    assert_int_equal(free_cpus(b), 8000);
    bare_free(b);
}

/* Pods may be heard of before their node, and outlive it. */
static void a_node_that_comes_and_goes(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_pod(b, "p", "g", CPUS("2") ON("n"), RUNNING);
    assert_int_equal(used(b, "n"), 2000);
    assert_int_equal(free_cpus(b), 0);
    put_node(b, "n", "\"cpu\":\"8\",\"pods\":\"10\"");
    assert_int_equal(free_cpus(b), 6000);
    cache_set_node(&b->cache, "n", NULL);
    assert_int_equal(free_cpus(b), 0);
    assert_int_equal(resource_vector_get(&b->cache.used, RESOURCE_CPU), 0);
    assert_int_equal(used(b, "n"), 2000);
    put_node(b, "n", "\"cpu\":\"3\",\"pods\":\"10\"");
    assert_int_equal(free_cpus(b), 1000);
    cache_set_node(&b->cache, "n", NULL);
    cut_pod(b, "p");
    assert_null(cache_node(&b->cache, "n"));
    bare_free(b);
}

#define HUGE(n)                                                                                    \
    ",\"containers\":[{\"resources\":{\"requests\":{\"memory\":\"1Pi\",\"cpu\":\"" n "\"}}}]"

/* More than can be added up: the node is full, and right again a second after the pods are gone. */
static void absurd_amounts(void **state)
{
    struct bare *b = bare_new();
    (void)state;
    put_node(b, "n", "\"cpu\":\"9000\",\"memory\":\"1Ti\",\"pods\":\"10\"");
    put_group(b, "g", "\"minMember\":1,\"queue\":\"q\",\"minResources\":{\"memory\":\"1Pi\"}",
              "Inqueue");
    put_pod(b, "p", "g", CPUS("2") ON("n"), RUNNING);
    const struct sched_node *node = cache_node(&b->cache, "n");
    const struct sched_queue *q = cache_queue(&b->cache, "q");
    for (unsigned i = 0; i < 9000; i++) {
        cleanup_free char *name = xasprintf("h%u", i);
        put_pod(b, name, "g", i % 2 ? HUGE("0") ON("n") : HUGE("1") ON("n"), RUNNING);
        assert_true(resource_vector_get(&node->used, RESOURCE_MEMORY) > 0);
    }
    assert_int_equal(resource_vector_get(&node->used, RESOURCE_MEMORY), RESOURCE_SUM_MAX);
    assert_int_equal(resource_set_get(&q->allocated, RESOURCE_MEMORY), RESOURCE_SUM_MAX);
    audited(b);
    for (unsigned i = 0; i < 9000; i++) {
        cleanup_free char *name = xasprintf("h%u", i);
        cut_pod(b, name);
    }
    assert_int_equal(resource_vector_get(&node->used, RESOURCE_MEMORY), RESOURCE_SUM_MAX);
    assert_int_equal(used(b, "n"), 2000);
    uint64_t room = b->cache.room;
    int64_t end = loop_now(b->loop) + 2 * NSEC_PER_SEC;
    while (loop_timer_active(&b->cache.recount) && loop_now(b->loop) < end)
        (void)loop_turn(b->loop, NSEC_PER_SEC);
    assert_true(b->cache.room > room);
    assert_int_equal(resource_vector_get(&node->used, RESOURCE_MEMORY), 0);
    assert_int_equal(resource_vector_get(&b->cache.free, RESOURCE_MEMORY), INT64_C(1) << 40);
    assert_set(b, &q->allocated, "cpu=2000 pods=1");
    assert_set(b, &q->inqueue, "memory=1125899906842624");
    bare_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whose_pods),
                                       cmocka_unit_test(until_gone),
                                       cmocka_unit_test(a_resize),
                                       cmocka_unit_test(a_node_that_shrinks),
                                       cmocka_unit_test(a_node_that_comes_and_goes),
                                       cmocka_unit_test(absurd_amounts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
