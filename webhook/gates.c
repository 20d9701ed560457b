/*
 * Feature gates: see gates.h.
 */
#include "webhook/gates.h"
#include "base/alloc.h"
#include "ops/gates.h"

int webhook_gates_parse(const struct flag_strings *texts, struct webhook_gates *ret_gates,
                        struct error *err)
{
    /* Only the first two have an effect here. */
    struct gate gates[] = {
        {"SchedulingGatesQueueAdmission", GATE_ALPHA, false, false},
        {"PodLevelResources", GATE_BETA, true, false},
        {"WorkLoadSupport", GATE_ALPHA, true, false},
        {"VolcanoJobSupport", GATE_ALPHA, true, false},
        {"PodDisruptionBudgetsSupport", GATE_ALPHA, true, false},
        {"QueueCommandSync", GATE_ALPHA, true, false},
        {"PriorityClass", GATE_ALPHA, true, false},
        {"CSIStorage", GATE_ALPHA, false, false},
        {"ResourceTopology", GATE_ALPHA, true, false},
        {"CronVolcanoJobSupport", GATE_ALPHA, true, false},
    };

    if (gates_parse(texts, gates, ARRAY_SIZE(gates), err) < 0)
        return -1;
    *ret_gates =
        (struct webhook_gates){.scheduling_gates = gates[0].on, .pod_level_resources = gates[1].on};
    return 0;
}
