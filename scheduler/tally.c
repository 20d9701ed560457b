/*
 * Telling what queues hold. See tally.h.
 */
#include "scheduler/tally.h"
#include "api/names.h"
#include "base/alloc.h"
#include "base/intern.h"
#include "base/log.h"
#include "json/writer.h"

#define TALLY_NS NSEC_PER_SEC
#define RETRY_NS (5 * NSEC_PER_SEC)

/* One write under way. */
struct tally {
    struct list link;            /* in scheduler->tallies */
    struct scheduler *scheduler; /* borrowed */
    const char *name, *uid;      /* interned; of the queue */
    struct resource_set holds;   /* owned */
    VEC(const char *) gone;      /* interned; what the status names and the queue no longer holds */
    struct window_request *request;
};

typedef VEC(struct resource_set) sums; /* by the queue's index */

/* ---- what is true ---------------------------------------------------------------------------- */

static struct resource_set *sum_of(sums *all, const struct sched_queue *queue)
{
    while (all->n <= queue->index)
        vec_push(all, ((struct resource_set){NULL, 0}));
    return &all->items[queue->index];
}

static void add_up(const struct cache *cache, sums *all)
{
    void *value;
    for (size_t i = 0; map_next(&cache->queues_by_name, &i, NULL, &value);) {
        const struct sched_queue *queue = value;
        for (const struct sched_queue *at = queue; at && queue->allocated.n; at = at->parent)
            (void)resource_set_add(sum_of(all, at), &queue->allocated, 1);
    }
}

static int64_t told_amount(const struct podgroup_resource *item, uint32_t *ret_id)
{
    *ret_id = resource_id(str_of(item->name));
    return resource_total_of(*ret_id, item->quantity);
}

static int64_t clipped(int64_t amount)
{
    return amount < RESOURCE_TOTAL_MAX ? amount : RESOURCE_TOTAL_MAX;
}

/* Whether a queue's status says that it holds this. */
static bool says(const struct queue *queue, const struct resource_set *holds)
{
    uint32_t found = 0, id;
    for (uint32_t i = 0; i < queue->allocated.n; i++) {
        int64_t amount = told_amount(&queue->allocated.items[i], &id);
        if (amount != clipped(resource_set_get(holds, id)))
            return false;
        found += amount != 0;
    }
    return found == holds->n;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The amount to the last unit, as the API writes it. */
static void write_amount(struct json_writer *writer, uint32_t id, int64_t amount)
{
    bool milli = id == RESOURCE_CPU && amount % 1000 != 0;
    int64_t number = id == RESOURCE_CPU && !milli ? amount / 1000 : amount;
    json_w_key(writer, str_of(resource_name(id)));
    json_w_strf(writer, "%lld%s", (long long)number, milli ? "m" : "");
}

/* It is about the version that we know: one that gets no answer may arrive when another scheduler
 * leads, and has said more, or another queue has the name (of a custom object's status the API
 * server does not look at the UID). */
static void write_about(struct json_writer *writer, const struct queue *queue)
{
    json_w_member_object(writer, "metadata");
    json_w_member_str(writer, "uid", str_of(queue->meta.uid));
    json_w_key(writer, STR("resourceVersion"));
    json_w_strf(writer, "%llu", (unsigned long long)queue->meta.rv);
    json_w_end_object(writer);
}

static bool tally_render(struct buf *path, struct buf *body, void *arg)
{
    const struct tally *tally = arg;
    struct json_writer writer = json_writer(body);
    const struct queue *queue =
        store_get(tally->scheduler->params.queues, STR_NULL, str_of(tally->name));
    if (!queue || queue->meta.uid != tally->uid)
        return false;
    buf_add_cstr(path, PATH_QUEUES "/");
    kube_escape(path, str_of(tally->name));
    buf_add_cstr(path, "/status");
    json_w_object(&writer);
    write_about(&writer, queue);
    json_w_member_object(&writer, "status");
    json_w_member_object(&writer, "allocated");
    for (uint32_t id = RESOURCE_CPU; id <= RESOURCE_MEMORY; id++) /* also when they are 0 */
        write_amount(&writer, id, clipped(resource_set_get(&tally->holds, id)));
    for (uint32_t i = 0; i < tally->holds.n; i++)
        if (tally->holds.items[i].id > RESOURCE_MEMORY)
            write_amount(&writer, tally->holds.items[i].id, clipped(tally->holds.items[i].amount));
    for (size_t i = 0; i < tally->gone.n; i++) {
        json_w_key(&writer, str_of(tally->gone.items[i]));
        json_w_null(&writer);
    }
    json_w_end_object(&writer);
    json_w_end_object(&writer);
    json_w_end_object(&writer);
    return true;
}

static void tally_free(struct tally *tally)
{
    store_request_end(tally->scheduler->params.queues, STR_NULL, str_of(tally->name));
    list_remove(&tally->link);
    for (size_t i = 0; i < tally->gone.n; i++)
        intern_put(tally->gone.items[i]);
    vec_clear(&tally->gone);
    resource_set_clear(&tally->holds);
    intern_put(tally->name);
    intern_put(tally->uid);
    free(tally);
}

static void tally_done(const struct kube_result *result, void *arg)
{
    struct tally *tally = arg;
    struct scheduler *scheduler = tally->scheduler;
    enum error_class cls = result->error.cls;
    if (cls == ERROR_NONE)
        (void)store_apply(scheduler->params.queues, result->body);
    else if (cls == ERROR_CONFLICT)
        tally_request(scheduler); /* there is or will be news */
    else if (cls != ERROR_CANCELLED && cls != ERROR_NOT_FOUND) {
        log_warn("what a queue holds cannot be written, trying again in 5 s queue=%s error=\"%s\"",
                 tally->name, result->error.text);
        loop_timer_set(scheduler->params.loop, &scheduler->tally_timer, RETRY_NS);
    }
    tally_free(tally);
}

/* What the status names beyond cpu and memory, and the queue does not hold. */
static void note_gone(struct tally *tally, const struct queue *queue)
{
    for (uint32_t i = 0; i < queue->allocated.n; i++) {
        const struct podgroup_resource *item = &queue->allocated.items[i];
        uint32_t id;
        (void)told_amount(item, &id);
        if (id > RESOURCE_MEMORY && !resource_set_get(&tally->holds, id))
            vec_push(&tally->gone, intern_ref(item->name));
    }
}

static void tell(struct scheduler *scheduler, const struct queue *queue,
                 const struct resource_set *holds)
{
    struct tally *tally = xnew(struct tally);
    tally->scheduler = scheduler;
    tally->name = intern_ref(queue->meta.name);
    tally->uid = intern_ref(queue->meta.uid);
    tally->holds = resource_set_copy(holds);
    note_gone(tally, queue);
    list_append(&scheduler->tallies, &tally->link);
    store_request_begin(scheduler->params.queues, STR_NULL, str_of(tally->name));
    tally->request =
        window_submit(scheduler->params.window, &(struct window_spec){.cls = WINDOW_STATUS,
                                                                      .method = KUBE_PATCH,
                                                                      .content = KUBE_MERGE_PATCH,
                                                                      .render = tally_render,
                                                                      .done = tally_done,
                                                                      .arg = tally});
}

/* ---- when ------------------------------------------------------------------------------------ */

static bool under_way(const struct scheduler *scheduler, const char *name)
{
    for (const struct list *link = scheduler->tallies.next; link != &scheduler->tallies;
         link = link->next)
        if (const_container_of(link, struct tally, link)->name == name)
            return true;
    return false;
}

/* Looks at one queue; true when it has to be looked at again. */
static bool look(struct scheduler *scheduler, const struct sched_queue *entry,
                 const struct resource_set *holds)
{
    const struct queue *queue =
        entry->uid ? store_get(scheduler->params.queues, STR_NULL, str_of(entry->name)) : NULL;
    if (!queue || says(queue, holds))
        return false;
    if (under_way(scheduler, entry->name))
        return true;
    tell(scheduler, queue, holds);
    return false;
}

static void look_at_all(void *arg)
{
    struct scheduler *scheduler = arg;
    sums all = {NULL, 0, 0};
    void *value;
    bool again = false;
    if (!scheduler->leading || !scheduler->ready || scheduler->stopping)
        return;
    add_up(&scheduler->cache, &all);
    for (size_t i = 0; map_next(&scheduler->cache.queues_by_name, &i, NULL, &value);) {
        const struct sched_queue *queue = value;
        again = look(scheduler, queue, sum_of(&all, queue)) || again;
    }
    for (size_t i = 0; i < all.n; i++)
        resource_set_clear(&all.items[i]);
    vec_clear(&all);
    if (again)
        tally_request(scheduler);
}

void tally_init(struct scheduler *scheduler)
{
    list_init(&scheduler->tallies);
    loop_timer_init(&scheduler->tally_timer, look_at_all, scheduler);
}

void tally_request(struct scheduler *scheduler)
{
    if (scheduler->leading && !loop_timer_active(&scheduler->tally_timer))
        loop_timer_set(scheduler->params.loop, &scheduler->tally_timer, TALLY_NS);
}

void tally_clear(struct scheduler *scheduler)
{
    loop_timer_cancel(scheduler->params.loop, &scheduler->tally_timer);
    list_each(link, &scheduler->tallies)
    {
        struct tally *tally = container_of(link, struct tally, link);
        (void)window_cancel(scheduler->params.window, tally->request);
        tally_free(tally);
    }
}
