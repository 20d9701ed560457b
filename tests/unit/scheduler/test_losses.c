/*
 * Who gave room to whom, and from whom nobody takes it back.
 */
#include "testing.h"

#include "base/intern.h"
#include "scheduler/evict/losses.h"

#define JOBS 5

struct family {
    struct cache cache; /* of which the number of the workload counts alone */
    struct sched_job jobs[JOBS];
    struct evict_losses losses;
};

static void make(struct family *f)
{
    *f = (struct family){.cache = {.workload = 7}};
    for (size_t i = 0; i < JOBS; i++) {
        char uid[2] = {(char)('a' + (int)i), '\0'};
        f->jobs[i] = (struct sched_job){.cache = &f->cache, .uid = intern_get(str_of(uid))};
    }
}

static void unmake(struct family *f)
{
    losses_clear(&f->losses);
    for (size_t i = 0; i < JOBS; i++)
        intern_put(f->jobs[i].uid);
}

static void give(struct family *f, char giver, char taker)
{
    losses_note(&f->losses, &f->cache, &f->jobs[giver - 'a'], &f->jobs[taker - 'a']);
}

/* `uids`: one letter each. */
static void assert_spared(const struct family *f, char job, const char *uids)
{
    struct map spared;
    losses_of(&f->losses, &f->jobs[job - 'a'], &spared);
    assert_int_equal(map_count(&spared), strlen(uids));
    for (const char *uid = uids; *uid; uid++)
        assert_true(map_has(&spared, str_make(uid, 1)));
    map_clear(&spared);
}

static void nobody_takes_it_back(void **state)
{
    (void)state;
    struct family f;
    make(&f);
    assert_spared(&f, 'a', "");
    give(&f, 'a', 'b');
    give(&f, 'a', 'b');
    assert_spared(&f, 'a', "b");
    assert_spared(&f, 'b', "");
    unmake(&f);
}

static void nor_by_way_of_others(void **state)
{
    (void)state;
    struct family f;
    make(&f);
    give(&f, 'a', 'b');
    give(&f, 'b', 'c');
    give(&f, 'd', 'c');
    give(&f, 'a', 'e');
    assert_spared(&f, 'a', "bce");
    assert_spared(&f, 'b', "c");
    assert_spared(&f, 'd', "c");
    assert_spared(&f, 'c', "");
    unmake(&f);
}

static void another_workload_is_another_matter(void **state)
{
    (void)state;
    struct family f;
    make(&f);
    give(&f, 'a', 'b');
    f.cache.workload++;
    assert_spared(&f, 'a', "");
    give(&f, 'c', 'd');
    assert_spared(&f, 'a', "");
    assert_spared(&f, 'c', "d");
    unmake(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_takes_it_back),
        cmocka_unit_test(nor_by_way_of_others),
        cmocka_unit_test(another_workload_is_another_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
