/* struct arena: alignment, no overlap, reset keeping one chunk, copies. */
#include "base/arena.h"
#include "base/rng.h"
#include "testing.h"

static void test_blocks_do_not_overlap(void **state)
{
    (void)state;
    cleanup_arena struct arena arena = ARENA_INIT;
    struct rng rng;
    rng_seed(&rng, 1);
    unsigned char *blocks[500];
    size_t sizes[500];
    for (size_t i = 0; i < 500; i++) {
        sizes[i] = rng_below(&rng, i % 50 == 0 ? 300000 : 700);
        blocks[i] = arena_alloc(&arena, sizes[i]);
        assert_int_equal((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
        memset(blocks[i], (int)(i % 251), sizes[i]);
    }
    for (size_t i = 0; i < 500; i++)
        for (size_t at = 0; at < sizes[i]; at++)
            if (blocks[i][at] != i % 251)
                fail_msg("block %zu was overwritten", i);
}

static void test_zeroed_memory(void **state)
{
    (void)state;
    cleanup_arena struct arena arena = ARENA_INIT;
    memset(arena_alloc(&arena, 1000), 0xFF, 1000);
    arena_reset(&arena);
    unsigned char *memory = arena_calloc(&arena, 10, 100);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(memory[i], 0);
}

static void calloc_overflow(void)
{
    struct arena arena = ARENA_INIT;
    (void)arena_calloc(&arena, SIZE_MAX / 2, 3);
}

static void alloc_huge(void)
{
    struct arena arena = ARENA_INIT;
    (void)arena_alloc(&arena, SIZE_MAX);
}

static void test_overflow_aborts(void **state)
{
    (void)state;
    assert_aborts(calloc_overflow);
    assert_aborts(alloc_huge);
}

static void test_copies(void **state)
{
    (void)state;
    cleanup_arena struct arena arena = ARENA_INIT;
    struct str copy = arena_str(&arena, str_make("a\0b", 3));
    assert_int_equal(copy.n, 3);
    assert_memory_equal(copy.p, "a\0b", 4);
    assert_str(arena_str(&arena, STR_NULL), "");
    struct str made = arena_printf(&arena, "%s-%d", "pod", 7);
    assert_str(made, "pod-7");
    assert_int_equal(made.p[made.n], 0);
}

static void test_reset_keeps_one_chunk(void **state)
{
    (void)state;
    cleanup_arena struct arena arena = ARENA_INIT;
    void *first = arena_alloc(&arena, 100);
    size_t small = arena.total;
    for (int i = 0; i < 100; i++)
        (void)arena_alloc(&arena, 5000);
    (void)arena_alloc(&arena, (size_t)8 << 20);
    assert_true(arena.total > (size_t)8 << 20);
    arena_reset(&arena);
    assert_true(arena.total >= small && arena.total < (size_t)300 << 10);
    size_t kept = arena.total;
    assert_non_null(arena_alloc(&arena, 100));
    assert_int_equal(arena.total, kept);
    arena_clear(&arena);
    assert_int_equal(arena.total, 0);
    assert_null(arena.head);
    (void)first;
}

static void test_reset_drops_a_huge_first_chunk(void **state)
{
    (void)state;
    cleanup_arena struct arena arena = ARENA_INIT;
    (void)arena_alloc(&arena, (size_t)8 << 20);
    arena_reset(&arena);
    assert_int_equal(arena.total, 0);
}

static void test_small_allocations_share_chunks(void **state)
{
    (void)state;
    cleanup_arena struct arena arena = ARENA_INIT;
    for (int i = 0; i < 1000; i++) {
        (void)arena_alloc(&arena, 16);
        if (i % 100 == 0)
            (void)arena_alloc(&arena, 100000);
    }
    /* 16,000 bytes of small ones and ten large ones: the large must not waste what was open. */
    assert_true(arena.total < 10 * 101000 + 64 * 1024);
}

/* The first chunk holds what was said, to the byte; one more needs a second. */
static void test_begin(void **state)
{
    (void)state;
    struct arena arena = ARENA_INIT;
    arena_begin(&arena, 64);
    const size_t total = arena.total;
    assert_true(total < 128);
    (void)arena_alloc(&arena, 48);
    (void)arena_alloc(&arena, 16);
    assert_int_equal(arena.total, total);
    (void)arena_alloc(&arena, 1);
    assert_true(arena.total > total);
    arena_clear(&arena);
    assert_int_equal(arena.total, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_do_not_overlap),
        cmocka_unit_test(test_zeroed_memory),
        cmocka_unit_test(test_overflow_aborts),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_reset_keeps_one_chunk),
        cmocka_unit_test(test_reset_drops_a_huge_first_chunk),
        cmocka_unit_test(test_small_allocations_share_chunks),
        cmocka_unit_test(test_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
