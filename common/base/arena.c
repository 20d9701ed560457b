/*
 * struct arena: bump allocation in a list of chunks that double up to 256 KiB.
 *
 * Owned by one holder, not thread-safe. An allocation larger than that gets a chunk of its own,
 * which arena_reset gives back, so one huge object does not pin its memory for ever.
 */
#include "base/arena.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include <stdarg.h>
#include <stdio.h>

#define CHUNK_FIRST ((size_t)4 << 10) /* usable bytes of the first chunk */
#define CHUNK_MAX ((size_t)256 << 10) /* usable bytes of the largest shared chunk */
#define ALIGNMENT _Alignof(max_align_t)

struct arena_chunk {
    struct arena_chunk *next; /* owned, older */
    size_t size;              /* usable bytes */
    size_t used;
    _Alignas(max_align_t) char data[];
};

static struct arena_chunk *chunk_new(struct arena *arena, size_t size)
{
    struct arena_chunk *chunk = xmalloc(sizeof(*chunk) + size);
    chunk->next = NULL;
    chunk->size = size;
    chunk->used = 0;
    arena->total += sizeof(*chunk) + size;
    return chunk;
}

static void chunk_free(struct arena *arena, struct arena_chunk *chunk)
{
    arena->total -= sizeof(*chunk) + chunk->size;
    free(chunk);
}

/* A chunk with room for `size`: a shared one at the head, or one of its own behind the head. */
static struct arena_chunk *chunk_for(struct arena *arena, size_t size)
{
    struct arena_chunk *head = arena->head;
    if (head && size <= head->size - head->used)
        return head;
    if (head && size > CHUNK_MAX / 4) {
        struct arena_chunk *own = chunk_new(arena, size);
        own->next = head->next;
        head->next = own;
        return own;
    }
    size_t next = head && head->size < CHUNK_MAX ? head->size * 2 : CHUNK_FIRST;
    if (head && head->size >= CHUNK_MAX)
        next = CHUNK_MAX;
    struct arena_chunk *chunk = chunk_new(arena, size > next ? size : next);
    chunk->next = head;
    arena->head = chunk;
    return chunk;
}

void arena_begin(struct arena *arena, size_t size)
{
    ENSURE(!arena->head && size <= SIZE_MAX / 2);
    arena->head = chunk_new(arena, size);
}

void *arena_alloc(struct arena *arena, size_t size)
{
    ENSURE(size <= SIZE_MAX / 2);
    size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (rounded == 0)
        rounded = ALIGNMENT;
    struct arena_chunk *chunk = chunk_for(arena, rounded);
    void *memory = chunk->data + chunk->used;
    chunk->used += rounded;
    return memory;
}

void *arena_calloc(struct arena *arena, size_t count, size_t size)
{
    size_t total;
    ENSURE(!__builtin_mul_overflow(count, size, &total));
    void *memory = arena_alloc(arena, total);
    memset(memory, 0, total);
    return memory;
}

struct str arena_str(struct arena *arena, struct str s)
{
    char *copy = arena_alloc(arena, s.n + 1);
    if (s.n)
        memcpy(copy, s.p, s.n);
    copy[s.n] = '\0';
    return str_make(copy, s.n);
}

struct str arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    ENSURE(n >= 0);
    char *text = arena_alloc(arena, (size_t)n + 1);
    n = vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    ENSURE(n >= 0);
    return str_make(text, (size_t)n);
}

void arena_reset(struct arena *arena)
{
    struct arena_chunk *kept = NULL;
    for (struct arena_chunk *chunk = arena->head, *next; chunk; chunk = next) {
        next = chunk->next;
        if (!kept && chunk->size <= CHUNK_MAX)
            kept = chunk;
        else
            chunk_free(arena, chunk);
    }
    arena->head = kept;
    if (kept) {
        kept->next = NULL;
        kept->used = 0;
    }
}

void arena_clear(struct arena *arena)
{
    for (struct arena_chunk *chunk = arena->head, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    arena->head = NULL;
    arena->total = 0;
}
