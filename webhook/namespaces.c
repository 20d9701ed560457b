/*
 * Snapshots of Namespaces: see namespaces.h.
 */
#include "webhook/namespaces.h"
#include "base/alloc.h"

/* ---- in the store -------------------------------------------------------------------------- */

static bool keep_queue(struct str key)
{
    return str_is(key, NAMESPACE_QUEUE);
}

static void free_object(void *object)
{
    struct namespace_object *ns = object;
    if (!ns)
        return;
    kube_meta_clear(&ns->meta);
    free(ns);
}

static void *decode(struct str raw, struct error *err)
{
    struct arena arena cleanup_arena = ARENA_INIT;
    struct namespace_object *ns = xnew(struct namespace_object);
    struct json_reader reader;
    struct str key;
    json_init(&reader, raw, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_is(key, "metadata") && !ns->meta.name)
                kube_meta_read(&reader, &ns->meta, keep_queue);
            else
                json_skip(&reader);
        }
    }
    if (json_end(&reader, err) < 0) {
        free_object(ns);
        return NULL;
    }
    return ns;
}

const struct store_type namespace_store_type = {"Namespace", decode, free_object};

/* ---- in snapshots -------------------------------------------------------------------------- */

struct namespace_view *namespace_view_new(struct str name, const struct str *queue)
{
    const size_t queue_size = queue ? queue->n : 0;
    struct namespace_view *view = xcalloc(1, sizeof(*view) + name.n + queue_size + 2);
    shared_init(&view->shared, free);
    view->has_queue = queue != NULL;
    view->name = str_make(view->text, name.n);
    view->queue = str_make(view->text + name.n + 1, queue_size);
    if (name.n)
        memcpy(view->text, name.p, name.n);
    if (queue_size)
        memcpy(view->text + name.n + 1, queue->p, queue_size);
    return view;
}

static int by_name(const void *a, const void *b)
{
    struct namespace_view *const *left = a, *const *right = b;
    return str_cmp((*left)->name, (*right)->name);
}

static void free_snapshot(void *object)
{
    struct namespace_snapshot *snapshot = object;
    for (size_t i = 0; i < snapshot->n; i++)
        shared_unref(snapshot->views[i]);
    free(snapshot->views);
    free(snapshot);
}

struct namespace_snapshot *namespace_snapshot_new(struct namespace_view *const *views, size_t n,
                                                  bool synced)
{
    struct namespace_snapshot *snapshot = xnew(struct namespace_snapshot);
    shared_init(&snapshot->shared, free_snapshot);
    snapshot->synced = synced;
    snapshot->n = n;
    snapshot->views = xcalloc(n + 1, sizeof(*snapshot->views));
    for (size_t i = 0; i < n; i++)
        snapshot->views[i] = views[i];
    qsort(snapshot->views, n, sizeof(*snapshot->views), by_name);
    return snapshot;
}

const struct namespace_view *namespace_snapshot_get(const struct namespace_snapshot *snapshot,
                                                    struct str name)
{
    size_t low = 0, high = snapshot->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = str_cmp(snapshot->views[middle]->name, name);
        if (order == 0)
            return snapshot->views[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
