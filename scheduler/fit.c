/*
 * Tables of classes over nodes. See fit.h.
 *
 * Tables are the cache's, in the order of their last use; together they hold at most ENTRIES_MAX
 * entries (32 bytes each), the longest unused are freed first. A table holds a reference to its
 * class and hangs on the class's `scratch`.
 */
#include "scheduler/fit.h"
#include "base/ensure.h"
#include "scheduler/holds.h"
#include <stdio.h>

#define ENTRIES_MAX ((size_t)1 << 20)

struct fit_entry {
    const char *barred; /* why such pods never go there, as of `version`; NULL when they may */
    const char *reason; /* why it does not fit now; NULL when it does */
    int64_t score;
    uint32_t place;   /* 1-based place in the heap, 0 when it does not fit */
    uint32_t version; /* of the node's object, + 1; 0: `barred` is not known */
};

struct fit_table {
    struct list link;      /* in cache->tables */
    struct pod_class *cls; /* counted */
    struct fit_entry *entries;
    uint32_t *heap; /* node indices, best first */
    uint32_t n, cap, heap_n;
    uint64_t seen;       /* changes of the log that are in the table */
    uint64_t generation; /* of the configuration; 0: never filled */
};

/* ---- the heap -------------------------------------------------------------------------------- */

static bool better(const struct fit_table *table, uint32_t a, uint32_t b)
{
    int64_t x = table->entries[a].score, y = table->entries[b].score;
    return x != y ? x > y : a < b;
}

static void put_at(struct fit_table *table, uint32_t place, uint32_t index)
{
    table->heap[place - 1] = index;
    table->entries[index].place = place;
}

static void sift_up(struct fit_table *table, uint32_t place, uint32_t index)
{
    for (; place > 1 && better(table, index, table->heap[place / 2 - 1]); place /= 2)
        put_at(table, place, table->heap[place / 2 - 1]);
    put_at(table, place, index);
}

static void sift_down(struct fit_table *table, uint32_t place, uint32_t index)
{
    for (uint32_t child = place * 2; child <= table->heap_n; child = place * 2) {
        if (child < table->heap_n && better(table, table->heap[child], table->heap[child - 1]))
            child++;
        if (!better(table, table->heap[child - 1], index))
            break;
        put_at(table, place, table->heap[child - 1]);
        place = child;
    }
    put_at(table, place, index);
}

static void heap_take(struct fit_table *table, uint32_t index)
{
    uint32_t place = table->entries[index].place;
    uint32_t last = table->heap[--table->heap_n];
    table->entries[index].place = 0;
    if (last == index)
        return;
    sift_up(table, place, last);
    sift_down(table, table->entries[last].place, last);
}

static void heap_place(struct fit_table *table, uint32_t index)
{
    uint32_t place = table->entries[index].place;
    if (!place)
        place = ++table->heap_n;
    sift_up(table, place, index);
    sift_down(table, table->entries[index].place, index);
}

/* ---- one node -------------------------------------------------------------------------------- */

/* There is room, but it is held for others; the text is for the rare case that they have let go. */
static const char held_back[] = HOLDS_REASON "another job";

static const char *short_of(const struct pod_class *cls, const struct sched_node *node)
{
    bool held = false;
    for (uint32_t i = 0; i < cls->request.n; i++) {
        uint32_t id = cls->request.items[i].id;
        int64_t room = resource_vector_get(&node->object->allocatable, id) -
                       resource_vector_get(&node->used, id) - cls->request.items[i].amount;
        if (room < 0)
            return resource_insufficient(id);
        held = held || (node->holds && room < holds_on(node, id));
    }
    return held && !cls->best_effort ? held_back : NULL;
}

static void entry_fill(const struct sched_config *config, struct fit_table *table,
                       struct fit_entry *entry, const struct sched_node *node)
{
    if (entry->version != node->version + 1) {
        entry->barred = config_filter(config, table->cls, node->object);
        entry->version = node->version + 1;
    }
    entry->reason = entry->barred ? entry->barred : short_of(table->cls, node);
    if (!entry->reason)
        entry->reason = config_crowded(config, table->cls, node);
    if (!entry->reason)
        entry->score = config_score(config, table->cls, node);
}

static bool is_known(const struct sched_node *node)
{
    return node && node->object;
}

static void refresh(const struct cache *cache, const struct sched_config *config,
                    struct fit_table *table, uint32_t index)
{
    struct fit_entry *entry = &table->entries[index];
    const struct sched_node *node = cache->nodes.items[index];
    if (is_known(node))
        entry_fill(config, table, entry, node);
    else
        entry->version = 0;
    bool fits = is_known(node) && !entry->reason;
    if (fits)
        heap_place(table, index);
    else if (entry->place)
        heap_take(table, index);
}

/* ---- whole tables ---------------------------------------------------------------------------- */

static void table_free(struct cache *cache, struct fit_table *table)
{
    list_remove(&table->link);
    cache->table_entries -= table->cap;
    table->cls->scratch = NULL;
    pod_class_unref(table->cls);
    free(table->entries);
    free(table->heap);
    free(table);
}

void fit_clear(struct cache *cache)
{
    list_each(link, &cache->tables)
    {
        table_free(cache, container_of(link, struct fit_table, link));
    }
}

/* Frees the tables unused for longest until `wanted` more entries have room. */
static void make_room(struct cache *cache, size_t wanted)
{
    list_each(link, &cache->tables)
    {
        if (cache->table_entries + wanted <= ENTRIES_MAX)
            return;
        table_free(cache, container_of(link, struct fit_table, link));
    }
}

static void table_size(struct cache *cache, struct fit_table *table)
{
    uint32_t n = (uint32_t)cache->nodes.n;
    if (n > table->cap) {
        uint32_t cap = n + n / 4 + 16;
        list_remove(&table->link);
        make_room(cache, cap);
        cache->table_entries += cap - table->cap;
        table->entries = xreallocarray(table->entries, cap, sizeof(*table->entries));
        table->heap = xreallocarray(table->heap, cap, sizeof(*table->heap));
        table->cap = cap;
    }
    if (n > table->n)
        memset(table->entries + table->n, 0, (n - table->n) * sizeof(*table->entries));
    table->n = n;
}

static void table_fill(struct cache *cache, const struct sched_config *config,
                       struct fit_table *table)
{
    bool stale = table->generation != config->generation;
    table->heap_n = 0;
    for (uint32_t i = 0; i < table->n; i++) {
        struct fit_entry *entry = &table->entries[i];
        const struct sched_node *node = cache->nodes.items[i];
        entry->place = 0;
        if (stale || !is_known(node))
            entry->version = 0;
        if (!is_known(node))
            continue;
        entry_fill(config, table, entry, node);
        if (!entry->reason)
            table->heap[table->heap_n++] = i;
    }
    for (uint32_t place = 1; place <= table->heap_n; place++)
        table->entries[table->heap[place - 1]].place = place;
    for (uint32_t place = table->heap_n / 2; place >= 1; place--)
        sift_down(table, place, table->heap[place - 1]);
    table->generation = config->generation;
    table->seen = cache->log_head;
    cache->work += table->n;
}

static void table_replay(struct cache *cache, const struct sched_config *config,
                         struct fit_table *table)
{
    cache->work += cache->log_head - table->seen;
    for (; table->seen < cache->log_head; table->seen++)
        refresh(cache, config, table, cache->log[table->seen & (cache->log_cap - 1)]);
}

static struct fit_table *table_of(struct pod_class *cls)
{
    if (cls->scratch)
        return cls->scratch;
    struct fit_table *table = xnew(struct fit_table);
    list_init(&table->link);
    table->cls = pod_class_ref(cls);
    cls->scratch = table;
    return table;
}

struct fit_table *fit_table(struct cache *cache, const struct sched_config *config,
                            struct pod_class *cls)
{
    struct fit_table *table = table_of(cls);
    table_size(cache, table);
    list_remove(&table->link);
    list_append(&cache->tables, &table->link);
    bool behind = table->seen < cache->log_base || cache->log_head - table->seen > table->n / 2;
    if (table->generation != config->generation || behind)
        table_fill(cache, config, table);
    else
        table_replay(cache, config, table);
    return table;
}

const struct fit_table *fit_kept(const struct pod_class *cls)
{
    return cls->scratch;
}

const char *fit_barred(const struct fit_table *table, const struct sched_node *node)
{
    return table->entries[node->index].barred;
}

struct sched_node *fit_best(const struct cache *cache, const struct fit_table *table)
{
    return table->heap_n ? cache->nodes.items[table->heap[0]] : NULL;
}

/* ---- explanation ----------------------------------------------------------------------------- */

#define REASONS_MAX 32

struct histogram {
    const char *reason[REASONS_MAX];
    uint32_t count[REASONS_MAX];
    uint32_t n, others;
};

static void histogram_add(struct histogram *histogram, const char *reason)
{
    for (uint32_t i = 0; i < histogram->n; i++)
        if (histogram->reason[i] == reason) {
            histogram->count[i]++;
            return;
        }
    if (histogram->n == REASONS_MAX) {
        histogram->others++;
        return;
    }
    histogram->reason[histogram->n] = reason;
    histogram->count[histogram->n++] = 1;
}

/* Why it does not fit; for whom it is held stands on the node. */
static const char *reason_of(const struct fit_entry *entry, const struct sched_node *node)
{
    const char *holder = entry->reason == held_back ? holds_reason(node) : NULL;
    return holder ? holder : entry->reason;
}

/* By text, so that the sentence does not depend on the order of nodes. */
static void histogram_sort(struct histogram *histogram)
{
    for (uint32_t i = 1; i < histogram->n; i++)
        for (uint32_t j = i; j > 0 && strcmp(histogram->reason[j], histogram->reason[j - 1]) < 0;
             j--) {
            const char *reason = histogram->reason[j];
            uint32_t count = histogram->count[j];
            histogram->reason[j] = histogram->reason[j - 1];
            histogram->count[j] = histogram->count[j - 1];
            histogram->reason[j - 1] = reason;
            histogram->count[j - 1] = count;
        }
}

uint64_t fit_explain(const struct cache *cache, const struct fit_table *table, struct buf *out)
{
    struct histogram histogram = {.n = 0};
    uint64_t signature = 1;
    bool held = false;
    for (uint32_t i = 0; i < table->n; i++) {
        const struct fit_entry *entry = &table->entries[i];
        if (!is_known(cache->nodes.items[i]) || !entry->reason)
            continue;
        histogram_add(&histogram, reason_of(entry, cache->nodes.items[i]));
        held = held || entry->reason == held_back;
    }
    histogram_sort(&histogram);
    buf_printf(out, "%u/%zu nodes are available", table->heap_n, cache->known_nodes);
    for (uint32_t i = 0; i < histogram.n; i++) {
        buf_printf(out, "%s%u %s", i ? ", " : ": ", histogram.count[i], histogram.reason[i]);
        if (!str_starts(str_of(histogram.reason[i]), STR(HOLDS_REASON)))
            signature = signature * 31 + str_hash(str_of(histogram.reason[i]));
    }
    if (held) /* by whom is no other kind of reason */
        signature = signature * 31 + str_hash(str_of(held_back));
    if (histogram.others)
        buf_printf(out, ", %u for other reasons", histogram.others);
    buf_add_char(out, '.');
    return signature;
}

size_t fit_open_nodes(const struct cache *cache, const struct fit_table *table)
{
    size_t open = 0;
    for (uint32_t i = 0; i < table->n; i++)
        open += is_known(cache->nodes.items[i]) && !table->entries[i].barred;
    return open;
}
