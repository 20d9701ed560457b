/*
 * Jobs in turn. See order.h.
 */
#include "scheduler/order.h"

static bool queue_before(const struct heap_node *x, const struct heap_node *y, void *arg)
{
    const struct job_order *order = arg;
    return config_queue_before(order->config, const_container_of(x, struct sched_queue, order),
                               const_container_of(y, struct sched_queue, order));
}

static bool job_before(const struct heap_node *x, const struct heap_node *y, void *arg)
{
    const struct job_order *order = arg;
    return config_job_before(order->config, const_container_of(x, struct sched_job, order),
                             const_container_of(y, struct sched_job, order));
}

void job_order_init(struct job_order *order, const struct sched_config *config)
{
    *order = (struct job_order){.config = config};
    heap_init(&order->queues, queue_before, order);
}

void job_order_push(struct job_order *order, struct sched_job *job)
{
    struct sched_queue *queue = job->queue;
    bool first = queue->waiting.n == 0;
    if (first) {
        heap_clear(&queue->waiting);
        heap_init(&queue->waiting, job_before, order);
    }
    heap_push(&queue->waiting, &job->order);
    if (first && queue != order->turn)
        heap_push(&order->queues, &queue->order);
}

static void end_turn(struct job_order *order)
{
    if (order->turn && order->turn->waiting.n)
        heap_push(&order->queues, &order->turn->order);
    order->turn = NULL;
}

struct sched_job *job_order_pop(struct job_order *order)
{
    end_turn(order);
    struct heap_node *node = heap_pop(&order->queues);
    if (!node)
        return NULL;
    order->turn = container_of(node, struct sched_queue, order);
    return container_of(heap_pop(&order->turn->waiting), struct sched_job, order);
}

void job_order_clear(struct job_order *order)
{
    while (job_order_pop(order))
        ;
    heap_clear(&order->queues);
}
