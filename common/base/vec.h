/*
 * A growing array: VEC(struct foo) declares `struct { struct foo *items; size_t n, cap; }`.
 *
 * The holder owns `items` (vec_clear frees it). Pointers into it are valid until the next push.
 */
#ifndef PUMICE_BASE_VEC_H
#define PUMICE_BASE_VEC_H

#include "base/alloc.h"
#include <string.h>

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t n, cap;                                                                             \
    }

/* Grows `*items` so that one more item fits; used by vec_push. */
void vec_grow(void **items, size_t *cap, size_t n, size_t item_size);

#define vec_push(vec, item)                                                                        \
    do {                                                                                           \
        if ((vec)->n == (vec)->cap) {                                                              \
            void *grown_ = (vec)->items;                                                           \
            vec_grow(&grown_, &(vec)->cap, (vec)->n, sizeof(*(vec)->items));                       \
            (vec)->items = grown_;                                                                 \
        }                                                                                          \
        (vec)->items[(vec)->n++] = (item);                                                         \
    } while (0)

#define vec_clear(vec)                                                                             \
    do {                                                                                           \
        free((vec)->items);                                                                        \
        (vec)->items = NULL;                                                                       \
        (vec)->n = (vec)->cap = 0;                                                                 \
    } while (0)

/* Removes item `i`, keeping the order. */
#define vec_remove(vec, i)                                                                         \
    do {                                                                                           \
        size_t at_ = (i);                                                                          \
        memmove(&(vec)->items[at_], &(vec)->items[at_ + 1],                                        \
                ((vec)->n - at_ - 1) * sizeof(*(vec)->items));                                     \
        (vec)->n--;                                                                                \
    } while (0)

/* Removes item `i` by moving the last one into its place. */
#define vec_swap_remove(vec, i) ((vec)->items[i] = (vec)->items[--(vec)->n])

#endif
