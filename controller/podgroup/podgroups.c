/*
 * PodGroups for pods of others: see podgroups.h. What changes marks the groups that it concerns;
 * a pass looks at these.
 */
#include "controller/podgroup/podgroups.h"
#include "api/names.h"
#include "controller/podgroup/private.h"

#define PASS_SLICE (5 * NSEC_PER_MSEC)

/* ---- owners -----------------------------------------------------------------------------------
 */

static const struct {
    const char *kind, *api_version;
} kinds[PODGROUPS_KINDS] = {
    {"ReplicaSet", "apps/v1"},
    {"StatefulSet", "apps/v1"},
    {"DaemonSet", "apps/v1"},
    {"Job", "batch/v1"},
};

static struct store *workloads(const struct podgroups *podgroups, size_t kind)
{
    struct store *const stores[PODGROUPS_KINDS] = {
        podgroups->stores.replicasets, podgroups->stores.statefulsets, podgroups->stores.daemonsets,
        podgroups->stores.jobs};

    return stores[kind];
}

struct store *podgroups_owners(const struct podgroups *podgroups, const struct kube_owner *owner)
{
    for (size_t i = 0; owner->uid && i < PODGROUPS_KINDS; i++) {
        if (strcmp(owner->kind, kinds[i].kind) == 0 &&
            strcmp(owner->api_version, kinds[i].api_version) == 0)
            return workloads(podgroups, i);
    }
    return NULL;
}

/* ---- passes -----------------------------------------------------------------------------------
 */

static bool is_synced(const struct podgroups *podgroups)
{
    for (size_t i = 0; i < PODGROUPS_KINDS; i++) {
        if (workloads(podgroups, i) && !store_synced(workloads(podgroups, i)))
            return false;
    }
    for (size_t i = 0; i < podgroups->sources.n; i++) {
        if (!store_synced(podgroups->sources.items[i]->pods))
            return false;
    }
    return store_synced(podgroups->stores.podgroups);
}

static void run_pass(void *arg)
{
    struct podgroups *podgroups = arg;
    const int64_t end = loop_now_fresh(podgroups->loop) + PASS_SLICE;

    if (!podgroups->leading || !is_synced(podgroups))
        return;
    while (!list_empty(&podgroups->dirty)) {
        struct group *group = container_of(podgroups->dirty.next, struct group, dirty_link);
        list_remove(&group->dirty_link);
        group_look_at(group);
        if (loop_now_fresh(podgroups->loop) >= end)
            break;
    }
    if (!list_empty(&podgroups->dirty))
        loop_defer(podgroups->loop, &podgroups->pass);
}

/* ---- changes ----------------------------------------------------------------------------------
 */

static void pod_changed(void *arg, void *old_object, void *new_object)
{
    member_changed(arg, old_object, new_object);
}

/* The PodGroup "podgroup-<UID>" is to be looked at, if there is one. */
static void mark_group_of(struct podgroups *podgroups, const char *ns, const char *uid)
{
    cleanup_buf struct buf name = BUF_INIT(1024);

    buf_printf(&name, "podgroup-%s", uid);
    if (!podgroups_has(podgroups, ns, name.p))
        return;
    if (store_get(podgroups->stores.podgroups, str_of(ns), buf_str(&name)))
        group_mark(group_get(podgroups, ns, buf_str(&name)));
}

static void workload_changed(void *arg, void *old_object, void *new_object)
{
    const struct workload *now = new_object;

    (void)old_object;
    if (now)
        mark_group_of(arg, now->meta.ns, now->meta.uid);
}

/* Those of workloads, when they come, and all of ours when they go. */
static void group_changed(void *arg, void *old_object, void *new_object)
{
    struct podgroups *podgroups = arg;
    const struct podgroup *old = old_object, *now = new_object;
    cleanup_buf struct buf key = BUF_INIT(1024);

    if (!old == !now)
        return; /* it is there as before */
    const struct kube_meta *meta = now ? &now->meta : &old->meta;
    buf_printf(&key, "%s/%s", meta->ns, meta->name);
    struct group *group = map_get(&podgroups->groups, buf_str(&key));
    if (group)
        group_mark(group);
    else if (now && podgroups_owners(podgroups, &meta->controller))
        mark_group_of(podgroups, meta->ns, meta->controller.uid);
}

static void list_complete(void *arg)
{
    struct podgroups *podgroups = arg;

    loop_defer(podgroups->loop, &podgroups->pass);
}

static void source_complete(void *arg)
{
    const struct pods_source *source = arg;

    list_complete(source->podgroups);
}

/* ---- life -------------------------------------------------------------------------------------
 */

struct podgroups *podgroups_new(struct loop *loop, struct window *window,
                                const struct podgroups_stores *stores,
                                const struct podgroups_rules *rules)
{
    struct podgroups *podgroups = xnew(struct podgroups);

    podgroups->loop = loop;
    podgroups->window = window;
    podgroups->stores = *stores;
    podgroups->rules = *rules;
    list_init(&podgroups->dirty);
    loop_deferred_init(&podgroups->pass, run_pass, podgroups);
    podgroups->on_podgroups =
        (struct store_handler){.changed = group_changed, .synced = list_complete, .arg = podgroups};
    store_subscribe(stores->podgroups, &podgroups->on_podgroups);
    for (size_t i = 0; i < PODGROUPS_KINDS; i++) {
        podgroups->on_workloads[i] = (struct store_handler){
            .changed = workload_changed, .synced = list_complete, .arg = podgroups};
        if (workloads(podgroups, i))
            store_subscribe(workloads(podgroups, i), &podgroups->on_workloads[i]);
    }
    return podgroups;
}

void podgroups_add_pods(struct podgroups *podgroups, struct store *pods)
{
    struct pods_source *source = xnew(struct pods_source);

    source->podgroups = podgroups;
    source->pods = pods;
    source->handler =
        (struct store_handler){.changed = pod_changed, .synced = source_complete, .arg = source};
    vec_push(&podgroups->sources, source);
    store_subscribe(pods, &source->handler);
}

static void free_member(void *value)
{
    member_free(value);
}

static void free_group(void *value)
{
    group_free(value);
}

void podgroups_free(struct podgroups *podgroups)
{
    if (!podgroups)
        return;
    store_unsubscribe(podgroups->stores.podgroups, &podgroups->on_podgroups);
    for (size_t i = 0; i < PODGROUPS_KINDS; i++) {
        if (workloads(podgroups, i))
            store_unsubscribe(workloads(podgroups, i), &podgroups->on_workloads[i]);
    }
    for (size_t i = 0; i < podgroups->sources.n; i++) {
        store_unsubscribe(podgroups->sources.items[i]->pods, &podgroups->sources.items[i]->handler);
        free(podgroups->sources.items[i]);
    }
    vec_clear(&podgroups->sources);
    loop_deferred_cancel(&podgroups->pass);
    map_clear_with(&podgroups->members, free_member);
    map_clear_with(&podgroups->groups, free_group);
    free(podgroups);
}

/* ---- shards -----------------------------------------------------------------------------------
 */

void podgroups_adopt(struct podgroups *podgroups, shard_set set)
{
    void *object;

    for (size_t i = 0; i < podgroups->sources.n; i++) {
        struct pods_source *source = podgroups->sources.items[i];
        for (size_t k = 0; (object = store_next(source->pods, &k));) {
            const struct barepod *pod = object;
            if (!map_has(&podgroups->members, str_of(pod->meta.uid)))
                member_changed(source, NULL, object);
        }
    }
    for (size_t i = 0; (object = store_next(podgroups->stores.podgroups, &i));) {
        const struct podgroup *podgroup = object;
        if (shard_in(set, shard_of(podgroup->meta.ns, podgroup->meta.name)))
            group_changed(podgroups, NULL, object);
    }
    loop_defer(podgroups->loop, &podgroups->pass);
}

void podgroups_let_go(struct podgroups *podgroups, shard_set set)
{
    void *value;

    for (size_t i = 0; map_next(&podgroups->members, &i, NULL, &value);) {
        struct member *member = value;
        if (!shard_in(set, member->group->shard))
            continue;
        (void)map_del(&podgroups->members, str_of(member->uid));
        member_free(member);
    }
    for (size_t i = 0; map_next(&podgroups->groups, &i, NULL, &value);) {
        struct group *group = value;
        if (shard_in(set, group->shard))
            group_forget(group);
    }
}

void podgroups_set_leading(struct podgroups *podgroups, bool leading)
{
    podgroups->leading = leading;
    loop_defer(podgroups->loop, &podgroups->pass);
}
