/*
 * A skip list: see index.h.
 */
#include "server/index.h"
#include "base/alloc.h"
#include "base/ensure.h"

/* One level more for each pair of low zero bits of a number that is well mixed. */
static unsigned draw_levels(struct index *index)
{
    uint64_t bits = ++index->draws * UINT64_C(0x9E3779B97F4A7C15);
    bits = (bits ^ bits >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    bits ^= bits >> 32;
    unsigned levels = 1;
    while (levels < INDEX_LEVELS && (bits & 3) == 0) {
        levels++;
        bits >>= 2;
    }
    return levels;
}

/* In `ret_links`, by level: what points to the first node that does not come before `key`. */
static void find_links(struct index *index, struct str key,
                       struct index_node **ret_links[INDEX_LEVELS])
{
    struct index_node **links = index->first;
    for (unsigned level = INDEX_LEVELS; level-- > 0;) {
        while (links[level] && str_cmp(links[level]->key, key) < 0)
            links = links[level]->next;
        ret_links[level] = &links[level];
    }
}

bool index_add(struct index *index, struct index_node *node)
{
    struct index_node **links[INDEX_LEVELS];
    find_links(index, node->key, links);
    if (*links[0] && str_eq((*links[0])->key, node->key))
        return false;
    node->levels = draw_levels(index);
    node->next = xcalloc(node->levels, sizeof(struct index_node *));
    for (unsigned level = 0; level < node->levels; level++) {
        node->next[level] = *links[level];
        *links[level] = node;
    }
    index->count++;
    return true;
}

void index_remove(struct index *index, struct index_node *node)
{
    struct index_node **links[INDEX_LEVELS];
    find_links(index, node->key, links);
    ENSURE(*links[0] == node);
    for (unsigned level = 0; level < node->levels; level++)
        *links[level] = node->next[level];
    free(take_ptr(node->next));
    index->count--;
}

struct index_node *index_from(const struct index *index, struct str key)
{
    struct index_node *const *links = index->first;
    for (unsigned level = INDEX_LEVELS; level-- > 0;)
        while (links[level] && str_cmp(links[level]->key, key) < 0)
            links = links[level]->next;
    return links[0];
}

struct index_node *index_find(const struct index *index, struct str key)
{
    struct index_node *node = index_from(index, key);
    return node && str_eq(node->key, key) ? node : NULL;
}
