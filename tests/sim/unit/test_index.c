/*
 * The ordered index: against a table of what is in.
 */
#include "testing.h"

#include "base/rng.h"
#include "server/index.h"
#include <stdio.h>

#define KEYS 3000

struct item {
    struct index_node node;
    char key[16];
    bool in;
};

static void check(const struct index *index, const struct item *items, size_t n)
{
    const struct index_node *node = index_from(index, STR_NULL);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) { /* the items are in the order of their keys */
        assert_ptr_equal(index_find(index, str_of(items[i].key)),
                         items[i].in ? &items[i].node : NULL);
        if (!items[i].in)
            continue;
        assert_ptr_equal(node, &items[i].node);
        node = index_next(node);
        count++;
    }
    assert_null(node);
    assert_int_equal(index->count, count);
}

static void test_against_a_table(void **state)
{
    (void)state;
    static struct item items[KEYS];
    struct index index = {.count = 0};
    struct rng rng;
    rng_seed(&rng, 7);
    for (size_t i = 0; i < KEYS; i++)
        (void)snprintf(items[i].key, sizeof(items[i].key), "ns%zu/p%05zu", i / 1000, i);
    for (size_t step = 0; step < 20000; step++) {
        struct item *item = &items[rng_below(&rng, KEYS)];
        item->node.key = str_of(item->key);
        if (item->in)
            index_remove(&index, &item->node);
        else
            assert_true(index_add(&index, &item->node));
        item->in = !item->in;
        if (step % 1000 == 0)
            check(&index, items, KEYS);
    }
    check(&index, items, KEYS);
    for (size_t i = 0; i < KEYS; i++)
        if (items[i].in)
            index_remove(&index, &items[i].node);
    assert_null(index_from(&index, STR_NULL));
}

static void test_a_taken_key_is_refused(void **state)
{
    (void)state;
    struct index index = {.count = 0};
    struct index_node a = {.key = STR("a")}, again = {.key = STR("a")};
    assert_true(index_add(&index, &a));
    assert_false(index_add(&index, &again));
    assert_ptr_equal(index_find(&index, STR("a")), &a);
    index_remove(&index, &a);
}

static void test_from(void **state)
{
    (void)state;
    struct index index = {.count = 0};
    struct index_node nodes[] = {
        {.key = STR("a-b/x")}, {.key = STR("a/x")}, {.key = STR("a/y")}, {.key = STR("ab/x")}};
    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
        assert_true(index_add(&index, &nodes[i]));
    assert_ptr_equal(index_from(&index, STR("a/")), &nodes[1]);
    assert_ptr_equal(index_from(&index, STR("a/y")), &nodes[2]);
    assert_ptr_equal(index_from(&index, STR("a/z")), &nodes[3]);
    assert_null(index_from(&index, STR("b")));
    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
        index_remove(&index, &nodes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_a_table),
        cmocka_unit_test(test_a_taken_key_is_refused),
        cmocka_unit_test(test_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
