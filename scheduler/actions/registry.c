/*
 * All actions, from the list in actions.h.
 */
#include "base/alloc.h"
#include "scheduler/actions/actions.h"

#define ACTION_ENTRY(name) &action_##name,

static const struct action_type *const types[] = {ACTIONS(ACTION_ENTRY)};

const struct action_type *action_type_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (str_is(name, types[i]->name))
            return types[i];
    return NULL;
}

#define ACTION_NAME(name) ", " #name

const char *action_names(void)
{
    return &(ACTIONS(ACTION_NAME))[2]; /* behind the first comma */
}
