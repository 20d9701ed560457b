/* struct heap: the order holds after any run of pushes, pops, removals and updates. */
#include "base/heap.h"
#include "base/rng.h"
#include "testing.h"

struct timer {
    uint64_t due;
    unsigned id; /* breaks ties */
    struct heap_node node;
};

static const struct timer *timer_of(const struct heap_node *node)
{
    return (const struct timer *)((uintptr_t)node - offsetof(struct timer, node));
}

static bool sooner(const struct heap_node *a, const struct heap_node *b, void *arg)
{
    const struct timer *left = timer_of(a), *right = timer_of(b);
    (*(unsigned *)arg)++;
    return left->due != right->due ? left->due < right->due : left->id < right->id;
}

static void check_heap(const struct heap *heap)
{
    unsigned compared = 0;
    for (size_t i = 0; i < heap->n; i++) {
        assert_int_equal(heap->nodes[i]->position, i + 1);
        if (i > 0)
            assert_false(sooner(heap->nodes[i], heap->nodes[(i - 1) / 2], &compared));
    }
}

static void test_empty(void **state)
{
    (void)state;
    unsigned compared = 0;
    struct heap heap;
    struct heap_node node = {0};
    heap_init(&heap, sooner, &compared);
    assert_null(heap_peek(&heap));
    assert_null(heap_pop(&heap));
    heap_remove(&heap, &node);
    assert_false(heap_contains(&node));
    heap_clear(&heap);
}

static void test_pops_in_order(void **state)
{
    (void)state;
    unsigned compared = 0;
    struct heap heap;
    struct timer timers[200];
    struct rng rng;
    rng_seed(&rng, 3);
    heap_init(&heap, sooner, &compared);
    for (unsigned i = 0; i < 200; i++) {
        timers[i] = (struct timer){.due = rng_below(&rng, 20), .id = i};
        heap_push(&heap, &timers[i].node);
    }
    const struct timer *last = NULL;
    for (unsigned i = 0; i < 200; i++) {
        const struct timer *timer = timer_of(heap_pop(&heap));
        assert_false(heap_contains(&timer->node));
        assert_true(!last || last->due < timer->due ||
                    (last->due == timer->due && last->id < timer->id));
        last = timer;
    }
    assert_null(heap_pop(&heap));
    heap_clear(&heap);
}

static void test_random_run(void **state)
{
    (void)state;
    unsigned compared = 0;
    struct heap heap;
    static struct timer timers[300];
    struct rng rng;
    rng_seed(&rng, 11);
    heap_init(&heap, sooner, &compared);
    for (int step = 0; step < 5000; step++) {
        unsigned i = (unsigned)rng_below(&rng, 300);
        struct timer *timer = &timers[i];
        timer->id = i;
        if (!heap_contains(&timer->node)) {
            timer->due = rng_below(&rng, 1000);
            heap_push(&heap, &timer->node);
        } else if (rng_below(&rng, 2)) {
            timer->due = rng_below(&rng, 1000);
            heap_update(&heap, &timer->node);
        } else {
            heap_remove(&heap, &timer->node);
            assert_false(heap_contains(&timer->node));
        }
        if (step % 10 == 0)
            check_heap(&heap);
        if (step % 97 == 0)
            (void)heap_pop(&heap);
    }
    check_heap(&heap);
    heap_clear(&heap);
    for (int i = 0; i < 300; i++)
        assert_false(heap_contains(&timers[i].node));
}

static void push_twice(void)
{
    unsigned compared = 0;
    struct heap heap;
    struct timer timer = {0};
    heap_init(&heap, sooner, &compared);
    heap_push(&heap, &timer.node);
    heap_push(&heap, &timer.node);
}

static void remove_from_other_heap(void)
{
    unsigned compared = 0;
    struct heap heap, other;
    struct timer timer = {0};
    heap_init(&heap, sooner, &compared);
    heap_init(&other, sooner, &compared);
    heap_push(&heap, &timer.node);
    heap_remove(&other, &timer.node);
}

static void test_misuse(void **state)
{
    (void)state;
    assert_aborts(push_twice);
    assert_aborts(remove_from_other_heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_pops_in_order),
        cmocka_unit_test(test_random_run),
        cmocka_unit_test(test_misuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
