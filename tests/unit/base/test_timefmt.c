/* RFC 3339 times: known instants, offsets, fractions, limits, what is refused; a round trip. */
#include "base/rng.h"
#include "base/timefmt.h"
#include "testing.h"

static const struct {
    const char *text;
    int64_t seconds;
} instants[] = {
    {"1970-01-01T00:00:00Z", 0},           {"1969-12-31T23:59:59Z", -1},
    {"2000-02-29T12:00:00Z", 951825600},   {"2001-09-09T01:46:40Z", 1000000000},
    {"2026-11-29T17:51:09Z", 1795974669},  {"2038-01-19T03:14:08Z", 2147483648},
    {"1900-03-01T00:00:00Z", -2203891200}, {"2100-02-28T23:59:59Z", 4107542399},
    {"2100-03-01T00:00:00Z", 4107542400},  {"2262-04-11T23:47:16Z", 9223372036},
    {"1677-09-21T00:12:44Z", -9223372036},
};

static void test_known(void **state)
{
    (void)state;
    char text[TIME_TEXT_MAX];
    for (size_t i = 0; i < ARRAY_SIZE(instants); i++) {
        int64_t ns;
        assert_true(time_parse(str_of(instants[i].text), &ns));
        assert_true(ns == instants[i].seconds * NSEC_PER_SEC);
        assert_int_equal(time_format(text, ns), strlen(instants[i].text));
        assert_string_equal(text, instants[i].text);
    }
}

static void test_micro(void **state)
{
    (void)state;
    char text[TIME_TEXT_MAX];
    assert_int_equal(time_format_micro(text, INT64_C(1000000000123456789)), 27);
    assert_string_equal(text, "2001-09-09T01:46:40.123456Z");
    time_format_micro(text, -1);
    assert_string_equal(text, "1969-12-31T23:59:59.999999Z");
    time_format(text, -1);
    assert_string_equal(text, "1969-12-31T23:59:59Z");
}

static void test_extremes(void **state)
{
    (void)state;
    char text[TIME_TEXT_MAX];
    int64_t ns;
    time_format_micro(text, INT64_MAX);
    assert_string_equal(text, "2262-04-11T23:47:16.854775Z");
    time_format_micro(text, INT64_MIN);
    assert_string_equal(text, "1677-09-21T00:12:43.145224Z");
    assert_true(time_parse(STR("2262-04-11T23:47:16.854775807Z"), &ns) && ns == INT64_MAX);
    assert_false(time_parse(STR("2262-04-11T23:47:16.854775808Z"), &ns));
    assert_true(time_parse(STR("1677-09-21T00:12:43.145224192Z"), &ns) && ns == INT64_MIN);
    assert_false(time_parse(STR("1677-09-21T00:12:43.145224191Z"), &ns));
    assert_false(time_parse(STR("0001-01-01T00:00:00Z"), &ns));
    assert_false(time_parse(STR("9999-12-31T23:59:59Z"), &ns));
    assert_true(time_parse_nearest(STR("9999-12-31T23:59:59Z"), &ns) && ns == INT64_MAX);
    assert_true(time_parse_nearest(STR("0001-01-01T00:00:00Z"), &ns) && ns == INT64_MIN);
    assert_true(time_parse_nearest(STR("1970-01-01T00:00:01Z"), &ns) && ns == NSEC_PER_SEC);
    assert_false(time_parse_nearest(STR("9999-13-31T23:59:59Z"), &ns));
    assert_true(time_add(INT64_MAX - 1, 2) == INT64_MAX && time_add(INT64_MIN, -1) == INT64_MIN);
    assert_true(time_add(3, -5) == -2);
}

static void test_offsets_and_fractions(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"2001-09-09T03:46:40+02:00", INT64_C(1000000000000000000)},
        {"2001-09-08T20:16:40-05:30", INT64_C(1000000000000000000)},
        {"2001-09-09T01:46:40+00:00", INT64_C(1000000000000000000)},
        {"2001-09-09T01:46:40.5Z", INT64_C(1000000000500000000)},
        {"2001-09-09T01:46:40.000000001Z", INT64_C(1000000000000000001)},
        {"2001-09-09T01:46:40.1234567899Z", INT64_C(1000000000123456789)},
        {"1969-12-31T23:59:59.25Z", INT64_C(-750000000)},
        {"2001-09-10T01:45:40+23:59", INT64_C(1000000000000000000)},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t ns = 0;
        assert_true(time_parse(str_of(cases[i].text), &ns));
        assert_true(ns == cases[i].ns);
    }
}

static void test_refused(void **state)
{
    (void)state;
    const char *bad[] = {
        "",
        "2001-09-09",
        "2001-09-09T01:46:40",
        "2001-09-09 01:46:40Z",
        "2001-09-09T01:46Z",
        "2001-09-09T01:46:40z",
        "2001-09-09t01:46:40Z",
        "2001-09-09T01:46:40.Z",
        "2001-09-09T01:46:40,5Z",
        "2001-09-09T01:46:40ZZ",
        "2001-09-09T01:46:40Z ",
        " 2001-09-09T01:46:40Z",
        "2001-9-09T01:46:40Z",
        "2001-00-09T01:46:40Z",
        "2001-13-09T01:46:40Z",
        "2001-09-00T01:46:40Z",
        "2001-09-31T01:46:40Z",
        "2001-02-29T01:46:40Z",
        "2100-02-29T01:46:40Z",
        "2001-09-09T24:00:00Z",
        "2001-09-09T01:60:40Z",
        "2001-09-09T01:46:60Z",
        "2001-09-09T01:46:40+2:00",
        "2001-09-09T01:46:40+0200",
        "2001-09-09T01:46:40+24:00",
        "2001-09-09T01:46:40+00:60",
        "2001-09-09T01:46:40*00:00",
        "-001-09-09T01:46:40Z",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        int64_t ns = 42;
        assert_false(time_parse(str_of(bad[i]), &ns));
        assert_true(ns == 42);
    }
}

static void test_round_trip(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 5);
    for (int i = 0; i < 20000; i++) {
        int64_t ns = (int64_t)rng_next(&rng), back;
        ns -= ns % 1000;
        char text[TIME_TEXT_MAX];
        size_t n = time_format_micro(text, ns);
        assert_true(time_parse(str_make(text, n), &back));
        assert_true(back == ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),    cmocka_unit_test(test_micro),
        cmocka_unit_test(test_extremes), cmocka_unit_test(test_offsets_and_fractions),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
