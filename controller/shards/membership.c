/*
 * A member of the active controllers: see membership.h.
 *
 * What the watch shows goes into the state machine at once; what follows is done in a pass, a
 * deferred call, when the store shows a moment of the server's history: not in the middle of a
 * list. One call of each kind is under way at most for each member.
 */
#include "controller/shards/membership.h"
#include "api/names.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/map.h"
#include "controller/shards/seen_lease.h"
#include "controller/shards/shards.h"
#include "kube/informer.h"
#include <inttypes.h>
#include <stdio.h>

#define PATH_LEASES "/apis/coordination.k8s.io/v1/namespaces/"
#define ASK_TIMEOUT (5 * NSEC_PER_SEC)
#define ASK_AGAIN (NSEC_PER_SEC / 2)
#define REFUSED_AGAIN (30 * NSEC_PER_SEC)
#define LIST_PAUSE (NSEC_PER_SEC / 10)

struct membership {
    struct membership_config config;
    char *path;     /* owned; of the Leases of the namespace */
    char *own_name; /* owned; of our own Lease */
    struct shards shards;
    struct informers informers; /* of the Leases alone */
    struct store *leases;       /* borrowed from them */
    struct store_handler on_leases;
    struct loop_deferred pass;
    struct loop_timer look;     /* when a member may have been silent for too long */
    struct loop_timer too_late; /* our first Lease was not held in time */
    struct lease *own;          /* owned; NULL before we join */
    bool leading;
    uint64_t told;     /* the generation that our own Lease was asked to tell */
    uint64_t improved; /* the generation for which the leader's Lease was asked to tell another */
    struct map calls;  /* id of a member -> struct member_call, owned */
    bool leaving, released, ended;
    struct loop_deferred left;
};

/* The GET or DELETE of a member's Lease. */
struct member_call {
    struct membership *membership;
    struct shard_id id;
    const char *name, *uid; /* interned; uid NULL: a GET */
    struct kube_call *get;
    struct window_request *request;
    struct loop_timer again; /* it came to nothing: a pause before the next */
};

static const char *ns_of(const struct membership *membership)
{
    return membership->config.lease.ns;
}

/* The leader's Lease, NULL while there is none. */
static struct lease *leader_of(const struct membership *membership)
{
    return *membership->config.leader;
}

static void wake(struct membership *membership)
{
    loop_defer(membership->config.loop, &membership->pass);
}

/* ---- names ------------------------------------------------------------------------------------
 */

/* The id of a member in the name of its Lease; "" when it is none. */
static struct shard_id id_of(const struct membership *membership, const char *name)
{
    const struct str leader = str_of(membership->config.lease.name), all = str_of(name);

    if (!str_starts(all, leader) || all.n <= leader.n || all.p[leader.n] != '-')
        return (struct shard_id){""};
    return shard_id_of(str_from(all, leader.n + 1));
}

static char *name_of(const struct membership *membership, const struct shard_id *id)
{
    return xasprintf("%s-%s", membership->config.lease.name, id->text);
}

static struct shard_id new_id(struct membership *membership)
{
    struct shard_id id;

    (void)snprintf(id.text, sizeof(id.text), "%016" PRIx64,
                   rng_next(loop_rng(membership->config.loop)));
    return id;
}

/* ---- what the watch shows ---------------------------------------------------------------------
 */

/* A map that others than its writer have held the Lease over does not count. */
static bool read_map(const struct seen_lease *lease, struct shard_map *ret_map)
{
    const char *text = kube_pairs_get(&lease->meta.annotations, KEY_SHARD_MAP);

    return text && shard_map_read(str_of(text), ret_map, NULL) == 0 && ret_map->term == lease->term;
}

static void see_leader(struct membership *membership, const struct seen_lease *lease)
{
    struct shard_map map;
    const bool counts = lease && read_map(lease, &map);

    shards_see_map(&membership->shards, counts ? &map : NULL,
                   loop_now_fresh(membership->config.loop));
    if (leader_of(membership) && !membership->leading && !membership->leaving &&
        (!lease || !lease->held))
        lease_hurry(leader_of(membership));
}

static void see_member(struct membership *membership, const struct shard_id *id,
                       const struct seen_lease *old, const struct seen_lease *now)
{
    struct shard_sign sign = {.id = *id};
    const char *obeys;

    if (!now) {
        shards_lose_member(&membership->shards, id);
        return;
    }
    obeys = kube_pairs_get(&now->meta.annotations, KEY_SHARDS_OBEYED);
    if (obeys)
        (void)shard_generation_read(str_of(obeys), &sign.obeys);
    sign.held = now->held;
    sign.alive = !old || old->spec != now->spec;
    sign.duration_ns =
        now->duration_ns > 0 ? now->duration_ns : membership->config.lease.duration_ns;
    shards_see_member(&membership->shards, &sign, loop_now_fresh(membership->config.loop));
}

static void lease_changed(void *arg, void *old_object, void *new_object)
{
    struct membership *membership = arg;
    const struct seen_lease *any = new_object ? new_object : old_object;
    const struct shard_id id = id_of(membership, any->meta.name);

    if (strcmp(any->meta.name, membership->config.lease.name) == 0)
        see_leader(membership, new_object);
    else if (!shard_id_empty(&id))
        see_member(membership, &id, old_object, new_object);
    wake(membership);
}

static void leases_listed(void *arg)
{
    wake(arg);
}

/* ---- calls for members ------------------------------------------------------------------------
 */

static void call_over(void *arg);

static struct member_call *call_new(struct membership *membership, const struct shard_id *id)
{
    struct member_call *call = xnew(struct member_call);
    cleanup_free char *name = name_of(membership, id);

    call->membership = membership;
    call->id = *id;
    call->name = intern_get(str_of(name));
    loop_timer_init(&call->again, call_over, call);
    map_set(&membership->calls, str_of(id->text), call);
    store_request_begin(membership->leases, str_of(ns_of(membership)), str_of(call->name));
    return call;
}

static void call_free(struct member_call *call)
{
    struct membership *membership = call->membership;

    if (call->get)
        kube_cancel(membership->config.transport, call->get);
    if (call->request)
        (void)window_cancel(membership->config.window, call->request);
    loop_timer_cancel(membership->config.loop, &call->again);
    store_request_end(membership->leases, str_of(ns_of(membership)), str_of(call->name));
    intern_put(call->name);
    intern_put(call->uid);
    free(call);
}

static void call_over(void *arg)
{
    struct member_call *call = arg;
    struct membership *membership = call->membership;

    shards_asked(&membership->shards, &call->id, SHARD_NO_ANSWER, 0); /* who was named meanwhile */
    map_del(&membership->calls, str_of(call->id.text));
    call_free(call);
    wake(membership);
}

static void write_path(const struct member_call *call, struct buf *path)
{
    buf_printf(path, "%s/%s", call->membership->path, call->name);
}

/* The store has what the GET shows, or something newer. */
static bool take_in(struct membership *membership, struct str body)
{
    struct kube_identity identity;
    const struct seen_lease *lease = store_apply(membership->leases, body);

    return lease && kube_identity_read(body, &identity, NULL) == 0 && lease->meta.rv >= identity.rv;
}

/* The Lease was there or not, and that is as new as the question. */
static void asked(const struct kube_result *result, void *arg)
{
    struct member_call *call = arg;
    struct membership *membership = call->membership;
    enum shard_answer answer = SHARD_NO_ANSWER;

    call->get = NULL;
    if (result->error.cls == ERROR_NONE && take_in(membership, result->body))
        answer = SHARD_THERE;
    else if (result->error.cls == ERROR_NOT_FOUND && result->outcome == KUBE_ANSWERED)
        answer = SHARD_GONE;
    if (answer == SHARD_NO_ANSWER) {
        loop_timer_set(membership->config.loop, &call->again, ASK_AGAIN);
        return;
    }
    shards_asked(&membership->shards, &call->id, answer, loop_now_fresh(membership->config.loop));
    call_over(call);
}

static void ask(struct membership *membership, const struct shard_id *id)
{
    struct member_call *call = call_new(membership, id);
    cleanup_buf struct buf path = BUF_INIT(4096);

    write_path(call, &path);
    call->get =
        kube_start(membership->config.transport, &(struct kube_call_spec){.method = KUBE_GET,
                                                                          .path = buf_str(&path),
                                                                          .timeout_ns = ASK_TIMEOUT,
                                                                          .on_done = asked,
                                                                          .arg = call});
}

static bool render_delete(struct buf *path, struct buf *body, void *arg)
{
    const struct member_call *call = arg;

    write_path(call, path);
    return buf_printf(body,
                      "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                      "\"preconditions\":{\"uid\":\"%s\"}}",
                      call->uid);
}

static void deleted(const struct kube_result *result, void *arg)
{
    struct member_call *call = arg;
    struct store *leases = call->membership->leases;
    const struct str ns = str_of(ns_of(call->membership)), name = str_of(call->name);
    int64_t pause = ASK_AGAIN;

    call->request = NULL;
    if (result->error.cls == ERROR_NONE)
        store_apply_delete_answer(leases, ns, name, str_of(call->uid), result->body);
    else if (result->error.cls == ERROR_NOT_FOUND || result->error.cls == ERROR_CONFLICT)
        store_forget(leases, ns, name, str_of(call->uid));
    else {
        log_warn("Lease %s: cannot be deleted: %s", call->name, result->error.text);
        pause = REFUSED_AGAIN;
    }
    loop_timer_set(call->membership->config.loop, &call->again, pause);
}

/* Of no more use to anybody. */
static void delete_lease(struct membership *membership, const struct shard_id *id)
{
    cleanup_free char *name = name_of(membership, id);
    const struct seen_lease *lease =
        store_get(membership->leases, str_of(ns_of(membership)), str_of(name));

    if (!lease || map_has(&membership->calls, str_of(id->text)))
        return;
    struct member_call *call = call_new(membership, id);
    call->uid = intern_ref(lease->meta.uid);
    call->request =
        window_submit(membership->config.window, &(struct window_spec){.cls = WINDOW_DELETE,
                                                                       .method = KUBE_DELETE,
                                                                       .render = render_delete,
                                                                       .done = deleted,
                                                                       .arg = call});
}

/* ---- passes -----------------------------------------------------------------------------------
 */

static void log_change(const struct membership *membership, shard_set close, shard_set open)
{
    log_info("shards generation=%" PRIu64 " held=%d adopted=%d let-go=%d",
             membership->shards.map.generation, __builtin_popcountll(membership->shards.held),
             __builtin_popcountll(open), __builtin_popcountll(close));
}

static void update(struct membership *membership)
{
    shard_set close, open;

    shards_update(&membership->shards, &close, &open);
    if (close || open)
        log_change(membership, close, open);
    if (close)
        membership->config.let_go(close, membership->config.arg);
    if (open)
        membership->config.adopt(open, membership->config.arg);
}

/* Our own Lease tells what we obey, the leader's which map there is: each change is told once. */
static void tell(struct membership *membership)
{
    struct shards *shards = &membership->shards;

    if (membership->own && shards->obeyed != membership->told) {
        membership->told = shards->obeyed;
        lease_hurry(membership->own);
    }
    if (membership->leading && shards_map_is_due(shards) &&
        membership->improved != shards->map.generation) {
        membership->improved = shards->map.generation;
        lease_hurry(leader_of(membership));
    }
}

static void look_after_members(struct membership *membership)
{
    struct loop *loop = membership->config.loop;
    struct shard_id id;

    while (shards_to_ask(&membership->shards, loop_now_fresh(loop), &id)) {
        if (!map_has(&membership->calls, str_of(id.text)))
            ask(membership, &id);
    }
    for (size_t pos = 0; membership->leading && shards_left_over(&membership->shards, &pos, &id);)
        delete_lease(membership, &id);
    const int64_t next = shards_next_ask(&membership->shards), now = loop_now_fresh(loop);
    if (next != INT64_MAX)
        loop_timer_set(loop, &membership->look, next > now ? next - now : ASK_AGAIN);
}

static void on_released(void *arg)
{
    struct membership *membership = arg;

    loop_defer(membership->config.loop, &membership->left);
}

static void go_on_leaving(struct membership *membership)
{
    if (membership->released || membership->shards.closing != SHARDS_NONE)
        return;
    membership->released = true;
    if (membership->own)
        lease_release(membership->own, on_released, membership);
    else
        on_released(membership);
}

static void run_pass(void *arg)
{
    struct membership *membership = arg;

    if (membership->ended)
        return;
    if (membership->leading)
        shards_set_leading(&membership->shards, true, lease_term(leader_of(membership)));
    if (!membership->leaving &&
        (!store_synced(membership->leases) || store_listing(membership->leases))) {
        loop_timer_set(membership->config.loop, &membership->look, LIST_PAUSE);
        return;
    }
    update(membership);
    tell(membership);
    look_after_members(membership);
    if (membership->leaving)
        go_on_leaving(membership);
}

static void look(void *arg)
{
    wake(arg);
}

/* ---- our own Lease ----------------------------------------------------------------------------
 */

static void own_note(const struct lease_note *note, struct buf *value, void *arg)
{
    struct membership *membership = arg;

    (void)note;
    membership->told = membership->shards.obeyed;
    buf_printf(value, "%" PRIu64, membership->told);
}

static void own_changed(bool held, void *arg)
{
    struct membership *membership = arg;

    if (!held) {
        membership->ended = true;
        membership->config.lost(membership->config.arg);
        return;
    }
    loop_timer_cancel(membership->config.loop, &membership->too_late);
    shards_set_joined(&membership->shards, !membership->leaving);
    wake(membership);
}

static void make_own_lease(struct membership *membership)
{
    struct lease_config config = membership->config.lease;

    free(membership->own_name);
    membership->own_name = name_of(membership, &membership->shards.id);
    config.name = membership->own_name;
    config.note_key = KEY_SHARDS_OBEYED;
    config.note = own_note;
    config.note_arg = membership;
    config.once = true;
    membership->own = lease_new(membership->config.loop, membership->config.transport,
                                membership->config.window, &config, own_changed, membership);
    loop_timer_set(membership->config.loop, &membership->too_late, config.renew_deadline_ns);
}

/* It may have been made, unheard of, and may run out for others before we hold it: another one. */
static void take_another_id(void *arg)
{
    struct membership *membership = arg;

    log_warn("no Lease %s so far, trying another", membership->own_name);
    lease_free(take_ptr(membership->own));
    membership->shards.id = new_id(membership);
    make_own_lease(membership);
}

void membership_join(struct membership *membership)
{
    if (!membership->own && !membership->leaving)
        make_own_lease(membership);
}

bool membership_held(struct membership *membership, int64_t margin_ns)
{
    return membership->own && !membership->ended && lease_held(membership->own, margin_ns);
}

void membership_drained(struct membership *membership, shard_set set)
{
    shards_drained(&membership->shards, set);
    wake(membership);
}

void membership_leave(struct membership *membership, loop_fn *done, void *arg)
{
    loop_deferred_init(&membership->left, done, arg);
    membership->leaving = true;
    loop_timer_cancel(membership->config.loop, &membership->too_late);
    shards_set_joined(&membership->shards, false);
    wake(membership);
}

/* ---- the leader's Lease -----------------------------------------------------------------------
 */

static void leader_note(const struct lease_note *note, struct buf *value, void *arg)
{
    const struct membership *membership = arg;
    struct shard_map before, next;
    const bool read = shard_map_read(note->before, &before, NULL) == 0;

    shards_next_map(&membership->shards, read && before.term == note->term_before ? &before : NULL,
                    read ? before.generation : 0, note->term, &next);
    shard_map_write(&next, value);
}

void membership_elect(struct membership *membership, struct lease_config *config)
{
    config->note_key = KEY_SHARD_MAP;
    config->note = leader_note;
    config->note_arg = membership;
}

void membership_set_leading(struct membership *membership, bool leading)
{
    membership->leading = leading;
    membership->improved = 0;
    shards_set_leading(&membership->shards, leading,
                       leading ? lease_term(leader_of(membership)) : 0);
    wake(membership);
}

/* ---- life -------------------------------------------------------------------------------------
 */

struct membership *membership_new(const struct membership_config *config)
{
    struct membership *membership = xnew(struct membership);
    cleanup_buf struct buf path = BUF_INIT(4096);

    membership->config = *config;
    buf_add_cstr(&path, PATH_LEASES);
    kube_escape(&path, str_of(config->lease.ns));
    buf_add_cstr(&path, "/leases");
    membership->path = buf_take(&path);
    const struct shard_id id = new_id(membership);
    shards_init(&membership->shards, &id, config->lease.duration_ns);
    loop_deferred_init(&membership->pass, run_pass, membership);
    loop_deferred_init(&membership->left, NULL, NULL);
    loop_timer_init(&membership->look, look, membership);
    loop_timer_init(&membership->too_late, take_another_id, membership);
    informers_init(&membership->informers, config->loop, config->transport);
    membership->leases = informers_add(&membership->informers, &seen_lease_store_type,
                                       &(struct reflector_spec){.path = membership->path});
    membership->on_leases = (struct store_handler){
        .changed = lease_changed, .synced = leases_listed, .arg = membership};
    store_subscribe(membership->leases, &membership->on_leases);
    return membership;
}

static void free_call(void *call)
{
    call_free(call);
}

void membership_free(struct membership *membership)
{
    if (!membership)
        return;
    membership->ended = true;
    lease_free(membership->own);
    map_clear_with(&membership->calls, free_call);
    store_unsubscribe(membership->leases, &membership->on_leases);
    loop_deferred_cancel(&membership->pass);
    loop_deferred_cancel(&membership->left);
    loop_timer_cancel(membership->config.loop, &membership->look);
    loop_timer_cancel(membership->config.loop, &membership->too_late);
    informers_clear(&membership->informers);
    shards_clear(&membership->shards);
    free(membership->path);
    free(membership->own_name);
    free(membership);
}

shard_set membership_shards(const struct membership *membership)
{
    return membership->shards.held;
}

void membership_missing(const struct membership *membership, struct buf *missing)
{
    informers_missing(&membership->informers, missing);
}

void membership_watches(const struct membership *membership, informers_watch_fn *see, void *arg)
{
    informers_watches(&membership->informers, see, arg);
}
