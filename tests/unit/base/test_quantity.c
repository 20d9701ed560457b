/* Quantities against what Kubernetes makes of the same texts; arithmetic, rounding, saturation. */
#include "base/limits.h"
#include "base/quantity.h"
#include "base/rng.h"
#include "testing.h"

static struct quantity parse(const char *text)
{
    struct quantity quantity;
    struct error err = ERROR_INIT;
    if (quantity_parse(str_of(text), &quantity, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return quantity;
}

static void assert_prints(struct quantity quantity, const char *expected)
{
    char text[QUANTITY_TEXT_MAX];
    size_t n = quantity_print(text, quantity);
    assert_string_equal(text, expected);
    assert_int_equal(n, strlen(text));
}

/* The text as it is written, and as Kubernetes prints it back. */
static const struct {
    const char *text, *canonical;
} canonical[] = {
    {"0", "0"},
    {"0n", "0"},
    {"0Ki", "0"},
    {"0e3", "0"},
    {"-0", "0"},
    {"0.000", "0"},
    {"00", "0"},
    {"1n", "1n"},
    {"1000n", "1u"},
    {"1u", "1u"},
    {"100m", "100m"},
    {"1000m", "1"},
    {"1500m", "1500m"},
    {"1.5", "1500m"},
    {"0.5", "500m"},
    {".5", "500m"},
    {"5.", "5"},
    {"+5", "5"},
    {"-2", "-2"},
    {"-0.5", "-500m"},
    {"007", "7"},
    {"10", "10"},
    {"100", "100"},
    {"1000", "1k"},
    {"1024", "1024"},
    {"1k", "1k"},
    {"1500k", "1500k"},
    {"1.5k", "1500"},
    {"1000k", "1M"},
    {"1M", "1M"},
    {"1G", "1G"},
    {"1T", "1T"},
    {"1P", "1P"},
    {"1E", "1E"},
    {"100.035k", "100035"},
    {"0.1", "100m"},
    {"12.345678901", "12345678901n"},
    {"1Ki", "1Ki"},
    {"1024Ki", "1Mi"},
    {"1536Ki", "1536Ki"},
    {"1.5Ki", "1536"},
    {"1.5Mi", "1536Ki"},
    {"1.5Gi", "1536Mi"},
    {"1Gi", "1Gi"},
    {"1Ti", "1Ti"},
    {"1Pi", "1Pi"},
    {"1Ei", "1Ei"},
    {"7Ei", "7Ei"},
    {"-1024Ki", "-1Mi"},
    {"0.5Ki", "512"},
    {"0.25Ki", "256"},
    {"0.0005Ki", "512m"},
    {"-0.5Ki", "-512"},
    {"0.1Ki", "102400m"},
    {"0.025Ti", "27487790694400m"},
    {"1.000001Ki", "1024001024u"},
    {"0.1Ei", "115292150460684697600m"},
    {"1e3", "1e3"},
    {"1E3", "1e3"},
    {"12e6", "12e6"},
    {"1e1", "10"},
    {"1e0", "1"},
    {"100e3", "100e3"},
    {"1000e3", "1e6"},
    {"1e-3", "1e-3"},
    {"1e-9", "1e-9"},
    {"1.5e3", "1500"},
    {"15e2", "1500"},
    {"1e+6", "1e6"},
    {"1e18", "1e18"},
    {"1e-2", "10e-3"},
    /* What lies below a nano rounds away from zero. */
    {"0.1n", "1n"},
    {"1.1n", "2n"},
    {"0.0000000001", "1n"},
    {"0.0000000011", "2n"},
    {"-0.1n", "-1n"},
    {"-1.1n", "-2n"},
    {"1e-10", "1e-9"},
    {"1e-2147483649", "1e-9"},
    {"0e-99999999999", "0"},
    {"0.00000000000000000000001Ki", "1n"},
    {"1.00000000000000000000001Ki", "1024000000001n"},
    /* What lies above 2^63-1 is that. */
    {"9223372036854775807", "9223372036854775807"},
    {"9223372036854775808", "9223372036854775807"},
    {"-9223372036854775809", "-9223372036854775807"},
    {"9223372036854775807.1", "9223372036854775807"},
    {"9223372036854775806.1", "9223372036854775806100m"},
    {"8Ei", "9223372036854775807"},
    {"9Ei", "9223372036854775807"},
    {"9223372036854775807Ki", "9223372036854775807"},
    {"7.9999999999999999999999Ei", "9223372036854775807"},
    {"-100E", "-9223372036854775807"},
    {"1e99999999999", "9223372036854775807"},
    {"0.000000000000000001e36", "1e18"},
};

static void test_canonical(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(canonical); i++) {
        char text[QUANTITY_TEXT_MAX];
        quantity_print(text, parse(canonical[i].text));
        if (strcmp(text, canonical[i].canonical) != 0)
            fail_msg("%s prints as %s, not %s", canonical[i].text, text, canonical[i].canonical);
    }
}

static void test_canonical_is_stable(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(canonical); i++) {
        struct quantity before = parse(canonical[i].text);
        struct quantity after = parse(canonical[i].canonical);
        assert_int_equal(quantity_cmp(before, after), 0);
        assert_prints(after, canonical[i].canonical);
    }
}

static void test_refused(void **state)
{
    (void)state;
    const char *bad[] = {
        "",      " ",   " 1",     "1 ",      "-",         "+",     ".",     "m",      "Ki",
        "1i",    "1K",  "1ki",    "1g",      "1mi",       "1mm",   "1.1.1", "1..1",   "--1",
        "+-1",   "1e",  "1e+",    "1e1.5",   "1e3k",      "1e3e3", "e3",    "1Kii",   "1 Ki",
        "0x10",  "1,5", "aoeu",   "1eE3",    "NaN",       "inf",   "1.1.M", "1+1.0M", "0.1mi",
        "0.1am", ".5i", "-3.01i", "-3.01e-", "1\xC2\xB5", "1Eii",  "1ee3",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct quantity quantity = QUANTITY_ZERO;
        struct error err = ERROR_INIT;
        if (quantity_parse(str_of(bad[i]), &quantity, &err) == 0)
            fail_msg("%s was taken", bad[i]);
        assert_int_equal(err.cls, ERROR_INVALID);
    }
    struct quantity quantity;
    assert_int_equal(quantity_parse(str_make("1\0", 2), &quantity, NULL), -1);
}

static void test_length_limit(void **state)
{
    (void)state;
    char text[LIMIT_QUANTITY_TEXT + 1];
    struct quantity quantity;
    struct error err = ERROR_INIT;
    memset(text, '9', sizeof(text));
    assert_int_equal(quantity_parse(str_make(text, LIMIT_QUANTITY_TEXT), &quantity, &err), 0);
    assert_int_equal(quantity_parse(str_make(text, sizeof(text)), &quantity, &err), -1);
    assert_int_equal(err.cls, ERROR_LIMIT);
    /* The longest fraction with the largest suffix: 0.999..9Ei, just below 2^60. */
    text[0] = '.';
    text[LIMIT_QUANTITY_TEXT - 2] = 'E';
    text[LIMIT_QUANTITY_TEXT - 1] = 'i';
    assert_int_equal(quantity_parse(str_make(text, LIMIT_QUANTITY_TEXT), &quantity, &err), 0);
    assert_prints(quantity, "1Ei");
}

static void test_sums(void **state)
{
    (void)state;
    const struct {
        const char *a, *b, *sum, *difference;
    } cases[] = {
        {"500m", "1", "1500m", "-500m"},
        {"1Gi", "2Gi", "3Gi", "-1Gi"},
        {"0", "1Gi", "1Gi", "-1Gi"},
        {"0", "1e3", "1e3", "-1e3"},
        {"1Gi", "0", "1Gi", "1Gi"},
        {"1Gi", "1G", "2073741824", "73741824"},
        {"1", "1Ki", "1025", "-1023"},
        {"1Gi", "500m", "1073741824500m", "1073741823500m"},
        {"1Ki", "1Ki", "2Ki", "0"},
        {"9223372036854775807", "1", "9223372036854775807", "9223372036854775806"},
        {"-9223372036854775807", "-1", "-9223372036854775807", "-9223372036854775806"},
        {"-9223372036854775807", "1", "-9223372036854775806", "-9223372036854775807"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_prints(quantity_add(parse(cases[i].a), parse(cases[i].b)), cases[i].sum);
        assert_prints(quantity_sub(parse(cases[i].a), parse(cases[i].b)), cases[i].difference);
    }
}

static void test_products(void **state)
{
    (void)state;
    assert_prints(quantity_mul(parse("500m"), 3), "1500m");
    assert_prints(quantity_mul(parse("1Gi"), 1024), "1Ti");
    assert_prints(quantity_mul(parse("1Gi"), -1), "-1Gi");
    assert_prints(quantity_mul(parse("1Gi"), 0), "0");
    assert_prints(quantity_mul(parse("1n"), INT64_MAX), "9223372036854775807n");
    assert_prints(quantity_mul(parse("1"), INT64_MAX), "9223372036854775807");
    assert_prints(quantity_mul(parse("1"), INT64_MIN), "-9223372036854775807");
    assert_prints(quantity_mul(parse("2"), INT64_MAX), "9223372036854775807");
    assert_prints(quantity_mul(parse("-2"), INT64_MAX), "-9223372036854775807");
    assert_prints(quantity_mul(parse("8Ei"), INT64_MIN), "-9223372036854775807");
    assert_prints(quantity_mul(parse("3"), INT64_C(3074457345618258602)), "9223372036854775806");
    assert_prints(quantity_mul(parse("3"), INT64_C(3074457345618258603)), "9223372036854775807");
}

static void test_values(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int64_t value, milli;
    } cases[] = {
        {"0", 0, 0},
        {"1", 1, 1000},
        {"1n", 1, 1},
        {"-1n", -1, -1},
        {"1500m", 2, 1500},
        {"-1500m", -2, -1500},
        {"1000001u", 2, 1001},
        {"1Ki", 1024, 1024000},
        {"9223372036854775807", INT64_MAX, INT64_MAX},
        {"9223372036854775807m", INT64_C(9223372036854776), INT64_MAX},
        {"9223372036854776", INT64_C(9223372036854776), INT64_MAX},
        {"-9223372036854775807", -INT64_MAX, -INT64_MAX},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_true(quantity_value(parse(cases[i].text)) == cases[i].value);
        assert_true(quantity_milli(parse(cases[i].text)) == cases[i].milli);
    }
}

static void test_from_integers(void **state)
{
    (void)state;
    assert_prints(quantity_from_i64(2048, QUANTITY_BINARY_SI), "2Ki");
    assert_prints(quantity_from_i64(1000, QUANTITY_BINARY_SI), "1k");
    assert_prints(quantity_from_i64(1000, QUANTITY_DECIMAL_SI), "1k");
    assert_prints(quantity_from_i64(1000, QUANTITY_DECIMAL_EXPONENT), "1e3");
    assert_prints(quantity_from_i64(INT64_MAX, QUANTITY_DECIMAL_SI), "9223372036854775807");
    assert_prints(quantity_from_i64(INT64_MIN, QUANTITY_DECIMAL_SI), "-9223372036854775807");
    assert_prints(quantity_from_milli(1500, QUANTITY_DECIMAL_SI), "1500m");
    assert_prints(quantity_from_milli(-1, QUANTITY_DECIMAL_SI), "-1m");
    assert_prints(quantity_from_milli(INT64_MIN, QUANTITY_DECIMAL_SI), "-9223372036854775808m");
}

static void test_order(void **state)
{
    (void)state;
    const char *sorted[] = {"-1Ei", "-1", "-1n", "0", "1n", "999m", "1", "1k", "1Ki", "1e4", "1Ei"};
    for (size_t i = 0; i < ARRAY_SIZE(sorted); i++)
        for (size_t j = 0; j < ARRAY_SIZE(sorted); j++)
            assert_int_equal(quantity_cmp(parse(sorted[i]), parse(sorted[j])), (i > j) - (i < j));
    assert_int_equal(quantity_cmp(parse("1024Ki"), parse("1048576")), 0);
}

static void test_random_round_trip(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 2);
    for (int i = 0; i < 20000; i++) {
        struct quantity quantity = quantity_from_i64((int64_t)rng_next(&rng) >> rng_below(&rng, 64),
                                                     (enum quantity_format)rng_below(&rng, 3));
        if (rng_below(&rng, 2))
            quantity.nano /= 1000;
        char text[QUANTITY_TEXT_MAX];
        size_t n = quantity_print(text, quantity);
        struct quantity back;
        assert_int_equal(quantity_parse(str_make(text, n), &back, NULL), 0);
        assert_true(back.nano == quantity.nano);
        back.format = quantity.format; /* "46000" may have been binary */
        assert_prints(back, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical), cmocka_unit_test(test_canonical_is_stable),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_length_limit),
        cmocka_unit_test(test_sums),      cmocka_unit_test(test_products),
        cmocka_unit_test(test_values),    cmocka_unit_test(test_from_integers),
        cmocka_unit_test(test_order),     cmocka_unit_test(test_random_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
