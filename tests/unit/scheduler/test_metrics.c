/*
 * The scheduler's metrics as a page shows them.
 */
#include "cluster.h"
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

static void latencies(void **state)
{
    (void)state;
    struct metrics *all = metrics_new();
    struct cluster *c = counted(all);
    add_nodes(c, 2, 1);
    add_gang(c, "a", 2, "1");
    run(c);
    assert_page(all, "volcano_task_scheduling_latency_milliseconds_count{stage=\"Bound\"} 2\n",
                true);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_that_wait),
        cmocka_unit_test(latencies),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
