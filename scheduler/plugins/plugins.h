/*
 * The plugin types there are; each is defined in the file of its name.
 */
#ifndef PUMICE_SCHEDULER_PLUGINS_H
#define PUMICE_SCHEDULER_PLUGINS_H

#include "scheduler/plugin.h"

extern const struct plugin_type plugin_gang;
extern const struct plugin_type plugin_priority;
extern const struct plugin_type plugin_predicates;
extern const struct plugin_type plugin_nodeorder;
extern const struct plugin_type plugin_overcommit;
extern const struct plugin_type plugin_conformance;
extern const struct plugin_type plugin_drf;
extern const struct plugin_type plugin_proportion;
extern const struct plugin_type plugin_binpack;

#endif
