/*
 * All scheduler plugins, from the list in plugins.h.
 */
#include "scheduler/plugins/plugins.h"
#include <stdio.h>

#define PLUGIN_ENTRY(name) &plugin_##name,

static const struct plugin_type *const types[] = {PLUGINS(PLUGIN_ENTRY)};

const struct plugin_type *plugin_type_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (str_is(name, types[i]->name))
            return types[i];
    return NULL;
}

const char *plugin_names(void)
{
    static char text[1024];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_SIZE(types) && n < sizeof(text); i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? ", " : "", types[i]->name);
    return text;
}
