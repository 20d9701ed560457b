/*
 * All scheduler plugins: one entry each, declared in plugins.h.
 */
#include "scheduler/plugins/plugins.h"

static const struct plugin_type *const types[] = {
    &plugin_gang,      &plugin_priority,   &plugin_predicates,
    &plugin_nodeorder, &plugin_overcommit, &plugin_conformance,
    &plugin_drf,       &plugin_proportion, &plugin_binpack,
};

const struct plugin_type *plugin_type_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (str_is(name, types[i]->name))
            return types[i];
    return NULL;
}
