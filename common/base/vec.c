/*
 * Growth of VEC arrays: by half again, at least eight items. The holder owns the memory.
 */
#include "base/vec.h"
#include "base/ensure.h"
#include <stdint.h>

void vec_grow(void **items, size_t *cap, size_t n, size_t item_size)
{
    ENSURE(n < SIZE_MAX / 2);
    size_t grown = n < 8 ? 8 : n + n / 2;
    *items = xreallocarray(*items, grown, item_size);
    *cap = grown;
}
