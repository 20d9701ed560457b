/*
 * Resource names, amounts, sets and vectors.
 */
#include "testing.h"

#include "api/resources.h"
#include <stdio.h>

static int64_t amount(const char *name, const char *text)
{
    struct quantity quantity;
    struct error err = ERROR_INIT;
    assert_int_equal(quantity_parse(str_of(text), &quantity, &err), 0);
    return resource_amount_of(resource_id(str_of(name)), quantity);
}

static void names_are_numbered(void **state)
{
    (void)state;
    assert_int_equal(resource_id(STR("cpu")), RESOURCE_CPU);
    assert_int_equal(resource_id(STR("pods")), RESOURCE_PODS);
    uint32_t gpu = resource_id(STR("acme.example/gpu"));
    assert_true(gpu >= RESOURCE_FIXED_COUNT);
    assert_int_equal(resource_id(STR("acme.example/gpu")), gpu);
    assert_string_equal(resource_name(gpu), "acme.example/gpu");
    assert_string_equal(resource_insufficient(gpu), "Insufficient acme.example/gpu");
    assert_string_equal(resource_insufficient(RESOURCE_PODS), "node(s) pod number exceeded");
}

static void amounts_round_up_and_stop_at_the_maximum(void **state)
{
    (void)state;
    assert_int_equal(amount("cpu", "1"), 1000);
    assert_int_equal(amount("cpu", "100m"), 100);
    assert_int_equal(amount("cpu", "100.1m"), 101);
    assert_int_equal(amount("memory", "1Ki"), 1024);
    assert_int_equal(amount("memory", "1500m"), 2);
    assert_int_equal(amount("memory", "-1"), 0);
    assert_int_equal(amount("memory", "1Pi"), RESOURCE_VALUE_MAX);
    assert_int_equal(amount("memory", "1125899906842625"), RESOURCE_VALUE_MAX);
    assert_int_equal(amount("memory", "1125899906842623"), RESOURCE_VALUE_MAX - 1);
}

static void totals_may_be_more_than_amounts(void **state)
{
    (void)state;
    struct quantity quantity;
    struct error err = ERROR_INIT;
    assert_int_equal(quantity_parse(STR("3Pi"), &quantity, &err), 0);
    assert_int_equal(resource_total_of(RESOURCE_MEMORY, quantity), 3 * RESOURCE_VALUE_MAX);
    assert_int_equal(quantity_parse(STR("65Pi"), &quantity, &err), 0);
    assert_int_equal(resource_total_of(RESOURCE_MEMORY, quantity), RESOURCE_TOTAL_MAX);
    assert_int_equal(quantity_parse(STR("-3"), &quantity, &err), 0);
    assert_int_equal(resource_total_of(RESOURCE_CPU, quantity), 0);
    assert_int_equal(quantity_parse(STR("1500m"), &quantity, &err), 0);
    assert_int_equal(resource_total_of(RESOURCE_CPU, quantity), 1500);
}

static void assert_prints(uint32_t id, int64_t value, const char *text)
{
    cleanup_buf struct buf out = BUF_INIT(100);
    resource_print(&out, id, value);
    assert_str(buf_str(&out), text);
}

static void amounts_print_as_people_write_them(void **state)
{
    (void)state;
    assert_prints(RESOURCE_CPU, 1000, "1");
    assert_prints(RESOURCE_CPU, 1500, "1.5");
    assert_prints(RESOURCE_CPU, 100, "0.1");
    assert_prints(RESOURCE_CPU, 1005, "1.005");
    assert_prints(RESOURCE_CPU, -250, "-0.25");
    assert_prints(RESOURCE_CPU, 0, "0");
    assert_prints(RESOURCE_MEMORY, 0, "0");
    assert_prints(RESOURCE_MEMORY, 1000, "1000");
    assert_prints(RESOURCE_MEMORY, 2048, "2Ki");
    assert_prints(RESOURCE_MEMORY, INT64_C(3) << 30, "3Gi");
    assert_prints(RESOURCE_MEMORY, INT64_C(1536) << 20, "1.5Gi");
    assert_prints(RESOURCE_MEMORY, (INT64_C(4) << 30) - 1, "3.99Gi");
    assert_prints(RESOURCE_MEMORY, RESOURCE_VALUE_MAX, "1Pi");
    assert_prints(RESOURCE_EPHEMERAL_STORAGE, INT64_C(10) << 30, "10Gi");
    assert_prints(resource_id(STR("hugepages-2Mi")), INT64_C(4) << 20, "4Mi");
    assert_prints(resource_id(STR("example.com/fpga")), 4096, "4096");
    assert_prints(RESOURCE_PODS, 7, "7");
}

static void sets_stay_sorted(void **state)
{
    (void)state;
    struct resource_set a = {NULL, 0}, b = {NULL, 0};
    resource_set_put(&a, RESOURCE_PODS, 1);
    resource_set_put(&a, RESOURCE_CPU, 100);
    resource_set_put(&a, RESOURCE_MEMORY, 5);
    assert_int_equal(a.n, 3);
    for (uint32_t i = 1; i < a.n; i++)
        assert_true(a.items[i - 1].id < a.items[i].id);
    resource_set_put(&b, RESOURCE_CPU, 50);
    resource_set_put(&b, RESOURCE_EPHEMERAL_STORAGE, 9);
    resource_set_max(&a, &b);
    assert_int_equal(resource_set_get(&a, RESOURCE_CPU), 100);
    assert_int_equal(resource_set_get(&a, RESOURCE_EPHEMERAL_STORAGE), 9);
    resource_set_add(&a, &b, 3);
    assert_int_equal(resource_set_get(&a, RESOURCE_CPU), 250);
    resource_set_put(&a, RESOURCE_CPU, 0);
    assert_int_equal(a.n, 3);
    assert_int_equal(resource_set_get(&a, RESOURCE_CPU), 0);
    struct resource_set copy = resource_set_copy(&a);
    assert_int_equal(resource_set_get(&copy, RESOURCE_MEMORY), 5);
    resource_set_clear(&copy);
    resource_set_clear(&a);
    resource_set_clear(&b);
}

static void sums_saturate(void **state)
{
    (void)state;
    struct resource_set sum = {NULL, 0}, one = {NULL, 0};
    resource_set_put(&one, RESOURCE_MEMORY, RESOURCE_VALUE_MAX);
    resource_set_add(&sum, &one, 2);
    assert_int_equal(resource_set_get(&sum, RESOURCE_MEMORY), 2 * RESOURCE_VALUE_MAX);
    resource_set_add(&sum, &one, INT64_MAX);
    int64_t most = resource_set_get(&sum, RESOURCE_MEMORY);
    resource_set_add(&sum, &one, 1);
    assert_int_equal(resource_set_get(&sum, RESOURCE_MEMORY), most);
    resource_set_clear(&sum);
    resource_set_clear(&one);
}

static void vectors_add_and_take_away(void **state)
{
    (void)state;
    struct resource_vector v = {NULL, 0}, w = {NULL, 0};
    struct resource_set set = {NULL, 0};
    resource_set_put(&set, RESOURCE_CPU, 100);
    resource_set_put(&set, resource_id(STR("x.example/y")), 2);
    resource_vector_add(&v, &set, 1);
    resource_vector_add(&v, &set, 1);
    assert_int_equal(resource_vector_get(&v, resource_id(STR("x.example/y"))), 4);
    resource_vector_add(&v, &set, -1);
    assert_int_equal(resource_vector_get(&v, RESOURCE_CPU), 100);
    assert_int_equal(resource_vector_get(&v, 100000), 0);
    assert_false(resource_vector_equal(&v, &w));
    resource_vector_add(&v, &set, -1);
    assert_true(resource_vector_equal(&v, &w)); /* zeros are as good as absent */
    resource_vector_clear(&v);
    resource_set_clear(&set);
}

/* Runs last: it fills the registry. */
static void the_registry_has_an_end(void **state)
{
    (void)state;
    char name[32];
    for (unsigned i = 0; resource_id_count() < RESOURCE_NAMES_MAX; i++) {
        int size = snprintf(name, sizeof(name), "r%u", i);
        assert_int_not_equal(resource_id(str_make(name, (size_t)size)), RESOURCE_OTHER);
    }
    assert_int_equal(resource_id(STR("one-more")), RESOURCE_OTHER);
    assert_int_equal(resource_id(STR("r0")), resource_id(STR("r0")));
    assert_int_not_equal(resource_id(STR("r0")), RESOURCE_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_numbered),
        cmocka_unit_test(amounts_round_up_and_stop_at_the_maximum),
        cmocka_unit_test(totals_may_be_more_than_amounts),
        cmocka_unit_test(amounts_print_as_people_write_them),
        cmocka_unit_test(sets_stay_sorted),
        cmocka_unit_test(sums_saturate),
        cmocka_unit_test(vectors_add_and_take_away),
        cmocka_unit_test(the_registry_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
