/* Object metadata: what is kept and interned, duplicates, wrong types, pairs, identities. */
#include "testing.h"

#include "base/intern.h"
#include "base/timefmt.h"
#include "kube/meta.h"

static int read_meta(const char *text, struct kube_meta *meta, kube_keep_fn *keep,
                     struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;

    json_init(&reader, str_of(text), &arena);
    kube_meta_read(&reader, meta, keep);
    return json_end(&reader, err);
}

static bool keep_ours(struct str key)
{
    return str_starts(key, STR("ours/"));
}

static void test_reads_what_it_keeps(void **state)
{
    (void)state;
    size_t before = intern_count();
    struct kube_meta meta = {0};
    const char *text =
        "{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":"
        "\"18446744073709551615\","
        "\"generation\":7,\"creationTimestamp\":\"1970-01-01T00:00:02Z\","
        "\"deletionTimestamp\":\"1970-01-01T00:00:03Z\",\"finalizers\":[\"f\"],"
        "\"labels\":{\"z\":\"1\",\"a\":\"2\",\"q\\u0022\":\"3\"},"
        "\"annotations\":{\"ours/x\":\"1\",\"other\":\"2\"},"
        "\"managedFields\":[{\"fieldsV1\":{\"k:{\\\"uid\\\":1}\":{}}}],"
        "\"ownerReferences\":[{\"kind\":\"ReplicaSet\",\"name\":\"no\",\"uid\":\"x\"},"
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"ju\","
        "\"controller\":true}]}";

    assert_int_equal(read_meta(text, &meta, keep_ours, NULL), 0);
    assert_string_equal(meta.name, "a");
    assert_string_equal(meta.ns, "n");
    assert_string_equal(meta.uid, "u");
    assert_true(meta.rv == UINT64_MAX);
    assert_int_equal(meta.generation, 7);
    assert_int_equal(meta.created_ns, 2 * NSEC_PER_SEC);
    assert_int_equal(meta.deleted_ns, 3 * NSEC_PER_SEC);
    assert_true(meta.has_finalizers);
    assert_string_equal(meta.controller.uid, "ju");
    assert_string_equal(meta.controller.kind, "Job");
    assert_int_equal(meta.labels.n, 3);
    assert_string_equal(meta.labels.items[0].key, "a");
    assert_string_equal(kube_pairs_get(&meta.labels, "q\""), "3");
    assert_int_equal(meta.annotations.n, 1);
    assert_null(kube_pairs_get(&meta.annotations, "other"));
    kube_meta_clear(&meta);
    assert_int_equal(intern_count(), before);
}

static void test_absent_strings_are_empty(void **state)
{
    (void)state;
    const char *const texts[] = {"{}", "null",
                                 "{\"name\":null,\"labels\":null,\"finalizers\":[],"
                                 "\"ownerReferences\":null}"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct kube_meta meta = {0};
        assert_int_equal(read_meta(texts[i], &meta, NULL, NULL), 0);
        assert_string_equal(meta.ns, "");
        assert_string_equal(meta.name, "");
        assert_string_equal(meta.uid, "");
        assert_true(meta.rv == 0 && !meta.has_finalizers && !meta.controller.uid);
        kube_meta_clear(&meta);
    }
}

static void test_last_duplicate_wins_and_nothing_leaks(void **state)
{
    (void)state;
    size_t before = intern_count();
    struct kube_meta meta = {0};
    const char *text = "{\"name\":\"x\",\"name\":\"y\",\"labels\":{\"old\":\"1\"},"
                       "\"labels\":{\"b\":\"1\",\"a\":\"0\",\"b\":\"2\",\"b\":\"3\"},"
                       "\"ownerReferences\":[{\"uid\":\"1\",\"controller\":true},"
                       "{\"uid\":\"2\",\"controller\":true}]}";

    assert_int_equal(read_meta(text, &meta, NULL, NULL), 0);
    assert_string_equal(meta.name, "y");
    assert_int_equal(meta.labels.n, 2);
    assert_string_equal(kube_pairs_get(&meta.labels, "b"), "3");
    assert_string_equal(meta.controller.uid, "2");
    kube_meta_clear(&meta);
    assert_int_equal(intern_count(), before);
}

static void test_wrong_values_are_errors_and_leak_nothing(void **state)
{
    (void)state;
    const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"resourceVersion\":\"12x\"}", "metadata.resourceVersion is not a number"},
        {"{\"resourceVersion\":\"18446744073709551616\"}", "metadata.resourceVersion"},
        {"{\"creationTimestamp\":\"yesterday\"}", "metadata.creationTimestamp"},
        {"{\"deletionTimestamp\":\"2020-13-01T00:00:00Z\"}", "metadata.deletionTimestamp"},
        {"{\"labels\":{\"a\":\"1\",\"b\":7}}", "invalid JSON"},
        {"{\"labels\":[]}", "invalid JSON"},
        {"{\"ownerReferences\":[{\"controller\":\"yes\"}]}", "invalid JSON"},
        {"{\"name\":\"a\"", "invalid JSON"},
        {"[]", "invalid JSON"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t before = intern_count();
        struct error err = ERROR_INIT;
        struct kube_meta meta = {0};
        assert_int_equal(read_meta(cases[i].text, &meta, NULL, &err), -1);
        if (!strstr(err.text, cases[i].message))
            fail_msg("%s: %s", cases[i].text, err.text);
        kube_meta_clear(&meta);
        assert_int_equal(intern_count(), before);
    }
}

static void test_pairs_copy_compare_and_write(void **state)
{
    (void)state;
    cleanup_buf struct buf out = BUF_INIT(100);
    struct kube_meta meta = {0}, other = {0};
    assert_int_equal(read_meta("{\"labels\":{\"b\":\"1\",\"a\":\"x\\ny\"}}", &meta, NULL, NULL), 0);
    assert_int_equal(read_meta("{\"labels\":{\"b\":\"1\",\"a\":\"z\"}}", &other, NULL, NULL), 0);
    struct kube_pairs copy = kube_pairs_copy(&meta.labels);
    struct kube_pairs none = {0}, none_copy = kube_pairs_copy(&none);

    assert_true(kube_pairs_equal(&copy, &meta.labels));
    assert_false(kube_pairs_equal(&copy, &other.labels));
    assert_false(kube_pairs_equal(&copy, &none));
    assert_true(kube_pairs_equal(&none, &none_copy));
    assert_null(kube_pairs_get(&none, "a"));
    kube_meta_clear(&meta);
    struct json_writer writer = json_writer(&out);
    kube_pairs_write(&writer, &copy);
    assert_str(buf_str(&out), "{\"a\":\"x\\ny\",\"b\":\"1\"}");
    kube_pairs_clear(&copy);
    kube_meta_clear(&other);
}

static void test_identity(void **state)
{
    (void)state;
    struct kube_identity identity;
    struct error err = ERROR_INIT;
    assert_int_equal(
        kube_identity_read(STR("{\"spec\":{\"metadata\":{\"name\":\"no\"}},\"metadata\":"
                               "{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\","
                               "\"resourceVersion\":\"5\"}}"),
                           &identity, &err),
        0);
    assert_str(identity.name, "a");
    assert_str(identity.ns, "n");
    assert_str(identity.uid, "u");
    assert_true(identity.rv == 5);
    assert_int_equal(kube_identity_read(STR("{\"metadata\":{\"name\":\"a\""), &identity, &err), -1);
    assert_int_equal(err.cls, ERROR_INVALID);
    assert_str(identity.name, "a"); /* untouched on failure */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_what_it_keeps),
        cmocka_unit_test(test_absent_strings_are_empty),
        cmocka_unit_test(test_last_duplicate_wins_and_nothing_leaks),
        cmocka_unit_test(test_wrong_values_are_errors_and_leak_nothing),
        cmocka_unit_test(test_pairs_copy_compare_and_write),
        cmocka_unit_test(test_identity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
