/*
 * Memory for the trees of one review: see review_memory.h.
 *
 * Small blocks are cut from chunks and never given back singly. Large ones (long strings, texts of
 * trees that are printed) are from malloc, in a list, so that printing many times does not pile up.
 * Chunks grow with the review; the first is kept for the thread's next one, and the threads last as
 * long as the process. All state is the thread's own.
 */
#include "webhook/review_memory.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "base/list.h"
#include <malloc.h>
#include <stdint.h>

#define CHUNK_FIRST ((size_t)512 << 10) /* only what is used of it counts as resident */
#define CHUNK_MAX ((size_t)2 << 20)
#define LARGE ((size_t)2 << 10) /* blocks from this size on are malloc's */
/* From this size on a freed block goes back to the system at once; glibc's own threshold would grow
 * with the first large body. */
#define MMAP_THRESHOLD (256 << 10)
#define TRIM_THRESHOLD (1 << 20)
#define ALIGNMENT sizeof(max_align_t)

struct chunk {
    struct chunk *next; /* owned; older */
    size_t size, used;  /* of data */
    max_align_t data[];
};

struct large {
    struct list link;
    max_align_t data[];
};

struct memory {
    bool active;
    struct chunk *chunks; /* owned; newest first, the last is kept between reviews */
    struct list larges;   /* owned */
};

static _Thread_local struct memory memory;

#if defined(__SANITIZE_ADDRESS__)
static const bool pooled = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
static const bool pooled = false;
#else
static const bool pooled = true;
#endif
#else
static const bool pooled = true;
#endif

static void add_chunk(void)
{
    size_t size = CHUNK_FIRST;
    if (memory.chunks)
        size = memory.chunks->size * 2 < CHUNK_MAX ? memory.chunks->size * 2 : CHUNK_MAX;
    struct chunk *chunk = xmalloc(sizeof(*chunk) + size);
    chunk->next = memory.chunks;
    chunk->size = size;
    chunk->used = 0;
    memory.chunks = chunk;
}

static void *take_small(size_t size)
{
    const size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!memory.chunks || memory.chunks->size - memory.chunks->used < rounded)
        add_chunk();
    char *block = (char *)memory.chunks->data + memory.chunks->used;
    memory.chunks->used += rounded;
    return block;
}

static void *take(size_t size)
{
    if (!memory.active)
        return xmalloc(size);
    if (size < LARGE)
        return take_small(size);
    struct large *large = xmalloc(sizeof(*large) + size);
    list_append(&memory.larges, &large->link);
    return large->data;
}

static bool is_small(const void *block)
{
    for (const struct chunk *chunk = memory.chunks; chunk; chunk = chunk->next) {
        const uintptr_t begin = (uintptr_t)chunk->data;
        if ((uintptr_t)block >= begin && (uintptr_t)block < begin + chunk->size)
            return true;
    }
    return false;
}

static void free_large(void *block)
{
    struct large *large = container_of(block, struct large, data);
    list_remove(&large->link);
    free(large);
}

static void give_back(void *block)
{
    if (!block)
        return;
    if (!memory.active)
        free(block);
    else if (!is_small(block))
        free_large(block);
}

void review_memory_setup(void)
{
    cJSON_Hooks hooks = {.malloc_fn = take, .free_fn = give_back};
    cJSON_InitHooks(&hooks);
    (void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
    (void)mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD);
}

void review_memory_begin(void)
{
    ENSURE(!memory.active);
    list_init(&memory.larges);
    memory.active = pooled;
}

void review_memory_end(cJSON *object, cJSON *old)
{
    if (!pooled) {
        cJSON_Delete(object);
        cJSON_Delete(old);
        return;
    }
    memory.active = false;
    list_each(node, &memory.larges) free(container_of(node, struct large, link));
    list_init(&memory.larges);
    while (memory.chunks && memory.chunks->next) {
        struct chunk *chunk = memory.chunks;
        memory.chunks = chunk->next;
        free(chunk);
    }
    if (memory.chunks)
        memory.chunks->used = 0;
}
