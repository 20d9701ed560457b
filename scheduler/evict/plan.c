/*
 * Deciding whom to evict for a job. See plan.h.
 *
 * The stages: all jobs are looked at once for who might go and who goes anyway (COLLECT, ARRANGE);
 * the job's pods are placed one by one where there is room (PLACE); for one that finds none, the
 * nodes where others could make room are ordered by what that costs at least (SITES), and the
 * cheapest is tried (TRY: as many as it takes go, TAKE, those come back who are not needed, KEEP,
 * or all of them, DROP) until one is found whose true cost is not above the next one's estimate.
 * When all have a place, every unit is brought back if the pods find places all the same (SPARE).
 * Then everything is taken back, whatever was decided (UNDO).
 */
#include "scheduler/evict/plan_private.h"
#include "scheduler/fit.h"
#include "scheduler/holds.h"
#include "scheduler/points_evict.h"
#include "scheduler/why.h"

#define UNDO_STEP 256 /* pods brought back in one step */

/* ---- the beginning --------------------------------------------------------------------------- */

static void want(const struct task_group *group, uint32_t count, void *arg)
{
    struct evict_plan *plan = arg;
    vec_push(&plan->wants,
             ((struct evict_want){group, count, 0, resource_set_copy(&group->cls->request)}));
}

/* A queue may have a single pod that it may not have as one of a gang, for which allocate asks as a
 * whole: of a gang each is asked for as one of more. */
static void ask_as_gang(struct evict_plan *plan)
{
    uint32_t pods = 0;
    for (size_t i = 0; i < plan->wants.n; i++)
        pods += plan->wants.items[i].count;
    for (size_t i = 0; i < plan->wants.n && pods > 1; i++)
        resource_set_put(&plan->wants.items[i].asked, RESOURCE_PODS, 2);
}

/* Above its minimum it wants whatever waits, pods of a higher priority first. */
static void want_surplus(struct evict_plan *plan)
{
    for (size_t i = 0; i < plan->job->groups.n; i++) {
        const struct task_group *group = plan->job->groups.items[i];
        if (group->pending.n && !group->cls->best_effort)
            want(group, (uint32_t)group->pending.n, plan);
    }
}

struct evict_plan *evict_plan_new(struct scheduler *scheduler, struct sched_job *job,
                                  const struct evict_rules *rules)
{
    struct evict_plan *plan = xnew(struct evict_plan);
    plan->scheduler = scheduler;
    plan->job = job;
    plan->rules = *rules;
    plan->wall_ns = loop_wall(scheduler->params.loop);
    plan->due_ns = INT64_MAX;
    plan->outcome = EVICT_NOTHING;
    plan->gang = !config_job_ready(scheduler->config, job);
    plan->ranked = sched_config_has_plugin(scheduler->config, "priority") ||
                   sched_config_has_action(scheduler->config, "gangpreempt");
    buf_init(&plan->why, 4 * WHY_TEXT_MAX);
    budget_tally_begin(&plan->tally, &scheduler->cache);
    losses_of(&scheduler->losses, job, &plan->exempt);
    if (job->reservation)
        holds_lift(&scheduler->cache, job);
    if (plan->gang) {
        job_each_missing(job, want, plan);
        ask_as_gang(plan);
    } else {
        want_surplus(plan);
    }
    plan->stage = plan->wants.n ? EVICT_COLLECT : EVICT_DONE;
    return plan;
}

/* ---- placing --------------------------------------------------------------------------------- */

bool evict_allows(struct evict_plan *plan, const struct task_group *group)
{
    const struct evict_want *wanted = plan->wants.items;
    while (wanted->group != group)
        wanted++;
    const struct pod_class cls = {.request = wanted->asked};
    buf_reset(&plan->why);
    return config_allocatable(plan->scheduler->config, evict_cache(plan), plan->job->queue, &cls,
                              &plan->why);
}

struct fit_table *evict_table_of(struct evict_plan *plan, const struct task_group *group)
{
    return fit_table_of(evict_cache(plan), plan->scheduler->config, group);
}

bool evict_place_on(struct evict_plan *plan, struct evict_want *wanted, struct sched_node *node)
{
    struct sched_task *task = evict_next_of(wanted->group);
    evict_cache(plan)->work += 8;
    if (!task || !statement_place(evict_cache(plan), &plan->statement, task, node))
        return false;
    wanted->placed++;
    return true;
}

bool evict_place_freely(struct evict_plan *plan, struct evict_want *wanted)
{
    if (!evict_allows(plan, wanted->group))
        return false;
    struct sched_node *node = fit_best(evict_cache(plan), evict_table_of(plan, wanted->group));
    return node && evict_place_on(plan, wanted, node);
}

/* Whether the job has what it needs. */
static bool is_enough(const struct evict_plan *plan)
{
    const struct sched_config *config = plan->scheduler->config;
    return !plan->gang ||
           (config_job_ready(config, plan->job) && config_job_pipelined(config, plan->job));
}

/* No more pods are placed: what was is looked at, or all is taken back. */
static void end_placing(struct evict_plan *plan)
{
    if (!plan->statement.placed.n || !is_enough(plan)) {
        plan->stage = EVICT_UNDO;
        return;
    }
    plan->outcome = plan->units.n ? EVICT_DECIDED : EVICT_NO_NEED;
    plan->stage = plan->units.n ? EVICT_SPARE : EVICT_UNDO;
    plan->cursor = 0;
    evict_order_units(plan, 0);
}

void evict_give_up(struct evict_plan *plan, enum evict_outcome outcome)
{
    if (plan->gang) {
        plan->outcome = outcome;
        plan->stage = EVICT_UNDO;
        return;
    }
    plan->wants.items[plan->want].count = plan->wants.items[plan->want].placed;
    if (!plan->statement.placed.n)
        plan->outcome = outcome;
    plan->stage = EVICT_PLACE;
}

/* Whether the queue may have others' room for one more such pod. */
static bool is_entitled(const struct evict_plan *plan, const struct task_group *group)
{
    return !eviction_between_queues(plan->rules.kind) ||
           config_preemptive(plan->scheduler->config, evict_cache(plan), plan->job->queue,
                             &group->cls->request);
}

/* Whether others may be evicted for a pod of this kind, by rules that no victim changes. */
static bool may_evict_for(struct evict_plan *plan, const struct task_group *group)
{
    const struct sched_task *task = evict_next_of(group);
    if (!task || task->pod->never_preempts)
        return false;
    return is_entitled(plan, group);
}

static void step_place(struct evict_plan *plan)
{
    while (plan->want < plan->wants.n &&
           plan->wants.items[plan->want].placed >= plan->wants.items[plan->want].count)
        plan->want++;
    if (plan->want == plan->wants.n) {
        end_placing(plan);
        return;
    }
    struct evict_want *wanted = &plan->wants.items[plan->want];
    /* What is free may be so because others go: that is taken from them, too. */
    if ((plan->gang || plan->units.n) && !is_entitled(plan, wanted->group)) {
        evict_give_up(plan, EVICT_REFUSED);
        return;
    }
    if (evict_place_freely(plan, wanted))
        return;
    if (!may_evict_for(plan, wanted->group))
        evict_give_up(plan, EVICT_REFUSED);
    else
        evict_sites_begin(plan, wanted->group);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void note_outcome(struct evict_plan *plan)
{
    for (size_t i = 0; i < plan->candidates.n; i++) {
        const struct evict_candidate *candidate = &plan->candidates.items[i];
        if (!evict_is_there(candidate))
            vec_push(&plan->victims,
                     ((struct evict_victim){candidate->task,
                                            plan->units.items[candidate->unit - 1].whole}));
    }
    for (size_t i = 0; i < plan->statement.placed.n; i++) {
        struct sched_task *task = plan->statement.placed.items[i];
        vec_push(&plan->places, ((struct evict_place){task, task->node}));
    }
    if (!plan->victims.n)
        plan->outcome = EVICT_NO_NEED;
}

/* Takes one thing back; false when there is none left. */
static bool undo_one(struct evict_plan *plan)
{
    if (statement_undo(evict_cache(plan), &plan->statement))
        return true;
    if (plan->units.n) {
        evict_drop_units(plan, plan->units.n - 1);
        return true;
    }
    if (!plan->leaving.n)
        return false;
    const struct evict_leaving *last = &plan->leaving.items[--plan->leaving.n];
    evict_move(evict_cache(plan), last->task, TASK_RELEASING, last->node);
    return true;
}

static void step_undo(struct evict_plan *plan)
{
    if (plan->outcome == EVICT_DECIDED && !plan->victims.n)
        note_outcome(plan);
    for (unsigned i = 0; i < UNDO_STEP; i++)
        if (!undo_one(plan)) {
            plan->stage = EVICT_DONE;
            return;
        }
}

bool evict_plan_step(struct evict_plan *plan)
{
    switch (plan->stage) {
    case EVICT_COLLECT:
        if (!evict_collect(plan))
            break;
        plan->stage = plan->candidates.n || plan->leaving.n ? EVICT_ARRANGE : EVICT_UNDO;
        plan->cursor = 0;
        break;
    case EVICT_ARRANGE:
        if (evict_arrange(plan))
            plan->stage = EVICT_PLACE;
        break;
    case EVICT_PLACE:
        step_place(plan);
        break;
    case EVICT_SITES:
        evict_step_sites(plan);
        break;
    case EVICT_TRY:
        evict_step_try(plan);
        break;
    case EVICT_TAKE:
        evict_step_take(plan);
        break;
    case EVICT_KEEP:
        evict_step_keep(plan);
        break;
    case EVICT_DROP:
        evict_step_drop(plan);
        break;
    case EVICT_SPARE:
        if (evict_spare(plan))
            plan->stage = EVICT_UNDO;
        break;
    case EVICT_UNDO:
        step_undo(plan);
        break;
    case EVICT_DONE:
        break;
    }
    return plan->stage == EVICT_DONE;
}

enum evict_outcome evict_plan_outcome(const struct evict_plan *plan)
{
    return plan->outcome;
}

int64_t evict_plan_due(const struct evict_plan *plan)
{
    return plan->due_ns;
}

const struct evict_victim *evict_plan_victims(const struct evict_plan *plan, size_t *ret_n)
{
    *ret_n = plan->victims.n;
    return plan->victims.items;
}

const struct evict_place *evict_plan_places(const struct evict_plan *plan, size_t *ret_n)
{
    *ret_n = plan->places.n;
    return plan->places.items;
}

void evict_plan_free(struct evict_plan *plan)
{
    if (!plan)
        return;
    while (undo_one(plan))
        ;
    holds_restore(evict_cache(plan));
    config_turn_over(plan->scheduler->config, plan->job);
    statement_clear(&plan->statement);
    budget_tally_clear(&plan->tally);
    map_clear(&plan->exempt);
    evict_sites_clear(plan);
    free(plan->by_node);
    free(plan->node_first);
    evict_givers_clear(&plan->own_givers);
    vec_clear(&plan->owners);
    vec_clear(&plan->candidates);
    vec_clear(&plan->leaving);
    vec_clear(&plan->units);
    for (size_t i = 0; i < plan->wants.n; i++)
        resource_set_clear(&plan->wants.items[i].asked);
    vec_clear(&plan->wants);
    vec_clear(&plan->order);
    vec_clear(&plan->returned);
    vec_clear(&plan->saved);
    vec_clear(&plan->victims);
    vec_clear(&plan->places);
    vec_clear(&plan->options);
    vec_clear(&plan->asked);
    vec_clear(&plan->answers);
    vec_clear(&plan->lacks);
    buf_clear(&plan->why);
    free(plan);
}
