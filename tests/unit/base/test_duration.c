/* Go durations: the forms Go reads and writes, limits, what it refuses; a round trip. */
#include "base/rng.h"
#include "base/timefmt.h"
#include "testing.h"

#define SEC NSEC_PER_SEC
#define MINUTE (60 * SEC)
#define HOUR (60 * MINUTE)

static void test_parse(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"+0", 0},
        {"0s", 0},
        {"5s", 5 * SEC},
        {"+5s", 5 * SEC},
        {"-5s", -5 * SEC},
        {"1h30m", HOUR + 30 * MINUTE},
        {"300ms", 300 * NSEC_PER_MSEC},
        {"1.5s", 1500 * NSEC_PER_MSEC},
        {"1.s", SEC},
        {".5s", SEC / 2},
        {"-.5h", -HOUR / 2},
        {"10.5s4m", 4 * MINUTE + 10500 * NSEC_PER_MSEC},
        {"1h15m30.918273645s", HOUR + 15 * MINUTE + INT64_C(30918273645)},
        {"1us", 1000},
        {"1\xC2\xB5s", 1000},
        {"1\xCE\xBCs", 1000},
        {"1ns", 1},
        {"0.3333333333333333333h", 20 * MINUTE},
        {"9007199254.740993s", INT64_C(9007199254740993000)},
        {"9223372036854775807ns", INT64_MAX},
        {"9223372036854775.807us", INT64_MAX},
        {"9223372036s854ms775us807ns", INT64_MAX},
        {"-9223372036854775808ns", INT64_MIN},
        {"0.100000000000000000000h", 6 * MINUTE},
        {"0.9223372036854775807h", INT64_C(3320413933267)},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t ns = 1;
        if (!duration_parse(str_of(cases[i].text), &ns) || ns != cases[i].ns)
            fail_msg("%s: %lld", cases[i].text, (long long)ns);
    }
}

static void test_refused(void **state)
{
    (void)state;
    const char *bad[] = {
        "",
        "3",
        "-",
        "s",
        ".",
        "-.",
        ".s",
        "+.s",
        "1d",
        "1.5",
        "1 s",
        " 1s",
        "1s ",
        "1S",
        "--1s",
        "1h-1m",
        "00",
        "e3s",
        "\x85\x85",
        "1sm",
        "1..5s",
        "9223372036854775808ns",
        "9223372036854775.808us",
        "-9223372036854775809ns",
        "3000000h",
        "99999999999999999999s",
        "2562048h",
        "9223372036s854ms775us808ns",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        int64_t ns = 42;
        if (duration_parse(str_of(bad[i]), &ns))
            fail_msg("%s was taken as %lld", bad[i], (long long)ns);
        assert_true(ns == 42);
    }
}

/* A number alone is one of seconds. */
static void test_seconds(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int64_t ns;
    } cases[] = {{"90", 90 * SEC},        {"0", 0},
                 {"-5", -5 * SEC},        {"1m30s", 90 * SEC},
                 {"1.5s", SEC + SEC / 2}, {"9223372036", 9223372036 * SEC}};
    const char *bad[] = {"", "1.5", "9223372037", "99999999999999999999", "9 s", "soon"};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t ns;
        if (!duration_or_seconds_parse(str_of(cases[i].text), &ns) || ns != cases[i].ns)
            fail_msg("%s", cases[i].text);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        int64_t ns;
        if (duration_or_seconds_parse(str_of(bad[i]), &ns))
            fail_msg("%s was taken as %lld", bad[i], (long long)ns);
    }
}

static void test_format(void **state)
{
    (void)state;
    const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0s"},
        {1, "1ns"},
        {999, "999ns"},
        {1000, "1\xC2\xB5s"},
        {1100, "1.1\xC2\xB5s"},
        {2200 * NSEC_PER_USEC, "2.2ms"},
        {100 * NSEC_PER_MSEC, "100ms"},
        {999999999, "999.999999ms"},
        {SEC, "1s"},
        {3300 * NSEC_PER_MSEC, "3.3s"},
        {MINUTE, "1m0s"},
        {MINUTE + 3500 * NSEC_PER_MSEC, "1m3.5s"},
        {4 * MINUTE + 5001 * NSEC_PER_MSEC, "4m5.001s"},
        {HOUR, "1h0m0s"},
        {5 * HOUR + 6 * MINUTE + 7001 * NSEC_PER_MSEC, "5h6m7.001s"},
        {-MINUTE, "-1m0s"},
        {-1, "-1ns"},
        {INT64_MAX, "2562047h47m16.854775807s"},
        {INT64_MIN, "-2562047h47m16.854775808s"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[TIME_TEXT_MAX];
        size_t n = duration_format(text, cases[i].ns);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(n, strlen(text));
    }
}

static void test_round_trip(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 9);
    for (int i = 0; i < 20000; i++) {
        /* Every magnitude below the point where Go's own fractions lose digits. */
        int64_t ns = (int64_t)(rng_next(&rng) >> (10 + rng_below(&rng, 50)));
        ns = rng_below(&rng, 2) ? -ns : ns;
        char text[TIME_TEXT_MAX];
        int64_t back;
        assert_true(duration_parse(str_make(text, duration_format(text, ns)), &back));
        assert_true(back == ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),      cmocka_unit_test(test_refused),
        cmocka_unit_test(test_seconds),    cmocka_unit_test(test_format),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
