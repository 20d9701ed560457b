/*
 * The arguments of resource-strategy-fit, read and checked. Owned by the plugin; loop thread only.
 */
#ifndef PUMICE_SCHEDULER_STRATEGY_H
#define PUMICE_SCHEDULER_STRATEGY_H

#include "base/vec.h"
#include "scheduler/arguments.h"

/* How one resource, or all whose names begin like that, counts. */
struct strategy_rule {
    char *name; /* owned; without the "*" */
    bool prefix;
    bool most; /* full nodes are good, else empty ones */
    double weight;
};

/* A resource whose nodes are kept for those who ask for it. */
struct strategy_scarce {
    uint32_t id;
    double weight;
};

/* What has to stay free on a node for each idle device, from pods that want none. */
struct strategy_ratio {
    uint32_t id;
    double cpu, memory; /* thousandths of a CPU and bytes for each */
    int64_t used;       /* of the devices, in the whole cluster, when last looked at */
    char *reason;       /* owned */
};

struct strategy {
    double weight;
    VEC(struct strategy_rule) rules;
    double scarce_weight; /* 0: off */
    VEC(struct strategy_scarce) scarce;
    VEC(struct strategy_ratio) ratios;
};

/* Never fails: what cannot be read is named in the log and has its preset. */
void strategy_read(struct strategy *strategy, struct arguments *arguments);
void strategy_clear(struct strategy *strategy);
/* The rule for a resource, NULL when it does not count: its own, else that of the longest prefix.
 */
const struct strategy_rule *strategy_rule_of(const struct strategy *strategy, const char *name);

#endif
