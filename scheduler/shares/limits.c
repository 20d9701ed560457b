/*
 * Limits, charges and order in a tree of queues. See limits.h.
 */
#include "scheduler/shares/limits.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "scheduler/shares/tree.h"

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

static int64_t minus(int64_t a, int64_t b)
{
    int64_t difference;
    return __builtin_sub_overflow(a, b, &difference) ? (b < 0 ? INT64_MAX : INT64_MIN) : difference;
}

static int64_t at_least(int64_t a, int64_t low)
{
    return a < low ? low : a;
}

static int64_t at_most(int64_t a, int64_t high)
{
    return a > high ? high : a;
}

void share_node_clear(struct share_node *node)
{
    free(node->amounts);
    node->amounts = NULL;
    node->width = 0;
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void reset(struct share_node *node, uint32_t width)
{
    if (width != node->width || !node->amounts)
        node->amounts = xreallocarray(node->amounts, (size_t)width + 1,
                                      SHARE_ROW_COUNT * sizeof(*node->amounts));
    memset(node->amounts, 0, (size_t)width * SHARE_ROW_COUNT * sizeof(*node->amounts));
    node->width = width;
    node->depth = node->parent ? node->parent->depth + 1 : 0;
}

static void fill_row(struct share_node *node, enum share_row row, int64_t amount)
{
    int64_t *amounts = share_row(node, row);
    for (uint32_t id = 0; id < node->width; id++)
        amounts[id] = amount;
}

/* Lays the amounts of a set over a row. */
static void put_row(struct share_node *node, enum share_row row, const struct resource_set *set)
{
    for (uint32_t i = 0; set && i < set->n; i++)
        if (set->items[i].id < node->width)
            share_row(node, row)[set->items[i].id] = set->items[i].amount;
}

static void work_out_top(struct share_node *top, const struct resource_vector *total, bool bounded)
{
    fill_row(top, SHARE_CAPABILITY, SHARE_UNLIMITED);
    put_row(top, SHARE_CAPABILITY, top->capability);
    const int64_t *capability = share_row(top, SHARE_CAPABILITY);
    for (uint32_t id = 0; id < top->width; id++) {
        int64_t limit = at_most(resource_vector_get(total, id), capability[id]);
        share_row(top, SHARE_LIMIT)[id] = limit;
        share_row(top, SHARE_REAL)[id] = bounded ? limit : capability[id];
    }
}

/* What is left of an amount for one child when the others' guarantees are kept free. */
static int64_t beside_others(int64_t amount, int64_t guaranteed, int64_t own)
{
    if (amount == SHARE_UNLIMITED)
        return amount;
    return plus(at_least(minus(amount, guaranteed), 0), own);
}

static void work_out_child(struct share_node *node)
{
    const struct share_node *parent = node->parent;
    int64_t *capability = share_row(node, SHARE_CAPABILITY);
    memcpy(capability, share_row(parent, SHARE_CAPABILITY), node->width * sizeof(*capability));
    put_row(node, SHARE_CAPABILITY, node->capability);
    for (uint32_t id = 0; id < node->width; id++) {
        int64_t own = share_row(node, SHARE_GUARANTEE)[id];
        int64_t guaranteed = share_row(parent, SHARE_GUARANTEED)[id];
        share_row(node, SHARE_REAL)[id] = at_most(
            beside_others(share_row(parent, SHARE_REAL)[id], guaranteed, own), capability[id]);
        share_row(node, SHARE_LIMIT)[id] = at_most(
            beside_others(share_row(parent, SHARE_LIMIT)[id], guaranteed, own), capability[id]);
    }
}

/* Deserved amounts: no more than it may be promised, no less than its guarantee. */
static void work_out_deserved(struct share_node *node)
{
    int64_t *deserved = share_row(node, SHARE_DESERVED);
    put_row(node, SHARE_DESERVED, node->deserved);
    for (uint32_t id = 0; id < node->width; id++) {
        deserved[id] = at_most(deserved[id], share_row(node, SHARE_REAL)[id]);
        deserved[id] = at_least(deserved[id], share_row(node, SHARE_GUARANTEE)[id]);
    }
    limits_settle(node);
}

/* The guarantee of a child counts in its parent. */
static void count_guarantee(struct share_node *node)
{
    put_row(node, SHARE_GUARANTEE, node->guarantee);
    for (uint32_t id = 0; node->parent && id < node->width; id++) {
        int64_t *sum = &share_row(node->parent, SHARE_GUARANTEED)[id];
        *sum = plus(*sum, share_row(node, SHARE_GUARANTEE)[id]);
        share_row(node->parent, SHARE_KEPT)[id] = *sum;
    }
}

void limits_work_out(struct share_node *const *nodes, size_t n, const struct resource_vector *total,
                     uint32_t width, bool bounded)
{
    for (size_t i = 0; i < n; i++) {
        ENSURE((i == 0) == (nodes[i]->parent == NULL));
        reset(nodes[i], width);
        count_guarantee(nodes[i]);
    }
    for (size_t i = 0; i < n; i++) {
        if (i == 0)
            work_out_top(nodes[i], total, bounded);
        else
            work_out_child(nodes[i]);
        work_out_deserved(nodes[i]);
    }
}

/* ---- charges and shares ---------------------------------------------------------------------- */

void limits_deserve(struct share_node *node, uint32_t id, int64_t amount)
{
    if (id < node->width)
        share_row(node, SHARE_DESERVED)[id] = amount;
}

/* The largest part of a row's amounts that is used; false when the row has none. */
static bool largest_part(const struct share_node *node, enum share_row row, double *ret_part)
{
    const int64_t *amounts = share_row(node, row), *used = share_row(node, SHARE_USED);
    bool any = false;
    *ret_part = 0;
    for (uint32_t id = 0; id < node->width; id++) {
        if (amounts[id] <= 0)
            continue;
        double part = (double)used[id] / (double)amounts[id];
        *ret_part = part > *ret_part ? part : *ret_part;
        any = true;
    }
    return any;
}

void limits_settle(struct share_node *node)
{
    node->part = 0;
    node->deserves = largest_part(node, SHARE_DESERVED, &node->share);
    if (node->deserves)
        return;
    node->share = 1;
    (void)largest_part(node, SHARE_LIMIT, &node->part);
}

bool limits_reached(const struct share_node *node)
{
    const int64_t *deserved = share_row(node, SHARE_DESERVED), *used = share_row(node, SHARE_USED);
    for (uint32_t id = 0; id < node->width; id++)
        if (deserved[id] > 0 && used[id] < deserved[id])
            return false;
    return true;
}

/* What a node holds, or its guarantee if that is more. */
static int64_t kept(const struct share_node *node, uint32_t id, int64_t used)
{
    return at_least(used, share_row(node, SHARE_GUARANTEE)[id]);
}

/* Adds to what a node and those above it hold. */
static void add_used(struct share_node *node, uint32_t id, int64_t more)
{
    for (; node; node = node->parent) {
        int64_t *used = &share_row(node, SHARE_USED)[id], before = *used;
        *used = plus(before, more);
        if (node->parent) {
            int64_t *sum = &share_row(node->parent, SHARE_KEPT)[id];
            *sum = plus(*sum, kept(node, id, *used) - kept(node, id, before));
        }
    }
}

static void add_promised(struct share_node *node, uint32_t id, int64_t more)
{
    for (; node; node = node->parent) {
        int64_t *promised = &share_row(node, SHARE_PROMISED)[id];
        *promised = plus(*promised, more);
    }
}

/* The difference to what one of a node's own amounts was before. */
static int64_t set_own(struct share_node *node, enum share_row row, uint32_t id, int64_t amount)
{
    int64_t *own = &share_row(node, row)[id], before = *own;
    *own = amount;
    return minus(amount, before);
}

void limits_charge(struct share_node *node, const struct resource_set *allocated,
                   const struct resource_set *awaited, const struct resource_set *inqueue,
                   const struct resource_set *elastic)
{
    bool changed = false;
    for (uint32_t id = 0; id < node->width; id++) {
        int64_t holds = resource_set_get(allocated, id);
        int64_t beyond = minus(resource_set_get(inqueue, id), resource_set_get(elastic, id));
        int64_t more =
            set_own(node, SHARE_OWN_USED, id, plus(holds, resource_set_get(awaited, id)));
        int64_t promised = set_own(node, SHARE_OWN_PROMISED, id, plus(holds, beyond));
        if (more)
            add_used(node, id, more);
        if (promised)
            add_promised(node, id, promised);
        changed = changed || more;
    }
    for (; changed && node; node = node->parent)
        limits_settle(node);
}

/* ---- room ------------------------------------------------------------------------------------ */

/* How much of a node's room is taken as seen from a child that wants `amount` more, or from itself
 * when `child` is NULL. */
static int64_t taken(const struct share_node *node, const struct share_node *child,
                     enum share_row limit, uint32_t id, int64_t amount)
{
    if (limit == SHARE_REAL)
        return share_amount(node, SHARE_PROMISED, id);
    if (!child || id >= node->width)
        return share_amount(node, SHARE_USED, id);
    int64_t used = share_row(child, SHARE_USED)[id];
    int64_t more = kept(child, id, plus(used, amount)) - kept(child, id, used);
    int64_t all = plus(share_row(node, SHARE_KEPT)[id], share_row(node, SHARE_OWN_USED)[id]);
    return more ? minus(all, amount - more) : INT64_MIN; /* its guarantee is kept already */
}

/* The first resource from item `from` on of which a node has too little. */
static bool find_short(const struct share_node *node, const struct share_node *child,
                       const struct resource_set *needs, enum share_row limit, uint32_t from,
                       struct shortage *ret_shortage)
{
    for (uint32_t i = from; i < needs->n; i++) {
        uint32_t id = needs->items[i].id;
        int64_t amount = needs->items[i].amount, most = share_amount(node, limit, id);
        if (id == RESOURCE_PODS || amount <= 0 || most == SHARE_UNLIMITED)
            continue;
        int64_t used = taken(node, child, limit, id, amount);
        if (amount <= minus(most, used))
            continue;
        int64_t kept_free = child && limit == SHARE_LIMIT
                                ? at_least(used - share_amount(node, SHARE_USED, id), 0)
                                : 0;
        *ret_shortage = (struct shortage){node, child, id, amount, used, most, kept_free};
        return true;
    }
    return false;
}

bool limits_short(const struct share_node *node, const struct resource_set *needs,
                  enum share_row limit, struct shortage *ret_shortage)
{
    return find_short(node, NULL, needs, limit, 0, ret_shortage);
}

bool limits_allow(const struct share_node *node, const struct resource_set *needs,
                  enum share_row limit, struct shortage *ret_shortage)
{
    const struct share_node *child = NULL;
    for (; node; child = node, node = node->parent)
        if (find_short(node, child, needs, limit, 0, ret_shortage))
            return false;
    return true;
}

bool limits_next(const struct resource_set *needs, enum share_row limit, struct shortage *shortage)
{
    uint32_t from = 0;
    while (from < needs->n && needs->items[from].id <= shortage->id)
        from++;
    return find_short(shortage->node, shortage->child, needs, limit, from, shortage);
}

void limits_stick(struct share_node *node, const struct resource_set *stuck)
{
    for (; node; node = node->parent)
        for (uint32_t i = 0; i < stuck->n; i++)
            if (stuck->items[i].id < node->width) {
                int64_t *sum = &share_row(node, SHARE_STUCK)[stuck->items[i].id];
                *sum = plus(*sum, stuck->items[i].amount);
            }
}

void limits_unstick(struct share_node *const *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fill_row(nodes[i], SHARE_STUCK, 0);
}

bool limits_allow_past_stuck(const struct share_node *node, const struct resource_set *needs)
{
    for (; node; node = node->parent)
        for (uint32_t i = 0; i < needs->n; i++) {
            uint32_t id = needs->items[i].id;
            int64_t used =
                minus(share_amount(node, SHARE_PROMISED, id), share_amount(node, SHARE_STUCK, id));
            int64_t most = share_amount(node, SHARE_REAL, id);
            if (id != RESOURCE_PODS && most != SHARE_UNLIMITED &&
                needs->items[i].amount > minus(most, used))
                return false;
        }
    return true;
}

bool limits_allow_if_given(const struct share_node *node, const struct resource_set *needs,
                           const struct resource_set *own, const struct resource_set *others)
{
    for (const struct share_node *child = NULL; node; child = node, node = node->parent)
        for (uint32_t i = 0; i < needs->n; i++) {
            uint32_t id = needs->items[i].id;
            int64_t most = share_amount(node, SHARE_REAL, id);
            int64_t beside = child ? minus(share_amount(node, SHARE_USED, id),
                                           share_amount(child, SHARE_USED, id))
                                   : 0;
            int64_t given = plus(resource_set_get(own, id),
                                 at_most(resource_set_get(others, id), at_least(beside, 0)));
            int64_t used = minus(share_amount(node, SHARE_PROMISED, id), given);
            if (id != RESOURCE_PODS && most != SHARE_UNLIMITED &&
                needs->items[i].amount > minus(most, used))
                return false;
        }
    return true;
}

/* ---- order ----------------------------------------------------------------------------------- */

static int by_age(const struct share_node *a, const struct share_node *b)
{
    if (a->created_ns != b->created_ns)
        return a->created_ns < b->created_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int compare_siblings(const struct share_node *a, const struct share_node *b)
{
    if (a->share < b->share || a->share > b->share)
        return a->share < b->share ? -1 : 1;
    if (a->deserves != b->deserves)
        return a->deserves ? -1 : 1;
    if (a->part < b->part || a->part > b->part)
        return a->part < b->part ? -1 : 1;
    return by_age(a, b);
}

int limits_compare(const struct share_node *a, const struct share_node *b)
{
    tree_climb_to_siblings(a, b);
    return a == b ? 0 : compare_siblings(a, b);
}
