/*
 * Whom drf and proportion let go, and for whom, with shares worked out by hand.
 */
#include "evict.h"

#define MOST 10
#define DRF "actions: allocate\ntiers:\n- plugins:\n  - name: drf\n"
#define PROPORTION "actions: allocate\ntiers:\n- plugins:\n  - name: proportion\n"

/* One node of 10 CPUs, 100 bytes and 40 pods. */
static struct bare *world_new(void)
{
    struct bare *b = bare_new();
    put_node(b, "n", "\"cpu\":\"10\",\"memory\":\"100\",\"pods\":\"40\"");
    return b;
}

/* Running pods <name>-0, <name>-1, ... of a job in a queue. */
static struct sched_job *put_job(struct bare *b, const char *name, const char *queue, int count,
                                 int cpu, int memory)
{
    cleanup_free char *spec = xasprintf("\"minMember\":1,\"queue\":\"%s\"", queue);
    cleanup_free char *members =
        xasprintf(",\"nodeName\":\"n\",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":"
                  "\"%d\",\"memory\":\"%d\"}}}]",
                  cpu, memory);
    struct sched_job *job = put_group(b, name, spec, "Running");
    for (int i = 0; i < count; i++) {
        cleanup_free char *pod = xasprintf("%s-%d", name, i);
        put_pod(b, pod, name, members, "\"phase\":\"Running\"");
    }
    return job;
}

/* One that waits, <name>-w. */
static void put_waiting(struct bare *b, const char *name, int cpu, int memory)
{
    cleanup_free char *pod = xasprintf("%s-w", name);
    cleanup_free char *members =
        xasprintf(",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"%d\",\"memory\":"
                  "\"%d\"}}}]",
                  cpu, memory);
    put_pod(b, pod, name, members, "\"phase\":\"Pending\"");
}

static struct sched_config *config_of(const struct bare *b, const char *yaml)
{
    struct error err = ERROR_INIT;
    struct sched_config *config = sched_config_parse(str_of(yaml), &err);
    if (!config)
        fail_msg("%s", err.text);
    config_begin(config, &b->cache);
    return config;
}

static void assert_victims(const struct bare *b, const char *yaml, enum eviction_kind kind,
                           const char *task, const char *candidates, const char *expected)
{
    struct sched_config *config = config_of(b, yaml);
    const struct sched_task *tasks[MOST];
    struct str rest = str_of(candidates), name;
    struct eviction eviction = {.kind = kind,
                                .cache = &b->cache,
                                .job = task_of(b, task)->job,
                                .task = task_of(b, task),
                                .candidates = tasks};
    while (str_split(&rest, ' ', &name)) {
        cleanup_free char *text = str_dup(name);
        assert_true(eviction.n < MOST);
        tasks[eviction.n++] = task_of(b, text);
    }
    audited(b);
    assert_evictable(config, &eviction, expected);
}

/* ---- drf ------------------------------------------------------------------------------------- */

/* a holds 6 of 10 CPUs, b 2; with one pod more b would have 3/10. a without one 5/10, two 4/10,
 * three 3/10, which is as much, four 2/10. */
static void the_larger_share_gives_until_both_are_equal(void **state)
{
    struct bare *b = world_new();
    (void)state;
    put_job(b, "a", "default", 6, 1, 1);
    put_job(b, "b", "default", 2, 1, 1);
    put_waiting(b, "b", 1, 1);
    assert_victims(b, DRF, EVICT_PREEMPT, "b-w", "a-0 a-1 a-2 a-3 a-4", "a-0 a-1 a-2");
    assert_victims(b, DRF, EVICT_PREEMPT, "b-w", "b-0 b-1", "");
    bare_free(b);
}

/* x holds 3 of 10 CPUs and would have 4. c holds 4, and 48 of 100 bytes: without a pod 3 and 36,
 * which is less. With 72 bytes it has 54 left without its first pod and 36 without its second. */
static void the_largest_part_is_the_share(void **state)
{
    struct bare *b = world_new();
    (void)state;
    put_job(b, "c", "default", 4, 1, 12);
    put_job(b, "m", "default", 3, 0, 10);
    put_job(b, "x", "default", 3, 1, 1);
    put_waiting(b, "x", 1, 1);
    assert_victims(b, DRF, EVICT_PREEMPT, "x-w", "c-0 c-1 m-0", "");
    put_job(b, "c", "default", 4, 1, 18);
    assert_victims(b, DRF, EVICT_PREEMPT, "x-w", "c-0 m-0 c-1", "c-0");
    bare_free(b);
}

/* Two have 30 of 100 bytes, their largest part: neither takes CPUs from the other, which would take
 * them back. One that has less takes them. */
static void equals_give_nothing(void **state)
{
    struct bare *b = world_new();
    (void)state;
    put_job(b, "a", "default", 2, 1, 15);
    put_job(b, "b", "default", 2, 1, 15);
    put_job(b, "c", "default", 1, 0, 29);
    put_waiting(b, "a", 1, 0);
    put_waiting(b, "b", 1, 0);
    put_waiting(b, "c", 1, 0);
    put_pod(b, "b-cpu", "b",
            ",\"nodeName\":\"n\",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]",
            "\"phase\":\"Running\"");
    assert_victims(b, DRF, EVICT_PREEMPT, "a-w", "b-cpu", "");
    assert_victims(b, DRF, EVICT_PREEMPT, "b-w", "a-0", "");
    assert_victims(b, DRF, EVICT_PREEMPT, "c-w", "b-cpu", "b-cpu");
    bare_free(b);
}

static void other_evictions_are_none_of_its_business(void **state)
{
    struct bare *b = world_new();
    (void)state;
    put_job(b, "a", "default", 6, 1, 1);
    put_job(b, "b", "default", 0, 1, 1);
    put_waiting(b, "b", 1, 1);
    assert_victims(b, DRF, EVICT_RECLAIM, "b-w", "a-0", "");
    assert_victims(b, DRF, EVICT_GANG_PREEMPT, "b-w", "a-0", "");
    assert_victims(b, PROPORTION, EVICT_PREEMPT, "b-w", "a-0", "");
    assert_victims(b, PROPORTION, EVICT_GANG_RECLAIM, "b-w", "a-0", "");
    bare_free(b);
}

/* ---- proportion ------------------------------------------------------------------------------ */

static bool preempts(const struct bare *b, const char *queue, int cpu)
{
    struct sched_config *config = config_of(b, PROPORTION);
    struct resource_set request = {NULL, 0};
    resource_set_put(&request, RESOURCE_CPU, cpu * INT64_C(1000));
    bool may = config_preemptive(config, &b->cache, cache_queue(&b->cache, queue), &request);
    resource_set_clear(&request);
    sched_config_free(config);
    return may;
}

/* Weights 1 and 3 of 10 CPUs, of which "one" holds 8 and wants no more, "three" 1 and wants 5 more:
 * three gets what it wants, 6, and one the remaining 4. So one gives back until it has 4. */
static void queues_give_back_what_is_beyond_their_share(void **state)
{
    struct bare *b = world_new();
    (void)state;
    put_queue(b, "one", "", "\"weight\":1");
    put_queue(b, "three", "", "\"weight\":3");
    put_job(b, "a", "one", 8, 1, 1);
    put_job(b, "b", "three", 1, 1, 1);
    put_waiting(b, "b", 5, 1);
    assert_victims(b, PROPORTION, EVICT_RECLAIM, "b-w", "a-0 a-1 a-2 a-3 a-4 a-5",
                   "a-0 a-1 a-2 a-3");
    assert_victims(b, PROPORTION, EVICT_RECLAIM, "b-w", "b-0", "");
    /* 1 held and 5 more are the 6 that it deserves. */
    assert_true(preempts(b, "three", 5));
    assert_false(preempts(b, "three", 6));
    assert_false(preempts(b, "one", 1));
    put_queue(b, "three", "", "\"weight\":3},\"status\":{\"state\":\"Closed\"");
    assert_false(preempts(b, "three", 5));
    bare_free(b);
}

/* By memory "one" is beyond its share, though not by CPUs: of 100 bytes it holds 80, and the other,
 * of the same weight, wants 40 in all: 60 are left to it. The second goes with 70 left. */
static void any_resource_is_enough(void **state)
{
    struct bare *b = world_new();
    (void)state;
    put_queue(b, "one", "", "\"weight\":1");
    put_queue(b, "other", "", "\"weight\":1");
    put_job(b, "a", "one", 8, 0, 10);
    put_job(b, "b", "other", 1, 1, 10);
    put_waiting(b, "b", 1, 30);
    assert_victims(b, PROPORTION, EVICT_RECLAIM, "b-w", "a-0 a-1 a-2 a-3", "a-0 a-1");
    bare_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_larger_share_gives_until_both_are_equal),
        cmocka_unit_test(the_largest_part_is_the_share),
        cmocka_unit_test(equals_give_nothing),
        cmocka_unit_test(other_evictions_are_none_of_its_business),
        cmocka_unit_test(queues_give_back_what_is_beyond_their_share),
        cmocka_unit_test(any_resource_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
