/*
 * Shards of names, and the text of the map: what it looks like, what comes back of it, what is
 * refused.
 */
#include "testing.h"

#include "base/rng.h"
#include "controller/shards/map.h"
#include <stdio.h>

#define A "5f0c9ab2d1e47730"
#define B "c81d02f6aa30b915"
#define NAMES 64000

static void names_keep_their_shards(void **state)
{
    (void)state;
    assert_int_equal(shard_of("default", "j"), 5);
    assert_int_equal(shard_of("default", "job-1"), 17);
    assert_int_equal(shard_of("default", "job-2"), 28);
    assert_int_equal(shard_of("a", "b"), 55);
    assert_int_equal(shard_of("b", "a"), 60);
    assert_int_equal(shard_of("", ""), 57);
    assert_int_equal(shard_of("ns", "podgroup-6f1c2b1e-0000-4000-8000-000000000001"), 9);
}

static void names_are_spread_evenly(void **state)
{
    unsigned by_name[SHARD_COUNT] = {0}, by_namespace[SHARD_COUNT] = {0};
    char name[32];

    (void)state;
    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof(name), "job-%d", i);
        by_name[shard_of("default", name)]++;
        by_namespace[shard_of(name, "train")]++;
    }
    for (int i = 0; i < SHARD_COUNT; i++) {
        assert_in_range(by_name[i], NAMES / SHARD_COUNT * 9 / 10, NAMES / SHARD_COUNT * 11 / 10);
        assert_in_range(by_namespace[i], NAMES / SHARD_COUNT * 9 / 10,
                        NAMES / SHARD_COUNT * 11 / 10);
    }
}

/* ---- text ------------------------------------------------------------------------------------ */

static void read_good(const char *text, struct shard_map *ret_map)
{
    struct error err = ERROR_INIT;

    if (shard_map_read(str_of(text), ret_map, &err) < 0)
        fail_msg("%s", err.text);
}

static void a_text_says_it_all(void **state)
{
    struct shard_map map;
    const char *text = "7 term=3 " A "=0-20,41 " B "<" A "@7=21-40 -<*@1=42-63";
    cleanup_buf struct buf out = BUF_INIT(SHARD_MAP_TEXT_MAX);

    (void)state;
    read_good(text, &map);
    assert_int_equal(map.generation, 7);
    assert_int_equal(map.term, 3);
    assert_string_equal(map.entries[41].owner.text, A);
    assert_int_equal(map.entries[41].wait, SHARD_NO_WAIT);
    assert_string_equal(map.entries[21].owner.text, B);
    assert_string_equal(map.entries[40].from.text, A);
    assert_int_equal(map.entries[40].wait, SHARD_WAIT_ONE);
    assert_int_equal(map.entries[40].since, 7);
    assert_true(shard_id_empty(&map.entries[63].owner));
    assert_int_equal(map.entries[63].wait, SHARD_WAIT_ALL);
    assert_int_equal(map.entries[63].since, 1);
    shard_map_write(&map, &out);
    assert_str(buf_str(&out), text);
}

static const char *const bad[] = {
    "",
    "7",
    "7 term=3",
    "7 term=3 ",
    "0 term=3 " A "=0-63",
    "-1 term=3 " A "=0-63",
    "9007199254740993 term=3 " A "=0-63",
    "18446744073709551616 term=3 " A "=0-63",
    "7 term=-1 " A "=0-63",
    "7 term= " A "=0-63",
    "7 term=2147483648 " A "=0-63",
    "7 3 " A "=0-63",
    "7 term=3 " A "=0-62",
    "7 term=3 " A "=0-64",
    "7 term=3 " A "=0-4294967295",
    "7 term=3 " A "=0-63 " B "=63",
    "7 term=3 " A "=",
    "7 term=3 " A "0-63",
    "7 term=3 =0-63",
    "7 term=3 5f0c9ab2d1e4773=0-63",
    "7 term=3 5f0c9ab2d1e477300=0-63",
    "7 term=3 5F0C9AB2D1E47730=0-63",
    "7 term=3 " A "<=0-63",
    "7 term=3 " A "<" B "=0-63",
    "7 term=3 " A "<" B "@=0-63",
    "7 term=3 " A "<" B "@0=0-63",
    "7 term=3 " A "<" B "@x=0-63",
    "7 term=3 " A "<-@7=0-63",
    "7 term=3 " A "<@7=0-63",
    "7 term=3 " A "<*@9007199254740993=0-63",
    "7 term=3  " A "=0-63",
    "7  term=3 " A "=0-63",
};

static void what_is_not_of_the_form_is_refused(void **state)
{
    struct shard_map map = {.generation = 99};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct error err = ERROR_INIT;
        if (shard_map_read(str_of(bad[i]), &map, &err) == 0)
            fail_msg("\"%s\" was taken", bad[i]);
        assert_int_equal(err.cls, ERROR_INVALID);
        assert_int_equal(map.generation, 99);
    }
}

static void a_text_has_a_longest_length(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(SHARD_MAP_TEXT_MAX * 2);
    struct error err = ERROR_INIT;
    struct shard_map map, again;

    (void)state;
    for (size_t over = 0; over <= 1; over++) {
        const struct str end = STR("3 " A "=0-63");
        buf_reset(&text);
        buf_add_cstr(&text, "7 term=");
        while (text.n < SHARD_MAP_TEXT_MAX - end.n + over)
            buf_add_char(&text, '0');
        buf_add_str(&text, end);
        assert_int_equal(shard_map_read(buf_str(&text), &map, &err), over ? -1 : 0);
    }
    /* The longest that is written fits. */
    buf_reset(&text);
    map = (struct shard_map){.generation = UINT64_C(1) << 53, .term = INT32_MAX};
    for (unsigned i = 0; i < SHARD_COUNT; i++) {
        struct shard_entry *entry = &map.entries[i];
        (void)snprintf(entry->owner.text, sizeof(entry->owner.text), "%016x", i);
        (void)snprintf(entry->from.text, sizeof(entry->from.text), "%016x", i + 1);
        entry->wait = SHARD_WAIT_ONE;
        entry->since = map.generation - i;
    }
    shard_map_write(&map, &text);
    assert_true(text.n < SHARD_MAP_TEXT_MAX);
    read_good(text.p, &again);
    assert_memory_equal(&again.entries[63], &map.entries[63], sizeof(map.entries[63]));
}

/* ---- any map --------------------------------------------------------------------------------- */

static struct shard_id random_id(struct rng *rng)
{
    struct shard_id id = {""};

    (void)snprintf(id.text, sizeof(id.text), "%016x", (unsigned)rng_below(rng, 5));
    return id;
}

static struct shard_map random_map(struct rng *rng)
{
    struct shard_map map = {.generation = 1 + rng_below(rng, 9),
                            .term = (int32_t)rng_below(rng, 9)};

    for (int i = 0; i < SHARD_COUNT; i++) {
        struct shard_entry *entry = &map.entries[i];
        if (rng_below(rng, 4))
            entry->owner = random_id(rng);
        entry->wait = (enum shard_wait)rng_below(rng, 3);
        if (entry->wait == SHARD_WAIT_ONE)
            entry->from = random_id(rng);
        if (entry->wait != SHARD_NO_WAIT)
            entry->since = 1 + rng_below(rng, 9);
    }
    return map;
}

static void any_map_comes_back_as_it_was(void **state)
{
    struct rng rng;

    (void)state;
    rng_seed(&rng, 7);
    for (int round = 0; round < 2000; round++) {
        const struct shard_map map = random_map(&rng);
        cleanup_buf struct buf text = BUF_INIT(SHARD_MAP_TEXT_MAX);
        struct shard_map again;
        shard_map_write(&map, &text);
        read_good(text.p, &again);
        assert_int_equal(again.generation, map.generation);
        assert_int_equal(again.term, map.term);
        for (int i = 0; i < SHARD_COUNT; i++) {
            const struct shard_entry *a = &map.entries[i], *b = &again.entries[i];
            assert_true(shard_id_equal(&a->owner, &b->owner) && a->wait == b->wait &&
                        shard_id_equal(&a->from, &b->from) && a->since == b->since);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_keep_their_shards),
        cmocka_unit_test(names_are_spread_evenly),
        cmocka_unit_test(a_text_says_it_all),
        cmocka_unit_test(what_is_not_of_the_form_is_refused),
        cmocka_unit_test(a_text_has_a_longest_length),
        cmocka_unit_test(any_map_comes_back_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
