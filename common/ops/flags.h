/*
 * Command-line flags as Go's pflag reads them: --name=value, --name value, -n value, --bool,
 * --bool=false; dashes and underscores alike; stray positional arguments are ignored with one
 * notice ("2>&1" is passed by the reference's manifests). Unknown flags end in an error.
 */
#ifndef PUMICE_OPS_FLAGS_H
#define PUMICE_OPS_FLAGS_H

#include "base/buf.h"
#include "base/error.h"

enum flag_type {
    FLAG_BOOL,        /* bool * */
    FLAG_INT,         /* int64_t * */
    FLAG_DOUBLE,      /* double * */
    FLAG_STRING,      /* const char **; borrowed from argv */
    FLAG_STRINGS,     /* struct flag_strings *; repeatable, the first use replaces the default */
    FLAG_DURATION,    /* int64_t *, nanoseconds; Go durations */
    FLAG_IGNORED,     /* accepted for compatibility, value ignored, one notice in `help` words */
    FLAG_IGNORED_BOOL /* the same for flags that take no argument of their own (--logtostderr) */
};

#define FLAG_STRINGS_MAX 32
struct flag_strings {
    const char *items[FLAG_STRINGS_MAX];
    size_t n;
    bool set; /* given on the command line */
};

struct flag {
    const char *name; /* without dashes */
    char letter;      /* 'v' for -v; 0 for none */
    enum flag_type type;
    void *value;      /* where it goes; holds the default before */
    const char *help; /* one sentence; for FLAG_IGNORED why it has no effect */
};

/* A table ends with a NULL name. Several tables are searched in order. */
int flags_parse(int argc, char **argv, const struct flag *const *tables, size_t table_count,
                struct error *err);
/* --help text. */
void flags_usage(struct buf *out, const char *program, const struct flag *const *tables,
                 size_t table_count);

#endif
