/*
 * The plugin types there are: a new one is a file of its name and a line here.
 */
#ifndef PUMICE_SCHEDULER_PLUGINS_H
#define PUMICE_SCHEDULER_PLUGINS_H

#include "scheduler/plugin.h"

/* One line each: plugin_<name> is defined in <name>.c. */
#define PLUGINS(X)                                                                                 \
    X(gang)                                                                                        \
    X(priority)                                                                                    \
    X(predicates)                                                                                  \
    X(nodeorder)                                                                                   \
    X(nodegroup)                                                                                   \
    X(overcommit)                                                                                  \
    X(sla)                                                                                         \
    X(resource_quota)                                                                              \
    X(resource_strategy_fit)                                                                       \
    X(conformance)                                                                                 \
    X(pdb)                                                                                         \
    X(cdp)                                                                                         \
    X(drf)                                                                                         \
    X(proportion)                                                                                  \
    X(capacity)                                                                                    \
    X(binpack)                                                                                     \
    X(extender)

#define PLUGIN_DECLARE(name) extern const struct plugin_type plugin_##name;
PLUGINS(PLUGIN_DECLARE)

#endif
