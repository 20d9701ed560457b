/*
 * What jobs may count on because others would be evicted for them. See prospects.h.
 */
#include "scheduler/evict/prospects.h"
#include "base/alloc.h"
#include "scheduler/config.h"
#include <stdlib.h>

/* What the jobs of one queue hold whose priority is this or lower. */
struct level {
    uint32_t queue; /* its index */
    int32_t priority;
    struct resource_set held;
};

struct prospects {
    const struct sched_config *config; /* borrowed */
    const struct cache *cache;         /* likewise */
    bool preempts, reclaims;           /* who is evicted by the configuration */
    bool counted;                      /* in this cycle: */
    VEC(struct level) levels;          /* by queue, then priority */
    struct resource_set reclaimable;   /* what all queues hold that may give back */
};

static void forget(struct prospects *prospects)
{
    for (size_t i = 0; i < prospects->levels.n; i++)
        resource_set_clear(&prospects->levels.items[i].held);
    prospects->levels.n = 0;
    resource_set_clear(&prospects->reclaimable);
    prospects->counted = false;
}

struct prospects *prospects_new(void)
{
    return xnew(struct prospects);
}

void prospects_free(struct prospects *prospects)
{
    if (!prospects)
        return;
    forget(prospects);
    vec_clear(&prospects->levels);
    free(prospects);
}

/* The plugin that lets preempt choose by priority. */
static bool ranks_by_priority(const struct sched_config *config)
{
    const struct plugin *priority = sched_config_plugin(config, "priority");
    return priority && priority->enabled[POINT_PREEMPTABLE];
}

void prospects_begin(struct prospects *prospects, const struct sched_config *config,
                     const struct cache *cache)
{
    forget(prospects);
    prospects->config = config;
    prospects->cache = cache;
    prospects->preempts = sched_config_has_action(config, "gangpreempt") ||
                          (sched_config_has_action(config, "preempt") && ranks_by_priority(config));
    prospects->reclaims = sched_config_has_action(config, "reclaim") ||
                          sched_config_has_action(config, "gangreclaim");
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int compare_levels(const void *x, const void *y)
{
    const struct level *a = x, *b = y;
    if (a->queue != b->queue)
        return a->queue < b->queue ? -1 : 1;
    return (a->priority > b->priority) - (a->priority < b->priority);
}

static void list_holders(struct prospects *prospects)
{
    void *value;
    for (size_t i = 0; map_next(&prospects->cache->jobs_by_key, &i, NULL, &value);) {
        const struct sched_job *job = value;
        if (job->uid && job->queue && job->allocated.n && job->preemptable != PREEMPTABLE_NO)
            vec_push(&prospects->levels, ((struct level){job->queue->index, job->priority,
                                                         resource_set_copy(&job->allocated)}));
    }
}

/* Jobs of one priority are one level, and each level has what lies below it. */
static void add_up(struct prospects *prospects)
{
    struct level *levels = prospects->levels.items;
    size_t n = 0;
    if (prospects->levels.n > 1)
        qsort(levels, prospects->levels.n, sizeof(*levels), compare_levels);
    for (size_t i = 0; i < prospects->levels.n; i++) {
        struct level level = levels[i];
        const struct level *below = n && levels[n - 1].queue == level.queue ? &levels[n - 1] : NULL;
        if (below && below->priority == level.priority) {
            resource_set_add(&levels[n - 1].held, &level.held, 1);
            resource_set_clear(&level.held);
            continue;
        }
        if (below)
            resource_set_add(&level.held, &below->held, 1);
        levels[n++] = level;
    }
    prospects->levels.n = n;
}

static void count_queues(struct prospects *prospects)
{
    void *value;
    for (size_t i = 0; map_next(&prospects->cache->queues_by_name, &i, NULL, &value);) {
        const struct sched_queue *queue = value;
        if (queue->reclaimable)
            resource_set_add(&prospects->reclaimable, &queue->allocated, 1);
    }
}

static void count(struct prospects *prospects)
{
    if (prospects->counted)
        return;
    prospects->counted = true;
    if (prospects->preempts) {
        list_holders(prospects);
        add_up(prospects);
    }
    if (prospects->reclaims)
        count_queues(prospects);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* What jobs of lower priority than this one hold in its queue, or NULL. */
static const struct resource_set *held_below(const struct prospects *prospects,
                                             const struct sched_job *job)
{
    const struct level wanted = {.queue = job->queue->index, .priority = job->priority};
    size_t low = 0, high = prospects->levels.n;
    while (low < high) { /* how many levels stand before it */
        size_t middle = low + (high - low) / 2;
        if (compare_levels(&prospects->levels.items[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || prospects->levels.items[low - 1].queue != wanted.queue)
        return NULL;
    return &prospects->levels.items[low - 1].held;
}

/* What other queues could give back, as far as the job's queue is entitled to it. */
static int64_t held_elsewhere(const struct prospects *prospects, const struct sched_queue *queue,
                              uint32_t id)
{
    int64_t own = resource_set_get(&queue->allocated, id);
    int64_t others = resource_set_get(&prospects->reclaimable, id) - (queue->reclaimable ? own : 0);
    int64_t entitled =
        config_queue_figure(prospects->config, prospects->cache, queue, FIGURE_ENTITLED, id);
    if (entitled == QUEUE_NO_FIGURE || entitled <= own)
        return 0;
    return entitled - own < others ? entitled - own : others;
}

static bool never_preempts(const struct prospects *prospects, const struct sched_job *job)
{
    const struct store *classes = prospects->cache->priorityclasses;
    const struct priorityclass *class =
        job->priority_class && job->priority_class[0]
            ? store_get(classes, STR(""), str_of(job->priority_class))
            : NULL;
    return class && class->never_preempts;
}

static int64_t amount_of(const struct prospects *prospects, const struct sched_job *job,
                         enum prospect kind, const struct resource_set *below, uint32_t id)
{
    if (kind == PROSPECT_ELSEWHERE)
        return held_elsewhere(prospects, job->queue, id);
    return below ? resource_set_get(below, id) : 0;
}

bool prospects_of(struct prospects *prospects, const struct sched_job *job, enum prospect kind,
                  const struct resource_set *needs, struct resource_set *ret_more)
{
    *ret_more = (struct resource_set){0};
    if (!prospects || !(kind == PROSPECT_IN_QUEUE ? prospects->preempts : prospects->reclaims) ||
        !job->queue || never_preempts(prospects, job))
        return false;
    count(prospects);
    const struct resource_set *below =
        kind == PROSPECT_IN_QUEUE ? held_below(prospects, job) : NULL;
    for (uint32_t i = 0; i < needs->n; i++) {
        int64_t amount = amount_of(prospects, job, kind, below, needs->items[i].id);
        if (amount > 0)
            resource_set_put(ret_more, needs->items[i].id, amount);
    }
    return ret_more->n > 0;
}

bool prospects_suffice(const struct sched_job *job, const struct resource_set *needs,
                       prospects_enough_fn *enough, const void *arg)
{
    bool may = false;
    for (int kind = 0; kind < PROSPECT_COUNT && !may; kind++) {
        struct resource_set more;
        may = prospects_of(job->cache->prospects, job, (enum prospect)kind, needs, &more) &&
              enough(arg, (enum prospect)kind, needs, &more);
        resource_set_clear(&more);
    }
    return may;
}
