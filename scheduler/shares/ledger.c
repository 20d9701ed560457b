/*
 * Limits over the queues of the cache. See ledger.h.
 */
#include "scheduler/shares/ledger.h"
#include "api/names.h"
#include "scheduler/evict/prospects.h"

void ledger_init(struct ledger *ledger, bool hierarchy)
{
    *ledger = (struct ledger){.hierarchy = hierarchy, .top = {.name = ""}};
}

void ledger_clear(struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->queues.n; i++)
        if (ledger->queues.items[i]) {
            share_node_clear(&ledger->queues.items[i]->own);
            free(ledger->queues.items[i]);
        }
    vec_clear(&ledger->queues);
    vec_clear(&ledger->order);
    share_node_clear(&ledger->top);
}

/* ---- the beginning of a cycle ---------------------------------------------------------------- */

static uint64_t mixed(uint64_t state, uint64_t value)
{
    state = (state ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return state ^ (state >> 29);
}

uint64_t ledger_state(const struct cache *cache)
{
    uint64_t state = mixed(1, map_count(&cache->queues_by_name));
    void *value;
    for (size_t i = 0; map_next(&cache->queues_by_name, &i, NULL, &value);) {
        const struct sched_queue *queue = value;
        state = mixed(state, (uintptr_t)queue->uid ^ ((uint64_t)queue->index << 48));
        state = mixed(state, (uintptr_t)queue->name ^ ((uint64_t)queue->version << 32));
        state = mixed(state, (uintptr_t)queue->parent ^ ((uint64_t)queue->jobs << 32));
    }
    for (uint32_t id = 0; id < cache->allocatable.n; id++)
        state = mixed(state, (uint64_t)cache->allocatable.v[id]);
    state = mixed(state, resource_id_count());
    return state ? state : 1;
}

static bool is_top(const struct ledger *ledger, const struct sched_queue *queue)
{
    return ledger->hierarchy && strcmp(queue->name, ROOT_QUEUE) == 0;
}

static struct ledger_queue *slot(struct ledger *ledger, uint32_t index)
{
    while (ledger->queues.n <= index)
        vec_push(&ledger->queues, NULL);
    if (!ledger->queues.items[index])
        ledger->queues.items[index] = xnew(struct ledger_queue);
    return ledger->queues.items[index];
}

static struct share_node *parent_of(struct ledger *ledger, const struct sched_queue *queue)
{
    if (!ledger->hierarchy || !queue->parent)
        return &ledger->top;
    return slot(ledger, queue->parent->index)->node;
}

static void describe(struct ledger *ledger, const struct sched_queue *queue)
{
    struct share_node *node = slot(ledger, queue->index)->node;
    bool sound = queue->trouble == QUEUE_SOUND || !ledger->hierarchy ||
                 strcmp(queue->parent_name, ROOT_QUEUE) == 0;
    node->name = queue->name;
    node->created_ns = queue->created_ns;
    node->parent = node == &ledger->top ? NULL : parent_of(ledger, queue);
    node->capability = &queue->capability;
    node->deserved = &queue->deserved;
    node->guarantee = sound ? &queue->guarantee : NULL; /* nothing is kept for who takes nothing */
}

static uint32_t depth_of(const struct ledger *ledger, const struct sched_queue *queue)
{
    uint32_t depth = 0;
    for (; ledger->hierarchy && queue->parent; queue = queue->parent)
        depth++;
    return depth;
}

/* Nodes of all queues, parents first. */
static void make_order(struct ledger *ledger, const struct cache *cache)
{
    void *value;
    ledger->order.n = 0;
    vec_push(&ledger->order, &ledger->top);
    for (uint32_t depth = 0, deepest = 0; depth <= deepest; depth++)
        for (size_t i = 0; map_next(&cache->queues_by_name, &i, NULL, &value);) {
            const struct sched_queue *queue = value;
            uint32_t own = depth_of(ledger, queue);
            deepest = own > deepest ? own : deepest;
            describe(ledger, queue);
            if (own == depth && !is_top(ledger, queue))
                vec_push(&ledger->order, slot(ledger, queue->index)->node);
        }
}

static void fill_slots(struct ledger *ledger, const struct cache *cache)
{
    void *value;
    for (size_t i = 0; i < ledger->queues.n; i++)
        if (ledger->queues.items[i])
            ledger->queues.items[i]->queue = NULL;
    for (size_t i = 0; map_next(&cache->queues_by_name, &i, NULL, &value);) {
        const struct sched_queue *queue = value;
        struct ledger_queue *entry = slot(ledger, queue->index);
        entry->queue = queue;
        entry->node = is_top(ledger, queue) ? &ledger->top : &entry->own;
    }
}

static void charge(struct ledger_queue *entry)
{
    const struct sched_queue *queue = entry->queue;
    limits_charge(entry->node, &queue->allocated, &queue->awaited, &queue->inqueue,
                  &queue->elastic);
    entry->version = queue->version;
}

bool ledger_begin(struct ledger *ledger, const struct cache *cache)
{
    uint64_t state = ledger_state(cache);
    if (ledger->stuck_counted)
        limits_unstick(ledger->order.items, ledger->order.n);
    ledger->stuck_counted = false;
    if (state == ledger->state)
        return false;
    ledger->state = state;
    ledger->total = &cache->allocatable;
    ledger->top.capability = ledger->top.deserved = ledger->top.guarantee = NULL;
    fill_slots(ledger, cache);
    make_order(ledger, cache);
    limits_work_out(ledger->order.items, ledger->order.n, ledger->total, resource_id_count(),
                    !ledger->hierarchy);
    for (size_t i = 0; i < ledger->queues.n; i++)
        if (ledger->queues.items[i] && ledger->queues.items[i]->queue)
            charge(ledger->queues.items[i]);
    return true;
}

struct share_node *ledger_node(struct ledger *ledger, const struct sched_queue *queue)
{
    if (queue->index >= ledger->queues.n || !ledger->queues.items[queue->index])
        return NULL;
    struct ledger_queue *entry = ledger->queues.items[queue->index];
    if (entry->queue != queue)
        return NULL;
    if (entry->version != queue->version)
        charge(entry);
    return entry->node;
}

/* ---- answers and their reasons --------------------------------------------------------------- */

/* "queue "a"", or "queue "a", above queue "b",". */
static void add_queue(struct buf *why, const char *name, const struct sched_queue *queue)
{
    if (strcmp(name, queue->name) == 0)
        buf_printf(why, "queue \"%s\"", name);
    else if (name[0])
        buf_printf(why, "queue \"%s\", above queue \"%s\",", name, queue->name);
    else
        buf_add_cstr(why, "the cluster");
}

static bool way_up_is_sound(const struct sched_queue *queue, struct buf *why)
{
    const struct sched_queue *top = queue;
    while (top->parent)
        top = top->parent;
    if (top->trouble == QUEUE_SOUND ||
        (top->trouble == QUEUE_PARENT_ABSENT && strcmp(top->parent_name, ROOT_QUEUE) == 0))
        return true;
    add_queue(why, top->name, queue);
    if (top->trouble == QUEUE_IN_CYCLE)
        buf_printf(why, " is its own ancestor: give it a parent other than \"%s\"",
                   top->parent_name);
    else
        buf_printf(why, " names the parent \"%s\", which does not exist", top->parent_name);
    return false;
}

bool ledger_takes_jobs(const struct ledger *ledger, const struct sched_queue *queue,
                       struct buf *why)
{
    if (!queue->open) {
        buf_printf(why, "queue \"%s\" is not open", queue->name);
        return false;
    }
    if (!ledger->hierarchy)
        return true;
    if (!way_up_is_sound(queue, why))
        return false;
    if (queue->children)
        buf_printf(why, "queue \"%s\" has queues below it: only queues without any take jobs",
                   queue->name);
    return queue->children == 0;
}

static void add_awaited(const struct sched_queue *queue, const struct shortage *shortage,
                        struct buf *why)
{
    int64_t awaited = resource_set_get(&queue->awaited, shortage->id);
    if (awaited <= 0 || strcmp(shortage->node->name, queue->name) != 0)
        return;
    buf_add_cstr(why, " (of which ");
    resource_print(why, shortage->id, awaited);
    buf_add_cstr(why, " is for jobs that others make room for)");
}

void ledger_explain(const struct ledger *ledger, const struct sched_queue *queue,
                    const struct shortage *shortage, const char *rule, struct buf *why)
{
    uint32_t id = shortage->id;
    buf_printf(why, "%s ", resource_name(id));
    resource_print(why, id, shortage->needs);
    buf_add_cstr(why, " is needed, but ");
    add_queue(why, shortage->node->name, queue);
    if (shortage->limit <= 0) {
        bool none = resource_vector_get(ledger->total, id) == 0;
        buf_add_cstr(why, none ? " has none: there is none in the cluster" : " may have none");
        return;
    }
    buf_add_cstr(why, " holds ");
    resource_print(why, id, shortage->used);
    if (shortage->kept) {
        buf_add_cstr(why, " (of which ");
        resource_print(why, id, shortage->kept);
        buf_add_cstr(why, " is guaranteed to others)");
    }
    add_awaited(queue, shortage, why);
    buf_add_cstr(why, " of the ");
    resource_print(why, id, shortage->limit);
    buf_printf(why, " that %s: ", rule);
    resource_print(why, id, shortage->needs - (shortage->limit - shortage->used));
    buf_add_cstr(why, " short");
}

/* Once a cycle, and only when a job would be refused. */
static void count_stuck(struct ledger *ledger, const struct cache *cache)
{
    if (ledger->stuck_counted)
        return;
    ledger->stuck_counted = true;
    for (struct list *link = cache->place.next; link != &cache->place; link = link->next) {
        const struct sched_job *job = container_of(link, struct sched_job, place);
        struct share_node *node = job->tried && job->queue ? ledger_node(ledger, job->queue) : NULL;
        if (node)
            limits_stick(node, &job->inqueue);
    }
}

/* What the job needs is free now, and but for those that are stuck it might have it. */
static bool could_run_now(struct ledger *ledger, const struct cache *cache,
                          const struct share_node *node, const struct resource_set *needs)
{
    for (uint32_t i = 0; i < needs->n; i++)
        if (needs->items[i].amount > resource_vector_get(&cache->free, needs->items[i].id))
            return false;
    count_stuck(ledger, cache);
    return limits_allow_past_stuck(node, needs);
}

/* Others would be evicted for it, who hold as much more: in its queue or elsewhere. */
static bool is_enough(const void *node, enum prospect kind, const struct resource_set *needs,
                      const struct resource_set *more)
{
    const struct resource_set none = {0};
    bool own = kind == PROSPECT_IN_QUEUE;
    return limits_allow_if_given(node, needs, own ? more : &none, own ? &none : more);
}

static void explain_entry(const struct ledger *ledger, const struct sched_queue *queue,
                          const struct resource_set *needs, struct shortage shortage,
                          struct buf *why)
{
    struct shortage first = shortage;
    buf_add_cstr(why, "queue resource quota insufficient: ");
    do
        buf_printf(why, "%sinsufficient %s", shortage.id == first.id ? "" : ", ",
                   resource_name(shortage.id));
    while (limits_next(needs, SHARE_REAL, &shortage));
    buf_add_cstr(why, "; ");
    ledger_explain(ledger, queue, &first,
                   "it may have (what jobs that entered before still lack included)", why);
}

bool ledger_may_enter(struct ledger *ledger, const struct sched_job *job, struct buf *why)
{
    struct shortage shortage;
    const struct share_node *node = ledger_node(ledger, job->queue);
    if (!node || !job->has_min_resources)
        return true;
    struct resource_set needs = job_lacking(job);
    bool may = limits_allow(node, &needs, SHARE_REAL, &shortage) ||
               could_run_now(ledger, job->cache, node, &needs) ||
               prospects_suffice(job, &needs, is_enough, node);
    if (!may)
        explain_entry(ledger, job->queue, &needs, shortage, why);
    resource_set_clear(&needs);
    return may;
}
