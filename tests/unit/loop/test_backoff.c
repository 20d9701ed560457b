/* Delays of struct backoff: doubling, the maximum, the bounds of the jitter, reset. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/timefmt.h"
#include "loop/backoff.h"
#include <cmocka.h>

static void assert_near(int64_t delay, int64_t base)
{
    assert_in_range(delay, base / 10 * 8, base / 10 * 12);
}

static void test_doubles_up_to_the_maximum(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 1);
    struct backoff backoff;
    backoff_init(&backoff, NSEC_PER_SEC, 5 * NSEC_PER_SEC);
    const int64_t want[] = {1, 2, 4, 5, 5, 5};
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        assert_near(backoff_next(&backoff, &rng), want[i] * NSEC_PER_SEC);
    assert_int_equal(backoff.failures, 6);
    backoff_reset(&backoff);
    assert_int_equal(backoff.failures, 0);
    assert_near(backoff_next(&backoff, &rng), NSEC_PER_SEC);
}

static void test_jitter_stays_in_bounds_and_spreads(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 7);
    struct backoff backoff;
    int64_t smallest = INT64_MAX, largest = 0;
    for (int i = 0; i < 10000; i++) {
        backoff_init(&backoff, NSEC_PER_SEC, NSEC_PER_SEC);
        int64_t delay = backoff_next(&backoff, &rng);
        assert_near(delay, NSEC_PER_SEC);
        smallest = delay < smallest ? delay : smallest;
        largest = delay > largest ? delay : largest;
    }
    assert_true(smallest < NSEC_PER_SEC / 100 * 82);
    assert_true(largest > NSEC_PER_SEC / 100 * 118);
}

static void test_no_overflow_at_large_values(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 3);
    struct backoff backoff;
    backoff_init(&backoff, INT64_MAX / 8, INT64_MAX / 2);
    for (int i = 0; i < 100; i++)
        assert_true(backoff_next(&backoff, &rng) > 0);
    assert_int_equal(backoff.next_ns, INT64_MAX / 2);
}

static void test_initial_above_maximum_is_cut(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 3);
    struct backoff backoff;
    backoff_init(&backoff, 10 * NSEC_PER_SEC, NSEC_PER_SEC);
    assert_near(backoff_next(&backoff, &rng), NSEC_PER_SEC);
}

static void test_delay_after_failures(void **state)
{
    (void)state;
    assert_int_equal(backoff_delay(10, 60, 0), 10);
    assert_int_equal(backoff_delay(10, 60, 1), 20);
    assert_int_equal(backoff_delay(10, 60, 2), 40);
    assert_int_equal(backoff_delay(10, 60, 3), 60);
    assert_int_equal(backoff_delay(10, 60, UINT32_MAX), 60);
    assert_int_equal(backoff_delay(INT64_MAX / 2 + 1, INT64_MAX, 1), INT64_MAX);
    assert_int_equal(backoff_delay(80, 60, 0), 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delay_after_failures),
        cmocka_unit_test(test_doubles_up_to_the_maximum),
        cmocka_unit_test(test_jitter_stays_in_bounds_and_spreads),
        cmocka_unit_test(test_no_overflow_at_large_values),
        cmocka_unit_test(test_initial_above_maximum_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
