/* Interned strings: one pointer a content, counted, the table empties. */
#include "base/intern.h"
#include "testing.h"
#include <stdio.h>

static void test_same_pointer(void **state)
{
    (void)state;
    char text[] = "default";
    const char *a = intern_get(STR("default"));
    const char *b = intern_get(str_of(text));
    const char *other = intern_get(STR("defaul"));
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, other);
    assert_string_equal(a, "default");
    assert_string_equal(other, "defaul");
    assert_int_equal(intern_count(), 2);
    intern_put(a);
    assert_int_equal(intern_count(), 2);
    assert_string_equal(b, "default");
    assert_ptr_equal(intern_ref(b), b);
    intern_put(b);
    intern_put(b);
    intern_put(other);
    assert_int_equal(intern_count(), 0);
}

static void test_empty_and_null(void **state)
{
    (void)state;
    const char *empty = intern_get(STR_NULL);
    assert_string_equal(empty, "");
    assert_ptr_equal(intern_get(STR("")), empty);
    intern_put(empty);
    intern_put(empty);
    assert_null(intern_ref(NULL));
    intern_put(NULL);
    assert_int_equal(intern_count(), 0);
}

static void test_embedded_nul(void **state)
{
    (void)state;
    const char *a = intern_get(str_make("a\0b", 3));
    const char *b = intern_get(STR("a"));
    assert_ptr_not_equal(a, b);
    intern_put(a);
    intern_put(b);
    assert_int_equal(intern_count(), 0);
}

static void test_many(void **state)
{
    (void)state;
    static const char *texts[5000];
    char name[24];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 5000; i++) {
            int n = snprintf(name, sizeof(name), "node-%d", i);
            const char *text = intern_get(str_make(name, (size_t)n));
            if (round == 1)
                assert_ptr_equal(text, texts[i]);
            texts[i] = text;
        }
    assert_int_equal(intern_count(), 5000);
    for (int i = 0; i < 5000; i++) {
        intern_put(texts[i]);
        intern_put(texts[i]);
    }
    assert_int_equal(intern_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_pointer),
        cmocka_unit_test(test_empty_and_null),
        cmocka_unit_test(test_embedded_nul),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
