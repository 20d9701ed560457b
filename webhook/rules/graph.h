/*
 * Whether items of a list that wait for one another can be put in order.
 *
 * Kahn's ordering: linear in items and dependencies, no recursion. An item whose name is that of a
 * later one is overruled by it. A dependency that is repeated in one list counts once.
 */
#ifndef PUMICE_WEBHOOK_GRAPH_H
#define PUMICE_WEBHOOK_GRAPH_H

#include "webhook/rules/tree.h"

#define GRAPH_NAME_MAX 40

/* The items: a JSON list, and where an item has its name and the list of names it waits for. */
struct graph_items {
    const cJSON *list; /* NULL gives no items */
    /* Borrowed from the item, or written to `text`. */
    const char *(*name)(const cJSON *item, size_t index, char text[GRAPH_NAME_MAX]);
    const cJSON *(*dependencies)(const cJSON *item); /* may return NULL */
};

enum graph_verdict {
    GRAPH_ORDERED,
    GRAPH_STRANGER, /* `item` waits for `dependency`, which is no item */
    GRAPH_CIRCLE    /* `item` waits for itself, perhaps by way of others */
};

struct graph_finding {
    enum graph_verdict verdict;
    const char *item;       /* lives in the arena or the tree */
    const char *dependency; /* lives in the tree */
};

struct graph_finding graph_check(const struct graph_items *items, struct arena *arena);

#endif
