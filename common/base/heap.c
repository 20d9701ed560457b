/*
 * struct heap: a binary heap that knows where each node is, so that any can leave or move.
 *
 * The array is owned, the nodes are borrowed from their objects. Not thread-safe.
 */
#include "base/heap.h"
#include "base/ensure.h"
#include "base/vec.h"

void heap_init(struct heap *heap, heap_less_fn *less, void *arg)
{
    *heap = (struct heap){.less = less, .arg = arg};
}

void heap_clear(struct heap *heap)
{
    for (size_t i = 0; i < heap->n; i++)
        heap->nodes[i]->position = 0;
    free(heap->nodes);
    heap_init(heap, heap->less, heap->arg);
}

static void place(struct heap *heap, size_t i, struct heap_node *node)
{
    heap->nodes[i] = node;
    node->position = i + 1;
}

static bool is_less(const struct heap *heap, const struct heap_node *a, const struct heap_node *b)
{
    return heap->less(a, b, heap->arg);
}

static void sift_up(struct heap *heap, size_t i)
{
    struct heap_node *node = heap->nodes[i];
    while (i > 0) {
        size_t parent = (i - 1) / 2;
        if (!is_less(heap, node, heap->nodes[parent]))
            break;
        place(heap, i, heap->nodes[parent]);
        i = parent;
    }
    place(heap, i, node);
}

static void sift_down(struct heap *heap, size_t i)
{
    struct heap_node *node = heap->nodes[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= heap->n)
            break;
        if (child + 1 < heap->n && is_less(heap, heap->nodes[child + 1], heap->nodes[child]))
            child++;
        if (!is_less(heap, heap->nodes[child], node))
            break;
        place(heap, i, heap->nodes[child]);
        i = child;
    }
    place(heap, i, node);
}

void heap_push(struct heap *heap, struct heap_node *node)
{
    ENSURE(node->position == 0);
    if (heap->n == heap->cap) {
        void *grown = heap->nodes;
        vec_grow(&grown, &heap->cap, heap->n, sizeof(struct heap_node *));
        heap->nodes = grown;
    }
    heap->nodes[heap->n++] = node;
    sift_up(heap, heap->n - 1);
}

struct heap_node *heap_peek(const struct heap *heap)
{
    return heap->n ? heap->nodes[0] : NULL;
}

struct heap_node *heap_pop(struct heap *heap)
{
    struct heap_node *first = heap_peek(heap);
    if (first)
        heap_remove(heap, first);
    return first;
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
    if (node->position == 0)
        return;
    size_t i = node->position - 1;
    ENSURE(i < heap->n && heap->nodes[i] == node);
    struct heap_node *last = heap->nodes[--heap->n];
    node->position = 0;
    if (last == node)
        return;
    place(heap, i, last);
    heap_update(heap, last);
}

void heap_update(struct heap *heap, struct heap_node *node)
{
    ENSURE(node->position != 0);
    size_t i = node->position - 1;
    ENSURE(i < heap->n && heap->nodes[i] == node);
    sift_up(heap, i);
    sift_down(heap, node->position - 1);
}
