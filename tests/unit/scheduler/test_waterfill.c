/*
 * Weighted water filling: numbers worked out by hand, and random claims against two slow ones: the
 * level found by halving, and the rounds in which the rule is written down for users.
 */
#include "testing.h"

#include "base/rng.h"
#include "scheduler/shares/waterfill.h"
#include <math.h>

#define NO_CEILING INT64_MAX

static void expect(int64_t total, const struct water_claim *given, const int64_t *shares, size_t n)
{
    struct water_claim claims[8];
    memcpy(claims, given, n * sizeof(*given));
    water_fill(claims, n, total);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(claims[i].share, shares[i]);
}

#define EXPECT(total, shares, ...)                                                                 \
    expect(total, (const struct water_claim[]){__VA_ARGS__}, shares,                               \
           sizeof((const struct water_claim[]){__VA_ARGS__}) / sizeof(struct water_claim))
#define SHARES(...) ((const int64_t[]){__VA_ARGS__})

static void by_weight(void **state)
{
    (void)state;
    EXPECT(8000, SHARES(2000, 6000), {1, 0, NO_CEILING, 0, false}, {3, 0, NO_CEILING, 0, false});
    EXPECT(9, SHARES(9), {7, 0, NO_CEILING, 0, false});
    EXPECT(0, SHARES(0, 0), {1, 0, NO_CEILING, 0, false}, {3, 0, NO_CEILING, 0, false});
    /* weights below 1 are 1 */
    EXPECT(6, SHARES(2, 2, 2), {0, 0, NO_CEILING, 0, false}, {-5, 0, NO_CEILING, 0, false},
           {1, 0, NO_CEILING, 0, false});
}

static void odd_units_are_given_too(void **state)
{
    (void)state;
    /* thirds of 8: 2.67, 5.33 and 8 as running sums */
    EXPECT(8, SHARES(2, 3, 3), {1, 0, NO_CEILING, 0, false}, {1, 0, NO_CEILING, 0, false},
           {1, 0, NO_CEILING, 0, false});
}

static void ceilings_leave_more_to_others(void **state)
{
    (void)state;
    /* 12 by 1:1:2 is 3, 3, 6; the first wants 2, so 10 go by 1:2 */
    EXPECT(12, SHARES(2, 3, 7), {1, 0, 2, 0, false}, {1, 0, NO_CEILING, 0, false},
           {2, 0, NO_CEILING, 0, false});
    /* all want less than there is */
    EXPECT(100, SHARES(2, 3), {1, 0, 2, 0, false}, {5, 0, 3, 0, false});
    /* the second reaches its ceiling only once the first has */
    EXPECT(30, SHARES(1, 11, 18), {1, 0, 1, 0, false}, {1, 0, 11, 0, false},
           {1, 0, NO_CEILING, 0, false});
}

static void floors_take_from_others(void **state)
{
    (void)state;
    EXPECT(10, SHARES(6, 2, 2), {1, 6, NO_CEILING, 0, false}, {1, 0, NO_CEILING, 0, false},
           {1, 0, NO_CEILING, 0, false});
    EXPECT(10, SHARES(6, 1, 3), {1, 6, NO_CEILING, 0, false}, {1, 0, 1, 0, false},
           {1, 0, NO_CEILING, 0, false});
    /* a floor counts whatever is wanted, and whatever is there */
    EXPECT(10, SHARES(6, 4), {1, 6, 1, 0, false}, {1, 0, NO_CEILING, 0, false});
    EXPECT(10, SHARES(8, 7, 0), {1, 8, NO_CEILING, 0, false}, {1, 7, NO_CEILING, 0, false},
           {1, 0, NO_CEILING, 0, false});
}

static void large_amounts_do_not_overflow(void **state)
{
    (void)state;
    int64_t most = INT64_C(1) << 62;
    EXPECT(most, SHARES(most / 2, most / 2), {INT32_MAX, 0, NO_CEILING, 0, false},
           {INT32_MAX, 0, NO_CEILING, 0, false});
}

/* ---- slow ones ------------------------------------------------------------------------------- */

static long double clamp(long double value, const struct water_claim *claim)
{
    long double high =
        claim->ceiling < claim->floor ? (long double)claim->floor : (long double)claim->ceiling;
    return fminl(fmaxl(value, (long double)claim->floor), high);
}

static long double sum_at(const struct water_claim *claims, size_t n, long double level)
{
    long double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += clamp(level * claims[i].weight, &claims[i]);
    return sum;
}

/* The level of the water, by halving. */
static long double level_of(const struct water_claim *claims, size_t n, int64_t total)
{
    long double low = 0, high = 4e9L;
    for (int i = 0; i < 200; i++) {
        long double middle = (low + high) / 2;
        if (sum_at(claims, n, middle) < (long double)total)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int64_t between(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void agrees_with_the_level(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 7);
    for (unsigned round = 0; round < 5000; round++) {
        struct water_claim claims[12];
        size_t n = 1 + rng_below(&rng, 12);
        int64_t range = INT64_C(1) << (2 + rng_below(&rng, 28));
        int64_t total = (int64_t)rng_below(&rng, (uint64_t)range * 4), floors = 0, ceilings = 0;
        for (size_t i = 0; i < n; i++) {
            int64_t low = rng_below(&rng, 3) ? 0 : (int64_t)rng_below(&rng, (uint64_t)range / 2);
            claims[i] =
                (struct water_claim){.weight = 1 + (int32_t)rng_below(&rng, 9),
                                     .floor = low,
                                     .ceiling = low + (int64_t)rng_below(&rng, (uint64_t)range)};
            floors += claims[i].floor;
            ceilings += claims[i].ceiling;
        }
        long double level = level_of(claims, n, total);
        int64_t sum = 0;
        water_fill(claims, n, total);
        for (size_t i = 0; i < n; i++) {
            long double exact = clamp(level * claims[i].weight, &claims[i]);
            assert_true(fabsl((long double)claims[i].share - exact) < 1.001L);
            assert_in_range(claims[i].share, claims[i].floor, claims[i].ceiling);
            sum += claims[i].share;
        }
        assert_int_equal(sum, between(total, floors, ceilings));
    }
}

/* ---- the rounds ------------------------------------------------------------------------------ */

#define RESOURCES 3

struct taker {
    double weight, most[RESOURCES], wants[RESOURCES], has[RESOURCES];
    bool met;
};

/* One taker's part of what remains; what it takes is added to `taken`. */
static void take(struct taker *taker, double weights, const double *remaining, double *taken)
{
    bool changed = false, wants_more = false;
    for (int r = 0; r < RESOURCES; r++) {
        double before = taker->has[r];
        double after = before + remaining[r] * taker->weight / weights;
        after = fmin(fmin(after, taker->most[r]), taker->wants[r]);
        taker->has[r] = after;
        taken[r] += after - before;
        changed = changed || after > before || after < before;
        wants_more = wants_more || taker->wants[r] > after;
    }
    taker->met = !wants_more || !changed;
}

static void fill_in_rounds(struct taker *takers, size_t n, const double *total)
{
    double remaining[RESOURCES];
    memcpy(remaining, total, sizeof(remaining));
    for (int round = 0; round < 10000; round++) {
        double weights = 0, taken[RESOURCES] = {0}, most = 0;
        for (size_t i = 0; i < n; i++)
            weights += takers[i].met ? 0 : takers[i].weight;
        for (size_t i = 0; weights > 0 && i < n; i++)
            if (!takers[i].met)
                take(&takers[i], weights, remaining, taken);
        for (int r = 0; r < RESOURCES; r++) {
            remaining[r] = fmax(remaining[r] - taken[r], 0);
            most = fmax(most, taken[r]);
        }
        if (weights <= 0 || most <= 0)
            return;
    }
}

static void agrees_with_the_rounds(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 8);
    for (unsigned round = 0; round < 2000; round++) {
        struct taker takers[8];
        double total[RESOURCES];
        size_t n = 1 + rng_below(&rng, 8);
        for (int r = 0; r < RESOURCES; r++)
            total[r] = (double)rng_below(&rng, 100000);
        for (size_t i = 0; i < n; i++) {
            takers[i] = (struct taker){.weight = 1 + (double)rng_below(&rng, 5)};
            for (int r = 0; r < RESOURCES; r++) {
                takers[i].most[r] = rng_below(&rng, 2) ? 1e12 : (double)rng_below(&rng, 50000);
                takers[i].wants[r] = rng_below(&rng, 4) ? (double)rng_below(&rng, 90000) : 0;
            }
        }
        fill_in_rounds(takers, n, total);
        for (int r = 0; r < RESOURCES; r++) {
            struct water_claim claims[8];
            for (size_t i = 0; i < n; i++)
                claims[i] = (struct water_claim){
                    .weight = (int32_t)takers[i].weight,
                    .ceiling = (int64_t)fmin(takers[i].most[r], takers[i].wants[r])};
            water_fill(claims, n, (int64_t)total[r]);
            for (size_t i = 0; i < n; i++)
                assert_true(fabs((double)claims[i].share - takers[i].has[r]) < 1.01);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_weight),
        cmocka_unit_test(odd_units_are_given_too),
        cmocka_unit_test(ceilings_leave_more_to_others),
        cmocka_unit_test(floors_take_from_others),
        cmocka_unit_test(large_amounts_do_not_overflow),
        cmocka_unit_test(agrees_with_the_level),
        cmocka_unit_test(agrees_with_the_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
