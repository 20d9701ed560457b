/*
 * Amounts by a number. See counts.h.
 *
 * The hash table has linear probing from a multiplicative hash; a key that goes closes its hole at
 * once by moving up those behind it, so that there are no tombstones. Which of the two forms is the
 * smaller one is asked only when what is there cannot take an amount, so that the cost of changing
 * is spread over many.
 */
#include "base/counts.h"
#include "base/alloc.h"

#define SIZE_MIN 8

/* ---- the array ------------------------------------------------------------------------------- */

static uint8_t width_of(int64_t amount)
{
    if (amount == (int8_t)amount)
        return 1;
    if (amount == (int16_t)amount)
        return 2;
    return amount == (int32_t)amount ? 4 : 8;
}

static int64_t array_get(const struct counts *counts, uint32_t key)
{
    switch (counts->width) {
    case 1:
        return ((const int8_t *)counts->array)[key];
    case 2:
        return ((const int16_t *)counts->array)[key];
    case 4:
        return ((const int32_t *)counts->array)[key];
    default:
        return ((const int64_t *)counts->array)[key];
    }
}

static void array_set(struct counts *counts, uint32_t key, int64_t amount)
{
    switch (counts->width) {
    case 1:
        ((int8_t *)counts->array)[key] = (int8_t)amount;
        break;
    case 2:
        ((int16_t *)counts->array)[key] = (int16_t)amount;
        break;
    case 4:
        ((int32_t *)counts->array)[key] = (int32_t)amount;
        break;
    default:
        ((int64_t *)counts->array)[key] = amount;
        break;
    }
}

/* ---- the hash table -------------------------------------------------------------------------- */

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
}

/* ---- both ------------------------------------------------------------------------------------ */

int64_t counts_get(const struct counts *counts, uint32_t key)
{
    if (counts->width)
        return key < counts->size ? array_get(counts, key) : 0;
    return counts->size ? counts->slots[slot_of(counts, key + 1)].amount : 0;
}

/* Whether an amount can be set as things are. */
static bool takes(const struct counts *counts, uint32_t key, int64_t amount)
{
    if (counts->width)
        return key < counts->size && width_of(amount) <= counts->width;
    return 4 * ((uint64_t)counts->used + 1) <= 3 * (uint64_t)counts->size;
}

static void set(struct counts *counts, uint32_t key, int64_t amount)
{
    if (counts->width) {
        array_set(counts, key, amount);
        return;
    }
    uint32_t at = slot_of(counts, key + 1);
    if (amount)
        counts->slots[at] = (struct counts_slot){key + 1, amount};
    else if (counts->slots[at].key)
        close_slot(counts, at);
}

/* The size of a hash table with so many keys. */
static uint32_t slots_for(uint32_t used)
{
    uint32_t size = SIZE_MIN;
    while (4 * (uint64_t)used > 3 * (uint64_t)size)
        size *= 2;
    return size;
}

/* Takes the form that is smaller, with room for an amount. */
static void reshape(struct counts *counts, uint32_t key, int64_t amount)
{
    struct counts old = *counts;
    uint64_t range = key;
    uint8_t width = width_of(amount);
    uint32_t slots = slots_for(old.used + 1), other;
    for (uint32_t at = 0; counts_next(&old, &at, &other, &amount);) {
        range = other > range ? other : range;
        width = width_of(amount) > width ? width_of(amount) : width;
    }
    range += 1 + range / 8;
    bool array = slots > SIZE_MIN && range * width <= slots * sizeof(*old.slots);
    counts->array = array ? xcalloc((size_t)range, width) : NULL;
    counts->slots = array ? NULL : xcalloc(slots, sizeof(*old.slots));
    counts->size = array ? (uint32_t)range : slots;
    counts->width = array ? width : 0;
    for (uint32_t at = 0; counts_next(&old, &at, &other, &amount);)
        set(counts, other, amount);
    free(old.slots);
    free(old.array);
}

void counts_add(struct counts *counts, uint32_t key, int64_t amount)
{
    if (!amount)
        return;
    int64_t before = counts_get(counts, key), now = before + amount;
    if (!takes(counts, key, now))
        reshape(counts, key, now);
    set(counts, key, now);
    counts->total += amount;
    counts->used += (uint32_t)(now != 0) - (uint32_t)(before != 0);
}

bool counts_next(const struct counts *counts, uint32_t *position, uint32_t *ret_key,
                 int64_t *ret_amount)
{
    for (; *position < counts->size; (*position)++) {
        uint32_t at = *position;
        int64_t amount = counts->width ? array_get(counts, at) : counts->slots[at].amount;
        if (!amount)
            continue;
        *ret_key = counts->width ? at : counts->slots[at].key - 1;
        *ret_amount = amount;
        (*position)++;
        return true;
    }
    return false;
}

void counts_clear(struct counts *counts)
{
    free(counts->slots);
    free(counts->array);
    *counts = (struct counts){.slots = NULL};
}
