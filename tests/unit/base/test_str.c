/* Slices: comparison, search, splitting, number parsing, UTF-8. */
#include "base/str.h"
#include "testing.h"
#include <math.h>

static void test_order(void **state)
{
    (void)state;
    const char *sorted[] = {"", "A", "a", "aa", "ab", "b", "\xC3\xA9"};
    for (size_t i = 0; i < ARRAY_SIZE(sorted); i++)
        for (size_t j = 0; j < ARRAY_SIZE(sorted); j++) {
            int order = str_cmp(str_of(sorted[i]), str_of(sorted[j]));
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
            assert_int_equal(str_eq(str_of(sorted[i]), str_of(sorted[j])), i == j);
        }
    assert_true(str_eq(STR_NULL, STR("")));
    assert_int_equal(str_cmp(STR_NULL, STR("")), 0);
}

static void test_ends(void **state)
{
    (void)state;
    assert_true(str_starts(STR("volume-1"), STR("volume")));
    assert_true(str_starts(STR("a"), STR_NULL));
    assert_false(str_starts(STR("vol"), STR("volume")));
    assert_true(str_ends(STR("a-ssh"), STR("-ssh")));
    assert_true(str_ends(STR_NULL, STR("")));
    assert_false(str_ends(STR("h"), STR("sh")));
}

static void test_find(void **state)
{
    (void)state;
    assert_int_equal(str_find(STR("a/b/c"), STR("/c")), 3);
    assert_int_equal(str_find(STR("a/b/c"), STR("/d")), -1);
    assert_int_equal(str_find(STR("a"), STR("ab")), -1);
    assert_int_equal(str_find(STR_NULL, STR("")), 0);
    assert_int_equal(str_find(STR_NULL, STR("a")), -1);
    assert_int_equal(str_chr(STR("a/b"), '/'), 1);
    assert_int_equal(str_chr(STR("ab"), '/'), -1);
    assert_int_equal(str_chr(STR_NULL, '/'), -1);
    assert_int_equal(str_chr(str_make("a\0b", 3), '\0'), 1);
}

static void test_sub(void **state)
{
    (void)state;
    assert_str(str_from(STR("abc"), 1), "bc");
    assert_str(str_from(STR("abc"), 3), "");
    assert_str(str_from(STR("abc"), 4), "");
    assert_str(str_sub(STR("abc"), 1, 2), "b");
    assert_str(str_sub(STR("abc"), 1, 9), "bc");
    assert_str(str_sub(STR("abc"), 2, 1), "");
    assert_str(str_sub(STR_NULL, 2, 9), "");
}

static void test_trim(void **state)
{
    (void)state;
    assert_str(str_trim(STR(" \t\r\n a b \n")), "a b");
    assert_str(str_trim(STR("  ")), "");
    assert_str(str_trim(STR_NULL), "");
    assert_str(str_trim(STR("\va\v")), "\va\v");
}

static void test_split(void **state)
{
    (void)state;
    const struct {
        const char *text;
        const char *parts[4];
    } cases[] = {
        {"a,,b", {"a", "", "b", NULL}}, {"", {NULL}},        {"a", {"a", NULL}},
        {",a", {"", "a", NULL}},        {"a,", {"a", NULL}},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct str rest = str_of(cases[i].text), part;
        size_t n = 0;
        while (str_split(&rest, ',', &part)) {
            assert_non_null(cases[i].parts[n]);
            assert_str(part, cases[i].parts[n++]);
        }
        assert_null(cases[i].parts[n]);
    }
}

static void test_dup(void **state)
{
    (void)state;
    cleanup_free char *copy = str_dup(str_make("a\0b", 3));
    assert_memory_equal(copy, "a\0b", 4);
}

static void test_to_i64(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int64_t value;
    } good[] = {
        {"0", 0},
        {"-0", 0},
        {"+7", 7},
        {"007", 7},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"-9223372036854775807", -INT64_MAX},
    };
    const char *bad[] = {"",    "-",
                         "+",   "1a",
                         " 1",  "1 ",
                         "--1", "1.0",
                         "0x1", "9223372036854775808",
                         "+-1", "1_0",
                         "1e3", "-9223372036854775809"};
    int64_t value;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_true(str_to_i64(str_of(good[i].text), &value));
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        value = 42;
        assert_false(str_to_i64(str_of(bad[i]), &value));
        assert_true(value == 42);
    }
    assert_false(str_to_i64(str_make("1\0", 2), &value));
}

static void test_to_u64(void **state)
{
    (void)state;
    uint64_t value;
    assert_true(str_to_u64(STR("18446744073709551615"), &value));
    assert_true(value == UINT64_MAX);
    assert_false(str_to_u64(STR("18446744073709551616"), &value));
    assert_false(str_to_u64(STR("184467440737095516150"), &value));
    assert_false(str_to_u64(STR("-1"), &value));
    assert_false(str_to_u64(STR("+1"), &value));
    assert_false(str_to_u64(STR_NULL, &value));
}

static void test_to_i32(void **state)
{
    (void)state;
    int32_t value;
    assert_true(str_to_i32(STR("2147483647"), &value));
    assert_int_equal(value, INT32_MAX);
    assert_true(str_to_i32(STR("-2147483648"), &value));
    assert_true(value == INT32_MIN);
    assert_false(str_to_i32(STR("2147483648"), &value));
    assert_false(str_to_i32(STR("-2147483649"), &value));
}

static void test_to_double(void **state)
{
    (void)state;
    const struct {
        const char *text;
        double value;
    } good[] = {
        {"1", 1.0},         {"0.7", 0.7},    {"1e3", 1000.0},
        {"-2.5E-1", -0.25}, {".5", 0.5},     {"5.", 5.0},
        {"+1", 1.0},        {"1e-400", 0.0}, {"1.7976931348623157e308", 1.7976931348623157e308},
    };
    const char *bad[] = {"",    ".",  "e3", "1e",  "1e+",   "inf",   "nan",   "0x10",
                         "1,5", "1 ", " 1", "--1", "1.5.1", "1e400", "-1e400"};
    double value;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_true(str_to_double(str_of(good[i].text), &value));
        assert_true(fabs(value - good[i].value) <= 0.0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(str_to_double(str_of(bad[i]), &value));

    char longest[512];
    memset(longest, '0', sizeof(longest));
    assert_true(str_to_double(str_make(longest, 511), &value));
    assert_false(str_to_double(str_make(longest, 512), &value));
}

static void test_to_bool(void **state)
{
    (void)state;
    const char *yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    const char *no[] = {"0", "f", "F", "false", "FALSE", "False"};
    const char *bad[] = {"", "yes", "no", "tRUE", "on", "2", "true "};
    bool value;
    for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
        value = false;
        assert_true(str_to_bool(str_of(yes[i]), &value) && value);
        value = true;
        assert_true(str_to_bool(str_of(no[i]), &value) && !value);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(str_to_bool(str_of(bad[i]), &value));
}

static void test_utf8_len(void **state)
{
    (void)state;
    const struct {
        const char *text;
        size_t size;
    } cases[] = {
        {"a", 1},
        {"\x7F", 1},
        {"\xC2\x80", 2},
        {"\xDF\xBF", 2},
        {"\xE0\xA0\x80", 3},
        {"\xED\x9F\xBF", 3},
        {"\xEE\x80\x80", 3},
        {"\xEF\xBF\xBF", 3},
        {"\xF0\x90\x80\x80", 4},
        {"\xF4\x8F\xBF\xBF", 4},
        {"", 0},
        {"\x80", 0},             /* continuation alone */
        {"\xC0\x80", 0},         /* overlong */
        {"\xC1\xBF", 0},         /* overlong */
        {"\xE0\x9F\xBF", 0},     /* overlong */
        {"\xF0\x8F\xBF\xBF", 0}, /* overlong */
        {"\xED\xA0\x80", 0},     /* surrogate */
        {"\xED\xBF\xBF", 0},     /* surrogate */
        {"\xF4\x90\x80\x80", 0}, /* past U+10FFFF */
        {"\xF5\x80\x80\x80", 0},
        {"\xFF", 0},
        {"\xC3", 0}, /* cut */
        {"\xE2\x82", 0},
        {"\xF0\x9F\x98", 0},
        {"\xC3(", 0},
        {"\xE2\x82(", 0},
        {"\xF0\x9F\x98(", 0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(str_utf8_len(str_of(cases[i].text)), cases[i].size);
}

static void test_cut(void **state)
{
    (void)state;
    struct str text = STR("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z"); /* 1+2+3+4+1 bytes */
    const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t max = 0; max < ARRAY_SIZE(expected); max++)
        assert_int_equal(str_cut(text, max).n, expected[max]);
    assert_int_equal(str_cut(STR_NULL, 5).n, 0);
    assert_int_equal(str_cut(STR("\x80\x80\x80\x80"), 3).n, 3);
}

static void test_hash(void **state)
{
    (void)state;
    /* The published vectors of FNV-1a. */
    assert_true(str_hash(STR("")) == UINT64_C(0xcbf29ce484222325));
    assert_true(str_hash(STR("a")) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(str_hash(STR("foobar")) == UINT64_C(0x85944171f73967e8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),     cmocka_unit_test(test_ends),
        cmocka_unit_test(test_find),      cmocka_unit_test(test_sub),
        cmocka_unit_test(test_trim),      cmocka_unit_test(test_split),
        cmocka_unit_test(test_dup),       cmocka_unit_test(test_to_i64),
        cmocka_unit_test(test_to_u64),    cmocka_unit_test(test_to_i32),
        cmocka_unit_test(test_to_double), cmocka_unit_test(test_to_bool),
        cmocka_unit_test(test_utf8_len),  cmocka_unit_test(test_cut),
        cmocka_unit_test(test_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
