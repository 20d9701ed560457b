/*
 * The rules for names: for each the forms that are right, those that are not, and its lengths at
 * the limit and one past it.
 */
#include "testing.h"

#include "webhook/rules/naming.h"

struct name_case {
    const char *name;
    bool good;
};

static void check_names(const char *(*rule)(struct str name), const struct name_case *cases,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *reason = rule(str_of(cases[i].name));
        if ((reason == NULL) != cases[i].good)
            print_error("\"%s\": %s\n", cases[i].name, reason ? reason : "right");
        assert_int_equal(reason == NULL, cases[i].good);
        if (reason)
            assert_true(*reason);
    }
}

#define CHECK_NAMES(rule, ...)                                                                     \
    do {                                                                                           \
        static const struct name_case cases[] = {__VA_ARGS__};                                     \
        check_names(rule, cases, ARRAY_SIZE(cases));                                               \
    } while (0)

/* `n` letters right, one more wrong, with `before` in front. */
static void check_limit(const char *(*rule)(struct str name), const char *before, size_t n)
{
    char text[1024];
    const size_t start = strlen(before);
    memset(text, 'a', sizeof(text));
    memcpy(text, before, start);
    assert_null(rule(str_make(text, start + n)));
    assert_non_null(rule(str_make(text, start + n + 1)));
}

static void test_lengths(void **state)
{
    (void)state;
    check_limit(naming_qualified, "", 63);
    check_limit(naming_service, "", 63);
    check_limit(naming_subdomain, "", 253);
    check_limit(naming_search_domain, "_", 252);
    check_limit(naming_label, "", 63);
    check_limit(naming_key, "", 63);
    check_limit(naming_key, "example.com/", 63);
    check_limit(naming_annotation_key, "Example.com/", 63);
    check_limit(naming_domain_key, "example.com/", 63);
    check_limit(naming_driver, "", 253);
    check_limit(naming_label_value, "", 63);
    check_limit(naming_port, "", 15);
    check_limit(naming_config_key, "", 253);
    check_limit(naming_signer, "example.com/", 253);
    check_limit(naming_trust_bundle, "example.com:signer:", 253);
    check_limit(naming_sysctl, "", 253);
}

static void test_domain_of_keys(void **state)
{
    (void)state;
    char text[300];
    memset(text, 'a', sizeof(text));
    text[253] = '/';
    assert_null(naming_key(str_make(text, 255)));
    assert_null(naming_annotation_key(str_make(text, 255)));
    text[253] = 'a';
    text[254] = '/';
    assert_non_null(naming_key(str_make(text, 256)));
    assert_non_null(naming_annotation_key(str_make(text, 256)));
}

static void test_labels_and_subdomains(void **state)
{
    (void)state;
    CHECK_NAMES(naming_label, {"a", true}, {"9-a", true}, {"", false}, {"A", false}, {"-a", false},
                {"a-", false}, {"a.b", false}, {"a_b", false}, {"\xc3\xa4", false});
    CHECK_NAMES(naming_subdomain, {"a.b-c.9", true}, {"", false}, {"a..b", false}, {".a", false},
                {"a.", false}, {"a.-b", false}, {"a_b", false}, {"A.b", false});
    CHECK_NAMES(naming_search_domain, {"a.b-c.9", true}, {"_a._b", true}, {"a_-_b", true},
                {"", false}, {"_", false}, {"__a", false}, {"a_", false}, {"_-a", false},
                {"a..b", false}, {"a.", false}, {"A", false});
    CHECK_NAMES(naming_service, {"a-9", true}, {"9a", false}, {"", false}, {"a.b", false});
    CHECK_NAMES(naming_driver, {"CSI.Example.com", true}, {"", false}, {"a_b", false});
}

static void test_keys(void **state)
{
    (void)state;
    CHECK_NAMES(naming_key, {"a", true}, {"A_b.c-9", true}, {"example.com/A", true}, {"", false},
                {"/a", false}, {"a/", false}, {"a/b/c", false}, {"Example.com/a", false},
                {"a b", false}, {"-a", false}, {"a.", false}, {"/", false});
    CHECK_NAMES(naming_annotation_key, {"a", true}, {"Example.com/A", true}, {"", false},
                {"Example.com/", false}, {"/a", false}, {"A/b/c", false}, {"A_B/c", false});
    CHECK_NAMES(naming_domain_key, {"Example.com/a", true}, {"a", false}, {"", false},
                {"a/b/c", false});
    CHECK_NAMES(naming_label_value, {"", true}, {"A_b.c-9", true}, {"-", false}, {"a/b", false},
                {"a b", false});
    CHECK_NAMES(naming_config_key, {"a", true}, {".a", true}, {"-", true}, {"", false},
                {".", false}, {"..", false}, {"..a", false}, {"a/b", false});
}

static void test_ports_and_variables(void **state)
{
    (void)state;
    CHECK_NAMES(naming_port, {"http", true}, {"9a", true}, {"a-b", true}, {"", false},
                {"80", false}, {"a--b", false}, {"-a", false}, {"a-", false}, {"A", false});
    CHECK_NAMES(naming_variable, {"PATH", true}, {"_a.b-c", true}, {"1a", true}, {"..a", true},
                {" !\"#~", true}, {"", false}, {"a=b", false}, {"=", false}, {"a\tb", false},
                {"\x1f", false}, {"\x7f", false}, {"\xc3\xa4", false});
}

static void test_signers(void **state)
{
    (void)state;
    char text[600];
    CHECK_NAMES(naming_signer, {"example.com/s", true}, {"a.b/c.d", true}, {"com/s", false},
                {"example.com", false}, {"example.com/", false}, {"/s", false}, {"a.b/c/d", false},
                {"Example.com/s", false}, {"a..b/c", false}, {"a.b/C", false}, {"a.b/c.", false},
                {"a.b/c..d", false}, {"a.b/.c", false});
    /* A label of the domain. */
    memset(text, 'a', sizeof(text));
    memcpy(text + 63, ".b/s", 4);
    assert_null(naming_signer(str_make(text, 67)));
    memset(text, 'a', sizeof(text));
    memcpy(text + 64, ".b/s", 4);
    assert_non_null(naming_signer(str_make(text, 68)));
    /* The whole. */
    memset(text, 'a', sizeof(text));
    memcpy(text, "b.c/", 4);
    text[4 + 253] = text[4 + 253 + 200] = '.';
    assert_null(naming_signer(str_make(text, NAMING_SIGNER_MAX)));
    assert_non_null(naming_signer(str_make(text, NAMING_SIGNER_MAX + 1)));
}

static void test_trust_bundles(void **state)
{
    (void)state;
    CHECK_NAMES(naming_trust_bundle, {"bundle", true}, {"example.com:s:b", true}, {"", false},
                {":b", false}, {"a:", false}, {"a:B", false}, {"a/s:b", false}, {"a/b", false});
}

static void test_sysctls(void **state)
{
    (void)state;
    CHECK_NAMES(naming_sysctl, {"kernel.shm_rmid_forced", true}, {"net/ipv4/eth0.1/x", true},
                {"a", true}, {"a-b", true}, {"", false}, {"A", false}, {".a", false}, {"a.", false},
                {"a..b", false}, {"a./b", false}, {"a.-b", false}, {"a_", false}, {"_a", false},
                {"a b", false}, {"a*", false});
}

static void test_addresses(void **state)
{
    (void)state;
    CHECK_NAMES(naming_ip, {"10.9.8.7", true}, {"0.0.0.0", true}, {"::", true},
                {"2001:db8::ffff", true}, {"2001:DB8::1", true}, {"::1.2.3.4", true}, {"", false},
                {"10.9.8", false}, {"10.9.8.256", false}, {"010.9.8.7", false}, {"1.2.3.4 ", false},
                {"::ffff:1.2.3.4", false}, {"fe80::1%eth0", false}, {"1::2::3", false},
                {"12345::", false}, {"a", false}, {"[::1]", false});
    assert_null(naming_ip(STR("1111:2222:3333:4444:5555:6666:123.123.123.123")));
    assert_non_null(naming_ip(STR("1111:2222:3333:4444:5555:6666:123.123.123.1234")));
    assert_non_null(naming_ip(STR("1.2.3.4\0x")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_domain_of_keys),
        cmocka_unit_test(test_labels_and_subdomains),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_ports_and_variables),
        cmocka_unit_test(test_signers),
        cmocka_unit_test(test_trust_bundles),
        cmocka_unit_test(test_sysctls),
        cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
