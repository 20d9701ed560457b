/*
 * Selectors, taints and tolerations read from JSON. (How they decide is tested through the
 * scheduler, tests/unit/scheduler/test_fit.c.)
 */
#include "testing.h"

#include "api/selector.h"
#include "base/intern.h"

static struct json_reader reader_of(const char *text, struct arena *arena)
{
    struct json_reader reader;
    json_init(&reader, str_of(text), arena);
    return reader;
}

static void selector_is_read(void **state)
{
    (void)state;
    cleanup_arena struct arena arena = ARENA_INIT;
    struct node_selector selector = {NULL, 0, false};
    struct kube_pairs none = {NULL, 0};
    struct json_reader reader = reader_of(
        "{\"other\":1,\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"a\",\"operator\":"
        "\"In\",\"values\":[\"x\",\"y\"]}],\"matchFields\":[{\"key\":\"metadata.name\","
        "\"operator\":\"In\",\"values\":[\"n\"]}]},{}]}",
        &arena);
    assert_true(node_selector_matches(&selector, "n", &none)); /* absent: every node */
    node_selector_read(&reader, &selector);
    assert_false(json_failed(&reader));
    assert_true(selector.present);
    assert_int_equal(selector.n, 2);
    assert_int_equal(selector.terms[0].n, 2);
    assert_false(selector.terms[0].items[0].field);
    assert_int_equal(selector.terms[0].items[0].value_count, 2);
    assert_true(selector.terms[0].items[1].field);
    assert_int_equal(selector.terms[1].n, 0);
    assert_false(node_selector_matches(&selector, "n", &none));
    node_selector_clear(&selector);
    assert_int_equal(intern_count(), 0);
}

static void null_selector_is_absent(void **state)
{
    (void)state;
    struct node_selector selector = {NULL, 0, false};
    struct json_reader reader = reader_of("null", NULL);
    node_selector_read(&reader, &selector);
    assert_false(selector.present);
}

/* Matches the one field there is, with exactly one value. */
static void fields_are_few(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n\",\"m\"]}",
        "{\"key\":\"metadata.uid\",\"operator\":\"In\",\"values\":[\"n\"]}",
        "{\"key\":\"metadata.name\",\"operator\":\"Exists\",\"values\":[\"n\"]}"};
    struct kube_pairs none = {NULL, 0};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct node_selector selector = {NULL, 0, false};
        cleanup_free char *text =
            xasprintf("{\"nodeSelectorTerms\":[{\"matchFields\":[%s]}]}", bad[i]);
        struct json_reader reader = reader_of(text, NULL);
        node_selector_read(&reader, &selector);
        assert_false(node_selector_matches(&selector, "n", &none));
        node_selector_clear(&selector);
    }
}

static void labels_hold_a_selector(void **state)
{
    (void)state;
    struct kube_pairs labels = {NULL, 0}, wanted = {NULL, 0};
    struct json_reader reader = reader_of("{\"a\":\"1\",\"b\":\"2\"}", NULL);
    kube_pairs_read(&reader, &labels, NULL);
    assert_true(node_labels_hold(&labels, &wanted));
    reader = reader_of("{\"b\":\"2\"}", NULL);
    kube_pairs_read(&reader, &wanted, NULL);
    assert_true(node_labels_hold(&labels, &wanted));
    reader = reader_of("{\"b\":\"3\"}", NULL);
    kube_pairs_read(&reader, &wanted, NULL);
    assert_false(node_labels_hold(&labels, &wanted));
    kube_pairs_clear(&labels);
    kube_pairs_clear(&wanted);
}

static void taints_and_tolerations_are_read(void **state)
{
    (void)state;
    struct taints taints = {NULL, 0}, other = {NULL, 0};
    struct tolerations tolerations = {NULL, 0};
    struct json_reader reader =
        reader_of("[{\"key\":\"soft\",\"effect\":\"PreferNoSchedule\"},{\"key\":\"hard\",\"value\":"
                  "\"v\",\"effect\":\"NoExecute\",\"timeAdded\":null}]",
                  NULL);
    taints_read(&reader, &taints);
    assert_int_equal(taints.n, 2);
    assert_false(taints_equal(&taints, &other));
    assert_string_equal(taints_untolerated(&taints, &tolerations)->key, "hard");
    reader = reader_of("[{\"key\":\"hard\",\"operator\":\"Equal\",\"value\":\"v\",\"effect\":"
                       "\"NoExecute\",\"tolerationSeconds\":300}]",
                       NULL);
    tolerations_read(&reader, &tolerations);
    assert_null(taints_untolerated(&taints, &tolerations));
    taints_clear(&taints);
    tolerations_clear(&tolerations);
    assert_int_equal(intern_count(), 0);
}

/* An empty key with Equal tolerates nothing. */
static void empty_keys_need_exists(void **state)
{
    (void)state;
    const struct taint taint = {"k", "", TAINT_NO_SCHEDULE};
    const struct toleration equal = {.key = "", .value = "", .any_effect = true};
    const struct toleration exists = {.key = "", .value = "", .any_effect = true, .exists = true};
    assert_false(toleration_covers(&equal, &taint));
    assert_true(toleration_covers(&exists, &taint));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selector_is_read),
        cmocka_unit_test(null_selector_is_absent),
        cmocka_unit_test(fields_are_few),
        cmocka_unit_test(labels_hold_a_selector),
        cmocka_unit_test(taints_and_tolerations_are_read),
        cmocka_unit_test(empty_keys_need_exists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
