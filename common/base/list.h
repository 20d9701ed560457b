/*
 * Intrusive doubly linked list: a node embedded in the object, a head that is a node itself.
 */
#ifndef PUMICE_BASE_LIST_H
#define PUMICE_BASE_LIST_H

#include "base/alloc.h"
#include <stdbool.h>

struct list {
    struct list *next, *prev; /* point to itself when empty or unlinked; NULL before init */
};

static inline void list_init(struct list *node)
{
    node->next = node->prev = node;
}

static inline bool list_empty(const struct list *head)
{
    return head->next == head;
}

/* Puts `node` before `head`, that is at the end of the list. */
static inline void list_append(struct list *head, struct list *node)
{
    node->next = head;
    node->prev = head->prev;
    head->prev->next = node;
    head->prev = node;
}

/* Puts `node` after `head`, that is at the front. */
static inline void list_prepend(struct list *head, struct list *node)
{
    list_append(head->next, node);
}

/* Takes `node` out of its list; harmless when it is in none (after list_init). */
static inline void list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/* The loop body may remove the current node. */
#define list_each(node, head)                                                                      \
    for (struct list *node = (head)->next, *next_ = node->next; node != (head);                    \
         node = next_, next_ = node->next)

#endif
