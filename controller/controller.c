/*
 * The controller's stores, handlers and passes: see controller.h.
 */
#include "controller/controller.h"
#include "api/barepod.h"
#include "api/names.h"
#include "api/priorityclass.h"
#include "api/queue.h"
#include "api/workload.h"
#include "base/intern.h"
#include "controller/gc/gc.h"
#include "controller/job/alive.h"
#include "controller/job/commands.h"
#include "controller/job/control.h"
#include "controller/job/explain.h"
#include "controller/job/metrics.h"
#include "controller/options.h"
#include "controller/podgroup/podgroups.h"
#include "controller/queue/queues.h"

/* A pass yields to the loop after this long, so that leases and health are served meanwhile. */
#define PASS_SLICE (5 * NSEC_PER_MSEC)

/* ---- which job an object belongs to ------------------------------------------------------------
 */

static bool owned_by_job(const struct kube_meta *meta)
{
    const struct kube_owner *owner = &meta->controller;

    return owner->uid && strcmp(owner->kind, "Job") == 0 &&
           strcmp(owner->api_version, BATCH_API_VERSION) == 0;
}

static struct job_control *current_job(struct controller *controller, const char *ns,
                                       const char *name)
{
    cleanup_buf struct buf key = BUF_INIT(1024);

    buf_printf(&key, "%s/%s", ns, name);
    return map_get(&controller->by_name, buf_str(&key));
}

static void set_current_job(struct controller *controller, const struct kube_meta *meta,
                            struct job_control *control)
{
    cleanup_buf struct buf key = BUF_INIT(1024);

    buf_printf(&key, "%s/%s", meta->ns, meta->name);
    if (control)
        map_set(&controller->by_name, buf_str(&key), control);
    else
        map_del(&controller->by_name, buf_str(&key));
}

/* ---- handlers ----------------------------------------------------------------------------------
 */

/* The job whose PodGroup this is: it owns it, and it has the name that we give. */
static struct job_control *owner_of_group(struct controller *controller,
                                          const struct podgroup *podgroup)
{
    const struct kube_meta *meta = &podgroup->meta;
    cleanup_buf struct buf name = BUF_INIT(1024);
    struct job_control *control;

    if (!owned_by_job(meta))
        return NULL;
    control = map_get(&controller->by_uid, str_of(meta->controller.uid));
    if (!control)
        return NULL;
    buf_printf(&name, "%s-%s", control->name, control->uid);
    return control->ns == meta->ns && str_eq(buf_str(&name), str_of(meta->name)) ? control : NULL;
}

static struct podgroup *find_group(struct controller *controller, const struct job *job)
{
    cleanup_buf struct buf name = BUF_INIT(1024);
    struct podgroup *podgroup;

    buf_printf(&name, "%s-%s", job->meta.name, job->meta.uid);
    podgroup = store_get(controller->podgroups, str_of(job->meta.ns), buf_str(&name));
    return podgroup && owner_of_group(controller, podgroup) ? podgroup : NULL;
}

static void job_gone(struct controller *controller, const struct job *job)
{
    struct job_control *control = map_get(&controller->by_uid, str_of(job->meta.uid));

    set_current_job(controller, &job->meta, NULL);
    job_metrics_gone(controller, job);
    if (!control)
        return;
    commands_let_go(control);
    job_control_set_job(control, NULL, true);
}

static bool spec_changed(const struct job *old, const struct job *now)
{
    return !old || old->meta.generation != now->meta.generation ||
           !kube_pairs_equal(&old->meta.labels, &now->meta.labels) ||
           !kube_pairs_equal(&old->meta.annotations, &now->meta.annotations);
}

void controller_see_job(struct controller *controller, struct job *old, struct job *now)
{
    if (!now) {
        job_gone(controller, old);
        return;
    }
    if (!shard_in(controller->shards, shard_of(now->meta.ns, now->meta.name)))
        return;
    struct job_control *control =
        job_control_get(controller, now->meta.uid, now->meta.ns, now->meta.name);
    set_current_job(controller, &now->meta, control);
    if (!old) {
        control->podgroup = find_group(controller, now);
        control->flow.since_ns = loop_now(controller->loop);
        commands_attach(control);
        if (!now->status.fresh && controller->sharded)
            alive_take_over(control); /* another may have had it until now */
        else if (!now->status.fresh)  /* what it had may be gone already */
            alive_doubt(control);
    }
    job_control_set_job(control, now, spec_changed(old, now));
    if (!old)
        troubles_adopt(control);
}

static void job_changed(void *arg, void *old_object, void *new_object)
{
    controller_see_job(arg, old_object, new_object);
}

/* A job of this name may be waiting for the name of a pod that is gone or has lost its owner. */
static void wake_namesake(struct controller *controller, const struct podstate *pod)
{
    struct job_control *namesake = current_job(controller, pod->meta.ns, pod->job_name);

    if (namesake)
        job_control_mark(namesake);
}

bool controller_has_pod(const struct podstate *pod, shard_set set)
{
    return owned_by_job(&pod->meta) &&
           shard_in(set, shard_of(pod->meta.ns, pod->meta.controller.name));
}

/* Owners come and go: a job that is deleted with its pods orphaned, or an edit by hand. */
void controller_see_pod(struct controller *controller, struct podstate *old, struct podstate *now)
{
    struct job_control *before = NULL, *after = NULL;

    if (old && owned_by_job(&old->meta))
        before = map_get(&controller->by_uid, str_of(old->meta.controller.uid));
    if (now && controller_has_pod(now, controller->shards))
        after = job_control_get(controller, now->meta.controller.uid, now->meta.ns,
                                now->meta.controller.name);
    if (before == after) {
        if (after)
            job_control_set_pod(after, old, now);
    } else {
        if (before)
            job_control_set_pod(before, old, NULL);
        if (after)
            job_control_set_pod(after, NULL, now);
    }
    if (old && !after)
        wake_namesake(controller, old);
}

static void pod_changed(void *arg, void *old_object, void *new_object)
{
    controller_see_pod(arg, old_object, new_object);
}

static void group_changed(void *arg, void *old_object, void *new_object)
{
    struct controller *controller = arg;
    struct podgroup *old = old_object, *now = new_object;
    struct job_control *before = old ? owner_of_group(controller, old) : NULL;
    struct job_control *after = now ? owner_of_group(controller, now) : NULL;

    if (before) {
        before->podgroup = NULL;
        if (before != after)
            alive_doubt(before);
        job_control_mark(before);
    }
    if (after) {
        after->podgroup = now;
        job_control_mark(after);
    }
}

static void command_changed(void *arg, void *old_object, void *new_object)
{
    struct controller *controller = arg;

    commands_changed(controller, old_object, new_object);
    loop_defer(controller->loop, &controller->pass);
}

static void priority_changed(void *arg, void *old_object, void *new_object)
{
    struct controller *controller = arg;
    void *value;

    (void)old_object;
    (void)new_object;
    /* Which tasks come first in minResources may have changed. */
    for (size_t i = 0; map_next(&controller->by_uid, &i, NULL, &value);) {
        struct job_control *control = value;
        control->min_resources_known = false;
        job_control_mark(control);
    }
}

/* ---- passes ------------------------------------------------------------------------------------
 */

/* A job that is gone can be forgotten without leading; everything else needs the lease. */
static void look_at(struct controller *controller, struct job_control *control)
{
    if (controller->leading || !control->job)
        job_reconcile(control);
}

/* What is decided about jobs is read from these; each tells when it is complete. */
static bool lists_complete(const struct controller *controller)
{
    return store_synced(controller->jobs) && store_synced(controller->pods) &&
           store_synced(controller->podgroups) && store_synced(controller->priorityclasses) &&
           store_synced(controller->commands);
}

static void run_pass(void *arg)
{
    struct controller *controller = arg;
    int64_t end = loop_now_fresh(controller->loop) + PASS_SLICE;

    if (controller->stopping || !lists_complete(controller))
        return;
    if (controller->leading)
        commands_sweep(controller);
    while (!list_empty(&controller->dirty)) {
        struct job_control *control =
            container_of(controller->dirty.next, struct job_control, dirty_link);
        list_remove(&control->dirty_link);
        control->dirty = false;
        look_at(controller, control);
        if (loop_now_fresh(controller->loop) >= end)
            break;
    }
    if (!list_empty(&controller->dirty))
        loop_defer(controller->loop, &controller->pass);
}

static void list_complete(void *arg)
{
    struct controller *controller = arg;

    loop_defer(controller->loop, &controller->pass);
}

void controller_set_leading(struct controller *controller, bool leading)
{
    void *control;

    if (!controller->sharded)
        controller->leading = leading && !controller->jobs_off;
    gc_set_leading(controller->gc, leading && !controller->garbage_off);
    queues_set_leading(controller->queue_control, leading && !controller->queues_off);
    if (controller->bare_pods && !controller->sharded)
        podgroups_set_leading(controller->bare_pods, leading);
    if (!controller->sharded)
        job_metrics_shards(controller, leading ? SHARDS_ALL : SHARDS_NONE);
    commands_sweep_later(controller);
    loop_defer(controller->loop, &controller->pass);
    for (size_t i = 0; map_next(&controller->by_uid, &i, NULL, &control);)
        job_control_mark(control);
}

bool controller_ready(const struct controller *controller)
{
    return informers_synced(&controller->informers);
}

void controller_missing(struct controller *controller, struct buf *missing)
{
    informers_missing(&controller->informers, missing);
}

void controller_watches(const struct controller *controller, informers_watch_fn *see, void *arg)
{
    informers_watches(&controller->informers, see, arg);
}

/* ---- life --------------------------------------------------------------------------------------
 */

static void follow(struct controller *controller)
{
    static const struct reflector_spec jobs = {.path = PATH_JOBS};
    static const struct reflector_spec pods = {.path = PATH_PODS, .label_selector = KEY_JOB_NAME};
    static const struct reflector_spec podgroups = {.path = PATH_PODGROUPS};
    static const struct reflector_spec priorityclasses = {.path = PATH_PRIORITYCLASSES};
    static const struct reflector_spec commands = {.path = PATH_COMMANDS};
    struct informers *informers = &controller->informers;

    controller->commands = informers_add(informers, &command_store_type, &commands);
    controller->priorityclasses =
        informers_add(informers, &priorityclass_store_type, &priorityclasses);
    controller->podgroups = informers_add(informers, &podgroup_store_type, &podgroups);
    controller->pods = informers_add(informers, &podstate_store_type, &pods);
    controller->jobs = informers_add(informers, &job_store_type, &jobs);
    controller->on_jobs =
        (struct store_handler){.changed = job_changed, .synced = list_complete, .arg = controller};
    controller->on_pods =
        (struct store_handler){.changed = pod_changed, .synced = list_complete, .arg = controller};
    controller->on_podgroups = (struct store_handler){
        .changed = group_changed, .synced = list_complete, .arg = controller};
    controller->on_priorityclasses = (struct store_handler){
        .changed = priority_changed, .synced = list_complete, .arg = controller};
    controller->on_commands = (struct store_handler){
        .changed = command_changed, .synced = list_complete, .arg = controller};
    store_subscribe(controller->commands, &controller->on_commands);
    store_subscribe(controller->jobs, &controller->on_jobs);
    store_subscribe(controller->pods, &controller->on_pods);
    store_subscribe(controller->podgroups, &controller->on_podgroups);
    store_subscribe(controller->priorityclasses, &controller->on_priorityclasses);
}

static void follow_queues(struct controller *controller)
{
    static const struct reflector_spec queues = {.path = PATH_QUEUES};
    const struct queues_stores stores = {
        .queues = informers_add(&controller->informers, &queue_store_type, &queues),
        .podgroups = controller->podgroups,
        .commands = controller->commands,
    };

    controller->queue_control =
        queues_new(controller->loop, controller->window, controller->events, &stores);
}

static void follow_workloads(struct controller *controller, struct podgroups_stores *stores)
{
    const struct {
        const struct store_type *type;
        const char *path;
        struct store **store;
    } kinds[] = {
        {&replicaset_store_type, PATH_REPLICASETS, &stores->replicasets},
        {&statefulset_store_type, PATH_STATEFULSETS, &stores->statefulsets},
        {&daemonset_store_type, PATH_DAEMONSETS, &stores->daemonsets},
        {&batch_job_store_type, PATH_BATCH_JOBS, &stores->jobs},
    };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        *kinds[i].store = informers_add(&controller->informers, kinds[i].type,
                                        &(struct reflector_spec){.path = kinds[i].path});
}

static void new_bare_pods(struct controller *controller)
{
    struct podgroups_stores stores = {.podgroups = controller->podgroups};
    const struct podgroups_rules rules = {.inherit = !controller->owner_annotations_off,
                                          .follow = !controller->workloads_off,
                                          .shards = &controller->shards,
                                          .gates = controller->gates};

    if (rules.inherit || rules.follow)
        follow_workloads(controller, &stores);
    controller->bare_pods = podgroups_new(controller->loop, controller->window, &stores, &rules);
    podgroups_set_leading(controller->bare_pods, controller->leading || controller->sharded);
}

void controller_follow_pods(struct controller *controller, const char *scheduler)
{
    char *selector = xasprintf("spec.schedulerName=%s", scheduler);
    const struct reflector_spec pods = {
        .path = PATH_PODS, .field_selector = selector, .label_selector = "!" KEY_JOB_NAME};

    vec_push(&controller->selectors, selector);
    if (!controller->bare_pods)
        new_bare_pods(controller);
    podgroups_add_pods(controller->bare_pods,
                       informers_add(&controller->informers, &barepod_store_type, &pods));
}

struct controller *controller_new(struct loop *loop, struct kube_transport *transport,
                                  struct window *window, struct event_recorder *events)
{
    struct controller *controller = xnew(struct controller);

    controller->loop = loop;
    controller->transport = transport;
    controller->window = window;
    controller->events = events;
    controller->creation_chunk = CREATION_CHUNK_PRESET;
    controller->shards = SHARDS_ALL;
    list_init(&controller->dirty);
    loop_deferred_init(&controller->drained, NULL, NULL);
    loop_deferred_init(&controller->pass, run_pass, controller);
    commands_init(controller);
    informers_init(&controller->informers, loop, transport);
    follow(controller);
    controller->gc = gc_new(loop, window, controller->jobs);
    follow_queues(controller);
    return controller;
}

void controller_set_parts(struct controller *controller, const struct controller_parts *parts)
{
    controller->jobs_off = !parts->jobs;
    controller->queues_off = !parts->queues;
    controller->garbage_off = !parts->garbage;
    controller->owner_annotations_off = !parts->owner_annotations;
    controller->workloads_off = !parts->workloads;
    controller->creation_chunk = parts->creation_chunk;
}

void controller_set_metrics(struct controller *controller, struct metrics *metrics)
{
    job_metrics_init(&controller->job_metrics, metrics);
    job_metrics_shards(controller, SHARDS_NONE);
    queues_set_metrics(controller->queue_control, metrics);
}

static void free_control(void *control)
{
    job_control_free(control);
}

void controller_free(struct controller *controller)
{
    if (!controller)
        return;
    controller->stopping = true;
    gc_free(controller->gc);
    queues_free(controller->queue_control);
    podgroups_free(controller->bare_pods);
    store_unsubscribe(controller->jobs, &controller->on_jobs);
    store_unsubscribe(controller->pods, &controller->on_pods);
    store_unsubscribe(controller->podgroups, &controller->on_podgroups);
    store_unsubscribe(controller->priorityclasses, &controller->on_priorityclasses);
    store_unsubscribe(controller->commands, &controller->on_commands);
    commands_cancel(controller);
    loop_deferred_cancel(&controller->pass);
    map_clear_with(&controller->by_uid, free_control);
    map_clear(&controller->by_name);
    job_metrics_clear(&controller->job_metrics);
    for (size_t i = 0; i < SHARD_COUNT; i++)
        window_clear_gate(controller->window, &controller->gates[i]);
    informers_clear(&controller->informers);
    for (size_t i = 0; i < controller->selectors.n; i++)
        free(controller->selectors.items[i]);
    vec_clear(&controller->selectors);
    free(controller);
}
