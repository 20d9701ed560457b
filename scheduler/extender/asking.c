/*
 * Which nodes the extender is asked about, for pods of a class. See extender.h.
 *
 * A look at all nodes of a table finds those that the extender keeps such pods off; the best of
 * them stand in the class's line and are asked about some at a time. Such a look is what costs most
 * here, and there may be as many as there are kinds of pods, so there are few in a cycle: who comes
 * later has its turn in a later one.
 */
#include "scheduler/cache_private.h"
#include "scheduler/extender/extender_private.h"
#include "scheduler/fit.h"

#define LOOKS_AT_ONCE 4                   /* in one cycle */
#define LINE_MOST 256                     /* nodes in a line, */
#define LINE_NS EXTENDER_FRESH_NS         /* for so long */
#define POSTPONED_NS (20 * NSEC_PER_MSEC) /* to a later cycle */
#define GLANCE_WORK 8 /* nodes that are glanced at count as much as one that is looked at */

/* ---- the line -------------------------------------------------------------------------------- */

/* Nodes to be asked about. */
struct candidates {
    struct sched_node *nodes[EXTENDER_NODES_AT_ONCE];
    uint32_t n, most;
};

/* One that was found by a look. */
struct found {
    int64_t score;
    uint32_t node;
    bool known; /* there was an opinion: others come first */
};

/* The best last. */
static int compare_found(const void *x, const void *y)
{
    const struct found *a = x, *b = y;
    if (a->known != b->known)
        return a->known ? -1 : 1;
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    return a->node > b->node ? -1 : a->node < b->node;
}

/* Whether it may be asked about the node: it keeps such pods off it, and has not been. */
static bool is_open(const struct extender *extender, const struct extender_class *cls,
                    const struct fit_table *table, const struct sched_node *node)
{
    const char *reason = node->object ? fit_reason(table, node) : NULL;
    const struct opinion *opinion = reason ? extender_opinion_of(cls, node->name) : NULL;
    if (!reason || reason != extender_reason_of(opinion) || (opinion && opinion->awaited))
        return false;
    return !opinion || !opinion->known || opinion->until_ns <= extender_now(extender);
}

/* Takes as many as may be asked about out of the line. */
static void take_from_line(const struct extender *extender, struct extender_class *cls,
                           const struct fit_table *table, struct candidates *candidates)
{
    const struct cache *cache = &extender->scheduler->cache;
    if (cls->line_until_ns <= extender_now(extender))
        cls->line.n = 0;
    while (cls->line.n && candidates->n < candidates->most) {
        uint32_t index = cls->line.items[--cls->line.n];
        struct sched_node *node = index < cache->nodes.n ? cache->nodes.items[index] : NULL;
        if (node && is_open(extender, cls, table, node))
            candidates->nodes[candidates->n++] = node;
    }
}

static void fill_line(const struct extender *extender, struct extender_class *cls,
                      struct found *found, size_t n)
{
    size_t from = n > LINE_MOST ? n - LINE_MOST : 0;
    qsort(found, n, sizeof(*found), compare_found);
    cls->line.n = 0;
    for (size_t i = from; i < n; i++)
        vec_push(&cls->line, found[i].node);
    cls->line_until_ns = extender_now(extender) + LINE_NS;
    cls->look.all = !from;
}

/* ---- looks ----------------------------------------------------------------------------------- */

/* The part of its score that does not depend on other nodes. */
static int64_t rank(const struct extender *extender, const struct task_group *group,
                    const struct sched_node *node)
{
    const struct sched_config *config = extender->scheduler->config;
    return config_queue_score(config, group->job->queue, node,
                              config_score(config, group->cls, node));
}

/* Notes what it means for the class that the extender keeps it off a node. */
static void note(struct extender_look *look, const struct extender *extender,
                 const struct opinion *opinion)
{
    bool known = opinion && opinion->known;
    look->any = true;
    look->unsure = look->unsure || !known || opinion->failures > 0;
    if (known && !opinion->awaited && opinion->until_ns > extender_now(extender) &&
        opinion->until_ns < look->retry_ns)
        look->retry_ns = opinion->until_ns;
}

static struct extender_look look_of(const struct extender *extender, const struct fit_table *table)
{
    return (struct extender_look){
        .table = table, .log = extender->scheduler->cache.log_head, .retry_ns = INT64_MAX};
}

static void look_at_nodes(struct extender *extender, struct extender_class *cls,
                          const struct task_group *group, const struct fit_table *table)
{
    struct cache *cache = &extender->scheduler->cache;
    struct found *found = xcalloc(cache->nodes.n + 1, sizeof(*found));
    size_t n = 0;
    cls->look = look_of(extender, table);
    for (uint32_t i = 0; i < cache->nodes.n; i++) {
        const struct sched_node *node = cache->nodes.items[i];
        const char *reason = node && node->object ? fit_reason(table, node) : NULL;
        const struct opinion *opinion = reason ? extender_opinion_of(cls, node->name) : NULL;
        if (!reason || reason != extender_reason_of(opinion))
            continue;
        note(&cls->look, extender, opinion);
        if (is_open(extender, cls, table, node))
            found[n++] = (struct found){rank(extender, group, node), i, opinion && opinion->known};
    }
    fill_line(extender, cls, found, n);
    free(found);
    extender->looks++;
    cache->work += cache->nodes.n;
}

/* Only what it means for the class, as far as that takes. */
static void glance_at_nodes(struct extender *extender, struct extender_class *cls,
                            const struct fit_table *table)
{
    struct cache *cache = &extender->scheduler->cache;
    uint32_t i = 0;
    cls->look = look_of(extender, table);
    for (; i < cache->nodes.n && !(cls->look.any && cls->look.unsure); i++) {
        const struct sched_node *node = cache->nodes.items[i];
        const char *reason = node && node->object ? fit_reason(table, node) : NULL;
        const struct opinion *opinion = reason ? extender_opinion_of(cls, node->name) : NULL;
        if (reason && reason == extender_reason_of(opinion))
            note(&cls->look, extender, opinion);
    }
    cache->work += i / GLANCE_WORK;
}

/* Whether a look at the table would find what the last one did: many jobs with such pods come one
 * after the other. */
static bool look_stands(const struct extender_class *cls, const struct extender *extender,
                        const struct fit_table *table, uint32_t most)
{
    const struct extender_look *look = &cls->look;
    return look->table == table && look->log == extender->scheduler->cache.log_head &&
           look->retry_ns > extender_now(extender) && (look->all || !most);
}

/* Finds out whom to ask about; true when that is for a later cycle. */
static bool find(struct extender *extender, struct extender_class *cls,
                 const struct task_group *group, const struct fit_table *table,
                 struct candidates *candidates)
{
    take_from_line(extender, cls, table, candidates);
    if (candidates->n || look_stands(cls, extender, table, candidates->most))
        return false;
    if (!candidates->most || extender->looks >= LOOKS_AT_ONCE) {
        glance_at_nodes(extender, cls, table);
        return candidates->most && cls->look.any;
    }
    look_at_nodes(extender, cls, group, table);
    take_from_line(extender, cls, table, candidates);
    return false;
}

/* ---- questions ------------------------------------------------------------------------------- */

/* Begins a new opinion; what is known stays until then. */
static void open_opinion(struct extender_class *cls, const struct sched_node *node)
{
    struct opinion *opinion = extender_opinion_get(cls, node->name);
    opinion->refusal = opinion->failure = NULL;
    opinion->next_score = 0;
    cls->open++;
}

static struct extender_call *ask(struct extender *extender, struct extender_class *cls,
                                 enum extender_verb verb, const struct sched_task *task,
                                 const struct sched_node *node)
{
    struct extender_call *call = extender_call_new(extender, verb, str_of(node->name));
    call->cls = cls;
    cls->calls++;
    extender_write_task(&call->writer, "task", task);
    return call;
}

static void ask_predicate(struct extender *extender, struct extender_class *cls,
                          const struct sched_task *task, const struct candidates *candidates)
{
    for (uint32_t i = 0; i < candidates->n; i++) {
        const struct sched_node *node = candidates->nodes[i];
        struct extender_call *call = ask(extender, cls, EXTENDER_PREDICATE, task, node);
        extender_write_node(&call->writer, "node", node);
        extender_opinion_get(cls, node->name)->awaited |= 1U << EXTENDER_PREDICATE;
        extender_submit(call);
    }
}

static void ask_scores(struct extender *extender, struct extender_class *cls,
                       const struct sched_task *task, const struct candidates *candidates)
{
    struct extender_call *call =
        ask(extender, cls, EXTENDER_PRIORITIZE, task, candidates->nodes[0]);
    call->mark = ++extender->marks;
    json_w_member_array(&call->writer, "nodes");
    for (uint32_t i = 0; i < candidates->n; i++) {
        struct opinion *opinion = extender_opinion_get(cls, candidates->nodes[i]->name);
        extender_write_node_item(&call->writer, candidates->nodes[i]);
        opinion->awaited |= 1U << EXTENDER_PRIORITIZE;
        opinion->mark = call->mark;
    }
    json_w_end_array(&call->writer);
    extender_submit(call);
}

static void ask_about(struct extender *extender, struct extender_class *cls,
                      const struct task_group *group, const struct candidates *candidates)
{
    const struct sched_task *task =
        const_container_of(heap_peek(&group->pending), struct sched_task, waiting);
    for (uint32_t i = 0; i < candidates->n; i++)
        open_opinion(cls, candidates->nodes[i]);
    if (extender->settings.paths[EXTENDER_PREDICATE])
        ask_predicate(extender, cls, task, candidates);
    if (extender->settings.paths[EXTENDER_PRIORITIZE])
        ask_scores(extender, cls, task, candidates);
}

/* How many nodes may be asked about now. */
static uint32_t questions_left(struct extender *extender, const struct extender_class *cls)
{
    bool full = cls->open >= EXTENDER_NODES_AT_ONCE || !extender_may_ask(extender);
    return full ? 0 : EXTENDER_NODES_AT_ONCE - cls->open;
}

/* When the job is to be tried again, without news. */
static int64_t retry_at(const struct extender *extender, const struct extender_class *cls,
                        bool later)
{
    int64_t now = extender_now(extender), retry_ns = cls->look.retry_ns;
    int64_t ask_at = later ? now + POSTPONED_NS : extender_ask_at(extender);
    return ask_at > now && ask_at < retry_ns ? ask_at : retry_ns;
}

enum plugin_miss extender_missed(struct extender *extender, const struct task_group *group,
                                 const struct fit_table *table)
{
    if (!extender->scheduler || !extender_asks(extender, group->cls))
        return MISS_NONE;
    struct extender_class *cls = extender_class_get(extender, group->cls);
    struct candidates candidates = {.most = questions_left(extender, cls)};
    bool later = find(extender, cls, group, table, &candidates);
    if (!cls->look.any)
        return MISS_NONE;
    cls->used_ns = extender_now(extender);
    if (candidates.n)
        ask_about(extender, cls, group, &candidates);
    extender_wait(extender, &cls->waiters, group->job, retry_at(extender, cls, later));
    if (!cls->look.unsure)
        return MISS_NONE;
    return cls->open ? MISS_ASKED : MISS_KEPT_OFF;
}
