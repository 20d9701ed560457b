/* The pull reader: values, null, keys, limits, errors and their places. */
#include "base/buf.h"
#include "testing.h"
#include "json/reader.h"
#include <math.h>

static struct arena arena = ARENA_INIT;

static struct json_reader reader_of(const char *text)
{
    struct json_reader reader;
    json_init(&reader, str_of(text), &arena);
    return reader;
}

static int clear(void **state)
{
    (void)state;
    arena_clear(&arena);
    return 0;
}

static void test_object(void **state)
{
    (void)state;
    struct json_reader r = reader_of("{\"name\": \"a\", \"n\": 3, \"ok\": true, \"x\": [1, {}]}");
    struct str key, name = STR_NULL;
    int64_t n = 0;
    bool ok = false;
    size_t others = 0;
    assert_int_equal(json_peek(&r), JSON_OBJECT);
    assert_true(json_object(&r));
    while (json_key(&r, &key)) {
        if (str_is(key, "name"))
            name = json_str(&r);
        else if (str_is(key, "n"))
            n = json_i64(&r);
        else if (str_is(key, "ok"))
            ok = json_bool(&r);
        else
            others++, json_skip(&r);
    }
    assert_int_equal(json_end(&r, NULL), 0);
    assert_str(name, "a");
    assert_int_equal(n, 3);
    assert_true(ok);
    assert_int_equal(others, 1);
    assert_int_equal(r.values, 7);
    assert_int_equal(r.depth, 0);
}

static void test_slices_of_the_input(void **state)
{
    (void)state;
    const char *text = "[\"plain\", \"esc\\n\"]";
    struct json_reader r = reader_of(text);
    assert_true(json_array(&r));
    assert_true(json_item(&r));
    assert_ptr_equal(json_str(&r).p, text + 2);
    assert_true(json_item(&r));
    struct str escaped = json_str(&r);
    assert_str(escaped, "esc\n");
    assert_int_equal(escaped.p[escaped.n], 0);
    assert_true(escaped.p < text || escaped.p > text + strlen(text));
    assert_false(json_item(&r));
    assert_int_equal(json_end(&r, NULL), 0);
}

static void test_escapes(void **state)
{
    (void)state;
    const struct {
        const char *json, *text;
        size_t n;
    } cases[] = {
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
        {"\"\\u0041\"", "A", 1},
        {"\"\\u007f\"", "\x7F", 1},
        {"\"\\u0080\"", "\xC2\x80", 2},
        {"\"\\u07FF\"", "\xDF\xBF", 2},
        {"\"\\u0800\"", "\xE0\xA0\x80", 3},
        {"\"\\uD7FF\"", "\xED\x9F\xBF", 3},
        {"\"\\ue000\"", "\xEE\x80\x80", 3},
        {"\"\\uffff\"", "\xEF\xBF\xBF", 3},
        {"\"\\ud800\\udc00\"", "\xF0\x90\x80\x80", 4},
        {"\"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80", 4},
        {"\"\\udbff\\udfff\"", "\xF4\x8F\xBF\xBF", 4},
        {"\"a\\u0000b\"", "a\0b", 3},
        {"\"x\\u003cy\\u003Ez\"", "x<y>z", 5},
        {"\"\xC3\xA9\\n\xE2\x82\xAC\"", "\xC3\xA9\n\xE2\x82\xAC", 6},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct json_reader r = reader_of(cases[i].json);
        struct str text = json_str(&r);
        assert_int_equal(json_end(&r, NULL), 0);
        assert_int_equal(text.n, cases[i].n);
        assert_memory_equal(text.p, cases[i].text, text.n);
    }
}

static void test_escaped_keys(void **state)
{
    (void)state;
    struct json_reader r = reader_of("{\"a\\u002fb\":1}");
    struct str key;
    assert_true(json_object(&r));
    assert_true(json_key(&r, &key));
    assert_str(key, "a/b");
    json_skip(&r);
    assert_false(json_key(&r, &key));
    assert_int_equal(json_end(&r, NULL), 0);
}

static void test_no_arena(void **state)
{
    (void)state;
    struct json_reader r;
    json_init(&r, STR("[\"a\", \"\\n\"]"), NULL);
    assert_true(json_array(&r));
    assert_true(json_item(&r));
    assert_str(json_str(&r), "a");
    assert_true(json_item(&r));
    assert_int_equal(json_str(&r).n, 0);
    assert_true(json_failed(&r));
    json_init(&r, STR("[\"\\n\", {\"\\t\": 1}]"), NULL);
    json_skip(&r); /* skipping needs none */
    assert_int_equal(json_end(&r, NULL), 0);
}

static void test_null_is_absent(void **state)
{
    (void)state;
    struct json_reader r = reader_of("[null,null,null,null,null,null,null,null]");
    assert_true(json_array(&r));
    assert_true(json_item(&r) && !json_object(&r));
    assert_true(json_item(&r) && !json_array(&r));
    assert_true(json_item(&r) && json_str(&r).n == 0);
    assert_true(json_item(&r) && json_i64(&r) == 0);
    assert_true(json_item(&r) && json_i32(&r) == 0);
    assert_true(json_item(&r) && fabs(json_double(&r)) <= 0.0);
    assert_true(json_item(&r) && !json_bool(&r));
    assert_true(json_item(&r) && json_scalar(&r).n == 0);
    assert_false(json_item(&r));
    assert_int_equal(json_end(&r, NULL), 0);
}

static void test_empty_string_is_not_null(void **state)
{
    (void)state;
    struct json_reader r = reader_of("[\"\", null]");
    assert_true(json_array(&r));
    assert_true(json_item(&r));
    assert_non_null(json_str(&r).p);
    assert_true(json_item(&r));
    assert_null(json_str(&r).p);
}

static void test_integers(void **state)
{
    (void)state;
    const struct {
        const char *text;
        bool fits64, fits32;
        int64_t value;
    } cases[] = {
        {"0", true, true, 0},
        {"-0", true, true, 0},
        {"2147483647", true, true, INT32_MAX},
        {"2147483648", true, false, INT64_C(2147483648)},
        {"-2147483648", true, true, INT32_MIN},
        {"-2147483649", true, false, INT64_C(-2147483649)},
        {"9007199254740993", true, false, INT64_C(9007199254740993)},
        {"9223372036854775807", true, false, INT64_MAX},
        {"9223372036854775808", false, false, 0},
        {"-9223372036854775808", true, false, INT64_MIN},
        {"-9223372036854775809", false, false, 0},
        {"1.0", false, false, 0},
        {"1e3", false, false, 0},
        {"\"1\"", false, false, 0},
        {"true", false, false, 0},
        {"[]", false, false, 0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct json_reader r = reader_of(cases[i].text);
        assert_true(json_i64(&r) == cases[i].value);
        assert_int_equal(json_end(&r, NULL) == 0, cases[i].fits64);
        r = reader_of(cases[i].text);
        assert_true(json_i32(&r) == (cases[i].fits32 ? cases[i].value : 0));
        assert_int_equal(json_end(&r, NULL) == 0, cases[i].fits32);
    }
}

static void test_doubles(void **state)
{
    (void)state;
    const struct {
        const char *text;
        bool good;
        double value;
    } cases[] = {
        {"0.25", true, 0.25},   {"-1e3", true, -1000.0}, {"7", true, 7.0},
        {"1e308", true, 1e308}, {"1e309", false, 0.0},   {"\"1\"", false, 0.0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct json_reader r = reader_of(cases[i].text);
        assert_true(fabs(json_double(&r) - cases[i].value) <= 0.0);
        assert_int_equal(json_end(&r, NULL) == 0, cases[i].good);
    }
}

static void test_scalar(void **state)
{
    (void)state;
    struct json_reader r = reader_of("[\"1Gi\", 1.50, -3, \"\\u0031\"]");
    const char *expected[] = {"1Gi", "1.50", "-3", "1"};
    assert_true(json_array(&r));
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        assert_true(json_item(&r));
        assert_str(json_scalar(&r), expected[i]);
    }
    assert_false(json_item(&r));
    assert_int_equal(json_end(&r, NULL), 0);
    const char *bad[] = {"true", "[]", "{}", "-", ""};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        r = reader_of(bad[i]);
        assert_int_equal(json_scalar(&r).n, 0);
        assert_true(json_end(&r, NULL) < 0);
    }
}

static void test_raw(void **state)
{
    (void)state;
    struct json_reader r = reader_of("{\"a\":  {\"x\" : [1, 2e5, \"\\u0000\"]} , \"b\":12 }");
    struct str key;
    assert_true(json_object(&r));
    assert_true(json_key(&r, &key));
    assert_str(json_raw(&r), "{\"x\" : [1, 2e5, \"\\u0000\"]}");
    assert_true(json_key(&r, &key));
    assert_str(json_raw(&r), "12");
    assert_false(json_key(&r, &key));
    assert_int_equal(json_end(&r, NULL), 0);
    r = reader_of("[1,");
    assert_null(json_raw(&r).p);
}

static void test_duplicates_in_order(void **state)
{
    (void)state;
    struct json_reader r = reader_of("{\"a\":1,\"a\":2}");
    struct str key;
    int64_t last = 0;
    assert_true(json_object(&r));
    while (json_key(&r, &key)) {
        assert_str(key, "a");
        assert_int_equal(json_i64(&r), last + 1);
        last++;
    }
    assert_int_equal(last, 2);
}

static void test_peek(void **state)
{
    (void)state;
    const struct {
        const char *text;
        enum json_type type;
    } cases[] = {
        {" null", JSON_NULL}, {"true", JSON_BOOL}, {"false", JSON_BOOL}, {"-1", JSON_NUMBER},
        {"9", JSON_NUMBER},   {"\"", JSON_STRING}, {"[", JSON_ARRAY},    {"{", JSON_OBJECT},
        {"", JSON_NONE},      {"]", JSON_NONE},    {"x", JSON_NONE},     {",", JSON_NONE},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct json_reader r = reader_of(cases[i].text);
        assert_int_equal(json_peek(&r), cases[i].type);
        assert_int_equal(json_peek(&r), cases[i].type);
        assert_false(json_failed(&r));
    }
}

static void test_wrong_types(void **state)
{
    (void)state;
    struct json_reader r = reader_of("[1]");
    assert_false(json_object(&r));
    assert_true(json_failed(&r));
    r = reader_of("{}");
    assert_false(json_array(&r));
    assert_true(json_failed(&r));
    r = reader_of("1");
    assert_int_equal(json_str(&r).n, 0);
    assert_true(json_failed(&r));
    r = reader_of("\"true\"");
    assert_false(json_bool(&r));
    assert_true(json_failed(&r));
}

static void test_errors_stick(void **state)
{
    (void)state;
    struct json_reader r = reader_of("{\"a\": x, \"b\": 1}");
    struct str key;
    struct error err = ERROR_INIT;
    assert_true(json_object(&r));
    assert_true(json_key(&r, &key));
    json_skip(&r);
    assert_true(json_failed(&r));
    assert_false(json_key(&r, &key));
    assert_false(json_item(&r));
    assert_false(json_object(&r));
    assert_false(json_array(&r));
    assert_int_equal(json_peek(&r), JSON_NONE);
    assert_int_equal(json_str(&r).n, 0);
    assert_int_equal(json_i64(&r), 0);
    assert_int_equal(json_raw(&r).n, 0);
    json_fail(&r, "a later error");
    assert_int_equal(json_end(&r, &err), -1);
    assert_int_equal(err.cls, ERROR_INVALID);
    assert_string_equal(err.text, "invalid JSON at byte 6: expected a value");
}

static void test_error_places(void **state)
{
    (void)state;
    const struct {
        const char *text, *error;
    } cases[] = {
        {"", "invalid JSON at byte 0: the text ends too early"},
        {"[1,2", "invalid JSON at byte 4: the text ends too early"},
        {"[1 2]", "invalid JSON at byte 3: expected ',' or ']'"},
        {"{\"a\":1 2}", "invalid JSON at byte 7: expected ',' or '}'"},
        {"{1:2}", "invalid JSON at byte 1: expected a key in quotes"},
        {"{\"a\" 2}", "invalid JSON at byte 5: expected ':' after a key"},
        {"\"a\\q\"", "invalid JSON at byte 2: invalid escape in a string"},
        {"\"a\xFF\"", "invalid JSON at byte 2: invalid UTF-8 in a string"},
        {"\"a\n\"", "invalid JSON at byte 2: control character in a string"},
        {"\"abc", "invalid JSON at byte 4: the text ends too early"},
        {"-x", "invalid JSON at byte 0: malformed number"},
        {"[] x", "invalid JSON at byte 3: more text after the value"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct json_reader r = reader_of(cases[i].text);
        struct error err = ERROR_INIT;
        json_skip(&r);
        assert_int_equal(json_end(&r, &err), -1);
        assert_string_equal(err.text, cases[i].error);
        assert_int_equal(err.cls, ERROR_INVALID);
    }
}

static void test_callers_error(void **state)
{
    (void)state;
    struct json_reader r = reader_of("{\"a\":1}");
    struct error err = ERROR_INIT;
    assert_true(json_object(&r));
    json_fail(&r, "spec.queue is empty");
    assert_int_equal(json_end(&r, &err), -1);
    assert_string_equal(err.text, "invalid JSON at byte 1: spec.queue is empty");
}

/* Reading on after null, or in the wrong kind of container, is an error and no crash. */
static void test_misuse_is_an_error(void **state)
{
    (void)state;
    struct str key;
    struct json_reader r = reader_of("[null]");
    assert_true(json_array(&r));
    assert_true(json_item(&r));
    assert_false(json_object(&r));
    assert_false(json_key(&r, &key));
    assert_true(json_failed(&r));
    r = reader_of("{}");
    assert_true(json_object(&r));
    assert_false(json_item(&r));
    assert_true(json_failed(&r));
    r = reader_of("1");
    assert_false(json_key(&r, &key));
    assert_false(json_item(&r));
    r = reader_of("[1");
    assert_true(json_array(&r));
    assert_true(json_end(&r, NULL) < 0);
    r = reader_of("{\"a\":1}");
    assert_true(json_object(&r));
    assert_true(json_end(&r, NULL) < 0);
    r = reader_of("");
    assert_true(json_end(&r, NULL) < 0);
}

/* `depth` arrays, read by skipping from inside `outside` of them. */
static int read_nested(int depth, int outside, struct error *err)
{
    char text[200];
    memset(text, '[', (size_t)depth);
    memset(text + depth, ']', (size_t)depth);
    struct json_reader r;
    json_init(&r, str_make(text, 2 * (size_t)depth), NULL);
    for (int i = 0; i < outside; i++)
        if (!json_array(&r) || (i + 1 < depth && !json_item(&r)))
            break;
    if (outside < depth)
        json_skip(&r);
    for (int i = 0; i < outside; i++)
        assert_false(json_item(&r));
    return json_end(&r, err);
}

static void test_depth_limit(void **state)
{
    (void)state;
    for (int outside = 0; outside <= LIMIT_JSON_DEPTH; outside++) {
        struct error err = ERROR_INIT;
        assert_int_equal(read_nested(LIMIT_JSON_DEPTH, outside, &err), 0);
        assert_int_equal(read_nested(LIMIT_JSON_DEPTH + 1, outside, &err), -1);
        assert_int_equal(err.cls, ERROR_LIMIT);
        assert_string_equal(err.text, "invalid JSON at byte 64: nested deeper than 64 levels");
    }
    struct error err = ERROR_INIT;
    assert_int_equal(read_nested(LIMIT_JSON_DEPTH + 1, LIMIT_JSON_DEPTH + 1, &err), -1);
    assert_int_equal(err.cls, ERROR_LIMIT);
}

static void test_string_limit(void **state)
{
    (void)state;
    const char *units[] = {"a", "\\n", "\\u003c", "\\ud83d\\ude00"};
    const size_t sizes[] = {1, 1, 1, 4}; /* what counts is the decoded size */
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        for (size_t over = 0; over < 2; over++) {
            cleanup_buf struct buf text = BUF_INIT(SIZE_MAX);
            buf_add_char(&text, '"');
            for (size_t n = 0; n < LIMIT_JSON_STRING; n += sizes[i])
                buf_add_cstr(&text, units[i]);
            if (over)
                buf_add_char(&text, 'x');
            buf_add_char(&text, '"');
            struct json_reader r;
            struct error err = ERROR_INIT;
            json_init(&r, buf_str(&text), &arena);
            struct str value = json_str(&r);
            assert_int_equal(json_end(&r, &err), over ? -1 : 0);
            assert_int_equal(value.n, over ? 0 : LIMIT_JSON_STRING);
            assert_int_equal(err.cls, over ? ERROR_LIMIT : ERROR_NONE);
            json_init(&r, buf_str(&text), NULL);
            json_skip(&r);
            assert_int_equal(json_end(&r, NULL), over ? -1 : 0);
        }
}

static void test_values_limit(void **state)
{
    (void)state;
    /* Six values: the array, 1, the object, 2, "x", null. Keys do not count. */
    const char *text = "[1,{\"a\":2,\"b\":\"x\"},null]";
    for (size_t max = 0; max <= 7; max++) {
        struct json_reader r = reader_of(text);
        struct error err = ERROR_INIT;
        r.max_values = max;
        json_skip(&r);
        assert_int_equal(json_end(&r, &err), max < 6 ? -1 : 0);
        assert_int_equal(err.cls, max < 6 ? ERROR_LIMIT : ERROR_NONE);

        r = reader_of(text);
        r.max_values = max;
        struct str key;
        if (json_array(&r)) {
            if (json_item(&r))
                (void)json_i64(&r);
            if (json_item(&r) && json_object(&r))
                while (json_key(&r, &key))
                    (void)json_scalar(&r);
            if (json_item(&r))
                (void)json_bool(&r);
            assert_false(json_item(&r));
        }
        assert_int_equal(json_end(&r, &err), max < 6 ? -1 : 0);
        assert_int_equal(r.values, max < 6 ? max : 6);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_object),
        TEST(test_slices_of_the_input),
        TEST(test_escapes),
        TEST(test_escaped_keys),
        TEST(test_no_arena),
        TEST(test_null_is_absent),
        TEST(test_empty_string_is_not_null),
        TEST(test_integers),
        TEST(test_doubles),
        TEST(test_scalar),
        TEST(test_raw),
        TEST(test_duplicates_in_order),
        TEST(test_peek),
        TEST(test_wrong_types),
        TEST(test_errors_stick),
        TEST(test_error_places),
        TEST(test_callers_error),
        TEST(test_misuse_is_an_error),
        TEST(test_depth_limit),
        TEST(test_string_limit),
        TEST(test_values_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
