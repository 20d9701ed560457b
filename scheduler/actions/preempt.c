/*
 * preempt: a job that starves may have pods of less important jobs in its queue evicted, and its
 * pods others of its own that rank lower. See taking.h.
 */
#include "scheduler/actions/actions.h"
#include "scheduler/actions/taking.h"

static const struct taking_type type = {
    .name = "preempt", .kind = EVICT_PREEMPT, .inside_too = true};

static void *begin(struct scheduler *scheduler)
{
    return taking_begin(scheduler, &type);
}

/* Every node is looked at, and all that plugins say of one is taken into account. */
static const char *const ignored[] = {"enableTopologyAwarePreemption",
                                      "topologyAwarePreemptWorkerNum",
                                      "minCandidateNodesPercentage",
                                      "minCandidateNodesAbsolute",
                                      "maxCandidateNodesAbsolute",
                                      "predicateErrorCacheEnable",
                                      NULL};

const struct action_type action_preempt = {.name = "preempt",
                                           .ignored = ignored,
                                           .open = taking_open_pods,
                                           .close = taking_close,
                                           .begin = begin,
                                           .step = taking_step,
                                           .end = taking_end};
