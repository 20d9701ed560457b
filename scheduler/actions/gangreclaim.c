/*
 * gangreclaim: as reclaim, but whole jobs are judged. See taking.h.
 */
#include "scheduler/actions/actions.h"
#include "scheduler/actions/taking.h"

static const struct taking_type type = {
    .name = "gangreclaim", .kind = EVICT_GANG_RECLAIM, .inside_too = false};

static void *begin(struct scheduler *scheduler)
{
    return taking_begin(scheduler, &type);
}

/* All nodes are one domain. */
static const char *const ignored[] = {"maxDomains", NULL};

const struct action_type action_gangreclaim = {.name = "gangreclaim",
                                               .ignored = ignored,
                                               .open = taking_open_jobs,
                                               .close = taking_close,
                                               .begin = begin,
                                               .step = taking_step,
                                               .end = taking_end};
