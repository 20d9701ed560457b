/* The writer: commas, escapes, invalid UTF-8, overflow; JSON Patch on top of it. */
#include "base/rng.h"
#include "testing.h"
#include "json/patch.h"
#include "json/reader.h"
#include "json/writer.h"

static void write_sample(struct json_writer *w)
{
    json_w_object(w);
    json_w_member_str(w, "name", STR("a\"b"));
    json_w_member_i64(w, "n", INT64_MIN);
    json_w_member_bool(w, "yes", true);
    json_w_member_bool(w, "no", false);
    json_w_member_raw(w, "raw", STR("{\"x\":1}"));
    json_w_member_object(w, "o");
    json_w_end_object(w);
    json_w_member_array(w, "a");
    json_w_i64(w, 1);
    json_w_null(w);
    json_w_str(w, STR_NULL);
    json_w_strf(w, "%s-%d\n", "pod", 3);
    json_w_raw(w, STR("2.5"));
    json_w_array(w);
    json_w_end_array(w);
    json_w_object(w);
    json_w_key(w, STR("k/\x01"));
    json_w_bool(w, true);
    json_w_end_object(w);
    json_w_end_array(w);
    json_w_end_object(w);
}

static const char sample[] = "{\"name\":\"a\\\"b\",\"n\":-9223372036854775808,\"yes\":true,"
                             "\"no\":false,\"raw\":{\"x\":1},\"o\":{},"
                             "\"a\":[1,null,\"\",\"pod-3\\n\",2.5,[],{\"k/\\u0001\":true}]}";

static void test_sample(void **state)
{
    (void)state;
    cleanup_buf struct buf buf = BUF_INIT(1000);
    struct json_writer w = json_writer(&buf);
    write_sample(&w);
    assert_str(buf_str(&buf), sample);
    assert_false(buf.overflow);
}

static void test_overflow(void **state)
{
    (void)state;
    for (size_t max = 0; max <= sizeof(sample); max++) {
        cleanup_buf struct buf buf = BUF_INIT(max);
        struct json_writer w = json_writer(&buf);
        write_sample(&w);
        assert_int_equal(buf.overflow, max < sizeof(sample) - 1);
        assert_true(buf.n <= max);
        assert_true(str_starts(str_of(sample), buf_str(&buf)));
    }
}

static void test_strf_overflow(void **state)
{
    (void)state;
    cleanup_buf struct buf buf = BUF_INIT(7);
    struct json_writer w = json_writer(&buf);
    json_w_strf(&w, "%s", "12345");
    assert_str(buf_str(&buf), "\"12345\"");
    buf_reset(&buf);
    w = json_writer(&buf);
    json_w_strf(&w, "%s", "12345678");
    assert_true(buf.overflow);
}

static void test_quote(void **state)
{
    (void)state;
    const struct {
        const char *text;
        size_t n;
        const char *json;
    } cases[] = {
        {"", 0, "\"\""},
        {"plain", 5, "\"plain\""},
        {"\"\\/\b\f\n\r\t", 8, "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
        {"\0\x01\x1F\x7F", 4, "\"\\u0000\\u0001\\u001f\x7F\""},
        {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9, "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {"a\xFF"
         "b",
         3,
         "\"a\xEF\xBF\xBD"
         "b\""},
        {"\xC3", 1, "\"\xEF\xBF\xBD\""},
        {"\xED\xA0\x80", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"\xC3\"", 2, "\"\xEF\xBF\xBD\\\"\""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        cleanup_buf struct buf buf = BUF_INIT(100);
        json_quote(&buf, str_make(cases[i].text, cases[i].n));
        assert_str(buf_str(&buf), cases[i].json);
    }
}

/* Any bytes give valid JSON; valid UTF-8 comes back as it was. */
static void test_quote_random(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 1);
    for (int i = 0; i < 5000; i++) {
        char bytes[24];
        size_t n = rng_below(&rng, sizeof(bytes));
        for (size_t k = 0; k < n; k++)
            bytes[k] = (char)rng_next(&rng);
        bool utf8 = true;
        for (size_t k = 0, step; k < n; k += step)
            if ((step = str_utf8_len(str_make(bytes + k, n - k))) == 0) {
                utf8 = false;
                break;
            }
        cleanup_buf struct buf buf = BUF_INIT(1000);
        cleanup_arena struct arena arena = ARENA_INIT;
        struct json_reader reader;
        json_quote(&buf, str_make(bytes, n));
        json_init(&reader, buf_str(&buf), &arena);
        struct str back = json_str(&reader);
        assert_int_equal(json_end(&reader, NULL), 0);
        assert_int_equal(str_eq(back, str_make(bytes, n)), utf8);
    }
}

static void test_patch(void **state)
{
    (void)state;
    cleanup_buf struct buf buf = BUF_INIT(1000);
    struct json_patch patch;
    json_patch_init(&patch, &buf);
    json_patch_test(&patch, STR("/metadata/uid"), STR("\"u\""));
    json_patch_add(&patch, STR("/spec/tasks/-"), STR("{\"name\":\"a\"}"));
    json_patch_replace(&patch, STR("/spec/queue"), STR("\"default\""));
    json_patch_remove(&patch, STR("/metadata/annotations/a~1b"));
    assert_int_equal(json_patch_end(&patch), 4);
    assert_str(buf_str(&buf),
               "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"u\"},"
               "{\"op\":\"add\",\"path\":\"/spec/tasks/-\",\"value\":{\"name\":\"a\"}},"
               "{\"op\":\"replace\",\"path\":\"/spec/queue\",\"value\":\"default\"},"
               "{\"op\":\"remove\",\"path\":\"/metadata/annotations/a~1b\"}]");
}

static void test_empty_patch(void **state)
{
    (void)state;
    cleanup_buf struct buf buf = BUF_INIT(1000);
    struct json_patch patch;
    json_patch_init(&patch, &buf);
    assert_int_equal(json_patch_end(&patch), 0);
    assert_str(buf_str(&buf), "[]");
}

static void test_pointer(void **state)
{
    (void)state;
    cleanup_buf struct buf buf = BUF_INIT(1000);
    json_pointer_token(&buf, STR("metadata"));
    json_pointer_token(&buf, STR("a/b~c~1"));
    json_pointer_token(&buf, STR_NULL);
    assert_str(buf_str(&buf), "/metadata/a~1b~0c~01/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample),        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_strf_overflow), cmocka_unit_test(test_quote),
        cmocka_unit_test(test_quote_random),  cmocka_unit_test(test_patch),
        cmocka_unit_test(test_empty_patch),   cmocka_unit_test(test_pointer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
