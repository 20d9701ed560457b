/*
 * From a plan to a decision. See evictor.h.
 */
#include "scheduler/evict/evictor.h"

void evictor_decide(struct scheduler *scheduler, struct sched_job *job, struct evict_plan *plan,
                    const char *action)
{
    size_t victim_count, place_count;
    const struct evict_victim *victims = evict_plan_victims(plan, &victim_count);
    const struct evict_place *places = evict_plan_places(plan, &place_count);
    evictor_start(scheduler, job, victims, victim_count, places, place_count, action);
}
