/*
 * struct map: string keys to pointers, iterated in the order of insertion.
 *
 * Keys are copied, or borrowed when the map says so; values are borrowed or owned as the holder
 * says. Iteration order never depends
 * on hashes or addresses, so runs repeat exactly. Not thread-safe. Deletion keeps the order of the
 * rest. Deleting the current item while iterating is allowed; inserting is not.
 */
#ifndef PUMICE_BASE_MAP_H
#define PUMICE_BASE_MAP_H

#include "base/str.h"

struct map_slot {
    const char *key; /* owned and NUL-terminated, or borrowed; NULL for a deleted slot */
    uint32_t size;   /* length of the key */
    uint32_t hash;
    void *value;
};

struct map {
    struct map_slot *slots; /* owned, in order of insertion, with holes */
    uint32_t *index;        /* owned, open addressing: position + 1, 0 empty */
    uint32_t used;          /* slots in use, holes included */
    uint32_t cap;           /* slots allocated */
    uint32_t index_size;    /* a power of two, or 0 */
    uint32_t count;         /* live items */
    bool borrows;           /* keys are not copied: they live as long as their item is in the map */
};

#define MAP_INIT {NULL, NULL, 0, 0, 0, 0, false}
/* A map whose keys are parts of its values, interned strings for example. */
#define MAP_INIT_BORROWS {NULL, NULL, 0, 0, 0, 0, true}

/* The value at `key`, or NULL. */
void *map_get(const struct map *map, struct str key);
bool map_has(const struct map *map, struct str key);
/* Sets the value (may be NULL; map_has tells); returns the value it replaced, or NULL. */
void *map_set(struct map *map, struct str key, void *value);
/* Removes the key; returns its value, or NULL when absent. */
void *map_del(struct map *map, struct str key);

static inline size_t map_count(const struct map *map)
{
    return map->count;
}

/* Frees keys and tables, not the values. */
void map_clear(struct map *map);
/* map_clear after calling `free_value` on every value. */
void map_clear_with(struct map *map, void (*free_value)(void *value));

/* Iteration: `for (size_t i = 0; map_next(&m, &i, &key, &value);)`. key and value may be NULL. */
bool map_next(const struct map *map, size_t *position, struct str *ret_key, void **ret_value);

#endif
