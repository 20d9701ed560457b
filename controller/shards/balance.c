/*
 * The leader's part: who gets which shards, see shards.h.
 *
 * Each member is to have 64 / n shards, rounded down or up; the larger shares go to those that have
 * most already. What somebody has above its share, and what nobody has, goes to those below theirs:
 * fewer moves do not balance it. All in the order of ids, so that equal facts give equal maps.
 */
#include "controller/shards/shards.h"
#include <stdlib.h>

/* A map that lost its history goes on well above all generations that may have been used. */
#define LOST_STEP 1000

struct share {
    const struct shard_member *member;
    uint32_t has, quota;
};

struct shares {
    struct share items[SHARD_COUNT];
    size_t n;
};

/* ---- shares -----------------------------------------------------------------------------------
 */

static int by_id(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    return strcmp(x->member->id.text, y->member->id.text);
}

static int by_has(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    if (x->has != y->has)
        return x->has > y->has ? -1 : 1;
    return by_id(a, b);
}

static struct share *share_of(struct shares *shares, const struct shard_id *owner)
{
    for (size_t i = 0; i < shares->n; i++) {
        if (shard_id_equal(&shares->items[i].member->id, owner))
            return &shares->items[i];
    }
    return NULL;
}

static bool has_any(const struct shard_map *map, const struct shard_id *id)
{
    for (uint32_t i = 0; i < SHARD_COUNT; i++) {
        if (shard_id_equal(&map->entries[i].owner, id))
            return true;
    }
    return false;
}

/* More than 64 members have nothing to do; those that have something are taken first. */
static void collect(const struct shards *shards, const struct shard_map *map,
                    struct shares *ret_shares)
{
    struct shares *shares = ret_shares;

    shares->n = 0;
    for (int owners = 1; owners >= 0; owners--) {
        for (size_t i = 0; i < shards->members.n && shares->n < SHARD_COUNT; i++) {
            const struct shard_member *member = &shards->members.items[i];
            if (member->there && !member->over && has_any(map, &member->id) == (owners == 1))
                shares->items[shares->n++] = (struct share){.member = member};
        }
    }
}

static void set_quotas(const struct shard_map *map, struct shares *shares)
{
    for (uint32_t i = 0; i < SHARD_COUNT; i++) {
        struct share *share = share_of(shares, &map->entries[i].owner);
        if (share)
            share->has++;
    }
    qsort(shares->items, shares->n, sizeof(shares->items[0]), by_has);
    for (size_t i = 0; i < shares->n; i++)
        shares->items[i].quota =
            SHARD_COUNT / (uint32_t)shares->n + (i < SHARD_COUNT % shares->n ? 1 : 0);
    qsort(shares->items, shares->n, sizeof(shares->items[0]), by_id);
}

/* Who lacks most. */
static struct share *neediest(struct shares *shares)
{
    struct share *found = &shares->items[0];

    for (size_t i = 1; i < shares->n; i++) {
        const struct share *share = &shares->items[i];
        if ((int64_t)share->quota - share->has > (int64_t)found->quota - found->has)
            found = &shares->items[i];
    }
    return found;
}

/* ---- moves ------------------------------------------------------------------------------------
 */

/* The owner may be writing, be its Lease there or not. */
static bool owner_writes(const struct shards *shards, const struct shard_entry *entry)
{
    const struct shard_member *member = shards_find(shards, &entry->owner);

    return member && !member->over;
}

/* One member at most may be writing, so that the next owner can wait for it. */
static bool is_movable(const struct shards *shards, const struct shard_entry *entry)
{
    return !owner_writes(shards, entry) || shards_is_clear(shards, entry, &entry->owner);
}

static void give(const struct shards *shards, struct shard_entry *entry,
                 const struct shard_id *owner, uint64_t generation)
{
    if (owner_writes(shards, entry)) {
        entry->wait = SHARD_WAIT_ONE;
        entry->from = entry->owner;
        entry->since = generation;
    } else if (shards_is_clear(shards, entry, owner)) {
        entry->wait = SHARD_NO_WAIT;
        entry->from = (struct shard_id){""};
        entry->since = 0;
    }
    entry->owner = *owner;
}

/* What is above somebody's share and can be moved. */
static shard_set surplus(const struct shards *shards, const struct shard_map *map,
                         struct shares *shares)
{
    shard_set set = SHARDS_NONE;

    for (uint32_t i = SHARD_COUNT; i-- > 0;) {
        const struct shard_entry *entry = &map->entries[i];
        struct share *share = share_of(shares, &entry->owner);
        if (!share || share->has <= share->quota || !is_movable(shards, entry))
            continue;
        share->has--;
        set |= UINT64_C(1) << i;
    }
    return set;
}

static uint64_t most_obeyed(const struct shards *shards)
{
    uint64_t most = 0;

    for (size_t i = 0; i < shards->members.n; i++) {
        if (shards->members.items[i].obeys > most)
            most = shards->members.items[i].obeys;
    }
    return most;
}

/* Members obey a generation that this map does not know of: what it says of the past is worthless.
 */
static void forget_past(struct shard_map *map)
{
    for (uint32_t i = 0; i < SHARD_COUNT; i++)
        map->entries[i] = (struct shard_entry){.wait = SHARD_WAIT_ALL, .since = map->generation};
}

static void spread(const struct shards *shards, struct shard_map *map, struct shares *shares,
                   shard_set loose)
{
    for (uint32_t i = 0; i < SHARD_COUNT; i++) {
        struct shard_entry *entry = &map->entries[i];
        if (share_of(shares, &entry->owner) ? !shard_in(loose, i) : !is_movable(shards, entry))
            continue;
        struct share *share = neediest(shares);
        share->has++;
        give(shards, entry, &share->member->id, map->generation);
    }
}

bool shards_balance(const struct shards *shards, struct shard_map *map)
{
    struct shard_map next = *map;
    struct shares shares;
    const uint64_t obeyed = most_obeyed(shards);
    bool changed = obeyed > map->generation;

    collect(shards, &next, &shares);
    if (shares.n == 0)
        return false;
    next.generation = map->generation + 1;
    if (changed) {
        next.generation = obeyed + LOST_STEP;
        forget_past(&next);
    }
    set_quotas(&next, &shares);
    spread(shards, &next, &shares, surplus(shards, &next, &shares));
    for (uint32_t i = 0; i < SHARD_COUNT; i++)
        changed = changed || !shard_id_equal(&next.entries[i].owner, &map->entries[i].owner);
    if (changed)
        *map = next;
    return changed;
}

/* ---- publishing -------------------------------------------------------------------------------
 */

/* The watch has shown the map that we signed: whom it knows, we know. */
static bool is_up_to_date(const struct shards *shards)
{
    return shards->leading && shards->valid && shards->map.term == shards->term;
}

bool shards_map_is_due(const struct shards *shards)
{
    struct shard_map next = shards->map;

    return is_up_to_date(shards) && shards_balance(shards, &next);
}

/* Whoever need not be waited for any more is not named any more, so that its Lease can go. That
 * tells nobody anything new, and so the generation stays. */
static void drop_waits(const struct shards *shards, struct shard_map *map)
{
    for (uint32_t i = 0; i < SHARD_COUNT; i++) {
        struct shard_entry *entry = &map->entries[i];
        if (shards_is_clear(shards, entry, &entry->owner))
            *entry = (struct shard_entry){.owner = entry->owner};
    }
}

void shards_next_map(const struct shards *shards, const struct shard_map *before, uint64_t floor,
                     int32_t term, struct shard_map *ret_map)
{
    if (before) {
        *ret_map = *before;
        ret_map->term = term;
        if (is_up_to_date(shards) && term == shards->term && before->term == term &&
            before->generation == shards->map.generation) {
            drop_waits(shards, ret_map);
            (void)shards_balance(shards, ret_map);
        }
        return;
    }
    if (floor < shards->map.generation)
        floor = shards->map.generation;
    if (floor < most_obeyed(shards))
        floor = most_obeyed(shards);
    *ret_map = (struct shard_map){.generation = floor + LOST_STEP, .term = term};
    forget_past(ret_map);
}

bool shards_left_over(const struct shards *shards, size_t *pos, struct shard_id *ret_id)
{
    while (is_up_to_date(shards) && *pos < shards->members.n) {
        const struct shard_member *member = &shards->members.items[(*pos)++];
        if (!member->over || !member->there || shards_is_named(shards, &member->id))
            continue;
        *ret_id = member->id;
        return true;
    }
    return false;
}
