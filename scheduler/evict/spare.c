/*
 * Who need not go after all. See plan_private.h.
 *
 * A unit stays when all pods find places all the same: where they are, when nothing but room
 * matters to anybody, else by placing all of them anew. Loop thread only.
 */
#include "scheduler/evict/plan_private.h"
#include "scheduler/fit.h"

#define SPARE_MOST 65536 /* placements that are tried anew in order to spare units, at most */

/* ---- by placing everything anew -------------------------------------------------------------- */

static void save_places(struct evict_plan *plan, size_t from)
{
    plan->saved.n = 0;
    for (size_t i = from; i < plan->statement.placed.n; i++) {
        struct sched_task *task = plan->statement.placed.items[i];
        vec_push(&plan->saved, ((struct evict_place){task, task->node}));
    }
}

/* Places everything again where there is room. */
static bool place_all(struct evict_plan *plan)
{
    for (size_t i = 0; i < plan->wants.n; i++)
        plan->wants.items[i].placed = 0;
    for (size_t i = 0; i < plan->wants.n; i++)
        while (plan->wants.items[i].placed < plan->wants.items[i].count)
            if (!evict_place_freely(plan, &plan->wants.items[i]))
                return false;
    return true;
}

/* Places everything as it was saved. */
static void place_saved(struct evict_plan *plan)
{
    for (size_t i = 0; i < plan->saved.n; i++)
        (void)statement_place(evict_cache(plan), &plan->statement, plan->saved.items[i].task,
                              plan->saved.items[i].node);
}

/* Brings the unit back if all pods find a place all the same. */
static void try_without(struct evict_plan *plan, struct evict_unit *unit)
{
    save_places(plan, 0);
    evict_unplace_all(plan);
    evict_bring_back(plan, unit);
    if (place_all(plan))
        return;
    evict_unplace_all(plan);
    evict_take_again(plan, unit);
    place_saved(plan);
}

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

static void spare(struct evict_plan *plan, struct evict_unit *unit)
{
    bool plain = are_plain(plan, unit);
    if (plain && try_where_it_was(plan, unit))
        return;
    if (plan->order.n * plan->statement.placed.n <= SPARE_MOST && (!plain || may_rearrange(plan)))
        try_without(plan, unit);
}

bool evict_spare(struct evict_plan *plan)
{
    if (plan->cursor == plan->order.n)
        return true;
    struct evict_unit *unit = &plan->units.items[plan->order.items[plan->cursor++]];
    if (!evict_may_return(plan, unit))
        return false;
    spare(plan, unit);
    if (unit->whole && !unit->away)
        plan->cursor = 0; /* single pods of the job, which could not return without it, may now */
    return false;
}
