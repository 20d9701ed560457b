/*
 * struct problems: everything that is wrong with an object, in the order it was found.
 *
 * Validation collects: a user sees all faults at once. Texts are joined with "; " or another
 * separator. The list is
 * bounded; what does not fit is counted. Owned by one review.
 */
#ifndef PUMICE_WEBHOOK_PROBLEMS_H
#define PUMICE_WEBHOOK_PROBLEMS_H

#include "base/buf.h"

#define PROBLEMS_TEXT_MAX ((size_t)8 << 10)

struct problems {
    struct buf text;       /* owned */
    size_t count;          /* all of them */
    size_t dropped;        /* of these not in the text */
    bool invalid;          /* one at least is a fault of the object itself */
    const char *separator; /* between the texts; NULL: "; " */
};

#define PROBLEMS_INIT                                                                              \
    {                                                                                              \
        .text = {.max = PROBLEMS_TEXT_MAX }                                                        \
    }

/* A fault of the object: it will never be right as it is. */
void problem_invalid(struct problems *problems, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The object does not fit what is there now (a queue that is missing or closed). */
void problem_state(struct problems *problems, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Appends to the text of the last problem. */
void problem_more(struct problems *problems, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes the whole, trimmed, with the number of problems that did not fit. */
void problems_write(const struct problems *problems, struct buf *out);
void problems_clear(struct problems *problems);

/* Whether so many did not fit any more that a rule need not look for others. */
static inline bool problems_enough(const struct problems *problems)
{
    return problems->dropped >= 100;
}

#endif
