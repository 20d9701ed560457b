/*
 * struct arena: many small allocations that die together (a request, an event, a cycle).
 *
 * Owned by one holder, not thread-safe. Memory is not zeroed unless said.
 */
#ifndef PUMICE_BASE_ARENA_H
#define PUMICE_BASE_ARENA_H

#include "base/str.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *head; /* owned list of chunks, newest first */
    size_t total;             /* bytes allocated from the system */
};

#define ARENA_INIT {NULL, 0}

/* Aligned for any type; never NULL. */
void *arena_alloc(struct arena *arena, size_t size);
void *arena_calloc(struct arena *arena, size_t count, size_t size);
/* A copy of the slice, NUL-terminated after its n bytes, living in the arena. */
struct str arena_str(struct arena *arena, struct str s);
struct str arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Before the first allocation: the first chunk is to have room for `size` bytes, no more. For
 * arenas of which there are a great many; each allocation takes a multiple of 16 bytes. */
void arena_begin(struct arena *arena, size_t size);

/* Frees everything but one chunk for reuse. */
void arena_reset(struct arena *arena);
/* Frees everything. */
void arena_clear(struct arena *arena);

#define arena_new(arena, type) ((type *)arena_calloc((arena), 1, sizeof(type)))

#define cleanup_arena __attribute__((cleanup(arena_clear)))

#endif
