/*
 * struct job_order: jobs in the order in which queues and jobs take turns.
 *
 * The best queue gives its best job; the queue comes back into the order when that turn is over,
 * since what it holds by then may change its rank. Of a queue's jobs those that hold nodes come
 * first (but see order.c). Where queues have parents, a turn may change the rank of others too:
 * then every queue that has jobs is looked at for each turn. Loop thread only; lives within one
 * action.
 */
#ifndef PUMICE_SCHEDULER_ORDER_H
#define PUMICE_SCHEDULER_ORDER_H

#include "scheduler/config.h"

struct job_order {
    const struct sched_config *config;
    struct heap queues;
    bool moves;               /* `queues` has no order: what is in it changes its rank */
    bool ranked;              /* jobs are ranked by their priority */
    struct sched_queue *turn; /* the queue that gave the last job */
    struct sched_job *job;    /* that job */
};

/* `order` must stay where it is. */
void job_order_init(struct job_order *order, const struct sched_config *config);
/* Takes everything out. */
void job_order_clear(struct job_order *order);
/* Adds a job; it must have a queue. */
void job_order_push(struct job_order *order, struct sched_job *job);
/* The next job, or NULL; ends the turn of the one before. */
struct sched_job *job_order_pop(struct job_order *order);

#endif
