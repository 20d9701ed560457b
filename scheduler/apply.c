/*
 * Handlers of the stores, and what their changes do to the cache. See apply.h.
 *
 * Pods and nodes travel as counted references; of the other kinds only the name is kept, and the
 * store's present version is applied, so a change may be applied twice without harm.
 */
#include "scheduler/apply.h"
#include "api/namespace.h"
#include "base/intern.h"
#include "scheduler/bind.h"
#include "scheduler/evict/evictor.h"
#include "scheduler/metrics.h"
#include "scheduler/minimum.h"
#include "scheduler/queues.h"
#include "scheduler/tally.h"
#include "scheduler/volumes/volumes.h"
#include "scheduler/waiting.h"
#include "scheduler/why.h"

/* ---- handlers -------------------------------------------------------------------------------- */

static void node_changed(void *arg, void *old_object, void *new_object)
{
    struct node *node = new_object;
    const struct node *named = new_object ? new_object : old_object;
    scheduler_change(arg, (struct change){.kind = CHANGE_NODE,
                                          .object = node ? node_ref(node) : NULL,
                                          .key = intern_ref(named->meta.name)});
}

static void pod_changed(void *arg, void *old_object, void *new_object)
{
    struct pod *pod = new_object;
    const struct pod *named = new_object ? new_object : old_object;
    scheduler_change(arg, (struct change){.kind = CHANGE_POD,
                                          .object = pod ? pod_ref(pod) : NULL,
                                          .key = intern_ref(named->meta.uid)});
}

static void named_changed(struct scheduler *scheduler, enum change_kind kind,
                          const struct kube_meta *meta)
{
    scheduler_change(
        scheduler,
        (struct change){.kind = kind, .ns = intern_ref(meta->ns), .key = intern_ref(meta->name)});
}

static void podgroup_changed(void *arg, void *old_object, void *new_object)
{
    named_changed(arg, CHANGE_PODGROUP, new_object ? new_object : old_object);
}

static void queue_changed(void *arg, void *old_object, void *new_object)
{
    named_changed(arg, CHANGE_QUEUE, new_object ? new_object : old_object);
}

static void priorityclass_changed(void *arg, void *old_object, void *new_object)
{
    named_changed(arg, CHANGE_PRIORITIES, new_object ? new_object : old_object);
}

static void namespace_changed(void *arg, void *old_object, void *new_object)
{
    named_changed(arg, CHANGE_NAMESPACE, new_object ? new_object : old_object);
}

static void claim_changed(void *arg, void *old_object, void *new_object)
{
    named_changed(arg, CHANGE_CLAIM, new_object ? new_object : old_object);
}

static void volume_changed(void *arg, void *old_object, void *new_object)
{
    named_changed(arg, CHANGE_VOLUME, new_object ? new_object : old_object);
}

static void storageclass_changed(void *arg, void *old_object, void *new_object)
{
    named_changed(arg, CHANGE_STORAGECLASS, new_object ? new_object : old_object);
}

static void csinode_changed(void *arg, void *old_object, void *new_object)
{
    named_changed(arg, CHANGE_CSINODE, new_object ? new_object : old_object);
}

static void quota_changed(void *arg, void *old_object, void *new_object)
{
    named_changed(arg, CHANGE_QUOTA, new_object ? new_object : old_object);
}

static void budget_changed(void *arg, void *old_object, void *new_object)
{
    named_changed(arg, CHANGE_BUDGET, new_object ? new_object : old_object);
}

static void store_synced_now(void *arg)
{
    struct scheduler *scheduler = arg;
    loop_defer(scheduler->params.loop, &scheduler->synced);
}

/* Behind the changes that made up the list. */
static void quotas_synced(void *arg)
{
    scheduler_change(arg, (struct change){.kind = CHANGE_QUOTAS_KNOWN});
    store_synced_now(arg);
}

static void budgets_synced(void *arg)
{
    scheduler_change(arg, (struct change){.kind = CHANGE_BUDGETS_KNOWN});
    store_synced_now(arg);
}

static bool all_synced(const struct scheduler *scheduler)
{
    const struct scheduler_params *params = &scheduler->params;
    const struct store *stores[] = {params->pods,
                                    params->nodes,
                                    params->podgroups,
                                    params->queues,
                                    params->claims,
                                    params->budgets,
                                    params->priorityclasses,
                                    params->namespaces,
                                    params->csinodes,
                                    params->resourcequotas,
                                    params->storageclasses,
                                    params->persistent_volumes};
    for (size_t i = 0; i < ARRAY_SIZE(stores); i++)
        if (stores[i] && !store_synced(stores[i]))
            return false;
    return true;
}

static void check_ready(void *arg)
{
    struct scheduler *scheduler = arg;
    if (scheduler->ready || !all_synced(scheduler))
        return;
    scheduler->ready = true;
    cache_priorities_changed(&scheduler->cache);
    cache_tell_queues(&scheduler->cache);
    queues_check(scheduler);
    scheduler_wake(scheduler);
}

static void subscribe_quotas(struct scheduler *scheduler)
{
    scheduler->quota_handler =
        (struct store_handler){.changed = quota_changed, .synced = quotas_synced, .arg = scheduler};
    store_subscribe(scheduler->params.resourcequotas, &scheduler->quota_handler);
}

static void subscribe_budgets(struct scheduler *scheduler)
{
    scheduler->budget_handler = (struct store_handler){
        .changed = budget_changed, .synced = budgets_synced, .arg = scheduler};
    store_subscribe(scheduler->params.budgets, &scheduler->budget_handler);
}

void apply_init(struct scheduler *scheduler)
{
    const struct scheduler_params *params = &scheduler->params;
    const struct {
        struct store *store;
        void (*changed)(void *arg, void *old_object, void *new_object);
    } sources[] = {{params->priorityclasses, priorityclass_changed},
                   {params->queues, queue_changed},
                   {params->namespaces, namespace_changed},
                   {params->storageclasses, storageclass_changed},
                   {params->csinodes, csinode_changed},
                   {params->persistent_volumes, volume_changed},
                   {params->claims, claim_changed},
                   {params->nodes, node_changed},
                   {params->podgroups, podgroup_changed},
                   {params->pods, pod_changed}};
    loop_deferred_init(&scheduler->synced, check_ready, scheduler);
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
        scheduler->handlers[i] = (struct store_handler){
            .changed = sources[i].changed, .synced = store_synced_now, .arg = scheduler};
        list_init(&scheduler->handlers[i].link);
        if (sources[i].store)
            store_subscribe(sources[i].store, &scheduler->handlers[i]);
    }
    if (params->resourcequotas)
        subscribe_quotas(scheduler);
    if (params->budgets)
        subscribe_budgets(scheduler);
}

void scheduler_follow_quotas(struct scheduler *scheduler, struct store *resourcequotas)
{
    if (scheduler->params.resourcequotas)
        return;
    scheduler->params.resourcequotas = resourcequotas;
    subscribe_quotas(scheduler);
}

void scheduler_follow_budgets(struct scheduler *scheduler, struct store *budgets)
{
    if (scheduler->params.budgets)
        return;
    scheduler->params.budgets = budgets;
    subscribe_budgets(scheduler);
}

void apply_clear(struct scheduler *scheduler)
{
    if (scheduler->params.resourcequotas)
        list_remove(&scheduler->quota_handler.link);
    if (scheduler->params.budgets)
        list_remove(&scheduler->budget_handler.link);
    for (size_t i = 0; i < ARRAY_SIZE(scheduler->handlers); i++)
        list_remove(&scheduler->handlers[i].link);
    loop_deferred_cancel(&scheduler->synced);
}

/* ---- changes --------------------------------------------------------------------------------- */

static bool apply_pod(struct scheduler *scheduler, const struct change *change)
{
    const struct cache *cache = &scheduler->cache;
    bool known = !scheduler->ready || cache_task(cache, change->key);
    bool matters = cache_set_pod(&scheduler->cache, change->key, change->object);
    const struct sched_task *task = known ? NULL : cache_task(cache, change->key);
    evictor_pod_changed(scheduler, change->key);
    if (task && task->job && task->status == TASK_PENDING)
        metrics_pod(scheduler, task->pod, METRICS_POD_WATCHED);
    return matters;
}

static bool apply_podgroup(struct scheduler *scheduler, const struct change *change)
{
    const struct podgroup *podgroup =
        store_get(scheduler->params.podgroups, str_of(change->ns), str_of(change->key));
    return cache_set_podgroup(&scheduler->cache, change->ns, change->key, podgroup);
}

static bool apply_queue(struct scheduler *scheduler, const struct change *change)
{
    const struct queue *queue = store_get(scheduler->params.queues, STR_NULL, str_of(change->key));
    bool changed = cache_set_queue(&scheduler->cache, change->key, queue);
    if (scheduler->ready)
        cache_tell_queues(&scheduler->cache);
    if (!queue)
        queues_check(scheduler);
    tally_request(scheduler); /* its status may say something else now */
    return changed;
}

static bool apply_namespace(struct scheduler *scheduler, const struct change *change)
{
    const struct namespace_labels *space =
        store_get(scheduler->params.namespaces, STR_NULL, str_of(change->key));
    return cache_set_namespace(&scheduler->cache, change->key, space ? &space->meta.labels : NULL);
}

/* What is known of volumes has changed. */
static bool apply_storage(struct scheduler *scheduler, const struct change *change)
{
    const struct scheduler_params *params = &scheduler->params;
    struct volumes *volumes = scheduler->cache.volumes;
    struct str ns = str_of(change->ns), key = str_of(change->key);
    bool room = false;
    if (change->kind == CHANGE_CLAIM)
        room =
            volumes_set_claim(volumes, change->ns, change->key, store_get(params->claims, ns, key));
    else if (change->kind == CHANGE_VOLUME)
        room = volumes_set_volume(volumes, change->key,
                                  store_get(params->persistent_volumes, STR_NULL, key));
    else if (change->kind == CHANGE_STORAGECLASS)
        room = volumes_set_class(volumes, change->key,
                                 store_get(params->storageclasses, STR_NULL, key));
    else
        room =
            volumes_set_csinode(volumes, change->key, store_get(params->csinodes, STR_NULL, key));
    if (room)
        cache_room(&scheduler->cache);
    return room;
}

static bool apply_quota(struct scheduler *scheduler, const struct change *change)
{
    struct resourcequota *quota =
        store_get(scheduler->params.resourcequotas, str_of(change->ns), str_of(change->key));
    return cache_set_quota(&scheduler->cache, change->ns, change->key, quota);
}

/* True when somebody waits whom it may help. */
static bool apply_budget(struct scheduler *scheduler, const struct change *change)
{
    struct poddisruptionbudget *budget =
        store_get(scheduler->params.budgets, str_of(change->ns), str_of(change->key));
    return cache_set_budget(&scheduler->cache, change->ns, change->key, budget) &&
           !list_empty(&scheduler->cache.place);
}

/* The reason for which a job waits may be replaced now: it is tried once more, to hear it. */
static void renew_why(struct sched_job *job, int64_t now)
{
    if (why_due_time(job) > now)
        return;
    job->why.passed_over = false;
    job->failed_at = UINT64_MAX;
    cache_ask_again(job);
}

/* Tasks whose back-off is over may be placed again, and a job whose time has come be asked for. */
static bool apply_job(struct scheduler *scheduler, const struct change *change)
{
    struct cache *cache = &scheduler->cache;
    struct sched_job *job = cache_job(cache, change->ns, change->key);
    int64_t now = loop_now(scheduler->params.loop);
    if (!job)
        return false;
    if (job->count[TASK_HELD])
        list_each(link, &job->tasks)
        {
            struct sched_task *task = container_of(link, struct sched_task, link);
            if (task->status != TASK_HELD || task->held_until_ns > now)
                continue;
            cache_set_task(cache, task, TASK_PENDING, NULL);
            job->failed_at = UINT64_MAX;
        }
    renew_why(job, now);
    minimum_look(job);
    waiting_look(job);
    if (config_job_due(scheduler->config, job) <= loop_wall(scheduler->params.loop))
        cache_ask_again(job);
    cache_dirty(cache, job);
    return true;
}

static bool apply_kind(struct scheduler *scheduler, const struct change *change)
{
    switch (change->kind) {
    case CHANGE_NODE:
        return cache_set_node(&scheduler->cache, change->key, change->object);
    case CHANGE_POD:
        return apply_pod(scheduler, change);
    case CHANGE_PODGROUP:
        return apply_podgroup(scheduler, change);
    case CHANGE_QUEUE:
        return apply_queue(scheduler, change);
    case CHANGE_PRIORITIES:
        if (scheduler->ready)
            cache_priorities_changed(&scheduler->cache);
        return scheduler->ready;
    case CHANGE_NAMESPACE:
        return apply_namespace(scheduler, change);
    case CHANGE_CLAIM:
    case CHANGE_VOLUME:
    case CHANGE_STORAGECLASS:
    case CHANGE_CSINODE:
        return apply_storage(scheduler, change);
    case CHANGE_QUOTA:
        return apply_quota(scheduler, change);
    case CHANGE_QUOTAS_KNOWN:
        cache_quotas_known(&scheduler->cache);
        return true;
    case CHANGE_BUDGET:
        return apply_budget(scheduler, change);
    case CHANGE_BUDGETS_KNOWN:
        cache_budgets_known(&scheduler->cache);
        return true;
    case CHANGE_JOB:
        return apply_job(scheduler, change);
    case CHANGE_BOUND:
    case CHANGE_UNBOUND:
    case CHANGE_BIND_FAILED:
        return bind_settle(scheduler, change);
    case CHANGE_SPARED:
        return evictor_spare(scheduler, change);
    }
    return false;
}

void apply_change(struct scheduler *scheduler, struct change *change)
{
    bool matters = apply_kind(scheduler, change);
    if (change->kind == CHANGE_NODE)
        node_unref(change->object);
    else if (change->kind == CHANGE_POD)
        pod_unref(change->object);
    intern_put(change->ns);
    intern_put(change->key);
    if (matters)
        scheduler_wake(scheduler);
}
