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

static size_t bytes_with(uint32_t keys, uint32_t step, int64_t amount)
{
    struct counts counts = {.slots = NULL};
    for (uint32_t i = 0; i < keys; i++) /* in no order */
        counts_add(&counts, i * 7 % keys * step, amount);
    assert_int_equal(counts.used, keys);
    size_t bytes = counts_bytes(&counts);
    counts_clear(&counts);
    return bytes;
}

/* Many keys take the width of their amounts, few what a hash table does. */
static void memory_is_bounded(void **state)
{
    (void)state;
    for (uint32_t keys = 1; keys <= 5000; keys += keys < 300 ? 1 : 47) {
        if (keys % 7 == 0)
            continue;
        size_t array = keys + keys / 8 + 1, hash = sizeof(struct counts_slot) * 8;
        size_t most = array > hash ? array : hash;
        assert_true(bytes_with(keys, 1, 1) <= most);
        assert_true(bytes_with(keys, 1, -128) <= most);
        assert_true(bytes_with(keys, 1, 128) <= (2 * array > hash ? 2 * array : hash));
        assert_true(bytes_with(keys, 1, 1LL << 40) <= (8 * array > hash ? 8 * array : hash));
        assert_true(bytes_with(keys, 10000, 1) <= (keys < 6 ? hash : 43 * (size_t)keys));
    }
}

/* An amount that is too wide for those that are there, a key that is far behind them. */
static void what_does_not_fit_finds_room(void **state)
{
    (void)state;
    static const int64_t amounts[] = {127,   -128,      128,       -129,      32767,
                                      32768, INT32_MAX, INT32_MIN, 1LL << 40, -(1LL << 40)};
    struct counts counts = {.slots = NULL};
    for (uint32_t i = 0; i < 64; i++)
        counts_add(&counts, i, 1);
    for (uint32_t i = 0; i < ARRAY_SIZE(amounts); i++) {
        counts_add(&counts, i, amounts[i] - counts_get(&counts, i));
        assert_true(counts_get(&counts, i) == amounts[i]);
        assert_int_equal(counts_get(&counts, 63), 1);
    }
    counts_add(&counts, UINT32_MAX - 1, 3);
    assert_int_equal(counts_get(&counts, UINT32_MAX - 1), 3);
    for (uint32_t i = 0; i < ARRAY_SIZE(amounts); i++)
        assert_true(counts_get(&counts, i) == amounts[i]);
    assert_int_equal(counts.used, 65);
    counts_clear(&counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_there_at_first), cmocka_unit_test(equals_an_array),
        cmocka_unit_test(visits_each_amount_once),   cmocka_unit_test(zero_is_forgotten),
        cmocka_unit_test(memory_is_bounded),         cmocka_unit_test(what_does_not_fit_finds_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
