/* struct counts: the same as a plain array, whatever is added and taken away. */
#include "base/counts.h"
#include "base/rng.h"
#include "testing.h"

#define KEYS 300

static void nothing_is_there_at_first(void **state)
{
    (void)state;
    struct counts counts = {.slots = NULL};
    uint32_t position = 0, key;
    int64_t amount;
    assert_int_equal(counts_get(&counts, 7), 0);
    assert_false(counts_next(&counts, &position, &key, &amount));
    counts_clear(&counts);
}

/* Keys that fall on one another, at both ends of the table and across its end. */
static void equals_an_array(void **state)
{
    (void)state;
    struct counts counts = {.slots = NULL};
    int64_t plain[KEYS] = {0}, total = 0;
    struct rng rng;
    rng_seed(&rng, 11);
    for (unsigned round = 0; round < 200000; round++) {
        unsigned range = round % 5000 < 2500 ? KEYS : 12; /* many, then few */
        uint32_t key = (uint32_t)rng_below(&rng, range);
        int64_t amount =
            plain[key] && rng_below(&rng, 2) ? -plain[key] : (int64_t)rng_below(&rng, 7) - 3;
        counts_add(&counts, key, amount);
        plain[key] += amount;
        total += amount;
        uint32_t other = (uint32_t)rng_below(&rng, KEYS);
        assert_int_equal(counts_get(&counts, key), plain[key]);
        assert_int_equal(counts_get(&counts, other), plain[other]);
        assert_int_equal(counts.total, total);
    }
    counts_clear(&counts);
}

static void visits_each_amount_once(void **state)
{
    (void)state;
    struct counts counts = {.slots = NULL};
    int64_t sum = 0, amount;
    uint32_t seen = 0, key;
    for (uint32_t i = 0; i < 100; i++)
        counts_add(&counts, 1000 * i, i % 3 ? (int64_t)i : 0);
    for (uint32_t at = 0; counts_next(&counts, &at, &key, &amount);) {
        assert_int_equal(1000 * amount, key);
        sum += amount;
        seen++;
    }
    assert_int_equal(seen, counts.used);
    assert_int_equal(seen, 66);
    assert_int_equal(sum, counts.total);
    counts_clear(&counts);
}

/* What comes back to zero takes no place. */
static void zero_is_forgotten(void **state)
{
    (void)state;
    struct counts counts = {.slots = NULL};
    for (uint32_t i = 0; i < 100000; i++) {
        counts_add(&counts, i, 1);
        counts_add(&counts, i, -1);
    }
    assert_int_equal(counts.used, 0);
    assert_true(counts.size <= 8);
    counts_clear(&counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_there_at_first),
        cmocka_unit_test(equals_an_array),
        cmocka_unit_test(visits_each_amount_once),
        cmocka_unit_test(zero_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
