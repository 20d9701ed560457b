/* struct map: order of insertion, deletion, rehashing, iteration; a random run against a model. */
#include "base/map.h"
#include "base/rng.h"
#include "testing.h"
#include <stdio.h>
#include <time.h>

static struct str number_key(char text[16], unsigned i)
{
    int n = snprintf(text, 16, "key-%u", i);
    return str_make(text, (size_t)n);
}

static void test_set_get(void **state)
{
    (void)state;
    struct map map = MAP_INIT;
    int a, b;
    assert_null(map_get(&map, STR("a")));
    assert_false(map_has(&map, STR("a")));
    assert_null(map_del(&map, STR("a")));
    assert_null(map_set(&map, STR("a"), &a));
    assert_ptr_equal(map_get(&map, STR("a")), &a);
    assert_ptr_equal(map_set(&map, STR("a"), &b), &a);
    assert_ptr_equal(map_get(&map, STR("a")), &b);
    assert_int_equal(map_count(&map), 1);
    assert_null(map_set(&map, STR("null"), NULL));
    assert_null(map_get(&map, STR("null")));
    assert_true(map_has(&map, STR("null")));
    assert_ptr_equal(map_del(&map, STR("a")), &b);
    assert_false(map_has(&map, STR("a")));
    assert_int_equal(map_count(&map), 1);
    map_clear(&map);
    assert_int_equal(map_count(&map), 0);
}

static void test_odd_keys(void **state)
{
    (void)state;
    struct map map = MAP_INIT;
    int a, b, c;
    map_set(&map, STR_NULL, &a);
    map_set(&map, str_make("x\0y", 3), &b);
    map_set(&map, STR("x"), &c);
    assert_ptr_equal(map_get(&map, STR("")), &a);
    assert_ptr_equal(map_get(&map, str_make("x\0y", 3)), &b);
    assert_ptr_equal(map_get(&map, STR("x")), &c);
    map_clear(&map);
}

static void test_keys_are_copied(void **state)
{
    (void)state;
    struct map map = MAP_INIT;
    char key[] = "abc";
    int value;
    map_set(&map, str_of(key), &value);
    key[0] = 'x';
    assert_ptr_equal(map_get(&map, STR("abc")), &value);
    struct str stored;
    size_t i = 0;
    assert_true(map_next(&map, &i, &stored, NULL));
    assert_int_equal(stored.p[stored.n], 0);
    /* The stored key itself may be used to delete. */
    assert_ptr_equal(map_del(&map, stored), &value);
    map_clear(&map);
}

/* Keys that are parts of their values: the newest value's key counts, and nothing is copied. */
static void test_keys_are_borrowed(void **state)
{
    (void)state;
    char old[] = "a", new[] = "a", other[] = "b";
    struct map map = MAP_INIT_BORROWS;
    struct str key;
    void *value;
    map_set(&map, str_of(old), old);
    map_set(&map, str_of(other), other);
    assert_ptr_equal(map_set(&map, str_of(new), new), old);
    old[0] = 'x'; /* the old value is gone */
    assert_ptr_equal(map_get(&map, STR("a")), new);
    size_t at = 0;
    assert_true(map_next(&map, &at, &key, &value));
    assert_ptr_equal(key.p, new);
    assert_ptr_equal(map_del(&map, STR("b")), other);
    map_clear(&map);
    map_set(&map, str_of(new), new); /* a cleared map borrows on */
    map_clear(&map);
}

static void test_order_of_insertion(void **state)
{
    (void)state;
    struct map map = MAP_INIT;
    static int values[1000];
    char text[16];
    for (unsigned i = 0; i < 1000; i++)
        map_set(&map, number_key(text, i), &values[i]);
    for (unsigned i = 0; i < 1000; i += 3)
        assert_ptr_equal(map_del(&map, number_key(text, i)), &values[i]);
    map_set(&map, number_key(text, 1), &values[1]); /* replacing keeps the place */
    map_set(&map, number_key(text, 0), &values[0]); /* a new one goes to the end */
    unsigned expected = 1;
    struct str key;
    void *value;
    size_t seen = 0;
    for (size_t at = 0; map_next(&map, &at, &key, &value); seen++) {
        if (seen == map_count(&map) - 1) {
            assert_ptr_equal(value, &values[0]);
            break;
        }
        assert_ptr_equal(value, &values[expected]);
        assert_true(str_eq(key, number_key(text, expected)));
        expected += expected % 3 == 1 ? 1 : 2;
    }
    assert_int_equal(seen, 666);
    map_clear(&map);
}

static void test_delete_while_iterating(void **state)
{
    (void)state;
    struct map map = MAP_INIT;
    int values[100];
    char text[16];
    for (unsigned i = 0; i < 100; i++)
        map_set(&map, number_key(text, i), &values[i]);
    struct str key;
    void *value;
    int *expected = values;
    for (size_t at = 0; map_next(&map, &at, &key, &value); expected++) {
        assert_ptr_equal(value, expected);
        map_del(&map, key);
    }
    assert_ptr_equal(expected, values + 100);
    assert_int_equal(map_count(&map), 0);
    map_clear(&map);
}

static void test_queue_use_does_not_grow(void **state)
{
    (void)state;
    struct map map = MAP_INIT;
    char text[16];
    for (unsigned i = 0; i < 10000; i++) {
        map_set(&map, number_key(text, i), NULL);
        if (i >= 10)
            map_del(&map, number_key(text, i - 10));
    }
    assert_int_equal(map_count(&map), 10);
    assert_true(map.cap <= 64);
    map_clear(&map);
}

static int freed;

static void count_free(void *value)
{
    free(value);
    freed++;
}

static void test_clear_with(void **state)
{
    (void)state;
    struct map map = MAP_INIT;
    map_set(&map, STR("a"), xstrdup("1"));
    map_set(&map, STR("b"), xstrdup("2"));
    free(map_del(&map, STR("a")));
    freed = 0;
    map_clear_with(&map, count_free);
    assert_int_equal(freed, 1);
    map_clear_with(&map, count_free);
    assert_int_equal(freed, 1);
}

#define MODEL_KEYS 400U

/* The model: when each key was inserted (0: absent). */
static void check_model(const struct map *map, const uint64_t born[MODEL_KEYS])
{
    struct str key;
    void *value;
    uint64_t last = 0;
    size_t n = 0, live = 0;
    char text[16];
    for (size_t at = 0; map_next(map, &at, &key, &value); n++) {
        uint64_t birth = born[(uintptr_t)value];
        assert_true(birth > last); /* in the order of insertion */
        last = birth;
        assert_true(str_eq(key, number_key(text, (unsigned)(uintptr_t)value)));
    }
    for (unsigned i = 0; i < MODEL_KEYS; i++) {
        live += born[i] != 0;
        assert_int_equal(map_has(map, number_key(text, i)), born[i] != 0);
    }
    assert_int_equal(n, live);
    assert_int_equal(map_count(map), live);
}

static void test_random_run_against_model(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 7);
    struct map map = MAP_INIT;
    uint64_t born[MODEL_KEYS] = {0};
    char text[16];
    for (uint64_t step = 1; step <= 20000; step++) {
        unsigned i = (unsigned)rng_below(&rng, MODEL_KEYS);
        /* Phases of growth and of shrinking. */
        bool insert = rng_below(&rng, 100) < (step / 2000 % 2 ? 30U : 70U);
        if (insert) {
            map_set(&map, number_key(text, i), (void *)(uintptr_t)i);
            born[i] = born[i] ? born[i] : step;
        } else {
            map_del(&map, number_key(text, i));
            born[i] = 0;
        }
        if (step % 500 == 0)
            check_model(&map, born);
    }
    map_clear(&map);
}

/* Keys that all have the same low bits under str_hash, which anybody can compute. */
#define FLOOD_KEYS 4096
#define FLOOD_MASK 0x1fffU /* of the index that so many keys get */

static bool collides(struct str key)
{
    const uint64_t hash = str_hash(key);
    return (((uint32_t)(hash ^ (hash >> 32))) & FLOOD_MASK) == 0;
}

/* Processor time for setting so many keys; with `flood` only such as collide. */
static clock_t time_to_fill(bool flood)
{
    static char keys[FLOOD_KEYS][16];
    struct map map = MAP_INIT;
    unsigned n = 0;
    for (unsigned i = 0; n < FLOOD_KEYS; i++) {
        if (!flood || collides(number_key(keys[n], i)))
            (void)number_key(keys[n++], i);
    }
    const clock_t before = clock();
    for (n = 0; n < FLOOD_KEYS; n++)
        map_set(&map, str_of(keys[n]), NULL);
    const clock_t spent = clock() - before;
    assert_int_equal(map_count(&map), FLOOD_KEYS);
    map_clear(&map);
    return spent;
}

/* A table must not become a list because somebody chose its keys. */
static void test_chosen_keys(void **state)
{
    (void)state;
    const clock_t plain = time_to_fill(false), flood = time_to_fill(true);
    assert_true(flood < 10 * plain + CLOCKS_PER_SEC / 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_get),
        cmocka_unit_test(test_odd_keys),
        cmocka_unit_test(test_keys_are_copied),
        cmocka_unit_test(test_keys_are_borrowed),
        cmocka_unit_test(test_order_of_insertion),
        cmocka_unit_test(test_delete_while_iterating),
        cmocka_unit_test(test_queue_use_does_not_grow),
        cmocka_unit_test(test_clear_with),
        cmocka_unit_test(test_random_run_against_model),
        cmocka_unit_test(test_chosen_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
