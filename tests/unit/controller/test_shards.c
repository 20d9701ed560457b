/*
 * What a member lets go, adopts and waits for, and what the leader publishes when: one step after
 * another, from the side of member 1. All at once, by chance, is in test_shards_storm.c.
 */
#include "testing.h"

#include "base/timefmt.h"
#include "controller/shards/shards.h"
#include <stdio.h>

#define DURATION (15 * NSEC_PER_SEC)
#define FIRST_HALF UINT64_C(0xffffffff)
#define SECOND_HALF (~FIRST_HALF)

struct bench {
    struct shards shards;
    struct shard_map map; /* that see() shows */
    int64_t now;
};

static struct shard_id id_of(unsigned number)
{
    struct shard_id id = {""};

    (void)snprintf(id.text, sizeof(id.text), "%016x", number);
    return id;
}

static int setup(void **state)
{
    struct bench *bench = xnew(struct bench);
    const struct shard_id own = id_of(1);

    shards_init(&bench->shards, &own, DURATION);
    shards_set_joined(&bench->shards, true);
    bench->now = NSEC_PER_SEC;
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;

    shards_clear(&bench->shards);
    free(bench);
    return 0;
}

/* The Lease of a member is seen, changed. */
static void renew(struct bench *bench, unsigned number, uint64_t obeys)
{
    const struct shard_sign sign = {
        .id = id_of(number), .held = true, .alive = true, .obeys = obeys, .duration_ns = DURATION};

    shards_see_member(&bench->shards, &sign, bench->now);
}

static void give_up(struct bench *bench, unsigned number)
{
    const struct shard_sign sign = {
        .id = id_of(number), .alive = true, .duration_ns = NSEC_PER_SEC};

    shards_see_member(&bench->shards, &sign, bench->now);
}

/* A set of shards has this owner, and perhaps another had it before. */
static void set_owner(struct bench *bench, shard_set set, unsigned owner, unsigned from,
                      uint64_t since)
{
    for (uint32_t i = 0; i < SHARD_COUNT; i++) {
        if (!shard_in(set, i))
            continue;
        bench->map.entries[i] = (struct shard_entry){.owner = id_of(owner), .since = since};
        bench->map.entries[i].wait = from ? SHARD_WAIT_ONE : SHARD_NO_WAIT;
        if (from)
            bench->map.entries[i].from = id_of(from);
    }
}

static void show_map(struct bench *bench, uint64_t generation)
{
    bench->map.generation = generation;
    shards_see_map(&bench->shards, &bench->map, bench->now);
}

static void assert_update(struct bench *bench, shard_set close, shard_set open)
{
    shard_set closed = 1, opened = 1;

    shards_update(&bench->shards, &closed, &opened);
    assert_int_equal(closed, close);
    assert_int_equal(opened, open);
}

/* Member 1 has the first half in generation 5, member 2 the second. */
static void begin(struct bench *bench)
{
    renew(bench, 1, 0);
    renew(bench, 2, 5);
    set_owner(bench, FIRST_HALF, 1, 0, 0);
    set_owner(bench, SECOND_HALF, 2, 0, 0);
    show_map(bench, 5);
    assert_update(bench, SHARDS_NONE, FIRST_HALF);
    assert_int_equal(bench->shards.obeyed, 5);
}

/* ---- letting go ------------------------------------------------------------------------------ */

static void nothing_is_held_without_a_lease_of_ones_own(void **state)
{
    struct bench *bench = *state;

    shards_set_joined(&bench->shards, false);
    set_owner(bench, SHARDS_ALL, 1, 0, 0);
    show_map(bench, 5);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    shards_set_joined(&bench->shards, true);
    assert_update(bench, SHARDS_NONE, SHARDS_ALL);
    shards_set_joined(&bench->shards, false);
    assert_update(bench, SHARDS_ALL, SHARDS_NONE);
}

static void a_generation_is_obeyed_when_all_is_drained(void **state)
{
    struct bench *bench = *state;

    begin(bench);
    set_owner(bench, 0xff, 2, 1, 6);
    show_map(bench, 6);
    assert_update(bench, 0xff, SHARDS_NONE);
    assert_int_equal(bench->shards.held, FIRST_HALF & ~UINT64_C(0xff));
    assert_int_equal(bench->shards.obeyed, 5);
    shards_drained(&bench->shards, 0x7f);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    assert_int_equal(bench->shards.obeyed, 5);
    shards_drained(&bench->shards, 0x80);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    assert_int_equal(bench->shards.obeyed, 6);
}

static void what_comes_back_is_drained_first(void **state)
{
    struct bench *bench = *state;

    begin(bench);
    set_owner(bench, 1, 2, 1, 6);
    show_map(bench, 6);
    assert_update(bench, 1, SHARDS_NONE);
    set_owner(bench, 1, 1, 0, 0);
    show_map(bench, 7);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    assert_int_equal(bench->shards.obeyed, 5);
    shards_drained(&bench->shards, 1);
    assert_update(bench, SHARDS_NONE, 1);
    assert_int_equal(bench->shards.obeyed, 7);
}

static void without_a_map_that_counts_all_is_let_go(void **state)
{
    struct bench *bench = *state;

    begin(bench);
    shards_see_map(&bench->shards, NULL, bench->now);
    assert_update(bench, FIRST_HALF, SHARDS_NONE);
    shards_drained(&bench->shards, FIRST_HALF);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    assert_int_equal(bench->shards.obeyed, 5);
    show_map(bench, 4); /* older than what was obeyed */
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    assert_int_equal(bench->shards.obeyed, 5);
    show_map(bench, 5);
    assert_update(bench, SHARDS_NONE, FIRST_HALF);
}

static bool is_asked(struct bench *bench, unsigned number)
{
    const struct shard_id id = id_of(number);
    struct shard_id asked;

    return shards_to_ask(&bench->shards, bench->now, &asked) && shard_id_equal(&asked, &id);
}

static void answer(struct bench *bench, unsigned number, enum shard_answer answer)
{
    const struct shard_id id = id_of(number);

    shards_asked(&bench->shards, &id, answer, bench->now);
}

/* ---- adopting -------------------------------------------------------------------------------- */

static void a_shard_comes_when_the_one_before_obeys(void **state)
{
    struct bench *bench = *state;

    begin(bench);
    renew(bench, 3, 0); /* not concerned */
    set_owner(bench, SECOND_HALF, 1, 2, 6);
    show_map(bench, 6);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    assert_int_equal(bench->shards.obeyed, 6);
    renew(bench, 2, 5);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    renew(bench, 2, 6);
    assert_update(bench, SHARDS_NONE, SECOND_HALF);
}

static void a_shard_comes_when_the_one_before_gives_its_lease_up(void **state)
{
    struct bench *bench = *state;

    begin(bench);
    set_owner(bench, SECOND_HALF, 1, 2, 6);
    show_map(bench, 6);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    give_up(bench, 2);
    assert_update(bench, SHARDS_NONE, SECOND_HALF);
}

/* Somebody may have deleted its Lease before we began. */
static void who_is_named_and_has_no_lease_is_waited_for(void **state)
{
    struct bench *bench = *state;
    const struct shard_id nine = id_of(9);
    struct shard_id asked;

    begin(bench);
    set_owner(bench, SECOND_HALF, 1, 9, 6);
    show_map(bench, 6);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    bench->now += DURATION - 1;
    show_map(bench, 6); /* again, as with each renewal */
    assert_false(shards_to_ask(&bench->shards, bench->now, &asked));
    bench->now += 1;
    assert_true(shards_to_ask(&bench->shards, bench->now, &asked));
    assert_string_equal(asked.text, nine.text);
    answer(bench, 9, SHARD_GONE);
    show_map(bench, 6);
    assert_update(bench, SHARDS_NONE, SECOND_HALF);
    set_owner(bench, SECOND_HALF, 1, 0, 0);
    show_map(bench, 7);
    assert_null(shards_find(&bench->shards, &nine));
}

static void everybody_may_have_to_obey(void **state)
{
    struct bench *bench = *state;

    renew(bench, 1, 0);
    renew(bench, 2, 5);
    renew(bench, 3, 6);
    set_owner(bench, SHARDS_ALL, 1, 0, 6);
    for (int i = 0; i < SHARD_COUNT; i++)
        bench->map.entries[i].wait = SHARD_WAIT_ALL;
    show_map(bench, 6);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    renew(bench, 2, 6);
    assert_update(bench, SHARDS_NONE, SHARDS_ALL);
}

/* ---- silence --------------------------------------------------------------------------------- */

/* Member 2 is to let go the second half, and is silent from now on. */
static void wait_for_two(struct bench *bench)
{
    begin(bench);
    set_owner(bench, SECOND_HALF, 1, 2, 6);
    show_map(bench, 6);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    assert_int_equal(shards_next_ask(&bench->shards), bench->now + DURATION);
    bench->now += DURATION - 1;
    assert_false(is_asked(bench, 2));
    bench->now += 1;
}

static void who_is_silent_is_asked_before_it_is_over(void **state)
{
    struct bench *bench = *state;

    wait_for_two(bench);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    assert_true(is_asked(bench, 2));
    assert_false(is_asked(bench, 2)); /* once at a time */
    assert_int_equal(shards_next_ask(&bench->shards), INT64_MAX);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    answer(bench, 2, SHARD_THERE);
    assert_update(bench, SHARDS_NONE, SECOND_HALF);
}

static void a_late_watch_ends_nobody(void **state)
{
    struct bench *bench = *state;

    wait_for_two(bench);
    assert_true(is_asked(bench, 2));
    renew(bench, 2, 5); /* what the GET shows */
    answer(bench, 2, SHARD_THERE);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    assert_false(is_asked(bench, 2));
    assert_int_equal(shards_next_ask(&bench->shards), bench->now + DURATION);
}

static void a_get_without_an_answer_says_nothing(void **state)
{
    struct bench *bench = *state;

    wait_for_two(bench);
    assert_true(is_asked(bench, 2));
    answer(bench, 2, SHARD_NO_ANSWER);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    assert_true(is_asked(bench, 2));
}

/* It was paused, and will find that it has lost its Lease. */
static void who_is_over_stays_so(void **state)
{
    struct bench *bench = *state;

    wait_for_two(bench);
    assert_true(is_asked(bench, 2));
    answer(bench, 2, SHARD_THERE);
    renew(bench, 2, 5);
    assert_update(bench, SHARDS_NONE, SECOND_HALF);
}

static void a_deleted_lease_ends_nobody(void **state)
{
    struct bench *bench = *state;
    const struct shard_id two = id_of(2);

    begin(bench);
    shards_lose_member(&bench->shards, &two);
    set_owner(bench, SECOND_HALF, 1, 2, 6);
    show_map(bench, 6);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    bench->now += DURATION;
    assert_true(is_asked(bench, 2));
    answer(bench, 2, SHARD_GONE);
    assert_update(bench, SHARDS_NONE, SECOND_HALF);
    assert_non_null(shards_find(&bench->shards, &two)); /* the map names it */
    set_owner(bench, SECOND_HALF, 1, 0, 0);
    show_map(bench, 7);
    assert_null(shards_find(&bench->shards, &two));
}

/* It is gone, and the watch is late: it may have been renewed until a moment ago. */
static void a_lease_that_is_gone_unseen_is_waited_out(void **state)
{
    struct bench *bench = *state;

    wait_for_two(bench);
    assert_true(is_asked(bench, 2));
    answer(bench, 2, SHARD_GONE);
    assert_update(bench, SHARDS_NONE, SHARDS_NONE);
    assert_int_equal(shards_next_ask(&bench->shards), bench->now + DURATION);
    bench->now += DURATION;
    assert_true(is_asked(bench, 2));
    answer(bench, 2, SHARD_GONE);
    assert_update(bench, SHARDS_NONE, SECOND_HALF);
}

/* Only what matters is asked for: a shard of ours that waits, or all if we lead. */
static void who_does_not_matter_is_not_asked(void **state)
{
    struct bench *bench = *state;

    begin(bench);
    bench->now += DURATION;
    assert_false(is_asked(bench, 2));
    assert_int_equal(shards_next_ask(&bench->shards), INT64_MAX);
    shards_set_leading(&bench->shards, true, 1);
    assert_true(is_asked(bench, 2));
    assert_false(is_asked(bench, 1)); /* never itself */
}

/* One that vanished is forgotten in the end, or its memory would stay for good. */
static void who_vanished_is_forgotten(void **state)
{
    struct bench *bench = *state;
    const struct shard_id three = id_of(3);

    begin(bench);
    renew(bench, 3, 5);
    shards_lose_member(&bench->shards, &three);
    assert_non_null(shards_find(&bench->shards, &three));
    bench->now += DURATION;
    assert_true(is_asked(bench, 3));
    answer(bench, 3, SHARD_GONE);
    assert_null(shards_find(&bench->shards, &three));
}

/* ---- the leader ------------------------------------------------------------------------------ */

static struct shard_map next_map(struct bench *bench, int32_t term)
{
    struct shard_map next;

    shards_next_map(&bench->shards, &bench->map, bench->map.generation, term, &next);
    return next;
}

/* What stands there may name members of which the watch has not told yet. */
static void whoever_takes_the_lease_signs_first(void **state)
{
    struct bench *bench = *state;

    begin(bench);
    give_up(bench, 2);
    struct shard_map next = next_map(bench, 1);
    assert_int_equal(next.generation, 5);
    assert_int_equal(next.term, 1);
    shards_set_leading(&bench->shards, true, 1);
    assert_false(shards_map_is_due(&bench->shards));
    bench->map = next;
    shards_see_map(&bench->shards, &bench->map, bench->now);
    assert_true(shards_map_is_due(&bench->shards));
    next = next_map(bench, 1);
    assert_int_equal(next.generation, 6);
    bench->map = next;
    assert_int_equal(next_map(bench, 1).generation, 6); /* the watch has not shown it */
    shards_see_map(&bench->shards, &bench->map, bench->now);
    assert_false(shards_map_is_due(&bench->shards));
    assert_int_equal(next_map(bench, 1).generation, 6);
    assert_update(bench, SHARDS_NONE, SECOND_HALF);
}

static void who_does_not_lead_publishes_nothing(void **state)
{
    struct bench *bench = *state;

    begin(bench);
    give_up(bench, 2);
    assert_false(shards_map_is_due(&bench->shards));
    assert_int_equal(next_map(bench, 0).generation, 5);
}

/* How many there are, and the last of them. */
static int left_over(const struct bench *bench, struct shard_id *ret_last)
{
    size_t pos = 0;
    int count = 0;

    while (shards_left_over(&bench->shards, &pos, ret_last))
        count++;
    return count;
}

/* What it was waited for has come about: the next write of the Lease names it no more. */
static void who_need_not_be_waited_for_is_not_named(void **state)
{
    struct bench *bench = *state;
    struct shard_id found;

    begin(bench);
    set_owner(bench, SECOND_HALF, 1, 2, 6);
    show_map(bench, 6);
    shards_set_leading(&bench->shards, true, 0);
    assert_int_equal(next_map(bench, 0).entries[63].wait, SHARD_WAIT_ONE);
    give_up(bench, 2);
    assert_int_equal(left_over(bench, &found), 0);
    const struct shard_map next = next_map(bench, 0);
    assert_int_equal(next.generation, 6);
    assert_int_equal(next.entries[63].wait, SHARD_NO_WAIT);
    assert_int_equal(next.entries[63].since, 0);
    bench->map = next;
    shards_see_map(&bench->shards, &bench->map, bench->now);
    assert_int_equal(left_over(bench, &found), 1);
}

static void leases_of_no_use_are_deleted(void **state)
{
    struct bench *bench = *state;
    struct shard_id found;
    const struct shard_id two = id_of(2);

    begin(bench);
    shards_set_leading(&bench->shards, true, 0);
    assert_int_equal(left_over(bench, &found), 0);
    give_up(bench, 2);
    assert_int_equal(left_over(bench, &found), 0); /* the map names it */
    bench->map = next_map(bench, 0);
    shards_see_map(&bench->shards, &bench->map, bench->now);
    assert_int_equal(left_over(bench, &found), 1);
    assert_string_equal(found.text, two.text);
    give_up(bench, 3);
    renew(bench, 4, 5);
    give_up(bench, 5);
    assert_int_equal(left_over(bench, &found), 3); /* whether the first can be deleted or not */
    assert_string_equal(found.text, id_of(5).text);
    shards_lose_member(&bench->shards, &two);
    assert_int_equal(left_over(bench, &found), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_held_without_a_lease_of_ones_own),
        TEST(a_generation_is_obeyed_when_all_is_drained),
        TEST(what_comes_back_is_drained_first),
        TEST(without_a_map_that_counts_all_is_let_go),
        TEST(a_shard_comes_when_the_one_before_obeys),
        TEST(a_shard_comes_when_the_one_before_gives_its_lease_up),
        TEST(who_is_named_and_has_no_lease_is_waited_for),
        TEST(everybody_may_have_to_obey),
        TEST(who_is_silent_is_asked_before_it_is_over),
        TEST(a_late_watch_ends_nobody),
        TEST(a_get_without_an_answer_says_nothing),
        TEST(who_is_over_stays_so),
        TEST(a_deleted_lease_ends_nobody),
        TEST(a_lease_that_is_gone_unseen_is_waited_out),
        TEST(who_does_not_matter_is_not_asked),
        TEST(who_vanished_is_forgotten),
        TEST(whoever_takes_the_lease_signs_first),
        TEST(who_does_not_lead_publishes_nothing),
        TEST(who_need_not_be_waited_for_is_not_named),
        TEST(leases_of_no_use_are_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
