/*
 * Decoding of nodes.
 */
#include "testing.h"

#include "api/node.h"
#include "base/intern.h"

static struct node *decode(const char *text)
{
    struct error err = ERROR_INIT;
    struct node *node = node_decode(str_of(text), &err);
    if (!node)
        assert_int_equal(err.cls, ERROR_INVALID);
    return node;
}

#define META                                                                                       \
    "\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"5\",\"labels\":{\"a\":"      \
    "\"b\"}}"
#define NODE(spec, allocatable)                                                                    \
    "{" META ",\"spec\":{" spec                                                                    \
    "},\"status\":{\"capacity\":{\"cpu\":\"99\"},\"allocatable\":{" allocatable                    \
    "},\"images\":[]}}"

static void node_is_read(void **state)
{
    (void)state;
    struct node *node =
        decode(NODE("\"unschedulable\":true,\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]",
                    "\"cpu\":\"3500m\",\"memory\":\"2Gi\",\"pods\":\"110\",\"x.example/y\":\"4\""));
    assert_non_null(node);
    assert_true(node->unschedulable);
    assert_int_equal(node->taints.n, 1);
    assert_int_equal(resource_vector_get(&node->allocatable, RESOURCE_CPU), 3500);
    assert_int_equal(resource_vector_get(&node->allocatable, RESOURCE_MEMORY), INT64_C(2) << 30);
    assert_int_equal(resource_vector_get(&node->allocatable, resource_id(STR("x.example/y"))), 4);
    assert_string_equal(kube_pairs_get(&node->meta.labels, "a"), "b");
    node_ref(node);
    node_unref(node);
    assert_int_equal(node->meta.rv, 5);
    node_unref(node);
    assert_int_equal(intern_count(), 0);
}

static void images_are_read(void **state)
{
    (void)state;
    static const char text[] =
        "{" META ",\"status\":{\"images\":[{\"sizeBytes\":7,\"names\":[\"a:1\",\"a@sha256:0\"]},"
        "{\"names\":[\"b:1\",\"a:1\"],\"sizeBytes\":9},{\"names\":null}]}}";
    struct node *node = decode(text), *again = decode(text);
    assert_int_equal(node->image_count, 3);
    assert_string_equal(node->images[0].name, "a:1");
    assert_int_equal(node->images[0].size, 7);
    assert_int_equal(node->images[1].size, 7);
    assert_string_equal(node->images[2].name, "b:1");
    assert_int_equal(node->images[2].size, 9);
    assert_true(node_schedules_alike(node, again));
    again->images[2].size = 10;
    assert_false(node_schedules_alike(node, again));
    node_unref(node);
    node_unref(again);
    assert_int_equal(intern_count(), 0);
}

static void broken_nodes_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "[]",
                                      "{}",
                                      "{\"metadata\":{\"name\":\"n\"}}",
                                      NODE("", "\"cpu\":\"much\""),
                                      NODE("\"taints\":7", ""),
                                      NODE("\"unschedulable\":\"yes\"", ""),
                                      "{" META};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_null(decode(bad[i]));
    assert_int_equal(intern_count(), 0);
}

static void only_what_matters_is_compared(void **state)
{
    (void)state;
    struct node *a = decode(NODE("", "\"cpu\":\"1\""));
    static const char *const others[] = {NODE("", "\"cpu\":\"2\""),
                                         NODE("\"unschedulable\":true", "\"cpu\":\"1\""),
                                         NODE("\"taints\":[{\"key\":\"k\"}]", "\"cpu\":\"1\"")};
    struct node *same = decode(NODE("\"podCIDR\":\"10.0.0.0/24\"", "\"cpu\":\"1000m\""));
    assert_true(node_schedules_alike(a, same));
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        struct node *other = decode(others[i]);
        assert_false(node_schedules_alike(a, other));
        assert_false(node_admits_alike(a, other));
        node_unref(other);
    }
    static const char pulled[] =
        "{" META
        ",\"status\":{\"allocatable\":{\"cpu\":\"1\"},\"images\":[{\"names\":[\"a:1\"]}]}}";
    struct node *images = decode(pulled);
    assert_false(node_schedules_alike(a, images));
    assert_true(node_admits_alike(a, images));
    assert_true(node_admits_alike(a, same));
    node_unref(images);
    node_unref(a);
    node_unref(same);
    node_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_is_read),
        cmocka_unit_test(images_are_read),
        cmocka_unit_test(broken_nodes_are_refused),
        cmocka_unit_test(only_what_matters_is_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
