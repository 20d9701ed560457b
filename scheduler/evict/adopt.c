/*
 * Decisions of the scheduler before this one, as far as pods show them. See evictor.h.
 *
 * Who was to be evicted is not known any more; but whoever was asked terminates. Where a place that
 * a pod shows is not free and will not be either, somebody was not asked in time: the job then
 * decides afresh, and what terminates already counts for it.
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

static bool is_sound(const struct evict_decision *decision, const struct resource_vector *releasing)
{
    const struct reservation *reservation = decision->job->reservation;
    for (size_t i = 0; i < reservation->holds.n; i++)
        if (!is_backed(reservation->holds.items[i], releasing))
            return false;
    return true;
}

static void drop_unsound(struct scheduler *scheduler, const struct resource_vector *releasing)
{
    list_each(link, &scheduler->decisions)
    {
        struct evict_decision *decision = container_of(link, struct evict_decision, link);
        bool sound = is_sound(decision, releasing);
        log_info("a job has places from a decision before podgroup=%s/%s places=%u kept=%s",
                 decision->job->ns, decision->job->name, decision->places, sound ? "yes" : "no");
        if (!sound)
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
