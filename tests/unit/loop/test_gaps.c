/* Times in which the loop stood still are told from waits that it had meant. */
#include "testing.h"

#include "loop/loop.h"

static void note(void *arg)
{
    ++*(unsigned *)arg;
}

static void a_wait_that_was_meant_is_no_gap(void **state)
{
    struct loop *loop = loop_new_virtual(1, 0);
    struct loop_timer timer;
    unsigned ran = 0;

    (void)state;
    loop_timer_init(&timer, note, &ran);
    loop_timer_set(loop, &timer, 60 * NSEC_PER_SEC);
    loop_run(loop);
    assert_int_equal(ran, 1);
    assert_int_equal(loop_gaps(loop), 0);
    loop_free(loop);
}

static void standing_still_for_more_than_a_second_is(void **state)
{
    struct loop *loop = loop_new_virtual(1, 0);

    (void)state;
    loop_stand_still(loop, NSEC_PER_SEC);
    assert_int_equal(loop_gaps(loop), 0);
    loop_stand_still(loop, NSEC_PER_SEC + 1);
    assert_int_equal(loop_gaps(loop), 1);
    assert_int_equal(loop_gaps(loop), 1); /* it was told of */
    loop_free(loop);
}

static void a_turn_notices_it(void **state)
{
    struct loop *loop = loop_new_virtual(1, 0);
    struct loop_timer timer;
    unsigned ran = 0;

    (void)state;
    loop_timer_init(&timer, note, &ran);
    loop_timer_set(loop, &timer, 10 * NSEC_PER_SEC);
    loop_stand_still(loop, 2 * NSEC_PER_SEC);
    loop_run(loop);
    assert_int_equal(loop_gaps(loop), 1);
    loop_free(loop);
}

/* The real loop: a call that takes long, seen from the next one of the same turn. */
struct slow {
    struct loop *loop;
    uint64_t gaps;
};

static void be_slow(void *arg)
{
    (void)arg;
    (void)usleep(1100 * 1000);
}

static void look(void *arg)
{
    struct slow *slow = arg;
    slow->gaps = loop_gaps(slow->loop);
    loop_stop(slow->loop);
}

static void a_slow_call_is_seen_by_the_next(void **state)
{
    struct slow slow = {.loop = loop_new(1)};
    struct loop_deferred first, second;

    (void)state;
    loop_deferred_init(&first, be_slow, NULL);
    loop_deferred_init(&second, look, &slow);
    loop_defer(slow.loop, &first);
    loop_defer(slow.loop, &second);
    loop_run(slow.loop);
    assert_int_equal(slow.gaps, 1);
    loop_free(slow.loop);
}

static void a_real_wait_is_no_gap(void **state)
{
    struct slow slow = {.loop = loop_new(1)};
    struct loop_timer timer;

    (void)state;
    loop_timer_init(&timer, look, &slow);
    loop_timer_set(slow.loop, &timer, 1200 * NSEC_PER_MSEC);
    loop_run(slow.loop);
    assert_int_equal(slow.gaps, 0);
    loop_free(slow.loop);
}

/* A process that is stopped in its wait finds that it took longer than it meant. */
static void a_stopped_process_notices(void **state)
{
    struct slow slow = {.loop = loop_new(1)};
    struct loop_timer timer;
    const pid_t self = getpid();

    (void)state;
    loop_timer_init(&timer, look, &slow);
    loop_timer_set(slow.loop, &timer, 300 * NSEC_PER_MSEC);
    const pid_t child = fork();
    if (child == 0) {
        (void)usleep(100 * 1000);
        (void)kill(self, SIGSTOP);
        (void)usleep(1500 * 1000);
        (void)kill(self, SIGCONT);
        _exit(0);
    }
    loop_run(slow.loop);
    assert_int_equal(slow.gaps, 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    loop_free(slow.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_that_was_meant_is_no_gap),
        cmocka_unit_test(standing_still_for_more_than_a_second_is),
        cmocka_unit_test(a_turn_notices_it),
        cmocka_unit_test(a_slow_call_is_seen_by_the_next),
        cmocka_unit_test(a_real_wait_is_no_gap),
        cmocka_unit_test(a_stopped_process_notices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
