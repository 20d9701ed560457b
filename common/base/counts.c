/*
 * Amounts by a number. See counts.h.
 *
 * Linear probing from a multiplicative hash; a key that goes closes its hole at once by moving up
 * those behind it, so that there are no tombstones.
 */
#include "base/counts.h"
#include "base/alloc.h"

#define SIZE_MIN 8

static uint32_t home_of(const struct counts *counts, uint32_t key)
{
    return (key * 2654435769u) >> (32 - (uint32_t)__builtin_ctz(counts->size));
}

/* The slot of the key, or the free one where it would stand. */
static uint32_t slot_of(const struct counts *counts, uint32_t key)
{
    uint32_t at = home_of(counts, key);
    while (counts->slots[at].key && counts->slots[at].key != key)
        at = (at + 1) & (counts->size - 1);
    return at;
}

int64_t counts_get(const struct counts *counts, uint32_t key)
{
    return counts->size ? counts->slots[slot_of(counts, key + 1)].amount : 0;
}

static void resize(struct counts *counts, uint32_t size)
{
    struct counts_slot *old = counts->slots;
    uint32_t old_size = counts->size;
    counts->slots = xcalloc(size, sizeof(*counts->slots));
    counts->size = size;
    for (uint32_t i = 0; i < old_size; i++)
        if (old[i].key)
            counts->slots[slot_of(counts, old[i].key)] = old[i];
    free(old);
}

/* Frees a slot and moves up what stands behind it and would not be found any more. */
static void close_slot(struct counts *counts, uint32_t hole)
{
    uint32_t mask = counts->size - 1;
    for (uint32_t at = (hole + 1) & mask; counts->slots[at].key; at = (at + 1) & mask) {
        uint32_t home = home_of(counts, counts->slots[at].key);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        counts->slots[hole] = counts->slots[at];
        hole = at;
    }
    counts->slots[hole] = (struct counts_slot){0, 0};
    counts->used--;
}

void counts_add(struct counts *counts, uint32_t key, int64_t amount)
{
    if (!amount)
        return;
    if (4 * (counts->used + 1) > 3 * counts->size)
        resize(counts, counts->size ? 2 * counts->size : SIZE_MIN);
    struct counts_slot *slot = &counts->slots[slot_of(counts, key + 1)];
    counts->total += amount;
    if (!slot->key) {
        *slot = (struct counts_slot){key + 1, amount};
        counts->used++;
        return;
    }
    slot->amount += amount;
    if (!slot->amount)
        close_slot(counts, (uint32_t)(slot - counts->slots));
}

bool counts_next(const struct counts *counts, uint32_t *position, uint32_t *ret_key,
                 int64_t *ret_amount)
{
    while (*position < counts->size && !counts->slots[*position].key)
        (*position)++;
    if (*position == counts->size)
        return false;
    *ret_key = counts->slots[*position].key - 1;
    *ret_amount = counts->slots[*position].amount;
    (*position)++;
    return true;
}

void counts_clear(struct counts *counts)
{
    free(counts->slots);
    *counts = (struct counts){.slots = NULL};
}
