/*
 * Labels of nodes. See node_labels.h.
 */
#include "scheduler/node_labels.h"
#include "base/ensure.h"
#include "base/intern.h"
#include "scheduler/census.h"

struct node_label *node_label_get(struct cache *cache, const char *key)
{
    struct node_label *label = map_get(&cache->node_labels, str_of(key));
    if (label)
        return label;
    label = xnew(struct node_label);
    label->key = intern_get(str_of(key));
    list_init(&label->carried);
    map_set(&cache->node_labels, str_of(label->key), label);
    return label;
}

static void label_free(void *value)
{
    struct node_label *label = value;
    ENSURE(list_empty(&label->carried));
    intern_put(label->key);
    free(label);
}

void node_label_drop(struct cache *cache, struct node_label *label)
{
    if (label->nodes || !list_empty(&label->carried))
        return;
    map_del(&cache->node_labels, str_of(label->key));
    label_free(label);
}

static void count_in(struct cache *cache, const char *key)
{
    struct node_label *label = node_label_get(cache, key);
    if (label->nodes++ == 0)
        census_label_came(cache, label);
}

static void count_out(struct cache *cache, const char *key)
{
    struct node_label *label = map_get(&cache->node_labels, str_of(key));
    ENSURE(label && label->nodes > 0);
    if (--label->nodes == 0)
        census_label_went(cache, label);
    node_label_drop(cache, label);
}

/* What stays is counted in first, so that it does not go in between. */
void node_labels_change(struct cache *cache, const struct node *old, const struct node *now)
{
    if (old && now && kube_pairs_equal(&old->meta.labels, &now->meta.labels))
        return;
    for (uint32_t i = 0; now && i < now->meta.labels.n; i++)
        count_in(cache, now->meta.labels.items[i].key);
    for (uint32_t i = 0; old && i < old->meta.labels.n; i++)
        count_out(cache, old->meta.labels.items[i].key);
}

/* The number of known nodes by label. */
static struct map recount(const struct cache *cache)
{
    struct map counts = MAP_INIT_BORROWS;
    for (size_t i = 0; i < cache->nodes.n; i++) {
        const struct sched_node *node = cache->nodes.items[i];
        for (uint32_t l = 0; node && node->object && l < node->object->meta.labels.n; l++) {
            struct str key = str_of(node->object->meta.labels.items[l].key);
            uintptr_t nodes = (uintptr_t)map_get(&counts, key) + 1;
            map_set(&counts, key, (void *)nodes); /* no pointer: a number */
        }
    }
    return counts;
}

const char *node_labels_audit(const struct cache *cache)
{
    struct map counts = recount(cache);
    size_t held = 0;
    void *value;
    bool match = true;
    for (size_t i = 0; map_next(&cache->node_labels, &i, NULL, &value);) {
        const struct node_label *label = value;
        match = match && label->nodes == (uintptr_t)map_get(&counts, str_of(label->key));
        held += label->nodes > 0;
    }
    match = match && held == map_count(&counts);
    map_clear(&counts);
    return match ? NULL : "how many nodes have a label differs from a count";
}

void node_labels_clear(struct cache *cache)
{
    map_clear_with(&cache->node_labels, label_free);
}
