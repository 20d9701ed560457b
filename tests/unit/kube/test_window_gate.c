/*
 * What may be sent at all: gates, draining, and the time that is told to the server.
 */
#include "window_fixture.h"

static struct window_gate gate;
static struct loop_deferred drained;
static unsigned times_drained;

static void on_drained(void *arg)
{
    (void)arg;
    times_drained++;
}

static int setup_gate(void **state)
{
    loop_deferred_init(&drained, on_drained, NULL);
    gate = (struct window_gate){.drained = &drained};
    times_drained = 0;
    return setup(state);
}

static int teardown_gate(void **state)
{
    struct fixture *f = *state;

    window_clear_gate(f->window, &gate);
    return teardown(state);
}

static void submit_gated(struct fixture *f, struct job *job, const char *name)
{
    const struct window_spec spec = {.cls = WINDOW_CREATE,
                                     .method = KUBE_POST,
                                     .gate = &gate,
                                     .render = render,
                                     .done = done,
                                     .arg = job};

    *job = (struct job){.f = f};
    (void)snprintf(job->name, sizeof(job->name), "%s", name);
    job->request = window_submit(f->window, &spec);
}

/* ---- gates ----------------------------------------------------------------------------------- */

static void behind_a_closed_gate_nothing_is_sent(void **state)
{
    struct fixture *f = *state;
    static struct job before, after, other;

    one_at_a_time(f);
    submit(f, &other, "other", WINDOW_BIND, NULL);
    submit_gated(f, &before, "before");
    turn(f);
    window_close_gate(f->window, &gate);
    submit_gated(f, &after, "after");
    serve(f, "other");
    assert_int_equal(before.done + after.done, 2);
    assert_int_equal(before.renders + after.renders, 0);
    assert_int_equal(f->last.error.cls, ERROR_CANCELLED);
    assert_int_equal(f->last.outcome, KUBE_NOT_SENT);
    submit(f, &other, "more", WINDOW_CREATE, NULL);
    serve(f, "more");
    window_open_gate(f->window, &gate);
    submit_gated(f, &after, "again");
    serve(f, "again");
    assert_int_equal(after.done, 1);
}

static void a_gate_is_drained_when_nothing_is_in_flight(void **state)
{
    struct fixture *f = *state;
    static struct job one, two;

    submit_gated(f, &one, "one");
    submit_gated(f, &two, "two");
    turn(f);
    assert_int_equal(gate.inflight, 2);
    window_close_gate(f->window, &gate);
    turn(f);
    manual_answer(manual_first(f->server), 201, "{}", 0);
    turn(f);
    assert_int_equal(times_drained, 0);
    manual_fail(manual_first(f->server), KUBE_IN_DOUBT, ERROR_RETRY);
    turn(f);
    assert_int_equal(times_drained, 1);
    assert_int_equal(one.done + two.done, 2);
    window_close_gate(f->window, &gate);
    turn(f);
    assert_int_equal(times_drained, 2);
}

static void an_open_gate_is_never_drained(void **state)
{
    struct fixture *f = *state;
    static struct job one;

    submit_gated(f, &one, "one");
    serve(f, "one");
    assert_int_equal(gate.inflight, 0);
    assert_int_equal(times_drained, 0);
}

/* Its owner goes; the request may still have its effect, so it counts until it has ended. */
static void what_is_withdrawn_in_flight_is_left_to_end(void **state)
{
    static const struct {
        int status; /* 0: not sent */
    } ends[] = {{201}, {429}, {503}, {0}};
    struct fixture *f = *state;
    static struct job one;

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        const unsigned started = f->server->started;
        submit_gated(f, &one, "one");
        turn(f);
        window_close_gate(f->window, &gate);
        assert_false(cancel(&one));
        turn(f);
        assert_int_equal(f->server->inflight, 1);
        assert_int_equal(times_drained, i);
        if (ends[i].status)
            manual_answer(manual_first(f->server), ends[i].status, "{}", 0);
        else
            manual_fail(manual_first(f->server), KUBE_NOT_SENT, ERROR_RETRY);
        run_for(f->loop, 20 * NSEC_PER_SEC);
        assert_int_equal(times_drained, i + 1);
        assert_int_equal(gate.inflight, 0);
        assert_int_equal(one.done, 0);
        assert_int_equal(f->server->started, started + 1);
        window_open_gate(f->window, &gate);
    }
}

static void with_an_open_gate_withdrawing_aborts(void **state)
{
    struct fixture *f = *state;
    static struct job one;

    submit_gated(f, &one, "one");
    turn(f);
    assert_false(cancel(&one));
    assert_int_equal(f->server->inflight, 0);
    assert_int_equal(f->server->cancelled, 1);
    assert_int_equal(gate.inflight, 0);
}

/* A flow may go when its requests are withdrawn, in flight or not. */
static void a_flow_may_go_before_what_was_withdrawn(void **state)
{
    struct fixture *f = *state;
    static struct job one;
    struct window_flow *flow = xnew(struct window_flow);

    window_flow_init(f->window, flow);
    const struct window_spec spec = {.cls = WINDOW_CREATE,
                                     .method = KUBE_POST,
                                     .flow = flow,
                                     .gate = &gate,
                                     .render = render,
                                     .done = done,
                                     .arg = &one};
    one = (struct job){.f = f, .name = "one"};
    one.request = window_submit(f->window, &spec);
    turn(f);
    window_close_gate(f->window, &gate);
    (void)cancel(&one);
    assert_int_equal(flow->count, 0);
    free(flow);
    manual_answer(manual_first(f->server), 201, "{}", 0);
    turn(f);
    assert_int_equal(times_drained, 1);
}

static void a_gate_may_go_at_any_time(void **state)
{
    struct fixture *f = *state;
    static struct job one, two;

    submit_gated(f, &one, "one");
    submit_gated(f, &two, "two");
    turn(f);
    window_close_gate(f->window, &gate);
    (void)cancel(&one);
    (void)cancel(&two);
    assert_int_equal(f->server->inflight, 2);
    window_clear_gate(f->window, &gate);
    assert_int_equal(f->server->inflight, 0);
    turn(f);
    assert_int_equal(times_drained, 0);
}

/* ---- draining -------------------------------------------------------------------------------- */

static void after_draining_only_leases_go(void **state)
{
    struct fixture *f = *state;
    static struct job flying, waiting, lease;
    static struct loop_deferred all;

    loop_deferred_init(&all, on_drained, NULL);
    one_at_a_time(f);
    submit(f, &flying, "flying", WINDOW_CREATE, NULL);
    turn(f);
    submit(f, &waiting, "waiting", WINDOW_BIND, NULL);
    window_drain(f->window, &all);
    submit(f, &lease, "lease", WINDOW_LEASE, NULL);
    turn(f);
    assert_int_equal(f->server->inflight, 2);
    assert_int_equal(times_drained, 0);
    manual_answer(manual_first(f->server), 201, "{}", 0);
    turn(f);
    assert_int_equal(times_drained, 1); /* a lease is still in flight */
    serve(f, "lease");
    run_for(f->loop, 10 * NSEC_PER_SEC);
    assert_int_equal(waiting.renders, 0);
    assert_int_equal(times_drained, 1);
    (void)cancel(&waiting);
}

static void nothing_in_flight_is_drained_at_once(void **state)
{
    struct fixture *f = *state;
    static struct loop_deferred all;

    loop_deferred_init(&all, on_drained, NULL);
    window_drain(f->window, &all);
    assert_int_equal(times_drained, 0); /* deferred */
    turn(f);
    assert_int_equal(times_drained, 1);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void the_server_is_told_how_long_it_has(void **state)
{
    struct fixture *f = *state;
    static struct job one;

    start_window(f, &(struct window_config){.timeout_ns = 1333 * MS, .tell_timeout = true});
    submit(f, &one, "one", WINDOW_CREATE, NULL);
    turn(f);
    assert_int_equal(manual_first(f->server)->spec.timeout_ns, 1333 * MS);
    serve(f, "one?timeout=1333ms");
    submit(f, &one, "one?x=1", WINDOW_CREATE, NULL);
    serve(f, "one?x=1&timeout=1333ms");
    start_window(f, &(struct window_config){.timeout_ns = 1333 * MS});
    submit(f, &one, "one", WINDOW_CREATE, NULL);
    serve(f, "one");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_gate, teardown_gate)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(behind_a_closed_gate_nothing_is_sent),
        TEST(a_gate_is_drained_when_nothing_is_in_flight),
        TEST(an_open_gate_is_never_drained),
        TEST(what_is_withdrawn_in_flight_is_left_to_end),
        TEST(with_an_open_gate_withdrawing_aborts),
        TEST(a_flow_may_go_before_what_was_withdrawn),
        TEST(a_gate_may_go_at_any_time),
        TEST(after_draining_only_leases_go),
        TEST(nothing_in_flight_is_drained_at_once),
        TEST(the_server_is_told_how_long_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
