/*
 * Allocation that cannot fail, and cleanup attributes.
 *
 * Out of memory ends the process with a message: sizes that come from the network are checked
 * before they get here, so exhaustion is real and a restart rebuilds all state from watches.
 */
#ifndef PUMICE_BASE_ALLOC_H
#define PUMICE_BASE_ALLOC_H

#include <stddef.h>
#include <stdlib.h>

/* Memory of `size` bytes, not zeroed; never NULL. Freed with free(). */
void *xmalloc(size_t size) __attribute__((malloc, alloc_size(1), returns_nonnull));

/* Zeroed memory for `count` items of `size` bytes; aborts when the product overflows. */
void *xcalloc(size_t count, size_t size) __attribute__((malloc, alloc_size(1, 2), returns_nonnull));

/* Like realloc for `count` items of `size` bytes; `old` may be NULL. */
void *xreallocarray(void *old, size_t count, size_t size) __attribute__((returns_nonnull));

/* A NUL-terminated heap copy of `text`. */
char *xstrdup(const char *text) __attribute__((malloc, returns_nonnull));

/* A NUL-terminated heap copy of the `size` bytes at `data`. */
char *xstrndup(const char *data, size_t size) __attribute__((malloc, returns_nonnull));

/* A NUL-terminated heap string made as printf does. */
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

/* xnew(struct foo): one zeroed object. */
#define xnew(type) ((type *)xcalloc(1, sizeof(type)))

/* Frees the pointer that the variable holds when it goes out of scope. */
static inline void cleanup_free_fn(void *slot)
{
    free(*(void **)slot);
}
#define cleanup_free __attribute__((cleanup(cleanup_free_fn)))

/* Takes the value out of an owning variable, leaving NULL: `return take_ptr(name);`. */
#define take_ptr(variable)                                                                         \
    __extension__({                                                                                \
        __typeof__(variable) taken_ = (variable);                                                  \
        (variable) = NULL;                                                                         \
        taken_;                                                                                    \
    })

#define container_of(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
