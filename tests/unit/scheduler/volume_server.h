/*
 * A small API server in memory with claims and volumes, and a volume binder before it; tests play
 * the controllers that bind and make volumes.
 */
#ifndef PUMICE_TESTS_UNIT_SCHEDULER_VOLUME_SERVER_H
#define PUMICE_TESTS_UNIT_SCHEDULER_VOLUME_SERVER_H

#include "served.h"
#include "volumes.h"

#include "base/vec.h"
#include "kube/fake_transport.h"
#include "scheduler/volumes/binder.h"
#include <stdio.h>

struct disk {
    char name[NAME_SIZE], host[NAME_SIZE];
    char claim[NAME_SIZE], claim_uid[NAME_SIZE]; /* "" for none */
    bool by_controller, gone;
    const char *phase;
    uint64_t rv;
    unsigned patches, releases;
    int fail;        /* status of the next patch, 0: none */
    bool fail_after; /* it takes effect all the same */
    int fail_reads;  /* status of all reads, 0: none */
};

struct ask_for {
    char name[NAME_SIZE], cls[NAME_SIZE], uid[NAME_SIZE];
    char volume[NAME_SIZE], node[NAME_SIZE]; /* "" for none */
    bool bound, gone;
    uint64_t rv;
    unsigned patches;
    int fail, fail_reads;
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

static inline struct str disk_json(struct arena *arena, const struct disk *disk)
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

static inline struct str claim_json(struct arena *arena, const struct ask_for *claim)
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

static inline void show(struct store *store, bool gone, struct str raw)
{
    uint64_t rv;
    assert_int_equal(store_watch_event(store, gone, raw, &rv, NULL), 0);
}

static inline void show_disk(struct server *s, struct disk *disk)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    disk->rv = ++s->rv;
    show(s->disks, disk->gone, disk_json(&arena, disk));
}

static inline void show_claim(struct server *s, struct ask_for *claim)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    claim->rv = ++s->rv;
    show(s->claims, claim->gone, claim_json(&arena, claim));
}

static inline bool holds(struct str json, const char *text)
{
    return str_find(json, str_of(text)) >= 0;
}

static inline void copy(char slot[NAME_SIZE], struct str text)
{
    snprintf(slot, NAME_SIZE, "%.*s", STR_ARG(text));
}

static inline bool is_current(struct str body, uint64_t rv)
{
    uint64_t said = 0;
    return str_to_u64(field(body, "resourceVersion"), &said) && said == rv;
}

static inline void patch_disk(struct disk *disk, struct str body)
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

static inline int serve_disk(struct server *s, struct disk *disk, const struct kube_call_spec *spec,
                             struct buf *body)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    if (!disk)
        return answer(body, 404);
    if (spec->method == KUBE_GET && disk->fail_reads)
        return answer(body, disk->fail_reads);
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

static inline int serve_claim(struct server *s, struct ask_for *claim,
                              const struct kube_call_spec *spec, struct buf *body)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    if (!claim)
        return answer(body, 404);
    if (spec->method == KUBE_GET && claim->fail_reads)
        return answer(body, claim->fail_reads);
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

static inline struct disk *find_disk(struct server *s, struct str name)
{
    for (size_t i = 0; i < s->disk_list.n; i++)
        if (!s->disk_list.items[i]->gone && str_is(name, s->disk_list.items[i]->name))
            return s->disk_list.items[i];
    return NULL;
}

static inline struct ask_for *find_claim(struct server *s, struct str name)
{
    for (size_t i = 0; i < s->claim_list.n; i++)
        if (!s->claim_list.items[i]->gone && str_is(name, s->claim_list.items[i]->name))
            return s->claim_list.items[i];
    return NULL;
}

static inline int serve(void *arg, const struct kube_call_spec *spec, struct buf *body)
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

static inline void claim_changed(void *arg, void *old, void *now)
{
    struct server *s = arg;
    struct claim *claim = now;
    const struct kube_meta *meta = claim ? &claim->meta : &((struct claim *)old)->meta;
    volumes_set_claim(s->v, meta->ns, meta->name, claim);
}

static inline void disk_changed(void *arg, void *old, void *now)
{
    struct server *s = arg;
    struct volume *volume = now;
    const char *name = (volume ? volume : (struct volume *)old)->meta.name;
    if (!s->behind)
        volumes_set_volume(s->v, name, volume);
}

static inline void room(void *arg)
{
    struct server *s = arg;
    s->rooms++;
}

static inline struct server *begin(void)
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

static inline void end(struct server *s)
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

static inline struct disk *add_disk(struct server *s, const char *name, const char *host)
{
    struct disk *disk = xnew(struct disk);
    copy(disk->name, str_of(name));
    copy(disk->host, str_of(host));
    disk->phase = "Available";
    vec_push(&s->disk_list, disk);
    show_disk(s, disk);
    return disk;
}

static inline struct ask_for *add_claim(struct server *s, const char *name, const char *cls)
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
static inline void tie(struct server *s, struct ask_for *claim, struct disk *disk)
{
    disk->phase = "Bound";
    copy(disk->claim, str_of(claim->name));
    copy(disk->claim_uid, str_of(claim->uid));
    show_disk(s, disk);
    copy(claim->volume, str_of(disk->name));
    claim->bound = true;
    show_claim(s, claim);
}

static inline void done(const char *trouble, void *arg)
{
    struct server *s = arg;
    s->done++;
    snprintf(s->trouble, sizeof(s->trouble), "%s", trouble ? trouble : "");
}

/* Places a pod with these claims on a node and begins to bind its volumes. */
static inline struct volume_bind *place(struct server *s, const char *pod, const char *claims,
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

static inline void run_for(struct server *s, int64_t ns)
{
    int64_t until = loop_now(s->loop) + ns;
    while (loop_now(s->loop) < until && loop_turn(s->loop, until - loop_now(s->loop)))
        ;
    audited(s->v);
}

static inline void run(struct server *s)
{
    run_for(s, NSEC_PER_SEC);
}

#endif
