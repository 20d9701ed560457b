/*
 * What pods' volumes ask for.
 */
#include "testing.h"

#include "api/pod_volumes.h"
#include "base/intern.h"

static struct pod_volumes *read_as(const char *text, const char *name, bool *ret_failed)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    json_init(&reader, str_of(text), &arena);
    cleanup_free char *uid = xasprintf("u-%s", name);
    struct pod_volumes *volumes = pod_volumes_read(&reader, STR("ns"), str_of(name), str_of(uid));
    *ret_failed = json_end(&reader, NULL) < 0;
    return volumes;
}

static struct pod_volumes *read_one(const char *text)
{
    bool failed;
    struct pod_volumes *volumes = read_as(text, "p", &failed);
    assert_false(failed);
    return volumes;
}

#define CLAIM(name) "{\"name\":\"x\",\"persistentVolumeClaim\":{\"claimName\":\"" name "\"}}"

static void claims_are_found(void **state)
{
    (void)state;
    struct pod_volumes *volumes = read_one(
        "[" CLAIM("a") ",{\"name\":\"scratch\",\"ephemeral\":{\"volumeClaimTemplate\":{}}}," CLAIM(
            "b") "," CLAIM("a") ",{\"name\":\"e\",\"emptyDir\":{}}]");
    assert_non_null(volumes);
    assert_int_equal(volumes->claim_count, 3);
    assert_string_equal(volumes->claims[0].key, "ns/a");
    assert_string_equal(volumes->claims[0].name, "a");
    assert_false(volumes->claims[0].ephemeral);
    assert_string_equal(volumes->claims[1].key, "ns/p-scratch");
    assert_true(volumes->claims[1].ephemeral);
    assert_string_equal(volumes->claims[2].key, "ns/b");
    assert_string_equal(volumes->pod_name, "p");
    assert_string_equal(volumes->pod_uid, "u-p");
    pod_volumes_unref(volumes);
    assert_int_equal(intern_count(), 0);
}

static void most_pods_have_none(void **state)
{
    (void)state;
    static const char *const none[] = {
        "[]", "null",
        "[{\"name\":\"t\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{}}]}}]",
        "[{\"name\":\"c\",\"configMap\":{\"name\":\"m\"}},{\"name\":\"i\",\"csi\":{\"driver\":"
        "\"d\"}}]",
        "[{\"name\":\"c\",\"persistentVolumeClaim\":null,\"rbd\":null,\"cinder\":null,"
        "\"ephemeral\":null}]"};
    for (size_t i = 0; i < ARRAY_SIZE(none); i++)
        assert_null(read_one(none[i]));
    assert_int_equal(pod_volumes_count(), 0);
    assert_int_equal(pod_volumes_key(NULL).n, 0);
    pod_volumes_unref(NULL);
    assert_int_equal(intern_count(), 0);
}

static void equal_ones_are_shared(void **state)
{
    (void)state;
    bool failed;
    struct pod_volumes *a = read_as("[" CLAIM("a") "]", "p", &failed);
    struct pod_volumes *b = read_as("[" CLAIM("a") ",{\"name\":\"e\"}]", "q", &failed);
    struct pod_volumes *other = read_as("[" CLAIM("b") "]", "p", &failed);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, other);
    assert_int_equal(pod_volumes_count(), 2);
    assert_false(str_eq(pod_volumes_key(a), pod_volumes_key(other)));
    pod_volumes_unref(a);
    pod_volumes_unref(b);
    pod_volumes_unref(other);
    assert_int_equal(pod_volumes_count(), 0);
    /* What is made for a pod is its own. */
    a = read_as("[{\"name\":\"e\",\"ephemeral\":{}}]", "p", &failed);
    b = read_as("[{\"name\":\"e\",\"ephemeral\":{}}]", "q", &failed);
    assert_ptr_not_equal(a, b);
    pod_volumes_unref(a);
    pod_volumes_unref(b);
    assert_int_equal(intern_count(), 0);
}

static void broken_ones_are_reported(void **state)
{
    (void)state;
    static const char *const bad[] = {"{}", "[7]", "[{\"persistentVolumeClaim\":7}]",
                                      "[" CLAIM("a") ",{\"rbd\":{\"monitors\":7}}]",
                                      "[" CLAIM("a") ",{\"cinder\":{\"readOnly\":\"no\"}}]"};
    bool failed;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_null(read_as(bad[i], "p", &failed));
        assert_true(failed);
    }
    assert_int_equal(pod_volumes_count(), 0);
    assert_int_equal(intern_count(), 0);
}

static void disks_conflict(void **state)
{
    (void)state;
#define GCE(name, more) "{\"gcePersistentDisk\":{\"pdName\":\"" name "\"" more "}}"
#define AWS(more) "{\"awsElasticBlockStore\":{\"volumeID\":\"v\"" more "}}"
#define RBD(monitors, pool, more)                                                                  \
    "{\"rbd\":{\"image\":\"i\",\"pool\":\"" pool "\",\"monitors\":[" monitors "]" more "}}"
#define ISCSI(iqn, more) "{\"iscsi\":{\"iqn\":\"" iqn "\",\"lun\":1" more "}}"
#define READ_ONLY ",\"readOnly\":true"
    static const struct {
        const char *a, *b;
        bool conflict;
    } cases[] = {
        {GCE("d", ""), GCE("d", ""), true},
        {GCE("d", ""), GCE("d", READ_ONLY), true},
        {GCE("d", READ_ONLY), GCE("d", READ_ONLY), false},
        {GCE("d", ""), GCE("e", ""), false},
        {AWS(READ_ONLY), AWS(READ_ONLY), true},
        {AWS(""), GCE("v", ""), false},
        {RBD("\"1\",\"2\"", "p", ""), RBD("\"2\",\"3\"", "p", ""), true},
        {RBD("\"1\"", "p", ""), RBD("\"2\"", "p", ""), false},
        {RBD("\"1\"", "p", ""), RBD("\"1\"", "q", ""), false},
        {RBD("\"1\"", "p", READ_ONLY), RBD("\"1\"", "p", READ_ONLY), false},
        {ISCSI("i", ""), ISCSI("i", READ_ONLY), true},
        {ISCSI("i", READ_ONLY), ISCSI("i", READ_ONLY), false},
        {ISCSI("i", ""), ISCSI("j", ""), false},
        {"{\"cinder\":{\"volumeID\":\"v\"}}", "{\"cinder\":{\"volumeID\":\"v\"}}", false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        cleanup_free char *a = xasprintf("[%s]", cases[i].a);
        cleanup_free char *b = xasprintf("[%s]", cases[i].b);
        struct pod_volumes *x = read_one(a), *y = read_one(b);
        assert_int_equal(x->disk_count, 1);
        bool conflict = pod_disks_conflict(&x->disks[0], &y->disks[0]);
        if (conflict != cases[i].conflict ||
            conflict != pod_disks_conflict(&y->disks[0], &x->disks[0]))
            fail_msg("%s and %s", cases[i].a, cases[i].b);
        pod_volumes_unref(x);
        pod_volumes_unref(y);
    }
    assert_int_equal(intern_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_are_found),      cmocka_unit_test(most_pods_have_none),
        cmocka_unit_test(equal_ones_are_shared), cmocka_unit_test(broken_ones_are_reported),
        cmocka_unit_test(disks_conflict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
