/*
 * reclaim: a job that starves in a queue that has less than it deserves may have pods evicted in
 * queues that have more. See taking.h.
 */
#include "scheduler/actions/actions.h"
#include "scheduler/actions/taking.h"

static const struct taking_type type = {
    .name = "reclaim", .kind = EVICT_RECLAIM, .inside_too = false};

static void *begin(struct scheduler *scheduler)
{
    return taking_begin(scheduler, &type);
}

/* Which nodes fit is always kept. */
static const char *const ignored[] = {"predicateErrorCacheEnable", NULL};

const struct action_type action_reclaim = {.name = "reclaim",
                                           .ignored = ignored,
                                           .open = taking_open_pods,
                                           .close = taking_close,
                                           .begin = begin,
                                           .step = taking_step,
                                           .end = taking_end};
