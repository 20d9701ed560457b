/*
 * The map of shards in the annotation of a Lease: any text is read or refused, and what was read is
 * the same when it is written and read again.
 */
#include "controller/shards/map.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct shard_map map, again;
    struct error err = ERROR_INIT;
    cleanup_buf struct buf text = BUF_INIT(SHARD_MAP_TEXT_MAX);

    if (shard_map_read(fuzz_text(data, size), &map, &err) < 0)
        return 0;
    shard_map_write(&map, &text);
    FUZZ_CHECK(!text.overflow && shard_map_read(buf_str(&text), &again, &err) == 0);
    FUZZ_CHECK(again.generation == map.generation && again.term == map.term);
    for (int i = 0; i < SHARD_COUNT; i++) {
        const struct shard_entry *a = &map.entries[i], *b = &again.entries[i];
        FUZZ_CHECK(shard_id_equal(&a->owner, &b->owner) && shard_id_equal(&a->from, &b->from));
        FUZZ_CHECK(a->wait == b->wait && a->since == b->since);
    }
    return 0;
}
