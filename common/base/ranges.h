/*
 * struct ranges: a set of indices as sorted spans, with the text "0-5,9" to keep it in an object.
 *
 * Pods that finished and pods that are to be restarted are mostly neighbours, so 10,000 of them are
 * a few bytes. Spans neither touch nor overlap. Not thread-safe.
 */
#ifndef PUMICE_BASE_RANGES_H
#define PUMICE_BASE_RANGES_H

#include "base/buf.h"
#include <stdint.h>

struct range {
    uint32_t first, last; /* both belong to it */
};

struct ranges {
    struct range *items; /* owned */
    size_t n, cap;
};

#define RANGES_INIT {NULL, 0, 0}

void ranges_clear(struct ranges *set);
bool ranges_has(const struct ranges *set, uint32_t index);
/* Adds all from `first` to `last`; first <= last. */
void ranges_add(struct ranges *set, uint32_t first, uint32_t last);
/* Takes all from `first` to `last` out; first <= last. */
void ranges_remove(struct ranges *set, uint32_t first, uint32_t last);
/* How many indices below `limit` are in it. */
uint32_t ranges_count(const struct ranges *set, uint32_t limit);
bool ranges_equal(const struct ranges *a, const struct ranges *b);

/* Appends "0-5,9"; nothing for an empty set. */
void ranges_write(const struct ranges *set, struct buf *out);
/* Adds what the text says. False, with nothing added, when it is not of that form. */
bool ranges_parse(struct ranges *set, struct str text);

#endif
