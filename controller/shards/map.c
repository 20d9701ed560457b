/*
 * Shards, ids and the text of the map: see map.h.
 */
#include "controller/shards/map.h"
#include "base/ranges.h"

uint8_t shard_of(const char *ns, const char *name)
{
    const uint64_t space = str_hash(str_of(ns)), own = str_hash(str_of(name));

    return (uint8_t)((space ^ (own << 1 | own >> 63)) * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

/* ---- ids --------------------------------------------------------------------------------------
 */

struct shard_id shard_id_of(struct str text)
{
    struct shard_id id = {""};

    if (text.n != SHARD_ID_LENGTH)
        return id;
    for (size_t i = 0; i < text.n; i++) {
        if (!strchr("0123456789abcdef", text.p[i]) || text.p[i] == '\0')
            return id;
    }
    memcpy(id.text, text.p, text.n);
    return id;
}

bool shard_id_equal(const struct shard_id *a, const struct shard_id *b)
{
    return strcmp(a->text, b->text) == 0;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static bool alike(const struct shard_entry *a, const struct shard_entry *b)
{
    return shard_id_equal(&a->owner, &b->owner) && a->wait == b->wait &&
           shard_id_equal(&a->from, &b->from) && a->since == b->since;
}

static bool is_first_of_its_kind(const struct shard_map *map, uint32_t shard)
{
    for (uint32_t i = 0; i < shard; i++) {
        if (alike(&map->entries[i], &map->entries[shard]))
            return false;
    }
    return true;
}

/* All shards of which the same is said as of this one. */
static void write_alike(const struct shard_map *map, uint32_t shard, struct buf *out)
{
    const struct shard_entry *entry = &map->entries[shard];
    struct ranges set = RANGES_INIT;

    for (uint32_t i = shard; i < SHARD_COUNT; i++) {
        if (alike(entry, &map->entries[i]))
            ranges_add(&set, i, i);
    }
    buf_printf(out, " %s", shard_id_empty(&entry->owner) ? "-" : entry->owner.text);
    if (entry->wait != SHARD_NO_WAIT)
        buf_printf(out, "<%s@%llu", entry->wait == SHARD_WAIT_ALL ? "*" : entry->from.text,
                   (unsigned long long)entry->since);
    buf_add_char(out, '=');
    ranges_write(&set, out);
    ranges_clear(&set);
}

void shard_map_write(const struct shard_map *map, struct buf *out)
{
    buf_printf(out, "%llu term=%d", (unsigned long long)map->generation, map->term);
    for (uint32_t i = 0; i < SHARD_COUNT; i++) {
        if (is_first_of_its_kind(map, i))
            write_alike(map, i, out);
    }
}

/* ---- reading ----------------------------------------------------------------------------------
 */

bool shard_generation_read(struct str text, uint64_t *ret_generation)
{
    uint64_t generation = 0;

    if (!str_to_u64(text, &generation) || generation < 1 || generation > SHARD_GENERATION_MAX)
        return false;
    *ret_generation = generation;
    return true;
}

/* "ID" or "-" */
static bool read_owner(struct str text, struct shard_entry *entry)
{
    entry->owner = shard_id_of(text);
    return str_is(text, "-") || !shard_id_empty(&entry->owner);
}

/* "ID@7" or "*@7" */
static bool read_from(struct str text, struct shard_entry *entry)
{
    const ptrdiff_t at = str_chr(text, '@');
    const struct str who = str_sub(text, 0, at < 0 ? 0 : (size_t)at);

    entry->wait = str_is(who, "*") ? SHARD_WAIT_ALL : SHARD_WAIT_ONE;
    entry->from = shard_id_of(who);
    return at >= 0 && shard_generation_read(str_from(text, (size_t)at + 1), &entry->since) &&
           (entry->wait == SHARD_WAIT_ALL || !shard_id_empty(&entry->from));
}

/* Says of the shards in `text` what `entry` says; each is to be named once. */
static bool read_shards(struct str text, const struct shard_entry *entry, struct shard_map *map,
                        shard_set *named)
{
    struct ranges set = RANGES_INIT;
    bool good = ranges_parse(&set, text) && set.n > 0;

    for (size_t i = 0; i < set.n && good; i++) {
        good = set.items[i].last < SHARD_COUNT;
        for (uint32_t shard = set.items[i].first; good && shard <= set.items[i].last; shard++) {
            good = !shard_in(*named, shard);
            *named |= UINT64_C(1) << shard;
            map->entries[shard] = *entry;
        }
    }
    ranges_clear(&set);
    return good;
}

/* "OWNER=SHARDS" or "OWNER<FROM@SINCE=SHARDS" */
static bool read_word(struct str word, struct shard_map *map, shard_set *named)
{
    struct shard_entry entry = {.wait = SHARD_NO_WAIT};
    const ptrdiff_t equals = str_chr(word, '=');
    const struct str who = str_sub(word, 0, equals < 0 ? 0 : (size_t)equals);
    const ptrdiff_t before = str_chr(who, '<');

    if (equals < 0 || !read_owner(before < 0 ? who : str_sub(who, 0, (size_t)before), &entry))
        return false;
    if (before >= 0 && !read_from(str_from(who, (size_t)before + 1), &entry))
        return false;
    return read_shards(str_from(word, (size_t)equals + 1), &entry, map, named);
}

static bool read_head(struct str *rest, struct shard_map *map)
{
    struct str word;

    return str_split(rest, ' ', &word) && shard_generation_read(word, &map->generation) &&
           str_split(rest, ' ', &word) && str_starts(word, STR("term=")) &&
           str_to_i32(str_from(word, strlen("term=")), &map->term) && map->term >= 0;
}

int shard_map_read(struct str text, struct shard_map *ret_map, struct error *err)
{
    struct shard_map map = {0};
    shard_set named = SHARDS_NONE;
    struct str rest = text, word;
    bool good = text.n <= SHARD_MAP_TEXT_MAX && read_head(&rest, &map);

    while (good && str_split(&rest, ' ', &word))
        good = read_word(word, &map, &named);
    if (!good || named != SHARDS_ALL)
        return error_set(err, ERROR_INVALID, "the map of shards cannot be read: \"%.*s\"",
                         STR_ARG(str_cut(text, 100)));
    *ret_map = map;
    return 0;
}
