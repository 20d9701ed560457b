/*
 * Deleting finished jobs: see gc.h. An entry exists for each finished job with a TTL. It waits in a
 * heap until it is due, and then has one request at a time: a GET, whose answer goes through the
 * store (and may move or drop the entry), and the DELETE.
 */
#include "controller/gc/gc.h"
#include "api/job.h"
#include "api/names.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/map.h"
#include "loop/backoff.h"

struct gc {
    struct loop *loop;
    struct window *window;
    struct store *jobs;
    struct store_handler on_jobs;
    struct map entries;      /* UID -> struct gc_entry, owned */
    struct heap waiting;     /* by due time */
    struct loop_timer timer; /* at the first of them */
    uint64_t sequence;
    bool leading;
};

struct gc_entry {
    struct heap_node node;
    struct gc *gc;
    const char *uid, *ns, *name; /* interned */
    int64_t due_ns;              /* loop_now() time */
    uint64_t sequence;           /* order among equals */
    int64_t finished_ns;         /* what due_ns was made of */
    int32_t ttl_seconds;
    struct window_request *request;
    struct backoff backoff;
    bool gone;  /* to be forgotten when the request has ended */
    bool moved; /* to wait again when the request has ended */
};

static bool due_before(const struct heap_node *a, const struct heap_node *b, void *arg)
{
    const struct gc_entry *x = (const struct gc_entry *)(const void *)a;
    const struct gc_entry *y = (const struct gc_entry *)(const void *)b;

    (void)arg;
    _Static_assert(offsetof(struct gc_entry, node) == 0, "the node is the first member");
    return x->due_ns != y->due_ns ? x->due_ns < y->due_ns : x->sequence < y->sequence;
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

static void set_timer(struct gc *gc)
{
    struct heap_node *first = heap_peek(&gc->waiting);

    loop_timer_cancel(gc->loop, &gc->timer);
    if (first && gc->leading)
        loop_timer_set(gc->loop, &gc->timer,
                       container_of(first, struct gc_entry, node)->due_ns - loop_now(gc->loop));
}

/* Due in that time; while a request is under way it is put off until that has ended. */
static void wait_for(struct gc_entry *entry, int64_t delay_ns)
{
    struct gc *gc = entry->gc;

    entry->due_ns = loop_now(gc->loop) + delay_ns;
    entry->sequence = gc->sequence++;
    entry->moved = entry->request != NULL;
    heap_remove(&gc->waiting, &entry->node);
    if (!entry->moved)
        heap_push(&gc->waiting, &entry->node);
    set_timer(gc);
}

/* What is left of the TTL; all of it for a job that says nothing of when it finished, or that
 * finished in the future. */
static int64_t time_left(const struct gc *gc, const struct job *job)
{
    const int64_t ttl = job->ttl_seconds * NSEC_PER_SEC;
    const int64_t left = time_add(job->status.transition_ns, ttl) - loop_wall(gc->loop);

    if (job->status.transition_ns == 0 || left > ttl)
        return ttl;
    return left > 0 ? left : 0;
}

static void entry_free(struct gc_entry *entry)
{
    struct gc *gc = entry->gc;

    heap_remove(&gc->waiting, &entry->node);
    if (entry->request) {
        (void)window_cancel(gc->window, entry->request);
        store_request_end(gc->jobs, str_of(entry->ns), str_of(entry->name));
    }
    intern_put(entry->uid);
    intern_put(entry->ns);
    intern_put(entry->name);
    free(entry);
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static void write_path(const struct gc_entry *entry, struct buf *path)
{
    buf_add_cstr(path, "/apis/" BATCH_API_VERSION "/namespaces/");
    kube_escape(path, str_of(entry->ns));
    buf_add_cstr(path, "/jobs/");
    kube_escape(path, str_of(entry->name));
}

static bool render_get(struct buf *path, struct buf *body, void *arg)
{
    (void)body;
    write_path(arg, path);
    return true;
}

/* Not sent when the job has changed while the request waited. */
static bool render_delete(struct buf *path, struct buf *body, void *arg)
{
    const struct gc_entry *entry = arg;

    if (entry->gone || entry->moved)
        return false;
    write_path(entry, path);
    return buf_printf(body,
                      "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                      "\"propagationPolicy\":\"Foreground\",\"preconditions\":{\"uid\":\"%s\"}}",
                      entry->uid);
}

static void submit(struct gc_entry *entry, const struct window_spec *spec)
{
    struct gc *gc = entry->gc;

    heap_remove(&gc->waiting, &entry->node);
    store_request_begin(gc->jobs, str_of(entry->ns), str_of(entry->name));
    entry->request = window_submit(gc->window, spec);
}

/* The request is over, and the store knows what it told. True when the entry waits or is gone. */
static bool end_request(struct gc_entry *entry)
{
    struct gc *gc = entry->gc;

    entry->request = NULL;
    store_request_end(gc->jobs, str_of(entry->ns), str_of(entry->name));
    if (entry->gone) {
        (void)map_del(&gc->entries, str_of(entry->uid));
        entry_free(entry);
        return true;
    }
    if (!entry->moved)
        return false;
    wait_for(entry, entry->due_ns - loop_now(gc->loop));
    return true;
}

static void try_again(struct gc_entry *entry)
{
    if (!end_request(entry))
        wait_for(entry, backoff_next(&entry->backoff, loop_rng(entry->gc->loop)));
}

/* The end of a request that did not do what it should: gone, or to be tried again. */
static void failed(struct gc_entry *entry, const struct kube_result *result)
{
    struct gc *gc = entry->gc;

    if (result->error.cls == ERROR_NOT_FOUND || result->error.cls == ERROR_CONFLICT)
        store_forget(gc->jobs, str_of(entry->ns), str_of(entry->name), str_of(entry->uid));
    else if (result->error.cls != ERROR_CANCELLED)
        log_warn("job %s/%s: cannot be deleted after its TTL: %s", entry->ns, entry->name,
                 result->error.text);
    try_again(entry);
}

static void deleted(const struct kube_result *result, void *arg)
{
    struct gc_entry *entry = arg;

    if (result->error.cls != ERROR_NONE) {
        failed(entry, result);
        return;
    }
    log_info("job %s/%s: deleted %d s after it finished", entry->ns, entry->name,
             entry->ttl_seconds);
    store_apply_delete_answer(entry->gc->jobs, str_of(entry->ns), str_of(entry->name),
                              str_of(entry->uid), result->body);
    try_again(entry);
}

/* The store learns of the job as it is now, and tells us if that changes anything. */
static void looked_up(const struct kube_result *result, void *arg)
{
    struct gc_entry *entry = arg;

    if (result->error.cls != ERROR_NONE) {
        failed(entry, result);
        return;
    }
    (void)store_apply(entry->gc->jobs, result->body);
    if (end_request(entry))
        return;
    submit(entry, &(struct window_spec){.cls = WINDOW_DELETE,
                                        .method = KUBE_DELETE,
                                        .render = render_delete,
                                        .done = deleted,
                                        .arg = entry});
}

static void run_due(void *arg)
{
    struct gc *gc = arg;
    struct heap_node *first;

    while ((first = heap_peek(&gc->waiting))) {
        struct gc_entry *entry = container_of(first, struct gc_entry, node);
        if (entry->due_ns > loop_now(gc->loop))
            break;
        submit(entry, &(struct window_spec){.cls = WINDOW_DELETE,
                                            .method = KUBE_GET,
                                            .render = render_get,
                                            .done = looked_up,
                                            .arg = entry});
    }
    set_timer(gc);
}

/* ---- jobs -------------------------------------------------------------------------------------
 */

static void drop(struct gc *gc, const char *uid)
{
    struct gc_entry *entry = map_get(&gc->entries, str_of(uid));

    if (!entry)
        return;
    entry->gone = true;
    if (entry->request)
        return;
    (void)map_del(&gc->entries, str_of(uid));
    entry_free(entry);
    set_timer(gc);
}

static struct gc_entry *entry_new(struct gc *gc, const struct kube_meta *meta)
{
    struct gc_entry *entry = xnew(struct gc_entry);

    entry->gc = gc;
    entry->uid = intern_ref(meta->uid);
    entry->ns = intern_ref(meta->ns);
    entry->name = intern_ref(meta->name);
    backoff_init(&entry->backoff, NSEC_PER_SEC, 60 * NSEC_PER_SEC);
    map_set(&gc->entries, str_of(meta->uid), entry);
    return entry;
}

static void job_changed(void *arg, void *old_object, void *new_object)
{
    struct gc *gc = arg;
    const struct job *job = new_object ? new_object : old_object;
    struct gc_entry *entry = map_get(&gc->entries, str_of(job->meta.uid));

    if (!new_object || job->ttl_seconds < 0 || job->meta.deleted_ns ||
        !job_phase_finished(job->status.phase)) {
        drop(gc, job->meta.uid);
        return;
    }
    if (entry && !entry->gone && entry->ttl_seconds == job->ttl_seconds &&
        entry->finished_ns == job->status.transition_ns)
        return;
    if (!entry)
        entry = entry_new(gc, &job->meta);
    entry->ttl_seconds = job->ttl_seconds;
    entry->finished_ns = job->status.transition_ns;
    entry->gone = false;
    wait_for(entry, time_left(gc, job));
}

/* ---- life -------------------------------------------------------------------------------------
 */

struct gc *gc_new(struct loop *loop, struct window *window, struct store *jobs)
{
    struct gc *gc = xnew(struct gc);

    gc->loop = loop;
    gc->window = window;
    gc->jobs = jobs;
    heap_init(&gc->waiting, due_before, NULL);
    loop_timer_init(&gc->timer, run_due, gc);
    gc->on_jobs = (struct store_handler){.changed = job_changed, .arg = gc};
    store_subscribe(jobs, &gc->on_jobs);
    return gc;
}

static void free_entry(void *value)
{
    entry_free(value);
}

void gc_free(struct gc *gc)
{
    if (!gc)
        return;
    store_unsubscribe(gc->jobs, &gc->on_jobs);
    map_clear_with(&gc->entries, free_entry);
    heap_clear(&gc->waiting);
    loop_timer_cancel(gc->loop, &gc->timer);
    free(gc);
}

void gc_set_leading(struct gc *gc, bool leading)
{
    gc->leading = leading;
    set_timer(gc);
}
