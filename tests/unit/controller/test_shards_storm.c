/*
 * Members that are killed, paused and stopped at random, whose watches lag and whose requests get
 * lost, before Leases that users delete and maps that somebody wipes: at no time may two write for
 * one shard, and when all is calm again, each shard has one member and the shares are even.
 *
 * The processes run the real state machine; around it is a model of what is else there: Leases
 * with versions, one watch of all of them, renewals by the rules of kube/lease.h, writes by those
 * of the fence. The model's time has steps of 20 ms. Arguments: the first seed, and how many.
 */
#include "testing.h"

#include "base/rng.h"
#include "base/vec.h"
#include "controller/shards/shards.h"
#include <stdio.h>

#define STEP 20
#define SEEDS 12
#define STORM 240000 /* ms */
#define CALM 120000
#define DURATION 15000
#define DEADLINE 10000
#define RETRY 2000
#define WRITE_MOST 5000
#define PROCESSES 4
#define NEVER INT64_MAX

/* ---- the server ------------------------------------------------------------------------------ */

/* A Lease; the first is the leader's, each process makes another. */
struct object {
    bool exists, held;
    struct shard_id holder;
    uint64_t version, obeys;
    bool has_map;
    struct shard_map map;
    int32_t term;
};

/* A state of a Lease, as the watch tells it. */
struct change {
    int64_t at;
    size_t object;
    struct object state;
};

enum { LEADER };

static struct server {
    VEC(struct object) objects;
    VEC(struct change) changes;
    uint64_t version;
} server;

static uint64_t seed;
static struct rng rng;
static int64_t now;
static bool calm;

/* Who wrote last for a shard, and until when that may take effect. */
static struct {
    struct shard_id id;
    int64_t until;
} writes[SHARD_COUNT];

static bool chance(unsigned in)
{
    return rng_below(&rng, in) == 0;
}

static void changed(size_t at)
{
    struct object *object = &server.objects.items[at];

    object->version = ++server.version;
    vec_push(&server.changes, ((struct change){now, at, *object}));
}

static void delete_object(size_t at)
{
    struct object *object = &server.objects.items[at];

    *object = (struct object){.holder = object->holder};
    changed(at);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* A read or write of a Lease under way. */
struct call {
    bool under_way, get, done;
    size_t object;
    int64_t sent, effect, answer; /* NEVER: lost */
    uint64_t version;             /* that a write demands; 0: there is to be none */
    struct object state;          /* to be written, or what was read */
    bool good;
};

/* What a process knows of a Lease that it wants to hold. */
struct holding {
    size_t object;
    struct object seen; /* as the last answer had it */
    int64_t changed_at, renewed, next;
    bool leading, stale, hurry, lost;
    struct call call;
};

enum phase { DEAD, ALIVE, PAUSED, STOPPING };

static struct process {
    enum phase phase;
    int64_t until; /* of DEAD and PAUSED */
    struct shards shards;
    struct holding own, leader;
    struct call ask;
    struct shard_id asked;
    size_t cursor; /* in the changes */
    int64_t lag;
    uint64_t *seen; /* owned; version of each object as it was last seen */
    size_t seen_size;
    int64_t busy[SHARD_COUNT]; /* until when a write is in flight */
} processes[PROCESSES];

static unsigned births;

static uint64_t *seen_version(struct process *process, size_t at)
{
    while (process->seen_size <= at) {
        process->seen = xreallocarray(process->seen, process->seen_size + 64, sizeof(uint64_t));
        memset(process->seen + process->seen_size, 0, 64 * sizeof(uint64_t));
        process->seen_size += 64;
    }
    return &process->seen[at];
}

static void end_process(struct process *process, int64_t until)
{
    shards_clear(&process->shards);
    free(process->seen);
    *process = (struct process){.phase = DEAD, .until = until};
}

static void hold_init(struct holding *holding, size_t object)
{
    *holding = (struct holding){.object = object, .stale = true, .next = now, .renewed = now};
}

static void begin_process(struct process *process)
{
    struct shard_id id = {""};

    (void)snprintf(id.text, sizeof(id.text), "%016x", ++births);
    shards_init(&process->shards, &id, DURATION);
    vec_push(&server.objects, ((struct object){.holder = id}));
    hold_init(&process->own, server.objects.n - 1);
    hold_init(&process->leader, LEADER);
    process->phase = ALIVE;
    process->lag = STEP;
    /* The list shows everything as it is now. */
    process->cursor = server.changes.n;
    for (size_t i = 0; i < server.objects.n; i++) {
        vec_push(&server.changes, ((struct change){now, i, server.objects.items[i]}));
    }
}

/* ---- what a process sees --------------------------------------------------------------------- */

static void see_member(struct process *process, size_t at, const struct object *state)
{
    uint64_t *seen = seen_version(process, at);
    const bool alive = state->version > *seen;

    if (!alive && *seen)
        return;
    *seen = state->version;
    if (!state->exists) {
        shards_lose_member(&process->shards, &state->holder);
        return;
    }
    const struct shard_sign sign = {.id = state->holder,
                                    .held = state->held,
                                    .alive = alive,
                                    .obeys = state->obeys,
                                    .duration_ns = DURATION};
    shards_see_member(&process->shards, &sign, now);
}

static void see_leader(struct process *process, const struct object *state)
{
    uint64_t *seen = seen_version(process, LEADER);

    if (state->version < *seen)
        return;
    *seen = state->version;
    const bool counts = state->exists && state->has_map && state->map.term == state->term;
    shards_see_map(&process->shards, counts ? &state->map : NULL, now);
}

/* The list of whoever began later stands among the changes, and is nothing to others: what is in it
 * is not new. */
static void watch(struct process *process)
{
    while (process->cursor < server.changes.n) {
        const struct change *change = &server.changes.items[process->cursor];
        if (change->at + process->lag > now)
            return;
        process->cursor++;
        if (change->state.version == 0)
            continue;
        if (change->object == LEADER)
            see_leader(process, &change->state);
        else
            see_member(process, change->object, &change->state);
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int64_t travel(void)
{
    if (!calm && chance(40))
        return NEVER;
    return now + (int64_t)rng_below(&rng, !calm && chance(10) ? 3000 : 60);
}

static void start(struct call *call, size_t object, bool get)
{
    *call = (struct call){.under_way = true,
                          .get = get,
                          .object = object,
                          .sent = now,
                          .effect = travel(),
                          .answer = NEVER};
}

/* The server's part. */
static void take_effect(struct call *call)
{
    struct object *object = &server.objects.items[call->object];

    if (!call->under_way || call->done || call->effect > now)
        return;
    call->done = true;
    call->answer = travel();
    call->good = call->get || call->version == (object->exists ? object->version : 0);
    if (call->get) {
        call->state = *object;
    } else if (call->good) {
        *object = call->state;
        object->exists = true;
        changed(call->object);
        call->state = *object;
    }
}

/* Calls that their process gave up, or that outlived it. */
static VEC(struct call) strays;

static void lose(const struct call *call)
{
    if (call->under_way && !call->done && !call->get && call->effect != NEVER)
        vec_push(&strays, *call);
}

static void run_strays(void)
{
    for (size_t i = strays.n; i-- > 0;) {
        take_effect(&strays.items[i]);
        if (strays.items[i].done)
            vec_swap_remove(&strays, i);
    }
}

/* ---- holding a Lease ------------------------------------------------------------------------- */

static void render(struct process *process, struct holding *holding, struct object *state)
{
    const bool giving_up = process->phase == STOPPING;
    const struct object *seen = &holding->seen;

    *state = *seen;
    state->held = !giving_up;
    if (holding == &process->own) {
        state->holder = process->shards.id;
        state->obeys = process->shards.obeyed;
        return;
    }
    const bool taken = seen->exists && !giving_up &&
                       !(seen->held && shard_id_equal(&seen->holder, &process->shards.id));
    state->term += taken;
    if (!giving_up)
        state->holder = process->shards.id;
    const bool counts = seen->exists && seen->has_map && seen->map.term == seen->term;
    shards_next_map(&process->shards, counts ? &seen->map : NULL,
                    seen->has_map ? seen->map.generation : 0, state->term, &state->map);
    state->has_map = true;
}

static void put(struct process *process, struct holding *holding)
{
    start(&holding->call, holding->object, false);
    holding->call.version = holding->seen.exists ? holding->seen.version : 0;
    render(process, holding, &holding->call.state);
}

static void observe(struct holding *holding, const struct object *state)
{
    if (state->version != holding->seen.version)
        holding->changed_at = now;
    holding->seen = *state;
}

/* Take, renew or wait; who held it and finds another there has lost it, and so has a member whose
 * Lease is gone. */
static void consider(struct process *process, struct holding *holding)
{
    const struct object *seen = &holding->seen;

    holding->lost = holding == &process->own && holding->leading && !seen->exists;
    if (!seen->exists || !seen->held || shard_id_equal(&seen->holder, &process->shards.id) ||
        now - holding->changed_at >= DURATION)
        put(process, holding);
    else
        holding->lost = holding->leading;
}

static void set_leading(struct process *process, struct holding *holding)
{
    if (holding == &process->own)
        shards_set_joined(&process->shards, holding->leading && process->phase == ALIVE);
    else
        shards_set_leading(&process->shards, holding->leading, holding->seen.term);
}

static void hold_answered(struct process *process, struct holding *holding)
{
    struct call call = holding->call;

    holding->call.under_way = false;
    if (call.get) {
        observe(holding, &call.state);
        consider(process, holding);
    } else if (!call.good) {
        holding->stale = true;
        holding->next = now;
    } else {
        observe(holding, &call.state);
        holding->stale = false;
        if (now - call.sent >= DEADLINE)
            return;
        holding->renewed = call.sent;
        holding->leading = call.state.held;
        set_leading(process, holding);
    }
}

static void hold_step(struct process *process, struct holding *holding)
{
    struct call *call = &holding->call;

    if (call->under_way && call->answer <= now)
        hold_answered(process, holding);
    if (call->under_way && now - call->sent >= DEADLINE / 2) {
        lose(call);
        call->under_way = false;
        holding->stale = true;
    }
    if (call->under_way || (now < holding->next && !holding->hurry))
        return;
    holding->next = now + RETRY;
    holding->hurry = false;
    if (holding->leading && !holding->stale)
        put(process, holding);
    else
        start(call, holding->object, true);
}

/* ---- a process's step ------------------------------------------------------------------------ */

static void leave(struct process *process)
{
    lose(&process->own.call);
    lose(&process->leader.call);
    end_process(process, now + (int64_t)rng_below(&rng, calm ? 1000 : 20000));
}

/* A member whose first writes may have made its Lease counts from the first of them: for others it
 * may have run out before it was ever held. */
static bool has_lost(const struct process *process, const struct holding *holding)
{
    const bool counts = holding->leading || holding == &process->own;

    return holding->lost || (counts && now - holding->renewed >= DEADLINE);
}

static void ask_step(struct process *process)
{
    struct call *call = &process->ask;

    if (call->under_way && call->answer <= now) {
        call->under_way = false;
        if (call->state.exists)
            see_member(process, call->object, &call->state);
        shards_asked(&process->shards, &process->asked,
                     call->state.exists ? SHARD_THERE : SHARD_GONE, now);
    }
    if (call->under_way && now - call->sent >= DEADLINE / 2) {
        call->under_way = false;
        shards_asked(&process->shards, &process->asked, SHARD_NO_ANSWER, now);
    }
    if (call->under_way || !shards_to_ask(&process->shards, now, &process->asked))
        return;
    for (size_t i = LEADER + 1; i < server.objects.n; i++) {
        if (shard_id_equal(&server.objects.items[i].holder, &process->asked))
            start(call, i, true);
    }
}

static void write_step(struct process *process)
{
    const bool fence = process->own.leading && now + WRITE_MOST < process->own.renewed + DURATION;

    for (int i = 0; i < SHARD_COUNT; i++) {
        if (!fence || !shard_in(process->shards.held, (uint32_t)i) || process->busy[i] > now ||
            chance(2))
            continue;
        if (writes[i].until > now && !shard_id_equal(&writes[i].id, &process->shards.id))
            fail_msg("seed %llu, at %lld ms: %s and %s write for shard %d",
                     (unsigned long long)seed, (long long)now, writes[i].id.text,
                     process->shards.id.text, i);
        process->busy[i] = now + 1 + (int64_t)rng_below(&rng, chance(50) ? WRITE_MOST : 300);
        writes[i].id = process->shards.id;
        writes[i].until = process->busy[i];
    }
}

static shard_set drained(const struct process *process)
{
    shard_set set = SHARDS_NONE;

    for (int i = 0; i < SHARD_COUNT; i++) {
        if (process->busy[i] <= now)
            set |= UINT64_C(1) << i;
    }
    return set;
}

static void shards_step(struct process *process)
{
    shard_set close, open;
    const uint64_t before = process->shards.obeyed;

    shards_drained(&process->shards, drained(process));
    shards_update(&process->shards, &close, &open);
    if (process->shards.obeyed != before)
        process->own.hurry = true;
    if (shards_map_is_due(&process->shards))
        process->leader.hurry = true;
}

static void delete_lease_of(const struct shard_id *id)
{
    for (size_t i = LEADER + 1; i < server.objects.n; i++) {
        if (server.objects.items[i].exists && shard_id_equal(&server.objects.items[i].holder, id))
            delete_object(i);
    }
}

static void delete_step(struct process *process)
{
    struct shard_id id;

    for (size_t pos = 0; process->leader.leading && shards_left_over(&process->shards, &pos, &id);)
        delete_lease_of(&id);
}

/* All is let go; when it is drained, both Leases are given up, at once here. */
static void stop_step(struct process *process)
{
    shards_set_joined(&process->shards, false);
    shards_step(process);
    if (process->shards.closing)
        return;
    lose(&process->own.call);
    lose(&process->leader.call);
    process->own.call.under_way = process->leader.call.under_way = false;
    struct object *own = &server.objects.items[process->own.object];
    struct object *leader = &server.objects.items[LEADER];
    if (own->exists) {
        own->held = false;
        changed(process->own.object);
    }
    if (leader->exists && leader->held && shard_id_equal(&leader->holder, &process->shards.id)) {
        leader->held = false;
        changed(LEADER);
    }
    leave(process);
}

static void step(struct process *process)
{
    if (process->phase == DEAD) {
        if (now >= process->until)
            begin_process(process);
        return;
    }
    if (process->phase == PAUSED) {
        if (now < process->until)
            return;
        process->phase = ALIVE;
    }
    if (has_lost(process, &process->own) || has_lost(process, &process->leader)) {
        leave(process);
        return;
    }
    watch(process);
    if (process->phase == STOPPING) {
        stop_step(process);
        return;
    }
    hold_step(process, &process->own);
    hold_step(process, &process->leader);
    ask_step(process);
    shards_step(process);
    write_step(process);
    delete_step(process);
}

/* ---- the storm ------------------------------------------------------------------------------- */

static void trouble_one(struct process *process)
{
    switch (rng_below(&rng, 6)) {
    case 0:
        leave(process); /* killed */
        break;
    case 1:
    case 2:
        process->phase = PAUSED;
        process->until = now + (int64_t)rng_below(&rng, chance(2) ? 60000 : 16000);
        break;
    case 3:
        process->phase = STOPPING;
        break;
    default:
        process->lag = (int64_t)rng_below(&rng, chance(3) ? 30000 : 500);
        break;
    }
}

/* What users can do to Leases. */
static void trouble_all(void)
{
    const size_t at = (size_t)rng_below(&rng, server.objects.n);
    struct object *leader = &server.objects.items[LEADER];

    if (chance(2)) {
        if (server.objects.items[at].exists)
            delete_object(at);
    } else if (leader->exists) {
        leader->has_map = false;
        changed(LEADER);
    }
}

static void run_calls(void)
{
    for (int i = 0; i < PROCESSES; i++) {
        take_effect(&processes[i].own.call);
        take_effect(&processes[i].leader.call);
        take_effect(&processes[i].ask);
    }
    run_strays();
}

static void run(int64_t end, bool trouble)
{
    for (; now < end; now += STEP) {
        run_calls();
        for (int i = 0; i < PROCESSES; i++) {
            if (trouble && processes[i].phase == ALIVE && chance(800))
                trouble_one(&processes[i]);
            step(&processes[i]);
        }
        if (trouble && chance(3000))
            trouble_all();
    }
}

static void assert_settled(void)
{
    shard_set all = SHARDS_NONE;

    for (int i = 0; i < PROCESSES; i++) {
        const struct shards *shards = &processes[i].shards;
        if (processes[i].phase != ALIVE || (all & shards->held) ||
            __builtin_popcountll(shards->held) != SHARD_COUNT / PROCESSES)
            fail_msg("seed %llu: process %d has phase %d, shards %llx, before it %llx",
                     (unsigned long long)seed, i, processes[i].phase,
                     (unsigned long long)shards->held, (unsigned long long)all);
        all |= shards->held;
    }
    assert_int_equal(all, SHARDS_ALL);
    size_t there = 0;
    for (size_t i = 0; i < server.objects.n; i++)
        there += server.objects.items[i].exists;
    assert_int_equal(there, PROCESSES + 1); /* no Lease of no use is left */
}

static void clear(void)
{
    for (int i = 0; i < PROCESSES; i++)
        end_process(&processes[i], 0);
    vec_clear(&server.objects);
    vec_clear(&server.changes);
    vec_clear(&strays);
}

static void run_seed(void)
{
    rng_seed(&rng, seed);
    now = 1000;
    calm = false;
    memset(writes, 0, sizeof(writes));
    server.version = 0;
    births = 0;
    vec_push(&server.objects, ((struct object){0}));
    for (int i = 0; i < PROCESSES; i++)
        end_process(&processes[i], now + (int64_t)rng_below(&rng, 5000));
    run(now + STORM, true);
    calm = true;
    for (int i = 0; i < PROCESSES; i++)
        processes[i].lag = STEP;
    run(now + CALM, false);
    assert_settled();
    clear();
}

static uint64_t first = 1, count = SEEDS;

static void no_two_write_for_one_shard(void **state)
{
    (void)state;
    for (seed = first; seed < first + count; seed++)
        run_seed();
}

static int after(void **state)
{
    (void)state;
    clear();
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(no_two_write_for_one_shard, after),
    };

    if ((argc > 1 && !str_to_u64(str_of(argv[1]), &first)) ||
        (argc > 2 && !str_to_u64(str_of(argv[2]), &count)))
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
