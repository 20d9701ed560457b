/*
 * Hierarchical dominant resource fairness. See hdrf.h.
 *
 * Each group keeps two sums over its children, so that one child's change costs no look at the
 * others: the parts of saturated ones, and the shapes (parts over share) of hungry ones, which are
 * scaled by the least share among these, the top of a heap.
 */
#include "scheduler/shares/hdrf.h"
#include "base/alloc.h"
#include "scheduler/shares/tree.h"

__extension__ typedef __int128 wide;

static const struct hdrf_node *from_order(const struct heap_node *order)
{
    const char *start = (const char *)order - offsetof(struct hdrf_node, order);
    return (const struct hdrf_node *)(const void *)start;
}

static bool hungry_before(const struct heap_node *a, const struct heap_node *b, void *arg)
{
    (void)arg;
    return from_order(a)->share < from_order(b)->share;
}

/* ---- the tree -------------------------------------------------------------------------------- */

static struct hdrf_node *node_new(struct hdrf_node *parent, uint32_t width, uint32_t rows)
{
    struct hdrf_node *node = xnew(struct hdrf_node);
    node->parent = parent;
    node->weight = 1;
    node->width = width;
    node->parts = xcalloc((size_t)width * rows + 1, sizeof(*node->parts));
    node->full = rows > 1 ? node->parts + width : NULL;
    node->shapes = rows > 1 ? node->parts + 2 * (size_t)width : NULL;
    node->saturated = rows > 1; /* a group without children can use nothing */
    list_init(&node->children);
    list_init(&node->sibling);
    heap_init(&node->hungry, hungry_before, NULL);
    if (parent) {
        node->depth = parent->depth + 1;
        list_append(&parent->children, &node->sibling);
    }
    return node;
}

struct hdrf_node *hdrf_new(uint32_t width)
{
    return node_new(NULL, width, 3);
}

/* ---- what groups hold ------------------------------------------------------------------------ */

static void add_parts(int64_t *sum, const struct hdrf_node *node, int sign, int64_t share)
{
    for (uint32_t id = 0; id < node->width; id++) {
        int64_t part = node->parts[id];
        if (share)
            part = (int64_t)((wide)part * HDRF_ONE / share);
        sum[id] += sign * part;
    }
}

/* The child begins (`sign` 1) or ends (-1) to count in its parent. */
static void count_in(struct hdrf_node *child, int sign)
{
    struct hdrf_node *parent = child->parent;
    if (!child->saturated)
        parent->unsaturated += (uint32_t)sign;
    if (child->share == 0)
        return;
    if (child->saturated) {
        add_parts(parent->full, child, sign, 0);
        return;
    }
    add_parts(parent->shapes, child, sign, child->share);
    if (sign > 0)
        heap_push(&parent->hungry, &child->order);
    else
        heap_remove(&parent->hungry, &child->order);
}

static void settle(struct hdrf_node *node)
{
    node->share = 0;
    for (uint32_t id = 0; id < node->width; id++)
        node->share = node->parts[id] > node->share ? node->parts[id] : node->share;
}

/* A group's parts from the sums over its children. */
static void work_out(struct hdrf_node *group)
{
    const struct heap_node *first = heap_peek(&group->hungry);
    int64_t least = HDRF_ONE;
    if (first && from_order(first)->share < least)
        least = from_order(first)->share;
    for (uint32_t id = 0; id < group->width; id++)
        group->parts[id] = group->full[id] + (int64_t)((wide)group->shapes[id] * least / HDRF_ONE);
    settle(group);
    group->saturated = group->unsaturated == 0;
}

/* The groups above a node, which is counted in its parent again, work out what they hold. */
static void pass_up(struct hdrf_node *node)
{
    for (struct hdrf_node *group = node; group; group = group->parent) {
        if (group->parent)
            count_in(group, -1);
        work_out(group);
        if (group->parent)
            count_in(group, 1);
    }
}

void hdrf_set(struct hdrf_node *leaf, const int64_t *parts, bool saturated)
{
    count_in(leaf, -1);
    memcpy(leaf->parts, parts, leaf->width * sizeof(*parts));
    settle(leaf);
    leaf->saturated = saturated && leaf->share > 0;
    count_in(leaf, 1);
    pass_up(leaf->parent);
}

/* ---- growing and shrinking ------------------------------------------------------------------- */

struct hdrf_node *hdrf_leaf(struct hdrf_node *group)
{
    struct hdrf_node *leaf = node_new(group, group->width, 1);
    count_in(leaf, 1);
    pass_up(group);
    return leaf;
}

struct hdrf_node *hdrf_child(struct hdrf_node *group, struct str name, double weight)
{
    struct hdrf_node *child = map_get(&group->groups, name);
    if (child)
        return child;
    child = node_new(group, group->width, 3);
    child->name = str_dup(name);
    child->weight = weight >= 1 ? weight : 1;
    map_set(&group->groups, name, child);
    return child;
}

struct hdrf_node *hdrf_group(struct hdrf_node *root, struct str path, struct str weights)
{
    struct hdrf_node *group = root;
    struct str name, text;
    bool first = true;
    while (group->depth < HDRF_DEPTH_MAX && str_split(&path, '/', &name)) {
        double weight = 1;
        if (str_split(&weights, '/', &text) && !str_to_double(text, &weight))
            weight = 1;
        if (!first)
            group = hdrf_child(group, name, weight);
        first = false;
    }
    return group;
}

void hdrf_free(struct hdrf_node *root)
{
    if (!root)
        return;
    heap_clear(&root->hungry); /* before the nodes in it */
    list_each(link, &root->children)
    {
        hdrf_free(container_of(link, struct hdrf_node, sibling));
    }
    map_clear(&root->groups);
    free(root->name);
    free(root->parts);
    free(root);
}

/* ---- jobs and order -------------------------------------------------------------------------- */

int64_t hdrf_part(int64_t amount, int64_t total)
{
    if (amount <= 0 || total <= 0)
        return 0;
    return amount >= total ? HDRF_ONE : (int64_t)((wide)amount * HDRF_ONE / total);
}

bool hdrf_is_saturated(const struct resource_set *allocated, const struct resource_set *pending,
                       const struct resource_vector *used, const struct resource_vector *total)
{
    for (uint32_t i = 0; i < allocated->n; i++) {
        uint32_t id = allocated->items[i].id;
        if (allocated->items[i].amount <= 0)
            continue;
        if (resource_set_get(pending, id) == 0 ||
            resource_vector_get(used, id) >= resource_vector_get(total, id))
            return true;
    }
    return false;
}

static int compare_siblings(const struct hdrf_node *a, const struct hdrf_node *b)
{
    double share_a = (double)a->share / a->weight, share_b = (double)b->share / b->weight;
    if (a->saturated != b->saturated)
        return a->saturated ? 1 : -1;
    if (share_a < share_b || share_a > share_b)
        return share_a < share_b ? -1 : 1;
    return a->name && b->name ? strcmp(a->name, b->name) : 0;
}

int hdrf_compare(const struct hdrf_node *a, const struct hdrf_node *b)
{
    tree_climb_to_siblings(a, b);
    return a == b ? 0 : compare_siblings(a, b);
}
