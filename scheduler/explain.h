/*
 * GET /explain/<namespace>/<job>: everything that is known about one job and why it waits, as plain
 * text for people.
 *
 * Nothing is worked out for it: nodes are told by the tables that placing pods has left, of at most
 * EXPLAIN_GROUPS_MAX kinds of pods. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_EXPLAIN_H
#define PUMICE_SCHEDULER_EXPLAIN_H

#include "scheduler/scheduler.h"

/* Kinds of waiting pods for which nodes are looked at, and tasks that are named. */
#define EXPLAIN_GROUPS_MAX 8
#define EXPLAIN_TASKS_MAX 64

/* The page (an ops_http_fn; `arg` is the scheduler). The job goes by the name of its PodGroup, or
 * by the part of it before the UID. 200; 404 with a sentence for what is not known, 503 while the
 * lists are not complete. */
int explain_page(struct str path, struct str query, struct buf *out, void *arg);

#endif
