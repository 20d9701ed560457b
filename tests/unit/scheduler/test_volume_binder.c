/*
 * Binding volumes before pods: what is written, waited for and undone.
 */
#include "volume_server.h"

#include "base/log.h"
#include <fcntl.h>

/* ---- tests ----------------------------------------------------------------------------------- */

static void nothing_to_bind(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    tie(s, claim, disk);
    assert_null(place(s, "p", "x", s->a));
    run(s);
    assert_int_equal(s->done, 0);
    assert_int_equal(s->fake->requests, 0);
    end(s);
}

static void chosen_volume_is_marked_and_waited_for(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    assert_non_null(place(s, "p", "x", s->a));
    run(s);
    assert_int_equal(s->done, 0);
    assert_int_equal(volume_binder_busy(s->binder), 1);
    assert_string_equal(disk->claim, "x");
    assert_string_equal(disk->claim_uid, claim->uid);
    assert_true(disk->by_controller);
    assert_int_equal(s->fake->requests, 1);
    tie(s, claim, disk);
    assert_int_equal(s->done, 0); /* never from inside */
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "");
    assert_false(volumes_has_choices(s->v, "p"));
    run_for(s, 700 * NSEC_PER_SEC);
    assert_int_equal(s->done, 1);
    assert_int_equal(disk->releases, 0);
    assert_int_equal(volume_binder_busy(s->binder), 0);
    end(s);
}

static void node_is_noted_for_what_is_to_be_made(void **state)
{
    (void)state;
    struct server *s = begin();
    struct ask_for *claim = add_claim(s, "x", "cloud");
    assert_non_null(place(s, "p", "x", s->b));
    run(s);
    assert_string_equal(claim->node, "b");
    assert_int_equal(claim->patches, 1);
    assert_int_equal(s->done, 0);
    /* The claim is heard of before its new volume. */
    copy(claim->volume, STR("made"));
    claim->bound = true;
    show_claim(s, claim);
    run(s);
    assert_int_equal(s->done, 0);
    struct disk *disk = add_disk(s, "made", "b");
    tie(s, claim, disk);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "");
    end(s);
}

static void all_claims_are_waited_for(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *v = add_disk(s, "v", "a"), *w = add_disk(s, "w", "a");
    struct ask_for *x = add_claim(s, "x", "local"), *y = add_claim(s, "y", "local");
    struct ask_for *z = add_claim(s, "z", "cloud");
    place(s, "p", "x y z", s->a);
    run(s);
    assert_string_equal(v->claim, "x");
    assert_string_equal(w->claim, "y");
    assert_string_equal(z->node, "a");
    tie(s, x, v);
    run(s);
    tie(s, z, add_disk(s, "made", "a"));
    run(s);
    assert_int_equal(s->done, 0);
    tie(s, y, w);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "");
    end(s);
}

/* Nobody binds them: everything is as before, and may be tried again. */
static void late_bind_is_undone(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    add_claim(s, "x", "local");
    volume_binder_set_timeout(s->binder, 30 * NSEC_PER_SEC);
    place(s, "p", "x", s->a);
    run_for(s, 29 * NSEC_PER_SEC);
    assert_int_equal(s->done, 0);
    run_for(s, 2 * NSEC_PER_SEC);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "claim \"ns/x\" was not bound to volume \"v\" within 30 s");
    assert_string_equal(disk->claim, "");
    assert_false(disk->by_controller);
    assert_int_equal(disk->releases, 1);
    assert_int_equal(s->rooms, 1);
    assert_int_equal(volume_binder_busy(s->binder), 0);
    assert_non_null(place(s, "p", "x", s->a));
    run(s);
    assert_string_equal(disk->claim, "x");
    end(s);
}

static void late_making_names_the_node(void **state)
{
    (void)state;
    struct server *s = begin();
    struct ask_for *claim = add_claim(s, "x", "cloud");
    place(s, "p", "x", s->b);
    run_for(s, 599 * NSEC_PER_SEC);
    assert_int_equal(s->done, 0);
    run_for(s, 2 * NSEC_PER_SEC);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "no volume was made for claim \"ns/x\" on node \"b\" within "
                                    "600 s");
    assert_string_equal(claim->node, "b"); /* which whoever makes it may be at */
    end(s);
}

/* What the user had said of the claim stays. */
static void users_own_mark_is_kept(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    copy(disk->claim, STR("x"));
    show_disk(s, disk);
    struct ask_for *claim = add_claim(s, "x", "local");
    volume_binder_set_timeout(s->binder, 30 * NSEC_PER_SEC);
    place(s, "p", "x", s->a);
    run(s);
    assert_string_equal(disk->claim_uid, claim->uid);
    assert_false(disk->by_controller);
    run_for(s, 40 * NSEC_PER_SEC);
    assert_int_equal(s->done, 1);
    assert_string_equal(disk->claim, "x");
    assert_string_equal(disk->claim_uid, "");
    end(s);
}

/* It is bound at the same moment: what is bound stays. */
static void bound_volume_is_not_released(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    add_claim(s, "x", "local");
    volume_binder_set_timeout(s->binder, 30 * NSEC_PER_SEC);
    place(s, "p", "x", s->a);
    run(s);
    disk->phase = "Bound";
    disk->rv = ++s->rv; /* not heard of */
    run_for(s, 40 * NSEC_PER_SEC);
    assert_int_equal(s->done, 1);
    assert_int_equal(disk->releases, 0);
    assert_string_equal(disk->claim, "x");
    assert_int_equal(volume_binder_busy(s->binder), 0);
    end(s);
}

static void deleted_claim_ends_it(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    place(s, "p", "x", s->a);
    run(s);
    claim->gone = true;
    show_claim(s, claim);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "claim \"ns/x\" was deleted");
    assert_string_equal(disk->claim, "");
    /* One of the same name is another. */
    claim = add_claim(s, "x", "local");
    place(s, "p", "x", s->a);
    claim->gone = true;
    show_claim(s, claim);
    add_claim(s, "x", "local");
    run(s);
    assert_int_equal(s->done, 2);
    assert_string_equal(s->trouble, "claim \"ns/x\" was deleted");
    end(s);
}

static void volumes_that_go_end_it(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    add_claim(s, "x", "local");
    place(s, "p", "x", s->a);
    run(s);
    copy(disk->claim, STR(""));
    copy(disk->claim_uid, STR(""));
    show_disk(s, disk);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "volume \"v\" was taken away from claim \"ns/x\"");
    place(s, "p", "x", s->a);
    run(s);
    disk->gone = true;
    show_disk(s, disk);
    run(s);
    assert_int_equal(s->done, 2);
    assert_string_equal(s->trouble, "volume \"v\", chosen for claim \"ns/x\", is gone");
    end(s);
}

/* Whoever makes volumes takes the node off the claim when it cannot. */
static void given_up_making_ends_it(void **state)
{
    (void)state;
    struct server *s = begin();
    struct ask_for *claim = add_claim(s, "x", "cloud");
    place(s, "p", "x", s->a);
    run(s);
    copy(claim->node, STR(""));
    show_claim(s, claim);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "no volume could be made for claim \"ns/x\" on node \"a\"");
    end(s);
}

static void wrong_volume_ends_it(void **state)
{
    (void)state;
    struct server *s = begin();
    struct ask_for *claim = add_claim(s, "x", "cloud");
    place(s, "p", "x", s->a);
    run(s);
    tie(s, claim, add_disk(s, "made", "b"));
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "claim \"ns/x\" was bound to volume \"made\", which node \"a\" "
                                    "cannot reach");
    end(s);
}

/* ---- several pods ---------------------------------------------------------------------------- */

static void pods_share_what_is_written(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    place(s, "p", "x", s->a);
    place(s, "q", "x", s->a);
    run(s);
    place(s, "r", "x", s->a);
    run(s);
    assert_int_equal(disk->patches, 1);
    tie(s, claim, disk);
    run(s);
    assert_int_equal(s->done, 3);
    assert_string_equal(s->trouble, "");
    end(s);
}

/* The one that was to write goes first: another takes over. */
static void another_writes_when_the_first_goes(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    s->fake->refusing = true;
    place(s, "p", "x", s->a);
    place(s, "q", "x", s->a);
    run(s);
    volumes_forget(s->v, "p");
    s->fake->refusing = false;
    run_for(s, 10 * NSEC_PER_SEC);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "the pod is not to be bound any more");
    assert_string_equal(disk->claim, "x");
    assert_int_equal(disk->releases, 0);
    tie(s, claim, disk);
    run(s);
    assert_int_equal(s->done, 2);
    assert_string_equal(s->trouble, "");
    end(s);
}

static void forgotten_pod_ends_and_may_come_again(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    place(s, "p", "x", s->a);
    run(s);
    volumes_forget(s->v, "p");
    assert_int_equal(s->done, 0);
    place(s, "p", "x", s->a);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "the pod is not to be bound any more");
    tie(s, claim, disk);
    run(s);
    assert_int_equal(s->done, 2);
    assert_string_equal(s->trouble, "");
    assert_int_equal(disk->releases, 0);
    end(s);
}

/* What is written stays, for the next scheduler to go on from. */
static void stop_waits_for_nothing(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    add_claim(s, "x", "local");
    place(s, "p", "x", s->a);
    run(s);
    volume_binder_stop(s->binder);
    assert_int_equal(s->done, 0);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "the scheduler ends");
    assert_string_equal(disk->claim, "x");
    assert_int_equal(volume_binder_busy(s->binder), 0);
    end(s);
}

/* In the middle of everything. */
static void freed_with_work_under_way(void **state)
{
    (void)state;
    struct server *s = begin();
    add_disk(s, "v", "a");
    add_disk(s, "w", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    add_claim(s, "y", "local");
    place(s, "p", "x", s->a);
    run(s);
    claim->gone = true;
    show_claim(s, claim);
    s->fake->mute = true;
    run(s);
    place(s, "q", "y", s->a);
    run_for(s, 5 * NSEC_PER_MSEC);
    end(s);
}

int main(void)
{
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_to_bind),
        cmocka_unit_test(chosen_volume_is_marked_and_waited_for),
        cmocka_unit_test(node_is_noted_for_what_is_to_be_made),
        cmocka_unit_test(all_claims_are_waited_for),
        cmocka_unit_test(late_bind_is_undone),
        cmocka_unit_test(late_making_names_the_node),
        cmocka_unit_test(users_own_mark_is_kept),
        cmocka_unit_test(bound_volume_is_not_released),
        cmocka_unit_test(deleted_claim_ends_it),
        cmocka_unit_test(volumes_that_go_end_it),
        cmocka_unit_test(given_up_making_ends_it),
        cmocka_unit_test(wrong_volume_ends_it),
        cmocka_unit_test(pods_share_what_is_written),
        cmocka_unit_test(another_writes_when_the_first_goes),
        cmocka_unit_test(forgotten_pod_ends_and_may_come_again),
        cmocka_unit_test(stop_waits_for_nothing),
        cmocka_unit_test(freed_with_work_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
