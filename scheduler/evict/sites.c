/*
 * Where others could make room for the pod that is placed next, and trying it. See plan_private.h.
 *
 * What is done in one step grows with the pods of one job at most: of those who go or come back
 * together, one job does so at a time.
 */
#include "scheduler/evict/plan_private.h"
#include "scheduler/fit.h"
#include <stdlib.h>

#define SITES_STEP 64 /* nodes looked at in one step */
#define AGAIN_MOST 8  /* times a node is tried anew with another victim first */

/* ---- what room costs ------------------------------------------------------------------------- */

static bool site_before(const struct heap_node *x, const struct heap_node *y, void *arg)
{
    const struct evict_site *a = const_container_of(x, struct evict_site, link);
    const struct evict_site *b = const_container_of(y, struct evict_site, link);
    int order = evict_cost_compare(&a->cost, &b->cost);
    (void)arg;
    return order ? order < 0 : a < b;
}

void evict_sites_begin(struct evict_plan *plan, const struct task_group *group)
{
    plan->stage = EVICT_SITES;
    if (plan->sites_group == group)
        return; /* they are known but for the stale ones */
    evict_sites_clear(plan);
    heap_init(&plan->queue, site_before, NULL);
    plan->site_count = evict_cache(plan)->nodes.n;
    plan->sites = xcalloc(plan->site_count + 1, sizeof(*plan->sites));
    plan->sites_group = group;
    plan->cursor = 0;
}

void evict_sites_clear(struct evict_plan *plan)
{
    heap_clear(&plan->queue);
    vec_clear(&plan->stale);
    free(plan->sites);
    plan->sites = NULL;
}

/* Notes what room on the node costs at least for a pod of the kind looked at. */
static void note_site(struct evict_plan *plan, uint32_t index)
{
    struct evict_site *site = &plan->sites[index];
    const struct sched_node *node = evict_cache(plan)->nodes.items[index];
    const struct task_group *group = plan->sites_group;
    struct evict_cost cost;
    heap_remove(&plan->queue, &site->link);
    evict_cache(plan)->work += 4;
    if (!node || !node->object || plan->node_first[index] == plan->node_first[index + 1] ||
        !evict_estimate(plan, node, group->cls, &cost))
        return;
    site->cost = cost;
    site->exact = 0;
    heap_push(&plan->queue, &site->link);
}

void evict_step_sites(struct evict_plan *plan)
{
    const struct fit_table *table = evict_table_of(plan, plan->sites_group);
    const struct cache *cache = evict_cache(plan);
    unsigned looks = 0;
    for (; looks < SITES_STEP && plan->cursor < plan->site_count; looks++, plan->cursor++) {
        const struct sched_node *node = cache->nodes.items[plan->cursor];
        if (node && node->object && !fit_barred(table, node))
            note_site(plan, (uint32_t)plan->cursor);
    }
    for (; looks < SITES_STEP && plan->stale.n; looks++) {
        const uint32_t index = plan->stale.items[--plan->stale.n];
        plan->sites[index].stale = false;
        note_site(plan, index);
    }
    if (plan->cursor == plan->site_count && !plan->stale.n)
        plan->stage = EVICT_TRY;
}

/* ---- trying the cheapest --------------------------------------------------------------------- */

/* Whether its cost was found out by trying, as things are. */
static bool is_exact(const struct evict_plan *plan, const struct evict_site *site)
{
    return site->exact == plan->statement.placed.n + 1;
}

static struct sched_node *node_of(const struct evict_plan *plan, const struct evict_site *site)
{
    return evict_cache(plan)->nodes.items[site - plan->sites];
}

void evict_step_try(struct evict_plan *plan)
{
    struct heap_node *first = heap_pop(&plan->queue);
    if (!first) {
        evict_give_up(plan, EVICT_NOTHING);
        return;
    }
    struct evict_site *site = container_of(first, struct evict_site, link);
    const struct sched_node *node = node_of(plan, site);
    struct evict_cost cost;
    if (!evict_estimate(plan, node, plan->sites_group->cls, &cost))
        return;
    if (!is_exact(plan, site) && evict_cost_compare(&cost, &site->cost) > 0) {
        site->cost = cost;
        heap_push(&plan->queue, &site->link);
        return;
    }
    evict_list_options(plan, node->index);
    plan->trial = (struct evict_trial){.site = site, .from = plan->units.n};
    plan->stage = EVICT_TAKE;
}

/* Whether the next pod could be placed there as things are. */
static bool fits_on(struct evict_plan *plan, const struct sched_node *node)
{
    return !fit_reason(evict_table_of(plan, plan->sites_group), node) &&
           evict_allows(plan, plan->sites_group);
}

/* The option that comes next, NULL when all have had their turn. */
static const struct evict_option *next_option(struct evict_plan *plan)
{
    struct evict_trial *trial = &plan->trial;
    while (trial->at < plan->options.n + (trial->first > 0)) {
        const size_t turn = trial->at++;
        const size_t at = !trial->first ? turn : turn ? turn - 1 : trial->first - 1;
        if (!turn || at + 1 != trial->first)
            return &plan->options.items[at];
    }
    return NULL;
}

void evict_step_take(struct evict_plan *plan)
{
    struct evict_trial *trial = &plan->trial;
    const struct sched_node *node = node_of(plan, trial->site);
    const struct evict_option *option;
    while ((option = next_option(plan))) {
        if (evict_take(plan, option, evict_next_of(plan->sites_group)) && fits_on(plan, node)) {
            evict_order_units(plan, trial->from);
            trial->at = 0;
            plan->stage = EVICT_KEEP;
            return;
        }
        if (option->whole)
            return;
    }
    trial->failed = true;
    plan->stage = EVICT_DROP;
}

/* Who was refused might go if others had not gone before: number of the option that goes first
 * then, 0: none. These are such as make the room by themselves, or else, once, the first that was
 * refused. */
static size_t next_first(struct evict_plan *plan)
{
    const struct evict_trial *trial = &plan->trial;
    if (!trial->failed || !trial->refused || trial->again == AGAIN_MOST ||
        plan->anew >= EVICT_ANEW_MOST)
        return 0;
    for (size_t i = trial->first ? trial->first : 1; i < plan->options.n; i++) {
        const struct evict_option *option = &plan->options.items[i];
        const uint32_t owner = plan->candidates.items[option->candidate].owner;
        if (!(option->whole && plan->owners.items[owner].refused) &&
            evict_suffices(plan, option, plan->sites_group->cls))
            return i + 1;
    }
    return trial->first ? 0 : trial->refused;
}

/* ---- the one that was tried ------------------------------------------------------------------ */

/* Whether the job, which had its minimum, would lose it with those of its pods that go. */
static bool breaks_itself(const struct evict_plan *plan)
{
    return plan->rules.inside && !config_job_ready(plan->scheduler->config, plan->job);
}

/* The nodes of those who went whole are to be looked at again, if anything could be had there. */
static void note_stale(struct evict_plan *plan, const struct evict_unit *unit)
{
    const struct evict_owner *owner = &plan->owners.items[unit->owner];
    for (uint32_t i = 0; unit->whole && unit->away && i < owner->n; i++) {
        const uint32_t index = plan->candidates.items[owner->first + i].node->index;
        struct evict_site *site = &plan->sites[index];
        if (site->stale || !heap_contains(&site->link))
            continue;
        site->stale = true;
        vec_push(&plan->stale, index);
    }
}

/* The next pod goes there, unless its volumes cannot be had after all; nodes where others went are
 * looked at again. */
static void settle(struct evict_plan *plan)
{
    struct sched_node *node = node_of(plan, plan->trial.site);
    struct evict_want *wanted = &plan->wants.items[plan->want];
    plan->stage = EVICT_DROP;
    if (!evict_place_on(plan, wanted, node))
        return;
    if (breaks_itself(plan)) {
        (void)statement_undo(evict_cache(plan), &plan->statement);
        wanted->placed--;
        return;
    }
    note_site(plan, node->index);
    for (size_t i = plan->trial.from; i < plan->units.n; i++)
        note_stale(plan, &plan->units.items[i]);
    plan->stage = EVICT_PLACE;
}

/* Whether another node might cost less than this one turned out to; then it is one of many again.
 */
static bool is_too_dear(struct evict_plan *plan)
{
    struct evict_site *site = plan->trial.site;
    const struct heap_node *next = heap_peek(&plan->queue);
    struct evict_cost cost = evict_cost_none;
    for (size_t i = plan->trial.from; i < plan->units.n; i++)
        if (plan->units.items[i].away)
            evict_cost_add(&cost, &plan->units.items[i].cost);
    if (is_exact(plan, site) || !next ||
        evict_cost_compare(&cost, &const_container_of(next, struct evict_site, link)->cost) <= 0)
        return false;
    site->cost = cost;
    site->exact = plan->statement.placed.n + 1;
    heap_push(&plan->queue, &site->link);
    return true;
}

void evict_step_keep(struct evict_plan *plan)
{
    struct evict_trial *trial = &plan->trial;
    const struct sched_node *node = node_of(plan, trial->site);
    while (trial->at < plan->order.n) {
        struct evict_unit *unit = &plan->units.items[plan->order.items[trial->at++]];
        if (!evict_may_return(plan, unit))
            continue;
        evict_bring_back(plan, unit);
        if (!fits_on(plan, node))
            evict_take_again(plan, unit);
        if (unit->whole)
            return;
    }
    if (is_too_dear(plan))
        plan->stage = EVICT_DROP;
    else
        settle(plan);
}

void evict_step_drop(struct evict_plan *plan)
{
    while (plan->units.n > plan->trial.from) {
        const struct evict_unit *last = &plan->units.items[plan->units.n - 1];
        const bool whole = last->whole;
        plan->anew += plan->trial.first ? last->cost.pods : 0;
        evict_drop_units(plan, plan->units.n - 1);
        if (whole)
            return;
    }
    const size_t first = next_first(plan);
    plan->trial = (struct evict_trial){.site = plan->trial.site,
                                       .from = plan->trial.from,
                                       .first = first,
                                       .again = plan->trial.again + 1};
    plan->stage = first ? EVICT_TAKE : EVICT_TRY;
}
