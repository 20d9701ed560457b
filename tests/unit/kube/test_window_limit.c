/*
 * The limit of the request window: its arithmetic alone, and the whole window against simulated
 * servers of a given capacity that slow down, recover and throttle.
 */
#include "window_fixture.h"

#define WORKERS_MOST 128

/* `workers` requests at a time, each for `service_ns`, the others queue; above `reject_above` in
 * flight it answers 429. */
struct simulated {
    struct fixture *f;
    unsigned workers, reject_above, rejected, served;
    int64_t service_ns;
    int64_t free_at[WORKERS_MOST];
    unsigned peak, left; /* highest limit seen; requests still to submit */
    struct job *jobs;
};

static void simulated_answer(void *arg)
{
    struct kube_call *call = arg;
    struct simulated *sim = call->owner->arg;
    unsigned limit = window_stats(sim->f->window).limit;
    sim->peak = limit > sim->peak ? limit : sim->peak;
    sim->served++;
    manual_answer(call, 201, "{}", 0);
}

static void simulated_reject(void *arg)
{
    struct kube_call *call = arg;
    struct simulated *sim = call->owner->arg;
    sim->rejected++;
    manual_answer(call, 429, "", NSEC_PER_SEC);
}

static void simulated_start(struct kube_call *call, void *arg)
{
    struct simulated *sim = arg;
    int64_t now = loop_now(sim->f->loop);
    unsigned first = 0;
    if (sim->reject_above && sim->f->server->inflight > sim->reject_above) {
        loop_timer_init(&call->timer, simulated_reject, call);
        loop_timer_set(sim->f->loop, &call->timer, MS);
        return;
    }
    for (unsigned i = 1; i < sim->workers; i++)
        if (sim->free_at[i] < sim->free_at[first])
            first = i;
    if (sim->free_at[first] < now)
        sim->free_at[first] = now;
    sim->free_at[first] += sim->service_ns;
    loop_timer_init(&call->timer, simulated_answer, call);
    loop_timer_set(sim->f->loop, &call->timer, sim->free_at[first] - now);
}

static struct simulated *simulate(struct fixture *f, unsigned workers, int64_t service_ns,
                                  size_t requests)
{
    struct simulated *sim = xnew(struct simulated);
    sim->f = f;
    sim->workers = workers;
    sim->service_ns = service_ns;
    sim->jobs = xcalloc(requests, sizeof(*sim->jobs));
    f->server->on_start = simulated_start;
    f->server->arg = sim;
    start_window(f, &(struct window_config){.max_inflight = 1000});
    for (size_t i = 0; i < requests; i++)
        submit(f, &sim->jobs[i], "x", WINDOW_CREATE, NULL);
    return sim;
}

static void simulate_end(struct simulated *sim)
{
    struct fixture *f = sim->f;
    window_free(f->window);
    f->window = NULL;
    f->server->on_start = NULL;
    start_window(f, &(struct window_config){0});
    free(sim->jobs);
    free(sim);
}

static void run_until_done(struct fixture *f, unsigned done_count)
{
    for (int i = 0; i < 2000000 && f->done < done_count; i++)
        (void)loop_turn(f->loop, NSEC_PER_SEC);
    assert_int_equal(f->done, done_count);
}

/* Whatever the capacity is, it is found and used, and the queue stays within the target. */
static void test_the_limit_finds_the_capacity(void **state)
{
    struct fixture *f = *state;
    const struct {
        unsigned workers;
        int64_t service_ns;
    } cases[] = {{2, 20 * MS}, {16, 5 * MS}, {64, 10 * MS}, {100, 50 * MS}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const unsigned requests = 10000, workers = cases[i].workers;
        struct simulated *sim = simulate(f, workers, cases[i].service_ns, requests);
        int64_t begin = loop_now(f->loop);
        f->done = 0;
        run_until_done(f, requests);
        int64_t took = loop_now(f->loop) - begin;
        int64_t ideal = cases[i].service_ns * requests / workers;
        assert_in_range(took, ideal, ideal + ideal / 8);
        assert_true(sim->peak >= workers);
        assert_true(sim->peak <= 20 || sim->peak <= 5 * workers);
        struct window_stats stats = window_stats(f->window);
        assert_in_range(stats.latency_floor_ns, cases[i].service_ns, 2 * cases[i].service_ns);
        assert_true(stats.latency_ns <= 5 * stats.latency_floor_ns);
        simulate_end(sim);
    }
}

static void test_the_limit_follows_a_server_that_slows_down(void **state)
{
    struct fixture *f = *state;
    struct simulated *sim = simulate(f, 64, 10 * MS, 60000);
    run_for(f->loop, NSEC_PER_SEC);
    unsigned before = window_stats(f->window).limit;
    assert_true(before >= 64);
    sim->workers = 4;
    run_for(f->loop, 10 * NSEC_PER_SEC);
    unsigned slow = window_stats(f->window).limit;
    assert_in_range(slow, 4, 24); /* four times four, and the floor has risen a little */
    sim->workers = 64;
    run_for(f->loop, 2 * NSEC_PER_SEC);
    assert_true(window_stats(f->window).limit >= 64);
    simulate_end(sim);
}

static void test_the_limit_settles_below_429(void **state)
{
    struct fixture *f = *state;
    const unsigned requests = 10000;
    struct simulated *sim = simulate(f, 64, 10 * MS, requests);
    sim->reject_above = 32;
    int64_t begin = loop_now(f->loop);
    run_until_done(f, requests);
    int64_t ideal = 10 * MS * requests / 32;
    assert_true(loop_now(f->loop) - begin < 2 * ideal);
    assert_int_equal(sim->served, requests); /* each exactly once */
    assert_true(sim->rejected > 0 && sim->rejected < requests / 10);
    assert_int_equal(window_stats(f->window).throttled, sim->rejected);
    for (unsigned i = 0; i < requests; i++)
        assert_int_equal(sim->jobs[i].done, 1);
    simulate_end(sim);
}

/* A few requests now and then prove nothing about the capacity: the limit stays. */
static void test_an_unused_limit_does_not_grow(void **state)
{
    struct fixture *f = *state;
    struct simulated *sim = simulate(f, 64, 10 * MS, 0);
    static struct job job;
    for (int i = 0; i < 1000; i++) {
        submit(f, &job, "x", WINDOW_BIND, NULL);
        run_for(f->loop, 20 * MS);
    }
    assert_int_equal(job.done, 1000);
    assert_int_equal(window_stats(f->window).limit, 16);
    simulate_end(sim);
}

/* Creates that pass admission take longer than binds: that alone is no reason to slow down. */
static void test_slow_and_fast_classes_have_their_own_floors(void **state)
{
    (void)state;
    struct window_limit limit;
    window_limit_init(&limit, 16, 64, 12);
    for (int64_t i = 0; i < 1000; i++) {
        window_limit_answer(&limit, WINDOW_BIND, 2 * MS, true, i * MS);
        window_limit_answer(&limit, WINDOW_CREATE, 30 * MS, true, i * MS);
    }
    assert_true(limit.value >= 64 && limit.value <= 64);
    assert_int_equal(window_limit_floor(&limit), 2 * MS);
    for (int64_t i = 1; i <= 1000; i++)
        (void)window_limit_fault(&limit, i * NSEC_PER_SEC);
    assert_true(limit.value >= 1 && limit.value <= 1);
}

/* Answers of one class, one each `every_ns`, with the window full all the time. */
static void feed(struct window_limit *limit, int answers, int64_t latency_ns, int64_t every_ns,
                 int64_t *now)
{
    for (int i = 0; i < answers; i++)
        window_limit_answer(limit, WINDOW_CREATE, latency_ns, true, *now += every_ns);
}

/* After a decrease the answers to what was sent before it prove nothing. */
static void test_one_decrease_a_latency(void **state)
{
    (void)state;
    struct window_limit limit;
    int64_t now = NSEC_PER_SEC;
    window_limit_init(&limit, 100, 100, 12);
    feed(&limit, 8, 20 * MS, 10 * MS, &now);
    assert_true(window_limit_fault(&limit, now));
    double after = limit.value;
    assert_true(after > 69 && after < 71);
    for (int i = 0; i < 19; i++) {
        feed(&limit, 1, 20 * MS, MS, &now);
        assert_false(window_limit_fault(&limit, now));
    }
    assert_true(limit.value >= after && limit.value <= after);
    feed(&limit, 1, 20 * MS, MS, &now);
    assert_true(limit.value > after);
    assert_true(window_limit_fault(&limit, now));
}

/* A server that others keep busy is slow whatever we do: twelve requests stay in flight. Faults are
 * another matter, and latency does not take back what they did. */
static void test_latency_alone_leaves_twelve(void **state)
{
    (void)state;
    struct window_limit limit;
    int64_t now = 0;
    window_limit_init(&limit, 16, 64, 12);
    feed(&limit, 8, MS, 5 * MS, &now);
    feed(&limit, 9, 100 * MS, 100 * MS, &now);
    assert_true(limit.value >= 12 && limit.value <= 12);
    assert_true(window_limit_fault(&limit, now += NSEC_PER_SEC));
    double after = limit.value;
    assert_true(after < 12);
    while (limit.value > 1)
        assert_true(window_limit_fault(&limit, now += NSEC_PER_SEC));
    window_limit_answer(&limit, WINDOW_CREATE, 100 * MS, false, now += NSEC_PER_SEC);
    assert_true(limit.value <= 1); /* unused */
    feed(&limit, 100, 100 * MS, 10 * MS, &now);
    assert_true(limit.value >= 12); /* faults are over, though others are slow */
}

/* Two seconds at twelve: is it others who make answers slow? Four in flight show it, and what was
 * sent before tells nothing. */
static void test_a_probe_measures_the_floor_again(void **state)
{
    (void)state;
    struct window_limit limit;
    int64_t now = 0;
    window_limit_init(&limit, 16, 64, 12);
    assert_int_equal(window_limit_now(&limit), 4);
    feed(&limit, 8, 5 * MS, 5 * MS, &now);
    assert_int_equal(window_limit_now(&limit), 16);
    assert_int_equal(window_limit_floor(&limit), 5 * MS);
    feed(&limit, 94, 50 * MS, 10 * MS, &now);
    assert_int_equal(window_limit_now(&limit), 12);
    feed(&limit, 3, 50 * MS, 10 * MS, &now);
    assert_int_equal(window_limit_now(&limit), 4);
    feed(&limit, 1, 200 * MS, MS, &now); /* sent before the probe */
    feed(&limit, 7, 40 * MS, 50 * MS, &now);
    assert_int_equal(window_limit_now(&limit), 4);
    feed(&limit, 1, 40 * MS, 50 * MS, &now);
    assert_int_equal(window_limit_now(&limit), 12);
    assert_int_equal(window_limit_floor(&limit), 40 * MS);
    feed(&limit, 40, 50 * MS, 10 * MS, &now);
    assert_true(limit.value > 12);
    feed(&limit, 100, 20 * MS, 10 * MS, &now); /* much faster than the floor */
    assert_int_equal(window_limit_floor(&limit), 20 * MS);
}

/* A class of which a probe sees little keeps most of its floor, and a small change may be chance.
 */
static void test_a_probe_counts_what_it_saw_of_a_class(void **state)
{
    (void)state;
    struct window_limit limit;
    int64_t now = NSEC_PER_SEC;
    window_limit_init(&limit, 16, 16, 12);
    for (int i = 0; i < 8; i++)
        window_limit_answer(&limit, WINDOW_BIND, 12 * MS, true, now += 10 * MS);
    feed(&limit, 16, 120 * MS, MS, &now);
    assert_int_equal(limit.floors[WINDOW_CREATE].latency, 120 * MS);
    feed(&limit, 1, 120 * MS, 16 * NSEC_PER_SEC, &now);
    assert_int_equal(window_limit_now(&limit), 4);
    now += NSEC_PER_SEC;
    for (int i = 0; i < 2; i++)
        window_limit_answer(&limit, WINDOW_BIND, 24 * MS, true, now);
    feed(&limit, 6, 140 * MS, 5 * MS, &now);
    assert_int_equal(window_limit_now(&limit), 16);
    assert_int_equal(window_limit_floor(&limit), 15 * MS); /* a quarter of the way */
    assert_int_equal(limit.floors[WINDOW_CREATE].latency, 127500000);
}

/* For measurements: neither latency nor faults move it, though a server that takes nothing is left
 * alone all the same. */
static void test_a_fixed_limit_stays(void **state)
{
    struct fixture *f = *state;
    static struct job jobs[100];
    start_window(f, &(struct window_config){.initial = 4, .max_inflight = 8, .fixed_inflight = 24});
    for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
        submit(f, &jobs[i], "x", WINDOW_CREATE, NULL);
    for (int64_t latency = MS; f->done < 48; latency = 500 * MS) {
        run_for(f->loop, latency);
        assert_int_equal(f->server->inflight, 24);
        for (int i = 0; i < 24; i++)
            manual_answer(manual_first(f->server), 201, "{}", 0);
        turn(f);
    }
    for (int round = 0; round < 2; round++) {
        assert_int_equal(f->server->inflight, 24);
        run_for(f->loop, NSEC_PER_SEC);
        while (f->server->inflight > 0)
            manual_answer(manual_first(f->server), 429, "", NSEC_PER_SEC);
        turn(f);
        assert_int_equal(window_stats(f->window).limit, 24);
    }
    assert_int_equal(f->server->inflight, 0);
    run_for(f->loop, NSEC_PER_SEC);
    assert_int_equal(f->server->inflight, 24);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_limit_finds_the_capacity),
        TEST(test_the_limit_follows_a_server_that_slows_down),
        TEST(test_the_limit_settles_below_429),
        TEST(test_an_unused_limit_does_not_grow),
        TEST(test_a_fixed_limit_stays),
        cmocka_unit_test(test_slow_and_fast_classes_have_their_own_floors),
        cmocka_unit_test(test_one_decrease_a_latency),
        cmocka_unit_test(test_latency_alone_leaves_twelve),
        cmocka_unit_test(test_a_probe_measures_the_floor_again),
        cmocka_unit_test(test_a_probe_counts_what_it_saw_of_a_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
