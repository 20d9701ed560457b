/*
 * Binding volumes while the API server refuses, fails, or says nothing.
 */
#include "volume_server.h"

#include "base/log.h"
#include <fcntl.h>

static void refused_writes_end_it(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local"), *y = add_claim(s, "y", "cloud");
    disk->fail = 403;
    place(s, "p", "x", s->a);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble,
                        "volume \"v\" could not be given to claim \"ns/x\": status 403");
    y->fail = 403;
    place(s, "p", "y", s->a);
    run(s);
    assert_int_equal(s->done, 2);
    assert_string_equal(s->trouble,
                        "no volume could be asked for claim \"ns/y\" on node \"a\": status 403");
    disk->fail = 422;
    place(s, "p", "x", s->a);
    run(s);
    assert_int_equal(s->done, 3);
    assert_string_equal(s->trouble,
                        "volume \"v\" could not be given to claim \"ns/x\": status 422");
    assert_string_equal(disk->claim, "");
    assert_string_equal(claim->volume, "");
    end(s);
}

/* Somebody else changed something that does not matter. */
static void stale_version_is_tried_again(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "cloud"), *y = add_claim(s, "y", "local");
    disk->rv = ++s->rv; /* not heard of */
    claim->rv = ++s->rv;
    place(s, "p", "y", s->a);
    place(s, "q", "x", s->a);
    run(s);
    assert_string_equal(disk->claim, "y");
    assert_string_equal(claim->node, "a");
    assert_int_equal(disk->patches, 1);
    assert_int_equal(s->done, 0);
    tie(s, y, disk);
    run(s);
    assert_int_equal(s->done, 1);
    end(s);
}

static void volume_taken_meanwhile(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    add_claim(s, "x", "local");
    copy(disk->claim, STR("other"));
    disk->rv = ++s->rv; /* not heard of */
    place(s, "p", "x", s->a);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble,
                        "volume \"v\", chosen for claim \"ns/x\", was given to claim \"ns/other\"");
    assert_string_equal(disk->claim, "other");
    assert_int_equal(disk->patches, 0);
    end(s);
}

static void write_in_doubt_is_read(void **state)
{
    (void)state;
    for (int after = 0; after < 2; after++) {
        struct server *s = begin();
        struct disk *disk = add_disk(s, "v", "a");
        struct ask_for *claim = add_claim(s, "x", "local");
        disk->fail = 500;
        disk->fail_after = after != 0;
        place(s, "p", "x", s->a);
        run(s);
        assert_string_equal(disk->claim, "x");
        assert_int_equal(disk->patches, 1);
        assert_int_equal(s->done, 0);
        tie(s, claim, disk);
        run(s);
        assert_int_equal(s->done, 1);
        assert_string_equal(s->trouble, "");
        end(s);
    }
}

/* Answers are lost for longer than it waits: what was written is found later, and undone. */
static void lost_answers(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    add_claim(s, "x", "local");
    volume_binder_set_timeout(s->binder, 40 * NSEC_PER_SEC);
    s->fake->mute = true;
    place(s, "p", "x", s->a);
    run_for(s, 60 * NSEC_PER_SEC);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "claim \"ns/x\" was not bound to volume \"v\" within 40 s: no "
                                    "answer in time");
    assert_string_equal(disk->claim, "x");
    s->fake->mute = false;
    run_for(s, 60 * NSEC_PER_SEC);
    assert_string_equal(disk->claim, "");
    assert_int_equal(volume_binder_busy(s->binder), 0);
    end(s);
}

/* Nobody says what became of a write: the pod waits no longer than for its volumes, the volume is
 * offered to nobody before that is known. */
static void reads_that_fail_end_in_time(void **state)
{
    (void)state;
    const int statuses[] = {403, 503};
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
        struct server *s = begin();
        struct disk *disk = add_disk(s, "v", "a");
        char trouble[128];
        add_claim(s, "x", "local");
        disk->fail = 500;
        disk->fail_after = true;
        disk->fail_reads = statuses[i];
        volume_binder_set_timeout(s->binder, 30 * NSEC_PER_SEC);
        place(s, "p", "x", s->a);
        run_for(s, 29 * NSEC_PER_SEC);
        assert_int_equal(s->done, 0);
        run_for(s, 2 * NSEC_PER_SEC);
        assert_int_equal(s->done, 1);
        snprintf(trouble, sizeof(trouble),
                 "claim \"ns/x\" was not bound to volume \"v\" within 30 s: status %d",
                 statuses[i]);
        assert_string_equal(s->trouble, trouble);
        struct pod_volumes *x = wants("x");
        assert_answer(s->v, x, s->a, NO_MATCH);
        disk->fail_reads = 0;
        run_for(s, 20 * NSEC_PER_SEC);
        assert_string_equal(disk->claim, "");
        assert_answer(s->v, x, s->a, NULL);
        pod_volumes_unref(x);
        end(s);
    }
}

static void reads_of_claims_that_fail_end_in_time(void **state)
{
    (void)state;
    struct server *s = begin();
    struct ask_for *claim = add_claim(s, "x", "cloud");
    claim->fail = 500;
    claim->fail_reads = 403;
    volume_binder_set_timeout(s->binder, 30 * NSEC_PER_SEC);
    place(s, "p", "x", s->a);
    run_for(s, 31 * NSEC_PER_SEC);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "no volume was made for claim \"ns/x\" on node \"a\" within "
                                    "30 s: status 403");
    assert_int_equal(volume_binder_busy(s->binder), 0);
    claim->fail_reads = 0;
    place(s, "p", "x", s->b);
    run(s);
    assert_string_equal(claim->node, "b");
    end(s);
}

/* One of two claims fails: the other's volume goes back, too. */
static void half_a_bind_is_undone(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *v = add_disk(s, "v", "a"), *w = add_disk(s, "w", "a");
    add_claim(s, "x", "local");
    add_claim(s, "y", "local");
    w->fail = 403;
    place(s, "p", "x y", s->a);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(v->claim, "");
    assert_string_equal(w->claim, "");
    assert_int_equal(v->releases, 1);
    end(s);
}

static void release_goes_on_until_it_is_done(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *v = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    place(s, "p", "x", s->a);
    run(s);
    v->fail = 500;
    claim->gone = true;
    show_claim(s, claim);
    run_for(s, 5 * NSEC_PER_SEC);
    assert_string_equal(v->claim, "");
    assert_int_equal(v->releases, 1);
    assert_int_equal(s->rooms, 1);
    end(s);
}

/* A volume that is about to be let go of is offered to nobody, however little is heard of it. */
static void released_volume_is_not_offered_before(void **state)
{
    (void)state;
    for (int behind = 0; behind < 2; behind++) {
        struct server *s = begin();
        struct disk *disk = add_disk(s, "v", "a");
        add_claim(s, "x", "local");
        add_claim(s, "y", "local");
        volume_binder_set_timeout(s->binder, 10 * NSEC_PER_SEC);
        s->behind = behind != 0;
        place(s, "p", "x", s->a);
        run(s);
        assert_string_equal(disk->claim, "x");
        s->fake->deaf = true;
        run_for(s, 10 * NSEC_PER_SEC);
        assert_int_equal(s->done, 1);
        struct pod_volumes *x = wants("x"), *y = wants("y");
        assert_answer(s->v, x, s->a, NO_MATCH);
        assert_answer(s->v, y, s->a, NO_MATCH);
        s->fake->deaf = false;
        s->behind = false;
        run_for(s, 30 * NSEC_PER_SEC);
        assert_string_equal(disk->claim, "");
        assert_answer(s->v, x, s->a, NULL);
        assert_answer(s->v, y, s->a, NULL);
        pod_volumes_unref(x);
        pod_volumes_unref(y);
        end(s);
    }
}

/* What the first that wrote did not find out, another does. */
static void another_settles_what_is_in_doubt(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    disk->fail = 500;
    disk->fail_after = true;
    disk->fail_reads = 403;
    place(s, "p", "x", s->a);
    place(s, "q", "x", s->a);
    run(s);
    volumes_forget(s->v, "p");
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "the pod is not to be bound any more");
    disk->fail_reads = 0;
    run_for(s, 10 * NSEC_PER_SEC);
    assert_string_equal(disk->claim, "x");
    assert_int_equal(disk->releases, 0);
    tie(s, claim, disk);
    run(s);
    assert_int_equal(s->done, 2);
    assert_string_equal(s->trouble, "");
    end(s);
}

int main(void)
{
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_writes_end_it),
        cmocka_unit_test(stale_version_is_tried_again),
        cmocka_unit_test(volume_taken_meanwhile),
        cmocka_unit_test(write_in_doubt_is_read),
        cmocka_unit_test(lost_answers),
        cmocka_unit_test(reads_that_fail_end_in_time),
        cmocka_unit_test(reads_of_claims_that_fail_end_in_time),
        cmocka_unit_test(half_a_bind_is_undone),
        cmocka_unit_test(release_goes_on_until_it_is_done),
        cmocka_unit_test(released_volume_is_not_offered_before),
        cmocka_unit_test(another_settles_what_is_in_doubt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
