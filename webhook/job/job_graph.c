/*
 * dependsOn of the tasks of a job (part of /jobs/validate): Kahn's ordering, linear in tasks and
 * dependencies. A name that is repeated in one list counts once.
 */
#include "base/map.h"
#include "webhook/job/job_rules.h"

#define NOT_A_DAG                                                                                  \
    "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG)"

struct node {
    const cJSON *task;
    uint32_t waits_for;    /* dependencies not yet ordered */
    uint32_t first, count; /* its dependents, in `dependents` */
    uint32_t last_source;  /* 1 + the node that was seen to depend on this one last */
};

struct graph {
    struct arena *arena;
    struct map names;   /* of struct node */
    struct node *nodes; /* n */
    size_t n;
    uint32_t *dependents; /* nodes by index, grouped */
};

static const cJSON *dependencies(const cJSON *task)
{
    return tree_array(tree_get(task, "dependsOn"), "name");
}

static bool add_nodes(struct graph *graph, const cJSON *tasks)
{
    bool any = false;
    const cJSON *task;
    char text[TASK_NAME_MAX];
    cJSON_ArrayForEach(task, tasks)
    {
        struct node *node = &graph->nodes[graph->n];
        node->task = task;
        const struct str name = str_of(job_task_name(task, graph->n++, text));
        if (!map_has(&graph->names, name))
            map_set(&graph->names, name, node);
        any = any || dependencies(task);
    }
    return any;
}

/* The node that an item of a dependsOn list names; NULL and a problem for a stranger. */
static struct node *named(struct admission_case *c, const struct graph *graph, size_t from,
                          const cJSON *item)
{
    char text[TASK_NAME_MAX];
    const char *name = cJSON_IsString(item) ? item->valuestring : "";
    struct node *node = map_get(&graph->names, str_of(name));
    if (!node)
        problem_invalid(&c->problems,
                        NOT_A_DAG ": task %.63s depends on \"%.63s\", which is no task of the job",
                        job_task_name(graph->nodes[from].task, from, text), name);
    return node;
}

/*
 * Goes through every dependency once. With `fill` false it counts dependents, with true it notes
 * them. False when a name is unknown.
 */
static bool each_dependency(struct admission_case *c, struct graph *graph, bool fill)
{
    for (size_t i = 0; i < graph->n; i++) {
        const cJSON *item;
        cJSON_ArrayForEach(item, dependencies(graph->nodes[i].task))
        {
            struct node *node = named(c, graph, i, item);
            if (!node)
                return false;
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

void job_check_dependencies(struct admission_case *c, const cJSON *tasks)
{
    struct graph graph = {.arena = c->arena, .names = MAP_INIT};
    graph.nodes =
        arena_calloc(c->arena, (size_t)cJSON_GetArraySize(tasks) + 1, sizeof(*graph.nodes));
    if (add_nodes(&graph, tasks) && each_dependency(c, &graph, false)) {
        make_room(&graph);
        (void)each_dependency(c, &graph, true);
        if (order(&graph) < graph.n)
            problem_invalid(&c->problems, NOT_A_DAG);
    }
    map_clear(&graph.names);
}
