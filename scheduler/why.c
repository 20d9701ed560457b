/*
 * Reasons for waiting. See why.h.
 *
 * Texts hold numbers that change all the time; the signature names the kind of reason without them,
 * so that writers can tell a new reason from new numbers.
 */
#include "scheduler/why.h"
#include "api/names.h"
#include "scheduler/fit.h"
#include <stdio.h>

#define TEXT_AGE (2 * NSEC_PER_SEC)
#define SINCE_MAX 64                     /* room for the last sentence */
#define OVERUSED_AGE (60 * NSEC_PER_SEC) /* many jobs may wait for one queue */

bool why_is_due(const struct scheduler *scheduler, const struct sched_job *job, enum why_kind kind)
{
    return job->why.kind != kind || loop_now(scheduler->params.loop) - job->why.made_ns >= TEXT_AGE;
}

bool why_is_due_or_later(struct scheduler *scheduler, struct sched_job *job, enum why_kind kind)
{
    if (why_is_due(scheduler, job, kind))
        return true;
    if (!job->why.passed_over)
        cache_dirty(&scheduler->cache, job); /* so that a timer is set */
    job->why.passed_over = true;
    return false;
}

int64_t why_due_time(const struct sched_job *job)
{
    return job->why.passed_over ? job->why.made_ns + TEXT_AGE : INT64_MAX;
}

/* A PodGroup that says already that it waits was told so by us before a restart, or by another.
 * That it enters its queue begins a wait of another kind. */
static void begin_waiting(const struct scheduler *scheduler, struct sched_job *job)
{
    const struct job_status *shown = &job->shown;
    int64_t wall = loop_wall(scheduler->params.loop);
    bool waits = shown->condition && strcmp(shown->condition, PODGROUP_UNSCHEDULABLE) == 0 &&
                 shown->phase == job->phase;
    if (waits && shown->transition_ns && shown->transition_ns < wall)
        wall = shown->transition_ns;
    job->why.since_ns = loop_now(scheduler->params.loop);
    job->why.since_wall_ns = wall / NSEC_PER_SEC * NSEC_PER_SEC;
}

static void add_since(struct buf *text, int64_t wall)
{
    char time[TIME_TEXT_MAX];
    size_t size = time_format(time, wall);
    bool ended = text->n && text->p[text->n - 1] == '.';
    buf_printf(text, "%s Waiting since %.*s.", ended ? "" : ".", (int)size, time);
}

void why_set(struct scheduler *scheduler, struct sched_job *job, enum why_kind kind,
             uint64_t signature, const char *format, ...)
{
    cleanup_buf struct buf text = BUF_INIT(WHY_TEXT_MAX);
    char cut[WHY_TEXT_MAX - SINCE_MAX];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(cut, sizeof(cut), format, args);
    va_end(args);
    buf_printf(&text, "%s%s", cut, size < (int)sizeof(cut) ? "" : "...");
    if (job->why.kind == WHY_NONE)
        begin_waiting(scheduler, job);
    add_since(&text, job->why.since_wall_ns);
    free(job->why.text);
    job->why.kind = kind;
    job->why.signature = why_signature(kind, signature);
    job->why.text = buf_take(&text);
    job->why.made_ns = loop_now(scheduler->params.loop);
    job->why.passed_over = false;
    cache_dirty(&scheduler->cache, job);
}

void why_clear(struct sched_job *job)
{
    free(job->why.text);
    job->why = (struct job_why){.kind = WHY_NONE};
}

bool why_queue(struct scheduler *scheduler, struct sched_job *job)
{
    const struct sched_queue *queue = job->queue;
    if (queue->uid && queue->open)
        return false;
    bool says_so = job->why.signature == why_signature(WHY_QUEUE, queue->uid != NULL);
    if (!says_so || why_is_due(scheduler, job, WHY_QUEUE))
        why_set(scheduler, job, WHY_QUEUE, queue->uid != NULL, "queue \"%s\" %s", queue->name,
                queue->uid ? "is not open: it takes no jobs until somebody opens it"
                           : "does not exist: create it, or name another in the job");
    return true;
}

void why_pods(struct scheduler *scheduler, struct sched_job *job)
{
    uint32_t there = job_have(job) + job->count[TASK_PENDING] + job->count[TASK_HELD];
    uint32_t gated = job->count[TASK_GATED];
    if (!why_is_due(scheduler, job, WHY_PODS))
        return;
    if (job->minimum.settling) {
        why_set(scheduler, job, WHY_PODS, 4, "its pods are still being made: %u so far", there);
        return;
    }
    for (size_t i = 0; job->roles_enforced && i < job->roles.n; i++) {
        const struct task_role *role = &job->roles.items[i];
        if ((int64_t)role->have + role->waiting >= role->min)
            continue;
        why_set(scheduler, job, WHY_PODS, 2,
                "not enough pods of task \"%s\" exist: %u of at least %d, in queue \"%s\"",
                role->name, role->have + role->waiting, role->min, job->queue->name);
        return;
    }
    if (gated)
        why_set(scheduler, job, WHY_PODS, 3,
                "not enough pods may be placed: %u of at least %d; %u have scheduling gates, in "
                "queue \"%s\"",
                there, job->min_member, gated, job->queue->name);
    else
        why_set(scheduler, job, WHY_PODS, 1,
                "not enough pods exist: %u of at least %d, in queue \"%s\"", there, job->min_member,
                job->queue->name);
}

void why_binds(struct scheduler *scheduler, struct sched_job *job)
{
    if (why_is_due(scheduler, job, WHY_BINDS))
        why_set(scheduler, job, WHY_BINDS, 0,
                "the API server refuses to bind its pods to nodes, as Events of these pods say, in "
                "queue \"%s\"; they are tried again within about a minute",
                job->queue->name);
}

/* ---- gangs ----------------------------------------------------------------------------------- */

static void add_request(const struct task_group *group, uint32_t count, void *arg)
{
    resource_set_add(arg, &group->cls->request, count);
}

struct resource_set why_gang_needs(const struct sched_job *job)
{
    struct resource_set needs = {NULL, 0};
    job_each_missing(job, add_request, &needs);
    return needs;
}

bool why_gang_fits(const struct cache *cache, const struct sched_job *job)
{
    struct resource_set needs = why_gang_needs(job);
    bool fits = true;
    for (uint32_t i = 0; i < needs.n && fits; i++)
        fits = needs.items[i].amount <= resource_vector_get(&cache->free, needs.items[i].id);
    resource_set_clear(&needs);
    return fits;
}

/* "needs cpu 384, and cpu 320 is free in the whole cluster: 64 short." for each short resource. */
static bool add_short(const struct cache *cache, const struct resource_set *needs, struct buf *out)
{
    bool any = false;
    for (uint32_t i = 0; i < needs->n; i++) {
        uint32_t id = needs->items[i].id;
        int64_t wants = needs->items[i].amount;
        int64_t has = resource_vector_get(&cache->free, id);
        if (wants <= has)
            continue;
        buf_printf(out, "%s %s ", any ? "," : " It needs", resource_name(id));
        resource_print(out, id, wants);
        buf_add_cstr(out, " and ");
        resource_print(out, id, has);
        buf_add_cstr(out, " is free (");
        resource_print(out, id, wants - has);
        buf_add_cstr(out, " short)");
        any = true;
    }
    if (any)
        buf_add_char(out, '.');
    return any;
}

/* The sum fits, and yet no node takes the pod. */
static void add_scattered(const struct cache *cache, const struct task_group *group,
                          struct buf *out)
{
    const struct fit_table *table = fit_kept(cache, group);
    size_t all = cache->known_nodes, open = table ? fit_open_nodes(cache, table) : all;
    size_t refused = table ? fit_refused_nodes(table) : 0;
    if (open == 0)
        buf_add_cstr(out, " Enough is free, but no node may take such a pod.");
    else if (refused)
        buf_printf(out, " Enough is free, but none of the %zu nodes with room may take it now.",
                   refused);
    else if (open < all)
        buf_printf(out,
                   " Enough is free in all, but not on single ones of the %zu nodes that may "
                   "take such a pod.",
                   open);
    else
        buf_add_cstr(out, " Enough is free in all, but not on single nodes.");
}

static void add_pod(const struct sched_job *job, const struct task_group *group, struct buf *out)
{
    const struct resource_set *request = &group->cls->request;
    const char *role = job->roles.items[group->role].name;
    if (role[0])
        buf_printf(out, " A pod of task \"%s\" (", role);
    else
        buf_add_cstr(out, " A pod (");
    bool first = true;
    for (uint32_t i = 0; i < request->n; i++) {
        if (request->items[i].id == RESOURCE_PODS)
            continue;
        buf_printf(out, "%s%s ", first ? "" : ", ", resource_name(request->items[i].id));
        resource_print(out, request->items[i].id, request->items[i].amount);
        first = false;
    }
    buf_add_cstr(out, first ? "best effort): " : "): ");
}

void why_gang(struct scheduler *scheduler, struct sched_job *job, const struct task_group *group,
              uint32_t would, uint64_t signature, struct str nodes)
{
    cleanup_buf struct buf text = BUF_INIT(16 * WHY_TEXT_MAX);
    struct resource_set needs = why_gang_needs(job);
    uint32_t have = job_have(job) + would;
    int64_t lacking = (int64_t)job->min_member - have;
    buf_printf(&text,
               "%lld/%u tasks in gang unschedulable: ", (long long)(lacking > 0 ? lacking : 1),
               job->task_count);
    buf_printf(&text, "%u of the %d pods that start together fit, in queue \"%s\".", have,
               job->min_member, job->queue->name);
    if (!add_short(&scheduler->cache, &needs, &text))
        add_scattered(&scheduler->cache, group, &text);
    add_pod(job, group, &text);
    buf_add_str(&text, nodes);
    resource_set_clear(&needs);
    why_set(scheduler, job, WHY_NODES, signature, "%s", text.p);
}

void why_unready(struct scheduler *scheduler, struct sched_job *job)
{
    if (why_is_due_or_later(scheduler, job, WHY_NODES))
        why_set(scheduler, job, WHY_NODES, 1,
                "there are nodes for the %d pods that start together, in queue \"%s\", but the "
                "plugin that was asked (jobReady) has not found the job ready",
                job->min_member, job->queue->name);
}

void why_surplus(struct scheduler *scheduler, struct sched_job *job, const struct task_group *group,
                 uint64_t signature, struct str nodes)
{
    cleanup_buf struct buf text = BUF_INIT(16 * WHY_TEXT_MAX);
    buf_printf(&text, "%u pods above the minimum of the job wait, in queue \"%s\".",
               job->count[TASK_PENDING], job->queue->name);
    add_pod(job, group, &text);
    buf_add_str(&text, nodes);
    why_set(scheduler, job, WHY_NODES, signature, "%s", text.p);
}

/* ---- shares of queues ------------------------------------------------------------------------ */

enum share_signature { SHARE_OVERUSED = 1, SHARE_REFUSED };

static uint64_t share_signature(const struct sched_job *job, enum share_signature kind)
{
    return (uint64_t)str_hash(str_of(job->queue->name)) * 4 + (uint64_t)kind;
}

/* " It holds cpu 8 of the 8 and memory 4Gi of the 64Gi that it deserves." */
static void add_held(const struct scheduler *scheduler, const struct sched_queue *queue,
                     struct buf *out)
{
    bool any = false;
    for (uint32_t i = 0; i < queue->allocated.n; i++) {
        uint32_t id = queue->allocated.items[i].id;
        int64_t deserved =
            config_queue_figure(scheduler->config, &scheduler->cache, queue, FIGURE_DESERVED, id);
        if (id == RESOURCE_PODS || deserved <= 0 || deserved >= RESOURCE_VALUE_MAX)
            continue;
        buf_printf(out, "%s %s ", any ? "," : " It holds", resource_name(id));
        resource_print(out, id, queue->allocated.items[i].amount);
        buf_add_cstr(out, " of ");
        resource_print(out, id, deserved);
        any = true;
    }
    if (any)
        buf_add_cstr(out, " that it deserves.");
}

void why_overused(struct scheduler *scheduler, struct sched_job *job)
{
    cleanup_buf struct buf text = BUF_INIT(16 * WHY_TEXT_MAX);
    uint64_t signature = share_signature(job, SHARE_OVERUSED);
    int64_t age = loop_now(scheduler->params.loop) - job->why.made_ns;
    bool says_so = job->why.signature == why_signature(WHY_SHARE, signature);
    if (says_so ? age < OVERUSED_AGE : !why_is_due_or_later(scheduler, job, WHY_SHARE))
        return;
    buf_printf(&text, "queue \"%s\" has had its share, while others want theirs.",
               job->queue->name);
    add_held(scheduler, job->queue, &text);
    why_set(scheduler, job, WHY_SHARE, signature, "%s", text.p);
}

void why_share(struct scheduler *scheduler, struct sched_job *job, struct str why)
{
    uint64_t signature = share_signature(job, SHARE_REFUSED);
    int64_t lacking = (int64_t)job->min_member - job_have(job);
    if (!why_is_due_or_later(scheduler, job, WHY_SHARE))
        return;
    if (str_empty(why))
        why = STR("a plugin refused it");
    if (lacking > 0)
        why_set(scheduler, job, WHY_SHARE, signature,
                "%lld/%u tasks in gang unschedulable, in queue \"%s\": %.*s", (long long)lacking,
                job->task_count, job->queue->name, STR_ARG(why));
    else
        why_set(scheduler, job, WHY_SHARE, signature,
                "%u pods above the minimum of the job wait, in queue \"%s\": %.*s",
                job->count[TASK_PENDING], job->queue->name, STR_ARG(why));
}
