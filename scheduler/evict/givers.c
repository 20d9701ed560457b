/*
 * The jobs whose pods hold room. See givers.h.
 */
#include "scheduler/evict/givers.h"

#define FIND_STEP 1024 /* jobs looked at in one step */

void evict_givers_clear(struct evict_givers *givers)
{
    vec_clear(&givers->jobs);
}

/* Among them those who are on their way out. */
static bool holds_room(const struct sched_job *job)
{
    return job->count[TASK_BOUND] || job->count[TASK_RUNNING] || job->count[TASK_RELEASING];
}

bool evict_givers_find(struct evict_givers *givers, struct cache *cache)
{
    void *value;
    for (unsigned i = 0; i < FIND_STEP && !givers->complete; i++) {
        givers->complete = !map_next(&cache->jobs_by_key, &givers->cursor, NULL, &value);
        cache->work++;
        if (!givers->complete && holds_room(value))
            vec_push(&givers->jobs, value);
    }
    return givers->complete;
}
