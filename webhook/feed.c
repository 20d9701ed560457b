/*
 * From informers to snapshots: see feed.h.
 */
#include "webhook/feed.h"
#include "api/names.h"
#include "base/map.h"

#define LOOK_NS (20 * NSEC_PER_MSEC) /* how often it looks whether the watch was answered */

struct feed {
    struct loop *loop;
    const struct feed_kind *kind;
    struct snapshot_cell *cell;
    loop_fn *published;
    void *arg;
    struct informers informers; /* one */
    struct store *store;
    struct store_handler handler;
    struct loop_deferred publish;
    struct loop_timer look;
    struct map views; /* by name; owned references */
    bool synced;      /* a snapshot of the complete list was published */
    bool watched;     /* a watch was answered */
};

/* ---- kinds --------------------------------------------------------------------------------- */

static void *queue_view_of(const void *object)
{
    return queue_view_new(object);
}

static void *queue_snapshot_of(void **views, size_t n, bool synced)
{
    return queue_snapshot_new((struct queue_view *const *)views, n, synced);
}

/* Much of a queue is its status, which others write all the time and no rule reads. */
static bool queue_same(const void *view, const void *object)
{
    return queue_view_same(view, object);
}

const struct feed_kind feed_queues = {PATH_QUEUES, &queue_store_type, queue_view_of,
                                      queue_snapshot_of, queue_same};

static const char *queue_of(const struct namespace_object *ns)
{
    return kube_pairs_get(&ns->meta.annotations, NAMESPACE_QUEUE);
}

static void *namespace_view_of(const void *object)
{
    const struct namespace_object *ns = object;
    const char *queue = queue_of(ns);
    const struct str text = str_of(queue);
    return namespace_view_new(str_of(ns->meta.name), queue ? &text : NULL);
}

static void *namespace_snapshot_of(void **views, size_t n, bool synced)
{
    return namespace_snapshot_new((struct namespace_view *const *)views, n, synced);
}

static bool namespace_same(const void *view, const void *object)
{
    const struct namespace_view *known = view;
    const char *queue = queue_of(object);
    return known->has_queue == (queue != NULL) && str_is(known->queue, queue ? queue : "");
}

const struct feed_kind feed_namespaces = {"/api/v1/namespaces", &namespace_store_type,
                                          namespace_view_of, namespace_snapshot_of, namespace_same};

/* ---- the feed ------------------------------------------------------------------------------ */

static void publish(void *arg)
{
    struct feed *feed = arg;
    void **views = xcalloc(map_count(&feed->views) + 1, sizeof(*views)), *view;
    size_t n = 0;
    for (size_t i = 0; map_next(&feed->views, &i, NULL, &view);)
        views[n++] = shared_ref(view);
    feed->synced = store_synced(feed->store);
    snapshot_cell_publish(feed->cell, feed->kind->snapshot(views, n, feed->synced));
    free(views);
    feed->published(feed->arg);
}

static void on_changed(void *arg, void *old_object, void *new_object)
{
    struct feed *feed = arg;
    const struct kube_meta *meta = new_object ? new_object : old_object;
    const struct str name = str_of(meta->name);
    const void *known = map_get(&feed->views, name);
    if (new_object && known && feed->kind->same(known, new_object))
        return;
    if (new_object)
        shared_unref(map_set(&feed->views, name, feed->kind->view(new_object)));
    else
        shared_unref(map_del(&feed->views, name));
    loop_defer(feed->loop, &feed->publish);
}

static void on_look(void *arg)
{
    struct feed *feed = arg;
    feed->watched = reflector_stats(feed->informers.list.items[0].reflector).answered;
    if (!feed->watched)
        loop_timer_set(feed->loop, &feed->look, LOOK_NS);
    else
        feed->published(feed->arg);
}

static void on_synced(void *arg)
{
    struct feed *feed = arg;
    loop_defer(feed->loop, &feed->publish);
    if (!feed->watched)
        loop_timer_set(feed->loop, &feed->look, LOOK_NS);
}

struct feed *feed_new(struct loop *loop, struct kube_transport *transport,
                      const struct feed_kind *kind, struct snapshot_cell *cell, loop_fn *published,
                      void *arg)
{
    const struct reflector_spec spec = {.path = kind->path};
    struct feed *feed = xnew(struct feed);
    *feed = (struct feed){.loop = loop,
                          .kind = kind,
                          .cell = cell,
                          .published = published,
                          .arg = arg,
                          .views = MAP_INIT};
    loop_deferred_init(&feed->publish, publish, feed);
    loop_timer_init(&feed->look, on_look, feed);
    informers_init(&feed->informers, loop, transport);
    feed->store = informers_add(&feed->informers, kind->type, &spec);
    feed->handler = (struct store_handler){.changed = on_changed, .synced = on_synced, .arg = feed};
    store_subscribe(feed->store, &feed->handler);
    return feed;
}

void feed_free(struct feed *feed)
{
    if (!feed)
        return;
    loop_deferred_cancel(&feed->publish);
    loop_timer_cancel(feed->loop, &feed->look);
    store_unsubscribe(feed->store, &feed->handler);
    informers_clear(&feed->informers);
    map_clear_with(&feed->views, shared_unref);
    free(feed);
}

bool feed_ready(const struct feed *feed)
{
    return !feed || (feed->synced && feed->watched);
}

void feed_missing(const struct feed *feed, struct buf *missing)
{
    if (feed_ready(feed))
        return;
    const size_t before = missing->n;
    informers_missing(&feed->informers, missing);
    if (missing->n > before)
        return;
    const char *trouble = reflector_trouble(feed->informers.list.items[0].reflector);
    buf_printf(missing, "the watch of %s objects has not begun%s%s\n", feed->kind->type->kind,
               *trouble ? ": " : "", trouble);
}

void feed_watches(const struct feed *feed, informers_watch_fn *see, void *arg)
{
    if (feed)
        informers_watches(&feed->informers, see, arg);
}
