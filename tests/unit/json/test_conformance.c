/* The reader accepts exactly RFC 8259: lists of texts that are JSON and of texts that are not. */
#include "base/buf.h"
#include "testing.h"
#include "json/reader.h"

static const char *const valid[] = {
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-1",
    "10",
    "1.5",
    "-0.0",
    "0e0",
    "1e5",
    "1E+5",
    "1e-5",
    "123456789012345678901234567890",
    "1e999",
    "\"\"",
    "\"a\"",
    "\" \"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    "\"\\u0000\"",
    "\"\\u00e9\"",
    "\"\\u00E9\"",
    "\"\\ud83d\\ude00\"",
    "\"\\uD800\\uDC00\"",
    "\"\\uDBFF\\uDFFF\"",
    "\"\\uFFFF\"",
    "\"\x7F\"",
    "\"\xC2\x80\"",
    "\"\xE2\x82\xAC\"",
    "\"\xED\x9F\xBF\"",
    "\"\xF0\x9F\x98\x80\"",
    "\"\xF4\x8F\xBF\xBF\"",
    "\"'\"",
    "\"12345678901234567890123456789012345\"",
    "[]",
    "[ ]",
    "{}",
    "{ }",
    "[1]",
    "[1,2]",
    "[[]]",
    "[[],[]]",
    "[{}]",
    "{\"a\":[]}",
    "{\"a\":1}",
    "{\"\":1}",
    "{\"a\":1,\"a\":2}",
    "{\"a\":{\"b\":{}},\"c\":[1,\"x\",null,true,false,{}]}",
    " \t\r\n[ \t\r\n1 \t\r\n, \t\r\n2 \t\r\n] \t\r\n",
    " { \"a\" : 1 , \"b\" : 2 } ",
};

static const char *const invalid[] = {
    "",
    " ",
    "\xEF\xBB\xBF[]", /* a byte order mark */
    "nul",
    "nulll",
    "null null",
    "NULL",
    "True",
    "tru",
    "fals",
    "undefined",
    "NaN",
    "Infinity",
    "-Infinity",
    "+1",
    "-",
    "--1",
    "01",
    "-01",
    "00",
    "1.",
    ".5",
    "-.5",
    "1.e5",
    "1e",
    "1e+",
    "1E-",
    "1e1.5",
    "0x10",
    "1_000",
    "1a",
    "1 2",
    "\"",
    "\"a",
    "\"a\\",
    "\"a\\\"",
    "\"\\a\"",
    "\"\\'\"",
    "\"\\x41\"",
    "\"\\0\"",
    "\"\\u\"",
    "\"\\u12\"",
    "\"\\u123\"",
    "\"\\u123g\"",
    "\"\\U0041\"",
    "\"\\ud800\"",        /* high half alone */
    "\"\\udc00\"",        /* low half alone */
    "\"\\ud800\\ud800\"", /* two high halves */
    "\"\\ud800x\"",
    "\"\\ud800\\n\"",
    "\"\\ud800\\u0041\"",
    "\"\\udc00\\ud800\"",
    "\"\\ud83d\\ude0\"",
    "\"\n\"",
    "\"\t\"",
    "\"\x01\"",
    "\"\x1F\"",
    "\"12345678\x1F\"",
    "\"\x80\"",
    "\"\xC0\x80\"", /* overlong NUL */
    "\"\xC1\xBF\"",
    "\"\xE0\x80\xAF\"",     /* overlong slash */
    "\"\xF0\x80\x80\xAF\"", /* overlong slash */
    "\"\xED\xA0\x80\"",     /* a surrogate in UTF-8 */
    "\"\xF4\x90\x80\x80\"", /* past U+10FFFF */
    "\"\xC3\"",
    "\"\xE2\x82\"",
    "\"\xF0\x9F\x98\"",
    "\"\xFF\"",
    "\"1234567\xFF\"",
    "'a'",
    "a",
    "[",
    "]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[,]",
    "[1,,2]",
    "[1 2]",
    "[1}",
    "[1:2]",
    "[1]]",
    "[\"a\"",
    "[[]",
    "{",
    "}",
    "{]",
    "{\"a\"",
    "{\"a\":",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}",
    "{,\"a\":1}",
    "{\"a\":1,,\"b\":2}",
    "{\"a\":1 \"b\":2}",
    "{\"a\" 1}",
    "{\"a\"::1}",
    "{\"a\":1]",
    "{a:1}",
    "{1:1}",
    "{null:1}",
    "{'a':1}",
    "{\"a\":1}}",
    "{\"a\":1} x",
    "[] []",
    "// comment\n[]",
    "[] /* comment */",
    "[\v]",
    "[\f1]",
    "[\xC2\xA0]",
};

/* Reads any value with the typed calls, as a decoder that knows every member would. */
static void read_value(struct json_reader *reader)
{
    struct str key;
    switch (json_peek(reader)) {
    case JSON_OBJECT:
        if (json_object(reader))
            while (json_key(reader, &key))
                read_value(reader);
        break;
    case JSON_ARRAY:
        if (json_array(reader))
            while (json_item(reader))
                read_value(reader);
        break;
    case JSON_BOOL:
        (void)json_bool(reader);
        break;
    case JSON_NUMBER:
        (void)json_scalar(reader);
        break;
    default:
        (void)json_str(reader);
        break;
    }
}

enum way { BY_SKIP, BY_RAW, BY_VALUE, WAY_COUNT };

static int read_whole(struct str text, enum way way)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct error err = ERROR_INIT;
    json_init(&reader, text, &arena);
    if (way == BY_SKIP)
        json_skip(&reader);
    else if (way == BY_RAW)
        (void)json_raw(&reader);
    else
        read_value(&reader);
    int rc = json_end(&reader, &err);
    assert_int_equal(rc < 0, err.text[0] != '\0');
    assert_true(reader.error_offset <= text.n);
    return rc;
}

/* The text in memory of exactly its size, so that reading past it is caught. */
static void check(struct str text, bool good)
{
    cleanup_free char *exact = xmalloc(text.n);
    if (text.n)
        memcpy(exact, text.p, text.n);
    for (int way = 0; way < WAY_COUNT; way++)
        if ((read_whole(str_make(exact, text.n), (enum way)way) == 0) != good)
            fail_msg("%.*s was %s (way %d)", STR_ARG(text), good ? "refused" : "taken", way);
}

static void test_valid(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(valid); i++)
        check(str_of(valid[i]), true);
}

static void test_invalid(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(invalid); i++)
        check(str_of(invalid[i]), false);
    check(str_make("[]\0", 3), false);
    check(str_make("\"a\0b\"", 5), false);
    check(str_make("\0", 1), false);
}

/* Every start of a valid container or string is incomplete, hence refused. */
static void test_every_cut_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(valid); i++) {
        struct str text = str_trim(str_of(valid[i]));
        if (text.p[0] != '{' && text.p[0] != '[' && text.p[0] != '"')
            continue;
        for (size_t n = 0; n < text.n; n++)
            check(str_make(text.p, n), false);
    }
}

/* A bad byte is found at any place relative to the eight-byte steps of the scanner. */
static void test_bad_byte_at_any_alignment(void **state)
{
    (void)state;
    const char bad[] = {'\x01', '\x1F', '\x80', '\xFF', '\n'};
    const char fine[] = {' ', '~', '\x7F', '\'', '/', '!', '#', '[', ']', '^'};
    char text[42];
    for (size_t n = 3; n <= sizeof(text); n++)
        for (size_t at = 1; at < n - 1; at++) {
            memset(text, 'x', n);
            text[0] = text[n - 1] = '"';
            for (size_t i = 0; i < sizeof(bad); i++) {
                text[at] = bad[i];
                check(str_make(text, n), false);
            }
            for (size_t i = 0; i < sizeof(fine); i++) {
                text[at] = fine[i];
                check(str_make(text, n), true);
            }
            text[at] = '"';
            check(str_make(text, at + 1), true);
            check(str_make(text, n), false);
        }
}

static void check_depth(const char *open, const char *close, const char *member, int depth,
                        bool good)
{
    cleanup_buf struct buf text = BUF_INIT(SIZE_MAX);
    for (int i = 0; i < depth; i++)
        buf_printf(&text, "%s%s", i > 0 ? member : "", open);
    for (int i = 0; i < depth; i++)
        buf_add_cstr(&text, close);
    check(buf_str(&text), good);
}

static void test_depth(void **state)
{
    (void)state;
    check_depth("[", "]", "", LIMIT_JSON_DEPTH, true);
    check_depth("[", "]", "", LIMIT_JSON_DEPTH + 1, false);
    check_depth("{", "}", "\"a\":", LIMIT_JSON_DEPTH, true);
    check_depth("{", "}", "\"a\":", LIMIT_JSON_DEPTH + 1, false);
    check_depth("[", "]", "", 100000, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_bad_byte_at_any_alignment),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
