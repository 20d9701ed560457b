/*
 * The end of a process that found itself wrong: a line on standard error, then SIGABRT.
 *
 * Uses no heap and no lock, so it works in any state. Callable from any thread.
 */
#include "base/ensure.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void ensure_failed(const char *condition, const char *file, int line)
{
    char text[512];
    int n = snprintf(text, sizeof(text), "%s:%d: check failed: %s\n", file, line, condition);
    if (n > 0) {
        size_t size = (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
        if (write(STDERR_FILENO, text, size) < 0)
            abort();
    }
    abort();
}
