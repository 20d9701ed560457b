/*
 * The scheduler's metrics as a page shows them.
 */
#include "cluster.h"
#include "scheduler/job_metrics.h"
#include "scheduler/metrics.h"

static void assert_page(struct metrics *all, const char *text, bool present)
{
    cleanup_buf struct buf page = BUF_INIT(1 << 20);
    metrics_print(all, &page);
    if ((str_find(buf_str(&page), str_of(text)) >= 0) != present)
        fail_msg("\"%s\" is %s in %s", text, present ? "not" : "there", page.p);
}

/* A cluster whose scheduler counts. */
static struct cluster *counted(struct metrics *all)
{
    struct cluster *c = cluster_new(NULL);
    c->scheduler->params.metrics = all;
    c->scheduler->metrics = metrics_start(c->scheduler);
    return c;
}

static void jobs_that_wait(void **state)
{
    (void)state;
    struct metrics *all = metrics_new();
    struct cluster *c = counted(all);
    add_nodes(c, 2, 1);
    add_gang(c, "a", 3, "1");
    run(c);
    assert_page(all, "volcano_unschedule_task_count{job_id=\"ns/a\"} 3\n", true);
    assert_page(all, "volcano_unschedule_job_count 1\n", true);
    assert_page(all, "volcano_job_retry_counts{job_id=\"ns/a\"} ", true);
    add_node(c, "n2", 1);
    run(c);
    assert_page(all, "job_id=\"ns/a\"", false);
    assert_page(all, "volcano_unschedule_job_count 0\n", true);
    assert_page(all, "volcano_schedule_attempts_total{result=\"scheduled\"} 3\n", true);
    add_gang(c, "b", 1, "1");
    run(c);
    assert_page(all, "job_id=\"ns/b\"", true);
    scheduler_lead(c->scheduler, false);
    assert_page(all, "job_id=\"ns/b\"", false);
    cluster_free(c);
    metrics_free(all);
}

/* Those of the reference, by the same names and labels, for as long as there is a PodGroup. */
static void jobs_and_namespaces(void **state)
{
    (void)state;
    struct metrics *all = metrics_new();
    struct cluster *c = counted(all);
    add_nodes(c, 4, 1);
    struct test_group *a = add_group_meta(c, "a", ",\"creationTimestamp\":\"2025-11-24T16:00:00Z\"",
                                          "\"minMember\":2");
    add_pods(c, "a", "w", 2, "1");
    struct test_group *b = add_group_meta(c, "b", ",\"creationTimestamp\":\"2025-11-24T15:00:00Z\"",
                                          "\"minMember\":9");
    run_for(c, NSEC_PER_SEC);
#define LABELS(name) "{job_name=\"" name "\",queue=\"default\",job_namespace=\"ns\"} "
    assert_page(all, "volcano_e2e_job_scheduling_start_time" LABELS("a") "1764000000\n", true);
    assert_page(all, "volcano_e2e_job_scheduling_last_time" LABELS("a") "1764000000\n", true);
    assert_page(all, "volcano_e2e_job_scheduling_duration" LABELS("a"), true);
    assert_page(all, "volcano_job_share{job_ns=\"ns\",job_id=\"a\"} 0.5\n", true);
    assert_page(all, "volcano_namespace_share{namespace_name=\"ns\"} 0.5\n", true);
    assert_page(all, "volcano_namespace_weight{namespace_name=\"ns\"} 1\n", true);
    assert_page(all, "volcano_namespace_weighted_share{namespace_name=\"ns\"} 0.5\n", true);
    assert_page(all, "volcano_e2e_job_scheduling_start_time" LABELS("b") "1763996400\n", true);
    assert_page(all, "volcano_e2e_job_scheduling_last_time" LABELS("b"), false);
    assert_page(all, "job_id=\"b\"} 0", false);
    b->gone = true;
    show_group(c, b);
    set_phase(c, "a", "Succeeded");
    run_for(c, NSEC_PER_SEC);
    assert_page(all, "job_name=\"b\"", false);
    assert_page(all, "namespace_name=\"ns\"", false); /* nothing of it holds anything */
    assert_page(all, "volcano_job_share{", false);
    a->gone = true;
    show_group(c, a);
    run_for(c, NSEC_PER_SEC);
    assert_page(all, "job_name=\"a\"", false);
    cluster_free(c);
    metrics_free(all);
}

static unsigned lines_with(struct metrics *all, const char *text)
{
    cleanup_buf struct buf page = BUF_INIT(1 << 22);
    unsigned count = 0;
    metrics_print(all, &page);
    for (const char *at = page.p; (at = strstr(at, text)); at++)
        count++;
    return count;
}

/* More jobs than series: those that wait longest, and those that came last. */
static void series_are_bounded(void **state)
{
    (void)state;
    struct metrics *all = metrics_new();
    struct cluster *c = counted(all);
    for (unsigned i = 0; i < JOB_METRICS_MAX + 5; i++) {
        cleanup_free char *name = xasprintf("j%04u", i);
        add_group(c, name, "\"minMember\":1,\"minResources\":{\"cpu\":\"1\"}");
    }
    run(c);
    assert_int_equal(lines_with(all, "volcano_unschedule_task_count{"), JOB_METRICS_MAX);
    assert_int_equal(lines_with(all, "volcano_e2e_job_scheduling_start_time{"), JOB_METRICS_MAX);
    assert_page(all, "volcano_unschedule_task_count{job_id=\"ns/j0000\"} 0\n", true);
    assert_page(all, "volcano_unschedule_task_count{job_id=\"ns/j1004\"}", false);
    assert_page(all, "volcano_e2e_job_scheduling_start_time" LABELS("j1004"), true);
    assert_page(all, "volcano_e2e_job_scheduling_start_time" LABELS("j0000"), false);
    assert_page(all, "pumice_scheduler_jobs_without_series 5\n", true);
    assert_page(all, "volcano_unschedule_job_count 1005\n", true);
    cluster_free(c);
    metrics_free(all);
}

static void latencies(void **state)
{
    (void)state;
    struct metrics *all = metrics_new();
    struct cluster *c = counted(all);
    add_nodes(c, 2, 1);
    run(c); /* pods that are there at the start are not news */
    add_gang(c, "a", 2, "1");
    run(c);
    assert_page(all, "volcano_task_scheduling_latency_milliseconds_count{stage=\"Bound\"} 2\n",
                true);
    static const char *const stages[] = {"Watched", "Assumed", "PreBound"};
    for (size_t i = 0; i < ARRAY_SIZE(stages); i++) {
        cleanup_free char *line = xasprintf(
            "volcano_task_scheduling_latency_milliseconds_count{stage=\"%s\"} 2\n", stages[i]);
        assert_page(all, line, true);
    }
    assert_page(all, "volcano_scheduling_stage_duration_milliseconds_count{stage=\"PreBind\"} 2\n",
                true);
    assert_page(all, "volcano_scheduling_stage_duration_milliseconds_count{stage=\"Bind\"} 2\n",
                true);
    assert_page(
        all, "volcano_scheduling_stage_duration_milliseconds_count{stage=\"Predicate\"} 1\n", true);
    assert_page(all, "volcano_e2e_job_scheduling_latency_milliseconds_count 1\n", true);
    cleanup_free char *actions = xasprintf(
        "volcano_action_scheduling_latency_milliseconds_count{action=\"allocate\"} %llu\n",
        (unsigned long long)c->scheduler->cycle.number);
    assert_page(all, actions, true);
    cleanup_free char *plugins = xasprintf(
        "volcano_plugin_scheduling_latency_milliseconds_count{plugin=\"overcommit\",OnSession="
        "\"OnSessionOpen\"} %llu\n",
        (unsigned long long)c->scheduler->cycle.number);
    assert_page(all, plugins, true);
    cluster_free(c);
    metrics_free(all);
}

/* Batch jobs wait for hours: how many is to be told, too. */
static void waits_of_hours_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *created;
        const char *first, *before; /* bound that counts it, and the last that does not */
    } cases[] = {
        {"2025-11-24T15:30:00Z", "3600000", "600000"},
        {"2025-11-24T13:00:00Z", "14400000", "3600000"},
        {"2025-11-23T20:00:00Z", "86400000", "14400000"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct metrics *all = metrics_new();
        struct cluster *c = counted(all);
        cleanup_free char *meta = xasprintf(",\"creationTimestamp\":\"%s\"", cases[i].created);
        add_nodes(c, 1, 1);
        (void)add_group_meta(c, "a", meta, "\"minMember\":1");
        add_pods(c, "a", "w", 1, "1");
        run(c);
#define BUCKET "volcano_e2e_job_scheduling_latency_milliseconds_bucket{le=\"%s\"} %d\n"
        cleanup_free char *before = xasprintf(BUCKET, cases[i].before, 0);
        cleanup_free char *first = xasprintf(BUCKET, cases[i].first, 1);
        assert_page(all, before, true);
        assert_page(all, first, true);
        cluster_free(c);
        metrics_free(all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_that_wait),
        cmocka_unit_test(jobs_and_namespaces),
        cmocka_unit_test(series_are_bounded),
        cmocka_unit_test(latencies),
        cmocka_unit_test(waits_of_hours_are_told_apart),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
