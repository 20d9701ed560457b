/*
 * How places are shown on pods, and taken back.
 */
#include "evictions.h"
#include <sys/mman.h>
#include <unistd.h>

static void begin_cycle(struct cluster *c)
{
    assert_int_equal(c->scheduler->cycle.stage, CYCLE_IDLE);
    loop_timer_cancel(c->loop, &c->scheduler->cycle.timer);
    c->scheduler->cycle.stage = CYCLE_CHANGES;
}

static void end_cycle(struct cluster *c)
{
    loop_timer_set(c->loop, &c->scheduler->cycle.timer, 0);
    run(c);
}

/* The cache does not know yet that it is shown. */
static void what_was_shown_a_moment_ago_is_taken_back(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(1, 1, false);
    c->fake->latency_ns = SECOND;
    decide(c, 1);
    run_for(c, 100 * NSEC_PER_MSEC);
    begin_cycle(c);
    run_for(c, 5 * SECOND);
    assert_int_equal(nominated(c, "high"), 1);
    assert_int_equal(map_count(&c->scheduler->nominations), 0);
    assert_string_equal(task_of(c, "high-w-0")->pod->nominated, "");
    evict_decision_forget(job_of(c, "high")->decision);
    end_cycle(c);
    run_for(c, 5 * SECOND);
    assert_int_equal(nominated(c, "high"), 0);
    assert_int_equal(find_pod(c, "high-w-0")->nominations, 2);
    cluster_free(c);
}

static bool is_held(void *arg)
{
    return *(const bool *)arg;
}

/* What was to be cleared, which may wait, is a place again, which may not. */
static void places_go_first_whatever_was_shown(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(12, 12, false);
    bool may_write = false;
    for (unsigned i = 0; i < 12; i++) {
        cleanup_free char *name = xasprintf("high-w-%u", i);
        snprintf(find_pod(c, name)->nominated, NAME_SIZE, "gone");
        show_pod(c, find_pod(c, name));
    }
    run(c);
    window_set_fence(c->window, is_held, &may_write);
    for (unsigned i = 0; i < 12; i++) {
        cleanup_free char *name = xasprintf("high-w-%u", i);
        nomination_set(c->scheduler, task_of(c, name), NULL);
    }
    run(c);
    decide(c, 12);
    run(c);
    c->fake->latency_ns = 100 * NSEC_PER_MSEC;
    may_write = true;
    window_kick(c->window);
    while (asked(c) == 0)
        run_for(c, NSEC_PER_MSEC);
    for (unsigned i = 0; i < 12; i++) {
        cleanup_free char *name = xasprintf("high-w-%u", i), *node = xasprintf("n%u", i);
        assert_string_equal(find_pod(c, name)->nominated, node);
    }
    cluster_free(c);
}

/* Else the next scheduler would take it for a place. */
static void a_place_is_taken_back_in_the_end(void **state)
{
    static const int statuses[] = {500, 403};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
        struct cluster *c = full_cluster(1, 1, false);
        decide(c, 1);
        run_for(c, SECOND);
        assert_int_equal(nominated(c, "high"), 1);
        find_pod(c, "high-w-0")->no_nomination = -statuses[i];
        evict_decision_forget(job_of(c, "high")->decision);
        run_for(c, 900 * SECOND);
        assert_int_equal(nominated(c, "high"), 1);
        assert_int_equal(map_count(&c->scheduler->nominations), 1);
        find_pod(c, "high-w-0")->no_nomination = 0;
        run_for(c, 40 * SECOND);
        assert_int_equal(nominated(c, "high"), 0);
        assert_int_equal(map_count(&c->scheduler->nominations), 0);
        cluster_free(c);
    }
}

static void whoever_goes_is_not_asked_any_more(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(1, 1, false);
    struct test_pod *pod = find_pod(c, "high-w-0");
    pod->no_nomination = -500;
    decide(c, 1);
    run_for(c, 10 * SECOND);
    assert_int_equal(map_count(&c->scheduler->nominations), 1);
    pod->gone = true;
    show_pod(c, pod);
    run_for(c, 60 * SECOND);
    assert_int_equal(map_count(&c->scheduler->nominations), 0);
    cluster_free(c);
}

/* The place is held all the same, and somebody reads in the log why it is not shown. */
static void a_place_that_must_not_be_shown(void **state)
{
    (void)state;
    struct cluster *c = full_cluster(1, 1, false);
    char text[4096] = "";
    int log = memfd_create("log", MFD_CLOEXEC), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    log_set_fd(log);
    find_pod(c, "high-w-0")->no_nomination = -403;
    decide(c, 1);
    run_for(c, 10 * SECOND);
    log_set_fd(null);
    assert_true(pread(log, text, sizeof(text) - 1, 0) > 0);
    (void)close(log);
    assert_non_null(strstr(text, "a nomination cannot be written pod=ns/high-w-0"));
    assert_int_equal(map_count(&c->scheduler->nominations), 0);
    assert_int_equal(holds_pods(job_of(c, "high")->reservation), 1);
    show_evicted(c, true);
    run(c);
    assert_int_equal(bound(c, "high", NULL), 1);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_shown_a_moment_ago_is_taken_back),
        cmocka_unit_test(places_go_first_whatever_was_shown),
        cmocka_unit_test(a_place_is_taken_back_in_the_end),
        cmocka_unit_test(whoever_goes_is_not_asked_any_more),
        cmocka_unit_test(a_place_that_must_not_be_shown),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
