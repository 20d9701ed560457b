/*
 * The account of one job. See explain.h.
 */
#include "scheduler/explain.h"
#include "scheduler/actions/taking.h"
#include "scheduler/evict/evictor.h"
#include "scheduler/fit.h"
#include "scheduler/holds.h"
#include "scheduler/reserve.h"
#include "scheduler/status.h"
#include "scheduler/waiting.h"
#include "scheduler/why.h"

#define UID_SIZE 36
#define PATH_PREFIX "/explain/"

/* "cpu 2, memory 4Gi", without the number of pods. */
static void add_set(struct buf *out, const struct resource_set *set)
{
    bool first = true;
    for (uint32_t i = 0; i < set->n; i++) {
        if (set->items[i].id == RESOURCE_PODS)
            continue;
        buf_printf(out, "%s%s ", first ? "" : ", ", resource_name(set->items[i].id));
        resource_print(out, set->items[i].id, set->items[i].amount);
        first = false;
    }
    if (first)
        buf_add_cstr(out, "nothing");
}

static void add_ago(const struct scheduler *scheduler, struct buf *out, int64_t then)
{
    int64_t ns = loop_now(scheduler->params.loop) - then;
    buf_printf(out, "%lld s", (long long)((ns > 0 ? ns : 0) / NSEC_PER_SEC));
}

/* ---- the job --------------------------------------------------------------------------------- */

static void add_reason(const struct scheduler *scheduler, const struct sched_job *job,
                       struct buf *out)
{
    const struct job_why *why = &job->why;
    if (why->kind == WHY_NONE) {
        buf_add_cstr(out, job_waiting(job) || job->phase == JOB_PENDING
                              ? "waits:     its turn has not come yet\n"
                              : "waits:     no\n");
        return;
    }
    buf_add_cstr(out, "waits:     since ");
    int64_t waits_ns = loop_wall(scheduler->params.loop) - why->since_wall_ns;
    buf_printf(out, "%lld s", (long long)(waits_ns / NSEC_PER_SEC));
    buf_printf(out, "\nreason:    %s\n           (as of ", why->text);
    add_ago(scheduler, out, why->made_ns);
    buf_add_cstr(out, " ago)\n");
}

static void add_attempts(const struct scheduler *scheduler, const struct sched_job *job,
                         struct buf *out)
{
    if (!job->attempts) {
        buf_add_cstr(out, "attempts:  none yet to place its pods\n");
        return;
    }
    buf_printf(out, "attempts:  %u to place its pods, the last one ", job->attempts);
    add_ago(scheduler, out, job->attempt_ns);
    buf_add_cstr(out, " ago; the next one when something changes that may help\n");
}

static void add_held(const struct sched_job *job, uint32_t id, bool first, struct buf *out)
{
    int64_t idle, amount = holds_amount(job->reservation, id, &idle);
    buf_printf(out, "%s%s ", first ? " (" : ", ", resource_name(id));
    resource_print(out, id, amount);
    buf_add_cstr(out, ", free of it ");
    resource_print(out, id, idle);
}

/* What is kept free for it, or when that may be. */
static void add_holds(const struct scheduler *scheduler, const struct sched_job *job,
                      struct buf *out)
{
    int64_t now = loop_now(scheduler->params.loop), idle;
    int64_t next = reserve_look(scheduler, job);
    bool first = true;
    if (job->never_fits)
        buf_add_cstr(out, "holds:     nothing: it would not fit the cluster if it were empty\n");
    else if (!job->reservation && job->short_ns && next != INT64_MAX)
        buf_printf(out, "holds:     nothing; nodes may be held for it in %lld s\n",
                   (long long)((next - now) / NSEC_PER_SEC));
    if (!job->reservation)
        return;
    buf_printf(out, "holds:     places on %zu nodes for it", job->reservation->holds.n);
    for (uint32_t id = 0; id < resource_id_count(); id++) {
        if (id == RESOURCE_PODS || !holds_amount(job->reservation, id, &idle))
            continue;
        add_held(job, id, first, out);
        first = false;
    }
    buf_add_cstr(out, first ? "" : ")");
    if (!job->reservation->nominated)
        buf_printf(out, ", for %lld s more at most",
                   (long long)((job->reservation->until_ns - now) / NSEC_PER_SEC));
    buf_add_char(out, '\n');
}

static void add_timeout(const struct scheduler *scheduler, const struct sched_job *job,
                        struct buf *out)
{
    int64_t next = waiting_next(scheduler, job), now = loop_now(scheduler->params.loop);
    if (!job->wait.timeouts && next == INT64_MAX)
        return;
    buf_printf(out, "time-outs: %u so far", job->wait.timeouts);
    if (next != INT64_MAX)
        buf_printf(out, "; %s in %lld s",
                   job->phase == JOB_PENDING ? "it may enter again"
                                             : "its time in the queue is over",
                   (long long)((next > now ? next - now : 0) / NSEC_PER_SEC));
    buf_add_char(out, '\n');
}

static void add_pods(const struct sched_job *job, struct buf *out)
{
    static const char *const names[TASK_STATUS_COUNT] = {
        [TASK_PENDING] = "pending",      [TASK_HELD] = "held back after a failed bind",
        [TASK_GATED] = "gated",          [TASK_ALLOCATED] = "being placed",
        [TASK_BINDING] = "binding",      [TASK_BOUND] = "bound",
        [TASK_RUNNING] = "running",      [TASK_RELEASING] = "terminating",
        [TASK_UNKNOWN] = "not heard of", [TASK_SUCCEEDED] = "succeeded",
        [TASK_FAILED] = "failed",        [TASK_LEAVING] = "terminating without a node",
    };
    buf_printf(out, "pods:      %u, at least %d start together, %u have a node or have succeeded\n",
               job->task_count, job->min_member, job_have(job));
    for (int status = 0; status < TASK_STATUS_COUNT; status++)
        if (job->count[status])
            buf_printf(out, "           %u %s\n", job->count[status], names[status]);
    for (size_t i = 0; i < job->roles.n && i < EXPLAIN_TASKS_MAX; i++) {
        const struct task_role *role = &job->roles.items[i];
        if (!role->name[0])
            continue;
        buf_printf(out, "           task \"%s\": %u have a node or have succeeded, %u wait",
                   role->name, role->have, role->waiting);
        if (job->roles_enforced)
            buf_printf(out, ", at least %d start together", role->min);
        buf_add_char(out, '\n');
    }
}

/* What a job asks for, and what of it is free in the whole cluster. */
static void add_needs(const struct cache *cache, const char *what, const struct resource_set *needs,
                      struct buf *out)
{
    buf_printf(out, "needs:     %s: ", what);
    add_set(out, needs);
    buf_add_char(out, '\n');
    for (uint32_t i = 0; i < needs->n; i++) {
        uint32_t id = needs->items[i].id;
        int64_t has = resource_vector_get(&cache->free, id), lacks = needs->items[i].amount - has;
        buf_printf(out, "           %s: ", resource_name(id));
        resource_print(out, id, needs->items[i].amount);
        buf_add_cstr(out, " needed, ");
        resource_print(out, id, has);
        buf_add_cstr(out, " free in the whole cluster");
        if (lacks > 0) {
            buf_add_cstr(out, ", ");
            resource_print(out, id, lacks);
            buf_add_cstr(out, " short");
        }
        buf_add_char(out, '\n');
    }
}

static void add_all_needs(const struct scheduler *scheduler, const struct sched_job *job,
                          struct buf *out)
{
    struct resource_set needs = {NULL, 0};
    if (job->phase == JOB_PENDING && job->has_min_resources) {
        needs = job_lacking(job);
        add_needs(&scheduler->cache, "to enter its queue", &needs, out);
    } else if (!config_job_ready(scheduler->config, job)) {
        needs = why_gang_needs(job);
        add_needs(&scheduler->cache, "for the pods that start together", &needs, out);
    } else if (job->pending.n) {
        add_needs(&scheduler->cache, "for all pods above its minimum", &job->pending, out);
    }
    resource_set_clear(&needs);
}

/* ---- its queue ------------------------------------------------------------------------------- */

/* An amount of the spec, "-" when none is given. */
static void add_given(struct buf *out, const char *name, const struct resource_set *set,
                      uint32_t id)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (set->items[i].id == id) {
            buf_printf(out, ", %s ", name);
            resource_print(out, id, set->items[i].amount);
        }
}

static void add_figure(const struct scheduler *scheduler, struct buf *out, const char *name,
                       const struct sched_queue *queue, enum queue_figure figure, uint32_t id)
{
    int64_t amount = config_queue_figure(scheduler->config, &scheduler->cache, queue, figure, id);
    if (amount < 0 || amount == INT64_MAX)
        return;
    buf_printf(out, ", %s ", name);
    resource_print(out, id, amount);
}

static bool concerns(const struct sched_queue *queue, uint32_t id)
{
    return resource_set_get(&queue->allocated, id) || resource_set_get(&queue->pending, id) ||
           resource_set_get(&queue->inqueue, id) || resource_set_get(&queue->capability, id) ||
           resource_set_get(&queue->deserved, id) || resource_set_get(&queue->guarantee, id);
}

static void add_resource(const struct scheduler *scheduler, const struct sched_queue *queue,
                         uint32_t id, struct buf *out)
{
    buf_printf(out, "           %s: holds ", resource_name(id));
    resource_print(out, id, resource_set_get(&queue->allocated, id));
    buf_add_cstr(out, ", waits for ");
    resource_print(out, id, resource_set_get(&queue->pending, id));
    buf_add_cstr(out, ", promised ");
    resource_print(out, id, resource_set_get(&queue->inqueue, id));
    buf_add_cstr(out, ", beyond minimums ");
    resource_print(out, id, resource_set_get(&queue->elastic, id));
    add_given(out, "capability", &queue->capability, id);
    add_given(out, "guarantee", &queue->guarantee, id);
    add_figure(scheduler, out, "deserves", queue, FIGURE_DESERVED, id);
    add_figure(scheduler, out, "may hold", queue, FIGURE_LIMIT, id);
    buf_add_char(out, '\n');
}

/* "           of nodes of group a: holds cpu 4 of 5, pods 2 of 10" */
static void add_limits(const struct scheduler *scheduler, const struct sched_queue *queue,
                       struct buf *out)
{
    if (!config_queue_limited(scheduler->config, queue) || scheduler->cache.limits_stale)
        return;
    for (size_t i = 0; i < queue->limits.n; i++) {
        const struct group_limit *limit = &queue->limits.items[i];
        buf_printf(out, "           of nodes of group %s: holds ", limit->group);
        for (uint32_t k = 0; k < limit->most.n; k++) {
            uint32_t id = limit->most.items[k].id;
            buf_printf(out, "%s%s ", k ? ", " : "", resource_name(id));
            resource_print(out, id, resource_set_get(&limit->used, id));
            buf_add_cstr(out, " of ");
            resource_print(out, id, limit->most.items[k].amount);
        }
        buf_add_char(out, '\n');
    }
}

static void add_queue(const struct scheduler *scheduler, const struct sched_queue *queue,
                      struct buf *out)
{
    if (!queue->uid) {
        buf_printf(out, "queue:     %s, which does not exist\n", queue->name);
        return;
    }
    buf_printf(out, "queue:     %s, %s, weight %d, priority %d, %u jobs%s%s\n", queue->name,
               queue->open ? "open" : "not open", queue->weight, queue->priority, queue->jobs,
               queue->parent_name[0] ? ", below " : "", queue->parent_name);
    if (queue->spent && queue->judged == scheduler->cycle.number)
        buf_add_cstr(out, "           has had its share in the last cycle\n");
    for (uint32_t id = 0; id < resource_id_count(); id++)
        if (concerns(queue, id))
            add_resource(scheduler, queue, id, out);
    add_limits(scheduler, queue, out);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void add_nodes(const struct scheduler *scheduler, const struct sched_job *job,
                      struct buf *out)
{
    unsigned shown = 0;
    for (size_t i = 0; i < job->groups.n && shown < EXPLAIN_GROUPS_MAX; i++) {
        const struct task_group *group = job->groups.items[i];
        if (!group->pending.n)
            continue;
        shown++;
        buf_printf(out, "nodes:     for %zu pods of task \"%s\" that ask for ", group->pending.n,
                   job->roles.items[group->role].name);
        add_set(out, &group->cls->request);
        buf_add_cstr(out, ":\n           ");
        const struct fit_table *table = fit_kept(&scheduler->cache, group);
        if (table)
            (void)fit_explain(&scheduler->cache, table, out);
        else
            buf_add_cstr(out, "not looked at yet");
        buf_add_char(out, '\n');
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

/* By the name of the PodGroup, or the job's, which is followed there by a dash and the UID. */
static struct sched_job *find_job(const struct cache *cache, const char *ns, const char *name)
{
    struct sched_job *found = cache_job(cache, ns, name);
    size_t size = strlen(name);
    void *value;
    for (size_t i = 0; !found && map_next(&cache->jobs_by_key, &i, NULL, &value);) {
        struct sched_job *job = value;
        if (strcmp(job->ns, ns) == 0 && strlen(job->name) == size + 1 + UID_SIZE &&
            strncmp(job->name, name, size) == 0 && job->name[size] == '-')
            found = job;
    }
    return found && found->uid ? found : NULL;
}

static void explain(const struct scheduler *scheduler, const struct sched_job *job, struct buf *out)
{
    buf_printf(out, "PodGroup:  %s/%s\n", job->ns, job->name);
    if (!scheduler->leading)
        buf_add_cstr(out, "           (this scheduler stands by; the one that leads decides)\n");
    if (scheduler->cycle.stage != CYCLE_IDLE)
        buf_add_cstr(out, "           (a cycle is under way)\n");
    buf_printf(out, "phase:     %s\npriority:  %d\n", podgroup_phase_name(job->phase),
               job->priority);
    add_reason(scheduler, job, out);
    add_attempts(scheduler, job, out);
    add_holds(scheduler, job, out);
    evictor_explain(scheduler, job, out);
    if (!job->decision && job->count[TASK_PENDING])
        taking_explain(scheduler, job, out);
    add_timeout(scheduler, job, out);
    add_pods(job, out);
    add_all_needs(scheduler, job, out);
    add_queue(scheduler, job->queue, out);
    add_nodes(scheduler, job, out);
}

int explain_page(struct str path, struct str query, struct buf *out, void *arg)
{
    const struct scheduler *scheduler = arg;
    struct str rest = str_from(path, strlen(PATH_PREFIX)), ns = STR_NULL;
    (void)query;
    if (!str_split(&rest, '/', &ns) || str_empty(ns) || str_empty(rest)) {
        buf_add_cstr(out, "ask for " PATH_PREFIX "<namespace>/<job>\n");
        return 404;
    }
    if (!scheduler->ready) {
        buf_add_cstr(out, "not all lists are complete yet; ask again\n");
        return 503;
    }
    cleanup_free char *ns_text = str_dup(ns), *name = str_dup(rest);
    const struct sched_job *job = find_job(&scheduler->cache, ns_text, name);
    if (!job) {
        buf_printf(out,
                   "namespace \"%s\" has neither a PodGroup \"%s\" nor one of a job of that name\n",
                   ns_text, name);
        return 404;
    }
    explain(scheduler, job, out);
    return 200;
}
