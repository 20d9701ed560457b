/*
 * gangpreempt: as preempt, but whole jobs are judged, and only those of lower priority. See
 * taking.h.
 */
#include "scheduler/actions/actions.h"
#include "scheduler/actions/taking.h"

static const struct taking_type type = {
    .name = "gangpreempt", .kind = EVICT_GANG_PREEMPT, .inside_too = false};

static void *begin(struct scheduler *scheduler)
{
    return taking_begin(scheduler, &type);
}

/* All nodes are one domain. */
static const char *const ignored[] = {"maxDomains", NULL};

const struct action_type action_gangpreempt = {.name = "gangpreempt",
                                               .ignored = ignored,
                                               .open = taking_open_jobs,
                                               .close = taking_close,
                                               .begin = begin,
                                               .step = taking_step,
                                               .end = taking_end};
