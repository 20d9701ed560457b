/*
 * struct counts: amounts by a number. Where most are zero these take no memory; where most are not
 * each takes as little as it needs.
 *
 * Keys are small numbers such as indices of nodes. It is a hash table of keys and amounts, or, as
 * soon as that is no larger, an array of amounts by key. So with keys up to n and amounts of one
 * byte it never takes more than 1 + n + n/8 bytes, or 128; twice that with amounts of two. What
 * comes back to zero is forgotten. Iteration is in no order, so nothing may depend on it but sums.
 * Not thread-safe.
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
    struct counts_slot *slots; /* owned; open addressing; NULL when it is an array */
    void *array;               /* owned; amounts by key; NULL when it is a hash table */
    uint32_t size;             /* slots (a power of two, or 0), or amounts in the array */
    uint32_t used;             /* keys whose amount is not zero */
    int64_t total;             /* the sum of all amounts */
    uint32_t readers;          /* the holder's own: who look at it, and would have to be told */
    uint8_t width;             /* of an amount in the array: 1, 2, 4 or 8 bytes; 0: no array */
};

/* The amount at a key below UINT32_MAX; 0 when there is none. */
int64_t counts_get(const struct counts *counts, uint32_t key);
/* Adds to it. */
void counts_add(struct counts *counts, uint32_t key, int64_t amount);
/* Iteration: `for (uint32_t i = 0; counts_next(&c, &i, &key, &amount);)`; nothing may be added
 * meanwhile. */
bool counts_next(const struct counts *counts, uint32_t *position, uint32_t *ret_key,
                 int64_t *ret_amount);
/* How much memory the amounts take. */
static inline size_t counts_bytes(const struct counts *counts)
{
    return counts->size * (counts->width ? counts->width : sizeof(*counts->slots));
}
/* Frees the table; zero again. */
void counts_clear(struct counts *counts);

#endif
