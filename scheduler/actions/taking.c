/*
 * Taking room from others. See taking.h.
 */
#include "scheduler/actions/taking.h"
#include "base/alloc.h"
#include "base/timefmt.h"
#include "loop/backoff.h"
#include "scheduler/actions/actions.h"
#include "scheduler/evict/evictor.h"
#include "scheduler/holds.h"
#include "scheduler/order.h"
#include "scheduler/points_evict.h"

#define COLLECT_STEP 64
#define VAIN_FIRST NSEC_PER_SEC
#define VAIN_MOST (30 * NSEC_PER_SEC)

/* An action's own. */
struct taking_arguments {
    bool break_gangs, whole;
};

struct taking {
    const struct taking_type *type;
    struct evict_rules rules;
    struct evict_givers givers;
    struct list *next; /* in cache->place: the job to be looked at next, while collecting */
    struct job_order order;
    struct sched_job *job; /* borrowed; whose turn it is */
    struct evict_plan *plan;
    size_t decided;                /* how much of it was made true */
    bool inside;                   /* it is about pods of the job itself */
    VEC(struct sched_job *) again; /* to be asked about its own pods, in order */
    size_t asked;
};

/* ---- arguments ------------------------------------------------------------------------------- */

static struct taking_arguments *arguments_make(struct action *action)
{
    struct taking_arguments *arguments = xnew(struct taking_arguments);
    arguments->whole = true;
    action->state = arguments;
    return arguments;
}

int taking_open_pods(struct action *action, struct error *err)
{
    struct taking_arguments *arguments = arguments_make(action);
    (void)err;
    arguments_bool(action->arguments, "breakGangs", &arguments->break_gangs);
    return 0;
}

int taking_open_jobs(struct action *action, struct error *err)
{
    struct taking_arguments *arguments = arguments_make(action);
    (void)err;
    arguments_bool(action->arguments, "allowWholeBundle", &arguments->whole);
    return 0;
}

void taking_close(struct action *action)
{
    free(action->state);
}

/* ---- which jobs ------------------------------------------------------------------------------ */

/* Differs when somebody may find room, or be evicted, who could not before. */
static uint64_t state_of(const struct cache *cache)
{
    return cache_chances(cache) + cache->eased + cache->workload;
}

/* When a job for which nobody could be evicted is looked at again; INT64_MAX: when something has
 * changed. */
static int64_t next_look(const struct cache *cache, const struct job_taking *last)
{
    return last->state != state_of(cache) ? last->again_ns : last->due_ns;
}

/* Nothing has changed since nobody could be evicted for it, or too little time has passed. */
static bool is_in_vain(struct scheduler *scheduler, struct sched_job *job, enum eviction_kind kind)
{
    const struct job_taking *last = &job->taking[kind];
    int64_t next = next_look(&scheduler->cache, last);
    int64_t wait = next - loop_now(scheduler->params.loop);
    if (!last->vain || next == INT64_MAX)
        return last->vain > 0;
    if (wait > 0)
        loop_timer_set_earlier(scheduler->params.loop, &job->timer, wait);
    return wait > 0;
}

int64_t taking_look(const struct scheduler *scheduler, const struct sched_job *job)
{
    const int64_t now_ns = loop_now(scheduler->params.loop);
    int64_t next = INT64_MAX;
    for (int kind = 0; kind < JOB_TAKING_COUNT; kind++) {
        const struct job_taking *last = &job->taking[kind];
        int64_t at_ns = last->vain ? next_look(&scheduler->cache, last) : INT64_MAX;
        if (at_ns > now_ns && at_ns < next)
            next = at_ns;
    }
    return next;
}

static void note_vain(struct scheduler *scheduler, struct sched_job *job, enum eviction_kind kind,
                      const struct evict_plan *plan)
{
    struct loop *loop = scheduler->params.loop;
    struct job_taking *last = &job->taking[kind];
    int64_t due_ns = evict_plan_due(plan);
    last->outcome = (uint8_t)evict_plan_outcome(plan);
    int64_t delay = backoff_delay(VAIN_FIRST, VAIN_MOST, last->vain);
    last->again_ns = loop_now(loop) + delay;
    last->due_ns =
        due_ns == INT64_MAX ? INT64_MAX : time_add(loop_now(loop), due_ns - loop_wall(loop));
    last->state = state_of(&scheduler->cache);
    cache_dirty(&scheduler->cache, job); /* its timer follows */
    if (last->vain < UINT16_MAX)
        last->vain++;
}

void taking_explain(const struct scheduler *scheduler, const struct sched_job *job, struct buf *out)
{
    static const char *const actions[] = {[EVICT_PREEMPT] = "preempt",
                                          [EVICT_RECLAIM] = "reclaim",
                                          [EVICT_GANG_PREEMPT] = "gangpreempt",
                                          [EVICT_GANG_RECLAIM] = "gangreclaim"};
    static const char *const outcomes[] = {
        [EVICT_NOTHING] = "on no node would those who may be evicted for it make enough room",
        [EVICT_NO_NEED] = "it has room once the pods are gone that are on their way out",
        [EVICT_REFUSED] = "its queue may have no more, or nobody may be evicted for its pods"};
    for (int kind = 0; kind < JOB_TAKING_COUNT; kind++)
        if (job->taking[kind].vain && sched_config_has_action(scheduler->config, actions[kind]))
            buf_printf(out, "evicts:    nobody (%s): %s\n", actions[kind],
                       outcomes[job->taking[kind].outcome]);
}

static bool may_take(struct scheduler *scheduler, const struct taking *taking,
                     struct sched_job *job)
{
    const struct sched_config *config = scheduler->config;
    if (!job->queue->uid || !job->queue->open || is_in_vain(scheduler, job, taking->type->kind) ||
        !evictor_may(scheduler, job) || !config_job_possible(config, job) ||
        !config_job_starving(config, job))
        return false;
    return !eviction_between_queues(taking->type->kind) || holds_awaited(job) ||
           !config_queue_overused(config, &scheduler->cache, job->queue);
}

/* No change is applied and nothing decided until all are collected, so that the list stays. */
static void collect(struct scheduler *scheduler, struct taking *taking)
{
    const struct list *end = &scheduler->cache.place;
    for (unsigned i = 0; i < COLLECT_STEP && taking->next != end; i++) {
        struct sched_job *job = container_of(taking->next, struct sched_job, place);
        taking->next = taking->next->next;
        scheduler->cache.work++;
        if (may_take(scheduler, taking, job))
            job_order_push(&taking->order, job);
    }
    if (taking->next == end)
        taking->next = NULL;
}

/* ---- one job --------------------------------------------------------------------------------- */

static void begin_plan(struct scheduler *scheduler, struct taking *taking, struct sched_job *job,
                       bool inside)
{
    struct evict_rules rules = taking->rules;
    rules.givers = &taking->givers;
    rules.inside = taking->inside = inside;
    taking->decided = 0;
    taking->job = job;
    taking->plan = evict_plan_new(scheduler, job, &rules);
}

static void end_plan(struct scheduler *scheduler, struct taking *taking)
{
    struct sched_job *job = taking->job;
    if (evict_plan_outcome(taking->plan) == EVICT_DECIDED) {
        if (!evictor_decide(scheduler, job, taking->plan, taking->type->name, &taking->decided))
            return;
        config_turn_over(scheduler->config, job); /* its queue has more from now on */
        job->taking[taking->type->kind].vain = 0;
    } else if (taking->type->inside_too && !taking->inside &&
               config_job_ready(scheduler->config, job)) {
        vec_push(&taking->again, job);
    } else {
        note_vain(scheduler, job, taking->type->kind, taking->plan);
    }
    evict_plan_free(taking->plan);
    taking->plan = NULL;
}

void *taking_begin(struct scheduler *scheduler, const struct taking_type *type)
{
    if (list_empty(&scheduler->cache.place))
        return NULL;
    const struct action *action = sched_config_action(scheduler->config, type->name);
    const struct taking_arguments *arguments = action->state;
    struct taking *taking = xnew(struct taking);
    taking->type = type;
    taking->rules = (struct evict_rules){
        .kind = type->kind, .whole = arguments->whole, .break_gangs = arguments->break_gangs};
    taking->next = scheduler->cache.place.next;
    job_order_init(&taking->order, scheduler->config);
    return taking;
}

/* False when no job is left. */
static bool pick(struct scheduler *scheduler, struct taking *taking)
{
    struct sched_job *job = job_order_pop(&taking->order);
    bool inside = !job;
    if (inside && taking->asked < taking->again.n)
        job = taking->again.items[taking->asked++];
    if (job)
        begin_plan(scheduler, taking, job, inside);
    return job != NULL;
}

bool taking_step(struct scheduler *scheduler, void *state)
{
    struct taking *taking = state;
    if (taking->next)
        collect(scheduler, taking);
    else if (!taking->plan)
        return !pick(scheduler, taking);
    else if (evict_plan_step(taking->plan))
        end_plan(scheduler, taking);
    return false;
}

void taking_end(struct scheduler *scheduler, void *state)
{
    struct taking *taking = state;
    (void)scheduler;
    evict_plan_free(taking->plan);
    job_order_clear(&taking->order);
    evict_givers_clear(&taking->givers);
    vec_clear(&taking->again);
    free(taking);
}
