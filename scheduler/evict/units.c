/*
 * Taking pods away in thought, and bringing them back. See plan_private.h.
 *
 * A pod that is away is TASK_LEAVING on no node: it counts for nothing, neither there nor in its
 * job and queue. Moves commute, so units may come back in any order.
 */
#include "scheduler/evict/plan_private.h"
#include "scheduler/points_evict.h"
#include <stdlib.h>

/* ---- questions ------------------------------------------------------------------------------- */

/* Of plan->asked, for the sake of that pod. Pods of one queue have the same right to their room
 * unless a plugin ranks them: else they would take it from each other in turn. (Whole jobs give way
 * to those of higher priority alone, queues to those that are entitled.) */
static struct eviction eviction_of(const struct evict_plan *plan, const struct sched_task *task,
                                   enum eviction_extent extent)
{
    return (struct eviction){.kind = plan->rules.kind,
                             .extent = extent,
                             .ranked = plan->rules.kind == EVICT_PREEMPT,
                             .cache = &plan->scheduler->cache,
                             .job = plan->job,
                             .task = eviction_for_job(plan->rules.kind) ? NULL : task,
                             .candidates = plan->asked.items,
                             .n = plan->asked.n};
}

/* Asks the plugins about plan->asked; the answers are in plan->answers. How many may go. */
static size_t ask(struct evict_plan *plan, const struct sched_task *task,
                  enum eviction_extent extent)
{
    while (plan->answers.n < plan->asked.n)
        vec_push(&plan->answers, false);
    const struct eviction eviction = eviction_of(plan, task, extent);
    evict_cache(plan)->work += plan->asked.n;
    return config_evictable(plan->scheduler->config, &eviction, plan->answers.items);
}

static bool budgets_let_go(struct evict_plan *plan, const struct sched_task *victim)
{
    if (!budget_tally_take(&plan->tally, victim->pod))
        return false;
    budget_tally_give_back(&plan->tally, victim->pod);
    return true;
}

bool evict_keeps(struct evict_plan *plan, const struct sched_job *job)
{
    bool keeps = true;
    for (size_t i = 0; i < plan->wants.n && keeps; i++) {
        const struct eviction eviction =
            eviction_of(plan, evict_next_of(plan->wants.items[i].group), EVICT_SINGLE);
        keeps = config_keeps_job(plan->scheduler->config, &eviction, job);
    }
    return keeps;
}

bool evict_lets_go(struct evict_plan *plan, const struct sched_task *victim,
                   enum eviction_extent extent)
{
    bool lets = false;
    plan->asked.n = 0;
    vec_push(&plan->asked, victim);
    for (size_t i = 0; i < plan->wants.n && !lets; i++)
        lets = ask(plan, evict_next_of(plan->wants.items[i].group), extent) > 0;
    return lets && budgets_let_go(plan, victim);
}

/* Whether plugins let go a pod by itself, as things are. */
static bool lets_go_single(struct evict_plan *plan, const struct sched_task *victim,
                           const struct sched_task *task)
{
    plan->asked.n = 0;
    vec_push(&plan->asked, victim);
    return ask(plan, task, EVICT_SINGLE) == 1;
}

/* Whether plugins let go all that is still there of a job. */
static bool lets_go_whole(struct evict_plan *plan, const struct evict_owner *owner,
                          const struct sched_task *task)
{
    plan->asked.n = 0;
    for (uint32_t i = owner->first; i < owner->first + owner->n; i++)
        if (evict_is_there(&plan->candidates.items[i]))
            vec_push(&plan->asked, plan->candidates.items[i].task);
    return ask(plan, task, EVICT_WHOLE) == plan->asked.n;
}

/* ---- moves ----------------------------------------------------------------------------------- */

static void send_away(struct evict_plan *plan, struct evict_candidate *candidate, uint32_t unit)
{
    candidate->unit = unit;
    plan->owners.items[candidate->owner].costed = false;
    evict_move(evict_cache(plan), candidate->task, TASK_LEAVING, NULL);
    config_turn_over(plan->scheduler->config, candidate->task->job); /* queues above follow */
}

static void fetch_back(struct evict_plan *plan, struct evict_candidate *candidate)
{
    candidate->unit = 0;
    plan->owners.items[candidate->owner].costed = false;
    budget_tally_give_back(&plan->tally, candidate->task->pod);
    evict_move(evict_cache(plan), candidate->task, candidate->status, candidate->node);
    config_turn_over(plan->scheduler->config, candidate->task->job);
}

/* Counts what is there of the job up to that candidate as staying. */
static void uncount(struct evict_plan *plan, const struct evict_owner *owner, uint32_t end)
{
    for (uint32_t i = owner->first; i < end; i++)
        if (evict_is_there(&plan->candidates.items[i]))
            budget_tally_give_back(&plan->tally, plan->candidates.items[i].task->pod);
}

/* The budgets let go all that is still there of a job, and count it; else nothing is counted. */
static bool count_whole(struct evict_plan *plan, const struct evict_owner *owner)
{
    uint32_t end = owner->first + owner->n;
    for (uint32_t i = owner->first; i < end; i++)
        if (evict_is_there(&plan->candidates.items[i]) &&
            !budget_tally_take(&plan->tally, plan->candidates.items[i].task->pod)) {
            uncount(plan, owner, i);
            return false;
        }
    return true;
}

/* Whether nobody was taken away on trial yet: a refusal is not because of others then. Notes which
 * option was the first that was refused where that may be otherwise. */
static bool is_final(struct evict_plan *plan, const struct evict_option *option)
{
    struct evict_trial *trial = &plan->trial;
    bool final = plan->units.n == trial->from;
    if (!final && !trial->refused)
        trial->refused = (size_t)(option - plan->options.items) + 1;
    return final;
}

/* Whether all that is still there of a job may go; then it is counted. */
static bool may_take_whole(struct evict_plan *plan, struct evict_owner *owner,
                           const struct evict_option *option, const struct sched_task *task)
{
    if (owner->refused)
        return false;
    if (!count_whole(plan, owner)) {
        (void)is_final(plan, option);
        return false;
    }
    if (lets_go_whole(plan, owner, task))
        return true;
    uncount(plan, owner, owner->first + owner->n);
    owner->refused = is_final(plan, option);
    return false;
}

/* The same of a pod by itself. */
static bool may_take_single(struct evict_plan *plan, const struct sched_task *victim,
                            const struct evict_option *option, const struct sched_task *task)
{
    const bool counted = budget_tally_take(&plan->tally, victim->pod);
    if (counted && lets_go_single(plan, victim, task))
        return true;
    if (counted)
        budget_tally_give_back(&plan->tally, victim->pod);
    (void)is_final(plan, option);
    return false;
}

static bool take_whole(struct evict_plan *plan, const struct evict_option *option,
                       const struct sched_task *task)
{
    uint32_t number = plan->candidates.items[option->candidate].owner;
    struct evict_owner *owner = &plan->owners.items[number];
    if (!may_take_whole(plan, owner, option, task))
        return false;
    vec_push(&plan->units,
             ((struct evict_unit){number, option->candidate, true, true, evict_cost_none}));
    struct evict_unit *unit = &plan->units.items[plan->units.n - 1];
    for (uint32_t i = owner->first; i < owner->first + owner->n; i++) {
        struct evict_candidate *candidate = &plan->candidates.items[i];
        if (!evict_is_there(candidate))
            continue;
        struct evict_cost cost = evict_candidate_cost(plan, candidate);
        evict_cost_add(&unit->cost, &cost);
        send_away(plan, candidate, (uint32_t)plan->units.n);
    }
    owner->gone = true;
    return true;
}

bool evict_take(struct evict_plan *plan, const struct evict_option *option,
                const struct sched_task *task)
{
    struct evict_candidate *candidate = &plan->candidates.items[option->candidate];
    if (!evict_is_there(candidate))
        return false; /* it went with its job */
    if (option->whole)
        return take_whole(plan, option, task);
    if (!may_take_single(plan, candidate->task, option, task))
        return false;
    vec_push(&plan->units,
             ((struct evict_unit){candidate->owner, option->candidate, false, true, option->cost}));
    send_away(plan, candidate, (uint32_t)plan->units.n);
    return true;
}

/* ---- units ----------------------------------------------------------------------------------- */

static uint32_t number_of(const struct evict_plan *plan, const struct evict_unit *unit)
{
    return (uint32_t)(unit - plan->units.items) + 1;
}

void evict_bring_back(struct evict_plan *plan, struct evict_unit *unit)
{
    struct evict_owner *owner = &plan->owners.items[unit->owner];
    const uint32_t number = number_of(plan, unit);
    unit->away = false;
    if (!unit->whole) {
        fetch_back(plan, &plan->candidates.items[unit->candidate]);
        return;
    }
    owner->gone = false;
    for (uint32_t i = owner->first; i < owner->first + owner->n; i++)
        if (plan->candidates.items[i].unit == number)
            fetch_back(plan, &plan->candidates.items[i]);
}

void evict_take_again(struct evict_plan *plan, struct evict_unit *unit)
{
    struct evict_owner *owner = &plan->owners.items[unit->owner];
    uint32_t end = owner->first + owner->n, i = unit->whole ? owner->first : unit->candidate;
    end = unit->whole ? end : i + 1;
    for (; i < end; i++) {
        struct evict_candidate *candidate = &plan->candidates.items[i];
        if (!evict_is_there(candidate))
            continue;
        (void)budget_tally_take(&plan->tally, candidate->task->pod);
        send_away(plan, candidate, number_of(plan, unit));
    }
    owner->gone = owner->gone || unit->whole;
    unit->away = true;
}

bool evict_may_return(const struct evict_plan *plan, const struct evict_unit *unit)
{
    return unit->away && (unit->whole || !plan->owners.items[unit->owner].gone);
}

void evict_drop_units(struct evict_plan *plan, size_t from)
{
    while (plan->units.n > from) {
        struct evict_unit *last = &plan->units.items[plan->units.n - 1];
        if (last->away)
            evict_bring_back(plan, last);
        plan->units.n--;
    }
}

static int compare_units(const void *x, const void *y, void *arg)
{
    const struct evict_plan *plan = arg;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    int order = evict_cost_compare(&plan->units.items[b].cost, &plan->units.items[a].cost);
    return order ? order : (a < b) - (a > b);
}

void evict_order_units(struct evict_plan *plan, size_t from)
{
    plan->order.n = 0;
    for (size_t i = from; i < plan->units.n; i++)
        if (plan->units.items[i].away)
            vec_push(&plan->order, (uint32_t)i);
    if (plan->order.n > 1)
        qsort_r(plan->order.items, plan->order.n, sizeof(*plan->order.items), compare_units, plan);
}
