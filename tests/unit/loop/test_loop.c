/* The event loop: order of calls, both clocks, descriptors, threads and termination signals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "loop/loop.h"
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define WALL (INT64_C(1700000000) * NSEC_PER_SEC)

/* What ran, as letters, and what running may do. */
static char trace[64];
static size_t trace_n;

static void note(char letter)
{
    assert_true(trace_n < sizeof(trace) - 1);
    trace[trace_n++] = letter;
    trace[trace_n] = '\0';
}

static int reset_trace(void **state)
{
    (void)state;
    trace_n = 0;
    trace[0] = '\0';
    return 0;
}

static void note_arg(void *arg)
{
    note(*(const char *)arg);
}

static char letters[] = "abcdefgh";

/* ---- order and the virtual clock ------------------------------------------------------------ */

static void test_timers_run_by_due_time_then_by_order_set(void **state)
{
    (void)state;
    struct loop *loop = loop_new_virtual(1, WALL);
    struct loop_timer timers[5];
    const int64_t delays[5] = {30, 10, 30, 20, 10};
    for (int i = 0; i < 5; i++) {
        loop_timer_init(&timers[i], note_arg, &letters[i]);
        loop_timer_set(loop, &timers[i], delays[i] * NSEC_PER_SEC);
    }
    int64_t start = loop_now(loop);
    loop_run(loop);
    assert_string_equal(trace, "bedac");
    assert_int_equal(loop_now(loop) - start, 30 * NSEC_PER_SEC);
    assert_int_equal(loop_wall(loop), WALL + 30 * NSEC_PER_SEC);
    loop_free(loop);
}

static void test_timer_move_cancel_and_set_earlier(void **state)
{
    (void)state;
    struct loop *loop = loop_new_virtual(1, WALL);
    struct loop_timer a, b, c, d;
    loop_timer_init(&a, note_arg, &letters[0]);
    loop_timer_init(&b, note_arg, &letters[1]);
    loop_timer_init(&c, note_arg, &letters[2]);
    loop_timer_init(&d, note_arg, &letters[3]);
    loop_timer_cancel(loop, &a); /* never set: harmless */
    loop_timer_set(loop, &a, 10);
    loop_timer_set(loop, &a, 40); /* moved behind all others */
    loop_timer_set(loop, &b, 20);
    loop_timer_set(loop, &c, 30);
    loop_timer_cancel(loop, &c);
    loop_timer_set(loop, &d, 30);
    loop_timer_set_earlier(loop, &d, 35); /* left alone: due at 30 */
    assert_true(loop_timer_active(&d));
    assert_int_equal(d.due - loop_now(loop), 30);
    loop_timer_set_earlier(loop, &d, 15);
    assert_int_equal(d.due - loop_now(loop), 15);
    loop_run(loop);
    assert_string_equal(trace, "dba");
    assert_false(loop_timer_active(&a));
    loop_free(loop);
}

struct again {
    struct loop *loop;
    struct loop_timer timer;
    struct loop_deferred deferred;
    int left;
};

static void again_timer(void *arg)
{
    struct again *again = arg;
    note('t');
    if (--again->left > 0)
        loop_timer_set(again->loop, &again->timer, -5);
}

static void again_deferred(void *arg)
{
    struct again *again = arg;
    note('d');
    if (--again->left > 0)
        loop_defer(again->loop, &again->deferred);
}

static void test_what_a_callback_sets_for_now_waits_for_the_next_turn(void **state)
{
    (void)state;
    struct loop *loop = loop_new_virtual(1, WALL);
    struct again again = {.loop = loop, .left = 3};
    loop_timer_init(&again.timer, again_timer, &again);
    loop_timer_set(loop, &again.timer, 0);
    assert_true(loop_turn(loop, 0));
    assert_string_equal(trace, "t");
    loop_run(loop);
    assert_string_equal(trace, "ttt");

    again.left = 2;
    loop_deferred_init(&again.deferred, again_deferred, &again);
    loop_defer(loop, &again.deferred);
    assert_true(loop_turn(loop, 0));
    assert_string_equal(trace, "tttd");
    assert_false(loop_turn(loop, 0));
    assert_string_equal(trace, "tttdd");
    loop_free(loop);
}

static struct loop_deferred doomed;

static void cancel_doomed(void *arg)
{
    (void)arg;
    note('x');
    loop_deferred_cancel(&doomed);
}

static void test_deferred_calls_run_once_in_order_and_can_be_cancelled(void **state)
{
    (void)state;
    struct loop *loop = loop_new_virtual(1, WALL);
    struct loop_deferred a, b, x;
    loop_deferred_init(&a, note_arg, &letters[0]);
    loop_deferred_init(&b, note_arg, &letters[1]);
    loop_deferred_init(&x, cancel_doomed, NULL);
    loop_deferred_init(&doomed, note_arg, &letters[7]);
    loop_deferred_cancel(&a); /* not queued: harmless */
    loop_defer(loop, &b);
    loop_defer(loop, &a);
    loop_defer(loop, &b); /* queued already: keeps its place */
    loop_defer(loop, &x);
    loop_defer(loop, &doomed);
    loop_run(loop);
    assert_string_equal(trace, "bax");
    loop_free(loop);
}

static void test_virtual_turn_jumps_no_further_than_allowed(void **state)
{
    (void)state;
    struct loop *loop = loop_new_virtual(1, WALL);
    struct loop_timer timer;
    loop_timer_init(&timer, note_arg, &letters[0]);
    loop_timer_set(loop, &timer, 100);
    int64_t start = loop_now(loop);
    assert_true(loop_turn(loop, 99));
    assert_int_equal(loop_now(loop) - start, 99);
    assert_true(loop_turn(loop, 99));
    assert_int_equal(loop_now(loop) - start, 100);
    assert_string_equal(trace, "");
    assert_false(loop_turn(loop, 99));
    assert_string_equal(trace, "a");
    assert_int_equal(loop_now(loop) - start, 100);
    loop_free(loop);
}

static void test_a_delay_beyond_the_end_of_time_is_cut(void **state)
{
    (void)state;
    struct loop *loop = loop_new_virtual(1, WALL);
    struct loop_timer timer;
    loop_timer_init(&timer, note_arg, &letters[0]);
    loop_timer_set(loop, &timer, INT64_MAX);
    assert_int_equal(timer.due, INT64_MAX);
    loop_timer_cancel(loop, &timer);
    loop_free(loop);
}

static void stop_loop(void *arg)
{
    note('s');
    loop_stop(arg);
}

static void test_stop_ends_the_run_after_the_turn(void **state)
{
    (void)state;
    struct loop *loop = loop_new_virtual(1, WALL);
    struct loop_timer stop, same, later;
    loop_timer_init(&stop, stop_loop, loop);
    loop_timer_init(&same, note_arg, &letters[0]);
    loop_timer_init(&later, note_arg, &letters[1]);
    loop_timer_set(loop, &stop, 10);
    loop_timer_set(loop, &same, 10);
    loop_timer_set(loop, &later, 20);
    int64_t start = loop_now(loop);
    loop_run(loop);
    assert_string_equal(trace, "sa");
    assert_int_equal(loop_now(loop) - start, 10);
    loop_run(loop); /* and it can run again */
    assert_string_equal(trace, "sab");
    loop_free(loop);
}

static void test_same_seed_same_random_numbers(void **state)
{
    (void)state;
    struct loop *a = loop_new_virtual(42, WALL), *b = loop_new_virtual(42, WALL);
    struct loop *c = loop_new_virtual(43, WALL);
    uint64_t first = rng_next(loop_rng(a));
    assert_true(first == rng_next(loop_rng(b)));
    assert_true(first != rng_next(loop_rng(c)));
    loop_free(a);
    loop_free(b);
    loop_free(c);
    loop_free(NULL);
}

/* ---- the real clock and descriptors --------------------------------------------------------- */

static void test_real_timer_waits_its_time(void **state)
{
    (void)state;
    struct loop *loop = loop_new(0);
    struct loop_timer timer;
    loop_timer_init(&timer, stop_loop, loop);
    loop_timer_set(loop, &timer, 20 * NSEC_PER_MSEC);
    int64_t start = loop_now_fresh(loop), due = timer.due;
    loop_run(loop);
    assert_string_equal(trace, "s");
    assert_true(loop_now(loop) >= due);
    assert_in_range(loop_now_fresh(loop) - start, 15 * NSEC_PER_MSEC, 10 * NSEC_PER_SEC);
    loop_free(loop);
}

static void test_turn_statistics_leave_waiting_out(void **state)
{
    (void)state;
    struct loop *loop = loop_new(1);
    for (int i = 0; i < 3; i++)
        assert_true(loop_turn(loop, 50 * NSEC_PER_MSEC));
    int64_t longest;
    uint64_t turns;
    loop_stats(loop, &longest, &turns);
    assert_int_equal(turns, 3);
    assert_in_range(longest, 0, 49 * NSEC_PER_MSEC);
    loop_free(loop);
}

static void busy(void *arg)
{
    struct loop *loop = arg;
    int64_t start = loop_now_fresh(loop);
    while (loop_now_fresh(loop) - start < 5 * NSEC_PER_MSEC)
        ;
    assert_true(loop_now(loop) <= start); /* cached for the turn */
}

static void test_longest_turn_is_measured(void **state)
{
    (void)state;
    struct loop *loop = loop_new(1);
    struct loop_deferred deferred;
    loop_deferred_init(&deferred, busy, loop);
    loop_defer(loop, &deferred);
    loop_turn(loop, 0);
    int64_t longest;
    uint64_t turns;
    loop_stats(loop, &longest, &turns);
    assert_true(longest >= 5 * NSEC_PER_MSEC);
    loop_free(loop);
}

struct pipe_end {
    struct loop *loop;
    int fd, seen, calls;
};

static void on_pipe(int fd, int events, void *arg)
{
    struct pipe_end *end = arg;
    assert_int_equal(fd, end->fd);
    end->seen |= events;
    end->calls++;
}

static void test_descriptors_are_level_triggered_and_can_be_stopped(void **state)
{
    (void)state;
    struct loop *loop = loop_new(1);
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    struct pipe_end in = {loop, fds[0], 0, 0}, out = {loop, fds[1], 0, 0};
    loop_fd_set(loop, fds[0], LOOP_READ, on_pipe, &in);
    loop_turn(loop, 0);
    assert_int_equal(in.calls, 0);
    loop_fd_set(loop, fds[1], LOOP_WRITE, on_pipe, &out);
    loop_turn(loop, NSEC_PER_SEC);
    assert_int_equal(out.seen, LOOP_WRITE);
    loop_fd_set(loop, fds[1], 0, NULL, NULL);
    assert_int_equal(write(fds[1], "x", 1), 1);
    loop_turn(loop, NSEC_PER_SEC);
    loop_turn(loop, NSEC_PER_SEC); /* not read yet: reported again */
    assert_int_equal(in.calls, 2);
    assert_int_equal(in.seen, LOOP_READ);
    assert_int_equal(out.calls, 1);
    loop_fd_set(loop, fds[0], 0, NULL, NULL);
    loop_turn(loop, 0);
    assert_int_equal(in.calls, 2);
    close(fds[0]);
    close(fds[1]);
    loop_free(loop);
}

static void test_hang_up_is_reported_as_what_was_asked_for(void **state)
{
    (void)state;
    struct loop *loop = loop_new(1);
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    struct pipe_end in = {loop, fds[0], 0, 0};
    loop_fd_set(loop, fds[0], LOOP_READ, on_pipe, &in);
    close(fds[1]);
    loop_turn(loop, NSEC_PER_SEC);
    assert_int_equal(in.seen, LOOP_READ);
    loop_fd_set(loop, fds[0], 0, NULL, NULL);
    close(fds[0]);

    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    struct pipe_end out = {loop, fds[1], 0, 0};
    loop_fd_set(loop, fds[1], LOOP_WRITE, on_pipe, &out);
    close(fds[0]);
    loop_turn(loop, NSEC_PER_SEC);
    assert_int_equal(out.seen, LOOP_WRITE);
    loop_fd_set(loop, fds[1], 0, NULL, NULL);
    close(fds[1]);
    loop_free(loop);
}

/* Two readable pipes; whichever is called first closes the other and opens a new one with its
 * number, which is not readable: the event gathered for the old one must not reach it. */
struct swap {
    struct loop *loop;
    int fds[2][2];
    int calls, stale;
};

static void on_stale(int fd, int events, void *arg)
{
    (void)fd;
    (void)events;
    ((struct swap *)arg)->stale++;
}

static void on_swap(int fd, int events, void *arg)
{
    (void)events;
    struct swap *swap = arg;
    const int other = fd == swap->fds[0][0] ? 1 : 0;
    swap->calls++;
    loop_fd_set(swap->loop, fd, 0, NULL, NULL);
    const int number = swap->fds[other][0];
    loop_fd_set(swap->loop, number, 0, NULL, NULL);
    close(number);
    int fresh[2];
    assert_int_equal(pipe2(fresh, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(fresh[0], number); /* the lowest free number */
    close(swap->fds[other][1]);
    swap->fds[other][1] = fresh[1];
    loop_fd_set(swap->loop, number, LOOP_READ, on_stale, swap);
}

static void test_a_stale_event_does_not_reach_a_new_descriptor(void **state)
{
    (void)state;
    struct loop *loop = loop_new(1);
    struct swap swap = {.loop = loop};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pipe2(swap.fds[i], O_CLOEXEC | O_NONBLOCK), 0);
        assert_int_equal(write(swap.fds[i][1], "x", 1), 1);
        loop_fd_set(loop, swap.fds[i][0], LOOP_READ, on_swap, &swap);
    }
    loop_turn(loop, NSEC_PER_SEC);
    loop_turn(loop, 0);
    assert_int_equal(swap.calls, 1);
    assert_int_equal(swap.stale, 0);
    for (int i = 0; i < 2; i++) {
        loop_fd_set(loop, swap.fds[i][0], 0, NULL, NULL);
        close(swap.fds[i][0]);
        close(swap.fds[i][1]);
    }
    loop_free(loop);
}

static void test_a_descriptor_closed_and_reopened_unseen_is_watched_again(void **state)
{
    (void)state;
    struct loop *loop = loop_new(1);
    int fds[2], fresh[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    struct pipe_end in = {loop, fds[0], 0, 0};
    loop_fd_set(loop, fds[0], LOOP_READ, on_pipe, &in);
    close(fds[0]);
    assert_int_equal(pipe2(fresh, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(fresh[0], fds[0]);
    loop_fd_set(loop, fresh[0], LOOP_READ, on_pipe, &in);
    assert_int_equal(write(fresh[1], "x", 1), 1);
    loop_turn(loop, NSEC_PER_SEC);
    assert_int_equal(in.calls, 1);
    loop_fd_set(loop, fresh[0], 0, NULL, NULL);
    close(fresh[0]);
    close(fresh[1]);
    close(fds[1]);
    loop_free(loop);
}

/* ---- threads -------------------------------------------------------------------------------- */

#define POSTERS 4
#define POSTS 500

struct poster {
    struct loop *loop;
    pthread_t thread;
    int received;
    int *total;
};

static void on_post(void *arg)
{
    struct poster *poster = arg;
    poster->received++;
    if (++*poster->total == POSTERS * POSTS)
        loop_stop(poster->loop);
}

static void *poster_main(void *arg)
{
    struct poster *poster = arg;
    for (int i = 0; i < POSTS; i++)
        loop_post(poster->loop, on_post, poster);
    return NULL;
}

static void test_posts_from_threads_all_arrive_and_wake_the_loop(void **state)
{
    (void)state;
    struct loop *loop = loop_new(1);
    struct poster posters[POSTERS];
    int total = 0;
    for (int i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){.loop = loop, .total = &total};
        assert_int_equal(pthread_create(&posters[i].thread, NULL, poster_main, &posters[i]), 0);
    }
    loop_run(loop); /* no timer: only posts can end this */
    for (int i = 0; i < POSTERS; i++) {
        pthread_join(posters[i].thread, NULL);
        assert_int_equal(posters[i].received, POSTS);
    }
    loop_free(loop);
}

struct job {
    struct loop *loop;
    pthread_t worker;
    int *done; /* jobs done so far */
    int number, last;
};

static void job_work(void *arg)
{
    ((struct job *)arg)->worker = pthread_self();
}

static void job_done(void *arg)
{
    struct job *job = arg;
    assert_int_equal(job->number, (*job->done)++);
    if (job->number == job->last)
        loop_stop(job->loop);
}

#define JOBS 50

static void run_jobs(struct loop *loop, struct job *jobs, int *done)
{
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct job){.loop = loop, .number = i, .done = done, .last = JOBS - 1};
        loop_offload(loop, job_work, job_done, &jobs[i]);
    }
}

static void test_offloaded_jobs_run_in_order_on_one_thread(void **state)
{
    (void)state;
    struct loop *loop = loop_new(1);
    struct job jobs[JOBS];
    int done = 0;
    run_jobs(loop, jobs, &done);
    assert_int_equal(done, 0);
    loop_run(loop);
    assert_int_equal(done, JOBS);
    for (int i = 0; i < JOBS; i++) {
        assert_false(pthread_equal(jobs[i].worker, pthread_self()));
        assert_true(pthread_equal(jobs[i].worker, jobs[0].worker));
    }
    loop_free(loop);
}

static void test_free_waits_for_jobs_and_runs_their_done(void **state)
{
    (void)state;
    struct loop *loop = loop_new(1);
    struct job jobs[JOBS];
    int done = 0;
    run_jobs(loop, jobs, &done);
    loop_free(loop);
    assert_int_equal(done, JOBS);
}

static void test_virtual_jobs_run_inline_at_the_next_turn(void **state)
{
    (void)state;
    struct loop *loop = loop_new_virtual(1, WALL);
    struct job jobs[JOBS];
    int done = 0;
    run_jobs(loop, jobs, &done);
    assert_int_equal(done, 0);
    assert_false(loop_turn(loop, 0));
    assert_int_equal(done, JOBS);
    assert_true(pthread_equal(jobs[0].worker, pthread_self()));
    int64_t start = loop_now(loop);
    loop_post(loop, note_arg, &letters[2]);
    loop_run(loop);
    assert_string_equal(trace, "c");
    assert_int_equal(loop_now(loop), start);
    loop_free(loop);
}

/* ---- signals, in a child: they change the whole process ------------------------------------- */

static void on_terminate_once(void *arg)
{
    loop_stop(arg);
}

static void on_terminate_drain(void *arg)
{
    (void)arg; /* goes on draining: only a second signal ends the process */
    raise(SIGINT);
}

static int run_child(int signal_number, loop_fn *fn)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct loop *loop = loop_new(1);
        loop_on_terminate(loop, fn, loop);
        raise(SIGPIPE); /* ignored */
        raise(signal_number);
        loop_run(loop);
        loop_free(loop);
        _exit(7);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_termination_signals_reach_the_loop(void **state)
{
    (void)state;
    assert_int_equal(run_child(SIGTERM, on_terminate_once), 7);
    assert_int_equal(run_child(SIGINT, on_terminate_once), 7);
}

static void test_a_second_signal_ends_the_process(void **state)
{
    (void)state;
    assert_int_equal(run_child(SIGTERM, on_terminate_drain), 1);
}

#define TEST(name) cmocka_unit_test_setup(name, reset_trace)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_timers_run_by_due_time_then_by_order_set),
        TEST(test_timer_move_cancel_and_set_earlier),
        TEST(test_what_a_callback_sets_for_now_waits_for_the_next_turn),
        TEST(test_deferred_calls_run_once_in_order_and_can_be_cancelled),
        TEST(test_virtual_turn_jumps_no_further_than_allowed),
        TEST(test_a_delay_beyond_the_end_of_time_is_cut),
        TEST(test_stop_ends_the_run_after_the_turn),
        TEST(test_same_seed_same_random_numbers),
        TEST(test_real_timer_waits_its_time),
        TEST(test_turn_statistics_leave_waiting_out),
        TEST(test_longest_turn_is_measured),
        TEST(test_descriptors_are_level_triggered_and_can_be_stopped),
        TEST(test_hang_up_is_reported_as_what_was_asked_for),
        TEST(test_a_stale_event_does_not_reach_a_new_descriptor),
        TEST(test_a_descriptor_closed_and_reopened_unseen_is_watched_again),
        TEST(test_posts_from_threads_all_arrive_and_wake_the_loop),
        TEST(test_offloaded_jobs_run_in_order_on_one_thread),
        TEST(test_free_waits_for_jobs_and_runs_their_done),
        TEST(test_virtual_jobs_run_inline_at_the_next_turn),
        TEST(test_termination_signals_reach_the_loop),
        TEST(test_a_second_signal_ends_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
