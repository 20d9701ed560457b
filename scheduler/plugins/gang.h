/*
 * What the plugin gang is told: how long a gang waits for its minimum before its queue is relieved
 * of it (scheduler/waiting.h), and before nodes may be kept for it. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_PLUGINS_GANG_H
#define PUMICE_SCHEDULER_PLUGINS_GANG_H

#include "scheduler/config.h"

struct gang_arguments {
    int64_t waiting_ns;       /* "defaultWaitingTime", preset 30 minutes; 0: for ever */
    int64_t reserve_after_ns; /* "gang.reserveAfter", preset 5 minutes; 0: never */
};

/* Those of the configuration's plugin gang, as long as it lives; both 0 without that plugin. */
const struct gang_arguments *gang_arguments(const struct sched_config *config);

#endif
