/*
 * Allocation that cannot fail: a wrapper over malloc that ends the process when memory is out.
 *
 * Every result is owned by the caller and freed with free(). Thread-safe as malloc is.
 */
#include "base/alloc.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Says how much was asked for and aborts; formats on the stack since the heap is exhausted. */
static _Noreturn void out_of_memory(size_t count, size_t size)
{
    char text[96];
    int n = snprintf(text, sizeof(text), "out of memory: %zu x %zu bytes\n", count, size);
    if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0)
        abort();
    abort();
}

void *xmalloc(size_t size)
{
    void *memory = malloc(size ? size : 1);
    if (!memory)
        out_of_memory(1, size);
    return memory;
}

void *xcalloc(size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        out_of_memory(count, size);
    void *memory = calloc(1, total ? total : 1);
    if (!memory)
        out_of_memory(count, size);
    return memory;
}

void *xreallocarray(void *old, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        out_of_memory(count, size);
    void *memory = realloc(old, total ? total : 1);
    if (!memory)
        out_of_memory(count, size);
    return memory;
}

char *xstrdup(const char *text)
{
    return xstrndup(text, strlen(text));
}

char *xstrndup(const char *data, size_t size)
{
    if (size == SIZE_MAX)
        out_of_memory(1, size);
    char *copy = xmalloc(size + 1);
    if (size)
        memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}

char *xasprintf(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0 || !text)
        out_of_memory(1, strlen(format));
    return text;
}
