/*
 * Decoding of PersistentVolumes, and where they can be reached.
 */
#include "testing.h"

#include "api/volume.h"
#include "base/intern.h"

static struct volume *decode(const char *text)
{
    struct error err = ERROR_INIT;
    struct volume *volume = volume_decode(str_of(text), &err);
    if (!volume)
        assert_int_equal(err.cls, ERROR_INVALID);
    return volume;
}

#define META(more) "\"metadata\":{\"name\":\"v\",\"uid\":\"u\",\"resourceVersion\":\"3\"" more "}"
#define VOLUME(meta, spec, status) "{" META(meta) ",\"spec\":{" spec "},\"status\":{" status "}}"

static struct kube_pairs labels_of(const char *text)
{
    struct kube_pairs labels = {NULL, 0};
    struct json_reader reader;
    json_init(&reader, str_of(text), NULL);
    kube_pairs_read(&reader, &labels, NULL);
    return labels;
}

static void volume_is_read(void **state)
{
    (void)state;
    struct volume *volume = decode(VOLUME(
        ",\"labels\":{\"a\":\"b\"},\"annotations\":{\"pv.kubernetes.io/bound-by-controller\":"
        "\"yes\"}",
        "\"capacity\":{\"storage\":\"5Gi\"},\"accessModes\":[\"ReadOnlyMany\"],\"storageClassName\""
        ":\"fast\",\"csi\":{\"driver\":\"d.example\",\"volumeHandle\":\"h\"},\"claimRef\":{"
        "\"kind\":\"PersistentVolumeClaim\",\"namespace\":\"ns\",\"name\":\"c\",\"uid\":\"cu\"},"
        "\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"
        "\"kubernetes.io/hostname\",\"operator\":\"In\",\"values\":[\"n1\"]}]}]}}",
        "\"phase\":\"Available\""));
    assert_non_null(volume);
    assert_string_equal(kube_pairs_get(&volume->meta.labels, "a"), "b");
    assert_int_equal(volume->meta.annotations.n, 0);
    assert_true(volume->bound_by_controller);
    assert_true(volume->available);
    assert_false(volume->pending);
    assert_string_equal(volume->driver, "d.example");
    assert_string_equal(volume->handle, "h");
    assert_string_equal(volume->claim_ns, "ns");
    assert_string_equal(volume->claim_name, "c");
    assert_string_equal(volume->claim_uid, "cu");
    assert_string_equal(volume->terms.class_name, "fast");
    assert_int_equal(volume->terms.access_modes, ACCESS_READ_ONLY_MANY);
    struct kube_pairs here = labels_of("{\"kubernetes.io/hostname\":\"n1\"}");
    struct kube_pairs there = labels_of("{\"kubernetes.io/hostname\":\"n2\"}");
    assert_true(volume_reaches(volume, "n1", &here));
    assert_false(volume_reaches(volume, "n2", &there));
    kube_pairs_clear(&here);
    kube_pairs_clear(&there);
    volume_ref(volume);
    volume_unref(volume);
    volume_unref(volume);
    volume_unref(NULL);
    assert_int_equal(intern_count(), 0);
}

static void absent_fields_have_defaults(void **state)
{
    (void)state;
    struct volume *volume = decode("{" META("") "}");
    assert_non_null(volume);
    assert_null(volume->claim_name);
    assert_null(volume->driver);
    assert_false(volume->available);
    assert_true(volume->pending);
    assert_true(volume_reaches(volume, "n", &volume->meta.labels));
    assert_true(volume_zone_fits(volume, &volume->meta.labels));
    volume_unref(volume);
    assert_int_equal(intern_count(), 0);
}

/* Disks of former drivers belong to the CSI drivers that serve them now. */
static void disks_of_old_have_drivers(void **state)
{
    (void)state;
    static const struct {
        const char *json, *driver, *handle;
    } cases[] = {
        {VOLUME("", "\"awsElasticBlockStore\":{\"volumeID\":\"aws://z/vol-1\"}", ""),
         "ebs.csi.aws.com", "vol-1"},
        {VOLUME("", "\"awsElasticBlockStore\":{\"volumeID\":\"vol-1\"}", ""), "ebs.csi.aws.com",
         "vol-1"},
        {VOLUME("", "\"gcePersistentDisk\":{\"pdName\":\"pd\",\"fsType\":\"ext4\"}", ""),
         "pd.csi.storage.gke.io", "pd"},
        {VOLUME("", "\"azureDisk\":{\"diskURI\":\"/a/b\"}", ""), "disk.csi.azure.com", "/a/b"},
        {VOLUME("", "\"cinder\":{\"volumeID\":\"x\"}", ""), "cinder.csi.openstack.org", "x"},
        {VOLUME("", "\"portworxVolume\":{\"volumeID\":\"x\"}", ""), "pxd.portworx.com", "x"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct volume *volume = decode(cases[i].json);
        assert_string_equal(volume->driver, cases[i].driver);
        assert_string_equal(volume->handle, cases[i].handle);
        volume_unref(volume);
    }
    struct volume *local = decode(VOLUME("", "\"local\":{\"path\":\"/x\"}", ""));
    assert_null(local->driver);
    volume_unref(local);
    assert_int_equal(intern_count(), 0);
}

static void zones_are_compared(void **state)
{
    (void)state;
    static const struct {
        const char *volume, *node;
        bool fits;
    } cases[] = {
        {"\"topology.kubernetes.io/zone\":\"a\"", "{\"topology.kubernetes.io/zone\":\"a\"}", true},
        {"\"topology.kubernetes.io/zone\":\"a\"", "{\"topology.kubernetes.io/zone\":\"b\"}", false},
        /* a set of zones */
        {"\"topology.kubernetes.io/zone\":\"a__b\"", "{\"topology.kubernetes.io/zone\":\"b\"}",
         true},
        {"\"topology.kubernetes.io/zone\":\"a__ b \"", "{\"topology.kubernetes.io/zone\":\"b\"}",
         true},
        {"\"topology.kubernetes.io/zone\":\"a__c\"", "{\"topology.kubernetes.io/zone\":\"b\"}",
         false},
        /* one that cannot be read says nothing */
        {"\"topology.kubernetes.io/zone\":\"a__\"", "{\"topology.kubernetes.io/zone\":\"b\"}",
         true},
        {"\"topology.kubernetes.io/zone\":\"\"", "{\"topology.kubernetes.io/zone\":\"b\"}", true},
        /* a node with no such label at all is everywhere, one with another is not */
        {"\"topology.kubernetes.io/zone\":\"a\"", "{\"x\":\"y\"}", true},
        {"\"topology.kubernetes.io/zone\":\"a\"", "{\"topology.kubernetes.io/region\":\"r\"}",
         false},
        /* the old key of a volume may be the new one of a node, but not the other way round */
        {"\"failure-domain.beta.kubernetes.io/zone\":\"a\"",
         "{\"topology.kubernetes.io/zone\":\"a\"}", true},
        {"\"failure-domain.beta.kubernetes.io/region\":\"a\"",
         "{\"topology.kubernetes.io/region\":\"b\"}", false},
        {"\"topology.kubernetes.io/zone\":\"a\"",
         "{\"failure-domain.beta.kubernetes.io/zone\":\"a\"}", false},
        {"\"failure-domain.beta.kubernetes.io/zone\":\"a\"",
         "{\"failure-domain.beta.kubernetes.io/zone\":\"b\",\"topology.kubernetes.io/zone\":\"a\"}",
         false},
        /* both must agree */
        {"\"topology.kubernetes.io/zone\":\"a\",\"topology.kubernetes.io/region\":\"r\"",
         "{\"topology.kubernetes.io/zone\":\"a\",\"topology.kubernetes.io/region\":\"s\"}", false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        cleanup_free char *json = xasprintf(
            "{\"metadata\":{\"name\":\"v\",\"uid\":\"u\",\"labels\":{%s}}}", cases[i].volume);
        struct volume *volume = decode(json);
        struct kube_pairs labels = labels_of(cases[i].node);
        if (volume_zone_fits(volume, &labels) != cases[i].fits)
            fail_msg("%s on %s", cases[i].volume, cases[i].node);
        kube_pairs_clear(&labels);
        volume_unref(volume);
    }
    assert_int_equal(intern_count(), 0);
}

static void kept_for_a_claim(void **state)
{
    (void)state;
    struct claim *claim = claim_decode(
        STR("{\"metadata\":{\"name\":\"c\",\"namespace\":\"ns\",\"uid\":\"cu\"}}"), NULL);
    static const struct {
        const char *json;
        bool is_for;
    } cases[] = {
        {VOLUME("", "\"claimRef\":{\"namespace\":\"ns\",\"name\":\"c\",\"uid\":\"cu\"}", ""), true},
        {VOLUME("", "\"claimRef\":{\"namespace\":\"ns\",\"name\":\"c\"}", ""), true},
        {VOLUME("", "\"claimRef\":{\"namespace\":\"ns\",\"name\":\"c\",\"uid\":\"x\"}", ""), false},
        {VOLUME("", "\"claimRef\":{\"namespace\":\"ms\",\"name\":\"c\"}", ""), false},
        {VOLUME("", "\"claimRef\":{}", ""), false},
        {VOLUME("", "\"claimRef\":null", ""), false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct volume *volume = decode(cases[i].json);
        assert_int_equal(volume_is_for(volume, claim), cases[i].is_for);
        volume_unref(volume);
    }
    claim_unref(claim);
    assert_int_equal(intern_count(), 0);
}

static void broken_volumes_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{}",
        "{\"metadata\":{\"name\":\"v\"}}",
        VOLUME("", "\"capacity\":{\"storage\":\"much\"}", ""),
        VOLUME("", "\"csi\":7", ""),
        VOLUME("", "\"claimRef\":\"c\"", ""),
        VOLUME(",\"labels\":{\"topology.kubernetes.io/zone\":7}", "", ""),
        "{" META("")};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_null(decode(bad[i]));
    assert_int_equal(intern_count(), 0);
}

#define AFFINITY(op, value)                                                                        \
    "\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"      \
    "\"k\",\"operator\":\"" op "\",\"values\":[\"" value "\"]}]}]}}"

static void only_what_matters_is_compared(void **state)
{
    (void)state;
    static const char *const others[] = {
        VOLUME("", AFFINITY("In", "b"), ""),
        VOLUME("", AFFINITY("NotIn", "a"), ""),
        VOLUME("", "\"accessModes\":[]", ""),
        VOLUME(",\"labels\":{\"l\":\"m\"}", AFFINITY("In", "a"), ""),
        VOLUME(",\"deletionTimestamp\":\"2026-11-30T00:00:00Z\"", AFFINITY("In", "a"), ""),
        VOLUME("", AFFINITY("In", "a"), "\"phase\":\"Available\""),
        VOLUME("", AFFINITY("In", "a") ",\"claimRef\":{\"name\":\"c\"}", ""),
        VOLUME("", AFFINITY("In", "a") ",\"csi\":{\"driver\":\"d\"}", ""),
        VOLUME("", AFFINITY("In", "a") ",\"capacity\":{\"storage\":\"1\"}", "")};
    struct volume *a = decode(VOLUME("", AFFINITY("In", "a"), ""));
    struct volume *same = decode(VOLUME(",\"annotations\":{\"x\":\"y\"},\"finalizers\":[\"f\"]",
                                        AFFINITY("In", "a") ",\"mountOptions\":[]", ""));
    assert_true(volume_schedules_alike(a, same));
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        struct volume *other = decode(others[i]);
        assert_false(volume_schedules_alike(a, other));
        volume_unref(other);
    }
    volume_unref(a);
    volume_unref(same);
    assert_int_equal(intern_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volume_is_read),
        cmocka_unit_test(absent_fields_have_defaults),
        cmocka_unit_test(disks_of_old_have_drivers),
        cmocka_unit_test(zones_are_compared),
        cmocka_unit_test(kept_for_a_claim),
        cmocka_unit_test(broken_volumes_are_refused),
        cmocka_unit_test(only_what_matters_is_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
