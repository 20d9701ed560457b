/*
 * Sets of indices: against a plain array of flags under thousands of random steps, and their text.
 */
#include "testing.h"

#include "base/ranges.h"
#include "base/rng.h"

#define SPAN 64

static void check_same(const struct ranges *set, const bool flags[SPAN])
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < SPAN; i++) {
        assert_int_equal(ranges_has(set, i), flags[i]);
        assert_int_equal(ranges_count(set, i), count);
        count += flags[i];
    }
    for (size_t i = 1; i < set->n; i++)
        assert_true(set->items[i].first > set->items[i - 1].last + 1);
}

static void random_steps(void **state)
{
    struct ranges set = RANGES_INIT;
    struct rng rng;
    bool flags[SPAN] = {false};

    (void)state;
    rng_seed(&rng, 7);
    for (int step = 0; step < 20000; step++) {
        uint32_t first = (uint32_t)rng_below(&rng, SPAN);
        uint32_t last = first + (uint32_t)rng_below(&rng, SPAN - first);
        bool add = rng_below(&rng, 2) == 0;
        if (rng_below(&rng, 3) == 0)
            last = first;
        if (add)
            ranges_add(&set, first, last);
        else
            ranges_remove(&set, first, last);
        for (uint32_t i = first; i <= last; i++)
            flags[i] = add;
        check_same(&set, flags);
    }
    ranges_clear(&set);
}

static void text_both_ways(void **state)
{
    struct ranges set = RANGES_INIT, again = RANGES_INIT;
    struct buf text cleanup_buf = BUF_INIT(256);

    (void)state;
    assert_true(ranges_parse(&set, STR("9,0-3,4-5,2147483647")));
    ranges_write(&set, &text);
    assert_string_equal(text.p, "0-5,9,2147483647");
    assert_true(ranges_parse(&again, buf_str(&text)));
    assert_true(ranges_equal(&set, &again));
    assert_int_equal(ranges_count(&set, UINT32_MAX), 8);
    ranges_remove(&again, 2, 9);
    assert_false(ranges_equal(&set, &again));
    ranges_clear(&set);
    ranges_clear(&again);
}

static void ends_of_the_numbers(void **state)
{
    struct ranges set = RANGES_INIT;

    (void)state;
    ranges_add(&set, UINT32_MAX, UINT32_MAX);
    ranges_add(&set, 0, 0);
    assert_true(ranges_has(&set, UINT32_MAX));
    ranges_add(&set, 1, UINT32_MAX - 1);
    assert_int_equal(set.n, 1);
    ranges_remove(&set, 5, UINT32_MAX);
    assert_int_equal(ranges_count(&set, UINT32_MAX), 5);
    ranges_remove(&set, 0, 4);
    assert_int_equal(set.n, 0);
    ranges_clear(&set);
}

static void bad_texts_add_nothing(void **state)
{
    static const char *const bad[] = {"x",  "-",   "1-",  "-1",         "2-1",
                                      "1 ", "1,x", "1,,", "4294967296", "2147483648"};
    struct ranges set = RANGES_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        if (ranges_parse(&set, str_of(bad[i])))
            fail_msg("\"%s\" was taken", bad[i]);
        assert_int_equal(set.n, 0);
    }
    assert_true(ranges_parse(&set, STR("")));
    assert_int_equal(set.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_steps),
        cmocka_unit_test(text_both_ways),
        cmocka_unit_test(ends_of_the_numbers),
        cmocka_unit_test(bad_texts_add_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
