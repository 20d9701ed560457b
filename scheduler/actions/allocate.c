/*
 * allocate: places jobs and binds them.
 *
 * A job below its minimum is placed whole in memory first: the minimums of its roles, then any pods
 * up to the minimum of the job. If all found a node, all are bound; if not, everything is taken
 * back, nothing stays reserved, and the next job is tried. A job at its minimum gets one more pod
 * a turn. A queue that has had its share gets nothing more in the cycle, and nothing is placed that
 * its queue may not hold: its jobs are passed over without being tried. A gang that was cut off
 * half-way (some of it bound, by us before a restart or with a bind that failed) goes before
 * everything else, and may have what is beyond its queue's share. When nothing is left to try, so
 * may gangs that are larger than that share: see lending.h.
 *
 * A gang for which nodes are held comes first in its queue; after its turn its places are made up
 * (reserve.h). When all had their turn, the first of each queue that has starved for long enough is
 * looked at for a reservation.
 */
#include "scheduler/actions/actions.h"
#include "scheduler/actions/ahead.h"
#include "scheduler/actions/lending.h"
#include "scheduler/actions/worth.h"
#include "scheduler/bind.h"
#include "scheduler/cycle.h"
#include "scheduler/evict/evictor.h"
#include "scheduler/fit.h"
#include "scheduler/holds.h"
#include "scheduler/metrics.h"
#include "scheduler/order.h"
#include "scheduler/reserve.h"
#include "scheduler/statement.h"
#include "scheduler/why.h"

/* Jobs looked at in one step, to see which are worth a try. */
#define COLLECT_STEP 64

enum stage {
    STAGE_COLLECT,
    STAGE_PICK,
    STAGE_PLACES, /* those that others were evicted for, where they were to be */
    STAGE_GANG,
    STAGE_SURPLUS,
    STAGE_BIND,
    STAGE_UNDO,
    STAGE_HOLD,    /* makes up the places of a job that holds nodes */
    STAGE_CONTEND, /* the next queue in which a job may come to hold nodes */
    STAGE_PLAN     /* whether it would fit the emptied cluster */
};

struct allocate {
    struct list *next;  /* in cache->place: the job to be looked at next, while collecting */
    struct heap broken; /* gangs cut off half-way */
    struct job_order order;
    struct lending lending; /* gangs that are larger than the share of their queue */
    struct sched_job *job;
    bool mending; /* it came from `broken` */
    bool yielded; /* others have let go, or lifted, what they hold, and it is tried again */
    bool lent;    /* it came from `lending` */
    bool beyond;  /* the share of its queue does not count, only what the queue may have at all */
    enum stage stage;
    struct statement statement;
    size_t places;                       /* looked at of those that others were evicted for */
    bool gang;                           /* it was below its minimum */
    enum ahead ahead;                    /* whether volumes of a failed gang are made ahead of it */
    size_t bound;                        /* of the statement */
    uint64_t attempt;                    /* number of this one */
    int64_t spent_ns;                    /* what the action had taken when it began */
    bool again;                          /* a group failed, and others are to be tried */
    bool refused;                        /* the queue could not have a pod, or the gang */
    struct buf share;                    /* what the plugin said that did */
    enum plugin_miss miss;               /* what plugins had to do with that, at most */
    struct task_group *failed;           /* the group whose pod found no node first, or NULL */
    uint32_t would;                      /* pods placed when it did */
    uint64_t signature;                  /* of the reasons in `nodes` */
    struct buf nodes;                    /* why nodes did not fit; empty when the text is not due */
    VEC(struct sched_queue *) contended; /* queues with a contender */
    struct reserve_plan *plan;           /* of the one looked at, or NULL */
};

/* ---- which jobs ------------------------------------------------------------------------------ */

static bool broken_before(const struct heap_node *x, const struct heap_node *y, void *arg)
{
    return config_job_before(arg, const_container_of(x, struct sched_job, order),
                             const_container_of(y, struct sched_job, order));
}

static struct allocate *allocate_new(struct scheduler *scheduler)
{
    struct allocate *allocate = xnew(struct allocate);
    heap_init(&allocate->broken, broken_before, scheduler->config);
    job_order_init(&allocate->order, scheduler->config);
    allocate->next = scheduler->cache.place.next;
    buf_init(&allocate->nodes, 4 * WHY_TEXT_MAX);
    buf_init(&allocate->share, 4 * WHY_TEXT_MAX);
    return allocate;
}

static void *begin(struct scheduler *scheduler)
{
    enqueue_all(scheduler);
    return list_empty(&scheduler->cache.place) ? NULL : allocate_new(scheduler);
}

/* Notes the first of its queue that may hold nodes. */
static void contend(struct scheduler *scheduler, struct allocate *allocate, struct sched_job *job)
{
    struct sched_queue *queue = job->queue;
    if (!reserve_may(scheduler, job) || worth_is_spent(scheduler, queue, false))
        return;
    if (!queue->contender)
        vec_push(&allocate->contended, queue);
    if (!queue->contender || config_job_before(scheduler->config, job, queue->contender))
        queue->contender = job;
}

/* Nothing is placed and no change applied until all are collected, so that the list stays. */
static void collect(struct scheduler *scheduler, struct allocate *allocate)
{
    const struct list *end = &scheduler->cache.place;
    for (unsigned i = 0; i < COLLECT_STEP && allocate->next != end; i++) {
        struct sched_job *job = container_of(allocate->next, struct sched_job, place);
        allocate->next = allocate->next->next;
        scheduler->cache.work++;
        contend(scheduler, allocate, job);
        if (!worth_trying(scheduler, job))
            continue;
        if (worth_is_broken(scheduler, job))
            heap_push(&allocate->broken, &job->order);
        else
            job_order_push(&allocate->order, job);
    }
    if (allocate->next == end)
        allocate->stage = STAGE_PICK;
}

/* Whether the queue may hold as much more; if not, the job is told why. */
static bool allows(struct scheduler *scheduler, struct allocate *allocate,
                   const struct pod_class *cls)
{
    struct sched_queue *queue = allocate->job->queue;
    buf_reset(&allocate->share);
    queue->beyond = allocate->beyond;
    bool allowed =
        config_allocatable(scheduler->config, &scheduler->cache, queue, cls, &allocate->share);
    queue->beyond = false;
    if (allowed)
        return true;
    if (!allocate->failed && !allocate->refused)
        why_share(scheduler, allocate->job, buf_str(&allocate->share));
    allocate->refused = true;
    return false;
}

/* Asks for the gang as a whole, before any of its pods is placed. */
static bool allows_gang(struct scheduler *scheduler, struct allocate *allocate)
{
    struct pod_class sum = {.request = why_gang_needs(allocate->job)};
    bool allowed = allows(scheduler, allocate, &sum);
    resource_set_clear(&sum.request);
    if (!allowed && !allocate->beyond)
        lending_add(&allocate->lending, allocate->job, allocate->attempt);
    return allowed;
}

static void begin_attempt(struct scheduler *scheduler, struct allocate *allocate)
{
    struct sched_job *job = allocate->job;
    allocate->attempt = ++scheduler->cycle.attempts;
    allocate->spent_ns = cycle_action_spent(scheduler);
    allocate->bound = 0;
    allocate->failed = NULL;
    allocate->refused = false;
    allocate->miss = MISS_NONE;
    buf_reset(&allocate->nodes);
    job->attempt_ns = loop_now(scheduler->params.loop);
    job->attempts++;
    allocate->gang = !config_job_ready(scheduler->config, job);
    allocate->stage = STAGE_PLACES;
    allocate->places = 0;
    reserve_lift(scheduler, job, allocate->mending);
    if (allocate->gang && !allows_gang(scheduler, allocate))
        allocate->stage = STAGE_UNDO;
}

/* `refused`: its queue could not have it. */
static void begin_hold(struct allocate *allocate, bool refused)
{
    allocate->refused = refused;
    reserve_begin(allocate->job);
    allocate->stage = STAGE_HOLD;
}

/* Begins to try a gang beyond the share of its queue; false when there is none left. If it fails,
 * the share stays the reason. */
static bool lend(struct scheduler *scheduler, struct allocate *allocate)
{
    struct sched_job *job = lending_next(&allocate->lending);
    if (!job)
        return false;
    if (!why_gang_fits(&scheduler->cache, job))
        return true;
    allocate->job = job;
    allocate->lent = allocate->beyond = true;
    begin_attempt(scheduler, allocate);
    allocate->refused = true;
    return true;
}

static bool pick(struct scheduler *scheduler, struct allocate *allocate)
{
    if (allocate->mending || allocate->lent) /* other turns are ended by the order */
        config_turn_over(scheduler->config, allocate->job);
    struct heap_node *broken = heap_pop(&allocate->broken);
    allocate->ahead = AHEAD_NO;
    allocate->mending = allocate->beyond = broken != NULL;
    allocate->yielded = false;
    allocate->lent = false;
    struct sched_job *job =
        broken ? container_of(broken, struct sched_job, order) : job_order_pop(&allocate->order);
    if (!job)
        return lend(scheduler, allocate);
    allocate->job = job;
    if (!broken && !holds_awaited(job) && worth_is_spent(scheduler, job->queue, true))
        why_overused(scheduler, job);
    else if (worth_only_holding(scheduler, job))
        begin_hold(allocate, false);
    else
        begin_attempt(scheduler, allocate);
    return true;
}

/* ---- placing --------------------------------------------------------------------------------- */

static bool may_give(const struct allocate *allocate, const struct task_group *group)
{
    return group->pending.n && group->failed != allocate->attempt;
}

/* Remembers why the first pod that found no node did not, while the others are still placed. What a
 * plugin has just asked about is known soon: what the job says of nodes stays until then. */
static void note_failure(struct scheduler *scheduler, struct allocate *allocate,
                         struct task_group *group, const struct fit_table *table)
{
    group->failed = allocate->attempt;
    enum plugin_miss miss = config_missed(scheduler->config, &scheduler->cache, group, table);
    allocate->miss = miss > allocate->miss ? miss : allocate->miss;
    if (allocate->failed || allocate->refused)
        return;
    allocate->failed = group;
    allocate->would = (uint32_t)allocate->statement.placed.n;
    if (miss == MISS_ASKED && allocate->job->why.kind == WHY_NODES)
        return;
    if (!why_is_due_or_later(scheduler, allocate->job, WHY_NODES))
        return;
    allocate->signature = fit_explain(&scheduler->cache, table, &allocate->nodes);
    scheduler->cache.work += scheduler->cache.nodes.n;
}

/* All that could be placed in this turn is. */
static void end_search(struct scheduler *scheduler, struct allocate *allocate, enum stage next)
{
    metrics_stage(scheduler, METRICS_STAGE_PREDICATE,
                  cycle_action_spent(scheduler) - allocate->spent_ns);
    allocate->stage = next;
}

/* No more of those that others were evicted for can be placed where they were to be. Others above
 * the minimum of the job do not get what these wait for. */
static void end_places(struct scheduler *scheduler, struct allocate *allocate)
{
    if (!allocate->gang && allocate->statement.placed.n) {
        end_search(scheduler, allocate, STAGE_BIND);
        return;
    }
    if (!allocate->gang)
        holds_restore(&scheduler->cache);
    allocate->stage = allocate->gang ? STAGE_GANG : STAGE_SURPLUS;
}

/* One pod for which others were evicted, if it has room where it was to be by now. Were the pods of
 * the job taken in their order, one of another kind could take that room, and the rest would not
 * fit: then all was in vain. */
static void step_places(struct scheduler *scheduler, struct allocate *allocate)
{
    struct cache *cache = &scheduler->cache;
    struct evict_place place;
    bool ready = allocate->gang && config_job_ready(scheduler->config, allocate->job);
    if (ready || !evictor_next_place(scheduler, allocate->job, &allocate->places, &place)) {
        end_places(scheduler, allocate);
        return;
    }
    const struct task_group *group = place.task->group;
    if (!fit_reason(fit_table_of(cache, scheduler->config, group), place.node) &&
        allows(scheduler, allocate, group->cls))
        (void)statement_place(cache, &allocate->statement, place.task, place.node);
}

static bool place_one(struct scheduler *scheduler, struct allocate *allocate,
                      struct task_group *group)
{
    struct cache *cache = &scheduler->cache;
    if (!allows(scheduler, allocate, group->cls)) {
        group->failed = allocate->attempt;
        return false;
    }
    struct fit_table *table = fit_table_of(cache, scheduler->config, group);
    struct sched_node *node = fit_best(cache, table);
    struct sched_task *task = container_of(heap_peek(&group->pending), struct sched_task, waiting);
    if (node && statement_place(cache, &allocate->statement, task, node))
        return true;
    note_failure(scheduler, allocate, group, table);
    return false;
}

/* One group is tried at a time, so that the failures of many do not make a long step: `again` then.
 * Pods that ask for something come first; best-effort ones only make up the number. */
static bool place_any(struct scheduler *scheduler, struct allocate *allocate, int role,
                      bool best_effort)
{
    const struct sched_job *job = allocate->job;
    for (size_t i = 0; i < job->groups.n; i++) {
        struct task_group *group = job->groups.items[i];
        bool fits_in =
            (role < 0 || group->role == (uint32_t)role) && group->cls->best_effort == best_effort;
        if (!fits_in || !may_give(allocate, group))
            continue;
        bool placed = place_one(scheduler, allocate, group);
        allocate->again = !placed;
        return placed;
    }
    return false;
}

static bool place_in_turn(struct scheduler *scheduler, struct allocate *allocate, int role)
{
    bool placed = place_any(scheduler, allocate, role, false);
    return placed || allocate->again ? placed : place_any(scheduler, allocate, role, true);
}

static bool place_gang_pod(struct scheduler *scheduler, struct allocate *allocate)
{
    const struct sched_job *job = allocate->job;
    for (size_t r = 0; job->roles_enforced && r < job->roles.n; r++)
        if ((int64_t)job->roles.items[r].have < job->roles.items[r].min)
            return place_in_turn(scheduler, allocate, (int)r);
    return place_in_turn(scheduler, allocate, -1);
}

static void give_up(struct scheduler *scheduler, struct allocate *allocate)
{
    if (job_gang_ready(allocate->job) && !allocate->failed && !allocate->refused)
        why_unready(scheduler, allocate->job);
    if (allocate->ahead == AHEAD_NO)
        allocate->ahead = ahead_wanted(scheduler, allocate->job, allocate->failed);
    end_search(scheduler, allocate, STAGE_UNDO);
}

static void step_gang(struct scheduler *scheduler, struct allocate *allocate)
{
    struct sched_job *job = allocate->job;
    bool ready = config_job_ready(scheduler->config, job), tried = allocate->ahead == AHEAD_TRIED;
    allocate->again = false;
    if (ready && tried)
        ahead_ask(scheduler, job, &allocate->statement);
    if (ready)
        end_search(scheduler, allocate, tried ? STAGE_UNDO : STAGE_BIND);
    else if (!place_gang_pod(scheduler, allocate) && !allocate->again)
        give_up(scheduler, allocate);
}

/* ---- outcomes -------------------------------------------------------------------------------- */

static void step_bind(struct scheduler *scheduler, struct allocate *allocate)
{
    struct sched_job *job = allocate->job;
    struct statement *statement = &allocate->statement;
    if (allocate->bound == 0 && allocate->gang)
        metrics_job(scheduler, job);
    if (allocate->lent)
        job->queue->lent = allocate->attempt;
    if (allocate->bound == 0)
        window_flow_set_missing(&job->flow, job->flow.missing + (uint32_t)statement->placed.n);
    if (allocate->bound < statement->placed.n) {
        bind_start(scheduler, statement->placed.items[allocate->bound++]);
        return;
    }
    struct sched_task *const *placed = statement->placed.items;
    size_t count = statement->placed.n;
    statement->placed.n = 0;
    reserve_settle(scheduler, job, placed, count);
    if (config_job_ready(scheduler->config, job))
        evictor_placed(scheduler, job, placed, count);
    if (job->reservation && !job->reservation->nominated &&
        config_job_ready(scheduler->config, job))
        holds_close(&scheduler->cache, job->reservation);
    holds_restore(&scheduler->cache);
    job->tried = false;
    why_clear(job);
    job->failed_at = UINT64_MAX;
    cache_dirty(&scheduler->cache, job);
    cache_file_job(&scheduler->cache, job);
    if (job->count[TASK_PENDING])
        job_order_push(&allocate->order, job);
    allocate->stage = STAGE_PICK;
}

/* Whether it lacks nodes. Where a plugin does not know yet that stays as it was. */
static void note_want(struct scheduler *scheduler, const struct allocate *allocate)
{
    struct sched_job *job = allocate->job;
    if (allocate->miss == MISS_KEPT_OFF)
        reserve_spare(&scheduler->cache, job);
    else if (allocate->refused && !allocate->failed)
        reserve_refused(scheduler, job);
    else if (allocate->failed && !allocate->miss)
        reserve_failed(&scheduler->cache, job);
}

/* Whether others give way, so that it is worth another attempt. */
static bool yield(struct scheduler *scheduler, struct allocate *allocate)
{
    bool refused = allocate->refused && !allocate->failed;
    if (allocate->miss || (!allocate->failed && !refused))
        return false;
    bool any = reserve_yield(scheduler, allocate->job, refused ? NULL : allocate->failed->cls,
                             !allocate->yielded);
    allocate->yielded = allocate->yielded || any;
    return any;
}

static void step_undo(struct scheduler *scheduler, struct allocate *allocate)
{
    struct sched_job *job = allocate->job;
    struct cache *cache = &scheduler->cache;
    if (statement_undo(cache, &allocate->statement))
        return;
    holds_restore(cache);
    if (allocate->ahead == AHEAD_TRIED) {
        ahead_end(scheduler);
        begin_hold(allocate, false);
        return;
    }
    note_want(scheduler, allocate);
    if (!job->tried && !list_empty(&cache->admit))
        cache_room(cache); /* its claim on what is free has ended */
    job->tried = true;
    if (allocate->failed && allocate->nodes.n)
        why_gang(scheduler, job, allocate->failed, allocate->would, allocate->signature,
                 buf_str(&allocate->nodes));
    if (allocate->ahead == AHEAD_WANTED) {
        allocate->ahead = AHEAD_TRIED;
        ahead_begin(scheduler);
        begin_attempt(scheduler, allocate);
        return;
    }
    if (!yield(scheduler, allocate)) {
        begin_hold(allocate, allocate->refused);
        return;
    }
    job->failed_at = UINT64_MAX;
    allocate->stage = STAGE_PICK;
    if (allocate->lent)
        holds_restore(cache);
    else /* before a job of lower priority takes it */
        begin_attempt(scheduler, allocate);
}

static void step_surplus(struct scheduler *scheduler, struct allocate *allocate)
{
    struct sched_job *job = allocate->job;
    allocate->again = false;
    bool placed = place_any(scheduler, allocate, -1, false);
    if (!placed && allocate->again)
        return;
    end_search(scheduler, allocate, placed ? STAGE_BIND : STAGE_PICK);
    if (placed)
        return;
    holds_restore(&scheduler->cache);
    worth_note_failure(&scheduler->cache, job, allocate->refused);
    if (allocate->failed && allocate->nodes.n)
        why_surplus(scheduler, job, allocate->failed, allocate->signature,
                    buf_str(&allocate->nodes));
}

/* ---- nodes held for gangs -------------------------------------------------------------------- */

static void step_hold(struct scheduler *scheduler, struct allocate *allocate)
{
    if (reserve_step(scheduler, allocate->job))
        return;
    worth_note_failure(&scheduler->cache, allocate->job, allocate->refused);
    allocate->stage = STAGE_PICK;
}

/* False when no queue is left. */
static bool step_contend(struct scheduler *scheduler, struct allocate *allocate)
{
    if (!allocate->contended.n)
        return false;
    struct sched_queue *queue = allocate->contended.items[--allocate->contended.n];
    struct sched_job *job = queue->contender;
    queue->contender = NULL;
    if (!reserve_is_worth(scheduler, job)) /* it may have been placed meanwhile */
        return true;
    allocate->job = job;
    allocate->plan = reserve_plan_new(scheduler, job);
    allocate->stage = STAGE_PLAN;
    return true;
}

static void step_plan(struct scheduler *scheduler, struct allocate *allocate)
{
    if (!reserve_plan_step(allocate->plan))
        return;
    reserve_decide(scheduler, allocate->job, reserve_plan_fits(allocate->plan));
    reserve_plan_free(allocate->plan);
    allocate->plan = NULL;
    begin_hold(allocate, false);
}

static bool step(struct scheduler *scheduler, void *state)
{
    struct allocate *allocate = state;
    switch (allocate->stage) {
    case STAGE_COLLECT:
        collect(scheduler, allocate);
        break;
    case STAGE_PICK:
        if (!pick(scheduler, allocate))
            allocate->stage = STAGE_CONTEND;
        break;
    case STAGE_PLACES:
        step_places(scheduler, allocate);
        break;
    case STAGE_GANG:
        step_gang(scheduler, allocate);
        break;
    case STAGE_SURPLUS:
        step_surplus(scheduler, allocate);
        break;
    case STAGE_BIND:
        step_bind(scheduler, allocate);
        break;
    case STAGE_UNDO:
        step_undo(scheduler, allocate);
        break;
    case STAGE_HOLD:
        step_hold(scheduler, allocate);
        break;
    case STAGE_CONTEND:
        return !step_contend(scheduler, allocate);
    case STAGE_PLAN:
        step_plan(scheduler, allocate);
        break;
    }
    return false;
}

static void end(struct scheduler *scheduler, void *state)
{
    struct allocate *allocate = state;
    while (allocate->statement.placed.n > allocate->bound &&
           statement_undo(&scheduler->cache, &allocate->statement))
        ;
    ahead_end(scheduler);
    holds_restore(&scheduler->cache);
    for (size_t i = 0; i < allocate->contended.n; i++)
        allocate->contended.items[i]->contender = NULL;
    vec_clear(&allocate->contended);
    reserve_plan_free(allocate->plan);
    statement_clear(&allocate->statement);
    heap_clear(&allocate->broken);
    job_order_clear(&allocate->order);
    lending_clear(&allocate->lending);
    buf_clear(&allocate->nodes);
    buf_clear(&allocate->share);
    free(allocate);
}

/* Which nodes fit is always kept. */
static const char *const ignored[] = {"predicateErrorCacheEnable", NULL};

const struct action_type action_allocate = {
    .name = "allocate", .ignored = ignored, .begin = begin, .step = step, .end = end};
