/* Prometheus metrics: the exact text, escaping, histograms, removal, and counting from threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/metrics.h"
#include <cmocka.h>
#include <math.h>
#include <pthread.h>

#define LABELS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void assert_prints(struct metrics *metrics, const char *want)
{
    struct buf out cleanup_buf = BUF_INIT(65536);
    metrics_print(metrics, &out);
    assert_string_equal(out.n ? out.p : "", want);
}

static void test_counters_and_gauges_in_order_of_creation(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_new();
    assert_prints(metrics, "");
    struct metric *z = metric_new(metrics, METRIC_COUNTER, "z_total", "Things.", LABELS("a", "b"));
    struct metric *a = metric_new(metrics, METRIC_GAUGE, "a_now", "Level.", NULL);
    assert_prints(metrics, "# HELP z_total Things.\n# TYPE z_total counter\n"
                           "# HELP a_now Level.\n# TYPE a_now gauge\na_now 0\n");
    metric_add(z, LABELS("y", "2"), 1);
    metric_add(z, LABELS("x"), 2); /* the missing value is "" */
    metric_add(z, LABELS("y", "2"), 1.5);
    metric_set(a, NULL, -3);
    assert_prints(metrics, "# HELP z_total Things.\n"
                           "# TYPE z_total counter\n"
                           "z_total{a=\"y\",b=\"2\"} 2.5\n"
                           "z_total{a=\"x\",b=\"\"} 2\n"
                           "# HELP a_now Level.\n"
                           "# TYPE a_now gauge\n"
                           "a_now -3\n");
    assert_true(fabs(metric_value(z, LABELS("y", "2")) - 2.5) < 1e-9);
    assert_true(metric_value(z, LABELS("absent", "")) == 0);
    metric_remove(z, LABELS("y", "2"));
    metric_remove(z, LABELS("y", "2")); /* gone already: harmless */
    assert_prints(metrics, "# HELP z_total Things.\n"
                           "# TYPE z_total counter\n"
                           "z_total{a=\"x\",b=\"\"} 2\n"
                           "# HELP a_now Level.\n"
                           "# TYPE a_now gauge\n"
                           "a_now -3\n");
    metrics_free(metrics);
}

static void test_numbers_are_short_and_exact(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.1, "m 0.1\n"},
        {1e6, "m 1000000\n"},
        {1700000000.25, "m 1700000000.25\n"},
        {1.0 / 3, "m 0.3333333333333333\n"},
        {1e300, "m 1e+300\n"},
        {-0.5, "m -0.5\n"},
        {NAN, "m NaN\n"},
        {INFINITY, "m +Inf\n"},
        {-INFINITY, "m -Inf\n"},
    };
    struct metrics *metrics = metrics_new();
    struct metric *metric = metric_new(metrics, METRIC_GAUGE, "m", "h", NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        metric_set(metric, NULL, cases[i].value);
        struct buf out cleanup_buf = BUF_INIT(4096);
        metrics_print(metrics, &out);
        assert_string_equal(strrchr(out.p, 'm'), cases[i].text);
    }
    metrics_free(metrics);
}

static void test_help_and_label_values_are_escaped(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_new();
    struct metric *metric = metric_new(metrics, METRIC_GAUGE, "m", "a \\ b\n\"c\"", LABELS("path"));
    metric_set(metric, LABELS("C:\\x\n\"q\""), 1);
    assert_prints(metrics, "# HELP m a \\\\ b\\n\"c\"\n"
                           "# TYPE m gauge\n"
                           "m{path=\"C:\\\\x\\n\\\"q\\\"\"} 1\n");
    metrics_free(metrics);
}

static void test_label_values_do_not_run_together(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_new();
    struct metric *metric = metric_new(metrics, METRIC_COUNTER, "m", "h", LABELS("a", "b"));
    metric_add(metric, LABELS("x", "yz"), 1);
    metric_add(metric, LABELS("xy", "z"), 2);
    assert_true(metric_value(metric, LABELS("x", "yz")) == 1);
    assert_true(metric_value(metric, LABELS("xy", "z")) == 2);
    metrics_free(metrics);
}

static void test_histogram_buckets_are_cumulative_and_include_their_bound(void **state)
{
    (void)state;
    static const double bounds[] = {0.5, 1, 10};
    struct metrics *metrics = metrics_new();
    struct metric *plain = metric_new(metrics, METRIC_HISTOGRAM, "t_ms", "Time.", NULL);
    struct metric *labelled = metric_new(metrics, METRIC_HISTOGRAM, "u_ms", "U.", LABELS("k"));
    metric_buckets(plain, bounds, 3);
    metric_observe(plain, NULL, 0.5);
    metric_observe(plain, NULL, 0.75);
    metric_observe(plain, NULL, 11);
    metric_observe(labelled, LABELS("v"), 4);
    assert_true(metric_value(plain, NULL) == 3);
    assert_prints(metrics, "# HELP t_ms Time.\n"
                           "# TYPE t_ms histogram\n"
                           "t_ms_bucket{le=\"0.5\"} 1\n"
                           "t_ms_bucket{le=\"1\"} 2\n"
                           "t_ms_bucket{le=\"10\"} 2\n"
                           "t_ms_bucket{le=\"+Inf\"} 3\n"
                           "t_ms_sum 12.25\n"
                           "t_ms_count 3\n"
                           "# HELP u_ms U.\n"
                           "# TYPE u_ms histogram\n"
                           "u_ms_bucket{k=\"v\",le=\"+Inf\"} 1\n"
                           "u_ms_sum{k=\"v\"} 4\n"
                           "u_ms_count{k=\"v\"} 1\n");
    metrics_free(metrics);
}

static void bring_up_to_date(void *arg)
{
    metric_add(arg, NULL, 1);
}

static void test_collectors_run_before_every_print(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_new();
    struct metric *metric = metric_new(metrics, METRIC_GAUGE, "m", "h", NULL);
    metrics_on_collect(metrics, bring_up_to_date, metric);
    assert_prints(metrics, "# HELP m h\n# TYPE m gauge\nm 1\n");
    assert_prints(metrics, "# HELP m h\n# TYPE m gauge\nm 2\n");
    metrics_free(metrics);
    metrics_free(NULL);
}

#define THREADS 4
#define ADDITIONS 2000 /* of each thread to each of two series */

static void *count_up(void *arg)
{
    for (int i = 0; i < 2 * ADDITIONS; i++)
        metric_add(arg, LABELS(i % 2 ? "odd" : "even"), 1);
    return NULL;
}

static void test_threads_may_count(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_new();
    struct metric *metric = metric_new(metrics, METRIC_COUNTER, "m", "h", LABELS("k"));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, metric), 0);
    struct buf out cleanup_buf = BUF_INIT(4096);
    metrics_print(metrics, &out); /* while they count */
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(metric_value(metric, LABELS("odd")) == THREADS * ADDITIONS);
    assert_true(metric_value(metric, LABELS("even")) == THREADS * ADDITIONS);
    metrics_free(metrics);
}

static void test_series_are_cleared(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_new();
    struct metric *metric = metric_new(metrics, METRIC_GAUGE, "m", "h", LABELS("k"));
    metric_clear(metric);
    metric_set(metric, LABELS("a"), 1);
    metric_set(metric, LABELS("b"), 2);
    metric_clear(metric);
    assert_prints(metrics, "# HELP m h\n# TYPE m gauge\n");
    metric_set(metric, LABELS("b"), 3);
    assert_prints(metrics, "# HELP m h\n# TYPE m gauge\nm{k=\"b\"} 3\n");
    metrics_free(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counters_and_gauges_in_order_of_creation),
        cmocka_unit_test(test_numbers_are_short_and_exact),
        cmocka_unit_test(test_help_and_label_values_are_escaped),
        cmocka_unit_test(test_label_values_do_not_run_together),
        cmocka_unit_test(test_histogram_buckets_are_cumulative_and_include_their_bound),
        cmocka_unit_test(test_collectors_run_before_every_print),
        cmocka_unit_test(test_threads_may_count),
        cmocka_unit_test(test_series_are_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
