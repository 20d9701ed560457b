/*
 * What a member has, lets go and waits for: see shards.h. The leader's part is in balance.c.
 */
#include "controller/shards/shards.h"

void shards_init(struct shards *shards, const struct shard_id *id, int64_t duration_ns)
{
    *shards = (struct shards){.id = *id, .duration_ns = duration_ns};
}

void shards_clear(struct shards *shards)
{
    vec_clear(&shards->members);
}

/* ---- members ----------------------------------------------------------------------------------
 */

struct shard_member *shards_find(const struct shards *shards, const struct shard_id *id)
{
    for (size_t i = 0; i < shards->members.n; i++) {
        if (shard_id_equal(&shards->members.items[i].id, id))
            return &shards->members.items[i];
    }
    return NULL;
}

static bool is_own(const struct shards *shards, const struct shard_member *member)
{
    return shard_id_equal(&member->id, &shards->id);
}

bool shards_is_named(const struct shards *shards, const struct shard_id *id)
{
    for (uint32_t i = 0; i < SHARD_COUNT; i++) {
        const struct shard_entry *entry = &shards->map.entries[i];
        if (shard_id_equal(&entry->owner, id) ||
            (entry->wait == SHARD_WAIT_ONE && shard_id_equal(&entry->from, id)))
            return true;
    }
    return false;
}

/* The record of a member; a new one is silent from now on. */
static struct shard_member *member_of(struct shards *shards, const struct shard_id *id, int64_t now)
{
    struct shard_member *member = shards_find(shards, id);

    if (member)
        return member;
    vec_push(&shards->members, ((struct shard_member){
                                   .id = *id, .seen_ns = now, .duration_ns = shards->duration_ns}));
    return &shards->members.items[shards->members.n - 1];
}

void shards_see_member(struct shards *shards, const struct shard_sign *sign, int64_t now)
{
    struct shard_member *member = member_of(shards, &sign->id, now);

    member->there = true;
    member->duration_ns = sign->duration_ns;
    if (sign->obeys > member->obeys)
        member->obeys = sign->obeys;
    if (!sign->held)
        member->over = true;
    if (sign->alive) {
        member->seen_ns = now;
        member->changed = true;
    }
}

/* One that is over and whose Lease is gone is of no more interest. */
static void forget_gone(struct shards *shards)
{
    for (size_t i = shards->members.n; i-- > 0;) {
        const struct shard_member *member = &shards->members.items[i];
        if (member->over && !member->there && !member->asking &&
            !shards_is_named(shards, &member->id))
            vec_remove(&shards->members, i);
    }
}

void shards_lose_member(struct shards *shards, const struct shard_id *id)
{
    struct shard_member *member = shards_find(shards, id);

    if (member)
        member->there = false;
    forget_gone(shards);
}

/* ---- the map ----------------------------------------------------------------------------------
 */

static void note_named(struct shards *shards, int64_t now)
{
    for (uint32_t i = 0; i < SHARD_COUNT; i++) {
        const struct shard_entry *entry = &shards->map.entries[i];
        if (!shard_id_empty(&entry->owner))
            (void)member_of(shards, &entry->owner, now);
        if (entry->wait == SHARD_WAIT_ONE)
            (void)member_of(shards, &entry->from, now);
    }
}

void shards_see_map(struct shards *shards, const struct shard_map *map, int64_t now)
{
    shards->valid = map && map->generation >= shards->map.generation;
    if (!shards->valid)
        return;
    shards->map = *map;
    note_named(shards, now);
    forget_gone(shards);
}

void shards_set_joined(struct shards *shards, bool joined)
{
    shards->joined = joined;
}

void shards_set_leading(struct shards *shards, bool leading, int32_t term)
{
    shards->leading = leading;
    shards->term = term;
}

void shards_drained(struct shards *shards, shard_set set)
{
    shards->closing &= ~set;
}

static bool has_obeyed(const struct shard_member *member, uint64_t generation)
{
    return member->over || member->obeys >= generation;
}

bool shards_is_clear(const struct shards *shards, const struct shard_entry *entry,
                     const struct shard_id *owner)
{
    if (entry->wait == SHARD_NO_WAIT)
        return true;
    for (size_t i = 0; i < shards->members.n; i++) {
        const struct shard_member *member = &shards->members.items[i];
        const bool meant =
            entry->wait == SHARD_WAIT_ALL || shard_id_equal(&member->id, &entry->from);
        if (meant && !shard_id_equal(&member->id, owner) && !has_obeyed(member, entry->since))
            return false;
    }
    return true;
}

static shard_set wanted(const struct shards *shards)
{
    shard_set set = SHARDS_NONE;

    for (uint32_t i = 0; shards->valid && shards->joined && i < SHARD_COUNT; i++) {
        if (shard_id_equal(&shards->map.entries[i].owner, &shards->id))
            set |= UINT64_C(1) << i;
    }
    return set;
}

/* Those of the set that nobody else can be writing for. */
static shard_set clear_ones(const struct shards *shards, shard_set set)
{
    shard_set clear = SHARDS_NONE;

    for (uint32_t i = 0; i < SHARD_COUNT; i++) {
        if (shard_in(set, i) && shards_is_clear(shards, &shards->map.entries[i], &shards->id))
            clear |= UINT64_C(1) << i;
    }
    return clear;
}

void shards_update(struct shards *shards, shard_set *ret_close, shard_set *ret_open)
{
    const shard_set mine = wanted(shards);

    *ret_close = shards->held & ~mine;
    shards->held &= mine;
    shards->closing |= *ret_close;
    *ret_open = clear_ones(shards, mine & ~shards->held & ~shards->closing);
    shards->held |= *ret_open;
    if (shards->valid && shards->closing == SHARDS_NONE)
        shards->obeyed = shards->map.generation;
}

/* ---- silence ----------------------------------------------------------------------------------
 */

/* A shard of ours waits for this member. */
static bool is_awaited(const struct shards *shards, const struct shard_member *member)
{
    const shard_set waiting = wanted(shards) & ~shards->held;

    for (uint32_t i = 0; i < SHARD_COUNT; i++) {
        const struct shard_entry *entry = &shards->map.entries[i];
        if (!shard_in(waiting, i) || entry->wait == SHARD_NO_WAIT ||
            has_obeyed(member, entry->since))
            continue;
        if (entry->wait == SHARD_WAIT_ALL || shard_id_equal(&member->id, &entry->from))
            return true;
    }
    return false;
}

/* Whether it has ended matters to us; and one without a Lease is to be forgotten some time. */
static bool matters(const struct shards *shards, const struct shard_member *member)
{
    return !member->over && !is_own(shards, member) &&
           (!member->there || shards->leading || is_awaited(shards, member));
}

static int64_t runs_out(const struct shard_member *member)
{
    return member->seen_ns + member->duration_ns;
}

bool shards_to_ask(struct shards *shards, int64_t now, struct shard_id *ret_id)
{
    for (size_t i = 0; i < shards->members.n; i++) {
        struct shard_member *member = &shards->members.items[i];
        if (member->asking || !matters(shards, member) || now < runs_out(member))
            continue;
        member->asking = true;
        member->changed = false;
        *ret_id = member->id;
        return true;
    }
    return false;
}

void shards_asked(struct shards *shards, const struct shard_id *id, enum shard_answer answer,
                  int64_t now)
{
    struct shard_member *member = shards_find(shards, id);

    if (!member)
        return;
    member->asking = false;
    if (answer == SHARD_GONE && member->there) {
        member->there = false;
        member->seen_ns = now;
    } else if (answer != SHARD_NO_ANSWER && !member->changed) {
        member->over = true;
    }
    forget_gone(shards);
}

int64_t shards_next_ask(const struct shards *shards)
{
    int64_t next = INT64_MAX;

    for (size_t i = 0; i < shards->members.n; i++) {
        const struct shard_member *member = &shards->members.items[i];
        if (!member->asking && matters(shards, member) && runs_out(member) < next)
            next = runs_out(member);
    }
    return next;
}
