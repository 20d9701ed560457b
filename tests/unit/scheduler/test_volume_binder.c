/*
 * Binding volumes before pods: what is written, waited for and undone. A small API server in memory
 * has the claims and volumes; the tests play the controllers that bind and make volumes.
 */
#include "volumes.h"

#include "base/log.h"
#include "base/vec.h"
#include "kube/fake_transport.h"
#include "scheduler/volumes/binder.h"
#include <fcntl.h>
#include <stdio.h>

#define NAME_SIZE 64

struct disk {
    char name[NAME_SIZE], host[NAME_SIZE];
    char claim[NAME_SIZE], claim_uid[NAME_SIZE]; /* "" for none */
    bool by_controller, gone;
    const char *phase;
    uint64_t rv;
    unsigned patches, releases;
    int fail;        /* status of the next patch, 0: none */
    bool fail_after; /* it takes effect all the same */
};

struct ask_for {
    char name[NAME_SIZE], cls[NAME_SIZE], uid[NAME_SIZE];
    char volume[NAME_SIZE], node[NAME_SIZE]; /* "" for none */
    bool bound, gone;
    uint64_t rv;
    unsigned patches;
    int fail;
};

struct server {
    struct loop *loop;
    struct fake_transport *fake;
    struct window *window;
    struct store *claims, *disks;
    struct store_handler claim_handler, disk_handler;
    struct volumes *v;
    struct volume_binder *binder;
    struct node *a, *b;
    VEC(struct disk *) disk_list;
    VEC(struct ask_for *) claim_list;
    uint64_t rv;
    unsigned done, rooms;
    bool behind;       /* changes of disks are not heard of */
    char trouble[256]; /* of the last that failed, "" when it went well */
};

/* ---- the server ------------------------------------------------------------------------------ */

static struct str disk_json(struct arena *arena, const struct disk *disk)
{
    struct str keeps =
        !disk->claim[0]
            ? STR("")
            : arena_printf(arena, ",\"claimRef\":{\"namespace\":\"ns\",\"name\":\"%s\"%s%s%s}",
                           disk->claim, disk->claim_uid[0] ? ",\"uid\":\"" : "", disk->claim_uid,
                           disk->claim_uid[0] ? "\"" : "");
    return arena_printf(
        arena,
        "{\"metadata\":{\"name\":\"%s\",\"uid\":\"v-%s\",\"resourceVersion\":\"%llu\","
        "\"annotations\":{%s}},\"spec\":{\"storageClassName\":\"local\",\"accessModes\":["
        "\"ReadWriteOnce\"]" REACHED_FROM("kubernetes.io/hostname", "%s") "%.*s},\"status\":{"
                                                                          "\"phase\":\"%s\"}}",
        disk->name, disk->name, (unsigned long long)disk->rv,
        disk->by_controller ? "\"pv.kubernetes.io/bound-by-controller\":\"yes\"" : "", disk->host,
        STR_ARG(keeps), disk->phase);
}

static struct str claim_json(struct arena *arena, const struct ask_for *claim)
{
    return arena_printf(
        arena,
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"%s\",\"resourceVersion\":"
        "\"%llu\",\"annotations\":{%s%s%s\"x\":\"y\"}},\"spec\":{\"storageClassName\":\"%s\","
        "\"accessModes\":[\"ReadWriteOnce\"],\"volumeName\":\"%s\"}}",
        claim->name, claim->uid, (unsigned long long)claim->rv,
        claim->node[0] ? "\"volume.kubernetes.io/selected-node\":\"" : "", claim->node,
        claim->node[0] ? (claim->bound ? "\"," BOUND_SIGN "," : "\",")
        : claim->bound ? BOUND_SIGN ","
                       : "",
        claim->cls, claim->volume);
}

static void show(struct store *store, bool gone, struct str raw)
{
    uint64_t rv;
    assert_int_equal(store_watch_event(store, gone, raw, &rv, NULL), 0);
}

static void show_disk(struct server *s, struct disk *disk)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    disk->rv = ++s->rv;
    show(s->disks, disk->gone, disk_json(&arena, disk));
}

static void show_claim(struct server *s, struct ask_for *claim)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    claim->rv = ++s->rv;
    show(s->claims, claim->gone, claim_json(&arena, claim));
}

static int answer(struct buf *body, int status)
{
    buf_printf(body, "{\"kind\":\"Status\",\"code\":%d,\"message\":\"status %d\"}", status, status);
    return status;
}

static struct str field(struct str json, const char *key)
{
    cleanup_free char *needle = xasprintf("\"%s\":\"", key);
    ptrdiff_t at = str_find(json, str_of(needle));
    if (at < 0)
        return STR_NULL;
    struct str rest = str_from(json, (size_t)at + strlen(needle));
    return str_sub(rest, 0, (size_t)str_chr(rest, '"'));
}

static bool holds(struct str json, const char *text)
{
    return str_find(json, str_of(text)) >= 0;
}

static void copy(char slot[NAME_SIZE], struct str text)
{
    snprintf(slot, NAME_SIZE, "%.*s", STR_ARG(text));
}

static bool is_current(struct str body, uint64_t rv)
{
    uint64_t said = 0;
    return str_to_u64(field(body, "resourceVersion"), &said) && said == rv;
}

static void patch_disk(struct disk *disk, struct str body)
{
    disk->patches++;
    if (holds(body, "\"claimRef\":null")) {
        assert_true(holds(body, "bound-by-controller\":null"));
        disk->releases++;
        disk->by_controller = false;
        disk->claim[0] = disk->claim_uid[0] = '\0';
    } else if (holds(body, "\"claimRef\":{\"uid\":null")) {
        disk->releases++;
        disk->claim_uid[0] = '\0';
    } else {
        struct str keeps = str_from(body, (size_t)str_find(body, STR("\"claimRef\"")));
        assert_str(field(keeps, "apiVersion"), "v1");
        assert_str(field(keeps, "kind"), "PersistentVolumeClaim");
        assert_str(field(keeps, "namespace"), "ns");
        disk->by_controller = disk->by_controller || holds(body, "bound-by-controller\":\"yes\"");
        copy(disk->claim, field(keeps, "name"));
        copy(disk->claim_uid, field(keeps, "uid"));
    }
}

static int serve_disk(struct server *s, struct disk *disk, const struct kube_call_spec *spec,
                      struct buf *body)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    if (!disk)
        return answer(body, 404);
    if (spec->method == KUBE_PATCH) {
        int fail = disk->fail;
        disk->fail = 0;
        assert_int_equal(spec->content, KUBE_MERGE_PATCH);
        if (fail && !disk->fail_after)
            return answer(body, fail);
        if (!is_current(spec->body, disk->rv))
            return answer(body, 409);
        patch_disk(disk, spec->body);
        disk->rv = ++s->rv;
        if (fail)
            return answer(body, fail);
    }
    buf_add_str(body, disk_json(&arena, disk));
    return 200;
}

static int serve_claim(struct server *s, struct ask_for *claim, const struct kube_call_spec *spec,
                       struct buf *body)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    if (!claim)
        return answer(body, 404);
    if (spec->method == KUBE_PATCH) {
        int fail = claim->fail;
        claim->fail = 0;
        if (fail)
            return answer(body, fail);
        if (!is_current(spec->body, claim->rv))
            return answer(body, 409);
        claim->patches++;
        copy(claim->node, field(spec->body, "volume.kubernetes.io/selected-node"));
        claim->rv = ++s->rv;
    }
    buf_add_str(body, claim_json(&arena, claim));
    return 200;
}

static struct disk *find_disk(struct server *s, struct str name)
{
    for (size_t i = 0; i < s->disk_list.n; i++)
        if (!s->disk_list.items[i]->gone && str_is(name, s->disk_list.items[i]->name))
            return s->disk_list.items[i];
    return NULL;
}

static struct ask_for *find_claim(struct server *s, struct str name)
{
    for (size_t i = 0; i < s->claim_list.n; i++)
        if (!s->claim_list.items[i]->gone && str_is(name, s->claim_list.items[i]->name))
            return s->claim_list.items[i];
    return NULL;
}

static int serve(void *arg, const struct kube_call_spec *spec, struct buf *body)
{
    struct server *s = arg;
    struct str path = spec->path, part, name = STR_NULL;
    while (str_split(&path, '/', &part))
        name = part;
    if (holds(spec->path, "/api/v1/persistentvolumes/"))
        return serve_disk(s, find_disk(s, name), spec, body);
    assert_true(holds(spec->path, "/api/v1/namespaces/ns/persistentvolumeclaims/"));
    return serve_claim(s, find_claim(s, name), spec, body);
}

/* ---- around it ------------------------------------------------------------------------------- */

static void claim_changed(void *arg, void *old, void *now)
{
    struct server *s = arg;
    struct claim *claim = now;
    const struct kube_meta *meta = claim ? &claim->meta : &((struct claim *)old)->meta;
    volumes_set_claim(s->v, meta->ns, meta->name, claim);
}

static void disk_changed(void *arg, void *old, void *now)
{
    struct server *s = arg;
    struct volume *volume = now;
    const char *name = (volume ? volume : (struct volume *)old)->meta.name;
    if (!s->behind)
        volumes_set_volume(s->v, name, volume);
}

static void room(void *arg)
{
    struct server *s = arg;
    s->rooms++;
}

static struct server *begin(void)
{
    struct server *s = xnew(struct server);
    s->loop = loop_new_virtual(1, INT64_C(1764000000) * NSEC_PER_SEC);
    s->fake = fake_new(s->loop, serve, s);
    s->window = window_new(s->loop, &s->fake->base, &(struct window_config){.initial = 4});
    s->claims = store_new(&claim_store_type);
    s->disks = store_new(&volume_store_type);
    s->v = volumes_new();
    s->claim_handler = (struct store_handler){.changed = claim_changed, .arg = s};
    s->disk_handler = (struct store_handler){.changed = disk_changed, .arg = s};
    store_subscribe(s->claims, &s->claim_handler);
    store_subscribe(s->disks, &s->disk_handler);
    s->binder = volume_binder_new(&(struct volume_binder_params){.loop = s->loop,
                                                                 .transport = &s->fake->base,
                                                                 .window = s->window,
                                                                 .claims = s->claims,
                                                                 .persistent_volumes = s->disks,
                                                                 .volumes = s->v,
                                                                 .room = room,
                                                                 .arg = s});
    s->a = node_with("a", "");
    s->b = node_with("b", "");
    put_class(s->v, "local", NO_PROVISIONER, WAITS, "");
    put_class(s->v, "cloud", "d.example", WAITS, "");
    return s;
}

static void end(struct server *s)
{
    volume_binder_free(s->binder);
    window_free(s->window);
    kube_transport_free(&s->fake->base);
    store_unsubscribe(s->claims, &s->claim_handler);
    store_unsubscribe(s->disks, &s->disk_handler);
    store_free(s->claims);
    store_free(s->disks);
    volumes_free(s->v);
    node_unref(s->a);
    node_unref(s->b);
    for (size_t i = 0; i < s->disk_list.n; i++)
        free(s->disk_list.items[i]);
    for (size_t i = 0; i < s->claim_list.n; i++)
        free(s->claim_list.items[i]);
    vec_clear(&s->disk_list);
    vec_clear(&s->claim_list);
    loop_free(s->loop);
    free(s);
    assert_int_equal(pod_volumes_count(), 0);
    assert_int_equal(intern_count(), 0);
}

static struct disk *add_disk(struct server *s, const char *name, const char *host)
{
    struct disk *disk = xnew(struct disk);
    copy(disk->name, str_of(name));
    copy(disk->host, str_of(host));
    disk->phase = "Available";
    vec_push(&s->disk_list, disk);
    show_disk(s, disk);
    return disk;
}

static struct ask_for *add_claim(struct server *s, const char *name, const char *cls)
{
    struct ask_for *claim = xnew(struct ask_for);
    copy(claim->name, str_of(name));
    copy(claim->cls, str_of(cls));
    snprintf(claim->uid, sizeof(claim->uid), "c-%s-%llu", name, (unsigned long long)s->rv);
    vec_push(&s->claim_list, claim);
    show_claim(s, claim);
    return claim;
}

/* The controller of volumes binds them to one another. */
static void tie(struct server *s, struct ask_for *claim, struct disk *disk)
{
    disk->phase = "Bound";
    copy(disk->claim, str_of(claim->name));
    copy(disk->claim_uid, str_of(claim->uid));
    show_disk(s, disk);
    copy(claim->volume, str_of(disk->name));
    claim->bound = true;
    show_claim(s, claim);
}

static void done(const char *trouble, void *arg)
{
    struct server *s = arg;
    s->done++;
    snprintf(s->trouble, sizeof(s->trouble), "%s", trouble ? trouble : "");
}

/* Places a pod with these claims on a node and begins to bind its volumes. */
static struct volume_bind *place(struct server *s, const char *pod, const char *claims,
                                 struct node *node)
{
    struct pod_volumes *w = wants(claims);
    const char *uid = intern_get(str_of(pod));
    assert_true(volumes_assume(s->v, uid, w, node));
    struct volume_bind *bind = volume_bind_start(s->binder, uid, node, NULL, done, s);
    intern_put(uid);
    pod_volumes_unref(w);
    return bind;
}

static void run_for(struct server *s, int64_t ns)
{
    int64_t until = loop_now(s->loop) + ns;
    while (loop_now(s->loop) < until && loop_turn(s->loop, until - loop_now(s->loop)))
        ;
    audited(s->v);
}

static void run(struct server *s)
{
    run_for(s, NSEC_PER_SEC);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void nothing_to_bind(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    tie(s, claim, disk);
    assert_null(place(s, "p", "x", s->a));
    run(s);
    assert_int_equal(s->done, 0);
    assert_int_equal(s->fake->requests, 0);
    end(s);
}

static void chosen_volume_is_marked_and_waited_for(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    assert_non_null(place(s, "p", "x", s->a));
    run(s);
    assert_int_equal(s->done, 0);
    assert_int_equal(volume_binder_busy(s->binder), 1);
    assert_string_equal(disk->claim, "x");
    assert_string_equal(disk->claim_uid, claim->uid);
    assert_true(disk->by_controller);
    assert_int_equal(s->fake->requests, 1);
    tie(s, claim, disk);
    assert_int_equal(s->done, 0); /* never from inside */
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "");
    assert_false(volumes_has_choices(s->v, "p"));
    run_for(s, 700 * NSEC_PER_SEC);
    assert_int_equal(s->done, 1);
    assert_int_equal(disk->releases, 0);
    assert_int_equal(volume_binder_busy(s->binder), 0);
    end(s);
}

static void node_is_noted_for_what_is_to_be_made(void **state)
{
    (void)state;
    struct server *s = begin();
    struct ask_for *claim = add_claim(s, "x", "cloud");
    assert_non_null(place(s, "p", "x", s->b));
    run(s);
    assert_string_equal(claim->node, "b");
    assert_int_equal(claim->patches, 1);
    assert_int_equal(s->done, 0);
    /* The claim is heard of before its new volume. */
    copy(claim->volume, STR("made"));
    claim->bound = true;
    show_claim(s, claim);
    run(s);
    assert_int_equal(s->done, 0);
    struct disk *disk = add_disk(s, "made", "b");
    tie(s, claim, disk);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "");
    end(s);
}

static void all_claims_are_waited_for(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *v = add_disk(s, "v", "a"), *w = add_disk(s, "w", "a");
    struct ask_for *x = add_claim(s, "x", "local"), *y = add_claim(s, "y", "local");
    struct ask_for *z = add_claim(s, "z", "cloud");
    place(s, "p", "x y z", s->a);
    run(s);
    assert_string_equal(v->claim, "x");
    assert_string_equal(w->claim, "y");
    assert_string_equal(z->node, "a");
    tie(s, x, v);
    run(s);
    tie(s, z, add_disk(s, "made", "a"));
    run(s);
    assert_int_equal(s->done, 0);
    tie(s, y, w);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "");
    end(s);
}

/* Nobody binds them: everything is as before, and may be tried again. */
static void late_bind_is_undone(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    add_claim(s, "x", "local");
    volume_binder_set_timeout(s->binder, 30 * NSEC_PER_SEC);
    place(s, "p", "x", s->a);
    run_for(s, 29 * NSEC_PER_SEC);
    assert_int_equal(s->done, 0);
    run_for(s, 2 * NSEC_PER_SEC);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "claim \"ns/x\" was not bound to volume \"v\" within 30 s");
    assert_string_equal(disk->claim, "");
    assert_false(disk->by_controller);
    assert_int_equal(disk->releases, 1);
    assert_int_equal(s->rooms, 1);
    assert_int_equal(volume_binder_busy(s->binder), 0);
    assert_non_null(place(s, "p", "x", s->a));
    run(s);
    assert_string_equal(disk->claim, "x");
    end(s);
}

static void late_making_names_the_node(void **state)
{
    (void)state;
    struct server *s = begin();
    struct ask_for *claim = add_claim(s, "x", "cloud");
    place(s, "p", "x", s->b);
    run_for(s, 599 * NSEC_PER_SEC);
    assert_int_equal(s->done, 0);
    run_for(s, 2 * NSEC_PER_SEC);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "no volume was made for claim \"ns/x\" on node \"b\" within "
                                    "600 s");
    assert_string_equal(claim->node, "b"); /* which whoever makes it may be at */
    end(s);
}

/* What the user had said of the claim stays. */
static void users_own_mark_is_kept(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    copy(disk->claim, STR("x"));
    show_disk(s, disk);
    struct ask_for *claim = add_claim(s, "x", "local");
    volume_binder_set_timeout(s->binder, 30 * NSEC_PER_SEC);
    place(s, "p", "x", s->a);
    run(s);
    assert_string_equal(disk->claim_uid, claim->uid);
    assert_false(disk->by_controller);
    run_for(s, 40 * NSEC_PER_SEC);
    assert_int_equal(s->done, 1);
    assert_string_equal(disk->claim, "x");
    assert_string_equal(disk->claim_uid, "");
    end(s);
}

/* It is bound at the same moment: what is bound stays. */
static void bound_volume_is_not_released(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    add_claim(s, "x", "local");
    volume_binder_set_timeout(s->binder, 30 * NSEC_PER_SEC);
    place(s, "p", "x", s->a);
    run(s);
    disk->phase = "Bound";
    disk->rv = ++s->rv; /* not heard of */
    run_for(s, 40 * NSEC_PER_SEC);
    assert_int_equal(s->done, 1);
    assert_int_equal(disk->releases, 0);
    assert_string_equal(disk->claim, "x");
    assert_int_equal(volume_binder_busy(s->binder), 0);
    end(s);
}

static void deleted_claim_ends_it(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    place(s, "p", "x", s->a);
    run(s);
    claim->gone = true;
    show_claim(s, claim);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "claim \"ns/x\" was deleted");
    assert_string_equal(disk->claim, "");
    /* One of the same name is another. */
    claim = add_claim(s, "x", "local");
    place(s, "p", "x", s->a);
    claim->gone = true;
    show_claim(s, claim);
    add_claim(s, "x", "local");
    run(s);
    assert_int_equal(s->done, 2);
    assert_string_equal(s->trouble, "claim \"ns/x\" was deleted");
    end(s);
}

static void volumes_that_go_end_it(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    add_claim(s, "x", "local");
    place(s, "p", "x", s->a);
    run(s);
    copy(disk->claim, STR(""));
    copy(disk->claim_uid, STR(""));
    show_disk(s, disk);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "volume \"v\" was taken away from claim \"ns/x\"");
    place(s, "p", "x", s->a);
    run(s);
    disk->gone = true;
    show_disk(s, disk);
    run(s);
    assert_int_equal(s->done, 2);
    assert_string_equal(s->trouble, "volume \"v\", chosen for claim \"ns/x\", is gone");
    end(s);
}

/* Whoever makes volumes takes the node off the claim when it cannot. */
static void given_up_making_ends_it(void **state)
{
    (void)state;
    struct server *s = begin();
    struct ask_for *claim = add_claim(s, "x", "cloud");
    place(s, "p", "x", s->a);
    run(s);
    copy(claim->node, STR(""));
    show_claim(s, claim);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "no volume could be made for claim \"ns/x\" on node \"a\"");
    end(s);
}

static void wrong_volume_ends_it(void **state)
{
    (void)state;
    struct server *s = begin();
    struct ask_for *claim = add_claim(s, "x", "cloud");
    place(s, "p", "x", s->a);
    run(s);
    tie(s, claim, add_disk(s, "made", "b"));
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "claim \"ns/x\" was bound to volume \"made\", which node \"a\" "
                                    "cannot reach");
    end(s);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void refused_writes_end_it(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local"), *y = add_claim(s, "y", "cloud");
    disk->fail = 403;
    place(s, "p", "x", s->a);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble,
                        "volume \"v\" could not be given to claim \"ns/x\": status 403");
    y->fail = 403;
    place(s, "p", "y", s->a);
    run(s);
    assert_int_equal(s->done, 2);
    assert_string_equal(s->trouble,
                        "no volume could be asked for claim \"ns/y\" on node \"a\": status 403");
    disk->fail = 422;
    place(s, "p", "x", s->a);
    run(s);
    assert_int_equal(s->done, 3);
    assert_string_equal(s->trouble,
                        "volume \"v\" could not be given to claim \"ns/x\": status 422");
    assert_string_equal(disk->claim, "");
    assert_string_equal(claim->volume, "");
    end(s);
}

/* Somebody else changed something that does not matter. */
static void stale_version_is_tried_again(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "cloud"), *y = add_claim(s, "y", "local");
    disk->rv = ++s->rv; /* not heard of */
    claim->rv = ++s->rv;
    place(s, "p", "y", s->a);
    place(s, "q", "x", s->a);
    run(s);
    assert_string_equal(disk->claim, "y");
    assert_string_equal(claim->node, "a");
    assert_int_equal(disk->patches, 1);
    assert_int_equal(s->done, 0);
    tie(s, y, disk);
    run(s);
    assert_int_equal(s->done, 1);
    end(s);
}

static void volume_taken_meanwhile(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    add_claim(s, "x", "local");
    copy(disk->claim, STR("other"));
    disk->rv = ++s->rv; /* not heard of */
    place(s, "p", "x", s->a);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble,
                        "volume \"v\", chosen for claim \"ns/x\", was given to claim \"ns/other\"");
    assert_string_equal(disk->claim, "other");
    assert_int_equal(disk->patches, 0);
    end(s);
}

static void write_in_doubt_is_read(void **state)
{
    (void)state;
    for (int after = 0; after < 2; after++) {
        struct server *s = begin();
        struct disk *disk = add_disk(s, "v", "a");
        struct ask_for *claim = add_claim(s, "x", "local");
        disk->fail = 500;
        disk->fail_after = after != 0;
        place(s, "p", "x", s->a);
        run(s);
        assert_string_equal(disk->claim, "x");
        assert_int_equal(disk->patches, 1);
        assert_int_equal(s->done, 0);
        tie(s, claim, disk);
        run(s);
        assert_int_equal(s->done, 1);
        assert_string_equal(s->trouble, "");
        end(s);
    }
}

/* Answers are lost for longer than it waits: what was written is found, and undone. */
static void lost_answers(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    add_claim(s, "x", "local");
    volume_binder_set_timeout(s->binder, 10 * NSEC_PER_SEC);
    s->fake->mute = true;
    place(s, "p", "x", s->a);
    run_for(s, 60 * NSEC_PER_SEC);
    assert_int_equal(s->done, 0);
    assert_string_equal(disk->claim, "x");
    s->fake->mute = false;
    run_for(s, 60 * NSEC_PER_SEC);
    assert_int_equal(s->done, 1);
    assert_string_equal(disk->claim, "");
    assert_int_equal(volume_binder_busy(s->binder), 0);
    end(s);
}

/* One of two claims fails: the other's volume goes back, too. */
static void half_a_bind_is_undone(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *v = add_disk(s, "v", "a"), *w = add_disk(s, "w", "a");
    add_claim(s, "x", "local");
    add_claim(s, "y", "local");
    w->fail = 403;
    place(s, "p", "x y", s->a);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(v->claim, "");
    assert_string_equal(w->claim, "");
    assert_int_equal(v->releases, 1);
    end(s);
}

static void release_goes_on_until_it_is_done(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *v = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    place(s, "p", "x", s->a);
    run(s);
    v->fail = 500;
    claim->gone = true;
    show_claim(s, claim);
    run_for(s, 5 * NSEC_PER_SEC);
    assert_string_equal(v->claim, "");
    assert_int_equal(v->releases, 1);
    assert_int_equal(s->rooms, 1);
    end(s);
}

/* A volume that is about to be let go of is offered to nobody, however little is heard of it. */
static void released_volume_is_not_offered_before(void **state)
{
    (void)state;
    for (int behind = 0; behind < 2; behind++) {
        struct server *s = begin();
        struct disk *disk = add_disk(s, "v", "a");
        add_claim(s, "x", "local");
        add_claim(s, "y", "local");
        volume_binder_set_timeout(s->binder, 10 * NSEC_PER_SEC);
        s->behind = behind != 0;
        place(s, "p", "x", s->a);
        run(s);
        assert_string_equal(disk->claim, "x");
        s->fake->deaf = true;
        run_for(s, 10 * NSEC_PER_SEC);
        assert_int_equal(s->done, 1);
        struct pod_volumes *x = wants("x"), *y = wants("y");
        assert_answer(s->v, x, s->a, NO_MATCH);
        assert_answer(s->v, y, s->a, NO_MATCH);
        s->fake->deaf = false;
        s->behind = false;
        run_for(s, 30 * NSEC_PER_SEC);
        assert_string_equal(disk->claim, "");
        assert_answer(s->v, x, s->a, NULL);
        assert_answer(s->v, y, s->a, NULL);
        pod_volumes_unref(x);
        pod_volumes_unref(y);
        end(s);
    }
}

/* ---- several pods ---------------------------------------------------------------------------- */

static void pods_share_what_is_written(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    place(s, "p", "x", s->a);
    place(s, "q", "x", s->a);
    run(s);
    place(s, "r", "x", s->a);
    run(s);
    assert_int_equal(disk->patches, 1);
    tie(s, claim, disk);
    run(s);
    assert_int_equal(s->done, 3);
    assert_string_equal(s->trouble, "");
    end(s);
}

/* The one that was to write goes first: another takes over. */
static void another_writes_when_the_first_goes(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    s->fake->refusing = true;
    place(s, "p", "x", s->a);
    place(s, "q", "x", s->a);
    run(s);
    volumes_forget(s->v, "p");
    s->fake->refusing = false;
    run_for(s, 10 * NSEC_PER_SEC);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "the pod is not to be bound any more");
    assert_string_equal(disk->claim, "x");
    assert_int_equal(disk->releases, 0);
    tie(s, claim, disk);
    run(s);
    assert_int_equal(s->done, 2);
    assert_string_equal(s->trouble, "");
    end(s);
}

static void forgotten_pod_ends_and_may_come_again(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    place(s, "p", "x", s->a);
    run(s);
    volumes_forget(s->v, "p");
    assert_int_equal(s->done, 0);
    place(s, "p", "x", s->a);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "the pod is not to be bound any more");
    tie(s, claim, disk);
    run(s);
    assert_int_equal(s->done, 2);
    assert_string_equal(s->trouble, "");
    assert_int_equal(disk->releases, 0);
    end(s);
}

/* What is written stays, for the next scheduler to go on from. */
static void stop_waits_for_nothing(void **state)
{
    (void)state;
    struct server *s = begin();
    struct disk *disk = add_disk(s, "v", "a");
    add_claim(s, "x", "local");
    place(s, "p", "x", s->a);
    run(s);
    volume_binder_stop(s->binder);
    assert_int_equal(s->done, 0);
    run(s);
    assert_int_equal(s->done, 1);
    assert_string_equal(s->trouble, "the scheduler ends");
    assert_string_equal(disk->claim, "x");
    assert_int_equal(volume_binder_busy(s->binder), 0);
    end(s);
}

/* In the middle of everything. */
static void freed_with_work_under_way(void **state)
{
    (void)state;
    struct server *s = begin();
    add_disk(s, "v", "a");
    add_disk(s, "w", "a");
    struct ask_for *claim = add_claim(s, "x", "local");
    add_claim(s, "y", "local");
    place(s, "p", "x", s->a);
    run(s);
    claim->gone = true;
    show_claim(s, claim);
    s->fake->mute = true;
    run(s);
    place(s, "q", "y", s->a);
    run_for(s, 5 * NSEC_PER_MSEC);
    end(s);
}

int main(void)
{
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_to_bind),
        cmocka_unit_test(chosen_volume_is_marked_and_waited_for),
        cmocka_unit_test(node_is_noted_for_what_is_to_be_made),
        cmocka_unit_test(all_claims_are_waited_for),
        cmocka_unit_test(late_bind_is_undone),
        cmocka_unit_test(late_making_names_the_node),
        cmocka_unit_test(users_own_mark_is_kept),
        cmocka_unit_test(bound_volume_is_not_released),
        cmocka_unit_test(deleted_claim_ends_it),
        cmocka_unit_test(volumes_that_go_end_it),
        cmocka_unit_test(given_up_making_ends_it),
        cmocka_unit_test(wrong_volume_ends_it),
        cmocka_unit_test(refused_writes_end_it),
        cmocka_unit_test(stale_version_is_tried_again),
        cmocka_unit_test(volume_taken_meanwhile),
        cmocka_unit_test(write_in_doubt_is_read),
        cmocka_unit_test(lost_answers),
        cmocka_unit_test(half_a_bind_is_undone),
        cmocka_unit_test(release_goes_on_until_it_is_done),
        cmocka_unit_test(released_volume_is_not_offered_before),
        cmocka_unit_test(pods_share_what_is_written),
        cmocka_unit_test(another_writes_when_the_first_goes),
        cmocka_unit_test(forgotten_pod_ends_and_may_come_again),
        cmocka_unit_test(stop_waits_for_nothing),
        cmocka_unit_test(freed_with_work_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
