/*
 * Who need not go after all. See plan_private.h.
 *
 * A unit stays when all pods find places all the same: where they are, when nothing but room
 * matters to anybody, else by placing all of them anew, which takes many steps. Loop thread only.
 */
#include "scheduler/evict/plan_private.h"
#include "scheduler/fit.h"

#define ANEW_STEP 512 /* pods placed, or taken back, in one step */

/* ---- where nothing but room matters -------------------------------------------------- */

static bool is_plain(const struct pod_class *cls)
{
    return !cls->rules.term_count && !cls->rules.spread_count && !cls->ports.n && !cls->volumes;
}

static bool has_room(const struct sched_node *node)
{
    for (uint32_t id = 0; id < node->used.n; id++)
        if (resource_vector_get(&node->used, id) >
            resource_vector_get(&node->object->allocatable, id))
            return false;
    return !node->holds;
}

/* The candidates that a unit may have, `*ret_end` not included. */
static uint32_t candidates_of(const struct evict_plan *plan, const struct evict_unit *unit,
                              uint32_t *ret_end)
{
    const struct evict_owner *owner = &plan->owners.items[unit->owner];
    *ret_end = unit->whole ? owner->first + owner->n : unit->candidate + 1;
    return unit->whole ? owner->first : unit->candidate;
}

static bool are_plain(const struct evict_plan *plan, const struct evict_unit *unit)
{
    uint32_t end, i = candidates_of(plan, unit, &end);
    if (plan->job->queue->limits.n)
        return false;
    for (size_t k = 0; k < plan->wants.n; k++)
        if (!is_plain(plan->wants.items[k].group->cls))
            return false;
    for (; i < end; i++)
        if (!is_plain(plan->candidates.items[i].task->pod->cls))
            return false;
    return true;
}

/* The pod of the group that was placed last, or NULL. */
static struct sched_task *last_placed(const struct evict_plan *plan, const struct task_group *group)
{
    for (size_t i = plan->statement.placed.n; i-- > 0;)
        if (plan->statement.placed.items[i]->group == group)
            return plan->statement.placed.items[i];
    return NULL;
}

/* Whether the job's queue may still have all that is placed. */
static bool allows_placed(struct evict_plan *plan)
{
    bool allowed = true;
    for (size_t i = 0; i < plan->wants.n && allowed; i++) {
        struct sched_task *task = last_placed(plan, plan->wants.items[i].group);
        if (!task)
            continue;
        struct sched_node *node = task->node;
        evict_move(evict_cache(plan), task, TASK_PENDING, NULL);
        allowed = evict_allows(plan, plan->wants.items[i].group);
        evict_move(evict_cache(plan), task, TASK_ALLOCATED, node);
    }
    return allowed;
}

/* Brings the unit back if its nodes have room for all that is placed there, too. */
static bool try_where_it_was(struct evict_plan *plan, struct evict_unit *unit)
{
    uint32_t end, i = candidates_of(plan, unit, &end);
    evict_bring_back(plan, unit);
    while (i < end && has_room(plan->candidates.items[i].node))
        i++;
    if (i == end && allows_placed(plan))
        return true;
    evict_take_again(plan, unit);
    return false;
}

/* Whether pods could be placed otherwise, so that it might return though it has no room where it
 * was: not when all are alike and no node has room for one more. */
static bool may_rearrange(struct evict_plan *plan)
{
    const struct task_group *group = plan->wants.items[0].group;
    return plan->wants.n > 1 || fit_best(evict_cache(plan), evict_table_of(plan, group));
}

/* ---- by placing everything anew -------------------------------------------------------------- */

static void save_places(struct evict_plan *plan)
{
    plan->saved.n = 0;
    for (size_t i = 0; i < plan->statement.placed.n; i++) {
        struct sched_task *task = plan->statement.placed.items[i];
        vec_push(&plan->saved, ((struct evict_place){task, task->node}));
    }
}

/* True when nothing is placed any more. */
static bool clear_some(struct evict_plan *plan)
{
    for (unsigned i = 0; i < ANEW_STEP; i++)
        if (!statement_undo(evict_cache(plan), &plan->statement))
            return true;
    return false;
}

/* Places some where there is room; what follows then. */
static enum evict_anew place_some(struct evict_plan *plan)
{
    for (unsigned placed = 0; placed < ANEW_STEP; placed++) {
        size_t i = 0;
        while (i < plan->wants.n && plan->wants.items[i].placed >= plan->wants.items[i].count)
            i++;
        if (i == plan->wants.n)
            return ANEW_NONE;
        if (!evict_place_freely(plan, &plan->wants.items[i]))
            return ANEW_BACK;
    }
    return ANEW_PLACE;
}

/* Places some as they were saved; true when all are. */
static bool place_saved(struct evict_plan *plan)
{
    size_t end = plan->sparing.at + ANEW_STEP;
    for (; plan->sparing.at < plan->saved.n && plan->sparing.at < end; plan->sparing.at++) {
        const struct evict_place *place = &plan->saved.items[plan->sparing.at];
        (void)statement_place(evict_cache(plan), &plan->statement, place->task, place->node);
    }
    return plan->sparing.at >= plan->saved.n;
}

static void begin_anew(struct evict_plan *plan)
{
    save_places(plan);
    plan->sparing.anew = ANEW_CLEAR;
    plan->sparing.at = 0;
    for (size_t i = 0; i < plan->wants.n; i++)
        plan->wants.items[i].placed = 0;
}

/* Brings the unit back if all pods find a place all the same. */
static void step_anew(struct evict_plan *plan)
{
    struct evict_sparing *sparing = &plan->sparing;
    struct evict_unit *unit = &plan->units.items[sparing->unit];
    switch (sparing->anew) {
    case ANEW_CLEAR:
        if (!clear_some(plan))
            break;
        evict_bring_back(plan, unit);
        sparing->anew = ANEW_PLACE;
        break;
    case ANEW_PLACE:
        sparing->anew = place_some(plan);
        break;
    case ANEW_BACK:
        if (!clear_some(plan))
            break;
        evict_take_again(plan, unit);
        sparing->anew = ANEW_SAVED;
        break;
    case ANEW_SAVED:
        sparing->anew = place_saved(plan) ? ANEW_NONE : ANEW_SAVED;
        break;
    case ANEW_NONE:
        break;
    }
}

/* ---- one unit -------------------------------------------------------------------------------- */

/* It is known whether the unit stays. */
static void end_unit(struct evict_plan *plan)
{
    const struct evict_unit *unit = &plan->units.items[plan->sparing.unit];
    if (unit->away)
        return;
    if (plan->sparing.part)
        vec_push(&plan->returned, plan->sparing.unit);
    else if (unit->whole)
        plan->cursor = 0; /* single pods of the job, which could not return without it, may now */
}

static void begin_unit(struct evict_plan *plan, uint32_t index)
{
    struct evict_unit *unit = &plan->units.items[index];
    const bool plain = are_plain(plan, unit);
    plan->sparing.unit = index;
    if (!(plain && try_where_it_was(plan, unit)) &&
        plan->order.n * plan->statement.placed.n <= EVICT_SPARE_MOST &&
        (!plain || may_rearrange(plan)))
        begin_anew(plan);
    else
        end_unit(plan);
}

/* ---- jobs that go whole though a part of them would do ----------------------------------------
 *
 * Single pods went before the rest of their job did. Those without which the pods find places are
 * brought back, whatever is left of the job then (which ones: plan->returned). When they can stay,
 * and are enough for the job, the rest of it did not have to go whole either.
 */

static bool keeps_minimum(const struct evict_owner *owner)
{
    return (int64_t)job_have(owner->job) >= owner->minimum && job_roles_ready(owner->job);
}

/* What went as a whole is single pods from now on, since others of the job stay. */
static void dissolve(struct evict_plan *plan, uint32_t number)
{
    struct evict_owner *owner = &plan->owners.items[number];
    for (uint32_t i = owner->first; i < owner->first + owner->n; i++) {
        struct evict_candidate *candidate = &plan->candidates.items[i];
        if (evict_is_there(candidate) || !plan->units.items[candidate->unit - 1].whole)
            continue;
        plan->units.items[candidate->unit - 1].away = false;
        vec_push(&plan->units, ((struct evict_unit){number, i, false, true,
                                                    evict_candidate_cost(plan, candidate)}));
        candidate->unit = (uint32_t)plan->units.n;
    }
    owner->gone = false;
    plan->cursor = 0;
    evict_order_units(plan, 0);
}

static void begin_part(struct evict_plan *plan, uint32_t number)
{
    if (plan->owners.items[number].has_parts)
        return; /* these would go alone then */
    plan->returned.n = 0;
    plan->sparing.part = true;
    plan->sparing.owner = number;
    plan->sparing.next = 0;
}

static void end_part(struct evict_plan *plan)
{
    const uint32_t number = plan->sparing.owner;
    plan->sparing.part = false;
    if (plan->returned.n && keeps_minimum(&plan->owners.items[number])) {
        dissolve(plan, number);
        return;
    }
    for (size_t i = 0; i < plan->returned.n; i++)
        evict_take_again(plan, &plan->units.items[plan->returned.items[i]]);
}

static void step_part(struct evict_plan *plan)
{
    while (plan->sparing.next < plan->order.n) {
        const uint32_t index = plan->order.items[plan->sparing.next++];
        const struct evict_unit *unit = &plan->units.items[index];
        if (unit->owner != plan->sparing.owner || unit->whole || !unit->away)
            continue;
        begin_unit(plan, index);
        return;
    }
    end_part(plan);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* The next unit, or the next job that is gone; true when all were looked at. */
static bool begin_next(struct evict_plan *plan)
{
    const size_t at = plan->cursor++;
    if (at < plan->order.n) {
        if (evict_may_return(plan, &plan->units.items[plan->order.items[at]]))
            begin_unit(plan, plan->order.items[at]);
        return false;
    }
    size_t owner = at - plan->order.n;
    while (owner < plan->owners.n && !plan->owners.items[owner].gone)
        owner++;
    if (owner == plan->owners.n)
        return true;
    plan->cursor = plan->order.n + owner + 1;
    begin_part(plan, (uint32_t)owner);
    return false;
}

bool evict_spare(struct evict_plan *plan)
{
    if (plan->sparing.anew) {
        step_anew(plan);
        if (!plan->sparing.anew)
            end_unit(plan);
    } else if (plan->sparing.part) {
        step_part(plan);
    } else {
        return begin_next(plan);
    }
    return false;
}
