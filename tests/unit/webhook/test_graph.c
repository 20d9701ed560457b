/*
 * Ordering by dependencies: what is in order, circles and strangers are named, and graphs that make
 * a walk along every way explode take time by the number of their edges.
 */
#include "testing.h"

#include "webhook/rules/graph.h"
#include <stdio.h>
#include <time.h>

static const char *item_name(const cJSON *item, size_t index, char text[GRAPH_NAME_MAX])
{
    (void)index;
    (void)text;
    return tree_str(item, "name");
}

static const cJSON *item_dependencies(const cJSON *item)
{
    return tree_array(item, "on");
}

static enum graph_verdict check(const cJSON *list, const char *item, const char *dependency)
{
    struct arena arena cleanup_arena = ARENA_INIT;
    const struct graph_items items = {list, item_name, item_dependencies};
    const struct graph_finding finding = graph_check(&items, &arena);
    assert_true((item == NULL) == (finding.item == NULL));
    if (item)
        assert_string_equal(finding.item, item);
    assert_true((dependency == NULL) == (finding.dependency == NULL));
    if (dependency)
        assert_string_equal(finding.dependency, dependency);
    return finding.verdict;
}

static enum graph_verdict check_text(const char *text, const char *item, const char *dependency)
{
    cJSON *list = cJSON_Parse(text);
    assert_non_null(list);
    const enum graph_verdict verdict = check(list, item, dependency);
    cJSON_Delete(list);
    return verdict;
}

static void test_order(void **state)
{
    (void)state;
    assert_int_equal(check(NULL, NULL, NULL), GRAPH_ORDERED);
    assert_int_equal(check_text("[]", NULL, NULL), GRAPH_ORDERED);
    assert_int_equal(
        check_text("[{\"name\":\"a\"},{\"name\":\"b\",\"on\":[\"a\",\"a\"]}]", NULL, NULL),
        GRAPH_ORDERED);
    assert_int_equal(
        check_text("[{\"name\":\"b\",\"on\":[\"a\"]},{\"name\":\"a\",\"on\":[]}]", NULL, NULL),
        GRAPH_ORDERED);
}

static void test_strangers(void **state)
{
    (void)state;
    assert_int_equal(check_text("[{\"name\":\"a\",\"on\":[\"b\"]}]", "a", "b"), GRAPH_STRANGER);
    assert_int_equal(check_text("[{\"name\":\"a\",\"on\":[7]}]", "a", ""), GRAPH_STRANGER);
}

static void test_circles(void **state)
{
    (void)state;
    assert_int_equal(check_text("[{\"name\":\"a\",\"on\":[\"a\"]}]", "a", NULL), GRAPH_CIRCLE);
    /* The first that cannot be ordered hangs on the circle but is not on it. */
    assert_int_equal(check_text("[{\"name\":\"z\",\"on\":[\"o\",\"a\"]},{\"name\":\"o\"},"
                                "{\"name\":\"a\",\"on\":[\"o\",\"b\"]},"
                                "{\"name\":\"b\",\"on\":[\"a\"]}]",
                                "a", NULL),
                     GRAPH_CIRCLE);
}

static void test_overruled(void **state)
{
    (void)state;
    assert_int_equal(check_text("[{\"name\":\"a\",\"on\":[\"x\"]},{\"name\":\"a\"}]", NULL, NULL),
                     GRAPH_ORDERED);
    assert_int_equal(check_text("[{\"name\":\"a\"},{\"name\":\"a\",\"on\":[\"a\"]}]", "a", NULL),
                     GRAPH_CIRCLE);
}

/* Each item of a layer waits for all of the layer before; `closed`: the first for the last, too. */
static cJSON *layers(size_t count, size_t width, bool closed)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < count * width; i++) {
        char name[32];
        cJSON *item = cJSON_CreateObject(), *on = cJSON_AddArrayToObject(item, "on");
        (void)snprintf(name, sizeof(name), "%zu", i);
        cJSON_AddStringToObject(item, "name", name);
        for (size_t j = 0; j < width && i >= width; j++) {
            (void)snprintf(name, sizeof(name), "%zu", (i / width - 1) * width + j);
            cJSON_AddItemToArray(on, cJSON_CreateString(name));
        }
        if (closed && i == 0) {
            (void)snprintf(name, sizeof(name), "%zu", count * width - 1);
            cJSON_AddItemToArray(on, cJSON_CreateString(name));
        }
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static double milliseconds(clock_t begin)
{
    return (double)(clock() - begin) * 1000 / CLOCKS_PER_SEC;
}

/* 10^20 ways lead through twenty layers of ten. A millisecond is meant, sanitizers need more. */
static void test_layers(void **state)
{
    (void)state;
    cJSON *list = layers(20, 10, false), *circle = layers(20, 10, true);
    const clock_t begin = clock();
    for (int i = 0; i < 10; i++) {
        assert_int_equal(check(list, NULL, NULL), GRAPH_ORDERED);
        assert_int_equal(check(circle, "0", NULL), GRAPH_CIRCLE);
    }
    const double each = milliseconds(begin) / 20;
    if (each >= 20)
        fail_msg("%.2f ms for each graph", each);
    cJSON_Delete(list);
    cJSON_Delete(circle);
}

/* Four times the edges take about four times as long, not sixteen. */
static void test_linear(void **state)
{
    (void)state;
    cJSON *list = layers(100, 40, false), *large = layers(400, 40, false);
    clock_t begin = clock();
    assert_int_equal(check(list, NULL, NULL), GRAPH_ORDERED);
    const double one = milliseconds(begin);
    begin = clock();
    assert_int_equal(check(large, NULL, NULL), GRAPH_ORDERED);
    const double four = milliseconds(begin);
    if (four > 12 * one + 50)
        fail_msg("%.1f ms, and %.1f ms for four times as much", one, four);
    cJSON_Delete(list);
    cJSON_Delete(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),   cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_circles), cmocka_unit_test(test_overruled),
        cmocka_unit_test(test_layers),  cmocka_unit_test(test_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
