/*
 * Limits, charges and order in trees of queues: numbers worked out by hand, and random trees
 * against a recount from scratch.
 */
#include "testing.h"

#include "base/rng.h"
#include "scheduler/shares/limits.h"

#define NODES_MAX 24
#define WIDTH 7
#define GPU (RESOURCE_FIXED_COUNT)
#define CPU RESOURCE_CPU

struct tree {
    struct share_node nodes[NODES_MAX], *order[NODES_MAX];
    struct resource_set capability[NODES_MAX], deserved[NODES_MAX], guarantee[NODES_MAX];
    struct resource_set allocated[NODES_MAX], awaited[NODES_MAX], inqueue[NODES_MAX],
        elastic[NODES_MAX];
    struct resource_vector total;
    char names[NODES_MAX][4];
    size_t n;
};

static struct share_node *add(struct tree *tree, struct share_node *parent)
{
    size_t i = tree->n++;
    struct share_node *node = &tree->nodes[i];
    tree->names[i][0] = (char)('a' + i);
    *node = (struct share_node){.name = tree->names[i],
                                .parent = parent,
                                .capability = &tree->capability[i],
                                .deserved = &tree->deserved[i],
                                .guarantee = &tree->guarantee[i]};
    tree->order[i] = node;
    return node;
}

static void clear(struct tree *tree)
{
    for (size_t i = 0; i < tree->n; i++) {
        share_node_clear(&tree->nodes[i]);
        struct resource_set *sets[] = {
            &tree->capability[i], &tree->deserved[i], &tree->guarantee[i], &tree->allocated[i],
            &tree->awaited[i],    &tree->inqueue[i],  &tree->elastic[i]};
        for (size_t s = 0; s < ARRAY_SIZE(sets); s++)
            resource_set_clear(sets[s]);
    }
    resource_vector_clear(&tree->total);
}

static size_t index_of(const struct tree *tree, const struct share_node *node)
{
    return (size_t)(node - tree->nodes);
}

static void put(struct tree *tree, struct resource_set *sets, const struct share_node *node,
                uint32_t id, int64_t amount)
{
    resource_set_put_any(&sets[index_of(tree, node)], id, amount);
}

static void work_out(struct tree *tree, bool bounded)
{
    limits_work_out(tree->order, tree->n, &tree->total, WIDTH, bounded);
}

static void charge(struct tree *tree, const struct share_node *node)
{
    size_t i = index_of(tree, node);
    limits_charge(&tree->nodes[i], &tree->allocated[i], &tree->awaited[i], &tree->inqueue[i],
                  &tree->elastic[i]);
}

static bool allow(const struct share_node *node, uint32_t id, int64_t amount, enum share_row row,
                  struct shortage *ret)
{
    struct resource_amount item = {id, amount};
    return limits_allow(node, &(struct resource_set){&item, 1}, row, ret);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void flat_queues_leave_guarantees_free(void **state)
{
    (void)state;
    struct tree tree = {.n = 0};
    struct share_node *top = add(&tree, NULL);
    struct share_node *a = add(&tree, top), *b = add(&tree, top), *c = add(&tree, top);
    *resource_vector_slot(&tree.total, CPU) = 10000;
    *resource_vector_slot(&tree.total, GPU) = 4;
    put(&tree, tree.guarantee, a, CPU, 2000);
    put(&tree, tree.capability, b, CPU, 5000);
    put(&tree, tree.capability, b, GPU, 0);
    put(&tree, tree.deserved, a, CPU, 1000);
    put(&tree, tree.deserved, b, CPU, 7000);
    work_out(&tree, true);
    assert_int_equal(share_amount(a, SHARE_REAL, CPU), 10000); /* 10 - 2 + 2 */
    assert_int_equal(share_amount(b, SHARE_REAL, CPU), 5000);  /* 10 - 2, at most 5 */
    assert_int_equal(share_amount(c, SHARE_REAL, CPU), 8000);
    assert_int_equal(share_amount(c, SHARE_LIMIT, CPU), 8000);
    assert_int_equal(share_amount(a, SHARE_DESERVED, CPU), 2000); /* its guarantee */
    assert_int_equal(share_amount(b, SHARE_DESERVED, CPU), 5000); /* its capability */
    assert_int_equal(share_amount(b, SHARE_LIMIT, GPU), 0);       /* forbidden */
    assert_int_equal(share_amount(c, SHARE_LIMIT, GPU), 4);
    assert_int_equal(share_amount(c, SHARE_LIMIT, WIDTH + 3), 0);
    clear(&tree);
}

/* top(10 cpu) -> a (capability 8, guarantee 4) -> a1 (guarantee 1), a2 (guarantee 2); b. */
struct family {
    struct tree tree;
    struct share_node *top, *a, *a1, *a2, *b;
};

static void make_family(struct family *family)
{
    struct tree *tree = &family->tree;
    *family = (struct family){.tree = {.n = 0}};
    family->top = add(tree, NULL);
    family->a = add(tree, family->top);
    family->b = add(tree, family->top);
    family->a1 = add(tree, family->a);
    family->a2 = add(tree, family->a);
    *resource_vector_slot(&tree->total, CPU) = 10000;
    put(tree, tree->capability, family->a, CPU, 8000);
    put(tree, tree->guarantee, family->a, CPU, 4000);
    put(tree, tree->guarantee, family->a1, CPU, 1000);
    put(tree, tree->guarantee, family->a2, CPU, 2000);
}

static void children_share_what_their_parent_may_have(void **state)
{
    (void)state;
    struct family f;
    make_family(&f);
    work_out(&f.tree, false);
    assert_int_equal(share_amount(f.top, SHARE_REAL, CPU), SHARE_UNLIMITED);
    assert_int_equal(share_amount(f.top, SHARE_LIMIT, CPU), 10000);
    assert_int_equal(share_amount(f.a, SHARE_REAL, CPU), 8000);
    assert_int_equal(share_amount(f.a, SHARE_LIMIT, CPU), 8000); /* 10 - 4 + 4, at most 8 */
    assert_int_equal(share_amount(f.b, SHARE_REAL, CPU), SHARE_UNLIMITED);
    assert_int_equal(share_amount(f.b, SHARE_LIMIT, CPU), 6000);
    assert_int_equal(share_amount(f.a1, SHARE_CAPABILITY, CPU), 8000); /* its parent's */
    assert_int_equal(share_amount(f.a1, SHARE_REAL, CPU), 6000);       /* 8 - 3 + 1 */
    assert_int_equal(share_amount(f.a2, SHARE_REAL, CPU), 7000);       /* 8 - 3 + 2 */
    assert_int_equal(share_amount(f.a2, SHARE_DESERVED, CPU), 2000);
    clear(&f.tree);
}

static void ancestors_limit_too(void **state)
{
    (void)state;
    struct family f;
    struct shortage shortage;
    make_family(&f);
    work_out(&f.tree, false);
    put(&f.tree, f.tree.allocated, f.a1, CPU, 5000);
    charge(&f.tree, f.a1);
    assert_int_equal(share_amount(f.a, SHARE_USED, CPU), 5000);
    assert_int_equal(share_amount(f.top, SHARE_USED, CPU), 5000);
    assert_true(allow(f.a1, CPU, 1000, SHARE_LIMIT, &shortage));
    assert_false(allow(f.a1, CPU, 1001, SHARE_LIMIT, &shortage));
    assert_ptr_equal(shortage.node, f.a1);
    assert_true(allow(f.a2, CPU, 3000, SHARE_LIMIT, &shortage));
    assert_false(allow(f.a2, CPU, 4000, SHARE_LIMIT, &shortage)); /* a2 has 7, a only 3 */
    assert_ptr_equal(shortage.node, f.a);
    assert_int_equal(shortage.needs, 4000);
    assert_int_equal(shortage.used, 5000);
    assert_int_equal(shortage.limit, 8000);
    assert_true(allow(f.b, CPU, 90000, SHARE_REAL, &shortage)); /* nothing bounds a promise */
    assert_false(allow(f.b, CPU, 90000, SHARE_LIMIT, &shortage));
    resource_set_put(&f.tree.allocated[index_of(&f.tree, f.a1)], CPU, 0);
    charge(&f.tree, f.a1);
    assert_int_equal(share_amount(f.top, SHARE_USED, CPU), 0);
    clear(&f.tree);
}

static void promises_count_less_what_is_elastic(void **state)
{
    (void)state;
    struct family f;
    struct shortage shortage;
    make_family(&f);
    work_out(&f.tree, true);
    put(&f.tree, f.tree.allocated, f.a1, CPU, 4000);
    put(&f.tree, f.tree.inqueue, f.a1, CPU, 3000);
    put(&f.tree, f.tree.elastic, f.a1, CPU, 2000);
    charge(&f.tree, f.a1);
    assert_int_equal(share_amount(f.a, SHARE_PROMISED, CPU), 5000);
    assert_true(allow(f.a1, CPU, 1000, SHARE_REAL, &shortage));
    assert_false(allow(f.a1, CPU, 1001, SHARE_REAL, &shortage));
    /* pods are no quota, and each short resource is told */
    struct resource_amount needs[] = {{CPU, 9000}, {RESOURCE_PODS, 900}, {GPU, 1}};
    struct resource_set set = {needs, ARRAY_SIZE(needs)};
    assert_false(limits_allow(f.a1, &set, SHARE_REAL, &shortage));
    assert_int_equal(shortage.id, CPU);
    assert_true(limits_next(&set, SHARE_REAL, &shortage));
    assert_int_equal(shortage.id, GPU);
    assert_false(limits_next(&set, SHARE_REAL, &shortage));
    clear(&f.tree);
}

/* What a node is about to hold counts as held; promised it is in another way. */
static void what_is_awaited_is_held(void **state)
{
    (void)state;
    struct family f;
    make_family(&f);
    work_out(&f.tree, true);
    put(&f.tree, f.tree.allocated, f.a1, CPU, 2000);
    put(&f.tree, f.tree.awaited, f.a1, CPU, 1000);
    charge(&f.tree, f.a1);
    assert_int_equal(share_amount(f.a1, SHARE_USED, CPU), 3000);
    assert_int_equal(share_amount(f.a, SHARE_USED, CPU), 3000);
    assert_int_equal(share_amount(f.a, SHARE_PROMISED, CPU), 2000);
    resource_set_clear(&f.tree.awaited[index_of(&f.tree, f.a1)]);
    charge(&f.tree, f.a1);
    assert_int_equal(share_amount(f.a, SHARE_USED, CPU), 2000);
    clear(&f.tree);
}

static void shares_and_order(void **state)
{
    (void)state;
    struct family f;
    make_family(&f);
    put(&f.tree, f.tree.deserved, f.a, CPU, 5000);
    put(&f.tree, f.tree.deserved, f.b, CPU, 5000);
    work_out(&f.tree, true);
    assert_true(limits_compare(f.a1, f.b) < 0); /* both have nothing: by name of a and b */
    put(&f.tree, f.tree.allocated, f.a2, CPU, 1000);
    charge(&f.tree, f.a2);
    assert_true(f.a->share > 0.199 && f.a->share < 0.201);
    assert_true(f.a2->share > 0.499 && f.a2->share < 0.501);
    assert_true(limits_compare(f.a1, f.b) > 0); /* a has 0.2 of its share, b nothing */
    assert_true(limits_compare(f.a1, f.a2) < 0);
    assert_int_equal(limits_compare(f.a, f.a1), 0);
    put(&f.tree, f.tree.allocated, f.b, CPU, 5000);
    charge(&f.tree, f.b);
    assert_true(limits_compare(f.a1, f.b) < 0);
    assert_true(limits_reached(f.b));
    assert_false(limits_reached(f.a));
    limits_deserve(f.b, CPU, 5001);
    limits_settle(f.b);
    assert_false(limits_reached(f.b));
    clear(&f.tree);
}

static void a_queue_that_deserves_nothing_comes_last(void **state)
{
    (void)state;
    struct tree tree = {.n = 0};
    struct share_node *top = add(&tree, NULL), *a = add(&tree, top), *b = add(&tree, top);
    *resource_vector_slot(&tree.total, CPU) = 10000;
    put(&tree, tree.deserved, b, CPU, 2000);
    put(&tree, tree.allocated, b, CPU, 2000);
    work_out(&tree, true);
    charge(&tree, b);
    assert_true(limits_compare(a, b) > 0); /* both have the share 1 */
    put(&tree, tree.allocated, b, CPU, 2001);
    charge(&tree, b);
    assert_true(limits_compare(a, b) < 0);
    clear(&tree);
}

/* Each of b and c alone may hold 6 of 10, but not both: 4 are guaranteed to a. */
static void guarantees_are_kept_from_all_together(void **state)
{
    (void)state;
    struct tree tree = {.n = 0};
    struct shortage shortage;
    struct share_node *top = add(&tree, NULL);
    struct share_node *a = add(&tree, top), *b = add(&tree, top), *c = add(&tree, top);
    *resource_vector_slot(&tree.total, CPU) = 10000;
    put(&tree, tree.guarantee, a, CPU, 4000);
    put(&tree, tree.allocated, a, CPU, 1000);
    put(&tree, tree.allocated, b, CPU, 5000);
    work_out(&tree, true);
    charge(&tree, a);
    charge(&tree, b);
    assert_true(allow(c, CPU, 1000, SHARE_LIMIT, &shortage));
    assert_false(allow(c, CPU, 1500, SHARE_LIMIT, &shortage));
    assert_ptr_equal(shortage.node, top);
    assert_int_equal(shortage.used, 9000);
    assert_int_equal(shortage.kept, 3000);
    assert_true(allow(a, CPU, 3000, SHARE_LIMIT, &shortage));
    assert_true(allow(a, CPU, 4000, SHARE_LIMIT, &shortage)); /* what nobody is guaranteed */
    assert_false(allow(a, CPU, 4500, SHARE_LIMIT, &shortage));
    clear(&tree);
}

/* ---- random trees ---------------------------------------------------------------------------- */

static void random_set(struct rng *rng, struct resource_set *set, int64_t most, unsigned rarity)
{
    for (uint32_t id = 0; id < WIDTH; id++)
        if (rng_below(rng, rarity) == 0)
            resource_set_put(set, id, (int64_t)rng_below(rng, (uint64_t)most));
}

static void random_tree(struct rng *rng, struct tree *tree)
{
    *tree = (struct tree){.n = 0};
    size_t n = 2 + rng_below(rng, NODES_MAX - 2);
    for (uint32_t id = 0; id < WIDTH; id++)
        *resource_vector_slot(&tree->total, id) = (int64_t)rng_below(rng, 1000);
    for (size_t i = 0; i < n; i++) {
        add(tree, i ? &tree->nodes[rng_below(rng, i)] : NULL);
        random_set(rng, &tree->capability[i], 900, 3);
        random_set(rng, &tree->deserved[i], 500, 2);
        random_set(rng, &tree->guarantee[i], 100, 4);
        tree->nodes[i].created_ns = (int64_t)rng_below(rng, 3);
    }
}

static bool lies_below(const struct share_node *node, const struct share_node *above)
{
    while (node && node != above)
        node = node->parent;
    return node != NULL;
}

static int64_t own_used(const struct tree *tree, size_t i, uint32_t id)
{
    return resource_set_get(&tree->allocated[i], id) + resource_set_get(&tree->awaited[i], id);
}

static int64_t slow_used(const struct tree *tree, const struct share_node *node, uint32_t id)
{
    int64_t sum = 0;
    for (size_t i = 0; i < tree->n; i++)
        if (lies_below(&tree->nodes[i], node))
            sum += own_used(tree, i, id);
    return sum;
}

static int64_t slow_capability(const struct tree *tree, const struct share_node *node, uint32_t id)
{
    for (; node; node = node->parent) {
        int64_t given = resource_set_get(&tree->capability[index_of(tree, node)], id);
        if (given)
            return given;
    }
    return SHARE_UNLIMITED;
}

static int64_t slow_limit(const struct tree *tree, const struct share_node *node, uint32_t id)
{
    int64_t most = slow_capability(tree, node, id), left;
    if (!node->parent) {
        left = resource_vector_get(&tree->total, id);
        return left < most ? left : most;
    }
    left = slow_limit(tree, node->parent, id);
    for (size_t i = 0; i < tree->n; i++)
        if (tree->nodes[i].parent == node->parent)
            left -= resource_set_get(&tree->guarantee[i], id);
    left = left > 0 ? left : 0;
    left += resource_set_get(&tree->guarantee[index_of(tree, node)], id);
    return left < most ? left : most;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What a node would hold or keep for guarantees if `wants` more were charged to `leaf`. */
static int64_t slow_kept(const struct tree *tree, const struct share_node *node, uint32_t id,
                         const struct share_node *leaf, int64_t wants)
{
    int64_t sum = own_used(tree, index_of(tree, node), id);
    for (size_t i = 0; i < tree->n; i++)
        if (tree->nodes[i].parent == node) {
            int64_t used = slow_used(tree, &tree->nodes[i], id);
            if (lies_below(leaf, &tree->nodes[i]))
                used += wants;
            sum += larger(used, resource_set_get(&tree->guarantee[i], id));
        }
    return sum + (leaf == node ? wants : 0);
}

static bool slow_allow_one(const struct tree *tree, const struct share_node *leaf, uint32_t id,
                           int64_t wants)
{
    if (slow_used(tree, leaf, id) + wants > slow_limit(tree, leaf, id))
        return false;
    for (const struct share_node *node = leaf->parent; node; node = node->parent) {
        int64_t before = slow_kept(tree, node, id, leaf, 0);
        int64_t after = slow_kept(tree, node, id, leaf, wants);
        if (after > before && after > slow_limit(tree, node, id))
            return false;
    }
    return true;
}

static bool slow_allow(const struct tree *tree, const struct share_node *node,
                       const struct resource_set *needs)
{
    for (uint32_t i = 0; i < needs->n; i++)
        if (needs->items[i].id != RESOURCE_PODS &&
            !slow_allow_one(tree, node, needs->items[i].id, needs->items[i].amount))
            return false;
    return true;
}

static void check_order(const struct tree *tree)
{
    const struct share_node *leaves[NODES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < tree->n; i++) {
        bool leaf = true;
        for (size_t j = 0; j < tree->n; j++)
            leaf = leaf && tree->nodes[j].parent != &tree->nodes[i];
        if (leaf)
            leaves[n++] = &tree->nodes[i];
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            int order = limits_compare(leaves[i], leaves[j]);
            assert_true(i == j ? order == 0 : order != 0);
            assert_true((order < 0) == (limits_compare(leaves[j], leaves[i]) > 0));
            for (size_t k = 0; k < n; k++)
                if (order < 0 && limits_compare(leaves[j], leaves[k]) < 0)
                    assert_true(limits_compare(leaves[i], leaves[k]) < 0);
        }
}

static void random_charges(struct rng *rng, struct tree *tree)
{
    struct shortage shortage;
    for (unsigned step = 0; step < 20; step++) {
        size_t i = rng_below(rng, tree->n);
        struct resource_set needs = {NULL, 0};
        resource_set_clear(&tree->allocated[i]);
        resource_set_clear(&tree->awaited[i]);
        random_set(rng, &tree->allocated[i], 60, 2);
        random_set(rng, &tree->awaited[i], 30, 4);
        charge(tree, &tree->nodes[i]);
        random_set(rng, &needs, 300, 3);
        i = rng_below(rng, tree->n);
        assert_int_equal(limits_allow(&tree->nodes[i], &needs, SHARE_LIMIT, &shortage),
                         slow_allow(tree, &tree->nodes[i], &needs));
        resource_set_clear(&needs);
    }
}

static void random_trees_agree_with_a_recount(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 9);
    for (unsigned round = 0; round < 1000; round++) {
        struct tree tree;
        random_tree(&rng, &tree);
        work_out(&tree, rng_below(&rng, 2));
        random_charges(&rng, &tree);
        for (size_t i = 0; i < tree.n; i++)
            for (uint32_t id = 0; id < WIDTH; id++) {
                assert_int_equal(share_amount(&tree.nodes[i], SHARE_LIMIT, id),
                                 slow_limit(&tree, &tree.nodes[i], id));
                assert_int_equal(share_amount(&tree.nodes[i], SHARE_USED, id),
                                 slow_used(&tree, &tree.nodes[i], id));
            }
        check_order(&tree);
        clear(&tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_queues_leave_guarantees_free),
        cmocka_unit_test(children_share_what_their_parent_may_have),
        cmocka_unit_test(ancestors_limit_too),
        cmocka_unit_test(promises_count_less_what_is_elastic),
        cmocka_unit_test(what_is_awaited_is_held),
        cmocka_unit_test(shares_and_order),
        cmocka_unit_test(a_queue_that_deserves_nothing_comes_last),
        cmocka_unit_test(guarantees_are_kept_from_all_together),
        cmocka_unit_test(random_trees_agree_with_a_recount),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
