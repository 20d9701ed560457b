/* VEC and struct list: growth, removal, order. */
#include "base/list.h"
#include "base/vec.h"
#include "testing.h"

static void test_push_and_remove(void **state)
{
    (void)state;
    VEC(int) vec = {0};
    for (int i = 0; i < 1000; i++)
        vec_push(&vec, i);
    assert_int_equal(vec.n, 1000);
    assert_true(vec.cap >= 1000 && vec.cap < 2000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(vec.items[i], i);
    vec_remove(&vec, 0);
    assert_int_equal(vec.items[0], 1);
    vec_remove(&vec, vec.n - 1);
    assert_int_equal(vec.n, 998);
    assert_int_equal(vec.items[997], 998);
    vec_swap_remove(&vec, 0);
    assert_int_equal(vec.items[0], 998);
    assert_int_equal(vec.n, 997);
    vec_clear(&vec);
    assert_null(vec.items);
    assert_int_equal(vec.cap, 0);
}

struct item {
    int value;
    struct list node;
};

static void test_list(void **state)
{
    (void)state;
    struct list head;
    struct item items[5];
    list_init(&head);
    assert_true(list_empty(&head));
    for (int i = 0; i < 5; i++) {
        items[i].value = i;
        list_init(&items[i].node);
        if (i < 4)
            list_append(&head, &items[i].node);
        else
            list_prepend(&head, &items[i].node);
    }
    const int order[] = {4, 0, 1, 2, 3};
    int n = 0;
    list_each(node, &head)
    {
        assert_int_equal(container_of(node, struct item, node)->value, order[n++]);
        if (n % 2)
            list_remove(node); /* the current one may go */
    }
    assert_int_equal(n, 5);
    assert_ptr_equal(head.next, &items[0].node);
    assert_ptr_equal(head.prev, &items[2].node);
    list_remove(&items[4].node); /* in none: harmless */
    list_remove(&items[0].node);
    list_remove(&items[2].node);
    assert_true(list_empty(&head));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_push_and_remove),
        cmocka_unit_test(test_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
