/*
 * Resources of a queue against those above, beside and below it (part of /queues/validate).
 *
 * A capability is bounded by the nearest ancestor that sets one, and bounds what is below. What the
 * children of a queue are guaranteed, or deserve, is no more in sum than what the queue itself is
 * or does; what is not set counts as 0. The root and queues without a parent bound nothing. Walks
 * end after 64 levels, so cycles that are already there do no harm.
 */
#include "api/names.h"
#include "webhook/queue/queue_rules.h"

#define LEVELS_MAX 64

/* Pods are not shared out; unknown names without a prefix and object counts are not resources. */
static bool is_shared(struct str name)
{
    static const char *const known[] = {"cpu", "memory", "ephemeral-storage"};
    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        if (str_is(name, known[i]))
            return true;
    }
    if (str_starts(name, STR("count/")))
        return false;
    return str_chr(name, '/') >= 0 || str_starts(name, STR("hugepages-")) ||
           str_starts(name, STR("attachable-volumes-"));
}

static bool is_basic(struct str name)
{
    return str_is(name, "cpu") || str_is(name, "memory");
}

static const struct quantity *positive(const struct resources *list, struct str name)
{
    const struct quantity *quantity = resources_get(list, name);
    return quantity && quantity->nano > 0 ? quantity : NULL;
}

/* ---- capability ---------------------------------------------------------------------------- */

/* What the nearest ancestor that sets one allows; NULL for no limit. */
static const struct quantity *limit_above(const struct queue_case *q, struct str resource)
{
    struct str name = str_of(q->parent);
    for (int level = 0; level < LEVELS_MAX && name.n && !str_is(name, ROOT_QUEUE); level++) {
        const struct queue_view *ancestor = queue_snapshot_get(q->c->queues, name);
        if (!ancestor)
            return NULL;
        const struct quantity *limit = positive(&ancestor->capability, resource);
        if (limit)
            return limit;
        name = ancestor->parent;
    }
    return NULL;
}

/*
 * The most that queues below ask for, the first on each way down; one walk for all resources of the
 * queue. A queue has one parent, so each is visited once unless the way leads back to the start.
 */
struct descent {
    const struct queue_snapshot *queues;
    struct str start;
    const struct resources *own;
    const struct quantity **most; /* by index into `own`; NULL for none */
    bool *open; /* a row for each level: what was not met on the way to it, by the same index */
};

/* Takes what a queue asks for off `open`. */
static void meet(const struct descent *d, const struct queue_view *queue, bool *open)
{
    for (size_t i = 0; i < queue->capability.n; i++) {
        const struct resource *item = &queue->capability.items[i];
        const struct resource *own = resources_find(d->own, item->name);
        if (!own || item->quantity.nano <= 0 || !open[own - d->own->items])
            continue;
        const size_t index = (size_t)(own - d->own->items);
        open[index] = false;
        if (!d->most[index] || quantity_cmp(item->quantity, *d->most[index]) > 0)
            d->most[index] = &item->quantity;
    }
}

static void descend(const struct descent *d, struct str queue, size_t level)
{
    struct queue_view *const *children;
    const size_t count = queue_snapshot_children(d->queues, queue, &children), n = d->own->n;
    const bool *open = d->open + level * n;
    bool *below = d->open + (level + 1) * n;
    for (size_t i = 0; i < count; i++) {
        if (str_eq(children[i]->name, d->start))
            continue;
        memcpy(below, open, n * sizeof(*below));
        meet(d, children[i], below);
        if (level + 1 < LEVELS_MAX && memchr(below, true, n))
            descend(d, children[i]->name, level + 1);
    }
}

/* By index into the capability of the queue; only for what is shared. */
static const struct quantity **most_below(const struct queue_case *q)
{
    const struct resources *own = &q->now.capability;
    const struct descent d = {
        .queues = q->c->queues,
        .start = str_of(q->name),
        .own = own,
        .most = arena_calloc(q->c->arena, own->n + 1, sizeof(*d.most)),
        .open = arena_calloc(q->c->arena, (LEVELS_MAX + 1) * own->n + 1, sizeof(*d.open))};
    for (size_t i = 0; i < own->n; i++)
        d.open[i] = is_shared(own->items[i].name) && own->items[i].quantity.nano > 0;
    if (memchr(d.open, true, own->n))
        descend(&d, d.start, 0);
    return d.most;
}

static void check_capability(const struct queue_case *q)
{
    const struct quantity **most = most_below(q);
    for (size_t i = 0; i < q->now.capability.n; i++) {
        const struct resource *own = &q->now.capability.items[i];
        if (!is_shared(own->name) || own->quantity.nano <= 0)
            continue;
        const struct quantity_text text = quantity_text(own->quantity);
        const struct quantity *above = limit_above(q, own->name);
        if (above && quantity_cmp(own->quantity, *above) > 0)
            problem_invalid(&q->c->problems,
                            "queue %s capability[%s]=%s exceeds its ancestor's capability=%s",
                            q->name, own->name.p, text.text, quantity_text(*above).text);
        if (most[i] && quantity_cmp(own->quantity, *most[i]) < 0)
            problem_invalid(
                &q->c->problems,
                "queue %s capability[%s]=%s is smaller than its descendants' max capability=%s",
                q->name, own->name.p, text.text, quantity_text(*most[i]).text);
    }
}

/* ---- sums over children -------------------------------------------------------------------- */

/* A sum of resource lists, sorted by name. */
struct total {
    struct resource *items; /* in the arena */
    size_t n, cap;
};

static void total_insert(struct arena *arena, struct total *total, size_t at,
                         const struct resource *item)
{
    if (total->n == total->cap) {
        const size_t cap = total->cap ? 2 * total->cap : 16;
        struct resource *items = arena_calloc(arena, cap, sizeof(*items));
        if (total->n)
            memcpy(items, total->items, total->n * sizeof(*items));
        total->items = items;
        total->cap = cap;
    }
    memmove(&total->items[at + 1], &total->items[at], (total->n - at) * sizeof(*total->items));
    total->items[at] = *item;
    total->n++;
}

static void total_add(struct arena *arena, struct total *total, const struct resources *list)
{
    size_t at = 0;
    for (size_t i = 0; i < list->n; i++) {
        const struct resource *item = &list->items[i];
        if (!is_shared(item->name))
            continue;
        while (at < total->n && str_cmp(total->items[at].name, item->name) < 0)
            at++;
        if (at < total->n && str_eq(total->items[at].name, item->name))
            total->items[at].quantity = quantity_add(total->items[at].quantity, item->quantity);
        else
            total_insert(arena, total, at, item);
    }
}

/* A resource other than cpu and memory that the limit does not name may not be shared out at all.
 */
static bool exceeds(const struct total *total, const struct resources *limit)
{
    for (size_t i = 0; i < total->n; i++) {
        const struct resource *item = &total->items[i];
        const struct quantity *most = resources_get(limit, item->name);
        if (!most && !is_basic(item->name))
            return true;
        if (quantity_cmp(item->quantity, most ? *most : QUANTITY_ZERO) > 0)
            return true;
    }
    return false;
}

static double number(const struct resources *list, const char *name, double unit)
{
    const struct quantity *quantity = resources_get(list, str_of(name));
    return quantity ? (double)quantity->nano / unit : 0;
}

/* "cpu 9000.00, memory 19327352832.00, nvidia.com/gpu 2000.00": thousandths, memory in bytes. */
static void write_amounts(struct buf *out, const struct resources *list)
{
    buf_printf(out, "cpu %.2f, memory %.2f", number(list, "cpu", 1e6), number(list, "memory", 1e9));
    for (size_t i = 0; i < list->n; i++) {
        if (is_shared(list->items[i].name) && !is_basic(list->items[i].name))
            buf_printf(out, ", %s %.2f", list->items[i].name.p,
                       (double)list->items[i].quantity.nano / 1e6);
    }
}

static void report_sum(const struct queue_case *q, const char *owner, const char *what,
                       const struct total *total, const struct resources *limit)
{
    struct buf sum cleanup_buf = BUF_INIT(1024), most cleanup_buf = BUF_INIT(1024);
    const struct resources list = {total->items, total->n};
    write_amounts(&sum, &list);
    write_amounts(&most, limit);
    problem_invalid(&q->c->problems,
                    "%s validation failed: sum of children's %s (%.*s) exceeds parent's %s limit "
                    "(%.*s)",
                    owner, what, STR_ARG(buf_str(&sum)), what, STR_ARG(buf_str(&most)));
}

enum share { SHARE_GUARANTEE, SHARE_DESERVED };

static const struct resources *share_of(const struct queue_view *view, enum share share)
{
    return share == SHARE_GUARANTEE ? &view->guarantee : &view->deserved;
}

/* Adds up the children of `parent`, with `own` for the queue under review (NULL: not a child). */
static void check_sum(const struct queue_case *q, struct str parent, const char *owner,
                      enum share share, const struct resources *own, const struct resources *limit)
{
    struct total total = {0};
    struct queue_view *const *children;
    const size_t count = queue_snapshot_children(q->c->queues, parent, &children);
    if (own)
        total_add(q->c->arena, &total, own);
    for (size_t i = 0; i < count && !exceeds(&total, limit); i++) {
        if (!own || !str_is(children[i]->name, q->name))
            total_add(q->c->arena, &total, share_of(children[i], share));
    }
    if (exceeds(&total, limit))
        report_sum(q, owner, share == SHARE_GUARANTEE ? "guarantee" : "deserved", &total, limit);
}

void queue_check_hierarchy(struct queue_case *q)
{
    const struct str name = str_of(q->name);
    struct str owner = arena_printf(q->c->arena, "parent queue %s", q->parent);
    if (*q->parent && strcmp(q->parent, ROOT_QUEUE) != 0) {
        const struct queue_view *parent = case_queue(q->c, str_of(q->parent));
        if (!parent) {
            problem_state(&q->c->problems, "parent queue %s not found", q->parent);
            return;
        }
        check_sum(q, parent->name, owner.p, SHARE_GUARANTEE, &q->now.guarantee, &parent->guarantee);
        check_sum(q, parent->name, owner.p, SHARE_DESERVED, &q->now.deserved, &parent->deserved);
    }
    check_capability(q);
    owner = arena_printf(q->c->arena, "queue %s", q->name);
    check_sum(q, name, owner.p, SHARE_GUARANTEE, NULL, &q->now.guarantee);
    check_sum(q, name, owner.p, SHARE_DESERVED, NULL, &q->now.deserved);
}
