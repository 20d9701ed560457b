/*
 * Whose turn it is to get more than its share. See lending.h.
 */
#include "scheduler/actions/lending.h"

void lending_clear(struct lending *lending)
{
    vec_clear(&lending->gangs);
}

/* Nor will it once those are gone who are evicted for its jobs: these could not have their share if
 * another was lent something first. */
static bool holds_nothing(const struct sched_queue *queue)
{
    return resource_set_get(&queue->allocated, RESOURCE_PODS) <= 0 &&
           resource_set_get(&queue->awaited, RESOURCE_PODS) <= 0;
}

void lending_add(struct lending *lending, struct sched_job *job, uint64_t attempt)
{
    if (holds_nothing(job->queue))
        vec_push(&lending->gangs, ((struct lending_gang){job, attempt}));
}

static int compare(const void *x, const void *y)
{
    const struct lending_gang *a = x, *b = y;
    const struct sched_queue *p = a->job->queue, *q = b->job->queue;
    if (p->priority != q->priority)
        return p->priority > q->priority ? -1 : 1;
    if (p->lent != q->lent)
        return p->lent < q->lent ? -1 : 1;
    return (a->attempt > b->attempt) - (a->attempt < b->attempt);
}

struct sched_job *lending_next(struct lending *lending)
{
    if (lending->done == 0 && lending->gangs.n > 1)
        qsort(lending->gangs.items, lending->gangs.n, sizeof(*lending->gangs.items), compare);
    while (lending->done < lending->gangs.n) {
        struct sched_job *job = lending->gangs.items[lending->done++].job;
        if (holds_nothing(job->queue))
            return job;
    }
    return NULL;
}
