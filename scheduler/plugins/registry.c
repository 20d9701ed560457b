/*
 * All scheduler plugins, from the list in plugins.h.
 */
#include "scheduler/plugins/plugins.h"

#define PLUGIN_ENTRY(name) &plugin_##name,

static const struct plugin_type *const types[] = {PLUGINS(PLUGIN_ENTRY)};

const struct plugin_type *plugin_type_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (str_is(name, types[i]->name))
            return types[i];
    return NULL;
}

#define PLUGIN_NAME(name) ", " #name

const char *plugin_names(void)
{
    return &(PLUGINS(PLUGIN_NAME))[2]; /* behind the first comma */
}
