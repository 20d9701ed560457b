/*
 * Arguments in the syntax of Go's flag package ("-port=2222", "--port 2222", "-fast"): a word
 * without a dash, "--", a flag that is not known or a value of the wrong kind ends the reading, and
 * what was read until then counts.
 *
 * A reader is given one word after another, so that it does not matter where they are kept.
 * Thread-safe: all state is the reader's.
 */
#ifndef PUMICE_BASE_GOFLAG_H
#define PUMICE_BASE_GOFLAG_H

#include "base/str.h"

enum goflag_kind { GOFLAG_TEXT, GOFLAG_NUMBER, GOFLAG_BOOL };

struct goflag {
    const char *name; /* NULL ends a list */
    enum goflag_kind kind;
    const char *preset; /* its value when it is not given */
};

enum goflag_step {
    GOFLAG_END,  /* this word ends the reading */
    GOFLAG_MORE, /* the value is the next word; without one the reading ends before the flag */
    GOFLAG_SET   /* a flag got a value */
};

struct goflag_reader {
    const struct goflag *known;   /* borrowed */
    const struct goflag *pending; /* waits for its value; NULL: none */
};

static inline struct goflag_reader goflag_reader(const struct goflag *known)
{
    return (struct goflag_reader){known, NULL};
}

/* Reads one word. On GOFLAG_SET flag and value are given; the value borrows from the word. */
enum goflag_step goflag_read(struct goflag_reader *reader, struct str word,
                             const struct goflag **ret_flag, struct str *ret_value);

/* A whole number of 64 bits: a sign, 0x, 0o, 0b or 0 in front, '_' between digits. */
bool goflag_number(struct str text, int64_t *ret_value);

#endif
