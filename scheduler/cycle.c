/*
 * Cycles: begin some milliseconds after something changed, run in slices, end with status writes.
 *
 * A slice ends after SLICE_WORK units or SLICE_NS, whichever comes first; the units keep slices
 * alike on a virtual clock, which stands still while we work. After a cycle the next one waits
 * three times as long as this one took (at most GAP_MAX), so that a flood of changes cannot keep
 * the loop busy with cycles alone.
 */
#include "scheduler/cycle.h"
#include "scheduler/action.h"
#include "scheduler/apply.h"
#include "scheduler/evict/evictor.h"
#include "scheduler/evict/prospects.h"
#include "scheduler/fit.h"
#include "scheduler/metrics.h"
#include "scheduler/reserve.h"
#include "scheduler/status.h"
#include "scheduler/volumes/binder.h"
#include "scheduler/waiting.h"

#define COALESCE (3 * NSEC_PER_MSEC)
#define GAP_MAX (100 * NSEC_PER_MSEC)
#define SLICE_WORK 20000
#define SLICE_NS (5 * NSEC_PER_MSEC)
#define STEP_WORK 10   /* units of a step apart from what it counts itself */
#define VOLUME_LOOKS 8 /* looks at a volume that count as one unit */
#define CLOCK_STEPS 16 /* steps between looks at the clock */

static void turn(void *arg);

void cycle_init(struct scheduler *scheduler)
{
    loop_timer_init(&scheduler->cycle.timer, turn, scheduler);
}

int64_t cycle_action_spent(const struct scheduler *scheduler)
{
    const struct cycle *cycle = &scheduler->cycle;
    return cycle->action_ns + loop_now_fresh(scheduler->params.loop) - cycle->mark_ns;
}

static void end_action(struct scheduler *scheduler)
{
    struct cycle *cycle = &scheduler->cycle;
    const struct action_type *action = scheduler->config->actions.items[cycle->action]->type;
    if (cycle->state)
        action->end(scheduler, cycle->state);
    metrics_action(scheduler, action->name, cycle_action_spent(scheduler));
    cycle->action_ns = 0;
    cycle->mark_ns = loop_now_fresh(scheduler->params.loop);
    cycle->state = NULL;
    cycle->begun = false;
}

void cycle_clear(struct scheduler *scheduler)
{
    if (scheduler->cycle.begun)
        end_action(scheduler);
    scheduler->cycle.stage = CYCLE_IDLE;
    loop_timer_cancel(scheduler->params.loop, &scheduler->cycle.timer);
}

static bool may_run(const struct scheduler *scheduler)
{
    return scheduler->ready && scheduler->leading && !scheduler->stopping;
}

void cycle_request(struct scheduler *scheduler)
{
    struct cycle *cycle = &scheduler->cycle;
    struct loop *loop = scheduler->params.loop;
    cycle->wanted = true;
    if (cycle->stage != CYCLE_IDLE || !may_run(scheduler) || loop_timer_active(&cycle->timer))
        return;
    int64_t wait = cycle->not_before_ns - loop_now(loop);
    loop_timer_set(loop, &cycle->timer, wait > COALESCE ? wait : COALESCE);
}

/* Jobs that wait to enter are looked at afresh: when their time comes may be another question. */
static void take_config(struct scheduler *scheduler)
{
    fit_clear(&scheduler->cache);
    sched_config_free(scheduler->config);
    scheduler->config = scheduler->next_config;
    scheduler->next_config = NULL;
    config_attach(scheduler->config, scheduler);
    reserve_drop_all(&scheduler->cache);
    cache_room(&scheduler->cache);
    waiting_config_changed(&scheduler->cache);
    list_each(link, &scheduler->cache.admit)
    {
        cache_dirty(&scheduler->cache, container_of(link, struct sched_job, admit));
    }
}

/* What the configuration says of volumes. */
static void take_rules(struct scheduler *scheduler)
{
    const struct node_rules *rules = &scheduler->config->rules;
    volumes_set_checks(scheduler->cache.volumes, rules->volume_checks);
    if (scheduler->volume_binder)
        volume_binder_set_timeout(scheduler->volume_binder, rules->volume_timeout_ns
                                                                ? rules->volume_timeout_ns
                                                                : VOLUME_BIND_TIMEOUT);
}

static void begin(struct scheduler *scheduler)
{
    struct cycle *cycle = &scheduler->cycle;
    if (scheduler->next_config)
        take_config(scheduler);
    if (!scheduler->cache.leads)
        evictor_adopt(scheduler);
    cycle->stage = CYCLE_ACTIONS;
    scheduler->cache.leads = true;
    cycle->number++;
    cycle->action = 0;
    cycle->wanted = false;
    cycle->cost_ns = 0;
    cycle->chances = cache_chances(&scheduler->cache);
    rng_alnum(loop_rng(scheduler->params.loop), cycle->id, sizeof(cycle->id) - 1);
    cycle->action_ns = 0;
    take_rules(scheduler);
    prospects_begin(scheduler->prospects, scheduler->config, &scheduler->cache);
    config_begin(scheduler->config, &scheduler->cache);
    metrics_begin(scheduler);
}

/* Each returns true when its stage is over. */

static bool step_actions(struct scheduler *scheduler)
{
    struct cycle *cycle = &scheduler->cycle;
    if (cycle->action == scheduler->config->actions.n)
        return true;
    const struct action_type *action = scheduler->config->actions.items[cycle->action]->type;
    if (!cycle->begun) {
        cycle->state = action->begin(scheduler);
        cycle->begun = true;
    }
    if (cycle->state && !action->step(scheduler, cycle->state))
        return false;
    end_action(scheduler);
    cycle->action++;
    return false;
}

static bool step_status(struct scheduler *scheduler)
{
    struct cache *cache = &scheduler->cache;
    if (list_empty(&cache->dirty))
        return true;
    struct sched_job *job = container_of(cache->dirty.next, struct sched_job, dirty_link);
    list_remove(&job->dirty_link);
    job->dirty = false;
    status_update(scheduler, job);
    return false;
}

static bool step_changes(struct scheduler *scheduler)
{
    if (scheduler->changes_done == scheduler->changes.n) {
        scheduler->changes.n = scheduler->changes_done = 0;
        return true;
    }
    struct change change = scheduler->changes.items[scheduler->changes_done++];
    apply_change(scheduler, &change);
    return false;
}

static bool step(struct scheduler *scheduler)
{
    switch (scheduler->cycle.stage) {
    case CYCLE_ACTIONS:
        return step_actions(scheduler);
    case CYCLE_STATUS:
        return step_status(scheduler);
    case CYCLE_CHANGES:
        return step_changes(scheduler);
    case CYCLE_IDLE:
        break;
    }
    return true;
}

static void finish(struct scheduler *scheduler)
{
    struct cycle *cycle = &scheduler->cycle;
    struct loop *loop = scheduler->params.loop;
    struct cache *cache = &scheduler->cache;
    int64_t gap = 3 * cycle->cost_ns;
    metrics_cycle(scheduler, cycle->cost_ns);
    cycle->stage = CYCLE_IDLE;
    cycle->not_before_ns = loop_now_fresh(loop) + (gap < GAP_MAX ? gap : GAP_MAX);
    bool waiting = !list_empty(&cache->admit) || !list_empty(&cache->place);
    if (cycle->wanted || !list_empty(&cache->dirty) ||
        (waiting && cycle->chances != cache_chances(cache)))
        cycle_request(scheduler);
    scheduler_check_stopped(scheduler);
}

/* True when the cycle is over. */
static bool slice(struct scheduler *scheduler)
{
    struct cycle *cycle = &scheduler->cycle;
    struct cache *cache = &scheduler->cache;
    struct loop *loop = scheduler->params.loop;
    uint64_t work = cache->work;
    int64_t started = loop_now_fresh(loop), spent = 0;
    cycle->mark_ns = started;
    for (unsigned steps = 1; cycle->stage != CYCLE_IDLE; steps++) {
        if (step(scheduler)) {
            if (cycle->stage == CYCLE_CHANGES)
                break;
            cycle->stage++;
        }
        cache->work += STEP_WORK + volumes_take_looks(cache->volumes) / VOLUME_LOOKS;
        if (steps % CLOCK_STEPS == 0)
            spent = loop_now_fresh(loop) - started;
        if (cache->work - work >= SLICE_WORK || spent >= SLICE_NS) {
            int64_t now = loop_now_fresh(loop);
            cycle->cost_ns += now - started;
            cycle->action_ns += now - cycle->mark_ns;
            return false;
        }
    }
    cycle->cost_ns += loop_now_fresh(loop) - started;
    return true;
}

static void turn(void *arg)
{
    struct scheduler *scheduler = arg;
    if (scheduler->cycle.stage == CYCLE_IDLE) {
        if (!may_run(scheduler))
            return;
        begin(scheduler);
    }
    if (slice(scheduler))
        finish(scheduler);
    else
        loop_timer_set(scheduler->params.loop, &scheduler->cycle.timer, 0);
}
