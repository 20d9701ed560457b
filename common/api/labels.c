/*
 * Shared sets of labels. See labels.h.
 *
 * Keys and values are interned, so the addresses of a set's texts are its content.
 */
#include "api/labels.h"
#include "api/names.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "base/intern.h"
#include "base/map.h"
#include <stdio.h>

static struct map sets; /* struct label_set by its texts, counted by its users */
static uint64_t next_id;

static void key_add(struct buf *key, const char *text)
{
    buf_add(key, &text, sizeof(text));
}

static bool is_kept(const struct kube_pair *pair, bool leave_index)
{
    return !leave_index || strcmp(pair->key, KEY_TASK_INDEX) != 0;
}

static void key_write(struct buf *key, const char *ns, const struct kube_pairs *pairs,
                      bool leave_index)
{
    key_add(key, ns);
    for (uint32_t i = 0; i < pairs->n; i++)
        if (is_kept(&pairs->items[i], leave_index)) {
            key_add(key, pairs->items[i].key);
            key_add(key, pairs->items[i].value);
        }
}

static struct label_set *set_new(const char *ns, const struct kube_pairs *pairs, bool leave_index)
{
    struct label_set *set = xnew(struct label_set);
    set->id = next_id++;
    set->ns = intern_ref(ns);
    set->pairs.items = pairs->n ? xcalloc(pairs->n, sizeof(*set->pairs.items)) : NULL;
    for (uint32_t i = 0; i < pairs->n; i++)
        if (is_kept(&pairs->items[i], leave_index))
            set->pairs.items[set->pairs.n++] = (struct kube_pair){
                intern_ref(pairs->items[i].key), intern_ref(pairs->items[i].value)};
    return set;
}

struct label_set *label_set_get(const char *ns, const struct kube_pairs *pairs, bool leave_index)
{
    cleanup_buf struct buf key = BUF_INIT(SIZE_MAX);
    key_write(&key, ns, pairs, leave_index);
    struct label_set *set = map_get(&sets, buf_str(&key));
    if (!set) {
        set = set_new(ns, pairs, leave_index);
        map_set(&sets, buf_str(&key), set);
    }
    return label_set_ref(set);
}

struct label_set *label_set_ref(struct label_set *set)
{
    set->refs++;
    return set;
}

void label_set_unref(struct label_set *set)
{
    cleanup_buf struct buf key = BUF_INIT(SIZE_MAX);
    if (!set)
        return;
    ENSURE(set->refs > 0);
    if (--set->refs)
        return;
    key_write(&key, set->ns, &set->pairs, false);
    map_del(&sets, buf_str(&key));
    if (!map_count(&sets))
        map_clear(&sets);
    kube_pairs_clear(&set->pairs);
    intern_put(set->ns);
    free(set);
}

size_t label_set_count(void)
{
    return map_count(&sets);
}

const char *pairs_value(const void *labels, const char *key)
{
    return kube_pairs_get(labels, key);
}

const char *pod_labels_value(const void *labels, const char *key)
{
    static char index[24];
    const struct pod_labels *pod = labels;
    if (pod->index >= 0 && strcmp(key, KEY_TASK_INDEX) == 0) {
        (void)snprintf(index, sizeof(index), "%lld", (long long)pod->index);
        return index;
    }
    return kube_pairs_get(&pod->set->pairs, key);
}
