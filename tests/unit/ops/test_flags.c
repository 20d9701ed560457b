/* Command-line flags: every form of every type, errors that name the flag, notices, --help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/timefmt.h"
#include "ops/flags.h"
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct values {
    bool healthz, metrics, help;
    int64_t verbosity, threads, period;
    double qps;
    const char *kubeconfig;
    struct flag_strings schedulers;
};

/* Parses `argv` (NULL-ended, without the program); fills `values`, the error and the log. */
static char log_text[4096];

static int parse(struct values *values, struct error *err, const char *const *args)
{
    *values = (struct values){.metrics = true, .threads = 3, .kubeconfig = ""};
    values->schedulers = (struct flag_strings){.items = {"volcano"}, .n = 1};
    const struct flag own[] = {
        {"worker-threads", 0, FLAG_INT, &values->threads, "Number of threads."},
        {"scheduler-name", 0, FLAG_STRINGS, &values->schedulers, "Whose jobs."},
        {"schedule-period", 0, FLAG_DURATION, &values->period, "Between cycles."},
        {"logtostderr", 0, FLAG_IGNORED_BOOL, NULL, "logs go to standard error"},
        {"vmodule", 0, FLAG_IGNORED, NULL, "there is one level for all"},
        {0},
    };
    const struct flag common[] = {
        {"v", 'v', FLAG_INT, &values->verbosity, "Verbosity."},
        {"help", 'h', FLAG_BOOL, &values->help, "This text."},
        {"enable-healthz", 'z', FLAG_BOOL, &values->healthz, "Health."},
        {"enable-metrics", 0, FLAG_BOOL, &values->metrics, "Metrics."},
        {"kube-api-qps", 0, FLAG_DOUBLE, &values->qps, "Rate."},
        {"kubeconfig", 'k', FLAG_STRING, &values->kubeconfig, "File."},
        {"worker-threads", 0, FLAG_BOOL, &values->healthz, "Hidden by the first table."},
        {0},
    };
    const struct flag *const tables[] = {own, common};
    char *argv[64] = {(char[]){"program"}};
    int argc = 1;
    for (; args[argc - 1]; argc++)
        argv[argc] = strdup(args[argc - 1]);
    int log_fd = memfd_create("log", MFD_CLOEXEC);
    log_set_fd(log_fd);
    int rc = flags_parse(argc, argv, tables, 2, err);
    log_set_fd(STDERR_FILENO);
    ssize_t n = pread(log_fd, log_text, sizeof(log_text) - 1, 0);
    log_text[n > 0 ? n : 0] = '\0';
    close(log_fd);
    static char kept[64][64]; /* strings are borrowed from argv: keep what is looked at */
    for (size_t i = 0; i < values->schedulers.n; i++) {
        snprintf(kept[i], sizeof(kept[i]), "%s", values->schedulers.items[i]);
        values->schedulers.items[i] = kept[i];
    }
    snprintf(kept[63], sizeof(kept[63]), "%s", values->kubeconfig);
    values->kubeconfig = kept[63];
    for (int i = 1; i < argc; i++)
        free(argv[i]);
    return rc;
}

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_without_arguments_defaults_stay(void **state)
{
    (void)state;
    struct values values;
    const char *none = NULL;
    assert_int_equal(parse(&values, NULL, &none), 0);
    assert_true(values.metrics);
    assert_false(values.healthz);
    assert_int_equal(values.threads, 3);
    assert_int_equal(values.schedulers.n, 1);
    assert_false(values.schedulers.set);
    assert_string_equal(values.schedulers.items[0], "volcano");
    assert_string_equal(log_text, "");
}

static void test_long_forms_of_every_type(void **state)
{
    (void)state;
    struct values values;
    assert_int_equal(parse(&values, NULL,
                           ARGS("--enable-healthz", "--enable-metrics=false", "--worker-threads=-7",
                                "--kube-api-qps", "2.5", "--kubeconfig=/a=b", "--schedule-period",
                                "1m30s", "--v=4")),
                     0);
    assert_true(values.healthz);
    assert_false(values.metrics);
    assert_int_equal(values.threads, -7);
    assert_true(values.qps > 2.49 && values.qps < 2.51);
    assert_string_equal(values.kubeconfig, "/a=b");
    assert_int_equal(values.period, 90 * NSEC_PER_SEC);
    assert_int_equal(values.verbosity, 4);
}

static void test_a_value_may_look_like_a_flag_or_be_empty(void **state)
{
    (void)state;
    struct values values;
    assert_int_equal(parse(&values, NULL, ARGS("--worker-threads", "-2", "--kubeconfig", "--v")),
                     0);
    assert_int_equal(values.threads, -2);
    assert_string_equal(values.kubeconfig, "--v");
    assert_int_equal(parse(&values, NULL, ARGS("--kubeconfig=", "--v=1")), 0);
    assert_string_equal(values.kubeconfig, "");
    assert_int_equal(values.verbosity, 1);
}

static void test_short_forms(void **state)
{
    (void)state;
    struct values values;
    const char *const forms[][3] = {{"-v=5", NULL}, {"-v5", NULL}, {"-v", "5", NULL}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(parse(&values, NULL, forms[i]), 0);
        assert_int_equal(values.verbosity, 5);
    }
    assert_int_equal(parse(&values, NULL, ARGS("-hzv3")), 0);
    assert_true(values.help && values.healthz);
    assert_int_equal(values.verbosity, 3);
    assert_int_equal(parse(&values, NULL, ARGS("-h=false", "-z=true")), 0);
    assert_false(values.help);
    assert_true(values.healthz);
}

static void test_dashes_and_underscores_are_alike(void **state)
{
    (void)state;
    struct values values;
    assert_int_equal(parse(&values, NULL, ARGS("--worker_threads=9", "--kube_api-qps=1")), 0);
    assert_int_equal(values.threads, 9);
    assert_true(values.qps > 0.9);
}

static void test_a_bool_takes_no_argument_of_its_own(void **state)
{
    (void)state;
    struct values values;
    assert_int_equal(parse(&values, NULL, ARGS("--enable-metrics", "false")), 0);
    assert_true(values.metrics);
    assert_non_null(strstr(log_text, "first=\"false\""));
}

static void test_repeated_strings_replace_the_default(void **state)
{
    (void)state;
    struct values values;
    assert_int_equal(parse(&values, NULL, ARGS("--scheduler-name=a,b", "--scheduler-name", "c")),
                     0);
    assert_int_equal(values.schedulers.n, 2);
    assert_true(values.schedulers.set);
    assert_string_equal(values.schedulers.items[0], "a,b");
    assert_string_equal(values.schedulers.items[1], "c");
}

static void test_number_of_strings_is_limited(void **state)
{
    (void)state;
    struct values values;
    struct error err = ERROR_INIT;
    const char *args[FLAG_STRINGS_MAX + 2] = {0};
    for (size_t i = 0; i < FLAG_STRINGS_MAX; i++)
        args[i] = "--scheduler-name=x";
    assert_int_equal(parse(&values, &err, args), 0);
    assert_int_equal(values.schedulers.n, FLAG_STRINGS_MAX);
    args[FLAG_STRINGS_MAX] = "--scheduler-name=x";
    assert_int_equal(parse(&values, &err, args), -1);
    assert_int_equal(err.cls, ERROR_LIMIT);
    assert_string_equal(err.text, "flag --scheduler-name: given more than 32 times");
}

static void test_stray_arguments_are_ignored_with_one_notice(void **state)
{
    (void)state;
    struct values values;
    assert_int_equal(
        parse(&values, NULL, ARGS("2>&1", "-", "--v=2", "more", "--", "--no-such-flag")), 0);
    assert_int_equal(values.verbosity, 2);
    const char *notice = strstr(log_text, "first=\"2>&1\"");
    assert_non_null(notice);
    assert_null(strstr(notice + 1, "first="));
}

static void test_ignored_flags_give_a_notice_and_swallow_what_is_theirs(void **state)
{
    (void)state;
    struct values values;
    assert_int_equal(parse(&values, NULL, ARGS("--logtostderr", "--v=1", "--vmodule", "--v=9")), 0);
    assert_int_equal(values.verbosity, 1); /* --v=9 was the value of --vmodule */
    assert_non_null(strstr(log_text, "flag=--logtostderr reason=\"logs go to standard error\""));
    assert_non_null(strstr(log_text, "flag=--vmodule reason=\"there is one level for all\""));
    assert_int_equal(parse(&values, NULL, ARGS("--logtostderr=false", "--vmodule=a=2", "-v", "3")),
                     0);
    assert_int_equal(values.verbosity, 3);
}

static void test_errors_name_the_flag_and_the_value(void **state)
{
    (void)state;
    static const struct {
        const char *arg, *text;
    } cases[] = {
        {"--nonsense=1", "unknown flag --nonsense (--help lists the flags)"},
        {"--enable", "unknown flag --enable (--help lists the flags)"},
        {"-x", "unknown flag -x (--help lists the flags)"},
        {"-zx", "unknown flag -x (--help lists the flags)"},
        {"--=1", "unknown flag -- (--help lists the flags)"},
        {"--enable-healthz=maybe", "flag --enable-healthz: \"maybe\" is not true or false"},
        {"--worker-threads=3.5", "flag --worker-threads: \"3.5\" is not a whole number"},
        {"--worker-threads=9223372036854775808",
         "flag --worker-threads: \"9223372036854775808\" is not a whole number"},
        {"--worker-threads=", "flag --worker-threads: \"\" is not a whole number"},
        {"--kube-api-qps=fast", "flag --kube-api-qps: \"fast\" is not a number"},
        {"--schedule-period=5",
         "flag --schedule-period: \"5\" is not a duration such as 15s or 1m30s"},
        {"--kubeconfig", "flag --kubeconfig needs a value"},
        {"--vmodule", "flag --vmodule needs a value"},
        {"-v", "flag --v needs a value"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct values values;
        struct error err = ERROR_INIT;
        assert_int_equal(parse(&values, &err, ARGS(cases[i].arg)), -1);
        assert_int_equal(err.cls, ERROR_INVALID);
        assert_string_equal(err.text, cases[i].text);
    }
}

static void test_usage_lists_flags_with_defaults_and_the_ignored_apart(void **state)
{
    (void)state;
    int64_t threads = 3, period = 90 * NSEC_PER_SEC;
    bool on = true;
    double qps = 0.5;
    const char *text = "x", *empty = NULL;
    struct flag_strings names = {.items = {"a", "b"}, .n = 2};
    const struct flag table[] = {
        {"old", 0, FLAG_IGNORED, NULL, "no longer needed"},
        {"threads", 't', FLAG_INT, &threads, "Threads."},
        {"on", 0, FLAG_BOOL, &on, "Switch."},
        {"qps", 0, FLAG_DOUBLE, &qps, "Rate."},
        {"period", 0, FLAG_DURATION, &period, "Time."},
        {"text", 0, FLAG_STRING, &text, "Text."},
        {"empty", 0, FLAG_STRING, &empty, "Nothing."},
        {"names", 0, FLAG_STRINGS, &names, "Names."},
        {0},
    };
    const struct flag *const tables[] = {table};
    struct buf out cleanup_buf = BUF_INIT(4096);
    flags_usage(&out, "prog", tables, 1);
    assert_string_equal(out.p, "Usage: prog [flags]\n\nFlags:\n"
                               "  -t, --threads INT\n          Threads. (default 3)\n"
                               "      --on\n          Switch. (default true)\n"
                               "      --qps NUMBER\n          Rate. (default 0.5)\n"
                               "      --period DURATION\n          Time. (default 1m30s)\n"
                               "      --text STRING\n          Text. (default \"x\")\n"
                               "      --empty STRING\n          Nothing.\n"
                               "      --names STRING ...\n          Names. (default \"a\", \"b\")\n"
                               "\nAccepted for compatibility, without effect:\n"
                               "      --old STRING\n          no longer needed\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_arguments_defaults_stay),
        cmocka_unit_test(test_long_forms_of_every_type),
        cmocka_unit_test(test_a_value_may_look_like_a_flag_or_be_empty),
        cmocka_unit_test(test_short_forms),
        cmocka_unit_test(test_dashes_and_underscores_are_alike),
        cmocka_unit_test(test_a_bool_takes_no_argument_of_its_own),
        cmocka_unit_test(test_repeated_strings_replace_the_default),
        cmocka_unit_test(test_number_of_strings_is_limited),
        cmocka_unit_test(test_stray_arguments_are_ignored_with_one_notice),
        cmocka_unit_test(test_ignored_flags_give_a_notice_and_swallow_what_is_theirs),
        cmocka_unit_test(test_errors_name_the_flag_and_the_value),
        cmocka_unit_test(test_usage_lists_flags_with_defaults_and_the_ignored_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
