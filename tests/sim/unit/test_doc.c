/*
 * JSON documents as trees.
 */
#include "testing.h"

#include "server/doc.h"

static struct doc *parse(struct arena *arena, const char *text)
{
    struct error err = ERROR_INIT;
    struct doc *doc = doc_parse(arena, str_of(text), &err);
    assert_non_null(doc);
    return doc;
}

static void assert_prints(const struct doc *doc, const char *text)
{
    cleanup_buf struct buf out = BUF_INIT(4096);
    doc_print(&out, doc);
    assert_str(buf_str(&out), text);
}

static void test_passes_through_unchanged(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"a\":[1,-2.50,1e9,9223372036854775807,true,false,null],\"b\":{\"c\":\"x\\\"y\\n\"},"
        "\"d\":{}}",
        "[]",
        "\"\"",
        "12345678901234567890123",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        cleanup_arena struct arena arena = ARENA_INIT;
        assert_prints(parse(&arena, texts[i]), texts[i]);
    }
}

static void test_what_is_no_json(void **state)
{
    (void)state;
    cleanup_arena struct arena arena = ARENA_INIT;
    static const char *const texts[] = {"", "{", "{\"a\":}", "[1,]", "{} x", "nul"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct error err = ERROR_INIT;
        assert_null(doc_parse(&arena, str_of(texts[i]), &err));
        assert_int_equal(err.cls, ERROR_INVALID);
    }
}

static void test_last_of_a_name_stands(void **state)
{
    (void)state;
    cleanup_arena struct arena arena = ARENA_INIT;
    assert_prints(parse(&arena, "{\"a\":1,\"b\":2,\"a\":{\"c\":3}}"), "{\"a\":{\"c\":3},\"b\":2}");
}

static void test_looking(void **state)
{
    (void)state;
    cleanup_arena struct arena arena = ARENA_INIT;
    struct doc *doc =
        parse(&arena, "{\"a\":{\"b\":{\"c\":\"x\",\"n\":-7,\"t\":true}},\"l\":[1,2]}");
    assert_str(doc_str_at(doc, "a.b.c"), "x");
    assert_null(doc_at(doc, "a.x.c"));
    assert_null(doc_at(doc, "a.b.c.d"));
    assert_int_equal(doc_i64(doc_at(doc, "a.b.n"), 5), -7);
    assert_int_equal(doc_i64(doc_at(doc, "a.b.c"), 5), 5);
    assert_true(doc_is_true(doc_at(doc, "a.b.t")));
    assert_int_equal(doc_count(doc_at(doc, "l")), 2);
    assert_int_equal(doc_count(NULL), 0);
}

static void test_equal(void **state)
{
    (void)state;
    cleanup_arena struct arena arena = ARENA_INIT;
    static const char *const same[][2] = {{"{\"a\":1,\"b\":[{}]}", "{\"b\":[{}],\"a\":1}"},
                                          {"\"\\u0061\"", "\"a\""}};
    static const char *const other[][2] = {{"{\"a\":1}", "{\"a\":1,\"b\":1}"},
                                           {"{\"a\":1}", "{\"b\":1}"},
                                           {"[1,2]", "[2,1]"},
                                           {"[1]", "[1,2]"},
                                           {"true", "false"},
                                           {"1", "\"1\""},
                                           {"null", "{}"}};
    for (size_t i = 0; i < ARRAY_SIZE(same); i++)
        assert_true(doc_equal(parse(&arena, same[i][0]), parse(&arena, same[i][1])));
    for (size_t i = 0; i < ARRAY_SIZE(other); i++)
        assert_false(doc_equal(parse(&arena, other[i][0]), parse(&arena, other[i][1])));
}

static void test_changing_an_object(void **state)
{
    (void)state;
    cleanup_arena struct arena arena = ARENA_INIT;
    struct doc *doc = parse(&arena, "{\"a\":1,\"b\":2,\"c\":3}");
    doc_set_str(&arena, doc, "b", STR("x"));
    doc_set_i64(&arena, doc, "d", 4);
    assert_true(doc_del(doc, STR("a")));
    assert_false(doc_del(doc, STR("a")));
    assert_prints(doc, "{\"b\":\"x\",\"c\":3,\"d\":4}");
    assert_true(doc_del(doc, STR("d")));
    doc_set(doc_ensure(&arena, doc, STR("e"), JSON_OBJECT), STR("f"), doc_bool(&arena, true));
    assert_prints(doc, "{\"b\":\"x\",\"c\":3,\"e\":{\"f\":true}}");
}

static void test_changing_a_list(void **state)
{
    (void)state;
    cleanup_arena struct arena arena = ARENA_INIT;
    struct doc *doc = parse(&arena, "[1,3]");
    doc_insert(doc, 1, doc_number(&arena, 2));
    doc_insert(doc, 0, doc_number(&arena, 0));
    doc_insert(doc, 9, doc_number(&arena, 4));
    assert_prints(doc, "[0,1,2,3,4]");
    doc_remove(doc, doc->last);
    doc_remove(doc, doc->first);
    doc_append(doc, doc_number(&arena, 5));
    assert_prints(doc, "[1,2,3,5]");
}

static void test_clone_shares_nothing(void **state)
{
    (void)state;
    cleanup_arena struct arena arena = ARENA_INIT;
    struct doc *doc = parse(&arena, "{\"a\":{\"b\":[1]}}");
    struct doc *copy = doc_clone(&arena, doc);
    doc_append(doc_at(copy, "a.b"), doc_number(&arena, 2));
    assert_prints(doc, "{\"a\":{\"b\":[1]}}");
    assert_prints(copy, "{\"a\":{\"b\":[1,2]}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passes_through_unchanged),
        cmocka_unit_test(test_what_is_no_json),
        cmocka_unit_test(test_last_of_a_name_stands),
        cmocka_unit_test(test_looking),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_changing_an_object),
        cmocka_unit_test(test_changing_a_list),
        cmocka_unit_test(test_clone_shares_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
