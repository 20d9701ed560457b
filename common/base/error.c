/*
 * struct error: filling and prefixing the fixed-size text. No allocation, no shared state.
 *
 * Texts are cut between characters, never inside one, so that they stay valid UTF-8 on their way
 * into conditions and events.
 */
#include "base/error.h"
#include "base/ensure.h"
#include "base/str.h"
#include <stdarg.h>
#include <stdio.h>

/* Formats into `text`; returns the length after cutting. */
static size_t format_cut(char text[ERROR_TEXT_MAX], const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static size_t format_cut(char text[ERROR_TEXT_MAX], const char *format, va_list args)
{
    int n = vsnprintf(text, ERROR_TEXT_MAX, format, args);
    if (n < 0)
        n = 0;
    size_t size = (size_t)n;
    if (size >= ERROR_TEXT_MAX)
        size = str_cut(str_make(text, ERROR_TEXT_MAX - 1), ERROR_TEXT_MAX - 1).n;
    text[size] = '\0';
    return size;
}

int error_set(struct error *err, enum error_class cls, const char *format, ...)
{
    if (!err)
        return -1;
    /* Formatted aside, since the arguments may point into the old text. */
    char text[ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    size_t size = format_cut(text, format, args);
    va_end(args);
    err->cls = cls;
    memcpy(err->text, text, size + 1);
    return -1;
}

int error_prefix(struct error *err, const char *format, ...)
{
    if (!err)
        return -1;
    char text[ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    size_t size = format_cut(text, format, args);
    va_end(args);

    struct str parts[] = {STR(": "), str_of(err->text)};
    for (size_t i = 0; i < 2; i++) {
        struct str part = str_cut(parts[i], ERROR_TEXT_MAX - 1 - size);
        memcpy(text + size, part.p, part.n);
        size += part.n;
    }
    text[size] = '\0';
    memcpy(err->text, text, size + 1);
    return -1;
}

const char *error_class_name(enum error_class cls)
{
    static const char *const names[ERROR_CLASS_COUNT] = {
        [ERROR_NONE] = "none",           [ERROR_INVALID] = "invalid", [ERROR_RETRY] = "retry",
        [ERROR_CONFLICT] = "conflict",   [ERROR_EXISTS] = "exists",   [ERROR_GONE] = "gone",
        [ERROR_NOT_FOUND] = "not-found", [ERROR_DENIED] = "denied",   [ERROR_LIMIT] = "limit",
        [ERROR_CANCELLED] = "cancelled", [ERROR_FATAL] = "fatal",
    };
    ENSURE((unsigned)cls < ERROR_CLASS_COUNT);
    return names[cls];
}
