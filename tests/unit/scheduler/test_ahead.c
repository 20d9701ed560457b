/*
 * Gangs whose pods share a claim for which a volume is to be made: it is made before any of them is
 * bound, if nothing else is in their way.
 */
#include "cluster.h"
#include "scheduler/volumes/binder.h"
#include "volumes.h"

#define MANY "[\"ReadWriteMany\"]"
#define ONE "[\"ReadWriteOnce\"]"

/* A cluster with a claim "c" and whoever binds volumes. */
struct world {
    struct cluster *c;
    struct store *claims, *disks;
    struct store_handler handler;
    const char *modes;
    char node[64]; /* for which a volume was asked, "" for none */
    const char *volume;
    unsigned patches;
};

static struct volumes *volumes_of(const struct world *w)
{
    return w->c->scheduler->cache.volumes;
}

static struct str claim_json(struct arena *arena, const struct world *w)
{
    return arena_printf(
        arena,
        "{\"metadata\":{\"name\":\"c\",\"namespace\":\"ns\",\"uid\":\"u-c\",\"resourceVersion\":\"%"
        "llu\","
        "\"annotations\":{%s%s%s%s}},\"spec\":{\"accessModes\":%s,\"storageClassName\":\"made\","
        "\"volumeName\":\"%s\"}}",
        (unsigned long long)++w->c->rv, w->volume ? BOUND_SIGN "," : "",
        w->node[0] ? "\"volume.kubernetes.io/selected-node\":\"" : "\"x\":\"",
        w->node[0] ? w->node : "y", "\"", w->modes, w->volume ? w->volume : "");
}

static void show_claim(struct world *w)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    show(w->claims, false, false, claim_json(&arena, w));
}

static void claim_changed(void *arg, void *old_object, void *new_object)
{
    struct world *w = arg;
    (void)old_object;
    if (volumes_set_claim(volumes_of(w), "ns", "c", new_object)) {
        cache_room(&w->c->scheduler->cache);
        scheduler_wake(w->c->scheduler);
    }
}

static int serve_claims(void *arg, const struct kube_call_spec *spec, struct buf *body)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct world *w = arg;
    if (str_find(spec->path, STR("/persistentvolumeclaims/")) < 0)
        return serve(w->c, spec, body);
    if (spec->method == KUBE_PATCH) {
        w->patches++;
        snprintf(w->node, sizeof(w->node), "%.*s",
                 STR_ARG(field(spec->body, "volume.kubernetes.io/selected-node")));
    }
    buf_add_str(body, claim_json(&arena, w));
    return 200;
}

/* `nodes` of one CPU each. */
static struct world *world_new(unsigned nodes, const char *modes)
{
    struct world *w = xnew(struct world);
    w->modes = modes;
    w->c = cluster_new("actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n"
                       "  - name: gang\n  - name: predicates\n  - name: nodeorder\n");
    w->c->fake->handler = serve_claims;
    w->c->fake->arg = w;
    w->claims = store_new(&claim_store_type);
    w->disks = store_new(&volume_store_type);
    sync_store(w->claims, 0);
    sync_store(w->disks, 0);
    w->handler = (struct store_handler){.changed = claim_changed, .arg = w};
    list_init(&w->handler.link);
    store_subscribe(w->claims, &w->handler);
    w->c->scheduler->volume_binder =
        volume_binder_new(&(struct volume_binder_params){.loop = w->c->loop,
                                                         .transport = &w->c->fake->base,
                                                         .window = w->c->window,
                                                         .claims = w->claims,
                                                         .persistent_volumes = w->disks,
                                                         .volumes = volumes_of(w)});
    add_nodes(w->c, nodes, 1);
    put_class(volumes_of(w), "made", "csi.test", WAITS, "");
    show_claim(w);
    return w;
}

static void world_free(struct world *w)
{
    check(w->c);
    list_remove(&w->handler.link);
    cluster_free(w->c);
    store_free(w->claims);
    store_free(w->disks);
    free(w);
}

static struct test_group *add_sharers(struct world *w, const char *name, unsigned count)
{
    cleanup_free char *spec = xasprintf("\"minMember\":%u", count);
    struct test_group *group = add_group(w->c, name, spec);
    for (unsigned i = 0; i < count; i++) {
        cleanup_free char *pod = xasprintf("%s-%u", name, i);
        add_pod_spec(
            w->c, pod, name, "w",
            ",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],\"volumes\":[{"
            "\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]");
    }
    return group;
}

/* Whoever makes volumes has made one, which every node reaches, or that node alone. */
static void make_volume(struct world *w, const char *host)
{
    cleanup_free char *reach =
        host ? xasprintf(REACHED_FROM("kubernetes.io/hostname", "%s"), host) : xstrdup("");
    put_volume_with(volumes_of(w), "pv", "", reach, "Bound");
    w->volume = "pv";
    show_claim(w);
}

static void the_volume_is_made_before_the_pods_are_bound(void **state)
{
    (void)state;
    struct world *w = world_new(3, MANY);
    add_sharers(w, "g", 2);
    run(w->c);
    assert_int_equal(bound(w->c, "g", NULL), 0);
    assert_int_equal(w->patches, 1);
    assert_string_equal(w->node, "n0");
    run_for(w->c, 40 * NSEC_PER_SEC); /* nobody is asked twice */
    assert_int_equal(w->patches, 1);
    assert_int_equal(bound(w->c, "g", NULL), 0);
    make_volume(w, NULL);
    run(w->c);
    assert_int_equal(bound(w->c, "g", NULL), 2);
    assert_string_not_equal(find_pod(w->c, "g-0")->node, find_pod(w->c, "g-1")->node);
    world_free(w);
}

/* It is there, but not where the gang could use it: that is then the reason. */
static void the_volume_may_turn_out_to_be_elsewhere(void **state)
{
    (void)state;
    struct world *w = world_new(3, MANY);
    struct test_group *g = add_sharers(w, "g", 2);
    run(w->c);
    assert_int_equal(w->patches, 1);
    make_volume(w, "elsewhere");
    run_for(w->c, 70 * NSEC_PER_SEC);
    assert_int_equal(bound(w->c, "g", NULL), 0);
    assert_says(g, "3 node(s) didn't match PersistentVolume's node affinity");
    world_free(w);
}

static void nothing_is_made_while_something_else_is_in_the_way(void **state)
{
    (void)state;
    struct world *w = world_new(3, MANY);
    struct test_group *g = add_sharers(w, "g", 4);
    run_for(w->c, 70 * NSEC_PER_SEC);
    assert_int_equal(w->patches, 0);
    assert_says(g, "2 node(s) didn't find available persistent volumes to bind");
    add_nodes(w->c, 4, 1);
    run_for(w->c, 40 * NSEC_PER_SEC);
    assert_int_equal(w->patches, 1);
    world_free(w);
}

/* One node alone may use it: pods elsewhere would wait for it there. */
static void volumes_of_one_node_are_not_shared(void **state)
{
    (void)state;
    struct world *w = world_new(3, ONE);
    add_sharers(w, "g", 2);
    run_for(w->c, 70 * NSEC_PER_SEC);
    assert_int_equal(w->patches, 0);
    assert_int_equal(bound(w->c, "g", NULL), 0);
    world_free(w);
}

/* Nobody made it in time; what was chosen is let go, and the note on the claim stays. */
static void a_volume_may_never_be_made(void **state)
{
    (void)state;
    struct world *w = world_new(3, MANY);
    struct test_group *g = add_sharers(w, "g", 2);
    run_for(w->c, VOLUME_BIND_TIMEOUT + 10 * NSEC_PER_SEC);
    assert_int_equal(w->patches, 1);
    assert_int_equal(volume_binder_busy(w->c->scheduler->volume_binder), 0);
    end_pods_of(w->c, g, true);
    w->node[0] = '\0'; /* whoever was to make it has given up */
    show_claim(w);
    add_sharers(w, "h", 3);
    run(w->c);
    assert_int_equal(w->patches, 2);
    make_volume(w, NULL);
    run(w->c);
    assert_int_equal(bound(w->c, "h", NULL), 3);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_volume_is_made_before_the_pods_are_bound),
        cmocka_unit_test(the_volume_may_turn_out_to_be_elsewhere),
        cmocka_unit_test(nothing_is_made_while_something_else_is_in_the_way),
        cmocka_unit_test(volumes_of_one_node_are_not_shared),
        cmocka_unit_test(a_volume_may_never_be_made),
    };
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
