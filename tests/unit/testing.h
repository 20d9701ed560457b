/*
 * What every unit test needs beside cmocka: its includes in the right order, slices compared with
 * strings, and checks that a programmer error ends the process.
 */
#ifndef PUMICE_TESTS_TESTING_H
#define PUMICE_TESTS_TESTING_H

/* cmocka.h wants these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/str.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The slice holds exactly the bytes of the C string. */
#define assert_str(slice, text) assert_slice((slice), (text), __FILE__, __LINE__)

static inline void assert_slice(struct str slice, const char *text, const char *file, int line)
{
    cleanup_free char *copy = str_dup(slice);
    if (!str_is(slice, text)) {
        print_error("\"%s\" (%zu bytes) is not \"%s\"\n", copy, slice.n, text);
        _fail(file, line);
    }
}

/* Runs `body` in a child and checks that it aborts. */
static inline void assert_aborts(void (*body)(void))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit no_core = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &no_core);
        struct sigaction deadly = {.sa_handler = SIG_DFL};
        (void)sigaction(SIGABRT, &deadly, NULL);
        (void)close(STDERR_FILENO);
        body();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

#endif
