/* struct error: filling, prefixing, cutting at the end of the text. */
#include "base/ensure.h"
#include "base/error.h"
#include "testing.h"

static void test_set(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    assert_int_equal(error_set(&err, ERROR_CONFLICT, "job %s/%d", "default", 3), -1);
    assert_int_equal(err.cls, ERROR_CONFLICT);
    assert_string_equal(err.text, "job default/3");
    assert_int_equal(error_prefix(&err, "pod %s", "a-0"), -1);
    assert_string_equal(err.text, "pod a-0: job default/3");
    assert_int_equal(err.cls, ERROR_CONFLICT);
}

static void test_null(void **state)
{
    (void)state;
    assert_int_equal(error_set(NULL, ERROR_GONE, "x"), -1);
    assert_int_equal(error_prefix(NULL, "x"), -1);
}

static void test_set_from_itself(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    error_set(&err, ERROR_RETRY, "inner");
    error_set(&err, ERROR_FATAL, "outer (%s)", err.text);
    assert_string_equal(err.text, "outer (inner)");
}

static void test_limit(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char text[ERROR_TEXT_MAX + 8];
    memset(text, 'a', sizeof(text));

    error_set(&err, ERROR_RETRY, "%.*s", ERROR_TEXT_MAX - 1, text);
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
    error_set(&err, ERROR_RETRY, "%.*s", ERROR_TEXT_MAX, text);
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
    error_prefix(&err, "p");
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
    assert_true(str_starts(str_of(err.text), STR("p: aaaa")));
    error_prefix(&err, "%.*s", ERROR_TEXT_MAX, text);
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
}

static void test_cut_between_characters(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char text[ERROR_TEXT_MAX];
    memset(text, 'a', sizeof(text));
    /* A two-byte character whose second byte does not fit. */
    error_set(&err, ERROR_RETRY, "%.*s\xC3\xA9", ERROR_TEXT_MAX - 2, text);
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 2);
    error_set(&err, ERROR_RETRY, "%.*s\xC3\xA9", ERROR_TEXT_MAX - 3, text);
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
    error_set(&err, ERROR_RETRY, "%.*s\xC3\xA9", ERROR_TEXT_MAX - 5, text);
    error_prefix(&err, "%s", "");
    assert_true(str_ends(str_of(err.text), STR("\xC3\xA9")));
    error_prefix(&err, "%s", "");
    assert_true(str_ends(str_of(err.text), STR("a")));
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < ERROR_CLASS_COUNT; i++) {
        assert_non_null(error_class_name((enum error_class)i));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(error_class_name((enum error_class)i),
                                    error_class_name((enum error_class)j));
    }
    assert_string_equal(error_class_name(ERROR_RETRY), "retry");
}

static void past_last_class(void)
{
    (void)error_class_name(ERROR_CLASS_COUNT);
}

static void false_condition(void)
{
    ENSURE(1 + 1 == 3);
}

static void test_ensure(void **state)
{
    (void)state;
    ENSURE(1 + 1 == 2);
    assert_aborts(false_condition);
    assert_aborts(past_last_class);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_set_from_itself),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_cut_between_characters),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_ensure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
