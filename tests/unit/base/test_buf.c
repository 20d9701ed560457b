/* struct buf: content, the maximum at and one past it, overflow, memory handed out. */
#include "base/buf.h"
#include "testing.h"

static void test_append(void **state)
{
    (void)state;
    cleanup_buf struct buf buf = BUF_INIT(1000);
    assert_null(buf.p);
    assert_true(buf_add_cstr(&buf, "pods/"));
    assert_true(buf_add_str(&buf, STR("a")));
    assert_true(buf_add_char(&buf, '-'));
    assert_true(buf_add_i64(&buf, -12));
    assert_true(buf_printf(&buf, "/%s", "status"));
    assert_true(buf_add(&buf, NULL, 0));
    assert_str(buf_str(&buf), "pods/a--12/status");
    assert_int_equal(buf.p[buf.n], 0);
}

static void test_maximum(void **state)
{
    (void)state;
    for (size_t max = 0; max < 300; max++) {
        cleanup_buf struct buf buf = BUF_INIT(max);
        for (size_t i = 0; i < max; i++)
            assert_true(buf_add_char(&buf, 'x'));
        assert_false(buf.overflow);
        assert_false(buf_add_char(&buf, 'y'));
        assert_true(buf.overflow);
        assert_int_equal(buf.n, max);
    }
}

static void test_maximum_at_once(void **state)
{
    (void)state;
    cleanup_buf struct buf buf = BUF_INIT(5);
    assert_true(buf_add_cstr(&buf, "12345"));
    assert_false(buf.overflow);
    buf_reset(&buf);
    assert_false(buf_add_cstr(&buf, "123456"));
    assert_int_equal(buf.n, 0);
    assert_true(buf.overflow);
    /* Nothing is appended behind a gap. */
    assert_false(buf_add_cstr(&buf, "1"));
    assert_int_equal(buf.n, 0);
    buf_reset(&buf);
    assert_false(buf.overflow);
    assert_true(buf_add_cstr(&buf, "1"));
}

static void test_printf_limits(void **state)
{
    (void)state;
    cleanup_buf struct buf buf = BUF_INIT(200);
    char text[201];
    memset(text, 'a', 200);
    text[200] = '\0';
    assert_true(buf_printf(&buf, "%s", ""));
    assert_true(buf_printf(&buf, "%.63s", text)); /* exactly fills the first allocation */
    assert_int_equal(buf.n, 63);
    assert_true(buf_printf(&buf, "%.137s", text));
    assert_int_equal(buf.n, 200);
    assert_false(buf_printf(&buf, "x"));
    assert_str(buf_str(&buf), text);
    buf_reset(&buf);
    assert_false(buf_printf(&buf, "%s!", text));
    assert_int_equal(buf.n, 0);
}

static void test_integers(void **state)
{
    (void)state;
    const struct {
        int64_t value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-1, "-1"},
        {10, "10"},
        {INT64_MAX, "9223372036854775807"},
        {INT64_MIN, "-9223372036854775808"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        cleanup_buf struct buf buf = BUF_INIT(20);
        assert_true(buf_add_i64(&buf, cases[i].value));
        assert_str(buf_str(&buf), cases[i].text);
    }
}

static void test_reserve(void **state)
{
    (void)state;
    cleanup_buf struct buf buf = BUF_INIT(100);
    assert_true(buf_reserve(&buf, 100));
    assert_true(buf.cap > 100);
    assert_false(buf_reserve(&buf, 101));
    assert_int_equal(buf.n, 0);
    buf_add_char(&buf, 'a');
    assert_true(buf_reserve(&buf, 99));
    assert_false(buf_reserve(&buf, 100));
    assert_false(buf_reserve(&buf, SIZE_MAX));
}

static void test_no_maximum(void **state)
{
    (void)state;
    cleanup_buf struct buf buf = BUF_INIT(SIZE_MAX);
    for (int i = 0; i < 1000; i++)
        assert_true(buf_add_cstr(&buf, "0123456789"));
    assert_int_equal(buf.n, 10000);
}

static void test_consume(void **state)
{
    (void)state;
    cleanup_buf struct buf buf = BUF_INIT(100);
    buf_consume(&buf, 0);
    buf_add_cstr(&buf, "abcdef");
    buf_consume(&buf, 2);
    assert_str(buf_str(&buf), "cdef");
    buf_truncate(&buf, 1);
    assert_str(buf_str(&buf), "c");
    assert_int_equal(buf.p[1], 0);
    buf_consume(&buf, 1);
    assert_int_equal(buf.n, 0);
}

static void consume_too_much(void)
{
    struct buf buf = BUF_INIT(10);
    buf_add_char(&buf, 'a');
    buf_consume(&buf, 2);
}

static void truncate_to_more(void)
{
    struct buf buf = BUF_INIT(10);
    buf_truncate(&buf, 1);
}

static void test_misuse(void **state)
{
    (void)state;
    assert_aborts(consume_too_much);
    assert_aborts(truncate_to_more);
}

static void test_take(void **state)
{
    (void)state;
    struct buf buf = BUF_INIT(10);
    cleanup_free char *empty = buf_take(&buf);
    assert_string_equal(empty, "");
    buf_add_cstr(&buf, "abc");
    cleanup_free char *text = buf_take(&buf);
    assert_string_equal(text, "abc");
    assert_null(buf.p);
    assert_int_equal(buf.max, 10);
    buf_add_cstr(&buf, "d");
    buf_clear(&buf);
    assert_null(buf.p);
    assert_int_equal(buf.max, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),          cmocka_unit_test(test_maximum),
        cmocka_unit_test(test_maximum_at_once), cmocka_unit_test(test_printf_limits),
        cmocka_unit_test(test_integers),        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_no_maximum),      cmocka_unit_test(test_consume),
        cmocka_unit_test(test_misuse),          cmocka_unit_test(test_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
