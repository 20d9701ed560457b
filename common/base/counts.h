/*
 * struct counts: amounts by a number, most of which are zero and take no memory.
 *
 * Keys are small numbers such as indices of nodes. What comes back to zero is forgotten. Iteration
 * is in no order, so nothing may depend on it but sums. Not thread-safe.
 */
#ifndef PUMICE_BASE_COUNTS_H
#define PUMICE_BASE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counts_slot {
    uint32_t key; /* the number + 1; 0 when the slot is free */
    int64_t amount;
};

struct counts {
    struct counts_slot *slots; /* owned; open addressing */
    uint32_t size;             /* a power of two, or 0 */
    uint32_t used;             /* keys whose amount is not zero */
    int64_t total;             /* the sum of all amounts */
    uint32_t readers;          /* the holder's own: who look at it, and would have to be told */
};

/* The amount at a key below UINT32_MAX; 0 when there is none. */
int64_t counts_get(const struct counts *counts, uint32_t key);
/* Adds to it. */
void counts_add(struct counts *counts, uint32_t key, int64_t amount);
/* Iteration: `for (uint32_t i = 0; counts_next(&c, &i, &key, &amount);)`; nothing may be added
 * meanwhile. */
bool counts_next(const struct counts *counts, uint32_t *position, uint32_t *ret_key,
                 int64_t *ret_amount);
/* Frees the table; zero again. */
void counts_clear(struct counts *counts);

#endif
