/*
 * Whether a pod's volumes let it run on a node: claims, volumes, classes, zones and limits.
 */
#include "volumes.h"

static void pods_without_volumes_fit(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    assert_answer(f.v, NULL, f.a, NULL);
    assert_int_equal(volumes_version(f.v, NULL), 0);
    assert_true(volumes_assume(f.v, "u", NULL, f.a));
    volumes_attach(f.v, NULL, "a");
    volumes_detach(f.v, NULL, "a");
    volumes_forget(f.v, "u");
    fixture_end(&f);
}

static void claims_must_be_there(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *w = wants("x");
    assert_answer(f.v, w, f.a, "persistentvolumeclaim \"x\" not found");
    assert_ptr_equal(volumes_filter(f.v, w, f.a), volumes_filter(f.v, w, f.b));
    uint64_t version = volumes_version(f.v, w);
    assert_true(put_bound(f.v, "x", "vol"));
    assert_true(volumes_version(f.v, w) > version);
    assert_answer(f.v, w, f.a, "persistentvolume \"vol\" not found");
    assert_true(put_volume(f.v, "vol", "", 1, ""));
    assert_answer(f.v, w, f.a, NULL);
    version = volumes_version(f.v, w);
    assert_false(cut_claim(f.v, "x"));
    assert_true(volumes_version(f.v, w) > version);
    assert_answer(f.v, w, f.a, "persistentvolumeclaim \"x\" not found");
    pod_volumes_unref(w);
    fixture_end(&f);
}

static void claims_must_be_sound(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *w = wants("x");
    put_volume(f.v, "vol", "", 1, "");
    put_claim_with(f.v, "x", BOUND_SIGN, ",\"volumeName\":\"vol\"",
                   ",\"deletionTimestamp\":\"2026-11-30T00:00:00Z\"");
    assert_answer(f.v, w, f.a, "persistentvolumeclaim \"x\" is being deleted");
    struct claim *lost = claim_decode(
        STR("{\"metadata\":{\"name\":\"x\",\"namespace\":\"ns\",\"uid\":\"c-x\"},\"spec\":{"
            "\"volumeName\":\"vol\"},\"status\":{\"phase\":\"Lost\"}}"),
        NULL);
    volumes_set_claim(f.v, "ns", "x", lost);
    claim_unref(lost);
    assert_answer(f.v, w, f.a,
                  "persistentvolumeclaim \"x\" bound to non-existent persistentvolume \"vol\"");
    pod_volumes_unref(w);
    fixture_end(&f);
}

static void ephemeral_claims_are_the_pods_own(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *w = wanted_of("p", "[{\"name\":\"e\",\"ephemeral\":{}}]");
    assert_answer(f.v, w, f.a,
                  "waiting for ephemeral volume controller to create the persistentvolumeclaim "
                  "\"p-e\"");
    put_bound(f.v, "p-e", "vol");
    assert_answer(f.v, w, f.a, "PVC ns/p-e was not created for pod ns/p (pod is not owner)");
    put_claim_with(f.v, "p-e", BOUND_SIGN, ",\"volumeName\":\"vol\"",
                   ",\"ownerReferences\":[{\"uid\":\"p-p\",\"controller\":true}]");
    assert_answer(f.v, w, f.a,
                  "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
    /* The zone of such volumes is not looked at. */
    put_volume_with(f.v, "vol", ",\"labels\":{\"topology.kubernetes.io/zone\":\"a\"}", "", "Bound");
    assert_answer(f.v, w, f.a, NULL);
    assert_answer(f.v, w, f.b, NULL);
    pod_volumes_unref(w);
    fixture_end(&f);
}

static void claims_bound_at_once_must_be_bound(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *w = wants("x");
    put_claim(f.v, "x", "", 1);
    assert_answer(f.v, w, f.a, UNBOUND);
    put_claim(f.v, "x", "fast", 1);
    assert_answer(f.v, w, f.a, UNBOUND); /* a class that there is not */
    put_class(f.v, "fast", "d.example", "Immediate", "");
    assert_answer(f.v, w, f.a, UNBOUND);
    put_class(f.v, "fast", "d.example", WAITS, "");
    assert_answer(f.v, w, f.a, NULL);
    /* One for which the user chose the volume is not for us to bind. */
    put_claim_with(f.v, "x", "", ",\"storageClassName\":\"fast\",\"volumeName\":\"vol\"", "");
    assert_answer(f.v, w, f.a, UNBOUND);
    pod_volumes_unref(w);
    fixture_end(&f);
}

static void bound_volumes_must_be_reached(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *w = wants("x");
    put_bound(f.v, "x", "vol");
    put_local(f.v, "vol", "", 1, "a");
    assert_answer(f.v, w, f.a, NULL);
    assert_answer(f.v, w, f.b, WRONG_NODE);
    put_volume_with(f.v, "vol", ",\"labels\":{\"topology.kubernetes.io/zone\":\"b\"}", "", "Bound");
    assert_answer(f.v, w, f.a, WRONG_ZONE);
    assert_answer(f.v, w, f.b, NULL);
    volumes_set_checks(f.v, VOLUMES_ALL & ~(unsigned)VOLUMES_ZONE);
    assert_answer(f.v, w, f.a, NULL);
    pod_volumes_unref(w);
    fixture_end(&f);
}

/* However many volumes there are, a node costs a look at each zone; making ready costs all. */
static void looks_at_zones_are_counted(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *w = wants("x y");
    put_class(f.v, "zonal", NO_PROVISIONER, WAITS, "");
    put_claim(f.v, "x", "zonal", 2);
    put_claim(f.v, "y", "zonal", 1);
    for (int i = 0; i < 100; i++) {
        cleanup_free char *name = xasprintf("v%02d", i);
        put_volume(f.v, name, "zonal", 1 + i % 2,
                   i < 50 ? REACHED_FROM("topology.kubernetes.io/zone", "b")
                          : REACHED_FROM("topology.kubernetes.io/zone", "c"));
    }
    (void)volumes_take_looks(f.v);
    assert_answer(f.v, w, f.b, NULL);
    assert_int_equal(volumes_take_looks(f.v), 2 * 100 + 2 * 2);
    assert_answer(f.v, w, f.a, NO_MATCH);
    assert_int_equal(volumes_take_looks(f.v), 2); /* the first claim has none */
    assert_answer(f.v, w, f.b, NULL);
    assert_int_equal(volumes_take_looks(f.v), 4);
    assert_int_equal(volumes_take_looks(f.v), 0);
    pod_volumes_unref(w);
    fixture_end(&f);
}

static void nothing_is_asked_without_checks(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *w = wants("absent");
    const char *uid = intern_get(STR("p"));
    assert_answer(f.v, w, f.a, "persistentvolumeclaim \"absent\" not found");
    assert_false(volumes_assume(f.v, uid, w, f.a));
    volumes_set_checks(f.v, 0);
    assert_answer(f.v, w, f.a, NULL);
    assert_true(volumes_assume(f.v, uid, w, f.a));
    assert_false(volumes_has_choices(f.v, uid));
    intern_put(uid);
    pod_volumes_unref(w);
    fixture_end(&f);
}

/* What a class without provisioner must offer. */
static void waiting_claims_need_a_volume(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *w = wants("x");
    put_class(f.v, "local", NO_PROVISIONER, WAITS, "");
    put_claim(f.v, "x", "local", 2);
    assert_answer(f.v, w, f.a, NO_MATCH);
    put_local(f.v, "v", "local", 1, "a");
    assert_answer(f.v, w, f.a, NO_MATCH); /* too small */
    put_local(f.v, "v", "other", 2, "a");
    assert_answer(f.v, w, f.a, NO_MATCH); /* of another class */
    put_local(f.v, "v", "local", 2, "a");
    assert_answer(f.v, w, f.a, NULL);
    assert_answer(f.v, w, f.b, NO_MATCH);
    put_volume_with(f.v, "v", "",
                    ",\"storageClassName\":\"local\",\"capacity\":{\"storage\":\"2Gi\"}",
                    "Released");
    assert_answer(f.v, w, f.a, NO_MATCH);
    put_volume(f.v, "v", "local", 3, "");
    assert_answer(f.v, w, f.b, NULL);
    put_volume_with(f.v, "v", ",\"deletionTimestamp\":\"2026-11-30T00:00:00Z\"",
                    ",\"storageClassName\":\"local\",\"capacity\":{\"storage\":\"2Gi\"}",
                    "Available");
    assert_answer(f.v, w, f.b, NO_MATCH);
    volumes_set_volume(f.v, "v", NULL);
    assert_answer(f.v, w, f.b, NO_MATCH);
    pod_volumes_unref(w);
    fixture_end(&f);
}

static void volumes_must_be_what_was_asked_for(void **state)
{
    (void)state;
    static const struct {
        const char *claim, *volume;
        bool fits;
    } cases[] = {
        {",\"volumeMode\":\"Block\"", "", false},
        {",\"volumeMode\":\"Block\"", ",\"volumeMode\":\"Block\"", true},
        {",\"volumeMode\":\"Filesystem\"", "", true},
        {",\"accessModes\":[\"ReadWriteMany\"]", "", false},
        {",\"accessModes\":[\"ReadWriteMany\"]",
         ",\"accessModes\":[\"ReadWriteOnce\",\"ReadWriteMany\"]", true},
        {",\"volumeAttributesClassName\":\"gold\"", "", false},
        {"", ",\"volumeAttributesClassName\":\"gold\"", false},
        {",\"volumeAttributesClassName\":\"gold\"", ",\"volumeAttributesClassName\":\"gold\"",
         true},
        {",\"selector\":{\"matchLabels\":{\"k\":\"v\"}}", "", true},
        {",\"selector\":{\"matchLabels\":{\"k\":\"w\"}}", "", false},
        {",\"selector\":{}", "", true},
        {",\"selector\":{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"DoesNotExist\"}]}", "",
         false},
        {"", ",\"claimRef\":{\"namespace\":\"ns\",\"name\":\"other\"}", false},
        {"", ",\"claimRef\":{\"namespace\":\"ns\",\"name\":\"x\"}", true},
        {"", ",\"claimRef\":{\"namespace\":\"ns\",\"name\":\"x\",\"uid\":\"c-x\"}", true},
        {"", ",\"claimRef\":{\"namespace\":\"ns\",\"name\":\"x\",\"uid\":\"old\"}", false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fixture f = fixture_begin("topology.kubernetes.io/zone");
        struct pod_volumes *w = wants("x");
        cleanup_free char *claim = xasprintf(",\"storageClassName\":\"local\"%s", cases[i].claim);
        cleanup_free char *volume = xasprintf(",\"storageClassName\":\"local\"%s", cases[i].volume);
        put_class(f.v, "local", NO_PROVISIONER, WAITS, "");
        put_claim_with(f.v, "x", "", claim, "");
        put_volume_with(f.v, "v", ",\"labels\":{\"k\":\"v\"}", volume, "Available");
        const char *reason = volumes_filter(f.v, w, f.a);
        if ((reason == NULL) != cases[i].fits)
            fail_msg("%s with %s", claim, volume);
        pod_volumes_unref(w);
        fixture_end(&f);
    }
}

/* A volume that is kept for the claim is the only one it may have, whatever its phase. */
static void kept_volumes_bind_the_claim(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *w = wants("x");
    put_class(f.v, "local", NO_PROVISIONER, WAITS, "");
    put_claim(f.v, "x", "local", 1);
    put_local(f.v, "free", "local", 1, "a");
    assert_answer(f.v, w, f.a, NULL);
    put_volume_with(f.v, "kept", "",
                    ",\"storageClassName\":\"local\",\"capacity\":{\"storage\":\"1Gi\"},"
                    "\"claimRef\":{\"namespace\":\"ns\",\"name\":\"x\"}" REACHED_FROM(
                        "topology.kubernetes.io/zone", "b"),
                    "Pending");
    assert_answer(f.v, w, f.a, NO_MATCH);
    assert_answer(f.v, w, f.b, NULL);
    pod_volumes_unref(w);
    fixture_end(&f);
}

/* Whoever may do without what has gone is to be tried again. */
static void what_goes_may_help(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *w = wants("x");
    put_class(f.v, "local", NO_PROVISIONER, WAITS, "");
    put_claim(f.v, "x", "local", 1);
    put_local(f.v, "free", "local", 1, "a");
    put_volume_with(f.v, "kept", "",
                    ",\"storageClassName\":\"local\",\"capacity\":{\"storage\":\"1Gi\"},"
                    "\"claimRef\":{\"namespace\":\"ns\",\"name\":\"x\"}" REACHED_FROM(
                        "topology.kubernetes.io/zone", "b"),
                    "Pending");
    assert_answer(f.v, w, f.a, NO_MATCH);
    assert_true(volumes_set_volume(f.v, "kept", NULL)); /* that which is free will do */
    assert_answer(f.v, w, f.a, NULL);
    put_class(f.v, "made", "csi.test", WAITS, "");
    put_claim(f.v, "x", "made", 1);
    put_claim(f.v, "y", "made", 1);
    put_csinode(f.v, "a", "csi.test", 1);
    struct pod_volumes *other = wants("y");
    volumes_attach(f.v, other, "a");
    assert_answer(f.v, w, f.a, "node(s) exceed max volume count");
    assert_true(cut_claim(f.v, "y")); /* it counts no more */
    assert_answer(f.v, w, f.a, NULL);
    put_claim(f.v, "z", "made", 1);
    assert_false(cut_claim(f.v, "z")); /* it never did */
    volumes_detach(f.v, other, "a");
    pod_volumes_unref(other);
    pod_volumes_unref(w);
    fixture_end(&f);
}

static void volumes_are_made_where_the_class_allows(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *w = wants("x");
    put_claim(f.v, "x", "cloud", 1);
    put_class(f.v, "cloud", "d.example", WAITS,
              ",\"allowedTopologies\":[{\"matchLabelExpressions\":[{\"key\":"
              "\"topology.kubernetes.io/zone\",\"values\":[\"a\",\"c\"]}]}]");
    assert_answer(f.v, w, f.a, NULL);
    assert_answer(f.v, w, f.b, NO_MATCH);
    put_volume(f.v, "there", "cloud", 1, "");
    assert_answer(f.v, w, f.b, NULL);
    pod_volumes_unref(w);
    fixture_end(&f);
}

/* A node that was selected earlier is the only one. */
static void selected_node_decides(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *w = wants("x");
    put_class(f.v, "cloud", "d.example", WAITS, "");
    put_volume(f.v, "there", "cloud", 1, "");
    put_claim_with(f.v, "x", "\"volume.kubernetes.io/selected-node\":\"b\"",
                   ",\"storageClassName\":\"cloud\"", "");
    assert_answer(f.v, w, f.a, NO_MATCH);
    assert_answer(f.v, w, f.b, NULL);
    put_class(f.v, "cloud", NO_PROVISIONER, WAITS, "");
    assert_answer(f.v, w, f.b, NO_MATCH);
    pod_volumes_unref(w);
    fixture_end(&f);
}

/* Two claims of a pod do not get the same volume, and the smaller is served first. */
static void claims_of_a_pod_share_what_there_is(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *w = wants("large small");
    put_class(f.v, "local", NO_PROVISIONER, WAITS, "");
    put_claim(f.v, "large", "local", 5);
    put_claim(f.v, "small", "local", 1);
    put_local(f.v, "v5", "local", 5, "a");
    assert_answer(f.v, w, f.a, NO_MATCH);
    put_volume(f.v, "v6", "local", 6, "");
    assert_answer(f.v, w, f.a, NULL);
    put_local(f.v, "v6", "local", 4, "a");
    assert_answer(f.v, w, f.a, NULL); /* 4 for the small one */
    put_volume(f.v, "v6", "local", 4, REACHED_FROM("topology.kubernetes.io/zone", "b"));
    assert_answer(f.v, w, f.a, NO_MATCH);
    put_volume(f.v, "v5", "local", 9, "");
    assert_answer(f.v, w, f.a, NO_MATCH);
    put_volume(f.v, "v7", "local", 9, "");
    assert_answer(f.v, w, f.a, NULL);
    pod_volumes_unref(w);
    fixture_end(&f);
}

static void limits_count_distinct_volumes(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *x = wants("x"), *y = wants("y"), *both = wants("x y");
    put_bound(f.v, "x", "vx");
    put_bound(f.v, "y", "vy");
    put_volume_with(f.v, "vx", "", ",\"csi\":{\"driver\":\"d\",\"volumeHandle\":\"hx\"}", "Bound");
    put_volume_with(f.v, "vy", "", ",\"csi\":{\"driver\":\"d\",\"volumeHandle\":\"hy\"}", "Bound");
    assert_true(put_csinode(f.v, "a", "d", 1));
    assert_answer(f.v, x, f.a, NULL);
    assert_answer(f.v, both, f.a, TOO_MANY);
    assert_answer(f.v, both, f.b, NULL); /* no limit is known */
    volumes_attach(f.v, x, "a");
    volumes_attach(f.v, x, "a");
    assert_answer(f.v, x, f.a, NULL); /* it is there already */
    assert_answer(f.v, y, f.a, TOO_MANY);
    volumes_detach(f.v, x, "a");
    assert_answer(f.v, y, f.a, TOO_MANY);
    volumes_detach(f.v, x, "a");
    assert_answer(f.v, y, f.a, NULL);
    volumes_attach(f.v, both, "b");
    assert_true(put_csinode(f.v, "b", "d", 2));
    assert_answer(f.v, both, f.b, NULL);
    /* Two volumes with one handle are one disk. */
    put_volume_with(f.v, "vy", "", ",\"csi\":{\"driver\":\"d\",\"volumeHandle\":\"hx\"}", "Bound");
    assert_answer(f.v, both, f.a, NULL);
    put_volume_with(f.v, "vy", "", ",\"csi\":{\"driver\":\"e\",\"volumeHandle\":\"hx\"}", "Bound");
    assert_answer(f.v, both, f.a, NULL); /* of another driver */
    volumes_set_checks(f.v, 0);
    assert_true(put_csinode(f.v, "a", "d", 0));
    assert_answer(f.v, x, f.a, NULL);
    volumes_detach(f.v, both, "b");
    pod_volumes_unref(x);
    pod_volumes_unref(y);
    pod_volumes_unref(both);
    fixture_end(&f);
}

/* Before it has a volume, a claim counts as one of its class's driver. */
static void limits_count_what_will_be(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *x = wants("x"), *y = wants("y");
    put_csinode(f.v, "a", "d", 1);
    put_claim(f.v, "x", "cloud", 1);
    put_claim(f.v, "y", "cloud", 1);
    volumes_attach(f.v, x, "a");
    put_class(f.v, "cloud", "d", WAITS, "");
    assert_answer(f.v, y, f.a, TOO_MANY);
    assert_answer(f.v, x, f.a, NULL);
    put_bound(f.v, "x", "vx");
    put_volume_with(f.v, "vx", "", ",\"csi\":{\"driver\":\"d\",\"volumeHandle\":\"h\"}", "Bound");
    assert_answer(f.v, y, f.a, TOO_MANY);
    put_volume_with(f.v, "vx", "", ",\"nfs\":{}", "Bound");
    assert_answer(f.v, y, f.a, NULL);
    volumes_detach(f.v, x, "a");
    assert_false(put_csinode(f.v, "a", "d", 1)); /* nothing new */
    assert_true(volumes_set_csinode(f.v, "a", NULL));
    pod_volumes_unref(x);
    pod_volumes_unref(y);
    fixture_end(&f);
}

static void disks_named_in_pods(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *one = wanted_of("p", "[{\"gcePersistentDisk\":{\"pdName\":\"d1\"}}]");
    struct pod_volumes *two = wanted_of("p", "[{\"gcePersistentDisk\":{\"pdName\":\"d2\"}}]");
    volumes_attach(f.v, one, "a");
    assert_answer(f.v, one, f.a, NO_DISK);
    assert_answer(f.v, one, f.b, NULL);
    assert_answer(f.v, two, f.a, NULL);
    put_csinode(f.v, "a", "pd.csi.storage.gke.io", 1);
    assert_answer(f.v, two, f.a, TOO_MANY);
    volumes_detach(f.v, one, "a");
    assert_answer(f.v, two, f.a, NULL);
    pod_volumes_unref(one);
    pod_volumes_unref(two);
    fixture_end(&f);
}

static void one_pod_alone(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *w = wants("x");
    put_volume(f.v, "v", "", 1, "");
    put_claim_with(f.v, "x", BOUND_SIGN,
                   ",\"volumeName\":\"v\",\"accessModes\":[\"ReadWriteOncePod\"]", "");
    assert_answer(f.v, w, f.a, NULL);
    uint64_t version = volumes_version(f.v, w);
    volumes_attach(f.v, w, "a");
    assert_true(volumes_version(f.v, w) > version);
    assert_answer(f.v, w, f.a, IN_USE);
    assert_answer(f.v, w, f.b, IN_USE);
    version = volumes_version(f.v, w);
    volumes_detach(f.v, w, "a");
    assert_true(volumes_version(f.v, w) > version);
    assert_answer(f.v, w, f.b, NULL);
    /* Users of other claims concern nobody. */
    put_bound(f.v, "x", "v");
    version = volumes_version(f.v, w);
    volumes_attach(f.v, w, "a");
    assert_int_equal(volumes_version(f.v, w), version);
    volumes_detach(f.v, w, "a");
    pod_volumes_unref(w);
    fixture_end(&f);
}

/* With the binding of volumes switched off. */
static void zone_alone_asks_for_volumes(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *w = wants("x");
    volumes_set_checks(f.v, VOLUMES_RESTRICTIONS | VOLUMES_ZONE);
    put_claim(f.v, "x", "", 1);
    assert_answer(f.v, w, f.a, "PersistentVolumeClaim had no pv name and storageClass name");
    put_claim(f.v, "x", "s", 1);
    assert_answer(f.v, w, f.a, "storageclass.storage.k8s.io \"s\" not found");
    put_class(f.v, "s", "d", "Immediate", "");
    assert_answer(f.v, w, f.a, "PersistentVolume had no name");
    put_class(f.v, "s", "d", WAITS, "");
    assert_answer(f.v, w, f.a, NULL);
    assert_true(volumes_assume(f.v, "u", w, f.a));
    assert_false(volumes_has_choices(f.v, "u"));
    volumes_set_checks(f.v, VOLUMES_RESTRICTIONS);
    put_class(f.v, "s", "d", "Immediate", "");
    assert_answer(f.v, w, f.a, NULL);
    cut_claim(f.v, "x");
    assert_answer(f.v, w, f.a, "persistentvolumeclaim \"x\" not found");
    pod_volumes_unref(w);
    fixture_end(&f);
}

/* What says the same as before changes nothing; nor does what concerns others. */
static void versions_grow_only_when_needed(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *x = wants("x"), *y = wants("y");
    put_class(f.v, "s", "d", WAITS, "");
    put_claim(f.v, "x", "s", 1);
    put_bound(f.v, "y", "v");
    put_volume(f.v, "v", "", 1, "");
    uint64_t of_x = volumes_version(f.v, x), of_y = volumes_version(f.v, y);
    assert_false(put_claim(f.v, "x", "s", 1));
    assert_false(put_volume(f.v, "v", "", 1, ""));
    put_claim(f.v, "z", "other", 1);
    put_volume(f.v, "z", "other", 1, "");
    assert_int_equal(volumes_version(f.v, x), of_x);
    assert_int_equal(volumes_version(f.v, y), of_y);
    put_volume(f.v, "w", "s", 1, "");
    assert_true(volumes_version(f.v, x) > of_x);
    assert_int_equal(volumes_version(f.v, y), of_y);
    of_x = volumes_version(f.v, x);
    put_local(f.v, "v", "", 1, "a");
    assert_int_equal(volumes_version(f.v, x), of_x);
    assert_true(volumes_version(f.v, y) > of_y);
    pod_volumes_unref(x);
    pod_volumes_unref(y);
    fixture_end(&f);
}

/* Reasons that name claims live as long as the pods do that they are about. */
static void reasons_outlive_changes(void **state)
{
    (void)state;
    struct fixture f = fixture_begin("topology.kubernetes.io/zone");
    struct pod_volumes *w = wants("x");
    const char *absent = volumes_filter(f.v, w, f.a);
    put_claim(f.v, "x", "", 1);
    assert_answer(f.v, w, f.a, UNBOUND);
    assert_string_equal(absent, "persistentvolumeclaim \"x\" not found");
    cut_claim(f.v, "x");
    assert_ptr_equal(volumes_filter(f.v, w, f.a), absent);
    pod_volumes_unref(w);
    /* What is kept for pods that are gone goes as others come. */
    for (int i = 0; i < 100; i++) {
        cleanup_free char *name = xasprintf("x%d", i);
        w = wants(name);
        volumes_filter(f.v, w, f.a);
        pod_volumes_unref(w);
        assert_true(pod_volumes_count() <= 3);
    }
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_without_volumes_fit),
        cmocka_unit_test(claims_must_be_there),
        cmocka_unit_test(claims_must_be_sound),
        cmocka_unit_test(ephemeral_claims_are_the_pods_own),
        cmocka_unit_test(claims_bound_at_once_must_be_bound),
        cmocka_unit_test(bound_volumes_must_be_reached),
        cmocka_unit_test(looks_at_zones_are_counted),
        cmocka_unit_test(nothing_is_asked_without_checks),
        cmocka_unit_test(waiting_claims_need_a_volume),
        cmocka_unit_test(volumes_must_be_what_was_asked_for),
        cmocka_unit_test(kept_volumes_bind_the_claim),
        cmocka_unit_test(what_goes_may_help),
        cmocka_unit_test(volumes_are_made_where_the_class_allows),
        cmocka_unit_test(selected_node_decides),
        cmocka_unit_test(claims_of_a_pod_share_what_there_is),
        cmocka_unit_test(limits_count_distinct_volumes),
        cmocka_unit_test(limits_count_what_will_be),
        cmocka_unit_test(disks_named_in_pods),
        cmocka_unit_test(one_pod_alone),
        cmocka_unit_test(zone_alone_asks_for_volumes),
        cmocka_unit_test(versions_grow_only_when_needed),
        cmocka_unit_test(reasons_outlive_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
