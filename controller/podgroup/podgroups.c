/*
 * PodGroups for pods of others: see podgroups.h. An entry exists for each pod that lacks the
 * annotation. One of the pods of a group makes it; the others wait for that, and are then, like
 * it, given the annotation.
 */
#include "controller/podgroup/podgroups.h"
#include "api/names.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/map.h"
#include "controller/podgroup/content.h"
#include "loop/backoff.h"

/* An owner that is not known by then is taken to be gone. */
#define OWNER_PATIENCE (5 * NSEC_PER_SEC)
#define OWNER_PAUSE (NSEC_PER_SEC / 4)

struct podgroups {
    struct loop *loop;
    struct window *window;
    struct podgroups_stores stores;
    struct store_handler on_pods, on_podgroups, on_workloads[4];
    struct map entries;  /* UID -> struct pod_entry, owned */
    struct map creating; /* "namespace/name" of a PodGroup -> struct pod_entry that makes it */
    struct list dirty;
    struct loop_deferred pass;
    bool leading;
};

struct pod_entry {
    struct podgroups *podgroups;
    struct list link;    /* among the dirty ones, or the waiters of another */
    struct list waiters; /* pods of the group that this one makes */
    struct barepod *pod; /* borrowed from the store; NULL: gone, or it has its group */
    const char *uid, *ns, *name, *group; /* interned; group: name of its PodGroup */
    int64_t since_ns;
    struct window_request *request;
    struct loop_timer retry;
    struct backoff backoff;
    bool creates; /* the request makes the PodGroup */
};

static void mark(void *arg)
{
    struct pod_entry *entry = arg;

    list_remove(&entry->link);
    list_append(&entry->podgroups->dirty, &entry->link);
    loop_defer(entry->podgroups->loop, &entry->podgroups->pass);
}

/* ---- entries ----------------------------------------------------------------------------------
 */

static void write_group_key(struct buf *key, const struct pod_entry *entry)
{
    buf_printf(key, "%s/%s", entry->ns, entry->group);
}

static struct pod_entry *entry_new(struct podgroups *podgroups, const struct barepod *pod)
{
    const struct kube_meta *meta = &pod->meta;
    cleanup_buf struct buf group = BUF_INIT(1024);
    struct pod_entry *entry = xnew(struct pod_entry);

    buf_printf(&group, "podgroup-%s", meta->controller.uid ? meta->controller.uid : meta->uid);
    entry->podgroups = podgroups;
    entry->uid = intern_ref(meta->uid);
    entry->ns = intern_ref(meta->ns);
    entry->name = intern_ref(meta->name);
    entry->group = intern_get(buf_str(&group));
    entry->since_ns = loop_now(podgroups->loop);
    list_init(&entry->link);
    list_init(&entry->waiters);
    loop_timer_init(&entry->retry, mark, entry);
    backoff_init(&entry->backoff, NSEC_PER_SEC / 5, 30 * NSEC_PER_SEC);
    map_set(&podgroups->entries, str_of(meta->uid), entry);
    return entry;
}

static void entry_free(struct pod_entry *entry)
{
    if (entry->request)
        (void)window_cancel(entry->podgroups->window, entry->request);
    loop_timer_cancel(entry->podgroups->loop, &entry->retry);
    list_remove(&entry->link);
    list_remove(&entry->waiters);
    intern_put(entry->uid);
    intern_put(entry->ns);
    intern_put(entry->name);
    intern_put(entry->group);
    free(entry);
}

/* ---- what owners say --------------------------------------------------------------------------
 */

static struct store *owner_store(const struct podgroups *podgroups, const struct kube_owner *owner)
{
    const struct {
        const char *kind, *api_version;
        struct store *store;
    } kinds[] = {
        {"ReplicaSet", "apps/v1", podgroups->stores.replicasets},
        {"StatefulSet", "apps/v1", podgroups->stores.statefulsets},
        {"DaemonSet", "apps/v1", podgroups->stores.daemonsets},
        {"Job", "batch/v1", podgroups->stores.jobs},
    };

    for (size_t i = 0; owner->uid && i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(owner->kind, kinds[i].kind) == 0 &&
            strcmp(owner->api_version, kinds[i].api_version) == 0)
            return kinds[i].store;
    }
    return NULL;
}

static const struct workload *owner_of(const struct pod_entry *entry)
{
    const struct kube_owner *owner = &entry->pod->meta.controller;
    struct store *store = owner_store(entry->podgroups, owner);

    return store ? store_get_uid(store, str_of(owner->uid)) : NULL;
}

/* The watches of pods and owners are not in step. */
static bool owner_may_come(const struct pod_entry *entry)
{
    return owner_store(entry->podgroups, &entry->pod->meta.controller) && !owner_of(entry) &&
           loop_now(entry->podgroups->loop) - entry->since_ns < OWNER_PATIENCE;
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static bool render_group(struct buf *path, struct buf *body, void *arg)
{
    const struct pod_entry *entry = arg;

    if (!entry->pod)
        return false;
    buf_add_cstr(path, "/apis/" SCHEDULING_API_VERSION "/namespaces/");
    kube_escape(path, str_of(entry->ns));
    buf_add_cstr(path, "/podgroups");
    podgroup_content_write(body, entry->group, entry->pod, owner_of(entry));
    return true;
}

static bool render_pod(struct buf *path, struct buf *body, void *arg)
{
    const struct pod_entry *entry = arg;

    if (!entry->pod)
        return false;
    buf_add_cstr(path, "/api/v1/namespaces/");
    kube_escape(path, str_of(entry->ns));
    buf_add_cstr(path, "/pods/");
    kube_escape(path, str_of(entry->name));
    return buf_printf(
        body, "{\"metadata\":{\"uid\":\"%s\",\"annotations\":{\"" KEY_GROUP_NAME "\":\"%s\"}}}",
        entry->uid, entry->group);
}

static void release_waiters(struct pod_entry *entry)
{
    cleanup_buf struct buf key = BUF_INIT(1024);

    write_group_key(&key, entry);
    (void)map_del(&entry->podgroups->creating, buf_str(&key));
    entry->creates = false;
    while (!list_empty(&entry->waiters))
        mark(container_of(entry->waiters.next, struct pod_entry, link));
}

static void answered(const struct kube_result *result, void *arg)
{
    struct pod_entry *entry = arg;
    struct podgroups *podgroups = entry->podgroups;
    const enum error_class cls = result->error.cls;

    if (cls == ERROR_NONE)
        (void)store_apply(entry->creates ? podgroups->stores.podgroups : podgroups->stores.pods,
                          result->body);
    else if (!entry->creates && cls == ERROR_NOT_FOUND)
        store_forget(podgroups->stores.pods, str_of(entry->ns), str_of(entry->name),
                     str_of(entry->uid));
    entry->request = NULL;
    if (entry->creates)
        release_waiters(entry);
    if (cls == ERROR_NONE || !entry->pod) {
        mark(entry);
        return;
    }
    if (cls != ERROR_CANCELLED)
        log_warn("pod %s/%s: PodGroup %s: %s", entry->ns, entry->name, entry->group,
                 result->error.text);
    loop_timer_set(podgroups->loop, &entry->retry,
                   backoff_next(&entry->backoff, loop_rng(podgroups->loop)));
}

static void create_group(struct pod_entry *entry, struct str key)
{
    entry->creates = true;
    map_set(&entry->podgroups->creating, key, entry);
    entry->request =
        window_submit(entry->podgroups->window, &(struct window_spec){.cls = WINDOW_BIND,
                                                                      .method = KUBE_POST,
                                                                      .render = render_group,
                                                                      .done = answered,
                                                                      .arg = entry});
}

static void annotate(struct pod_entry *entry)
{
    entry->request = window_submit(entry->podgroups->window,
                                   &(struct window_spec){.cls = WINDOW_BIND,
                                                         .method = KUBE_PATCH,
                                                         .content = KUBE_STRATEGIC_PATCH,
                                                         .render = render_pod,
                                                         .done = answered,
                                                         .arg = entry});
}

static void look_at(struct pod_entry *entry)
{
    struct podgroups *podgroups = entry->podgroups;
    cleanup_buf struct buf key = BUF_INIT(1024);

    if (entry->request)
        return;
    if (!entry->pod) {
        (void)map_del(&podgroups->entries, str_of(entry->uid));
        entry_free(entry);
        return;
    }
    if (loop_timer_active(&entry->retry))
        return;
    write_group_key(&key, entry);
    struct pod_entry *creator = map_get(&podgroups->creating, buf_str(&key));
    if (store_get(podgroups->stores.podgroups, str_of(entry->ns), str_of(entry->group)))
        annotate(entry);
    else if (creator)
        list_append(&creator->waiters, &entry->link);
    else if (owner_may_come(entry))
        loop_timer_set(podgroups->loop, &entry->retry, OWNER_PAUSE);
    else
        create_group(entry, buf_str(&key));
}

static bool is_synced(const struct podgroups_stores *stores)
{
    const struct store *const owners[] = {stores->replicasets, stores->statefulsets,
                                          stores->daemonsets, stores->jobs};

    for (size_t i = 0; i < sizeof(owners) / sizeof(*owners); i++) {
        if (owners[i] && !store_synced(owners[i]))
            return false;
    }
    return store_synced(stores->pods) && store_synced(stores->podgroups);
}

static void run_pass(void *arg)
{
    struct podgroups *podgroups = arg;

    if (!podgroups->leading || !is_synced(&podgroups->stores))
        return;
    while (!list_empty(&podgroups->dirty)) {
        struct pod_entry *entry = container_of(podgroups->dirty.next, struct pod_entry, link);
        list_remove(&entry->link);
        look_at(entry);
    }
}

/* ---- changes ----------------------------------------------------------------------------------
 */

static bool lacks_group(const struct barepod *pod)
{
    const char *group = pod ? kube_pairs_get(&pod->meta.annotations, KEY_GROUP_NAME) : "-";

    return pod && !pod->meta.deleted_ns && !pod->ended && (!group || !*group);
}

static void pod_changed(void *arg, void *old_object, void *new_object)
{
    struct podgroups *podgroups = arg;
    struct barepod *old = old_object, *now = new_object;
    struct pod_entry *entry = map_get(&podgroups->entries, str_of((now ? now : old)->meta.uid));

    if (!entry && !lacks_group(now))
        return;
    if (!entry)
        entry = entry_new(podgroups, now);
    entry->pod = lacks_group(now) ? now : NULL;
    mark(entry);
}

static void list_complete(void *arg)
{
    struct podgroups *podgroups = arg;

    loop_defer(podgroups->loop, &podgroups->pass);
}

static void nothing_changed(void *arg, void *old_object, void *new_object)
{
    (void)arg;
    (void)old_object;
    (void)new_object;
}

/* ---- life -------------------------------------------------------------------------------------
 */

/* Lists whose end a pass waits for. */
static struct store *waited_for(const struct podgroups *podgroups, size_t i)
{
    struct store *const stores[] = {podgroups->stores.replicasets, podgroups->stores.statefulsets,
                                    podgroups->stores.daemonsets, podgroups->stores.jobs};

    return stores[i];
}

struct podgroups *podgroups_new(struct loop *loop, struct window *window,
                                const struct podgroups_stores *stores)
{
    struct podgroups *podgroups = xnew(struct podgroups);

    podgroups->loop = loop;
    podgroups->window = window;
    podgroups->stores = *stores;
    list_init(&podgroups->dirty);
    loop_deferred_init(&podgroups->pass, run_pass, podgroups);
    podgroups->on_pods =
        (struct store_handler){.changed = pod_changed, .synced = list_complete, .arg = podgroups};
    podgroups->on_podgroups = (struct store_handler){
        .changed = nothing_changed, .synced = list_complete, .arg = podgroups};
    store_subscribe(stores->pods, &podgroups->on_pods);
    store_subscribe(stores->podgroups, &podgroups->on_podgroups);
    for (size_t i = 0; i < 4; i++) {
        podgroups->on_workloads[i] = podgroups->on_podgroups;
        if (waited_for(podgroups, i))
            store_subscribe(waited_for(podgroups, i), &podgroups->on_workloads[i]);
    }
    return podgroups;
}

static void free_entry(void *value)
{
    entry_free(value);
}

void podgroups_free(struct podgroups *podgroups)
{
    if (!podgroups)
        return;
    store_unsubscribe(podgroups->stores.pods, &podgroups->on_pods);
    store_unsubscribe(podgroups->stores.podgroups, &podgroups->on_podgroups);
    for (size_t i = 0; i < 4; i++) {
        if (waited_for(podgroups, i))
            store_unsubscribe(waited_for(podgroups, i), &podgroups->on_workloads[i]);
    }
    loop_deferred_cancel(&podgroups->pass);
    map_clear_with(&podgroups->entries, free_entry);
    map_clear(&podgroups->creating);
    free(podgroups);
}

void podgroups_set_leading(struct podgroups *podgroups, bool leading)
{
    podgroups->leading = leading;
    loop_defer(podgroups->loop, &podgroups->pass);
}
