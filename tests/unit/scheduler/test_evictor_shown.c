/*
 * How places are shown on pods, and taken back.
 */
#include "evictions.h"
#include "scheduler/evict/evictor_private.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_shown_a_moment_ago_is_taken_back),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
