/*
 * Descriptors of the event loop: epoll, the descriptor that wakes it, and termination signals.
 *
 * The table of watches is indexed by descriptor. An epoll event carries descriptor and generation
 * of its watch, so that an event gathered before a callback closed the descriptor never reaches
 * whoever got the same number next. One thread, but for loop_wake.
 */
#include "loop/loop_private.h"

#include "base/ensure.h"
#include "base/log.h"
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define READY_MAX 128
/* A loop that wakes more often than this, on average, is busy, however long events may gather. */
#define BUSY_INTERVAL_MAX (5 * NSEC_PER_MSEC)
/* A longer sleep counts as this much, so that one does not hide how busy it is else. */
#define WAKE_INTERVAL_MAX (20 * NSEC_PER_MSEC)
/* So often running nothing came while events were to gather, and the loop is not busy any more. */
#define QUIET_MOST 2

static void on_wake(int fd, int events, void *arg)
{
    (void)events;
    (void)arg;
    uint64_t count;
    ssize_t got = read(fd, &count, sizeof(count)); /* only empties it; posted calls run by turn */
    (void)got;
}

void loop_poll_open(struct loop *loop)
{
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ENSURE(loop->epoll_fd >= 0 && loop->wake_fd >= 0);
    loop_fd_set(loop, loop->wake_fd, LOOP_READ, on_wake, NULL);
}

void loop_poll_close(struct loop *loop)
{
    const int fds[] = {loop->signal_fd, loop->wake_fd, loop->epoll_fd};
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    vec_clear(&loop->watches);
}

void loop_wake(struct loop *loop)
{
    if (loop->wake_fd < 0)
        return;
    const uint64_t one = 1;
    ssize_t put = write(loop->wake_fd, &one, sizeof(one)); /* EAGAIN: it is awake already */
    (void)put;
}

static uint64_t pack(int fd, uint32_t generation)
{
    return (uint64_t)generation << 32 | (uint32_t)fd;
}

static struct loop_watch *watch_slot(struct loop *loop, int fd)
{
    while (loop->watches.n <= (size_t)fd)
        vec_push(&loop->watches, ((struct loop_watch){0}));
    return &loop->watches.items[fd];
}

/*
 * Sets the kernel's side. A descriptor that was closed and opened again behind our back makes MOD
 * fail with ENOENT; one that is known already makes ADD fail with EEXIST.
 */
static void epoll_set(struct loop *loop, int fd, bool known, const struct loop_watch *watch)
{
    struct epoll_event event = {.data.u64 = pack(fd, watch->generation)};
    event.events = (watch->events & LOOP_READ ? (uint32_t)EPOLLIN | EPOLLRDHUP : 0U) |
                   (watch->events & LOOP_WRITE ? (uint32_t)EPOLLOUT : 0U);
    int op = known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    int rc = epoll_ctl(loop->epoll_fd, op, fd, &event);
    if (rc < 0 && (errno == ENOENT || errno == EEXIST)) {
        op = errno == ENOENT ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
        rc = epoll_ctl(loop->epoll_fd, op, fd, &event);
    }
    ENSURE(rc == 0);
}

void loop_fd_set(struct loop *loop, int fd, int events, loop_fd_fn *fn, void *arg)
{
    ENSURE(!loop->simulated && fd >= 0);
    struct loop_watch *watch = watch_slot(loop, fd);
    const bool known = watch->events != 0;
    if (!known)
        watch->generation++;
    watch->events = events;
    watch->fn = fn;
    watch->arg = arg;
    if (events)
        epoll_set(loop, fd, known, watch);
    else if (known)
        (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL); /* it may be closed already */
}

static int wait_millis(int64_t wait_ns)
{
    const int64_t millis = wait_ns / NSEC_PER_MSEC + (wait_ns % NSEC_PER_MSEC != 0);
    return millis > INT32_MAX ? INT32_MAX : (int)millis;
}

static int wait_events(struct loop *loop, struct epoll_event *ready, int64_t wait_ns)
{
    if (!loop->no_pwait2 && wait_ns > 0) {
        const struct timespec ts = {.tv_sec = (time_t)(wait_ns / NSEC_PER_SEC),
                                    .tv_nsec = (long)(wait_ns % NSEC_PER_SEC)};
        int n = epoll_pwait2(loop->epoll_fd, ready, READY_MAX, &ts, NULL);
        if (n >= 0 || errno == EINTR)
            return n;
        loop->no_pwait2 = true; /* older kernel, or a seccomp filter that does not know it */
    }
    return epoll_wait(loop->epoll_fd, ready, READY_MAX, wait_millis(wait_ns));
}

static int events_of(uint32_t bits, int asked)
{
    int events =
        (bits & (EPOLLIN | EPOLLRDHUP) ? LOOP_READ : 0) | (bits & EPOLLOUT ? LOOP_WRITE : 0);
    if (bits & (EPOLLERR | EPOLLHUP))
        events = LOOP_READ | LOOP_WRITE;
    return events & asked;
}

/* ---- gathering ----------------------------------------------------------------------------- */

void loop_set_gather(struct loop *loop, int64_t gather_ns)
{
    loop->gather_ns = gather_ns;
    loop->wake_interval = WAKE_INTERVAL_MAX;
}

/* Two events at least come in the time in which they would gather. */
static int64_t busy_interval(const struct loop *loop)
{
    const int64_t half = loop->gather_ns / 2;
    return half < BUSY_INTERVAL_MAX ? half : BUSY_INTERVAL_MAX;
}

static bool is_busy(const struct loop *loop)
{
    return loop->gather_ns > 0 && loop->wake_interval < busy_interval(loop);
}

/* A moving average over some 16 wake-ups; it stands still while events gather. */
static void note_wake(struct loop *loop)
{
    int64_t interval = loop->now - loop->woken_at;
    if (interval > WAKE_INTERVAL_MAX)
        interval = WAKE_INTERVAL_MAX;
    if (!is_busy(loop))
        loop->wake_interval += (interval - loop->wake_interval) / 16;
    loop->woken_at = loop->now;
}

/*
 * Nothing came in all that time. Once may be chance, which comes to one in twenty where three are
 * expected; twice running is not: not busy any more, but soon again if more comes.
 */
static void note_quiet(struct loop *loop)
{
    if (++loop->quiet < QUIET_MOST)
        return;
    loop->quiet = 0;
    loop->wake_interval = 2 * busy_interval(loop);
}

static int64_t let_gather(const struct loop *loop, int64_t wait_ns)
{
    const int64_t pause = wait_ns < loop->gather_ns ? wait_ns : loop->gather_ns;
    const struct timespec ts = {.tv_nsec = (long)pause};
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
    return wait_ns - pause;
}

static int wait_gathered(struct loop *loop, struct epoll_event *ready, int64_t wait_ns)
{
    if (wait_ns <= 0 || !is_busy(loop))
        return wait_events(loop, ready, wait_ns);
    wait_ns = let_gather(loop, wait_ns);
    int n = wait_events(loop, ready, 0);
    if (n != 0)
        loop->quiet = 0;
    if (n != 0 || wait_ns == 0)
        return n;
    note_quiet(loop);
    return wait_events(loop, ready, wait_ns);
}

void loop_poll(struct loop *loop, int64_t wait_ns)
{
    struct epoll_event ready[READY_MAX];
    loop_note_alive(loop, 0);
    int n = wait_gathered(loop, ready, wait_ns);
    ENSURE(n >= 0 || errno == EINTR);
    loop_note_alive(loop, wait_ns);
    loop->now = loop->alive_ns;
    if (wait_ns > 0)
        note_wake(loop);
    for (int i = 0; i < n; i++) {
        const int fd = (int)(uint32_t)ready[i].data.u64;
        const struct loop_watch watch = loop->watches.items[fd];
        const int events = events_of(ready[i].events, watch.events);
        if (events && ready[i].data.u64 == pack(fd, watch.generation))
            watch.fn(fd, events, watch.arg);
    }
}

/* ---- signals ------------------------------------------------------------------------------- */

static void on_signal(int fd, int events, void *arg)
{
    (void)events;
    struct loop *loop = arg;
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (loop->terminations++ > 0) {
            log_warn("second termination signal: leaving at once signal=%u", info.ssi_signo);
            _exit(1);
        }
        loop->terminate(loop->terminate_arg);
    }
}

void loop_on_terminate(struct loop *loop, loop_fn *fn, void *arg)
{
    ENSURE(!loop->simulated && loop->signal_fd < 0);
    loop->terminate = fn;
    loop->terminate_arg = arg;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    ENSURE(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    ENSURE(sigaction(SIGPIPE, &ignore, NULL) == 0);
    loop->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    ENSURE(loop->signal_fd >= 0);
    loop_fd_set(loop, loop->signal_fd, LOOP_READ, on_signal, loop);
}
