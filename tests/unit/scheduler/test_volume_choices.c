/*
 * Choices for claims of placed pods: what they take, that they are taken back exactly, and that
 * what is kept by differences equals what is worked out afresh.
 */
#include "volumes.h"

#include "base/rng.h"
#include "scheduler/volumes/records.h"

/* All there is, without versions. */
static void dump(const struct volumes *v, struct buf *out)
{
    struct str key;
    void *value;
    buf_reset(out);
    for (size_t i = 0; map_next(&v->claims, &i, &key, &value);) {
        const struct claim_record *claim = value;
        buf_printf(out, "claim %s %u %s %s\n", claim->key, claim->users,
                   claim->names ? claim->names->name : "-",
                   !claim->choice          ? "-"
                   : claim->choice->volume ? claim->choice->volume->name
                                           : claim->choice->node);
    }
    for (size_t i = 0; map_next(&v->volumes, &i, &key, &value);) {
        const struct volume_record *volume = value;
        buf_printf(out, "volume %s %s %s\n", volume->name, volume->object ? "there" : "-",
                   volume->taken ? volume->taken->claim->key : "-");
    }
    for (size_t i = 0; map_next(&v->nodes, &i, &key, &value);) {
        const struct node_record *node = value;
        size_t users = 0;
        for (size_t k = 0; k < node->attached.n; k++)
            users += node->attached.items[k].users;
        buf_printf(out, "node %s %zu %zu\n", node->name, node->attached.n, users);
    }
    for (size_t i = 0; map_next(&v->plans, &i, &key, &value);)
        buf_printf(out, "plan %.*s %u\n", STR_ARG(key), ((const struct plan *)value)->n);
}

/* What the claim is to have: a volume, or a node to have it made on; "" for nothing. */
static const char *choice_of(const struct volumes *v, const char *claim)
{
    cleanup_free char *key = xasprintf("ns/%s", claim);
    const struct claim_record *record = claim_find(v, key);
    if (!record || !record->choice)
        return "";
    return record->choice->volume ? record->choice->volume->name : record->choice->node;
}

static void smallest_volume_is_chosen(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("zone");
    struct pod_volumes *w = wants("x");
    put_class(f.v, "local", NO_PROVISIONER, WAITS, "");
    put_claim(f.v, "x", "local", 2);
    put_volume(f.v, "v9", "local", 9, "");
    put_local(f.v, "v5", "local", 5, "a");
    put_local(f.v, "v4", "local", 4, "a");
    put_volume(f.v, "v3", "local", 3, REACHED_FROM("zone", "b"));
    put_volume(f.v, "v1", "local", 1, "");
    assert_true(volumes_assume(f.v, "p", w, f.a));
    assert_string_equal(choice_of(f.v, "x"), "v4");
    volumes_forget(f.v, "p");
    assert_true(volumes_assume(f.v, "p", w, f.b));
    assert_string_equal(choice_of(f.v, "x"), "v3");
    volumes_forget(f.v, "p");
    put_volume(f.v, "v2", "local", 2, "");
    assert_true(volumes_assume(f.v, "p", w, f.a));
    assert_string_equal(choice_of(f.v, "x"), "v2");
    volumes_forget(f.v, "p");
    volumes_forget(f.v, "p");
    put_volume(f.v, "v0", "local", 2, ""); /* of two of one size the first by name */
    assert_true(volumes_assume(f.v, "p", w, f.a));
    assert_string_equal(choice_of(f.v, "x"), "v0");
    volumes_forget(f.v, "p");
    assert_string_equal(choice_of(f.v, "x"), "");
    pod_volumes_unref(w);
    fixture_end(&f);
}

static void chosen_volume_is_nobody_elses(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("zone");
    struct pod_volumes *x = wants("x"), *y = wants("y");
    put_class(f.v, "local", NO_PROVISIONER, WAITS, "");
    put_claim(f.v, "x", "local", 1);
    put_claim(f.v, "y", "local", 1);
    put_local(f.v, "va", "local", 1, "a");
    put_local(f.v, "vb", "local", 1, "b");
    assert_answer(f.v, y, f.a, NULL);
    uint64_t version = volumes_version(f.v, y);
    assert_true(volumes_assume(f.v, "px", x, f.a));
    assert_true(volumes_version(f.v, y) > version);
    assert_true(volumes_has_choices(f.v, "px"));
    assert_answer(f.v, y, f.a, NO_MATCH);
    assert_answer(f.v, y, f.b, NULL);
    assert_false(volumes_assume(f.v, "py", y, f.a));
    assert_false(volumes_has_choices(f.v, "py"));
    version = volumes_version(f.v, y);
    volumes_forget(f.v, "px");
    assert_true(volumes_version(f.v, y) > version);
    assert_answer(f.v, y, f.a, NULL);
    pod_volumes_unref(x);
    pod_volumes_unref(y);
    fixture_end(&f);
}

/* Other pods with the claim go where its volume will be. */
static void pods_share_the_choice_of_a_claim(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("zone");
    struct pod_volumes *x = wants("x"), *xy = wants("x y");
    put_class(f.v, "local", NO_PROVISIONER, WAITS, "");
    put_class(f.v, "cloud", "d", WAITS, "");
    put_claim(f.v, "x", "local", 1);
    put_claim(f.v, "y", "cloud", 1);
    put_local(f.v, "va", "local", 1, "a");
    put_local(f.v, "vb", "local", 1, "b");
    assert_true(volumes_assume(f.v, "p1", x, f.a));
    assert_answer(f.v, x, f.b, NO_MATCH);
    assert_answer(f.v, xy, f.a, NULL);
    assert_true(volumes_assume(f.v, "p2", xy, f.a));
    assert_string_equal(choice_of(f.v, "y"), "a");
    volumes_forget(f.v, "p1");
    assert_string_equal(choice_of(f.v, "x"), "va"); /* p2 has it still */
    assert_answer(f.v, xy, f.b, NO_MATCH);
    volumes_forget(f.v, "p2");
    assert_answer(f.v, xy, f.b, NULL);
    pod_volumes_unref(x);
    pod_volumes_unref(xy);
    fixture_end(&f);
}

/* One that would have been made is not chosen where one is there. */
static void what_is_there_comes_before_what_is_made(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("zone");
    struct pod_volumes *x = wants("x"), *y = wants("y");
    put_class(f.v, "cloud", "d", WAITS, "");
    put_claim(f.v, "x", "cloud", 1);
    put_claim(f.v, "y", "cloud", 1);
    put_volume(f.v, "v", "cloud", 1, "");
    assert_true(volumes_assume(f.v, "px", x, f.a));
    assert_string_equal(choice_of(f.v, "x"), "v");
    assert_true(volumes_assume(f.v, "py", y, f.b));
    assert_string_equal(choice_of(f.v, "y"), "b");
    assert_answer(f.v, y, f.a, NO_MATCH);
    volumes_forget(f.v, "px");
    volumes_forget(f.v, "py");
    pod_volumes_unref(x);
    pod_volumes_unref(y);
    fixture_end(&f);
}

static void choice_outlives_its_objects(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("zone");
    struct pod_volumes *x = wants("x"), *y = wants("y");
    put_class(f.v, "local", NO_PROVISIONER, WAITS, "");
    put_claim(f.v, "x", "local", 1);
    put_claim(f.v, "y", "local", 1);
    put_volume(f.v, "v", "local", 1, "");
    assert_true(volumes_assume(f.v, "px", x, f.a));
    /* It is kept for another claim meanwhile: that one waits until the choice is gone. */
    put_volume(f.v, "v", "local", 1, ",\"claimRef\":{\"namespace\":\"ns\",\"name\":\"y\"}");
    assert_answer(f.v, y, f.a, NO_MATCH);
    cut_claim(f.v, "x");
    volumes_set_volume(f.v, "v", NULL);
    volumes_set_class(f.v, "local", NULL);
    audited(f.v);
    volumes_forget(f.v, "px");
    audited(f.v);
    assert_null(claim_find(f.v, "ns/x"));
    assert_null(volume_find(f.v, "v"));
    put_class(f.v, "local", NO_PROVISIONER, WAITS, "");
    put_volume(f.v, "v", "local", 1, ",\"claimRef\":{\"namespace\":\"ns\",\"name\":\"y\"}");
    assert_answer(f.v, y, f.a, NULL);
    pod_volumes_unref(x);
    pod_volumes_unref(y);
    fixture_end(&f);
}

static void choice_follows_its_volume(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("zone");
    struct pod_volumes *x = wants("x");
    put_class(f.v, "local", NO_PROVISIONER, WAITS, "");
    put_claim(f.v, "x", "local", 1);
    put_local(f.v, "v", "local", 1, "a");
    assert_true(volumes_assume(f.v, "p", x, f.a));
    assert_answer(f.v, x, f.a, NULL);
    put_local(f.v, "v", "other", 1, "a");
    assert_answer(f.v, x, f.b, NO_MATCH);
    put_local(f.v, "v", "other", 1, "b");
    assert_answer(f.v, x, f.a, NO_MATCH);
    assert_answer(f.v, x, f.b, NULL);
    volumes_forget(f.v, "p");
    assert_answer(f.v, x, f.b, NO_MATCH);
    pod_volumes_unref(x);
    fixture_end(&f);
}

/* It ends with its volumes, whatever was left in them. */
static void free_takes_all_along(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("zone");
    struct pod_volumes *x = wants("x");
    put_class(f.v, "cloud", "d", WAITS, "");
    put_claim(f.v, "x", "cloud", 1);
    put_csinode(f.v, "a", "d", 5);
    assert_true(volumes_assume(f.v, "p", x, f.a));
    volumes_attach(f.v, x, "a");
    volumes_attach(f.v, x, "b");
    pod_volumes_unref(x);
    fixture_end(&f);
}

/* ---- by chance ------------------------------------------------------------------------------- */

#define NODES 3
#define CLAIMS 5
#define VOLUMES 5
#define PODS 7

static const char *const node_names[NODES] = {"n0", "n1", "n2"};

struct world {
    struct rng rng;
    struct volumes *v;
    struct node *nodes[NODES];
    struct pod_volumes *pods[PODS];
    char *claims[CLAIMS], *volumes[VOLUMES], *classes[2], *csinodes[NODES]; /* JSON; NULL: none */
    uint32_t there[PODS][NODES];                                            /* pods on nodes */
    unsigned moves[NODES]; /* of pods to and from it */
    const char *answers[PODS][NODES];
    const char *crowded[PODS][NODES]; /* when `moves` was `seen` */
    unsigned seen[PODS][NODES];
    uint64_t versions[PODS];
};

static unsigned below(struct world *w, unsigned n)
{
    return (unsigned)rng_below(&w->rng, n);
}

static void set_claim(struct volumes *v, unsigned i, const char *json)
{
    cleanup_free char *name = xasprintf("c%u", i);
    struct claim *claim = json ? claim_decode(str_of(json), NULL) : NULL;
    assert_true(claim || !json);
    volumes_set_claim(v, "ns", name, claim);
    claim_unref(claim);
}

static void set_volume(struct volumes *v, unsigned i, const char *json)
{
    cleanup_free char *name = xasprintf("v%u", i);
    struct volume *volume = json ? volume_decode(str_of(json), NULL) : NULL;
    assert_true(volume || !json);
    volumes_set_volume(v, name, volume);
    volume_unref(volume);
}

static void set_class(struct volumes *v, unsigned i, const char *json)
{
    cleanup_free char *name = xasprintf("s%u", i);
    struct storageclass *cls = json ? storageclass_decode(str_of(json), NULL) : NULL;
    assert_true(cls || !json);
    volumes_set_class(v, name, cls);
    storageclass_unref(cls);
}

static void set_csinode(struct volumes *v, unsigned i, const char *json)
{
    cleanup_free char *name = xasprintf("n%u", i);
    struct csinode *csinode = json ? csinode_decode(str_of(json), NULL) : NULL;
    assert_true(csinode || !json);
    volumes_set_csinode(v, name, csinode);
    csinode_unref(csinode);
}

static char *some_claim(struct world *w, unsigned i)
{
    bool bound = below(w, 2), selected = below(w, 6) == 0;
    cleanup_free char *node =
        selected ? xasprintf("\"volume.kubernetes.io/selected-node\":\"n%u\"", below(w, NODES))
                 : xstrdup("\"x\":\"y\"");
    cleanup_free char *volume =
        bound ? xasprintf(",\"volumeName\":\"v%u\"", below(w, VOLUMES)) : xstrdup("");
    return xasprintf(
        "{\"metadata\":{\"name\":\"c%u\",\"namespace\":\"ns\",\"uid\":\"u%u\","
        "\"annotations\":{%s%s}},\"spec\":{\"storageClassName\":\"s%u\",\"accessModes\":"
        "[\"%s\"],\"resources\":{\"requests\":{\"storage\":\"%u\"}}%s}}",
        i, below(w, 2), node, bound ? "," BOUND_SIGN : "", below(w, 2),
        below(w, 3) ? "ReadWriteOnce" : "ReadWriteOncePod", below(w, 4), volume);
}

static char *some_volume(struct world *w, unsigned i)
{
    static const char *const places[] = {"kubernetes.io/hostname", "zone"};
    unsigned place = below(w, 3), node = below(w, NODES);
    cleanup_free char *affinity =
        place == 2 ? xstrdup("")
                   : xasprintf(",\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{"
                               "\"matchExpressions\":[{\"key\":\"%s\",\"operator\":\"In\","
                               "\"values\":[\"n%u\"]}]}]}}",
                               places[place], node);
    cleanup_free char *keeps =
        below(w, 3) ? xstrdup("")
                    : xasprintf(",\"claimRef\":{\"namespace\":\"ns\",\"name\":\"c%u\"%s}",
                                below(w, CLAIMS), below(w, 2) ? ",\"uid\":\"u0\"" : "");
    return xasprintf(
        "{\"metadata\":{\"name\":\"v%u\",\"uid\":\"v%u\",\"labels\":{\"topology."
        "kubernetes.io/zone\":\"z%u\"}},\"spec\":{\"storageClassName\":\"s%u\","
        "\"accessModes\":[\"ReadWriteOnce\",\"ReadWriteOncePod\"],\"capacity\":{"
        "\"storage\":\"%u\"},\"csi\":{\"driver\":\"d%u\",\"volumeHandle\":\"h%u\"}%s%s},"
        "\"status\":{\"phase\":\"%s\"}}",
        i, i, below(w, 2), below(w, 2), below(w, 5), below(w, 2), below(w, VOLUMES), affinity,
        keeps, below(w, 5) ? "Available" : "Bound");
}

static char *some_class(struct world *w, unsigned i)
{
    return xasprintf(
        "{\"metadata\":{\"name\":\"s%u\"},\"provisioner\":\"%s\",\"volumeBindingMode\":"
        "\"%s\"}",
        i, below(w, 2) ? NO_PROVISIONER : "d0", below(w, 5) ? WAITS : "Immediate");
}

static char *some_csinode(struct world *w, unsigned i)
{
    return xasprintf("{\"metadata\":{\"name\":\"n%u\"},\"spec\":{\"drivers\":[{\"name\":\"d%u\","
                     "\"allocatable\":{\"count\":%u}}]}}",
                     i, below(w, 2), below(w, 3));
}

static void swap(char **slot, char *json)
{
    free(*slot);
    *slot = json;
}

/* One object changes, comes or goes. */
static void change_something(struct world *w)
{
    bool gone = below(w, 4) == 0;
    unsigned i;
    switch (below(w, 8)) {
    case 0:
        i = below(w, 2);
        swap(&w->classes[i], gone ? NULL : some_class(w, i));
        set_class(w->v, i, w->classes[i]);
        break;
    case 1:
        i = below(w, NODES);
        swap(&w->csinodes[i], gone ? NULL : some_csinode(w, i));
        set_csinode(w->v, i, w->csinodes[i]);
        break;
    case 2:
    case 3:
    case 4:
        i = below(w, CLAIMS);
        swap(&w->claims[i], gone ? NULL : some_claim(w, i));
        set_claim(w->v, i, w->claims[i]);
        break;
    default:
        i = below(w, VOLUMES);
        swap(&w->volumes[i], gone ? NULL : some_volume(w, i));
        set_volume(w->v, i, w->volumes[i]);
    }
}

/* A pod comes to a node, or leaves it. */
static void move_something(struct world *w)
{
    unsigned pod = below(w, PODS), node = below(w, NODES);
    w->moves[node]++;
    if (w->there[pod][node] && below(w, 2)) {
        w->there[pod][node]--;
        volumes_detach(w->v, w->pods[pod], node_names[node]);
    } else if (w->there[pod][node] < 3) {
        w->there[pod][node]++;
        volumes_attach(w->v, w->pods[pod], node_names[node]);
    }
}

/* The same world, made in one go. Answers of the one are none of the other's: their texts are. */
static void compare_with_fresh(struct world *w)
{
    char *answers[PODS][NODES];
    for (unsigned p = 0; p < PODS; p++)
        for (unsigned n = 0; n < NODES; n++) {
            const char *reason = volumes_refuse(w->v, w->pods[p], w->nodes[n]);
            answers[p][n] = xstrdup(reason ? reason : "");
        }
    asks_sweep(w->v, true);
    struct volumes *fresh = volumes_new();
    for (unsigned i = 0; i < 2; i++)
        set_class(fresh, i, w->classes[i]);
    for (unsigned i = 0; i < NODES; i++)
        set_csinode(fresh, i, w->csinodes[i]);
    for (unsigned i = 0; i < VOLUMES; i++)
        set_volume(fresh, i, w->volumes[i]);
    for (unsigned i = 0; i < CLAIMS; i++)
        set_claim(fresh, i, w->claims[i]);
    for (unsigned p = 0; p < PODS; p++)
        for (unsigned n = 0; n < NODES; n++)
            for (uint32_t k = 0; k < w->there[p][n]; k++)
                volumes_attach(fresh, w->pods[p], node_names[n]);
    for (unsigned p = 0; p < PODS; p++)
        for (unsigned n = 0; n < NODES; n++) {
            const char *reason = volumes_refuse(fresh, w->pods[p], w->nodes[n]);
            assert_string_equal(reason ? reason : "", answers[p][n]);
            free(answers[p][n]);
        }
    volumes_free(fresh);
}

static void keep(const char **slot, const char *answer, bool same)
{
    const char *kept = answer ? intern_get(str_of(answer)) : NULL;
    if (same)
        assert_ptr_equal(kept, *slot);
    intern_put(*slot);
    *slot = kept;
}

/* An answer that changed, though its version did not, would not be asked for again. */
static void check_versions(struct world *w)
{
    for (unsigned p = 0; p < PODS; p++) {
        uint64_t version = volumes_version(w->v, w->pods[p]);
        bool same = version == w->versions[p];
        assert_true(version >= w->versions[p]);
        for (unsigned n = 0; n < NODES; n++) {
            keep(&w->answers[p][n], volumes_filter(w->v, w->pods[p], w->nodes[n]), same);
            keep(&w->crowded[p][n], volumes_crowded(w->v, w->pods[p], w->nodes[n]->meta.name),
                 same && w->seen[p][n] == w->moves[n]);
            w->seen[p][n] = w->moves[n];
        }
        w->versions[p] = version;
    }
}

#define PLACES 8

struct placed {
    char *uid; /* owned */
    unsigned pod, node;
};

/* Places some pods in memory; returns how many. */
static unsigned place_some(struct world *w, struct placed placed[PLACES])
{
    unsigned count = 0;
    for (unsigned tries = 0; tries < 12 && count < PLACES; tries++) {
        unsigned pod = below(w, PODS), node = below(w, NODES);
        char *uid = xasprintf("placed-%u", tries);
        bool fits = !volumes_refuse(w->v, w->pods[pod], w->nodes[node]);
        if (fits) {
            assert_true(volumes_assume(w->v, uid, w->pods[pod], w->nodes[node]));
            w->moves[node]++;
            volumes_attach(w->v, w->pods[pod], node_names[node]);
            placed[count++] = (struct placed){uid, pod, node};
        } else {
            free(uid);
        }
        audited(w->v);
        check_versions(w);
    }
    return count;
}

static void undo_all(struct world *w, struct placed placed[PLACES], unsigned count)
{
    while (count--) {
        w->moves[placed[count].node]++;
        volumes_detach(w->v, w->pods[placed[count].pod], node_names[placed[count].node]);
        volumes_forget(w->v, placed[count].uid);
        free(placed[count].uid);
        audited(w->v);
        check_versions(w);
    }
}

/* Nothing is left of what was placed and taken back. */
static void place_and_undo(struct world *w)
{
    cleanup_buf struct buf before = BUF_INIT(65536), after = BUF_INIT(65536);
    struct placed placed[PLACES];
    dump(w->v, &before);
    undo_all(w, placed, place_some(w, placed));
    dump(w->v, &after);
    assert_slice(buf_str(&after), before.p ? before.p : "", __FILE__, __LINE__);
}

/* The world goes on while pods are placed. */
static void place_and_change(struct world *w)
{
    struct placed placed[PLACES];
    unsigned count = place_some(w, placed);
    for (int i = 0; i < 4; i++) {
        change_something(w);
        audited(w->v);
        check_versions(w);
    }
    undo_all(w, placed, count);
}

static void world_init(struct world *w, uint64_t seed)
{
    static const char *const claims[PODS] = {"c0", "c1", "c2", "c3 c4", "c0 c1 c2", "c4", NULL};
    *w = (struct world){.v = volumes_new()};
    rng_seed(&w->rng, seed);
    for (unsigned i = 0; i < NODES; i++) {
        cleanup_free char *name = xasprintf("n%u", i);
        cleanup_free char *labels =
            i < 2 ? xasprintf(",\"zone\":\"n%u\",\"topology.kubernetes.io/zone\":\"z%u\"", i, i)
                  : xstrdup("");
        w->nodes[i] = node_with(name, labels);
    }
    for (unsigned i = 0; i < PODS; i++)
        w->pods[i] = claims[i]
                         ? wants(claims[i])
                         : wanted_of("p", "[{\"awsElasticBlockStore\":{\"volumeID\":\"x\"}}]");
}

static void world_clear(struct world *w)
{
    for (unsigned p = 0; p < PODS; p++) {
        for (unsigned n = 0; n < NODES; n++) {
            intern_put(w->answers[p][n]);
            intern_put(w->crowded[p][n]);
        }
        pod_volumes_unref(w->pods[p]);
    }
    volumes_free(w->v);
    for (unsigned i = 0; i < NODES; i++) {
        node_unref(w->nodes[i]);
        free(w->csinodes[i]);
    }
    for (unsigned i = 0; i < CLAIMS; i++)
        free(w->claims[i]);
    for (unsigned i = 0; i < VOLUMES; i++)
        free(w->volumes[i]);
    for (unsigned i = 0; i < 2; i++)
        free(w->classes[i]);
}

static void differences_equal_a_recount(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct world w;
        world_init(&w, seed);
        for (unsigned step = 0; step < 300; step++) {
            if (below(&w, 3))
                change_something(&w);
            else
                move_something(&w);
            audited(w.v);
            check_versions(&w);
            if (step % 5 == 0)
                compare_with_fresh(&w);
            if (step % 7 == 0)
                place_and_undo(&w);
            if (step % 11 == 0)
                place_and_change(&w);
        }
        world_clear(&w);
        assert_int_equal(pod_volumes_count(), 0);
        assert_int_equal(intern_count(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smallest_volume_is_chosen),
        cmocka_unit_test(chosen_volume_is_nobody_elses),
        cmocka_unit_test(pods_share_the_choice_of_a_claim),
        cmocka_unit_test(what_is_there_comes_before_what_is_made),
        cmocka_unit_test(choice_outlives_its_objects),
        cmocka_unit_test(choice_follows_its_volume),
        cmocka_unit_test(free_takes_all_along),
        cmocka_unit_test(differences_equal_a_recount),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
