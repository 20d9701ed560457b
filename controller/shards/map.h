/*
 * struct shard_map: which member of the controller has which of the 64 shards, and its text.
 *
 * A job, and a PodGroup of pods that no job made, belongs to the shard of its namespace and name:
 * whatever comes after it under that name is in the same one, and so are Commands, which name their
 * target. The map stands in an annotation of the Lease of the leader (see shards.h):
 *
 *     7 term=3 5f0c9ab2d1e47730=0-20,41 c81d02f6aa30b915<5f0c9ab2d1e47730@7=21-40 -<*@1=42-63
 *
 * is generation 7, written by the leader whose taking of the Lease was transition 3. The first
 * member has 21 shards for good. The second has twenty that the first had before: it waits until
 * that one obeys generation 7. Nobody ("-") has the rest; whoever gets them waits for everybody
 * ("*") to obey generation 1. Values only: nothing is owned, nothing fails but reading.
 */
#ifndef PUMICE_CONTROLLER_SHARDS_MAP_H
#define PUMICE_CONTROLLER_SHARDS_MAP_H

#include "base/buf.h"
#include "base/error.h"
#include <stdint.h>

#define SHARD_COUNT 64
typedef uint64_t shard_set; /* bit i: shard i */
#define SHARDS_NONE UINT64_C(0)
#define SHARDS_ALL UINT64_MAX

/* Of namespace and name; the same on every machine and in every version. */
uint8_t shard_of(const char *ns, const char *name);

static inline bool shard_in(shard_set set, uint32_t shard)
{
    return set >> shard & 1;
}

/* A member's id: hexadecimal digits, unique for each start of a process. */
#define SHARD_ID_LENGTH 16

struct shard_id {
    char text[SHARD_ID_LENGTH + 1]; /* "": nobody */
};

/* Nobody, when the text is no id. */
struct shard_id shard_id_of(struct str text);
bool shard_id_equal(const struct shard_id *a, const struct shard_id *b);

static inline bool shard_id_empty(const struct shard_id *id)
{
    return id->text[0] == '\0';
}

/* Who had a shard before: its owner waits for that one, or for all others. */
enum shard_wait { SHARD_NO_WAIT, SHARD_WAIT_ONE, SHARD_WAIT_ALL };

struct shard_entry {
    struct shard_id owner, from; /* `from` with SHARD_WAIT_ONE */
    enum shard_wait wait;
    uint64_t since; /* the generation that those waited for have to obey; 0 without */
};

struct shard_map {
    uint64_t generation; /* grows with each change of an owner; 0: there is no map */
    int32_t term;        /* leaseTransitions of the Lease when its writer took it */
    struct shard_entry entries[SHARD_COUNT];
};

/* No generation is larger. */
#define SHARD_GENERATION_MAX (UINT64_C(1) << 53)

/* More is not read; the text of 64 members that all wait for others is shorter. */
#define SHARD_MAP_TEXT_MAX ((size_t)8 << 10)

/* Appends the text. */
void shard_map_write(const struct shard_map *map, struct buf *out);
/* A generation's text, from 1 to SHARD_GENERATION_MAX. */
bool shard_generation_read(struct str text, uint64_t *ret_generation);
/* Reads a text. ERROR_INVALID, with `*ret_map` untouched, when it is not of that form. */
int shard_map_read(struct str text, struct shard_map *ret_map, struct error *err);

#endif
