/* keyed_hash: the published values of SipHash-1-3, and a key for each process. */
#include "base/keyed_hash.h"
#include "testing.h"

#define PUBLISHED_KEY {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}

static void test_published_values(void **state)
{
    (void)state;
    static const uint64_t key[2] = PUBLISHED_KEY;
    static const char bytes[] = {0, 1, 2};
    static const uint64_t expected[] = {UINT64_C(0xabac0158050fc4dc), UINT64_C(0xc9f49bf37d57ca93),
                                        UINT64_C(0x82cb9b024dc7d44d), UINT64_C(0x8bf80ab8e7ddf7fb)};
    for (size_t n = 0; n < ARRAY_SIZE(expected); n++)
        assert_true(keyed_hash_with(key, str_make(bytes, n)) == expected[n]);
}

/* Every byte and the length count, across the border between words. */
static void test_all_bytes_count(void **state)
{
    (void)state;
    static const uint64_t key[2] = PUBLISHED_KEY;
    char text[40] = {0};
    uint64_t before = keyed_hash_with(key, STR_NULL);
    for (size_t n = 1; n <= sizeof(text); n++) {
        const uint64_t zeros = keyed_hash_with(key, str_make(text, n));
        assert_true(zeros != before);
        before = zeros;
        for (size_t i = 0; i < n; i++) {
            text[i] = 1;
            assert_true(keyed_hash_with(key, str_make(text, n)) != zeros);
            text[i] = 0;
        }
    }
}

static void test_key_counts(void **state)
{
    (void)state;
    static const uint64_t a[2] = {1, 0}, b[2] = {0, 1}, none[2] = {0, 0};
    const uint64_t plain = keyed_hash_with(none, STR("queue"));
    assert_true(keyed_hash_with(a, STR("queue")) != plain);
    assert_true(keyed_hash_with(b, STR("queue")) != plain);
    assert_true(keyed_hash(STR("queue")) == keyed_hash(STR("queue")));
    assert_true(keyed_hash(STR("queue")) != plain); /* the process has drawn a key */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_values),
        cmocka_unit_test(test_all_bytes_count),
        cmocka_unit_test(test_key_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
