/*
 * From the informer of Queues to snapshots: see queue_feed.h.
 */
#include "webhook/queue_feed.h"
#include "api/names.h"
#include "base/map.h"

struct queue_feed {
    struct loop *loop;
    struct snapshot_cell *cell;
    loop_fn *published;
    void *arg;
    struct informers informers;
    struct store *store;
    struct store_handler handler;
    struct loop_deferred publish;
    struct map views; /* by name; owned references to struct queue_view */
    bool synced;      /* a snapshot of the complete list was published */
};

static void publish(void *arg)
{
    struct queue_feed *feed = arg;
    struct queue_view **views = xcalloc(map_count(&feed->views) + 1, sizeof(*views));
    size_t n = 0;
    void *value;
    for (size_t i = 0; map_next(&feed->views, &i, NULL, &value);)
        views[n++] = queue_view_ref(value);
    feed->synced = store_synced(feed->store);
    snapshot_cell_publish(feed->cell, queue_snapshot_new(views, n, feed->synced));
    free(views);
    feed->published(feed->arg);
}

static void on_changed(void *arg, void *old_object, void *new_object)
{
    struct queue_feed *feed = arg;
    const struct queue *old = old_object, *queue = new_object;
    if (queue)
        queue_view_unref(map_set(&feed->views, str_of(queue->meta.name), queue_view_new(queue)));
    else
        queue_view_unref(map_del(&feed->views, str_of(old->meta.name)));
    loop_defer(feed->loop, &feed->publish);
}

static void on_synced(void *arg)
{
    struct queue_feed *feed = arg;
    loop_defer(feed->loop, &feed->publish);
}

struct queue_feed *queue_feed_new(struct loop *loop, struct kube_transport *transport,
                                  struct snapshot_cell *cell, loop_fn *published, void *arg)
{
    static const struct reflector_spec spec = {.path = PATH_QUEUES};
    struct queue_feed *feed = xnew(struct queue_feed);
    *feed = (struct queue_feed){
        .loop = loop, .cell = cell, .published = published, .arg = arg, .views = MAP_INIT};
    loop_deferred_init(&feed->publish, publish, feed);
    informers_init(&feed->informers, loop, transport);
    feed->store = informers_add(&feed->informers, &queue_store_type, &spec);
    feed->handler = (struct store_handler){.changed = on_changed, .synced = on_synced, .arg = feed};
    store_subscribe(feed->store, &feed->handler);
    return feed;
}

static void release(void *view)
{
    queue_view_unref(view);
}

void queue_feed_free(struct queue_feed *feed)
{
    if (!feed)
        return;
    loop_deferred_cancel(&feed->publish);
    store_unsubscribe(feed->store, &feed->handler);
    informers_clear(&feed->informers);
    map_clear_with(&feed->views, release);
    free(feed);
}

bool queue_feed_synced(const struct queue_feed *feed)
{
    return feed->synced;
}

void queue_feed_missing(const struct queue_feed *feed, struct buf *missing)
{
    informers_missing(&feed->informers, missing);
}
