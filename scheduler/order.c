/*
 * Jobs in turn. See order.h.
 */
#include "scheduler/order.h"
#include "scheduler/holds.h"
#include "scheduler/reserve.h"

static bool queue_before(const struct heap_node *x, const struct heap_node *y, void *arg)
{
    const struct job_order *order = arg;
    return config_queue_before(order->config, const_container_of(x, struct sched_queue, order),
                               const_container_of(y, struct sched_queue, order));
}

/* A job for which others are evicted comes first only where priorities do not say whose turn it is:
 * it gives way to a job of higher priority, which is to be placed before it. */
static bool comes_first(const struct job_order *order, const struct sched_job *job)
{
    return job->reservation && !(job->reservation->nominated && order->ranked);
}

static bool job_before(const struct heap_node *x, const struct heap_node *y, void *arg)
{
    const struct job_order *order = arg;
    const struct sched_job *a = const_container_of(x, struct sched_job, order);
    const struct sched_job *b = const_container_of(y, struct sched_job, order);
    bool first = comes_first(order, a);
    if (first != comes_first(order, b))
        return first;
    return config_job_before(order->config, a, b);
}

void job_order_init(struct job_order *order, const struct sched_config *config)
{
    *order = (struct job_order){.config = config,
                                .moves = config_order_moves(config),
                                .ranked = reserve_ranks_priorities(config)};
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
    if (order->job)
        config_turn_over(order->config, order->job);
    if (order->turn && order->turn->waiting.n)
        heap_push(&order->queues, &order->turn->order);
    order->turn = NULL;
    order->job = NULL;
}

/* Takes out the queue whose turn it is, or NULL. */
static struct heap_node *next_queue(struct job_order *order)
{
    struct heap *queues = &order->queues;
    if (!order->moves || !queues->n)
        return heap_pop(queues);
    struct heap_node *best = queues->nodes[0];
    for (size_t i = 1; i < queues->n; i++)
        if (queue_before(queues->nodes[i], best, order))
            best = queues->nodes[i];
    heap_remove(queues, best);
    return best;
}

struct sched_job *job_order_pop(struct job_order *order)
{
    end_turn(order);
    struct heap_node *node = next_queue(order);
    if (!node)
        return NULL;
    order->turn = container_of(node, struct sched_queue, order);
    order->job = container_of(heap_pop(&order->turn->waiting), struct sched_job, order);
    return order->job;
}

void job_order_clear(struct job_order *order)
{
    if (order->turn)
        heap_clear(&order->turn->waiting);
    for (size_t i = 0; i < order->queues.n; i++)
        heap_clear(&container_of(order->queues.nodes[i], struct sched_queue, order)->waiting);
    heap_clear(&order->queues);
}
