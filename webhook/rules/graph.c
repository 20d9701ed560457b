/*
 * Ordering items by their dependencies: see graph.h. Two walks over all dependencies, the first to
 * count, the second to fill; then the ordering.
 */
#include "webhook/rules/graph.h"
#include "base/map.h"

struct node {
    const cJSON *item;
    uint32_t waits_for;    /* dependencies not yet ordered */
    uint32_t first, count; /* its dependents, in `dependents` */
    uint32_t last_source;  /* 1 + the node that was seen to depend on this one last */
    bool overruled;        /* a later one has its name */
};

struct graph {
    const struct graph_items *items;
    struct arena *arena;
    struct map names;   /* of struct node */
    struct node *nodes; /* n */
    size_t n;
    uint32_t *dependents; /* nodes by index, grouped */
};

static const char *name_of(const struct graph *graph, const struct node *node)
{
    char text[GRAPH_NAME_MAX];
    const char *name = graph->items->name(node->item, (size_t)(node - graph->nodes), text);
    return name == text ? arena_str(graph->arena, str_of(text)).p : name;
}

static void add_nodes(struct graph *graph)
{
    const cJSON *item;
    char text[GRAPH_NAME_MAX];
    cJSON_ArrayForEach(item, graph->items->list)
    {
        struct node *node = &graph->nodes[graph->n];
        node->item = item;
        const struct str name = str_of(graph->items->name(item, graph->n++, text));
        struct node *earlier = map_set(&graph->names, name, node);
        if (earlier)
            earlier->overruled = true;
    }
}

static const cJSON *dependencies(const struct graph *graph, const struct node *node)
{
    return node->overruled ? NULL : graph->items->dependencies(node->item);
}

static const char *dependency_name(const cJSON *dependency)
{
    return cJSON_IsString(dependency) ? dependency->valuestring : "";
}

/* What an item of a list of dependencies names; NULL for a stranger. */
static struct node *named(const struct graph *graph, const cJSON *dependency)
{
    return map_get(&graph->names, str_of(dependency_name(dependency)));
}

/*
 * Goes through every dependency once. With `fill` false it counts dependents, with true it notes
 * them. False and a finding when a name is unknown.
 */
static bool each_dependency(struct graph *graph, bool fill, struct graph_finding *finding)
{
    for (size_t i = 0; i < graph->n; i++) {
        const cJSON *dependency;
        cJSON_ArrayForEach(dependency, dependencies(graph, &graph->nodes[i]))
        {
            struct node *node = named(graph, dependency);
            if (!node) {
                *finding = (struct graph_finding){GRAPH_STRANGER, name_of(graph, &graph->nodes[i]),
                                                  dependency_name(dependency)};
                return false;
            }
            if (node->last_source == i + 1)
                continue;
            node->last_source = (uint32_t)i + 1;
            if (fill)
                graph->dependents[node->first + node->count] = (uint32_t)i;
            else
                graph->nodes[i].waits_for++;
            node->count++;
        }
    }
    return true;
}

static void make_room(struct graph *graph)
{
    uint32_t total = 0;
    for (size_t i = 0; i < graph->n; i++) {
        graph->nodes[i].first = total;
        total += graph->nodes[i].count;
        graph->nodes[i].count = 0;
        graph->nodes[i].last_source = 0;
    }
    graph->dependents = arena_calloc(graph->arena, (size_t)total + 1, sizeof(uint32_t));
}

/* How many nodes can be put in order. */
static size_t order(struct graph *graph)
{
    uint32_t *ready = arena_calloc(graph->arena, graph->n + 1, sizeof(*ready));
    size_t done = 0, known = 0;
    for (size_t i = 0; i < graph->n; i++) {
        if (graph->nodes[i].waits_for == 0)
            ready[known++] = (uint32_t)i;
    }
    for (; done < known; done++) {
        const struct node *node = &graph->nodes[ready[done]];
        for (uint32_t i = 0; i < node->count; i++) {
            const uint32_t next = graph->dependents[node->first + i];
            if (--graph->nodes[next].waits_for == 0)
                ready[known++] = next;
        }
    }
    return done;
}

/* A node that is on a circle, once some could not be ordered: each of these waits for another. */
static const struct node *find_circle(struct graph *graph)
{
    struct node *node = graph->nodes;
    while (node->waits_for == 0)
        node++;
    while (node->last_source != UINT32_MAX) {
        node->last_source = UINT32_MAX; /* seen */
        const cJSON *dependency = dependencies(graph, node)->child;
        while (named(graph, dependency)->waits_for == 0)
            dependency = dependency->next;
        node = named(graph, dependency);
    }
    return node;
}

struct graph_finding graph_check(const struct graph_items *items, struct arena *arena)
{
    struct graph_finding finding = {.verdict = GRAPH_ORDERED};
    struct graph graph = {.items = items, .arena = arena, .names = MAP_INIT};
    const size_t count = (size_t)cJSON_GetArraySize(items->list);
    graph.nodes = arena_calloc(arena, count + 1, sizeof(*graph.nodes));
    add_nodes(&graph);
    if (each_dependency(&graph, false, &finding)) {
        make_room(&graph);
        (void)each_dependency(&graph, true, &finding);
        if (order(&graph) < graph.n)
            finding =
                (struct graph_finding){GRAPH_CIRCLE, name_of(&graph, find_circle(&graph)), NULL};
    }
    map_clear(&graph.names);
    return finding;
}
