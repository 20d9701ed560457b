/*
 * Base64 and reading of small files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/file.h"
#include <stdio.h>
#include <unistd.h>

static const struct {
    const char *plain, *coded;
} pairs[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
    {"\xff\xfe\xfb\xef\xbe", "//77774="},
};

static void codes_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        cleanup_buf struct buf coded = BUF_INIT(100);
        cleanup_buf struct buf plain = BUF_INIT(100);
        assert_true(base64_encode(&coded, str_of(pairs[i].plain)));
        assert_true(str_is(buf_str(&coded), pairs[i].coded));
        assert_true(base64_decode(&plain, str_of(pairs[i].coded)));
        assert_true(str_is(buf_str(&plain), pairs[i].plain));
    }
}

static void skips_white_space(void **state)
{
    (void)state;
    cleanup_buf struct buf out = BUF_INIT(100);
    assert_true(base64_decode(&out, STR(" Zm9v\r\n Ym\tFy\n")));
    assert_true(str_is(buf_str(&out), "foobar"));
}

static void refuses_what_is_none(void **state)
{
    static const char *const bad[] = {
        "Z",    "Zg",     "Zg=",   "Zg===", "Zm9v=", "=",       "Z===",
        "Zh==", "Zm9v!A", "Zg=g=", "Zm9=",  "-_-_",  "Zg==Zg=="};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        cleanup_buf struct buf out = BUF_INIT(100);
        assert_true(buf_add_cstr(&out, "kept"));
        assert_false(base64_decode(&out, str_of(bad[i])));
        assert_true(str_is(buf_str(&out), "kept"));
    }
}

static void respects_the_maximum(void **state)
{
    (void)state;
    cleanup_buf struct buf fits = BUF_INIT(8);
    assert_true(base64_encode(&fits, STR("foobar")));
    cleanup_buf struct buf small = BUF_INIT(7);
    assert_false(base64_encode(&small, STR("foobar")));
    cleanup_buf struct buf plain = BUF_INIT(6);
    assert_true(base64_decode(&plain, STR("Zm9vYmFy")));
    cleanup_buf struct buf short_plain = BUF_INIT(5);
    assert_false(base64_decode(&short_plain, STR("Zm9vYmFy")));
    assert_true(short_plain.overflow);
}

static char *make_file(size_t size)
{
    char *path = xstrdup("/tmp/test_base64_XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    assert_int_equal(close(fd), 0);
    return path;
}

static void reads_files_up_to_the_limit(void **state)
{
    (void)state;
    cleanup_free char *path = make_file(10000);
    struct error err = ERROR_INIT;
    cleanup_buf struct buf fits = BUF_INIT(10000);
    assert_int_equal(file_read(path, &fits, &err), 0);
    assert_int_equal(fits.n, 10000);
    cleanup_buf struct buf small = BUF_INIT(9999);
    assert_int_equal(file_read(path, &small, &err), -1);
    assert_int_equal(err.cls, ERROR_LIMIT);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(unlink(path), 0);
}

static void says_why_a_file_is_not_read(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    cleanup_buf struct buf out = BUF_INIT(100);
    assert_int_equal(file_read("/nowhere/at/all", &out, &err), -1);
    assert_int_equal(err.cls, ERROR_NOT_FOUND);
    assert_string_equal(err.text, "cannot read /nowhere/at/all: No such file or directory");
    assert_int_equal(file_read("/tmp", &out, &err), -1);
    assert_int_equal(err.cls, ERROR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_both_ways),
        cmocka_unit_test(skips_white_space),
        cmocka_unit_test(refuses_what_is_none),
        cmocka_unit_test(respects_the_maximum),
        cmocka_unit_test(reads_files_up_to_the_limit),
        cmocka_unit_test(says_why_a_file_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
