/*
 * struct heap: a binary heap of embedded nodes, smallest first by a caller's comparison.
 *
 * The comparison must be a total order (ties broken by the caller) so that runs repeat exactly.
 */
#ifndef PUMICE_BASE_HEAP_H
#define PUMICE_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

struct heap_node {
    size_t position; /* 1-based place in the heap; 0 when in none */
};

/* True when `a` comes before `b`. */
typedef bool heap_less_fn(const struct heap_node *a, const struct heap_node *b, void *arg);

struct heap {
    struct heap_node **nodes; /* owned array of borrowed nodes */
    size_t n, cap;
    heap_less_fn *less;
    void *arg;
};

void heap_init(struct heap *heap, heap_less_fn *less, void *arg);
void heap_clear(struct heap *heap);
void heap_push(struct heap *heap, struct heap_node *node);
/* The first node without removing it, or NULL. */
struct heap_node *heap_peek(const struct heap *heap);
struct heap_node *heap_pop(struct heap *heap);
/* Removes a node that is in the heap; harmless when it is in none. */
void heap_remove(struct heap *heap, struct heap_node *node);
/* Restores the order after the node's key changed. */
void heap_update(struct heap *heap, struct heap_node *node);

static inline bool heap_contains(const struct heap_node *node)
{
    return node->position != 0;
}

#endif
