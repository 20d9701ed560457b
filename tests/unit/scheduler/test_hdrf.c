/*
 * Hierarchical dominant resource fairness: numbers worked out by hand, and random trees against
 * the same rule in floating point, worked out from scratch.
 */
#include "testing.h"

#include "base/rng.h"
#include "scheduler/shares/hdrf.h"
#include <math.h>

#define WIDTH 3

/* Hundredths of the cluster. */
static void set(struct hdrf_node *leaf, int cpu, int memory, bool saturated)
{
    int64_t parts[WIDTH] = {hdrf_part(cpu, 100), hdrf_part(memory, 100), 0};
    hdrf_set(leaf, parts, saturated);
}

static void assert_share(const struct hdrf_node *node, double hundredths)
{
    double share = (double)node->share * 100 / (double)HDRF_ONE;
    if (fabs(share - hundredths) > 1e-6)
        fail_msg("the share is %.9f, not %.9f", share, hundredths);
}

static void paths_make_groups(void **state)
{
    (void)state;
    struct hdrf_node *root = hdrf_new(WIDTH);
    struct hdrf_node *dev = hdrf_group(root, STR("root/eng/dev"), STR("1/2/4.5"));
    struct hdrf_node *test = hdrf_group(root, STR("root/eng/test"), STR("1/9/0.2"));
    struct hdrf_node *far = hdrf_group(root, STR("root/x/y"), STR("1/many"));
    assert_ptr_equal(dev->parent, test->parent);
    assert_ptr_equal(dev->parent->parent, root);
    assert_true(dev->weight > 4.4 && dev->weight < 4.6);
    assert_true(dev->parent->weight > 1.9 && dev->parent->weight < 2.1); /* the first counts */
    assert_true(test->weight < 1.1 && test->weight > 0.9);
    assert_true(far->weight < 1.1 && far->parent->weight < 1.1);
    assert_ptr_equal(hdrf_group(root, STR("root"), STR("5")), root);
    assert_ptr_equal(hdrf_group(root, STR(""), STR("")), root);
    assert_ptr_equal(hdrf_group(root, STR("root/eng/dev"), STR("")), dev);
    hdrf_free(root);
    hdrf_free(NULL);
}

static void paths_have_an_end(void **state)
{
    (void)state;
    cleanup_buf struct buf path = BUF_INIT(1 << 20);
    struct hdrf_node *root = hdrf_new(WIDTH);
    for (int i = 0; i < 100000; i++)
        buf_add_cstr(&path, "a/");
    assert_int_equal(hdrf_group(root, buf_str(&path), STR(""))->depth, HDRF_DEPTH_MAX);
    hdrf_free(root);
}

/* One group with a job of 10 % CPU, another with 20 % CPU and 40 % memory. */
static void a_group_counts_as_its_least_child(void **state)
{
    (void)state;
    struct hdrf_node *root = hdrf_new(WIDTH);
    struct hdrf_node *one = hdrf_group(root, STR("root/one"), STR("1/1"));
    struct hdrf_node *two = hdrf_group(root, STR("root/two"), STR("1/1"));
    struct hdrf_node *a = hdrf_leaf(one), *b = hdrf_leaf(two), *c = hdrf_leaf(two);
    assert_true(hdrf_compare(one, two) < 0); /* nobody has anything: by name */
    set(a, 10, 0, false);
    assert_true(hdrf_compare(one, two) > 0);
    set(b, 20, 0, false);
    set(c, 0, 40, false);
    assert_share(two, 20); /* c is scaled down to b's 20 % */
    assert_share(one, 10);
    assert_true(hdrf_compare(one, two) < 0);
    set(c, 0, 40, true); /* c can use no more: it counts in full */
    assert_share(two, 40);
    set(b, 20, 0, true);
    assert_true(two->saturated);
    set(a, 90, 0, false);
    assert_true(hdrf_compare(one, two) < 0); /* only one can use more */
    assert_share(root, 90 + 20);             /* one (hungry) at 90, two in full */
    hdrf_free(root);
}

static void weights_divide_shares(void **state)
{
    (void)state;
    struct hdrf_node *root = hdrf_new(WIDTH);
    struct hdrf_node *small = hdrf_group(root, STR("root/small"), STR("1/1"));
    struct hdrf_node *large = hdrf_group(root, STR("root/large"), STR("1/3"));
    set(hdrf_leaf(small), 10, 0, false);
    struct hdrf_node *job = hdrf_leaf(large);
    set(job, 29, 0, false);
    assert_true(hdrf_compare(large, small) < 0);
    set(job, 31, 0, false);
    assert_true(hdrf_compare(large, small) > 0);
    hdrf_free(root);
}

static void order_is_that_of_ancestors(void **state)
{
    (void)state;
    struct hdrf_node *root = hdrf_new(WIDTH);
    struct hdrf_node *dev = hdrf_group(root, STR("root/eng/dev"), STR(""));
    struct hdrf_node *test = hdrf_group(root, STR("root/eng/test"), STR(""));
    struct hdrf_node *sci = hdrf_group(root, STR("root/sci"), STR(""));
    set(hdrf_leaf(dev), 30, 0, false);
    set(hdrf_leaf(test), 5, 0, false);
    set(hdrf_leaf(sci), 8, 0, false);
    assert_share(dev->parent, 10); /* dev at test's 5 %, and test */
    assert_true(hdrf_compare(sci, test) < 0);
    assert_true(hdrf_compare(sci, dev) < 0);
    assert_true(hdrf_compare(test, dev) < 0);
    assert_int_equal(hdrf_compare(dev, dev->parent), 0);
    hdrf_free(root);
}

static void saturation(void **state)
{
    (void)state;
    struct resource_amount holds[] = {{RESOURCE_CPU, 4000}, {RESOURCE_MEMORY, 100}};
    struct resource_amount waits[] = {{RESOURCE_CPU, 2000}, {RESOURCE_MEMORY, 50}};
    struct resource_set none = {NULL, 0}, allocated = {holds, 2}, pending = {waits, 2};
    struct resource_set cpu_only = {waits, 1};
    struct resource_vector used = {NULL, 0}, total = {NULL, 0};
    *resource_vector_slot(&total, RESOURCE_CPU) = 10000;
    *resource_vector_slot(&total, RESOURCE_MEMORY) = 1000;
    *resource_vector_slot(&used, RESOURCE_CPU) = 9999;
    assert_false(hdrf_is_saturated(&none, &pending, &used, &total));
    assert_false(hdrf_is_saturated(&allocated, &pending, &used, &total));
    assert_true(hdrf_is_saturated(&allocated, &none, &used, &total));
    assert_true(hdrf_is_saturated(&allocated, &cpu_only, &used, &total));
    *resource_vector_slot(&used, RESOURCE_CPU) = 10000;
    assert_true(hdrf_is_saturated(&allocated, &pending, &used, &total));
    resource_vector_clear(&used);
    resource_vector_clear(&total);
}

/* ---- the rule from scratch ------------------------------------------------------------------- */

struct slow {
    double parts[WIDTH], share;
    bool saturated;
};

static struct slow slow_of(const struct hdrf_node *node)
{
    struct slow result = {.saturated = true};
    if (!node->full) { /* a leaf */
        for (uint32_t id = 0; id < WIDTH; id++)
            result.parts[id] = (double)node->parts[id] / (double)HDRF_ONE;
        result.saturated = node->saturated;
    } else {
        struct slow children[32];
        size_t n = 0;
        double least = 1;
        for (const struct list *at = node->children.next; at != &node->children; at = at->next) {
            const char *start = (const char *)at - offsetof(struct hdrf_node, sibling);
            children[n] = slow_of((const struct hdrf_node *)(const void *)start);
            result.saturated = result.saturated && children[n].saturated;
            if (children[n].share > 0 && !children[n].saturated)
                least = fmin(least, children[n].share);
            n++;
        }
        for (size_t i = 0; i < n; i++)
            for (uint32_t id = 0; id < WIDTH && children[i].share > 0; id++)
                result.parts[id] +=
                    children[i].parts[id] * (children[i].saturated ? 1 : least / children[i].share);
    }
    for (uint32_t id = 0; id < WIDTH; id++)
        result.share = fmax(result.share, result.parts[id]);
    return result;
}

static void random_changes_agree_with_the_rule(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 10);
    for (unsigned round = 0; round < 300; round++) {
        struct hdrf_node *root = hdrf_new(WIDTH), *groups[8] = {root}, *leaves[12];
        size_t group_count = 1 + rng_below(&rng, 7), leaf_count = 1 + rng_below(&rng, 12);
        for (size_t i = 1; i < group_count; i++) {
            cleanup_free char *name = xasprintf("g%zu", i);
            groups[i] =
                hdrf_child(groups[rng_below(&rng, i)], str_of(name), (double)rng_below(&rng, 4));
        }
        for (size_t i = 0; i < leaf_count; i++)
            leaves[i] = hdrf_leaf(groups[rng_below(&rng, group_count)]);
        for (unsigned step = 0; step < 60; step++) {
            int64_t parts[WIDTH];
            for (uint32_t id = 0; id < WIDTH; id++)
                parts[id] =
                    rng_below(&rng, 3) ? hdrf_part((int64_t)rng_below(&rng, 1000), 5000) : 0;
            hdrf_set(leaves[rng_below(&rng, leaf_count)], parts, rng_below(&rng, 2));
            for (size_t i = 0; i < group_count; i++) {
                struct slow slow = slow_of(groups[i]);
                assert_int_equal(slow.saturated, groups[i]->saturated);
                assert_true(fabs(slow.share - (double)groups[i]->share / (double)HDRF_ONE) < 1e-8);
            }
        }
        int64_t nothing[WIDTH] = {0};
        for (size_t i = 0; i < leaf_count; i++)
            hdrf_set(leaves[i], nothing, false);
        assert_int_equal(root->share, 0); /* sums are exact: nothing is left over */
        hdrf_free(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_make_groups),
        cmocka_unit_test(paths_have_an_end),
        cmocka_unit_test(a_group_counts_as_its_least_child),
        cmocka_unit_test(weights_divide_shares),
        cmocka_unit_test(order_is_that_of_ancestors),
        cmocka_unit_test(saturation),
        cmocka_unit_test(random_changes_agree_with_the_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
