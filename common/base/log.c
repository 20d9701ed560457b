/*
 * Logging: one line an event to standard error, formatted on the stack, one write(2) a line.
 *
 * Thread-safe: the settings are atomics, a line is at most 4 KiB, which pipes take whole. The
 * process never waits for its log and never dies of it: a line that cannot be written at once is
 * dropped and counted, and the count is reported with the next line that gets through.
 */
#include "base/log.h"
#include "base/str.h"
#include "base/timefmt.h"
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096
#define DEBUG_VERBOSITY 4

static _Atomic(const char *) component = "pumice";
static atomic_int verbosity = 0;
static atomic_int log_fd = STDERR_FILENO;
static atomic_uint lost_lines = 0;

void log_setup(const char *name, int klog_verbosity)
{
    /* A reader of our log that goes away must not take us with it. */
    struct sigaction action = {0};
    if (sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL) {
        action.sa_handler = SIG_IGN;
        (void)sigaction(SIGPIPE, &action, NULL);
    }
    atomic_store(&component, name);
    atomic_store(&verbosity, klog_verbosity);
}

bool log_enabled(enum log_level level)
{
    return level < LOG_DEBUG || atomic_load(&verbosity) >= DEBUG_VERBOSITY;
}

void log_set_fd(int fd)
{
    atomic_store(&log_fd, fd);
}

/* "2026-11-29T17:51:09.123Z I pumice-controller " into `line`; returns its length. */
static size_t write_head(char line[LINE_MAX_BYTES], enum log_level level)
{
    static const char letters[LOG_LEVEL_COUNT] = {'E', 'W', 'I', 'D'};
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    char stamp[TIME_TEXT_MAX];
    size_t n = time_format(stamp, (int64_t)now.tv_sec * NSEC_PER_SEC);
    int size =
        snprintf(line, LINE_MAX_BYTES, "%.*s.%03dZ %c %.64s ", (int)n - 1, stamp,
                 (int)(now.tv_nsec / NSEC_PER_MSEC), letters[level], atomic_load(&component));
    return size > 0 ? (size_t)size : 0;
}

/* Control characters become spaces: what others wrote cannot forge a line of ours. */
static void clean(char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            text[i] = ' ';
}

static bool write_whole(const char *line, size_t size)
{
    int fd = atomic_load(&log_fd);
    while (size > 0) {
        ssize_t n = write(fd, line, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        line += n;
        size -= (size_t)n;
    }
    return true;
}

/* Tells how many lines were dropped before this one, once writing works again. */
static void report_lost(void)
{
    unsigned lost = atomic_exchange(&lost_lines, 0);
    if (lost == 0)
        return;
    char line[LINE_MAX_BYTES];
    size_t head = write_head(line, LOG_WARN);
    int n = snprintf(line + head, sizeof(line) - head, "log lines were dropped count=%u\n", lost);
    if (n < 0 || !write_whole(line, head + (size_t)n))
        atomic_fetch_add(&lost_lines, lost);
}

void log_write(enum log_level level, const char *format, ...)
{
    if (!log_enabled(level))
        return;
    int saved_errno = errno;
    char line[LINE_MAX_BYTES];
    size_t head = write_head(line, level);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line + head, sizeof(line) - head, format, args);
    va_end(args);
    size_t room = sizeof(line) - head - 1; /* what stays beside the line end */
    size_t size = n < 0 ? 0 : (size_t)n;
    if (size > room)
        size = str_cut(str_make(line + head, room), room).n;
    clean(line + head, size);
    line[head + size] = '\n';
    report_lost();
    if (!write_whole(line, head + size + 1))
        atomic_fetch_add(&lost_lines, 1);
    errno = saved_errno;
}
