/*
 * Plans of evictions on large clusters, and what follows: no step takes long, whatever goes, and is
 * looked at again.
 */
#include "plans.h"
#include "scheduler/evict/evictor_private.h"
#include "turns.h"

#define NODES 1000
#define PODS 10 /* of one CPU, on a node */

static const char plain[] = PLANS_CONF("");
static const char shared[] = PLANS_CONF("  - name: drf\n  - name: pdb\n  - name: proportion\n");

/* Plans to the end; how many go. */
static size_t plan_in_steps(struct cluster *c, const struct evict_rules *rules, size_t *ret_places)
{
    size_t victims;
    config_begin(c->scheduler->config, plans_cache(c));
    struct evict_plan *plan = plans_begin(c, "p", rules);
    for (bool done = false; !done;) {
        int64_t start = cpu_time();
        done = evict_plan_step(plan);
        int64_t took = cpu_time() - start;
        if (took > TURN_MOST)
            fail_msg("a step took %lld us", (long long)(took / 1000));
    }
    assert_int_equal(evict_plan_outcome(plan), EVICT_DECIDED);
    (void)evict_plan_victims(plan, &victims);
    (void)evict_plan_places(plan, ret_places);
    evict_plan_free(plan);
    return victims;
}

/* Pods <job>-0, ... of one CPU, `each` to a node. */
static void put_on_nodes(struct cluster *c, const char *job, unsigned count, unsigned each,
                         const char *cpu)
{
    for (unsigned i = 0; i < count; i++) {
        cleanup_free char *name = xasprintf("%s-%u", job, i);
        cleanup_free char *node = xasprintf("n%u", i / each);
        put_pod(c, .name = name, .job = job, .node = node, .cpu = cpu, .ran = 100,
                .role = i % 3 ? "w" : "v");
    }
}

static void a_large_gang_goes(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    size_t places;
    plans_nodes(c, NODES, PODS);
    put_job(c, .name = "a", .min = NODES * PODS, .priority = 1);
    put_on_nodes(c, "a", NODES * PODS, PODS, "1");
    put_taker(c, 100, "10");
    assert_int_equal(plan_in_steps(c, PREEMPT, &places), NODES * PODS);
    assert_int_equal(places, 100);
    cluster_free(c);
}

/* All but two are more than it needs, also of each task, and a tenth is enough. */
static void a_large_gang_is_reduced(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    size_t places;
    plans_nodes(c, NODES, PODS);
    put_job(c, .name = "a", .min = 2, .priority = 1,
            .spec = ",\"minTaskMember\":{\"w\":1,\"v\":1}");
    put_on_nodes(c, "a", NODES * PODS, PODS, "1");
    put_taker(c, 100, "10");
    assert_int_equal(plan_in_steps(c, PREEMPT, &places), NODES * PODS / 10);
    assert_int_equal(places, 100);
    cluster_free(c);
}

/* Each plugin that may say no is asked about all of it, and no other will do. */
static void a_large_gang_is_given_back(void **state)
{
    (void)state;
    struct cluster *c = plans_new(shared);
    size_t places;
    plans_nodes(c, NODES, PODS);
    plans_queue(c, "a", "\"weight\":1");
    plans_queue(c, "t", "\"weight\":1");
    put_job(c, .name = "a", .queue = "a", .min = NODES * PODS);
    put_on_nodes(c, "a", NODES * PODS, PODS, "1");
    put_job(c, .name = "p", .queue = "t", .min = 400);
    put_pods(c, 400, .job = "p", .cpu = "10");
    assert_int_equal(plan_in_steps(c, RECLAIM, &places), NODES * PODS);
    assert_int_equal(places, 400);
    cluster_free(c);
}

/* 10,000 pods of two kinds take all there is: for each of those who go they are placed anew. */
static void many_places_are_found_anew(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    size_t places;
    plans_nodes(c, NODES, PODS);
    put_loose(c, "a", 1);
    put_on_nodes(c, "a", 6, 1, "1");
    put_job(c, .name = "p", .min = NODES * PODS, .priority = 10);
    for (unsigned i = 0; i < NODES * PODS; i++) {
        cleanup_free char *name = xasprintf("p-%u", i);
        put_pod(c, .name = name, .job = "p", .cpu = "1", .role = i % 2 ? "w" : "v");
    }
    assert_int_equal(plan_in_steps(c, PREEMPT, &places), 6);
    assert_int_equal(places, NODES * PODS);
    cluster_free(c);
}

/* 250 pods go alone, and then the rest of their gang: each of them might stay after all. */
static void many_parts_are_looked_at(void **state)
{
    (void)state;
    static const char port[] = ",\"ports\":[{\"containerPort\":80,\"hostPort\":8080}]";
    struct cluster *c = plans_new(plain);
    size_t places;
    plans_nodes(c, 260, 2);
    put_job(c, .name = "a", .min = 10, .priority = 1);
    put_on_nodes(c, "a", 260, 1, "2");
    put_job(c, .name = "p", .min = 251, .priority = 10);
    put_pods(c, 251, .job = "p", .cpu = "2", .ports = port);
    assert_int_equal(plan_in_steps(c, PREEMPT, &places), 260);
    assert_int_equal(places, 251);
    cluster_free(c);
}

/* Ten thousand go for as many: they are asked, and the places held and shown, in several steps. */
static void a_large_decision_is_begun_in_steps(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    unsigned steps = 1;
    size_t cursor = 0;
    plans_nodes(c, NODES, PODS);
    put_job(c, .name = "a", .min = NODES * PODS, .priority = 1);
    put_on_nodes(c, "a", NODES * PODS, PODS, "1");
    put_taker(c, NODES * PODS, "1");
    struct evict_plan *plan = plans_begin(c, "p", PREEMPT);
    while (!evict_plan_step(plan))
        ;
    struct sched_job *taker = cache_job(plans_cache(c), "ns", "p");
    for (bool done = false; !done; steps++) {
        int64_t start = cpu_time();
        done = evictor_decide(c->scheduler, taker, plan, "preempt", &cursor);
        int64_t took = cpu_time() - start;
        if (took > TURN_MOST)
            fail_msg("a step took %lld us", (long long)(took / 1000));
    }
    evict_plan_free(plan);
    assert_in_range(steps, 10, 1000);
    assert_int_equal(taker->decision->count, NODES * PODS);
    assert_int_equal(taker->decision->places, NODES * PODS);
    assert_int_equal(map_count(&c->scheduler->evictions), NODES * PODS);
    assert_int_equal(cache_job(plans_cache(c), "ns", "a")->count[TASK_RELEASING], NODES * PODS);
    assert_null(cache_audit(plans_cache(c)));
    cluster_free(c);
}

/* How much longer gang takes for four times as many pods of one job, at most eight times. */
static void asking_takes_as_long_as_there_are_pods(void **state)
{
    (void)state;
    struct cluster *c = plans_new(plain);
    int64_t took[2] = {INT64_MAX, INT64_MAX};
    plans_nodes(c, NODES, 2 * PODS);
    put_job(c, .name = "a", .min = 2, .spec = ",\"minTaskMember\":{\"w\":1,\"v\":1}");
    put_on_nodes(c, "a", 2 * NODES * PODS, 2 * PODS, "1");
    put_taker(c, 1, "1");
    struct sched_config *config = sched_config_parse(
        STR("actions: allocate\ntiers:\n- plugins:\n  - name: gang\n"), &(struct error)ERROR_INIT);
    assert_non_null(config);
    const struct sched_job *job = cache_job(plans_cache(c), "ns", "a");
    VEC(const struct sched_task *) tasks = {0};
    list_each(link, &job->tasks)
    {
        vec_push(&tasks, const_container_of(link, struct sched_task, link));
    }
    bool *may = xcalloc(tasks.n, sizeof(*may));
    for (unsigned i = 0; i < 6; i++) {
        const struct eviction eviction = {.kind = EVICT_RECLAIM,
                                          .cache = plans_cache(c),
                                          .job = cache_job(plans_cache(c), "ns", "p"),
                                          .candidates = tasks.items,
                                          .n = i % 2 ? tasks.n : tasks.n / 4};
        int64_t start = cpu_time();
        size_t n = config_evictable(config, &eviction, may);
        int64_t spent = cpu_time() - start;
        assert_int_equal(n, i % 2 ? tasks.n - 2 : tasks.n / 4);
        took[i % 2] = spent < took[i % 2] ? spent : took[i % 2];
    }
    if (took[1] > 8 * took[0] + NSEC_PER_MSEC)
        fail_msg("%lld us, and %lld us for four times as many", (long long)(took[0] / 1000),
                 (long long)(took[1] / 1000));
    free(may);
    vec_clear(&tasks);
    sched_config_free(config);
    cluster_free(c);
}

/* Ten gangs with a pod on each node, where one that nobody may evict has the port. Whoever goes
 * first there, the next is refused, for its queue has no more than its share by then: trying others
 * first on all nodes may not take many times as long as trying each once. */
static void many_trials_in_vain_end(void **state)
{
    (void)state;
    static const char port[] = ",\"ports\":[{\"containerPort\":80,\"hostPort\":8080}]";
    struct cluster *c = plans_new(shared);
    plans_nodes(c, NODES, PODS);
    plans_queue(c, "a", "\"weight\":9989");
    plans_queue(c, "t", "\"weight\":11");
    for (unsigned g = 0; g < PODS; g++) {
        cleanup_free char *name = xasprintf("g%u", g);
        put_job(c, .name = name, .queue = "a", .min = NODES);
        put_on_nodes(c, name, NODES, 1, "999m");
    }
    for (unsigned i = 0; i < NODES; i++) {
        cleanup_free char *name = xasprintf("o-%u", i), *node = xasprintf("n%u", i);
        put_pod(c, .name = name, .node = node, .cpu = "10m", .ports = port);
    }
    put_job(c, .name = "p", .queue = "t", .min = 1);
    put_pods(c, 1, .job = "p", .cpu = "500m", .ports = port);
    put_job(c, .name = "q", .queue = "t", .min = 1);
    put_pods(c, 20, .job = "q", .cpu = "1");
    config_begin(c->scheduler->config, plans_cache(c));
    struct evict_plan *plan = plans_begin(c, "p", RECLAIM);
    const uint64_t work = plans_cache(c)->work;
    while (!evict_plan_step(plan))
        ;
    assert_int_equal(evict_plan_outcome(plan), EVICT_NOTHING);
    /* A gang for each node, all of it there and back, is 20 million. */
    assert_in_range(plans_cache(c)->work - work, 1, 25 * NODES * NODES);
    evict_plan_free(plan);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_gang_goes),
        cmocka_unit_test(a_large_gang_is_reduced),
        cmocka_unit_test(a_large_gang_is_given_back),
        cmocka_unit_test(many_places_are_found_anew),
        cmocka_unit_test(many_parts_are_looked_at),
        cmocka_unit_test(a_large_decision_is_begun_in_steps),
        cmocka_unit_test(asking_takes_as_long_as_there_are_pods),
        cmocka_unit_test(many_trials_in_vain_end),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
