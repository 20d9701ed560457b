/* Events of a busy loop gather; those of an idle one are served at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ensure.h"
#include "loop/loop.h"
#include <cmocka.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define GATHER (4 * NSEC_PER_MSEC)

/* A thread that writes the time into a pipe, again and again. */
struct feed {
    struct loop *loop;
    int fds[2], count;
    int64_t every_ns;
    int gap_every; /* writes between two gaps; 0: none */
    int64_t gap_ns;
    pthread_t thread;
    int calls, received;
    int64_t quickest; /* shortest time from the write to the callback */
};

static void pause_for(int64_t ns)
{
    const struct timespec ts = {.tv_nsec = (long)ns};
    (void)nanosleep(&ts, NULL);
}

static void *feed_main(void *arg)
{
    struct feed *feed = arg;
    for (int i = 0; i < feed->count; i++) {
        int64_t now = loop_now_fresh(feed->loop);
        ENSURE(write(feed->fds[1], &now, sizeof(now)) == (ssize_t)sizeof(now));
        const bool gap = feed->gap_every > 0 && i % feed->gap_every == feed->gap_every - 1;
        pause_for(gap ? feed->gap_ns : feed->every_ns);
    }
    return NULL;
}

static void on_fed(int fd, int events, void *arg)
{
    (void)events;
    struct feed *feed = arg;
    int64_t written[256];
    ssize_t got = read(fd, written, sizeof(written));
    ENSURE(got > 0 && got % (ssize_t)sizeof(*written) == 0);
    const int n = (int)((size_t)got / sizeof(*written));
    const int64_t took = loop_now_fresh(feed->loop) - written[n - 1];
    if (took < feed->quickest)
        feed->quickest = took;
    feed->calls++;
    feed->received += n;
    if (feed->received == feed->count)
        loop_stop(feed->loop);
}

/* Runs the loop until all `count` writes were read. */
static struct feed run_feed_of(struct feed feed)
{
    struct loop *loop = feed.loop;
    feed.quickest = INT64_MAX;
    assert_int_equal(pipe(feed.fds), 0);
    loop_fd_set(loop, feed.fds[0], LOOP_READ, on_fed, &feed);
    assert_int_equal(pthread_create(&feed.thread, NULL, feed_main, &feed), 0);
    loop_run(loop);
    assert_int_equal(pthread_join(feed.thread, NULL), 0);
    loop_fd_set(loop, feed.fds[0], 0, NULL, NULL);
    close(feed.fds[0]);
    close(feed.fds[1]);
    return feed;
}

static struct feed run_feed(struct loop *loop, int count, int64_t every_ns)
{
    return run_feed_of((struct feed){.loop = loop, .count = count, .every_ns = every_ns});
}

static void test_one_wake_up_of_a_busy_loop_serves_many_messages(void **state)
{
    (void)state;
    struct loop *loop = loop_new(1);
    loop_set_gather(loop, GATHER);
    struct feed feed = run_feed(loop, 1000, 200 * 1000);
    assert_int_equal(feed.received, 1000);
    assert_true(feed.calls * 3 <= feed.received);
    loop_free(loop);
}

static bool gathers(int64_t gather_ns)
{
    struct loop *loop = loop_new(1);
    loop_set_gather(loop, gather_ns);
    struct feed feed = run_feed(loop, 300, 3 * NSEC_PER_MSEC);
    loop_free(loop);
    return feed.calls * 2 <= feed.received;
}

/* Whether two come in the time in which they would gather decides, not how many in a second. */
static void test_what_is_busy_depends_on_the_time(void **state)
{
    (void)state;
    bool any = false;
    assert_false(gathers(4 * NSEC_PER_MSEC));
    for (int i = 0; i < 10 && !any; i++) /* on a machine with other work the feed may be too slow */
        any = gathers(16 * NSEC_PER_MSEC);
    assert_true(any);
}

/* A gap that is somewhat longer than events gather does not make a busy loop wake for each again.
 */
static void test_a_gap_now_and_then_leaves_a_loop_busy(void **state)
{
    (void)state;
    bool any = false;
    for (int i = 0; i < 10 && !any;
         i++) { /* on a machine with other work the gaps may be too long */
        struct loop *loop = loop_new(1);
        loop_set_gather(loop, 16 * NSEC_PER_MSEC);
        const struct feed feed = run_feed_of((struct feed){.loop = loop,
                                                           .count = 600,
                                                           .every_ns = 2 * NSEC_PER_MSEC,
                                                           .gap_every = 12,
                                                           .gap_ns = 20 * NSEC_PER_MSEC});
        any = feed.calls * 2 <= feed.received;
        loop_free(loop);
    }
    assert_true(any);
}

static void test_an_idle_loop_serves_each_message_at_once(void **state)
{
    (void)state;
    struct loop *loop = loop_new(1);
    loop_set_gather(loop, GATHER);
    struct feed feed = run_feed(loop, 30, 10 * NSEC_PER_MSEC);
    assert_int_equal(feed.calls, 30);
    assert_true(feed.quickest < GATHER / 2);
    loop_free(loop);
}

static void test_gathering_ends_with_the_stream(void **state)
{
    (void)state;
    struct loop *loop = loop_new(1);
    loop_set_gather(loop, GATHER);
    (void)run_feed(loop, 500, 200 * 1000);
    struct feed feed = run_feed(loop, 30, 10 * NSEC_PER_MSEC);
    assert_true(feed.quickest < GATHER / 2);
    loop_free(loop);
}

static void stop(void *arg)
{
    loop_stop(arg);
}

static void test_a_busy_loop_does_not_sleep_past_a_timer(void **state)
{
    (void)state;
    struct loop *loop = loop_new(1);
    struct loop_timer timer;
    loop_set_gather(loop, 900 * NSEC_PER_MSEC);
    (void)run_feed(loop, 100, 200 * 1000); /* ends right after the loop became busy */
    loop_timer_init(&timer, stop, loop);
    const int64_t before = loop_now_fresh(loop);
    loop_timer_set(loop, &timer, 20 * NSEC_PER_MSEC);
    loop_run(loop);
    assert_in_range(loop_now_fresh(loop) - before, 20 * NSEC_PER_MSEC, 800 * NSEC_PER_MSEC);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_wake_up_of_a_busy_loop_serves_many_messages),
        cmocka_unit_test(test_what_is_busy_depends_on_the_time),
        cmocka_unit_test(test_a_gap_now_and_then_leaves_a_loop_busy),
        cmocka_unit_test(test_an_idle_loop_serves_each_message_at_once),
        cmocka_unit_test(test_gathering_ends_with_the_stream),
        cmocka_unit_test(test_a_busy_loop_does_not_sleep_past_a_timer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
