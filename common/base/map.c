/*
 * struct map: slots in order of insertion, found through a linear-probing index of positions.
 *
 * Deleting leaves a hole among the slots and shifts the index back, so there are no tombstones.
 * Holes are closed when the slots are full, that is on insertion only: iteration may delete. The
 * index is kept at most half full. Hashes are keyed, for others choose many of the keys. Keys are
 * owned unless the map borrows them, values are the holder's. Not thread-safe.
 */
#include "base/map.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "base/keyed_hash.h"

#define MAP_FIRST 8 /* slots of the first allocation */

static uint32_t hash_key(struct str key)
{
    return (uint32_t)keyed_hash(key);
}

/* The place in the index of `key`, or of the empty entry where it would go. */
static uint32_t find_entry(const struct map *map, struct str key, uint32_t hash)
{
    uint32_t mask = map->index_size - 1;
    uint32_t at = hash & mask;
    for (; map->index[at] != 0; at = (at + 1) & mask) {
        const struct map_slot *slot = &map->slots[map->index[at] - 1];
        if (slot->hash == hash && str_eq(str_make(slot->key, slot->size), key))
            break;
    }
    return at;
}

static struct map_slot *find_slot(const struct map *map, struct str key)
{
    if (map->count == 0)
        return NULL;
    uint32_t entry = map->index[find_entry(map, key, hash_key(key))];
    return entry ? &map->slots[entry - 1] : NULL;
}

/* Fills the cleared index from the slots. */
static void fill_index(struct map *map)
{
    uint32_t mask = map->index_size - 1;
    memset(map->index, 0, map->index_size * sizeof(*map->index));
    for (uint32_t i = 0; i < map->used; i++) {
        uint32_t at = map->slots[i].hash & mask;
        while (map->index[at] != 0)
            at = (at + 1) & mask;
        map->index[at] = i + 1;
    }
}

static void close_holes(struct map *map)
{
    uint32_t to = 0;
    for (uint32_t from = 0; from < map->used; from++)
        if (map->slots[from].key)
            map->slots[to++] = map->slots[from];
    map->used = to;
}

/* Makes room for one more slot: by closing holes when a quarter are holes, else by doubling. */
static void make_room(struct map *map)
{
    if (map->slots && map->used < map->cap)
        return;
    bool grow = !map->slots || map->count >= map->cap - map->cap / 4;
    if (map->slots)
        close_holes(map);
    if (grow) {
        ENSURE(map->cap < UINT32_MAX / 8);
        map->cap = map->cap ? map->cap * 2 : MAP_FIRST;
        map->slots = xreallocarray(map->slots, map->cap, sizeof(*map->slots));
        map->index_size = map->cap * 2;
        map->index = xreallocarray(map->index, map->index_size, sizeof(*map->index));
    }
    fill_index(map);
}

void *map_get(const struct map *map, struct str key)
{
    const struct map_slot *slot = find_slot(map, key);
    return slot ? slot->value : NULL;
}

bool map_has(const struct map *map, struct str key)
{
    return find_slot(map, key) != NULL;
}

void *map_set(struct map *map, struct str key, void *value)
{
    struct map_slot *slot = find_slot(map, key);
    if (slot) {
        void *old = slot->value;
        slot->value = value;
        if (map->borrows)
            slot->key = key.p; /* of the new value: the old one may go */
        return old;
    }
    ENSURE(key.n < UINT32_MAX);
    make_room(map);
    uint32_t hash = hash_key(key);
    map->index[find_entry(map, key, hash)] = map->used + 1;
    const char *text = map->borrows ? key.p : str_dup(key);
    map->slots[map->used++] = (struct map_slot){text, (uint32_t)key.n, hash, value};
    map->count++;
    return NULL;
}

static void free_key(const struct map *map, const struct map_slot *slot)
{
    if (!map->borrows)
        free((void *)(uintptr_t)slot->key);
}

/* Empties the index entry at `hole` and moves later entries of its run back over it. */
static void close_entry(struct map *map, uint32_t hole)
{
    uint32_t mask = map->index_size - 1;
    for (uint32_t at = (hole + 1) & mask; map->index[at] != 0; at = (at + 1) & mask) {
        uint32_t home = map->slots[map->index[at] - 1].hash & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            map->index[hole] = map->index[at];
            hole = at;
        }
    }
    map->index[hole] = 0;
}

void *map_del(struct map *map, struct str key)
{
    if (map->count == 0)
        return NULL;
    uint32_t at = find_entry(map, key, hash_key(key));
    if (map->index[at] == 0)
        return NULL;
    struct map_slot *slot = &map->slots[map->index[at] - 1];
    void *value = slot->value;
    close_entry(map, at);
    free_key(map, slot); /* `key` may be this very text: not used after here */
    *slot = (struct map_slot){0};
    map->count--;
    while (map->used > 0 && !map->slots[map->used - 1].key)
        map->used--;
    return value;
}

void map_clear(struct map *map)
{
    map_clear_with(map, NULL);
}

void map_clear_with(struct map *map, void (*free_value)(void *value))
{
    for (uint32_t i = 0; i < map->used; i++) {
        if (free_value && map->slots[i].key)
            free_value(map->slots[i].value);
        free_key(map, &map->slots[i]);
    }
    free(map->slots);
    free(map->index);
    *map = (struct map){.borrows = map->borrows};
}

bool map_next(const struct map *map, size_t *position, struct str *ret_key, void **ret_value)
{
    while (*position < map->used && !map->slots[*position].key)
        (*position)++;
    if (*position >= map->used)
        return false;
    const struct map_slot *slot = &map->slots[(*position)++];
    if (ret_key)
        *ret_key = str_make(slot->key, slot->size);
    if (ret_value)
        *ret_value = slot->value;
    return true;
}
