/*
 * Plugins that configurations name and this version accepts without effect. Each says so once when
 * a configuration with it is loaded.
 */
#include "scheduler/plugins/plugins.h"

const struct plugin_type plugin_conformance = {
    .name = "conformance",
    .without_effect = "it keeps critical pods from eviction, and nothing is evicted yet"};
