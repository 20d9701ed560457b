/* Allocation: ownership helpers, zero sizes, overflow of products. */
#include "base/alloc.h"
#include "testing.h"

static void test_zero_sizes(void **state)
{
    (void)state;
    void *a = xmalloc(0);
    void *b = xcalloc(0, 8);
    void *c = xreallocarray(NULL, 0, 8);
    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
    free(a);
    free(b);
    free(c);
}

static void test_calloc_zeroes(void **state)
{
    (void)state;
    unsigned char *memory = xcalloc(16, 4);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(memory[i], 0);
    free(memory);
}

static void test_copies(void **state)
{
    (void)state;
    cleanup_free char *whole = xstrdup("gang");
    cleanup_free char *part = xstrndup("gang\0job", 8);
    cleanup_free char *none = xstrndup(NULL, 0);
    cleanup_free char *made = xasprintf("%s-%d", "task", 7);
    assert_string_equal(whole, "gang");
    assert_memory_equal(part, "gang\0job", 9);
    assert_string_equal(none, "");
    assert_string_equal(made, "task-7");
}

/* Not a constant to the compiler, which would refuse the calls below. */
static volatile size_t half_of_all = SIZE_MAX / 2;

static void overflow_calloc(void)
{
    free(xcalloc(half_of_all, 3));
}

static void overflow_realloc(void)
{
    free(xreallocarray(NULL, half_of_all, 3));
}

static void overflow_copy(void)
{
    free(xstrndup("x", half_of_all * 2 + 1));
}

static void test_overflow_aborts(void **state)
{
    (void)state;
    assert_aborts(overflow_calloc);
    assert_aborts(overflow_realloc);
    assert_aborts(overflow_copy);
}

static void test_take_ptr(void **state)
{
    (void)state;
    char *owner = xstrdup("x");
    char *taken = take_ptr(owner);
    assert_null(owner);
    assert_string_equal(taken, "x");
    free(taken);
}

static void test_container_of(void **state)
{
    (void)state;
    struct outer {
        int a;
        long b;
    } outer = {1, 2};
    assert_ptr_equal(container_of(&outer.b, struct outer, b), &outer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zero_sizes), cmocka_unit_test(test_calloc_zeroes),
        cmocka_unit_test(test_copies),     cmocka_unit_test(test_overflow_aborts),
        cmocka_unit_test(test_take_ptr),   cmocka_unit_test(test_container_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
