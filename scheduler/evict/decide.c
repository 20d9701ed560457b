/*
 * The beginning of decisions to evict. See evictor.h.
 *
 * Nominations go first. A decision with many victims is begun in several steps of one cycle, in
 * which nobody else looks at it.
 */
#include "scheduler/evict/evictor_private.h"
#include "scheduler/metrics.h"

#define START_STEP 512 /* places and victims that are begun in one step */

/* What is left of a decision before a restart stands only until the next. */
static bool is_open_to_more(const struct sched_job *job)
{
    return !job->decision || job->decision->partial;
}

/* The parts of what was decided. */
struct outcome {
    const struct evict_victim *victims;
    const struct evict_place *places;
    size_t victim_count, place_count;
    const char *action;
};

/* False when nobody is to be evicted after all. */
static bool open_decision(struct scheduler *scheduler, struct sched_job *job,
                          const struct outcome *outcome)
{
    if (!scheduler->leading || scheduler->stopping || !is_open_to_more(job))
        return false;
    if (job->decision)
        evict_decision_forget(job->decision);
    evict_decision_open(scheduler, job, outcome->action)->count = (uint32_t)outcome->victim_count;
    evict_say_decided(scheduler, job, outcome->victims, outcome->victim_count, outcome->action);
    metrics_decision(scheduler, outcome->action, outcome->victim_count);
    return true;
}

static void take_place(struct evict_decision *decision, const struct evict_place *place)
{
    evict_decision_hold(decision, place->task, place->node);
    nomination_set(decision->scheduler, place->task, place->node->name);
}

static void take_victim(struct evict_decision *decision, const struct evict_victim *victim)
{
    struct scheduler *scheduler = decision->scheduler;
    const struct sched_job *giver = victim->task->job;
    if (giver && giver->uid && giver != decision->job)
        losses_note(&scheduler->losses, &scheduler->cache, giver, decision->job);
    evict_call_start(scheduler, decision, victim->task, decision->action);
}

/* True when all is done, or nothing is to be. `*cursor`: one more than was done, 0 at first. */
static bool start_some(struct scheduler *scheduler, struct sched_job *job,
                       const struct outcome *outcome, size_t *cursor)
{
    const size_t all = outcome->place_count + outcome->victim_count;
    if (*cursor == 0 && !open_decision(scheduler, job, outcome))
        return true;
    *cursor += *cursor == 0;
    for (unsigned i = 0; i < START_STEP && job->decision && *cursor <= all; i++) {
        const size_t at = (*cursor)++ - 1;
        scheduler->cache.work += 8;
        if (at < outcome->place_count)
            take_place(job->decision, &outcome->places[at]);
        else
            take_victim(job->decision, &outcome->victims[at - outcome->place_count]);
    }
    return !job->decision || *cursor > all;
}

void evictor_start(struct scheduler *scheduler, struct sched_job *job,
                   const struct evict_victim *victims, size_t victim_count,
                   const struct evict_place *places, size_t place_count, const char *action)
{
    const struct outcome outcome = {victims, places, victim_count, place_count, action};
    size_t cursor = 0;
    while (!start_some(scheduler, job, &outcome, &cursor))
        ;
}

bool evictor_decide(struct scheduler *scheduler, struct sched_job *job,
                    const struct evict_plan *plan, const char *action, size_t *cursor)
{
    struct outcome outcome = {.action = action};
    outcome.victims = evict_plan_victims(plan, &outcome.victim_count);
    outcome.places = evict_plan_places(plan, &outcome.place_count);
    return start_some(scheduler, job, &outcome, cursor);
}

void evictor_evict(struct scheduler *scheduler, struct sched_task *task, const char *action)
{
    if (!scheduler->leading || scheduler->stopping)
        return;
    metrics_decision(scheduler, action, 1);
    evict_say_leaves(scheduler, task, action);
    evict_call_start(scheduler, NULL, task, action);
}

bool evictor_may(const struct scheduler *scheduler, const struct sched_job *job)
{
    return scheduler->leading && !scheduler->stopping && is_open_to_more(job) &&
           job->evict_ns <= loop_now(scheduler->params.loop);
}
