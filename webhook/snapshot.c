/*
 * Snapshots of Queues: see snapshot.h.
 */
#include "webhook/snapshot.h"

#define ANNOTATION_HIERARCHY "volcano.sh/hierarchy"

/* ---- views --------------------------------------------------------------------------------- */

static void free_view(void *object)
{
    struct queue_view *view = object;
    arena_clear(&view->arena);
    free(view);
}

static struct queue_view *view_alloc(void)
{
    struct queue_view *view = xnew(struct queue_view);
    shared_init(&view->shared, free_view);
    return view;
}

static struct resources copy_resources(struct arena *arena, const struct queue_resources *from)
{
    struct resources list = {.n = from->n};
    list.items = arena_calloc(arena, (size_t)from->n + 1, sizeof(*list.items));
    for (size_t i = 0; i < list.n; i++)
        list.items[i] = (struct resource){arena_str(arena, str_of(from->items[i].name)),
                                          from->items[i].quantity};
    resources_sort(&list);
    return list;
}

/* What the arena of a view needs: see arena_begin. */
#define ROOM(size) (((size) + 15) / 16 * 16)

static size_t text_room(const char *text)
{
    return ROOM(strlen(text) + 1);
}

static size_t resources_room(const struct queue_resources *list)
{
    size_t size = ROOM((list->n + (size_t)1) * sizeof(struct resource));
    for (size_t i = 0; i < list->n; i++)
        size += text_room(list->items[i].name);
    return size;
}

static int64_t pods_of(const struct queue_resources *allocated)
{
    for (uint32_t i = 0; i < allocated->n; i++) {
        if (strcmp(allocated->items[i].name, "pods") == 0)
            return quantity_value(allocated->items[i].quantity);
    }
    return 0;
}

static struct str hierarchy_of(const struct queue *queue)
{
    return str_of(kube_pairs_get(&queue->meta.annotations, ANNOTATION_HIERARCHY));
}

struct queue_view *queue_view_new(const struct queue *queue)
{
    struct queue_view *view = view_alloc();
    struct arena *arena = &view->arena;
    const struct str hierarchy = hierarchy_of(queue);
    arena_begin(arena, text_room(queue->meta.name) + text_room(queue->parent) +
                           text_room(queue->state) + ROOM(hierarchy.n + 1) +
                           resources_room(&queue->capability) + resources_room(&queue->deserved) +
                           resources_room(&queue->guarantee));
    view->name = arena_str(arena, str_of(queue->meta.name));
    view->parent = arena_str(arena, str_of(queue->parent));
    view->state = arena_str(arena, str_of(queue->state));
    view->hierarchy = arena_str(arena, hierarchy);
    view->capability = copy_resources(arena, &queue->capability);
    view->deserved = copy_resources(arena, &queue->deserved);
    view->guarantee = copy_resources(arena, &queue->guarantee);
    view->allocated_pods = pods_of(&queue->allocated);
    return view;
}

static bool same_resources(const struct resources *list, const struct queue_resources *other)
{
    if (list->n != other->n)
        return false;
    for (size_t i = 0; i < list->n; i++) {
        const struct quantity *quantity = resources_get(list, str_of(other->items[i].name));
        if (!quantity || quantity_cmp(*quantity, other->items[i].quantity) != 0)
            return false;
    }
    return true;
}

bool queue_view_same(const struct queue_view *view, const struct queue *queue)
{
    return str_is(view->name, queue->meta.name) && str_is(view->parent, queue->parent) &&
           str_is(view->state, queue->state) && str_eq(view->hierarchy, hierarchy_of(queue)) &&
           same_resources(&view->capability, &queue->capability) &&
           same_resources(&view->deserved, &queue->deserved) &&
           same_resources(&view->guarantee, &queue->guarantee) &&
           view->allocated_pods == pods_of(&queue->allocated);
}

static struct resources own_resources(struct arena *arena, const cJSON *object)
{
    struct problems ignored = PROBLEMS_INIT;
    struct resources list = resources_read(object, "", arena, &ignored);
    problems_clear(&ignored);
    for (size_t i = 0; i < list.n; i++)
        list.items[i].name = arena_str(arena, list.items[i].name);
    return list;
}

struct queue_view *queue_view_from_tree(const cJSON *queue)
{
    struct queue_view *view = view_alloc();
    struct arena *arena = &view->arena;
    const cJSON *metadata = tree_get(queue, "metadata"), *spec = tree_get(queue, "spec");
    const cJSON *status = tree_get(queue, "status");
    const char *state = tree_str(status, "state");
    view->name = arena_str(arena, str_of(tree_str(metadata, "name")));
    view->parent = arena_str(arena, str_of(tree_str(spec, "parent")));
    view->state = arena_str(arena, str_of(*state ? state : "Open"));
    view->hierarchy =
        arena_str(arena, str_of(tree_str(tree_get(metadata, "annotations"), ANNOTATION_HIERARCHY)));
    view->capability = own_resources(arena, tree_get(spec, "capability"));
    view->deserved = own_resources(arena, tree_get(spec, "deserved"));
    view->guarantee = own_resources(arena, tree_get(tree_get(spec, "guarantee"), "resource"));
    struct resources allocated = own_resources(arena, tree_get(status, "allocated"));
    const struct quantity *pods = resources_get(&allocated, STR("pods"));
    view->allocated_pods = pods ? quantity_value(*pods) : 0;
    return view;
}

/* ---- snapshots ----------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    struct queue_view *const *left = a, *const *right = b;
    return str_cmp((*left)->name, (*right)->name);
}

static int by_parent(const void *a, const void *b)
{
    struct queue_view *const *left = a, *const *right = b;
    int order = str_cmp((*left)->parent, (*right)->parent);
    return order ? order : by_name(a, b);
}

static void free_snapshot(void *object)
{
    struct queue_snapshot *snapshot = object;
    for (size_t i = 0; i < snapshot->n; i++)
        shared_unref(snapshot->views[i]);
    free(snapshot->views);
    free(snapshot->children);
    free(snapshot);
}

struct queue_snapshot *queue_snapshot_new(struct queue_view *const *views, size_t n, bool synced)
{
    struct queue_snapshot *snapshot = xnew(struct queue_snapshot);
    shared_init(&snapshot->shared, free_snapshot);
    snapshot->synced = synced;
    snapshot->n = n;
    snapshot->views = xcalloc(n + 1, sizeof(*snapshot->views));
    snapshot->children = xcalloc(n + 1, sizeof(*snapshot->children));
    for (size_t i = 0; i < n; i++) {
        snapshot->views[i] = views[i];
        if (views[i]->parent.n)
            snapshot->children[snapshot->child_count++] = views[i];
    }
    qsort(snapshot->views, n, sizeof(*snapshot->views), by_name);
    qsort(snapshot->children, snapshot->child_count, sizeof(*snapshot->children), by_parent);
    return snapshot;
}

const struct queue_view *queue_snapshot_get(const struct queue_snapshot *snapshot, struct str name)
{
    size_t low = 0, high = snapshot->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_cmp(snapshot->views[middle]->name, name);
        if (order == 0)
            return snapshot->views[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* The first child whose parent is not before `parent` (`after`: is behind it). */
static size_t child_bound(const struct queue_snapshot *snapshot, struct str parent, bool after)
{
    size_t low = 0, high = snapshot->child_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_cmp(snapshot->children[middle]->parent, parent);
        if (order < 0 || (after && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t queue_snapshot_children(const struct queue_snapshot *snapshot, struct str parent,
                               struct queue_view *const **ret_first)
{
    const size_t first = child_bound(snapshot, parent, false);
    *ret_first = snapshot->children + first;
    return child_bound(snapshot, parent, true) - first;
}
