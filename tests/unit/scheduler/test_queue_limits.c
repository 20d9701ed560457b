/*
 * What allocate and backfill make of queues that have had their share or may not hold more: who is
 * passed over, who is told what, who is tried again and when.
 */
#include "cluster.h"
#include "scheduler/explain.h"

#define CONF(plugins)                                                                              \
    "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: priority\n"           \
    "  - name: gang\n  - name: predicates\n  - name: nodeorder\n" plugins
#define CAPACITY CONF("  - name: capacity\n")
#define PROPORTION CONF("  - name: proportion\n")

static struct test_group *add_job(struct cluster *c, const char *name, const char *queue,
                                  unsigned min, unsigned pods, const char *cpu)
{
    cleanup_free char *spec = xasprintf("\"minMember\":%u,\"queue\":\"%s\"", min, queue);
    struct test_group *group = add_group(c, name, spec);
    add_pods(c, name, "w", pods, cpu);
    return group;
}

static void limit_cpu(struct cluster *c, const char *queue, unsigned cpu)
{
    cleanup_free char *spec = xasprintf("\"capability\":{\"cpu\":\"%u\"}", cpu);
    add_queue(c, queue, "", spec);
}

static const struct sched_job *job_of(const struct cluster *c, const char *name)
{
    return cache_job(&c->scheduler->cache, "ns", name);
}

static void assert_bound(struct cluster *c, const char *group, unsigned count)
{
    unsigned found = bound(c, group, NULL);
    if (found != count)
        fail_msg("%u pods of \"%s\" are bound, not %u", found, group, count);
}

/* G5: nine of ten are held; 10 and 2 wait, 1 runs past them. Then three jobs for a queue of two and
 * an elastic one for a queue of ten, all in one cycle. */
static void limits_are_hard(void **state)
{
    (void)state;
    static const char *const confs[] = {CAPACITY, PROPORTION};
    for (size_t i = 0; i < ARRAY_SIZE(confs); i++) {
        struct cluster *c = cluster_new(confs[i]);
        add_node(c, "n0", 64);
        limit_cpu(c, "ten", 10);
        add_job(c, "nine", "ten", 9, 9, "1");
        run(c);
        assert_bound(c, "nine", 9);
        add_job(c, "j10", "ten", 1, 1, "10");
        add_job(c, "j2", "ten", 1, 1, "2");
        add_job(c, "j1", "ten", 1, 1, "1");
        limit_cpu(c, "two", 2);
        for (int j = 0; j < 3; j++) {
            cleanup_free char *name = xasprintf("t%d", j);
            add_job(c, name, "two", 1, 1, "1");
        }
        limit_cpu(c, "other", 10);
        add_job(c, "elastic", "other", 1, 30, "1");
        run(c);
        assert_bound(c, "j10", 0);
        assert_bound(c, "j2", 0);
        assert_bound(c, "j1", 1);
        assert_int_equal(bound(c, "t0", NULL) + bound(c, "t1", NULL) + bound(c, "t2", NULL), 2);
        assert_bound(c, "elastic", 10);
        check(c);
        cluster_free(c);
    }
}

/* All or nothing also where the queue sets the limit; nobody else waits for it. */
static void gang_above_the_limit(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(CAPACITY);
    add_nodes(c, 5, 4);
    limit_cpu(c, "q", 4);
    struct test_group *large = add_job(c, "large", "q", 6, 6, "1");
    add_job(c, "small", "q", 3, 3, "1");
    add_job(c, "other", "default", 8, 8, "1");
    run(c);
    assert_bound(c, "large", 0);
    assert_bound(c, "small", 3);
    assert_bound(c, "other", 8);
    assert_int_equal(job_of(c, "large")->why.kind, WHY_SHARE);
    assert_says(large, "6/6 tasks in gang unschedulable, in queue \\\"q\\\": cpu 6 is needed");
    assert_says(large, "\"reason\":\"NotEnoughResources\"");
    limit_cpu(c, "q", 9);
    run(c);
    assert_bound(c, "large", 6);
    assert_int_equal(job_of(c, "large")->why.kind, WHY_NONE);
    assert_silent(large, "Unschedulable");
    check(c);
    cluster_free(c);
}

/* More nodes would not help these pods, so autoscalers are not to read that they would. */
static void pods_are_told_it_is_the_queue(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(CAPACITY);
    add_nodes(c, 2, 4);
    limit_cpu(c, "q", 1);
    add_job(c, "a", "q", 2, 2, "1");
    run_for(c, 20 * NSEC_PER_SEC);
    assert_int_equal(find_pod(c, "a-w-0")->tellings, 1);
    assert_true(find_pod(c, "a-w-0")->told_limit);
    check(c);
    cluster_free(c);
}

static void pods_above_the_minimum(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(CAPACITY);
    add_nodes(c, 2, 4);
    limit_cpu(c, "q", 4);
    add_job(c, "a", "q", 1, 6, "1");
    run(c);
    assert_bound(c, "a", 4);
    const struct job_why *why = &job_of(c, "a")->why;
    assert_int_equal(why->kind, WHY_SHARE);
    assert_non_null(strstr(why->text, "2 pods above the minimum of the job wait, in queue \"q\""));
    struct test_pod *pod = find_pod(c, "a-w-0");
    pod->phase = "Succeeded";
    show_pod(c, pod);
    run(c);
    assert_bound(c, "a", 5);
    check(c);
    cluster_free(c);
}

/* What terminates is not held by the queue any more, though its node has no room yet. */
static void terminating_pods_free_the_queue(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(CAPACITY);
    add_nodes(c, 2, 4);
    limit_cpu(c, "q", 2);
    add_job(c, "a", "q", 2, 2, "1");
    run(c);
    add_job(c, "b", "q", 1, 1, "1");
    run(c);
    assert_bound(c, "b", 0);
    struct test_pod *pod = find_pod(c, "a-w-0");
    pod->deleted = true;
    show_pod(c, pod);
    run(c);
    assert_bound(c, "b", 1);
    check(c);
    cluster_free(c);
}

static void bother(struct cluster *c, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        cleanup_free char *name = xasprintf("other-%u", i);
        add_job(c, name, "default", 1, 1, "1");
        run_for(c, NSEC_PER_SEC);
    }
}

static unsigned attempts(const struct cluster *c, unsigned jobs)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < jobs; i++) {
        cleanup_free char *name = xasprintf("q-%u", i);
        sum += job_of(c, name)->attempts;
    }
    return sum;
}

/* Cycles for others do not try the jobs of a full queue; what frees it does. */
static void full_queue_is_left_alone(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(CAPACITY);
    add_nodes(c, 4, 16);
    limit_cpu(c, "q", 2);
    add_job(c, "full", "q", 2, 2, "1");
    run(c);
    for (unsigned i = 0; i < 20; i++) {
        cleanup_free char *name = xasprintf("q-%u", i);
        add_job(c, name, "q", 1, 1, "1");
    }
    run_for(c, 5 * NSEC_PER_SEC); /* what was too young to be replaced has been by then */
    unsigned before = attempts(c, 20);
    uint64_t cycles = c->scheduler->cycle.number;
    bother(c, 0, 10);
    assert_true(c->scheduler->cycle.number >= cycles + 10);
    assert_int_equal(attempts(c, 20), before);
    set_phase(c, "full", "Succeeded");
    run(c);
    assert_true(attempts(c, 20) > before);
    unsigned started = 0;
    for (unsigned i = 0; i < 20; i++) {
        cleanup_free char *name = xasprintf("q-%u", i);
        started += bound(c, name, NULL);
    }
    assert_int_equal(started, 2);
    check(c);
    cluster_free(c);
}

/* Two queues of one weight: the first holds its half in everything, so it has had its share. */
static void queue_that_has_had_its_share(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(PROPORTION);
    for (unsigned i = 0; i < 4; i++) {
        cleanup_free char *name = xasprintf("n%u", i);
        add_node_json(c, name, "", "", "\"cpu\":\"1\",\"pods\":\"1\"");
    }
    add_queue(c, "p", "", "\"weight\":1");
    add_queue(c, "q", "", "\"weight\":1");
    add_job(c, "a", "p", 1, 6, "1");
    add_job(c, "b", "q", 1, 6, "1");
    run(c);
    assert_bound(c, "a", 2);
    assert_bound(c, "b", 2);
    const struct sched_job *job = job_of(c, "a");
    assert_int_equal(job->why.kind, WHY_SHARE);
    assert_string_equal(job->why.text, "queue \"p\" has had its share, while others want theirs. "
                                       "It holds cpu 2 of 2 that it deserves. Waiting since "
                                       "2025-11-24T16:00:00Z.");
    cleanup_buf struct buf out = BUF_INIT(65536);
    assert_int_equal(explain_page(STR("/explain/ns/a"), STR_NULL, &out, c->scheduler), 200);
    assert_true(str_find(buf_str(&out), STR("has had its share in the last cycle")) > 0);
    assert_true(str_find(buf_str(&out), STR("cpu: holds 2, waits for 4, promised 0, beyond "
                                            "minimums 2, deserves 2")) > 0);
    unsigned before = job->attempts;
    struct test_pod *pod = find_pod(c, "b-w-5"); /* q wants less, but still all of its half */
    pod->gone = true;
    show_pod(c, pod);
    run(c);
    assert_int_equal(job->attempts, before);
    check(c);
    cluster_free(c);
}

/* Best-effort pods: by the order of queues and jobs, whatever queues may hold. */
static void backfill_in_turns(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(CAPACITY);
    limit_cpu(c, "first", 1);
    add_queue(c, "second", "", "\"priority\":5");
    add_group(c, "a", "\"minMember\":0,\"queue\":\"first\"");
    add_group(c, "b", "\"minMember\":0,\"queue\":\"second\"");
    for (unsigned i = 0; i < 2; i++) {
        cleanup_free char *a = xasprintf("a-w-%u", i), *b = xasprintf("b-w-%u", i);
        add_pod_spec(c, a, "a", "w", "");
        add_pod_spec(c, b, "b", "w", "");
    }
    run(c);
    add_node_json(c, "n0", "", "", "\"cpu\":\"1\",\"pods\":\"3\"");
    run(c);
    assert_bound(c, "b", 2);
    assert_bound(c, "a", 1);
    check(c);
    cluster_free(c);
}

/* Clusters may have more than a pebibyte of something, and so may queues and gangs. */
static void queues_may_be_larger_than_nodes(void **state)
{
    (void)state;
    struct cluster *c = cluster_new(CAPACITY);
    for (unsigned i = 0; i < 3; i++) {
        cleanup_free char *name = xasprintf("n%u", i);
        add_node_json(c, name, "", "", "\"cpu\":\"9\",\"memory\":\"1Pi\",\"pods\":\"9\"");
    }
    add_queue(c, "q", "", "\"capability\":{\"memory\":\"2560Ti\"}");
    add_group(c, "a", "\"minMember\":4,\"queue\":\"q\",\"minResources\":{\"memory\":\"2Pi\"}");
    struct test_group *more = add_group(c, "b", "\"minMember\":2,\"queue\":\"q\"");
    for (unsigned i = 0; i < 6; i++) {
        cleanup_free char *name = xasprintf("p%u", i);
        add_pod_spec(c, name, i < 4 ? "a" : "b", "w",
                     ",\"containers\":[{\"resources\":{\"requests\":{\"memory\":\"512Ti\"}}}]");
    }
    run_for(c, 3 * NSEC_PER_SEC);
    assert_bound(c, "a", 4);
    assert_bound(c, "b", 0);
    assert_says(more, "queue \\\"q\\\" holds 2Pi of the 2.5Pi that it may have: 512Ti short");
    assert_string_equal(find_queue(c, STR("q"))->allocated,
                        "{\"cpu\":\"0\",\"memory\":\"2251799813685248\",\"pods\":\"4\"}");
    check(c);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_hard),
        cmocka_unit_test(gang_above_the_limit),
        cmocka_unit_test(pods_are_told_it_is_the_queue),
        cmocka_unit_test(pods_above_the_minimum),
        cmocka_unit_test(terminating_pods_free_the_queue),
        cmocka_unit_test(full_queue_is_left_alone),
        cmocka_unit_test(queue_that_has_had_its_share),
        cmocka_unit_test(backfill_in_turns),
        cmocka_unit_test(queues_may_be_larger_than_nodes),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
