/*
 * Feature gates, as --feature-gates gives them: "A=true,B=false".
 */
#ifndef PUMICE_WEBHOOK_GATES_H
#define PUMICE_WEBHOOK_GATES_H

#include "ops/flags.h"

struct webhook_gates {
    bool scheduling_gates;    /* SchedulingGatesQueueAdmission, off by default */
    bool pod_level_resources; /* PodLevelResources, on by default */
};

/*
 * Reads every text in turn. ERROR_INVALID for a gate that Volcano's webhook does not know, and for
 * a value that is no boolean. Gates that have no effect here are accepted.
 */
int webhook_gates_parse(const struct flag_strings *texts, struct webhook_gates *ret_gates,
                        struct error *err);

#endif
