/*
 * Trees of a review: small and large blocks, printing again and again, several reviews one after
 * the other, threads apart.
 */
#include "testing.h"

#include "base/buf.h"
#include "webhook/review_memory.h"
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>

#define TEXT_MAX ((size_t)4 << 20)

static int setup(void **state)
{
    (void)state;
    review_memory_setup();
    return 0;
}

/* An array of `count` objects with a short string each, and one of 10,000 letters. */
static cJSON *make(size_t count)
{
    struct buf text = BUF_INIT(TEXT_MAX);
    buf_add_char(&text, '[');
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "{\"name\":\"value-%zu\"},", i);
    buf_add_char(&text, '"');
    for (size_t i = 0; i < 10000; i++)
        buf_add_char(&text, 'x');
    buf_add_cstr(&text, "\"]");
    assert_false(text.overflow);
    cJSON *tree = cJSON_ParseWithLength(text.p, text.n);
    assert_non_null(tree);
    buf_clear(&text);
    return tree;
}

static void check(const cJSON *tree, size_t count)
{
    char text[32];
    size_t i = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, tree)
    {
        if (i == count) {
            assert_int_equal(strlen(item->valuestring), 10000);
            return;
        }
        (void)snprintf(text, sizeof(text), "value-%zu", i++);
        assert_string_equal(item->child->valuestring, text);
    }
    fail();
}

static void test_reviews_one_after_the_other(void **state)
{
    (void)state;
    cJSON *kept = make(10);
    for (size_t count = 1; count <= 100000; count *= 10) {
        review_memory_begin();
        cJSON *object = make(count), *old = make(1);
        check(object, count);
        check(old, 1);
        review_memory_end(object, old);
    }
    check(kept, 10);
    cJSON_Delete(kept);
    review_memory_begin();
    review_memory_end(NULL, NULL);
}

static void test_parts_may_be_deleted_and_printed(void **state)
{
    (void)state;
    review_memory_begin();
    cJSON *object = make(1000);
    const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (size_t i = 0; i < 100; i++) {
        char *text = cJSON_PrintUnformatted(object);
        assert_non_null(text);
        assert_true(strlen(text) > 30000);
        cJSON_free(text);
    }
    /* Texts of 100 times 30 KB are not kept. */
    assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < before + (1U << 20));
    cJSON_DeleteItemFromArray(object, 1000);
    cJSON_DeleteItemFromArray(object, 0);
    cJSON_AddItemToArray(object, cJSON_CreateString("more"));
    assert_int_equal(cJSON_GetArraySize(object), 1000);
    review_memory_end(object, NULL);
}

static void *read_reviews(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < 200; i++) {
        review_memory_begin();
        cJSON *object = make(i);
        check(object, i);
        review_memory_end(object, NULL);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_reviews, NULL), 0);
    for (size_t i = 0; i < 200; i++) {
        cJSON *tree = make(i);
        check(tree, i);
        cJSON_Delete(tree);
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_reviews_one_after_the_other, setup),
        cmocka_unit_test_setup(test_parts_may_be_deleted_and_printed, setup),
        cmocka_unit_test_setup(test_threads, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
