/*
 * The cache's jobs and pods. See cache.h; nodes are in cache.c, queues in cache_queues.c, roles and
 * groups of jobs in cache_groups.c.
 *
 * A job exists while it has a PodGroup, pods or requests under way. Every change of a pod goes
 * through cache_set_task, which keeps all counts.
 */
#include "api/names.h"
#include "base/ensure.h"
#include "base/intern.h"
#include "base/timefmt.h"
#include "scheduler/cache_private.h"
#include "scheduler/census.h"
#include "scheduler/group_limits.h"
#include "scheduler/holds.h"
#include "scheduler/minimum.h"
#include "scheduler/status.h"
#include "scheduler/volumes/volumes.h"
#include "scheduler/waiting.h"
#include <stdio.h>

/* ---- jobs ------------------------------------------------------------------------------------ */

#define KEY_MAX_SIZE 600

static struct str job_key(char text[KEY_MAX_SIZE], const char *ns, const char *name)
{
    int size = snprintf(text, KEY_MAX_SIZE, "%s/%s", ns, name);
    ENSURE(size > 0);
    return str_make(text, size < KEY_MAX_SIZE ? (size_t)size : KEY_MAX_SIZE - 1);
}

struct sched_job *cache_job(const struct cache *cache, const char *ns, const char *name)
{
    char text[KEY_MAX_SIZE];
    return map_get(&cache->jobs_by_key, job_key(text, ns, name));
}

struct sched_job *cache_job_get(struct cache *cache, const char *ns, const char *name)
{
    char text[KEY_MAX_SIZE];
    struct sched_job *job = cache_job(cache, ns, name);
    if (job)
        return job;
    job = xnew(struct sched_job);
    job->cache = cache;
    job->ns = intern_get(str_of(ns));
    job->name = intern_get(str_of(name));
    cache_namespace_enter(cache, job);
    job->sequence = cache->next_sequence++;
    job->failed_at = job->refused_at = UINT64_MAX;
    list_init(&job->tasks);
    list_init(&job->admit);
    list_init(&job->place);
    list_init(&job->dirty_link);
    list_init(&job->telling);
    loop_timer_init(&job->timer, cache->job_timer, job);
    window_flow_init(cache->window, &job->flow);
    map_set(&cache->jobs_by_key, job_key(text, ns, name), job);
    return job;
}

static void leave_queue(struct cache *cache, struct sched_job *job)
{
    struct sched_queue *queue = job->queue;
    if (!queue)
        return;
    if (job->reservation)
        holds_close(cache, job->reservation);
    cache_sums_leave(job);
    group_limits_charge_job(job, -1);
    job->queue = NULL;
    queue->jobs--;
    cache_queue_drop(cache, queue);
}

void cache_job_free(struct cache *cache, struct sched_job *job)
{
    ENSURE(job->flow.count == 0);
    leave_queue(cache, job);
    loop_timer_cancel(cache->loop, &job->timer);
    list_remove(&job->admit);
    list_remove(&job->place);
    list_remove(&job->dirty_link);
    list_remove(&job->telling);
    cache_namespace_leave(cache, job);
    cache_groups_clear(job);
    resource_set_clear(&job->min_resources);
    cache_sums_clear(job);
    job_status_clear(&job->shown);
    job_status_clear(&job->sent);
    intern_put(job->sent_uid);
    free(job->why.text);
    intern_put(job->priority_class);
    intern_put(job->uid);
    intern_put(job->name);
    intern_put(job->ns);
    free(job);
}

void cache_drop_job(struct cache *cache, struct sched_job *job)
{
    char text[KEY_MAX_SIZE];
    if (job->uid || job->task_count || job->binds || job->flow.count || job->decision)
        return;
    map_del(&cache->jobs_by_key, job_key(text, job->ns, job->name));
    cache_job_free(cache, job);
}

void cache_dirty(struct cache *cache, struct sched_job *job)
{
    if (!job->dirty)
        list_append(&cache->dirty, &job->dirty_link);
    job->dirty = true;
}

static void file_in(struct list *head, struct list *link, bool wanted)
{
    if (wanted && list_empty(link))
        list_append(head, link);
    else if (!wanted)
        list_remove(link);
}

void cache_file_job(struct cache *cache, struct sched_job *job)
{
    if (job->phase != JOB_INQUEUE)
        job->claim_ended = false;
    cache_sums_settle(job);
    bool asks = job->uid && job->phase == JOB_PENDING;
    cache->news += asks && list_empty(&job->admit);
    file_in(&cache->admit, &job->admit, asks);
    file_in(&cache->place, &job->place,
            job->uid && job->phase != JOB_PENDING && job->count[TASK_PENDING] > 0);
}

/* ---- PodGroups ------------------------------------------------------------------------------- */

static void set_min_resources(struct sched_job *job, const struct podgroup *podgroup)
{
    cache_sums_withdraw(job);
    resource_set_clear(&job->min_resources);
    job->has_min_resources = podgroup->has_min_resources;
    for (uint32_t i = 0; i < podgroup->min_resources_count; i++) {
        struct str name = str_of(podgroup->min_resources[i].name);
        if (str_starts(name, STR("limits.")) || str_starts(name, STR("count/")))
            continue;
        if (str_starts(name, STR("requests.")))
            name = str_from(name, strlen("requests."));
        uint32_t id = resource_id(name);
        resource_set_put(&job->min_resources, id,
                         resource_total_of(id, podgroup->min_resources[i].quantity));
    }
}

static void set_roles(struct sched_job *job, const struct podgroup *podgroup)
{
    for (size_t i = 0; i < job->roles.n; i++)
        job->roles.items[i].min = 0;
    for (uint32_t i = 0; i < podgroup->min_task_member_count; i++) {
        uint32_t role = cache_role_get(job, podgroup->min_task_member[i].task);
        job->roles.items[role].min = podgroup->min_task_member[i].min;
    }
}

static void set_sla(struct sched_job *job, const struct podgroup *podgroup)
{
    const struct kube_pairs *annotations = &podgroup->meta.annotations;
    const char *text = kube_pairs_get(annotations, KEY_SLA_WAITING_TIME);
    if (!text)
        text = kube_pairs_get(annotations, KEY_SLA_WAITING_TIME_OLD);
    if (!text || !duration_parse(str_of(text), &job->sla_ns) || job->sla_ns < 0)
        job->sla_ns = 0;
}

static bool owned_by_job(const struct podgroup *podgroup)
{
    const struct kube_owner *owner = &podgroup->meta.controller;
    return owner->uid && owner->api_version && strcmp(owner->api_version, BATCH_API_VERSION) == 0;
}

static void set_queue(struct cache *cache, struct sched_job *job, const char *name)
{
    if (job->queue && strcmp(job->queue->name, name) == 0)
        return;
    leave_queue(cache, job);
    job->queue = cache_queue_get(cache, name);
    job->queue->jobs++;
    cache->workload++;
    cache_sums_enter(job);
    group_limits_charge_job(job, 1);
}

static void forget_podgroup(struct cache *cache, struct sched_job *job)
{
    leave_queue(cache, job);
    cache->workload++;
    if (job->decision)
        cache_dirty(cache, job);
    intern_put(job->uid);
    job->uid = NULL;
    job->phase = JOB_PENDING;
    job->wait = (struct job_wait){.counts = false};
    job->minimum = (struct job_minimum){.told = false};
    free(job->why.text);
    job->why = (struct job_why){.kind = WHY_NONE};
    job->tried = false;
    job_status_clear(&job->shown);
    loop_timer_cancel(cache->loop, &job->timer);
}

/* A PodGroup seen for the first time. */
static void adopt_podgroup(struct cache *cache, struct sched_job *job,
                           const struct podgroup *podgroup)
{
    job->uid = intern_ref(podgroup->meta.uid);
    job->created_ns = podgroup->meta.created_ns;
    job->claim_ended = false;
    job->last_arrival_ns = loop_now(cache->loop);
    job->retry_ns = job->message_ns = job->counts_since_ns = 0;
    job->short_ns = job->reserve_ns = 0;
    job->event_signature = 0;
    job->evict_ns = 0;
    job->conflicts = false;
    job->write_failures = job->reserve_ends = job->evict_ends = 0;
    job->never_fits = false;
}

/* Of what others have decided, the status is where we go on. */
static void read_status(const struct cache *cache, struct sched_job *job,
                        const struct podgroup *podgroup, bool ours)
{
    job_status_read(&job->shown, podgroup);
    if (ours)
        return;
    job->phase = job->shown.phase;
    waiting_adopt(cache, job);
}

/* Whether its pods may be evicted, and how many of them. */
static void set_eviction(struct cache *cache, struct sched_job *job,
                         const struct podgroup *podgroup, bool known, int32_t min_before)
{
    const int32_t priority =
        priorityclass_value(cache->priorityclasses, podgroup->priority_class_name);
    const enum preemptable preemptable = preemptable_of(&podgroup->meta);
    const bool other = !known || job->priority != priority || job->preemptable != preemptable ||
                       job->min_member != min_before;
    if (known && other)
        cache_room(cache); /* others may have it evicted, and enter because of that */
    cache->workload += other;
    job->preemptable = preemptable;
    job->priority = priority;
}

bool cache_set_podgroup(struct cache *cache, const char *ns, const char *name,
                        const struct podgroup *podgroup)
{
    struct sched_job *job = podgroup ? cache_job_get(cache, ns, name) : cache_job(cache, ns, name);
    if (!job)
        return false;
    bool same = job->uid && podgroup && job->uid == podgroup->meta.uid;
    if (job->uid && !same) {
        forget_podgroup(cache, job);
        cache_room(cache);
    }
    if (podgroup) {
        const int32_t min_before = job->min_member;
        if (!same)
            adopt_podgroup(cache, job, podgroup);
        read_status(cache, job, podgroup, same && cache->leads);
        set_min_resources(job, podgroup);
        set_roles(job, podgroup);
        minimum_read(job, podgroup);
        set_sla(job, podgroup);
        waiting_read(job, podgroup);
        job->owned_by_job = owned_by_job(podgroup);
        set_queue(cache, job, podgroup->queue);
        intern_ref(podgroup->priority_class_name);
        intern_put(job->priority_class);
        job->priority_class = podgroup->priority_class_name;
        set_eviction(cache, job, podgroup, same, min_before);
        job->failed_at = UINT64_MAX;
        cache_ask_again(job);
        cache_dirty(cache, job);
    }
    cache_file_job(cache, job);
    cache_drop_job(cache, job);
    return true;
}

void cache_priorities_changed(struct cache *cache)
{
    void *value;
    for (size_t i = 0; map_next(&cache->jobs_by_key, &i, NULL, &value);) {
        struct sched_job *job = value;
        if (job->uid)
            job->priority = priorityclass_value(cache->priorityclasses, job->priority_class);
    }
    cache->workload++;
    cache_room(cache);
}

/* ---- pods ------------------------------------------------------------------------------------ */

static bool is_placed(enum task_status status)
{
    return status >= TASK_ALLOCATED && status <= TASK_RUNNING;
}

/* Counts a task of a job in (`sign` 1) or out (-1). */
static void count_task(struct sched_job *job, const struct sched_task *task, uint32_t sign)
{
    struct task_role *role = &job->roles.items[task->group->role];
    job->count[task->status] += sign;
    if (is_placed(task->status))
        task->group->placed += sign;
    if (is_placed(task->status) || task->status == TASK_SUCCEEDED)
        role->have += sign;
    if (task->status <= TASK_HELD)
        role->waiting += sign;
}

void cache_set_task(struct cache *cache, struct sched_task *task, enum task_status status,
                    struct sched_node *node)
{
    struct sched_job *job = task->job;
    struct sched_node *old = task->node;
    if (job) {
        count_task(job, task, UINT32_MAX);
        if (task->status == TASK_PENDING)
            heap_remove(&task->group->pending, &task->waiting);
    }
    census_move(cache, task, status, node);
    if (old != node && old && task->pod->cls->volumes && !cache->swapping)
        volumes_forget(cache->volumes, task->pod->meta.uid);
    if (old != node && old)
        cache_charge(cache, old, task->pod->cls, -1);
    if (old != node && node)
        cache_charge(cache, node, task->pod->cls, 1);
    if (old != node && job)
        group_limits_move(job, task->pod->cls, old, node);
    if (job)
        cache_sums_task(job, task->pod, task->status, status);
    task->status = status;
    task->node = node;
    if (old && old != node)
        cache_node_drop(cache, old);
    if (!job)
        return;
    count_task(job, task, 1);
    minimum_follow(job);
    cache_sums_settle(job);
    if (status == TASK_PENDING)
        heap_push(&task->group->pending, &task->waiting);
    cache->eased += !cache->stating && (status == TASK_RUNNING || status == TASK_BOUND);
    if (!cache->stating) {
        cache_dirty(cache, job);
        cache_file_job(cache, job);
    }
}

void cache_hold_task(struct cache *cache, struct sched_task *task, int64_t until_ns)
{
    task->held_until_ns = until_ns;
    cache_set_task(cache, task, TASK_HELD, NULL);
    loop_timer_set_earlier(cache->loop, &task->job->timer, until_ns - loop_now(cache->loop));
}

static bool is_ours(const struct cache *cache, const struct pod *pod)
{
    for (size_t i = 0; i < cache->scheduler_count; i++)
        if (strcmp(pod->scheduler, cache->schedulers[i]) == 0)
            return true;
    return false;
}

static enum task_status status_of(const struct pod *pod)
{
    bool bound = pod->node[0] != '\0';
    if (pod->phase == POD_PHASE_SUCCEEDED)
        return TASK_SUCCEEDED;
    if (pod->phase == POD_PHASE_FAILED)
        return TASK_FAILED;
    if (pod->meta.deleted_ns)
        return bound ? TASK_RELEASING : TASK_LEAVING;
    if (!bound)
        return pod->gated ? TASK_GATED : TASK_PENDING;
    if (pod->phase == POD_PHASE_UNKNOWN)
        return TASK_UNKNOWN;
    return pod->phase == POD_PHASE_RUNNING ? TASK_RUNNING : TASK_BOUND;
}

static bool is_charged(enum task_status status)
{
    return status >= TASK_ALLOCATED && status <= TASK_UNKNOWN;
}

bool cache_wants_pod(const struct cache *cache, const struct pod *pod)
{
    return is_ours(cache, pod) || is_charged(status_of(pod));
}

const char *cache_pod_node(const struct pod *pod)
{
    return is_charged(status_of(pod)) ? pod->node : NULL;
}

/* What a version of the pod means for a task that we may be binding or holding. */
static void follow(struct cache *cache, struct sched_task *task)
{
    const struct pod *pod = task->pod;
    enum task_status status = status_of(pod);
    bool bound = task->status == TASK_BINDING || task->status == TASK_BOUND;
    bool ends = pod->meta.deleted_ns || status == TASK_SUCCEEDED || status == TASK_FAILED;
    if (task->evicting && !ends)
        return; /* it was asked to go, and does not show that yet */
    cache->workload += ends && !task->evicting && is_placed(task->status);
    task->evicting = false;
    if (status == TASK_PENDING && (bound || task->status == TASK_HELD))
        return; /* it does not show the bind yet, or shows that it failed, which we know */
    struct sched_node *node = is_charged(status) ? cache_node_get(cache, pod->node) : NULL;
    if (status == task->status && node == task->node)
        return;
    task->bind_failures = 0;
    if (task->job && status == TASK_PENDING)
        task->job->failed_at = UINT64_MAX;
    cache_set_task(cache, task, status, node);
}

static struct sched_task *add_task(struct cache *cache, struct pod *pod, bool ours)
{
    struct sched_task *task = xnew(struct sched_task);
    task->pod = pod_ref(pod);
    task->status = TASK_LEAVING;
    list_init(&task->link);
    census_enter(cache, task);
    map_set(&cache->tasks_by_uid, str_of(pod->meta.uid), task);
    if (!ours || pod->group[0] == '\0')
        return task;
    struct sched_job *job = cache_job_get(cache, pod->meta.ns, pod->group);
    task->job = job;
    task->group = cache_group_get(job, pod);
    task->group->tasks++;
    job->task_count++;
    if (job->task_count > job->most_tasks) {
        job->most_tasks = job->task_count;
        cache->workload++;
    }
    job->count[TASK_LEAVING]++;
    list_append(&job->tasks, &task->link);
    job->last_arrival_ns = loop_now(cache->loop);
    job->claim_ended = false;
    job->failed_at = UINT64_MAX;
    if (job->space->quotas.n) { /* less is promised, more is used */
        cache_quota_eased(cache, job->space);
        job->space->arrival_ns = job->last_arrival_ns;
    }
    minimum_pod_came(job);
    return task;
}

static void remove_task(struct cache *cache, struct sched_task *task)
{
    struct sched_job *job = task->job;
    cache_set_task(cache, task, TASK_LEAVING, NULL);
    census_leave(cache, task);
    map_del(&cache->tasks_by_uid, str_of(task->pod->meta.uid));
    if (job) {
        job->count[TASK_LEAVING]--;
        job->task_count--;
        task->group->tasks--;
        list_remove(&task->link);
        cache_group_drop(job, task->group);
    }
    pod_unref(task->pod);
    free(task);
    if (job) {
        job->failed_at = UINT64_MAX;
        cache_drop_job(cache, job);
    }
}

/* Requests, role and labels may change: the task moves to another group. True then. */
static bool swap_pod(struct cache *cache, struct sched_task *task, struct pod *pod)
{
    struct pod *old = task->pod;
    bool moves = old->cls != pod->cls || old->labels != pod->labels ||
                 old->indexed != pod->indexed || old->role != pod->role ||
                 old->priority != pod->priority || old->group != pod->group ||
                 old->gated_by_others != pod->gated_by_others;
    if (!moves) {
        task->pod = pod_ref(pod);
        pod_unref(old);
        return false;
    }
    enum task_status status = task->status;
    const char *node = task->node ? intern_ref(task->node->name) : NULL;
    int64_t held = task->held_until_ns;
    uint16_t failures = task->bind_failures;
    bool evicting = task->evicting;
    cache->swapping = old->cls->volumes == pod->cls->volumes;
    remove_task(cache, task);
    cache->swapping = false;
    task = add_task(cache, pod, is_ours(cache, pod));
    task->held_until_ns = held;
    task->bind_failures = failures;
    task->evicting = evicting;
    if (node)
        cache_set_task(cache, task, status, cache_node_get(cache, node));
    else if (status != TASK_HELD || task->job)
        cache_set_task(cache, task, status, NULL);
    intern_put(node);
    return true;
}

void cache_evict_task(struct cache *cache, struct sched_task *task)
{
    cache_set_task(cache, task, TASK_RELEASING, task->node);
    task->evicting = true;
}

void cache_spare_task(struct cache *cache, struct sched_task *task)
{
    enum task_status status = status_of(task->pod);
    if (!task->evicting)
        return;
    task->evicting = false;
    if (status == TASK_PENDING && task->node)
        status = TASK_BOUND; /* by us, and it does not show that yet */
    cache_set_task(cache, task, status, is_charged(status) ? task->node : NULL);
}

/* Whether this version of the pod may be evicted where the one before might not. */
static bool may_go_now(const struct cache *cache, const struct pod *before, const struct pod *pod)
{
    const struct sched_namespace *space = cache_namespace(cache, pod->meta.ns);
    return (pod->preemptable && !before->preemptable) ||
           (before->ready && !pod->ready && space && space->budgets.n);
}

bool cache_set_pod(struct cache *cache, const char *uid, struct pod *pod)
{
    struct sched_task *task = cache_task(cache, uid);
    bool ours = pod && is_ours(cache, pod);
    if (pod && !cache_wants_pod(cache, pod))
        pod = NULL;
    if (!pod) {
        cache->workload += task && (!task->job || is_placed(task->status));
        if (task)
            remove_task(cache, task);
        return task != NULL;
    }
    if (task) {
        bool eases = may_go_now(cache, task->pod, pod);
        cache->eased += eases;
        enum task_status before = task->status;
        const struct sched_node *node = task->node;
        bool moved = swap_pod(cache, task, pod);
        task = cache_task(cache, uid);
        follow(cache, task);
        return eases || moved || before != task->status || node != task->node;
    }
    cache->workload += !ours; /* of another scheduler */
    task = add_task(cache, pod, ours);
    follow(cache, task);
    return true;
}

struct sched_task *cache_task(const struct cache *cache, const char *uid)
{
    return map_get(&cache->tasks_by_uid, str_of(uid));
}
