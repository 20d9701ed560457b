/*
 * Decisions of the scheduler before this one, as far as pods show them. See evictor.h.
 *
 * Who was to be evicted is not known any more; but whoever was asked terminates. Where a place that
 * a pod shows is not free and will not be either, somebody was not asked in time; so, too, where a
 * gang shows fewer places than it needs. The other places stay held, and the job decides again, for
 * which these count as free.
 */
#include "base/log.h"
#include "scheduler/evict/evictor_private.h"
#include "scheduler/holds.h"

static bool may_hold(const struct sched_job *job)
{
    return job->uid && job->queue && job->queue->uid && job->queue->open &&
           job->phase != JOB_PENDING;
}

static void adopt_task(struct scheduler *scheduler, struct sched_task *task)
{
    struct sched_node *node = cache_node(&scheduler->cache, task->pod->nominated);
    if (!node || !node->object || !may_hold(task->job)) {
        nomination_set(scheduler, task, NULL);
        return;
    }
    if (!task->job->decision)
        evict_decision_open(scheduler, task->job, "adopted")->adopted = true;
    evict_decision_hold(task->job->decision, task, node);
}

static void adopt_tasks(struct scheduler *scheduler)
{
    void *value;
    for (size_t i = 0; map_next(&scheduler->cache.tasks_by_uid, &i, NULL, &value);) {
        struct sched_task *task = value;
        if (task->status == TASK_PENDING && task->job && task->pod->nominated[0])
            adopt_task(scheduler, task);
    }
}

/* The places there are to be free when the pod should be gone. */
static void wait_for(const struct scheduler *scheduler, const struct sched_task *task)
{
    int64_t due = task->pod->meta.deleted_ns - loop_wall(scheduler->params.loop) +
                  loop_now(scheduler->params.loop);
    for (const struct node_hold *hold = task->node->holds; hold; hold = hold->next) {
        struct evict_decision *decision = hold->reservation->job->decision;
        if (decision && due > decision->due_ns)
            decision->due_ns = due;
    }
}

/* What pods that terminate use, by node. */
static void sum_releasing(struct scheduler *scheduler, struct resource_vector *releasing)
{
    void *value;
    for (size_t i = 0; map_next(&scheduler->cache.tasks_by_uid, &i, NULL, &value);) {
        const struct sched_task *task = value;
        if (task->status != TASK_RELEASING || !task->node || !task->node->holds)
            continue;
        (void)resource_vector_add(&releasing[task->node->index], &task->pod->cls->request, 1);
        wait_for(scheduler, task);
    }
}

static bool is_backed(const struct node_hold *hold, const struct resource_vector *releasing)
{
    const struct sched_node *node = hold->node;
    for (uint32_t i = 0; i < hold->amount.n; i++) {
        uint32_t id = hold->amount.items[i].id;
        int64_t room = resource_vector_get(&node->object->allocatable, id) -
                       resource_vector_get(&node->used, id) +
                       resource_vector_get(&releasing[node->index], id);
        if (room < holds_on(node, id))
            return false;
    }
    return true;
}

static uint32_t pods_of(const struct node_hold *hold)
{
    uint32_t pods = 0;
    for (size_t i = 0; i < hold->parts.n; i++)
        pods += hold->parts.items[i].pods;
    return pods;
}

/* Lets go the places on a node for which nobody was asked to go. */
static void trim_hold(struct evict_decision *decision, struct node_hold *hold,
                      const struct resource_vector *releasing)
{
    struct cache *cache = &decision->scheduler->cache;
    for (uint32_t pods = pods_of(hold); pods && !is_backed(hold, releasing); pods--) {
        struct pod_class *cls = hold->parts.items[hold->parts.n - 1].cls;
        (void)holds_remove_on(cache, decision->job->reservation, hold->node, cls);
        decision->places--;
        decision->partial = true;
    }
}

static void add_count(const struct task_group *group, uint32_t count, void *arg)
{
    uint32_t *missing = arg;
    (void)group;
    *missing += count;
}

/* Whether pods that a gang needs show no place: it may be that nobody was asked for them. */
static bool lacks_places(const struct evict_decision *decision)
{
    uint32_t missing = 0;
    job_each_missing(decision->job, add_count, &missing);
    return decision->gang && decision->places < missing;
}

static void drop_unsound(struct scheduler *scheduler, const struct resource_vector *releasing)
{
    list_each(link, &scheduler->decisions)
    {
        struct evict_decision *decision = container_of(link, struct evict_decision, link);
        struct reservation *reservation = decision->job->reservation;
        uint32_t places = decision->places;
        for (size_t at = reservation->holds.n; at-- > 0;)
            trim_hold(decision, reservation->holds.items[at], releasing);
        decision->partial |= lacks_places(decision);
        log_info("a job has places from a decision before podgroup=%s/%s places=%u kept=%u",
                 decision->job->ns, decision->job->name, places, decision->places);
        if (!decision->places)
            evict_decision_forget(decision);
    }
}

void evictor_adopt(struct scheduler *scheduler)
{
    struct cache *cache = &scheduler->cache;
    adopt_tasks(scheduler);
    cache->work += map_count(&cache->tasks_by_uid);
    if (list_empty(&scheduler->decisions))
        return;
    struct resource_vector *releasing = xcalloc(cache->nodes.n + 1, sizeof(*releasing));
    sum_releasing(scheduler, releasing);
    drop_unsound(scheduler, releasing);
    for (size_t i = 0; i < cache->nodes.n; i++)
        resource_vector_clear(&releasing[i]);
    free(releasing);
}
