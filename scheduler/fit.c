/*
 * Tables of classes over nodes. See fit.h.
 *
 * Tables are the cache's, in the order of their last use. There are at most TABLES_MAX, and
 * together they hold at most ENTRIES_MAX nodes (14 bytes each, and what neighbours keep for each
 * and of the counts that they add up); the longest unused are freed first. A table holds a
 * reference to its class. That of a class alone hangs on the class's `scratch`; others are found by
 * the queue's index where that matters, the class's number and what neighbours_sign says.
 *
 * The best node stands at the root of a tree of winners: place p of `winners` (1 to cap - 1) has
 * the better one of places 2p and 2p + 1, and node i stands at place cap + i. A change goes up the
 * tree only as far as it changes who wins, which is two places on average.
 */
#include "base/ensure.h"
#include "scheduler/fit_private.h"
#include "scheduler/group_limits.h"
#include "scheduler/holds.h"
#include "scheduler/images.h"
#include "scheduler/plugins/score.h"
#include "scheduler/volumes/volumes.h"
#include <stdio.h>

#define ENTRIES_MAX ((size_t)1 << 22)
#define TABLES_MAX 4096
#define SOURCE_ENTRIES 3 /* what a count that is added up is worth, with its part of the key */
#define LOOKS_WORK 8     /* looks at counts that are a unit of work */

/* ---- the tree of winners --------------------------------------------------------------------- */

static uint32_t better(const struct fit_table *table, uint32_t a, uint32_t b)
{
    int64_t x = table->scores[a], y = table->scores[b];
    return x > y || (x == y && a < b) ? a : b;
}

static uint32_t winner_at(const struct fit_table *table, uint32_t place)
{
    return place < table->cap ? table->winners[place] : place - table->cap;
}

static uint32_t winner_below(const struct fit_table *table, uint32_t place)
{
    return better(table, winner_at(table, 2 * place), winner_at(table, 2 * place + 1));
}

/* The score of a node has changed. */
static void rise(struct fit_table *table, uint32_t index)
{
    for (uint32_t place = (table->cap + index) / 2; place; place /= 2) {
        uint32_t before = table->winners[place];
        table->winners[place] = winner_below(table, place);
        if (before != index && table->winners[place] == before)
            return;
    }
}

static void raise_all(struct fit_table *table)
{
    for (uint32_t place = table->cap - 1; place; place--)
        table->winners[place] = winner_below(table, place);
}

/* ---- reasons --------------------------------------------------------------------------------- */

uint8_t fit_reason_number(struct fit_table *table, const char *text)
{
    if (!text)
        return 0;
    for (size_t i = 0; i < table->reasons.n; i++)
        if (table->reasons.items[i] == text)
            return (uint8_t)(i + 1);
    if (table->reasons.n == TABLE_REASONS)
        return TABLE_REASONS;
    if (table->reasons.n == TABLE_REASONS - 1)
        text = "had other reasons";
    vec_push(&table->reasons, text);
    return (uint8_t)table->reasons.n;
}

/* ---- one node -------------------------------------------------------------------------------- */

const char fit_held_back[] = HOLDS_REASON "another job";

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
    return held && !cls->best_effort ? fit_held_back : NULL;
}

static int64_t score_of_node(const struct cache *cache, const struct sched_config *config,
                             const struct fit_table *table, const struct sched_node *node)
{
    int64_t score = config_score(config, table->cls, node);
    int64_t images = images_points(cache, table->cls, node);
    score = score_plus(score, score_of_points(images, config->rules.images_weight));
    if (table->queue)
        score = config_queue_score(config, table->queue, node, score);
    return fit_score(score);
}

static void note_raw(struct fit_table *table, int32_t **raw, uint32_t index, int64_t value)
{
    if (!*raw && !value)
        return;
    if (!*raw)
        *raw = xcalloc(table->cap, sizeof(**raw));
    (*raw)[index] = (int32_t)value;
}

/* What the node's object says of scores that are set in relation to other nodes'. */
static void note_raws(const struct sched_config *config, struct fit_table *table,
                      const struct sched_node *node)
{
    const struct pod_class *cls = table->cls;
    const struct node *object = node->object;
    if (config->rules.taints_weight)
        note_raw(table, &table->taints, node->index,
                 taints_unpreferred(&object->taints, &cls->tolerations));
    if (config->rules.node_affinity_weight)
        note_raw(table, &table->preferred, node->index,
                 preferred_terms_weight(&cls->preferred, object->meta.name, &object->meta.labels));
}

/* Why such pods never go to a known node. */
static const char *bar_of(const struct cache *cache, const struct sched_config *config,
                          const struct fit_table *table, const struct sched_node *node)
{
    const char *reason = table->refusal;
    if (!reason)
        reason = config_filter(config, table->cls, node->object);
    if (!reason && table->queue)
        reason = config_queue_filter(config, table->queue, node);
    if (!reason && table->cls->volumes && config->rules.volume_checks)
        reason = volumes_filter(cache->volumes, table->cls->volumes, node->object);
    return reason;
}

static const char *crowded_by(const struct cache *cache, const struct sched_config *config,
                              const struct fit_table *table, const struct sched_node *node)
{
    const char *reason = config_crowded(config, table->cls, node);
    if (!reason && table->cls->volumes && config->rules.volume_checks)
        reason = volumes_crowded(cache->volumes, table->cls->volumes, node->name);
    return reason;
}

/* Looks at a node again; what bars such pods from it only when its object changed since. */
static void look_at(const struct cache *cache, const struct sched_config *config,
                    struct fit_table *table, uint32_t index, bool afresh)
{
    const struct sched_node *node = cache->nodes.items[index];
    const char *reason = NULL;
    bool fitted = table->scores[index] != UNFIT, known = fit_is_known(node);
    if (known && (afresh || node->version > table->versions)) {
        table->barred[index] = fit_reason_number(table, bar_of(cache, config, table, node));
        note_raws(config, table, node);
    }
    if (known && !table->barred[index])
        reason = short_of(table->cls, node);
    if (known && !table->barred[index] && !reason)
        reason = crowded_by(cache, config, table, node);
    table->reason[index] =
        known && table->barred[index] ? table->barred[index] : fit_reason_number(table, reason);
    bool fits = known && !table->reason[index];
    table->scores[index] = fits ? score_of_node(cache, config, table, node) : UNFIT;
    table->room += (uint32_t)fits - (uint32_t)fitted;
    table->stale = true;
}

/* ---- whole tables ---------------------------------------------------------------------------- */

/* How many nodes' worth it counts for. */
static size_t entries(const struct fit_table *table, size_t cap)
{
    if (!table->neighbours || !cap)
        return cap;
    return cap * (1 + neighbours_width(table->neighbours)) +
           SOURCE_ENTRIES * neighbours_sources(table->neighbours);
}

static void drop_raws(struct fit_table *table)
{
    free(table->taints);
    free(table->preferred);
    table->taints = table->preferred = NULL;
}

static void table_free(struct cache *cache, struct fit_table *table)
{
    list_remove(&table->link);
    cache->table_entries -= entries(table, table->cap);
    cache->table_count--;
    if (table->key)
        map_del(&cache->tables_by_key, str_of(table->key));
    else
        table->cls->scratch = NULL;
    free(table->key);
    neighbours_free(cache, table->neighbours);
    drop_raws(table);
    pod_class_unref(table->cls);
    free(table->scores);
    free(table->winners);
    free(table->barred);
    free(table->reason);
    vec_clear(&table->reasons);
    free(table);
}

void fit_clear(struct cache *cache)
{
    list_each(link, &cache->tables)
    {
        table_free(cache, container_of(link, struct fit_table, link));
    }
}

void fit_forget(struct cache *cache, const struct counts *counts)
{
    list_each(link, &cache->tables)
    {
        struct fit_table *table = container_of(link, struct fit_table, link);
        if (!counts->readers)
            return;
        if (table->neighbours && neighbours_use(table->neighbours, counts))
            table_free(cache, table);
    }
}

void fit_forget_queue(struct cache *cache, const struct sched_queue *queue)
{
    list_each(link, &cache->tables)
    {
        struct fit_table *table = container_of(link, struct fit_table, link);
        if (table->queue == queue)
            table_free(cache, table);
    }
}

/* Frees the tables unused for longest until `wanted` more entries have room. */
static void make_room(struct cache *cache, size_t wanted)
{
    list_each(link, &cache->tables)
    {
        if (cache->table_entries + wanted <= ENTRIES_MAX && cache->table_count <= TABLES_MAX)
            return;
        table_free(cache, container_of(link, struct fit_table, link));
    }
}

/* Makes room for as many nodes as there are; true when the table is to be filled afresh. */
static bool table_size(struct cache *cache, struct fit_table *table)
{
    uint32_t n = (uint32_t)cache->nodes.n, old = table->cap;
    table->n = n;
    if (n <= old && old)
        return false;
    uint32_t cap = n + n / 16 + 16;
    list_remove(&table->link);
    make_room(cache, entries(table, cap));
    cache->table_entries += entries(table, cap) - entries(table, old);
    table->scores = xreallocarray(table->scores, cap, sizeof(*table->scores));
    table->winners = xreallocarray(table->winners, cap, sizeof(*table->winners));
    table->barred = xreallocarray(table->barred, cap, sizeof(*table->barred));
    table->reason = xreallocarray(table->reason, cap, sizeof(*table->reason));
    table->cap = cap;
    return true;
}

static void table_fill(struct cache *cache, const struct sched_config *config,
                       struct fit_table *table, bool afresh)
{
    if (afresh) {
        table->reasons.n = 0;
        drop_raws(table);
    }
    table->room = 0;
    for (uint32_t i = 0; i < table->cap; i++)
        table->scores[i] = UNFIT;
    for (uint32_t i = 0; i < table->n; i++)
        look_at(cache, config, table, i, afresh);
    raise_all(table);
    table->generation = config->generation;
    table->seen = cache->log_head;
    cache->work += table->n;
}

/* Domains, and which nodes count, are others when any node is. Where very many counts are added up
 * it is soon less work to do so afresh than to ask each of them for the nodes that have changed. */
static bool neighbours_start_afresh(const struct cache *cache, const struct fit_table *table)
{
    if (!table->neighbours)
        return false;
    return table->versions != cache->versions || neighbours_outdated(table->neighbours, cache) ||
           (cache->log_head - table->seen) * neighbours_sources(table->neighbours) >
               neighbours_looks(table->neighbours);
}

static void refill_neighbours(struct cache *cache, struct fit_table *table)
{
    neighbours_fill(table->neighbours, cache);
    table->stale = true;
    cache->work += table->n + neighbours_looks(table->neighbours) / LOOKS_WORK;
}

static void table_replay(struct cache *cache, const struct sched_config *config,
                         struct fit_table *table, bool follow)
{
    uint64_t changes = cache->log_head - table->seen;
    cache->work += changes;
    if (follow)
        cache->work += changes * neighbours_sources(table->neighbours) / LOOKS_WORK;
    for (; table->seen < cache->log_head; table->seen++) {
        uint32_t index = cache->log[table->seen & (cache->log_cap - 1)];
        look_at(cache, config, table, index, false);
        if (follow)
            neighbours_follow(table->neighbours, index);
        rise(table, index);
    }
}

/* Where images are matters to the scores of all nodes at once. */
static bool images_moved(const struct cache *cache, const struct sched_config *config,
                         struct fit_table *table)
{
    uint64_t images = config->rules.images_weight ? images_stamp(cache, table->cls) : 0;
    bool moved = images != table->images;
    table->images = images;
    return moved;
}

/* Whether it is more than is looked at, or its rules about other pods than can be counted, matters
 * to all nodes at once. */
static bool rules_moved(struct cache *cache, const struct sched_config *config,
                        struct fit_table *table)
{
    bool matter = config->rules.pod_affinity || config->rules.spread;
    const char *refusal = table->cls->excess;
    if (!refusal && matter)
        refusal = census_refuses(cache, table->cls);
    bool moved = refusal != table->refusal;
    table->refusal = refusal;
    return moved;
}

/* What is known of its volumes matters to all nodes at once. */
static bool volumes_moved(const struct cache *cache, struct fit_table *table)
{
    uint64_t version = volumes_version(cache->volumes, table->cls->volumes);
    bool moved = version != table->volumes;
    table->volumes = version;
    return moved;
}

/* Whether anything said of the queue is new; its limits are looked at again when what it has is. */
static bool queue_moved(struct cache *cache, const struct sched_config *config,
                        struct fit_table *table)
{
    const struct sched_queue *queue = table->queue;
    if (!queue)
        return false;
    uint64_t stamp = config_queue_stamp(config, queue);
    bool moved = stamp != table->queue_stamp;
    table->queue_stamp = stamp;
    table->limited = config_queue_limited(config, queue);
    if (!table->limited)
        return moved;
    group_limits_settle(cache);
    table->stale = table->stale || table->queue_version != queue->version;
    table->queue_version = queue->version;
    return moved;
}

static void bring_up_to_date(struct cache *cache, const struct sched_config *config,
                             struct fit_table *table)
{
    bool afresh = table_size(cache, table) || table->generation != config->generation;
    afresh = queue_moved(cache, config, table) || afresh;
    afresh = volumes_moved(cache, table) || afresh;
    afresh = rules_moved(cache, config, table) || afresh;
    list_remove(&table->link);
    list_append(&cache->tables, &table->link);
    bool fill = images_moved(cache, config, table) || afresh || table->seen < cache->log_base ||
                cache->log_head - table->seen > table->n / 2;
    bool neighbours = table->neighbours && (fill || neighbours_start_afresh(cache, table));
    if (neighbours)
        refill_neighbours(cache, table);
    if (fill)
        table_fill(cache, config, table, afresh);
    else
        table_replay(cache, config, table, table->neighbours && !neighbours);
    table->versions = cache->versions;
    if (!fit_scans(table))
        table->fits = table->room;
    else if (table->stale)
        fit_scan(cache, config, table);
    table->stale = false;
}

static struct fit_table *table_new(struct cache *cache, struct pod_class *cls)
{
    struct fit_table *table = xnew(struct fit_table);
    list_init(&table->link);
    table->cls = pod_class_ref(cls);
    cache->table_count++;
    return table;
}

static struct kin kin_of(const struct task_group *group)
{
    const struct heap_node *first = heap_peek(&group->pending);
    const struct sched_task *task =
        first ? const_container_of(first, struct sched_task, waiting) : NULL;
    struct pod_labels labels = {group->labels, -1};
    return (struct kin){group->cls, task ? pod_labels_of(task->pod) : labels};
}

/* How many pods like those of a group have to find their place together, this one included. */
static uint32_t wanted_of(const struct task_group *group)
{
    const struct sched_job *job = group->job;
    int64_t lacks = (int64_t)job->min_member - job_have(job), pending = 0;
    for (size_t i = 0; i < job->groups.n; i++)
        if (job->groups.items[i]->cls == group->cls)
            pending += (int64_t)job->groups.items[i]->pending.n;
    return (uint32_t)(lacks < 1 || pending < 1 ? 1 : lacks < pending ? lacks : pending);
}

/* The queue, where it tells pods apart. */
static const struct sched_queue *queue_that_matters(const struct sched_config *config,
                                                    const struct sched_queue *queue)
{
    return config->by_queue.n ? queue : NULL;
}

static void key_begin(const struct sched_queue *queue, const struct pod_class *cls, struct buf *key)
{
    if (queue)
        buf_printf(key, "q%u ", queue->index);
    buf_printf(key, "%llu ", (unsigned long long)cls->id);
}

/* Adds which neighbours matter to such pods; false when none do. */
static bool key_sign(const struct cache *cache, const struct kin *kin, struct buf *key)
{
    size_t alone = key->n;
    if (neighbours_matter(cache, kin))
        neighbours_sign(cache, kin, key);
    return key->n > alone;
}

static struct fit_table *keyed_table(struct cache *cache, const struct sched_queue *queue,
                                     struct pod_class *cls, struct buf *key)
{
    struct fit_table *table = table_new(cache, cls);
    table->queue = queue;
    table->key = buf_take(key);
    map_set(&cache->tables_by_key, str_of(table->key), table);
    return table;
}

struct fit_table *fit_table(struct cache *cache, const struct sched_config *config,
                            const struct sched_queue *queue, struct pod_class *cls)
{
    cleanup_buf struct buf key = BUF_INIT(SIZE_MAX);
    struct fit_table *table = cls->scratch;
    queue = queue_that_matters(config, queue);
    if (queue) {
        key_begin(queue, cls, &key);
        table = map_get(&cache->tables_by_key, buf_str(&key));
    }
    if (!table)
        table =
            queue ? keyed_table(cache, queue, cls, &key) : (cls->scratch = table_new(cache, cls));
    bring_up_to_date(cache, config, table);
    return table;
}

struct fit_table *fit_table_of(struct cache *cache, const struct sched_config *config,
                               const struct task_group *group)
{
    cleanup_buf struct buf key = BUF_INIT(SIZE_MAX);
    const struct sched_queue *queue = queue_that_matters(config, group->job->queue);
    struct kin kin = kin_of(group);
    if (census_refuses(cache, group->cls) || !neighbours_matter(cache, &kin))
        return fit_table(cache, config, group->job->queue, group->cls);
    key_begin(queue, group->cls, &key);
    bool matter = key_sign(cache, &kin, &key);
    cache->work += key.n / LOOKS_WORK;
    if (!matter)
        return fit_table(cache, config, group->job->queue, group->cls);
    struct fit_table *table = map_get(&cache->tables_by_key, buf_str(&key));
    if (table && table->generation != config->generation) { /* its neighbours are by other rules */
        table_free(cache, table);
        table = NULL;
    }
    if (!table) {
        table = keyed_table(cache, queue, group->cls, &key);
        table->neighbours = neighbours_new(cache, config, &kin);
    }
    uint32_t wanted = wanted_of(group);
    table->stale = table->stale || table->wanted != wanted;
    table->wanted = wanted;
    bring_up_to_date(cache, config, table);
    return table;
}

/* For all queues when there is none for its own. */
const struct fit_table *fit_kept(const struct cache *cache, const struct task_group *group)
{
    const struct sched_queue *queues[] = {group->job->queue, NULL};
    struct kin kin = kin_of(group);
    const struct fit_table *table = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(queues) && !table; i++) {
        cleanup_buf struct buf key = BUF_INIT(SIZE_MAX);
        key_begin(queues[i], group->cls, &key);
        bool has_key = key_sign(cache, &kin, &key) || queues[i];
        table = has_key ? map_get(&cache->tables_by_key, buf_str(&key)) : group->cls->scratch;
    }
    return table;
}

const char *fit_barred(const struct fit_table *table, const struct sched_node *node)
{
    return fit_reason_text(table, table->barred[node->index]);
}

const char *fit_reason(const struct fit_table *table, const struct sched_node *node)
{
    return fit_reason_text(table, table->reason[node->index]);
}

struct sched_node *fit_best(const struct cache *cache, const struct fit_table *table)
{
    if (!table->fits)
        return NULL;
    return cache->nodes.items[fit_scans(table) ? table->best : table->winners[1]];
}

size_t fit_open_nodes(const struct cache *cache, const struct fit_table *table)
{
    size_t open = 0;
    for (uint32_t i = 0; i < table->n; i++)
        open += fit_is_known(cache->nodes.items[i]) && !table->barred[i];
    return open;
}

size_t fit_refused_nodes(const struct fit_table *table)
{
    return table->room - table->fits;
}
