/*
 * struct shards: which shards this process may write for, among any number of active controllers.
 *
 * A pure state machine: it is told what a watch shows of Leases, what time it is, and what has been
 * drained; it says what to let go, what to adopt, what to tell in our own Lease and, for the
 * leader, which map to publish. No I/O, no clock of its own, nothing random.
 *
 * How it works. Each process is a *member*: it has a Lease of its own, "<lease>-<id>" beside the
 * Lease "<lease>" of the leader, with the generation that it obeys in an annotation. The leader
 * publishes the map (map.h) in an annotation of its own Lease, with the very write that holds it:
 * whoever has lost the Lease cannot publish. All of these are one resource of one namespace and
 * come through one watch, so that whoever sees a map has seen every Lease that is older.
 *
 *  - A member that sees a newer generation lets go at once what it no longer has: nothing of that
 *    is sent any more. When all that was in flight has ended, and not before, it says in its Lease
 *    that it obeys the generation.
 *  - A shard that comes from another member is adopted only when the Lease of that one shows the
 *    generation in which it lost the shard, or is over.
 *  - A Lease is over when it was given up (holderIdentity ""), or when it has run out: nothing of
 *    its spec has changed for its duration on our own clock, and then a consistent GET has shown
 *    that this is so, and no matter of a late watch. Whoever is over stays so: it has ended, for a
 *    process that could not renew its Lease leaves and begins anew with another id; so does one
 *    whose Lease was deleted, as the leader does with those that are over; and whoever could not be
 *    sure to hold its first Lease in time takes another id, since that may have run out unheld.
 *  - Whoever the map names and has no Lease may live all the same, for others may have deleted it:
 *    it is taken for silent since that was seen.
 *  - The leader moves a shard only if one member at most may still be writing for it: the new
 *    owner waits for that one. So an entry of the map needs no history.
 *  - A map counts while the term in it is the leaseTransitions of the Lease that it stands in.
 *    Whoever takes the Lease signs the map that is there, in the write that takes it, and changes
 *    it only when the watch has shown that, for then it knows all members that the map knows. If
 *    others that know nothing of maps have held the Lease, no map counts and all members let go.
 *  - Without a map that counts, the one who takes the Lease publishes one in which nobody has
 *    anything, and whoever then gets a shard waits for all others to obey.
 *
 * That nothing is written by a member whose Lease is over is the matter of the fence in the request
 * window (kube/window.h): a write starts only if it must end before the Lease does.
 *
 * Ids are copied; `now` is loop_now() time, nanoseconds. Loop thread only.
 */
#ifndef PUMICE_CONTROLLER_SHARDS_SHARDS_H
#define PUMICE_CONTROLLER_SHARDS_SHARDS_H

#include "base/vec.h"
#include "controller/shards/map.h"

/* What is known of one member, this process included. */
struct shard_member {
    struct shard_id id;
    bool there;          /* its Lease exists */
    bool over;           /* it writes no more, ever */
    uint64_t obeys;      /* the generation in its Lease */
    int64_t seen_ns;     /* when its spec was last seen to change */
    int64_t duration_ns; /* of its Lease */
    bool asking;         /* shards_to_ask named it, and waits for the answer ... */
    bool changed;        /* ... while its spec has been seen to change */
};

struct shards {
    struct shard_id id;               /* our own */
    int64_t duration_ns;              /* of our Lease, and of one that is not known */
    VEC(struct shard_member) members; /* in the order in which they were seen */
    struct shard_map map;             /* the newest that counted */
    bool valid;                       /* it counts now */
    bool joined;                      /* our own Lease is held */
    bool leading;                     /* the leader's Lease is held, with `term` */
    int32_t term;
    shard_set held;    /* may be written for */
    shard_set closing; /* let go, and not yet drained */
    uint64_t obeyed;   /* the generation that we obey */
};

void shards_init(struct shards *shards, const struct shard_id *id, int64_t duration_ns);
void shards_clear(struct shards *shards);

/* ---- what is seen ------------------------------------------------------------------------------
 */

/* A Lease of a member as the watch, or a GET, shows it. */
struct shard_sign {
    struct shard_id id;
    bool held;           /* holderIdentity is not "" */
    bool alive;          /* its spec is new, or differs from what was seen before */
    uint64_t obeys;      /* 0 when it says nothing */
    int64_t duration_ns; /* above 0 */
};

void shards_see_member(struct shards *shards, const struct shard_sign *sign, int64_t now);
/* Its Lease is gone. That alone does not mean that it has ended: others may have deleted it. */
void shards_lose_member(struct shards *shards, const struct shard_id *id);
/* The map in the Lease of the leader; NULL: there is none that counts. */
void shards_see_map(struct shards *shards, const struct shard_map *map, int64_t now);
/* Our own Lease is held from now on, or is about to be given up. */
void shards_set_joined(struct shards *shards, bool joined);
/* The leader's Lease is ours, since its transition `term`; or no more. */
void shards_set_leading(struct shards *shards, bool leading, int32_t term);
/* Nothing of these is in flight any more. */
void shards_drained(struct shards *shards, shard_set set);

/* ---- what follows ------------------------------------------------------------------------------
 */

/*
 * To be called after anything was seen. `*ret_close` is to be let go now, and to be reported with
 * shards_drained once nothing of it is in flight; `*ret_open` may be written for from now on.
 */
void shards_update(struct shards *shards, shard_set *ret_close, shard_set *ret_open);

/*
 * A member that was silent for too long, and matters: its Lease is to be read, with a consistent
 * GET that is sent now and told of by shards_see_member first if it shows the Lease, then by
 * shards_asked. False when there is none.
 */
bool shards_to_ask(struct shards *shards, int64_t now, struct shard_id *ret_id);
/* What the GET said. Without an answer the member is named again. If a Lease is gone of which the
 * watch has not told that yet, its member may have renewed it unseen until now. */
enum shard_answer { SHARD_NO_ANSWER, SHARD_THERE, SHARD_GONE };
void shards_asked(struct shards *shards, const struct shard_id *id, enum shard_answer answer,
                  int64_t now);
/* When shards_to_ask may next have something to say; INT64_MAX: not before something is seen. */
int64_t shards_next_ask(const struct shards *shards);

/* ---- the leader --------------------------------------------------------------------------------
 */

/* The leader's Lease is to be written, since another map is due. */
bool shards_map_is_due(const struct shards *shards);
/*
 * The map to write with a write of the leader's Lease, which makes its transitions `term`. `before`
 * is what stands there now, NULL when that does not count; `floor` is a generation that was used
 * before, as far as can be read there, else 0.
 */
void shards_next_map(const struct shards *shards, const struct shard_map *before, uint64_t floor,
                     int32_t term, struct shard_map *ret_map);
/* The next member from `*pos` on, at first 0, whose Lease is over and of no more use: it is to be
 * deleted. False: no more. */
bool shards_left_over(const struct shards *shards, size_t *pos, struct shard_id *ret_id);

/* ---- for shards.c and balance.c ----------------------------------------------------------------
 */

struct shard_member *shards_find(const struct shards *shards, const struct shard_id *id);
/* The map names it, as somebody who has a shard or is waited for. */
bool shards_is_named(const struct shards *shards, const struct shard_id *id);
/* True when nobody but `owner` can be writing on account of that entry's past. */
bool shards_is_clear(const struct shards *shards, const struct shard_entry *entry,
                     const struct shard_id *owner);
/*
 * Spreads the shards evenly over the members that are there, with the fewest moves; those that
 * cannot be moved yet stay. True, with the next generation in it, when an owner has changed.
 */
bool shards_balance(const struct shards *shards, struct shard_map *map);

#endif
