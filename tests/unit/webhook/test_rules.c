/*
 * The small parts that rules are made of: names at their limits, collected problems, options.
 */
#include "testing.h"

#include "base/arena.h"
#include "base/timefmt.h"
#include "webhook/options.h"
#include "webhook/rules/naming.h"
#include "webhook/rules/problems.h"

static struct str letters(char *text, size_t n)
{
    memset(text, 'a', n);
    return str_make(text, n);
}

static void test_names(void **state)
{
    (void)state;
    char text[300];
    assert_null(naming_qualified(letters(text, 63)));
    assert_non_null(naming_qualified(letters(text, 64)));
    assert_null(naming_service(letters(text, 63)));
    assert_non_null(naming_service(letters(text, 64)));
    assert_null(naming_subdomain(letters(text, 253)));
    assert_non_null(naming_subdomain(letters(text, 254)));
    assert_null(naming_qualified(STR("A_b.c-9")));
    assert_non_null(naming_qualified(STR("")));
    assert_non_null(naming_qualified(STR("-a")));
    assert_non_null(naming_qualified(STR("a.")));
    assert_non_null(naming_qualified(STR("a\0b")));
    assert_null(naming_service(STR("a-9")));
    assert_non_null(naming_service(STR("9a")));
    assert_non_null(naming_service(STR("a.b")));
    assert_non_null(naming_service(STR("aB")));
    assert_non_null(naming_service(STR("a-")));
    assert_null(naming_subdomain(STR("9.a-b.c")));
    assert_non_null(naming_subdomain(STR("a..b")));
    assert_non_null(naming_subdomain(STR("a.")));
    assert_non_null(naming_subdomain(STR(".a")));
    assert_non_null(naming_subdomain(STR("A")));
    assert_non_null(naming_subdomain(STR("")));
}

static void test_problems(void **state)
{
    (void)state;
    struct problems problems = PROBLEMS_INIT;
    struct buf text = BUF_INIT(65536);
    problem_state(&problems, "a;");
    assert_false(problems.invalid);
    problem_invalid(&problems, "b");
    problem_more(&problems, " and c");
    problem_state(&problems, "d");
    assert_true(problems.invalid);
    problems_write(&problems, &text);
    assert_str(buf_str(&text), "a; b and c; d");
    problems_clear(&problems);
    buf_clear(&text);
}

static void test_too_many_problems(void **state)
{
    (void)state;
    struct problems problems = PROBLEMS_INIT;
    struct buf text = BUF_INIT(65536);
    char line[1024];
    (void)letters(line, 1023);
    line[1022] = '\0'; /* 1,022 and "; ": eight fill the text but for the last separator */
    for (int i = 0; i < 8; i++)
        problem_invalid(&problems, "%s", line);
    assert_int_equal(problems.dropped, 0);
    assert_int_equal(problems.text.n, PROBLEMS_TEXT_MAX - 2);
    problem_invalid(&problems, "x");
    problem_invalid(&problems, "y");
    problem_more(&problems, "z");
    problems_write(&problems, &text);
    assert_true(str_ends(buf_str(&text), STR("aaa; and 2 more")));
    problems_clear(&problems);
    buf_clear(&text);
}

static struct webhook_options good_options(void)
{
    struct webhook_options options = webhook_options;
    options.webhook_namespace = "ns";
    options.webhook_service_name = "svc";
    return options;
}

static void assert_bad(const struct webhook_options *options, const char *flag)
{
    struct error err = ERROR_INIT;
    assert_int_equal(webhook_options_check(options, &err), -1);
    assert_non_null(strstr(err.text, flag));
}

static void test_options(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct webhook_options o = good_options();
    assert_int_equal(webhook_options_check(&o, &err), 0);
    o.port = 65535;
    assert_int_equal(webhook_options_check(&o, &err), 0);
    o.port = 65536;
    assert_bad(&o, "--port");
    o.port = 0;
    assert_bad(&o, "--port");
    o = good_options();
    o.webhook_namespace = o.webhook_service_name = "";
    assert_bad(&o, "--webhook-url");
    o = good_options();
    o.tls_cert_file = "x";
    assert_bad(&o, "--tls-private-key-file");
    o = good_options();
    o.ca_cert_file = "x";
    assert_bad(&o, "--ca-cert-file");
    o = good_options();
    o.webhook_failure_policy = "Maybe";
    assert_bad(&o, "--webhook-failure-policy");
    o = good_options();
    o.webhook_timeout_seconds = 31;
    assert_bad(&o, "--webhook-timeout-seconds");
    o = good_options();
    o.request_timeout_ns = NSEC_PER_SEC - 1;
    assert_bad(&o, "--request-timeout");
    o = good_options();
    o.scheduler_names.items[0] = "";
    assert_bad(&o, "--scheduler-name");
}

static void test_certificate_flags(void **state)
{
    (void)state;
    const int64_t second = NSEC_PER_SEC, hour = 3600 * NSEC_PER_SEC;
    struct error err = ERROR_INIT;
    struct webhook_options o = good_options();
    o.client_allowed_names = (struct flag_strings){.items = {"x"}, .n = 1};
    assert_bad(&o, "--client-allowed-names needs --client-ca-file");
    o.client_ca_file = "x";
    assert_int_equal(webhook_options_check(&o, &err), 0);
    /* Four times the interval: 30 s from the Secret, 10 s from files, or what a flag says. */
    o.ca_overlap_ns = 120 * second;
    assert_int_equal(webhook_options_check(&o, &err), 0);
    o.ca_overlap_ns--;
    assert_bad(&o, "--ca-overlap");
    o.tls_cert_file = o.tls_private_key_file = "x";
    o.ca_overlap_ns = 40 * second;
    assert_int_equal(webhook_options_check(&o, &err), 0);
    o.ca_overlap_ns--;
    assert_bad(&o, "--ca-overlap");
    o.cert_check_interval_ns = second;
    o.ca_overlap_ns = 4 * second;
    assert_int_equal(webhook_options_check(&o, &err), 0);
    o.ca_overlap_ns--;
    assert_bad(&o, "--ca-overlap");
    o.ca_overlap_ns = 720 * hour;
    assert_int_equal(webhook_options_check(&o, &err), 0);
    o.ca_overlap_ns++;
    assert_bad(&o, "--ca-overlap");
}

static void test_certificate_names(void **state)
{
    (void)state;
    struct arena arena = ARENA_INIT;
    struct error err = ERROR_INIT;
    struct cert_names names;
    struct webhook_options o = good_options();
    o.webhook_url = "https://127.0.0.1:8443/x";
    o.extra_sans = (struct flag_strings){.items = {"extra.test", "svc"}, .n = 2};
    assert_int_equal(webhook_options_names(&o, &arena, &names, &err), 0);
    const char *const want[] = {
        "svc.ns.svc", "127.0.0.1", "svc", "svc.ns", "svc.ns.svc.cluster.local", "extra.test"};
    assert_int_equal(names.n, ARRAY_SIZE(want));
    assert_int_equal(names.needed, 2);
    for (size_t i = 0; i < names.n; i++)
        assert_string_equal(names.items[i], want[i]);
    o.webhook_url = "https://[::1]:8443";
    assert_int_equal(webhook_options_names(&o, &arena, &names, &err), 0);
    assert_string_equal(names.items[1], "::1");
    o.webhook_url = "https://";
    assert_int_equal(webhook_options_names(&o, &arena, &names, &err), -1);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_too_many_problems),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_certificate_flags),
        cmocka_unit_test(test_certificate_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
