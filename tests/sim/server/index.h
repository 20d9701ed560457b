/*
 * struct index: nodes in the order of their keys, found, added and removed in logarithmic time. A
 * skip list; what is random in it comes from a counter, so that runs repeat exactly.
 *
 * Nodes are embedded in what they index, and their keys (bytes, borrowed) must not change while
 * they are in. A range of keys with the same beginning is a namespace, which saves another index.
 */
#ifndef PUMICE_TESTS_SIM_SERVER_INDEX_H
#define PUMICE_TESTS_SIM_SERVER_INDEX_H

#include "base/str.h"

#define INDEX_LEVELS 12 /* at a quarter each enough for sixteen million */

struct index_node {
    struct str key;           /* borrowed */
    struct index_node **next; /* owned; by level */
    unsigned levels;
};

struct index {
    struct index_node *first[INDEX_LEVELS];
    size_t count;
    uint64_t draws; /* levels drawn so far */
};

/* Zero is an empty index. Nothing needs to be freed once all nodes are out. */

/* False when the key is taken. */
bool index_add(struct index *index, struct index_node *node);
/* The node must be in. */
void index_remove(struct index *index, struct index_node *node);
struct index_node *index_find(const struct index *index, struct str key);
/* The first node whose key is `key` or comes after it, or NULL. */
struct index_node *index_from(const struct index *index, struct str key);

static inline struct index_node *index_next(const struct index_node *node)
{
    return node->next[0];
}

#endif
