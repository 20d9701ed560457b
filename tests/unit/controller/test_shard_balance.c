/*
 * Who gets which shards: even shares, the fewest moves, and what may not be moved yet.
 */
#include "testing.h"

#include "base/rng.h"
#include "base/timefmt.h"
#include "controller/shards/shards.h"
#include <stdio.h>

#define MEMBERS_MAX 70

static struct shard_id id_of(unsigned number)
{
    struct shard_id id = {""};

    (void)snprintf(id.text, sizeof(id.text), "%016x", number);
    return id;
}

static int setup(void **state)
{
    static struct shards shards;
    const struct shard_id id = id_of(1);

    shards_init(&shards, &id, NSEC_PER_SEC);
    *state = &shards;
    return 0;
}

static int teardown(void **state)
{
    shards_clear(*state);
    return 0;
}

/* Member `number` is there and obeys a generation. */
static void put(struct shards *shards, unsigned number, uint64_t obeys)
{
    const struct shard_sign sign = {
        .id = id_of(number), .held = true, .alive = true, .obeys = obeys, .duration_ns = 1};

    shards_see_member(shards, &sign, 0);
}

/* It gives its Lease up. */
static void end(struct shards *shards, unsigned number)
{
    const struct shard_sign sign = {.id = id_of(number), .alive = true, .duration_ns = 1};

    shards_see_member(shards, &sign, 0);
}

static void obey_all(struct shards *shards, uint64_t generation)
{
    for (size_t i = 0; i < shards->members.n; i++)
        shards->members.items[i].obeys = generation;
}

static unsigned count_of(const struct shard_map *map, unsigned number)
{
    const struct shard_id id = id_of(number);
    unsigned count = 0;

    for (int i = 0; i < SHARD_COUNT; i++)
        count += shard_id_equal(&map->entries[i].owner, &id);
    return count;
}

static unsigned moves(const struct shard_map *before, const struct shard_map *after)
{
    unsigned count = 0;

    for (int i = 0; i < SHARD_COUNT; i++)
        count += !shard_id_equal(&before->entries[i].owner, &after->entries[i].owner);
    return count;
}

static unsigned share_least(unsigned members)
{
    return SHARD_COUNT / members;
}

/* Everybody has as much as the others, or one more. */
static void assert_even(const struct shard_map *map, const unsigned *numbers, unsigned n)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < n; i++) {
        const unsigned count = count_of(map, numbers[i]);
        assert_in_range(count, share_least(n), share_least(n) + (SHARD_COUNT % n != 0));
        sum += count;
    }
    assert_int_equal(sum, SHARD_COUNT);
}

/* Balances until nothing changes, everybody obeying at once; the number of moves. */
static unsigned settle(struct shards *shards, struct shard_map *map)
{
    const struct shard_map before = *map;

    for (int round = 0; shards_balance(shards, map); round++) {
        assert_true(round < 4);
        obey_all(shards, map->generation);
    }
    return moves(&before, map);
}

/* ---- shares ---------------------------------------------------------------------------------- */

static void one_member_gets_all(void **state)
{
    struct shard_map map = {.generation = 3};

    put(*state, 1, 0);
    assert_true(shards_balance(*state, &map));
    assert_int_equal(count_of(&map, 1), SHARD_COUNT);
    assert_int_equal(map.generation, 4);
    assert_false(shards_balance(*state, &map));
    assert_int_equal(map.generation, 4);
}

static void nobody_gets_nothing(void **state)
{
    struct shard_map map = {.generation = 3};

    assert_false(shards_balance(*state, &map));
    put(*state, 1, 0);
    end(*state, 1);
    assert_false(shards_balance(*state, &map));
}

/* From any number of members to any other, and back: even, and no shard moves without need. */
static void members_come_and_go(void **state)
{
    struct shards *shards = *state;

    for (unsigned from = 1; from <= MEMBERS_MAX; from++) {
        struct shard_map map = {.generation = 1};
        unsigned numbers[MEMBERS_MAX], seats = 0;
        shards_clear(shards);
        for (unsigned i = 0; i < from; i++) {
            numbers[i] = i + 1;
            put(shards, i + 1, 0);
        }
        seats = from < SHARD_COUNT ? from : SHARD_COUNT;
        assert_int_equal(settle(shards, &map), SHARD_COUNT);
        assert_even(&map, numbers, seats);
        if (from == SHARD_COUNT || from >= MEMBERS_MAX)
            continue;
        /* One more gets exactly its share. */
        put(shards, from + 1, map.generation);
        numbers[from] = from + 1;
        const unsigned moved = settle(shards, &map);
        assert_int_equal(moved, from < SHARD_COUNT ? share_least(from + 1) : 0);
        if (from >= SHARD_COUNT)
            continue;
        assert_even(&map, numbers, from + 1);
        /* It goes again, and exactly what it had moves. */
        const unsigned had = count_of(&map, from + 1);
        end(shards, from + 1);
        assert_int_equal(settle(shards, &map), had);
        assert_even(&map, numbers, from);
    }
}

/* The fewest moves between two sets of members: what those that go have, and what those that stay
 * have above the new shares, the larger of which go to those with most. */
static unsigned fewest(const struct shard_map *map, const bool *stays, unsigned n)
{
    unsigned counts[16], staying = 0, needed = 0, sum = 0;

    for (unsigned i = 0; i < n; i++) {
        staying += stays[i];
        counts[i] = count_of(map, i + 1);
    }
    if (staying == 0)
        return SHARD_COUNT + 1;
    unsigned larger = SHARD_COUNT % staying;
    for (unsigned i = 0; i < n; i++) {
        unsigned quota = stays[i] ? share_least(staying) : 0;
        sum += counts[i];
        if (stays[i] && counts[i] > quota && larger > 0) {
            larger--;
            quota++;
        }
        needed += counts[i] > quota ? counts[i] - quota : 0;
    }
    return needed + SHARD_COUNT - sum;
}

static void any_change_takes_the_fewest_moves(void **state)
{
    struct shards *shards = *state;
    struct rng rng;

    rng_seed(&rng, 11);
    for (int round = 0; round < 500; round++) {
        struct shard_map map = {.generation = 1};
        bool stays[16];
        unsigned numbers[16], n = 2 + (unsigned)rng_below(&rng, 14), left = 0;
        shards_clear(shards);
        for (int step = 0; step < 6; step++) {
            for (unsigned i = 0; i < n; i++)
                stays[i] = rng_below(&rng, 3) > 0;
            stays[rng_below(&rng, n)] = true;
            left = 0;
            shards_clear(shards);
            for (unsigned i = 0; i < n; i++) {
                if (stays[i]) {
                    put(shards, i + 1, map.generation);
                    numbers[left++] = i + 1;
                }
            }
            const unsigned expected = fewest(&map, stays, n);
            assert_int_equal(settle(shards, &map), expected);
            assert_even(&map, numbers, left);
        }
    }
}

static void equal_facts_give_equal_maps(void **state)
{
    struct shard_map one = {.generation = 1}, two = {.generation = 1};

    for (unsigned i = 1; i <= 5; i++)
        put(*state, i, 0);
    assert_true(shards_balance(*state, &one));
    shards_clear(*state);
    for (unsigned i = 5; i >= 1; i--)
        put(*state, i, 0);
    assert_true(shards_balance(*state, &two));
    assert_int_equal(moves(&one, &two), 0);
}

/* ---- who is waited for ----------------------------------------------------------------------- */

/* A map in which member 1 has all for good. */
static struct shard_map all_of_one(struct shards *shards)
{
    struct shard_map map = {.generation = 1};

    put(shards, 1, 0);
    assert_true(shards_balance(shards, &map));
    obey_all(shards, map.generation);
    return map;
}

static const struct shard_entry *entry_of(const struct shard_map *map, unsigned owner)
{
    const struct shard_id id = id_of(owner);

    for (int i = 0; i < SHARD_COUNT; i++) {
        if (shard_id_equal(&map->entries[i].owner, &id))
            return &map->entries[i];
    }
    fail();
    return NULL;
}

static void a_new_owner_waits_for_the_one_before(void **state)
{
    struct shard_map map = all_of_one(*state);

    put(*state, 2, 0);
    assert_true(shards_balance(*state, &map));
    const struct shard_entry *moved = entry_of(&map, 2);
    assert_int_equal(moved->wait, SHARD_WAIT_ONE);
    assert_string_equal(moved->from.text, id_of(1).text);
    assert_int_equal(moved->since, map.generation);
    assert_int_equal(entry_of(&map, 1)->wait, SHARD_NO_WAIT);
}

static void nobody_is_waited_for_who_has_ended(void **state)
{
    struct shard_map map = all_of_one(*state);

    put(*state, 2, 0);
    end(*state, 1);
    assert_true(shards_balance(*state, &map));
    assert_int_equal(count_of(&map, 2), SHARD_COUNT);
    assert_int_equal(entry_of(&map, 2)->wait, SHARD_NO_WAIT);
}

/* The second has not begun, or may have: whoever comes third cannot wait for two. */
static void what_is_on_its_way_stays_there(void **state)
{
    struct shard_map map = all_of_one(*state);

    put(*state, 2, 0);
    assert_true(shards_balance(*state, &map));
    const uint64_t lost = map.generation;
    put(*state, 3, 0);
    assert_true(shards_balance(*state, &map));
    assert_int_equal(count_of(&map, 2), SHARD_COUNT / 2);
    assert_int_equal(count_of(&map, 1), share_least(3) + 1);
    /* The first obeys what took them from it: now they can go on. */
    put(*state, 1, lost);
    assert_true(shards_balance(*state, &map));
    assert_in_range(count_of(&map, 2), share_least(3), share_least(3) + 1);
    assert_in_range(count_of(&map, 3), share_least(3), share_least(3) + 1);
}

/* The one it was on its way to has ended: the next one waits for the first just as well. */
static void the_wait_is_inherited(void **state)
{
    struct shard_map map = all_of_one(*state);

    put(*state, 2, 0);
    assert_true(shards_balance(*state, &map));
    const uint64_t lost = map.generation;
    put(*state, 3, 0);
    end(*state, 2);
    assert_true(shards_balance(*state, &map));
    const struct shard_entry *moved = entry_of(&map, 3);
    assert_int_equal(count_of(&map, 3), SHARD_COUNT / 2);
    assert_int_equal(moved->wait, SHARD_WAIT_ONE);
    assert_string_equal(moved->from.text, id_of(1).text);
    assert_int_equal(moved->since, lost);
    /* Back to the first, which need not wait for itself. */
    end(*state, 3);
    assert_true(shards_balance(*state, &map));
    assert_int_equal(count_of(&map, 1), SHARD_COUNT);
    for (int i = 0; i < SHARD_COUNT; i++)
        assert_int_equal(map.entries[i].wait, SHARD_NO_WAIT);
}

/* A Lease that somebody deleted does not end its process. */
static void one_without_a_lease_is_waited_for(void **state)
{
    struct shard_map map = all_of_one(*state);
    const struct shard_id first = id_of(1);

    put(*state, 2, 0);
    shards_lose_member(*state, &first);
    assert_true(shards_balance(*state, &map));
    assert_int_equal(count_of(&map, 2), SHARD_COUNT);
    assert_int_equal(entry_of(&map, 2)->wait, SHARD_WAIT_ONE);
}

/* ---- lost maps ------------------------------------------------------------------------------- */

static void everybody_is_waited_for_when_the_past_is_not_known(void **state)
{
    struct shards *shards = *state;
    struct shard_map map;

    put(shards, 1, 0);
    put(shards, 2, 0);
    shards_next_map(shards, NULL, 5, 2, &map);
    assert_true(map.generation > 5);
    assert_int_equal(map.term, 2);
    assert_int_equal(count_of(&map, 1) + count_of(&map, 2), 0);
    assert_true(shards_balance(shards, &map));
    assert_int_equal(count_of(&map, 1), SHARD_COUNT / 2);
    assert_int_equal(entry_of(&map, 1)->wait, SHARD_WAIT_ALL);
    /* Then for nobody. */
    obey_all(shards, map.generation);
    end(shards, 2);
    assert_true(shards_balance(shards, &map));
    assert_int_equal(count_of(&map, 1), SHARD_COUNT);
    assert_int_equal(map.entries[SHARD_COUNT - 1].wait, SHARD_NO_WAIT);
}

static void a_map_that_is_older_than_what_is_obeyed_knows_nothing(void **state)
{
    struct shard_map map = {.generation = 1};

    put(*state, 1, 0);
    assert_true(shards_balance(*state, &map));
    put(*state, 1, 57);
    put(*state, 2, 58);
    assert_true(shards_balance(*state, &map));
    assert_true(map.generation > 58);
    for (int i = 0; i < SHARD_COUNT; i++) {
        assert_int_equal(map.entries[i].wait, SHARD_WAIT_ALL);
        assert_int_equal(map.entries[i].since, map.generation);
    }
}

static void a_new_map_is_above_all_that_was(void **state)
{
    struct shards *shards = *state;
    struct shard_map map = {.generation = 70, .term = 1};

    shards_see_map(shards, &map, 0);
    put(shards, 1, 80);
    shards_next_map(shards, NULL, 0, 2, &map);
    assert_true(map.generation > 80);
    shards_next_map(shards, NULL, 5000, 2, &map);
    assert_true(map.generation > 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_member_gets_all, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_gets_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(members_come_and_go, setup, teardown),
        cmocka_unit_test_setup_teardown(any_change_takes_the_fewest_moves, setup, teardown),
        cmocka_unit_test_setup_teardown(equal_facts_give_equal_maps, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_owner_waits_for_the_one_before, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_is_waited_for_who_has_ended, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_on_its_way_stays_there, setup, teardown),
        cmocka_unit_test_setup_teardown(the_wait_is_inherited, setup, teardown),
        cmocka_unit_test_setup_teardown(one_without_a_lease_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(everybody_is_waited_for_when_the_past_is_not_known, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_map_that_is_older_than_what_is_obeyed_knows_nothing,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_map_is_above_all_that_was, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
