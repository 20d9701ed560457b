/*
 * Crash handler: one line and a backtrace, then the signal again with its default action.
 *
 * Runs on an alternate stack, so that a stack overflow is reported too, and uses only what is safe
 * in a signal handler: write(2) and backtrace_symbols_fd (its library is loaded at set-up).
 */
#include "ops/crash.h"

#include "base/alloc.h"
#include <execinfo.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define FRAMES_MAX 64
#define STACK_SIZE ((size_t)64 << 10)

static char crash_stack[STACK_SIZE];
static const char *crash_program = "";

static void put(const char *text)
{
    ssize_t n = write(STDERR_FILENO, text, strlen(text));
    (void)n; /* nothing better to do about it */
}

static void on_crash(int number)
{
    const char *name = sigabbrev_np(number);
    put(crash_program);
    put(": died of signal SIG");
    put(name ? name : "?");
    put(", backtrace:\n");
    void *frames[FRAMES_MAX];
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES_MAX), STDERR_FILENO);
    raise(number); /* SA_RESETHAND: delivered with the default action on return */
}

void crash_setup(const char *program)
{
    crash_program = program;
    void *frames[1];
    (void)backtrace(frames, 1); /* loads what it needs now, not in the handler */
    const stack_t stack = {.ss_sp = crash_stack, .ss_size = sizeof(crash_stack)};
    (void)sigaltstack(&stack, NULL);
    const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        struct sigaction old;
        if (sigaction(signals[i], NULL, &old) < 0 || old.sa_handler != SIG_DFL)
            continue;
        struct sigaction action = {.sa_handler = on_crash,
                                   .sa_flags = (int)(SA_RESETHAND | SA_ONSTACK)};
        sigemptyset(&action.sa_mask);
        (void)sigaction(signals[i], &action, NULL);
    }
}
