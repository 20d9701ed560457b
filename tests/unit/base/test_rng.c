/* struct rng: published vectors, repeatability, bounds and spread. */
#include "base/rng.h"
#include "testing.h"

static void test_vectors(void **state)
{
    (void)state;
    /* First numbers of the published generator from the state 1, 2, 3, 4. */
    const uint64_t expected[] = {
        UINT64_C(11520),
        UINT64_C(0),
        UINT64_C(1509978240),
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
        UINT64_C(16172922978634559625),
        UINT64_C(8476171486693032832),
    };
    struct rng rng = {{1, 2, 3, 4}};
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        assert_true(rng_next(&rng) == expected[i]);
    /* The published seeding from 1234567. */
    rng_seed(&rng, 1234567);
    assert_true(rng.s[0] == UINT64_C(6457827717110365317));
    assert_true(rng.s[1] == UINT64_C(3203168211198807973));
    assert_true(rng.s[2] == UINT64_C(9817491932198370423));
}

static void test_repeats(void **state)
{
    (void)state;
    struct rng a, b, c;
    rng_seed(&a, 42);
    rng_seed(&b, 42);
    rng_seed(&c, 43);
    bool differs = false;
    for (int i = 0; i < 100; i++) {
        uint64_t x = rng_next(&a);
        assert_true(x == rng_next(&b));
        differs = differs || x != rng_next(&c);
    }
    assert_true(differs);
    rng_seed_random(&a);
    rng_seed_random(&b);
    assert_true(rng_next(&a) != rng_next(&b));
}

static void test_below(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 1);
    assert_int_equal(rng_below(&rng, 0), 0);
    assert_int_equal(rng_below(&rng, 1), 0);
    unsigned counts[6] = {0};
    for (int i = 0; i < 60000; i++)
        counts[rng_below(&rng, 6)]++; /* out of bounds would be caught by the sanitizer */
    for (int i = 0; i < 6; i++)
        assert_in_range(counts[i], 9500, 10500);
    for (int i = 0; i < 100; i++)
        assert_true(rng_below(&rng, UINT64_MAX) < UINT64_MAX);
}

static void test_unit(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 1);
    double sum = 0;
    for (int i = 0; i < 10000; i++) {
        double value = rng_unit(&rng);
        assert_true(value >= 0.0 && value < 1.0);
        sum += value;
    }
    assert_true(sum > 4800 && sum < 5200);
}

static void test_jitter(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 1);
    int64_t low = INT64_MAX, high = 0;
    for (int i = 0; i < 10000; i++) {
        int64_t value = rng_jitter(&rng, 1000, 0.2);
        assert_true(value >= 800 && value <= 1200);
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    assert_true(low < 810 && high > 1190);
    assert_int_equal(rng_jitter(&rng, 1000, 0.0), 1000);
    assert_int_equal(rng_jitter(&rng, 0, 0.5), 0);
    for (int i = 0; i < 100; i++) {
        assert_true(rng_jitter(&rng, INT64_MAX, 0.5) > 0);
        assert_true(rng_jitter(&rng, INT64_MIN, 0.5) < 0);
    }
}

static void test_alnum(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 1);
    char text[1001];
    rng_alnum(&rng, text, 1000);
    assert_int_equal(strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz"), 1000);
    for (const char *c = "0123456789abcdefghijklmnopqrstuvwxyz"; *c; c++)
        assert_non_null(strchr(text, *c));
    rng_alnum(&rng, text, 0);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors), cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_below),   cmocka_unit_test(test_unit),
        cmocka_unit_test(test_jitter),  cmocka_unit_test(test_alnum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
