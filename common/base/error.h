/*
 * struct error: why a function failed, in words a user can act on.
 *
 * Caller-owned, fixed size, no allocation. Fallible functions take it last and return a negative
 * number; success leaves it untouched. Callers add context in front as the error goes up. The
 * class tells callers what to do, the text tells people.
 */
#ifndef PUMICE_BASE_ERROR_H
#define PUMICE_BASE_ERROR_H

#define ERROR_TEXT_MAX 512

enum error_class {
    ERROR_NONE,
    ERROR_INVALID,   /* input that will never be right: do not retry unchanged */
    ERROR_RETRY,     /* a passing fault (network, 429, 5xx): try again with back-off */
    ERROR_CONFLICT,  /* 409: somebody else wrote first, or, as 422 may say, it is another one's name
                        by now; read again */
    ERROR_EXISTS,    /* 409 AlreadyExists */
    ERROR_GONE,      /* 410: list again */
    ERROR_NOT_FOUND, /* 404 */
    ERROR_DENIED,    /* 401, 403, or an admission refusal */
    ERROR_LIMIT,     /* larger, deeper or more than a limit of ours */
    ERROR_CANCELLED, /* given up by us */
    ERROR_FATAL,     /* the process cannot go on */
    ERROR_CLASS_COUNT
};

struct error {
    enum error_class cls;
    char text[ERROR_TEXT_MAX]; /* NUL-terminated, cut to fit */
};

#define ERROR_INIT {ERROR_NONE, ""}

/* Fills `err` (which may be NULL) and returns -1, so that `return error_set(...)` reads well. */
int error_set(struct error *err, enum error_class cls, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "<prefix>: " in front of the text of a filled error; returns -1. `err` may be NULL. */
int error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The name of a class for logs and metrics ("retry", "invalid", ...). */
const char *error_class_name(enum error_class cls);

#endif
