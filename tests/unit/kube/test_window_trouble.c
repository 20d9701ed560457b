/*
 * The request window against modelled servers, small and large, near and far: it does as well as
 * the best fixed window, and after any trouble it is soon what it was before.
 */
#include "modelled_server.h"

#define SECOND 10 /* ticks */
#define HALF 5
#define RATE_LEAST 0.9 /* of the best fixed window's, or of the rate before a trouble */
#define RATE_LEAST_BESIDE 0.7
#define LATENCY_MOST 2 /* times that of the best fixed window */
#define RECOVERY_MOST (5 * SECOND)

static const struct model_server servers[] = {
    {.workers = 2, .service_ns = 4 * MS},
    {.workers = 8, .service_ns = 10 * MS},
    {.workers = 32, .service_ns = 2 * MS},
    {.workers = 32, .service_ns = 20 * MS},
};

static unsigned limit_of(const struct fixture *f)
{
    return window_stats(f->window).limit;
}

static void run_ticks(struct fixture *f, unsigned ticks)
{
    run_for(f->loop, ticks * TICK);
}

/* ---- beside fixed windows -------------------------------------------------------------------- */

struct figures {
    double rate, latency;
};

static struct figures measured(struct fixture *f, const struct model_server *server, unsigned fixed)
{
    model_begin(f, server, 1, &(struct window_config){.fixed_inflight = fixed});
    run_ticks(f, SECOND); /* to start takes a few latencies */
    model.latency_count = 0;
    run_ticks(f, 5 * SECOND);
    struct figures found = {model_rate(SECOND, 6 * SECOND),
                            model_median(model.latencies, model.latency_count)};
    model_end();
    return found;
}

/* Of windows of nearly the same rate the smallest is the best: more is only latency. */
static struct figures best_fixed(struct fixture *f, const struct model_server *server)
{
    struct figures best = {0};
    for (unsigned size = 8; size <= 256; size *= 2) {
        struct figures found = measured(f, server, size);
        if (found.rate > best.rate * 1.01)
            best = found;
    }
    return best;
}

static void test_as_good_as_the_best_fixed_window(void **state)
{
    static const int64_t distances[] = {0, 5 * MS, 50 * MS};
    for (size_t i = 0; i < ARRAY_SIZE(servers); i++)
        for (size_t j = 0; j < ARRAY_SIZE(distances); j++) {
            struct model_server server = servers[i];
            server.away_ns = distances[j];
            struct figures best = best_fixed(*state, &server);
            struct figures adaptive = measured(*state, &server, 0);
            if (adaptive.rate < RATE_LEAST * best.rate ||
                adaptive.latency > LATENCY_MOST * best.latency)
                fail_msg("server %zu, +%lld ms: %.0f/s at %.1f ms, but %.0f/s at %.1f ms", i,
                         (long long)(distances[j] / MS), adaptive.rate, adaptive.latency, best.rate,
                         best.latency);
        }
}

/* However long it lasts: the floor of a server that is never idle does not creep up. */
static void test_no_drift_in_a_minute_and_a_half(void **state)
{
    struct fixture *f = *state;
    model_begin(f, &(struct model_server){.workers = 2, .service_ns = 4 * MS, .away_ns = 5 * MS}, 1,
                &(struct window_config){0});
    run_ticks(f, 90 * SECOND);
    assert_in_range(limit_of(f), 8, 20);
    assert_in_range(window_stats(f->window).latency_floor_ns, 6 * MS, 20 * MS);
    assert_true(model_rate(60 * SECOND, 90 * SECOND) > RATE_LEAST * 500);
    model_end();
}

/* ---- trouble --------------------------------------------------------------------------------- */

enum trouble { SLOW, REFUSING, BUSY, TROUBLES };

static void begin_trouble(enum trouble trouble)
{
    if (trouble == SLOW)
        model.server.away_ns = 500 * MS;
    else if (trouble == REFUSING)
        model.half_429 = true;
    else
        model.server = (struct model_server){.workers = 1, .service_ns = 50 * MS};
}

static void end_trouble(const struct model_server *server)
{
    model.server = *server;
    model.half_429 = false;
}

/* The first tick from `end` on with which half a second of the rate begins; -1: none up to `last`.
 */
static int recovered(unsigned end, unsigned last, double wanted)
{
    for (unsigned at = end; at + HALF <= last; at++)
        if (model_rate(at, at + HALF) >= wanted)
            return (int)(at - end);
    return -1;
}

static double median_rate(unsigned from, unsigned to)
{
    double rates[TICKS_MOST / HALF];
    size_t count = 0;
    for (unsigned at = from; at + HALF <= to; at += HALF)
        rates[count++] = model_rate(at, at + HALF);
    return model_median(rates, count);
}

/* Ten seconds of trouble after five without: the rate is soon back, and stays. Beside others it is
 * a matter of shares, and these are by chance, too. */
static void check_trouble(struct fixture *f, const struct model_server *server,
                          enum trouble trouble, unsigned flows)
{
    const unsigned begin = 5 * SECOND, end = 15 * SECOND, last = 27 * SECOND;
    const double share = server->others ? RATE_LEAST_BESIDE : RATE_LEAST;

    model_begin(f, server, flows, &(struct window_config){0});
    run_ticks(f, begin);
    double before = median_rate(0, begin);
    begin_trouble(trouble);
    unsigned least = limit_of(f);
    for (unsigned i = begin; i < end; i++) {
        run_ticks(f, 1);
        least = limit_of(f) < least ? limit_of(f) : least;
    }
    end_trouble(server);
    run_ticks(f, last - end);
    int back = recovered(end, last, share * before);
    double after = median_rate(end + RECOVERY_MOST, last);
    if (least > 16 || back < 0 || back > RECOVERY_MOST || after < share * before)
        fail_msg("%u workers, %u others, trouble %d, %u flows: %.0f/s before, least limit %u, back "
                 "after %d ticks, %.0f/s then",
                 server->workers, server->others, (int)trouble, flows, before, least, back, after);
    for (unsigned i = 0; i < WAITING; i++)
        assert_int_equal(model.jobs[i].request != NULL, 1); /* nothing was lost */
    model_end();
}

static void check_troubles(struct fixture *f, const struct model_server *server)
{
    for (enum trouble trouble = SLOW; trouble < TROUBLES; trouble++) {
        check_trouble(f, server, trouble, 1);
        check_trouble(f, server, trouble, FLOWS_MOST);
    }
}

static void test_the_rate_is_back_after_trouble(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(servers); i++)
        check_troubles(*state, &servers[i]);
}

/* Answers from a moment when nobody else was there must not hold the limit down for long. */
static void test_the_rate_is_back_beside_other_clients(void **state)
{
    for (unsigned others = 8; others <= 24; others += 16)
        check_troubles(
            *state, &(struct model_server){.workers = 2, .service_ns = 4 * MS, .others = others});
}

/* A server that was slow for long, and all that was measured then, is forgotten as fast. */
static void test_a_long_slowness_leaves_nothing_behind(void **state)
{
    struct fixture *f = *state;
    const unsigned end = 100 * SECOND, last = 120 * SECOND;
    model_begin(f, &servers[0], 1, &(struct window_config){0});
    begin_trouble(SLOW);
    run_ticks(f, end);
    end_trouble(&servers[0]);
    run_ticks(f, last - end - 1);
    assert_in_range(recovered(end, last, RATE_LEAST * 500), 0, RECOVERY_MOST);
    assert_true(limit_of(f) <= 16);
    assert_true(window_stats(f->window).latency_floor_ns <= 20 * MS);
    model_end();
}

/* A test that failed may have left its server running. */
static int end(void **state)
{
    model_end();
    return teardown(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_as_good_as_the_best_fixed_window),
        TEST(test_no_drift_in_a_minute_and_a_half),
        TEST(test_the_rate_is_back_after_trouble),
        TEST(test_the_rate_is_back_beside_other_clients),
        TEST(test_a_long_slowness_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
