/*
 * When a job for which nobody could be evicted is looked at again, though no pod has come or gone.
 * What becomes of a decision is another's matter.
 */
#include "cluster.h"

#include "scheduler/evict/evictor.h"
#include "scheduler/explain.h"

bool __wrap_evictor_decide(struct scheduler *scheduler, struct sched_job *job,
                           struct evict_plan *plan, const char *action, size_t *cursor);

static unsigned decisions;

/* In two parts. */
bool __wrap_evictor_decide(struct scheduler *scheduler, struct sched_job *job,
                           struct evict_plan *plan, const char *action, size_t *cursor)
{
    (void)scheduler;
    (void)plan;
    if ((*cursor)++ == 0)
        return false;
    assert_string_equal(job->name, "high");
    assert_string_equal(action, "preempt");
    decisions++;
    return true;
}

#define CONF(plugins)                                                                              \
    "actions: \"enqueue, allocate, preempt\"\ntiers:\n- plugins:\n  - name: priority\n"            \
    "  - name: gang\n    enablePreemptable: false\n  - name: predicates\n" plugins

/* A pod of job "low" runs on the one CPU that there is; since `age_s` seconds. */
static void put_runner(struct cluster *c, const char *labels, int64_t age_s, bool ready)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    char since[TIME_TEXT_MAX];
    (void)time_format(since, loop_wall(c->loop) - age_s * NSEC_PER_SEC);
    show(c->pods, false, false,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"low-0\",\"namespace\":\"ns\",\"uid\":\"low-0\","
                      "\"resourceVersion\":\"%llu\",\"labels\":{%s},\"annotations\":{"
                      "\"scheduling.k8s.io/group-name\":\"low\"}},\"spec\":{\"schedulerName\":"
                      "\"volcano\",\"nodeName\":\"n0\",\"containers\":[{\"resources\":{"
                      "\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Running\","
                      "\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"},"
                      "{\"type\":\"PodScheduled\",\"status\":\"True\","
                      "\"lastTransitionTime\":\"%s\"}]}}",
                      (unsigned long long)++c->rv, labels, ready ? "True" : "False", since));
}

/* One job runs, and a more important one waits. */
static struct cluster *world_new(const char *conf, const char *labels, int64_t age_s)
{
    struct cluster *c = cluster_new(conf);
    cleanup_arena struct arena arena = ARENA_INIT;
    decisions = 0;
    show(c->priorityclasses, false, false,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"high\",\"uid\":\"c\",\"resourceVersion\":"
                      "\"%llu\"},\"value\":100}",
                      (unsigned long long)++c->rv));
    add_nodes(c, 1, 1);
    add_group(c, "low", "\"minMember\":1");
    put_runner(c, labels, age_s, true);
    run(c);
    add_group(c, "high", "\"minMember\":1,\"priorityClassName\":\"high\"");
    add_pods(c, "high", "w", 1, "1");
    return c;
}

static bool is_explained(const struct cluster *c, const char *line)
{
    cleanup_buf struct buf page = BUF_INIT(1 << 20);
    assert_int_equal(explain_page(STR("/explain/ns/high"), STR(""), &page, c->scheduler), 200);
    return str_find(buf_str(&page), str_of(line)) >= 0;
}

static void a_cooldown_that_ends_is_noticed(void **state)
{
    (void)state;
    struct cluster *c =
        world_new(CONF("  - name: cdp\n"), "\"volcano.sh/cooldown-time\":\"60s\"", 10);
    cache_budgets_known(&c->scheduler->cache);
    run_for(c, 40 * NSEC_PER_SEC);
    assert_int_equal(decisions, 0);
    assert_true(is_explained(c, "evicts:    nobody (preempt): on no node would those who may be "
                                "evicted for it make enough room\n"));
    run_for(c, 20 * NSEC_PER_SEC);
    assert_true(decisions > 0);
    assert_false(is_explained(c, "nobody"));
    cluster_free(c);
}

/* Nobody is evicted for those whose priority class says so. */
static void who_may_have_nobody_evicted_is_told(void **state)
{
    (void)state;
    struct cluster *c = world_new(CONF(""), "", 10);
    cache_budgets_known(&c->scheduler->cache);
    add_group(c, "meek", "\"minMember\":1,\"priorityClassName\":\"high\"");
    add_pod_spec(c, "meek-0", "meek", "w",
                 ",\"preemptionPolicy\":\"Never\",\"containers\":[{\"resources\":{\"requests\":{"
                 "\"cpu\":\"1\"}}}]");
    run(c);
    cleanup_buf struct buf page = BUF_INIT(1 << 20);
    assert_int_equal(explain_page(STR("/explain/ns/meek"), STR(""), &page, c->scheduler), 200);
    assert_true(str_find(buf_str(&page),
                         STR("evicts:    nobody (preempt): its queue may have no more, or nobody "
                             "may be evicted for its pods\n")) >= 0);
    cluster_free(c);
}

/* `policy`: for pods that are not ready. */
static void show_budget(struct cluster *c, struct store *budgets, int allowed, const char *policy)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    show(budgets, false, false,
         arena_printf(&arena,
                      "{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\",\"uid\":\"b\","
                      "\"resourceVersion\":\"%llu\"},\"spec\":{\"selector\":{},"
                      "\"unhealthyPodEvictionPolicy\":\"%s\"},\"status\":{"
                      "\"disruptionsAllowed\":%d}}",
                      (unsigned long long)++c->rv, policy, allowed));
}

/* A budget that allows nothing while the pod is ready. */
static void budgets_that_let_go_are_noticed(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct cluster *c = world_new(CONF(""), "", 10);
        struct store *budgets = store_new(&poddisruptionbudget_store_type);
        scheduler_follow_budgets(c->scheduler, budgets);
        sync_store(budgets, c->rv);
        show_budget(c, budgets, 0, way == 2 ? "AlwaysAllow" : "");
        if (way == 1)
            put_runner(c, "", 10, false);
        run_for(c, 60 * NSEC_PER_SEC);
        assert_int_equal(decisions, 0);
        if (way == 2)
            put_runner(c, "", 10, false);
        else
            show_budget(c, budgets, way == 0, way == 1 ? "AlwaysAllow" : "");
        run_for(c, 40 * NSEC_PER_SEC);
        assert_true(decisions > 0);
        cluster_free(c);
        store_free(budgets);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cooldown_that_ends_is_noticed),
        cmocka_unit_test(who_may_have_nobody_evicted_is_told),
        cmocka_unit_test(budgets_that_let_go_are_noticed),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
