/*
 * Decoding of StorageClasses and CSINodes.
 */
#include "testing.h"

#include "api/csinode.h"
#include "api/storageclass.h"
#include "base/intern.h"

#define CLASS(members) "{\"metadata\":{\"name\":\"s\",\"labels\":{\"a\":\"b\"}}" members "}"

static struct storageclass *decode(const char *text)
{
    struct error err = ERROR_INIT;
    struct storageclass *storageclass = storageclass_decode(str_of(text), &err);
    if (!storageclass)
        assert_int_equal(err.cls, ERROR_INVALID);
    return storageclass;
}

static void class_is_read(void **state)
{
    (void)state;
    struct storageclass *waits =
        decode(CLASS(",\"provisioner\":\"d.example\",\"volumeBindingMode\":\"WaitForFirstConsumer\""
                     ",\"parameters\":{\"x\":\"y\"}"));
    assert_string_equal(waits->driver, "d.example");
    assert_true(waits->waits);
    assert_true(waits->provisions);
    assert_int_equal(waits->meta.labels.n, 0);
    struct storageclass *immediate =
        decode(CLASS(",\"provisioner\":\"kubernetes.io/gce-pd\",\"volumeBindingMode\":"
                     "\"Immediate\""));
    assert_false(immediate->waits);
    assert_string_equal(immediate->driver, "pd.csi.storage.gke.io");
    struct storageclass *none = decode(CLASS(",\"provisioner\":\"kubernetes.io/no-provisioner\""));
    assert_false(none->provisions);
    struct storageclass *bare = decode(CLASS(""));
    assert_false(bare->provisions);
    assert_string_equal(bare->driver, "");
    storageclass_ref(waits);
    storageclass_unref(waits);
    storageclass_unref(waits);
    storageclass_unref(immediate);
    storageclass_unref(none);
    storageclass_unref(bare);
    storageclass_unref(NULL);
    assert_int_equal(intern_count(), 0);
}

#define ZONES(values) "{\"key\":\"zone\",\"values\":[" values "]}"

/* Whether a class serves a node of zone b. */
static void topologies_limit_it(void **state)
{
    (void)state;
    static const struct {
        const char *topologies;
        bool serves;
    } cases[] = {
        {"[]", true},
        {"null", true},
        {"[{}]", false},
        {"[{\"matchLabelExpressions\":[]}]", false},
        {"[{\"matchLabelExpressions\":[" ZONES("\"a\",\"b\"") "]}]", true},
        {"[{\"matchLabelExpressions\":[" ZONES("\"a\"") "]}]", false},
        {"[{\"matchLabelExpressions\":[" ZONES("") "]}]", false},
        {"[{\"matchLabelExpressions\":[" ZONES("\"a\"") "]},{\"matchLabelExpressions\":[" ZONES(
             "\"b\"") "]}]",
         true},
        {"[{\"matchLabelExpressions\":[" ZONES("\"b\"") ",{\"key\":\"rack\",\"values\":[\"1\"]}]}]",
         false},
    };
    struct kube_pairs labels = {NULL, 0};
    struct json_reader reader;
    json_init(&reader, STR("{\"zone\":\"b\"}"), NULL);
    kube_pairs_read(&reader, &labels, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        cleanup_free char *json =
            xasprintf(CLASS(",\"allowedTopologies\":%s"), cases[i].topologies);
        struct storageclass *storageclass = decode(json);
        if (storageclass_serves(storageclass, "n", &labels) != cases[i].serves)
            fail_msg("%s", cases[i].topologies);
        storageclass_unref(storageclass);
    }
    kube_pairs_clear(&labels);
    assert_int_equal(intern_count(), 0);
}

static void broken_classes_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "{}", CLASS(",\"provisioner\":7"),
                                      CLASS(",\"allowedTopologies\":{}"), "{\"metadata\":{}}"};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_null(decode(bad[i]));
    assert_int_equal(intern_count(), 0);
}

#define CSINODE(drivers) "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"drivers\":[" drivers "]}}"
#define DRIVER(name, count)                                                                        \
    "{\"name\":\"" name "\",\"nodeID\":\"x\",\"allocatable\":{\"count\":" count "}}"

static void limits_are_read(void **state)
{
    (void)state;
    struct csinode *node = csinode_decode(STR(CSINODE(DRIVER("a", "3") ",{\"name\":\"b\"}," DRIVER(
                                              "c", "0") "," DRIVER("d", "null"))),
                                          NULL);
    const char *names[] = {"a", "b", "c", "d"};
    const int32_t limits[] = {3, INT32_MAX, 0, INT32_MAX};
    assert_non_null(node);
    assert_int_equal(node->driver_count, 2);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *name = intern_get(str_of(names[i]));
        assert_int_equal(csinode_limit(node, name), limits[i]);
        intern_put(name);
    }
    csinode_ref(node);
    csinode_unref(node);
    csinode_unref(node);
    csinode_unref(NULL);
    assert_int_equal(intern_count(), 0);
}

static void limits_are_compared(void **state)
{
    (void)state;
    struct csinode *a = csinode_decode(STR(CSINODE(DRIVER("a", "3"))), NULL);
    struct csinode *same = csinode_decode(STR(CSINODE(DRIVER("a", "3") ",{\"name\":\"b\"}")), NULL);
    struct csinode *more = csinode_decode(STR(CSINODE(DRIVER("a", "4"))), NULL);
    struct csinode *none = csinode_decode(STR(CSINODE("")), NULL);
    assert_true(csinode_schedules_alike(a, same));
    assert_false(csinode_schedules_alike(a, more));
    assert_false(csinode_schedules_alike(a, none));
    csinode_unref(a);
    csinode_unref(same);
    csinode_unref(more);
    csinode_unref(none);
    assert_null(csinode_decode(STR("{}"), NULL));
    assert_null(csinode_decode(STR(CSINODE(DRIVER("a", "\"3\""))), NULL));
    assert_int_equal(intern_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(class_is_read),
        cmocka_unit_test(topologies_limit_it),
        cmocka_unit_test(broken_classes_are_refused),
        cmocka_unit_test(limits_are_read),
        cmocka_unit_test(limits_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
