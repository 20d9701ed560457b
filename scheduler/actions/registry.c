/*
 * All actions: one entry each, declared in actions.h, and its name below.
 */
#include "base/alloc.h"
#include "scheduler/actions/actions.h"

static const struct action_type *const types[] = {
    &action_enqueue, &action_allocate,    &action_backfill,    &action_preempt,
    &action_reclaim, &action_gangpreempt, &action_gangreclaim, &action_shuffle,
};

const struct action_type *action_type_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (str_is(name, types[i]->name))
            return types[i];
    return NULL;
}

const char *action_names(void)
{
    return "enqueue, allocate, backfill, preempt, reclaim, gangpreempt, gangreclaim, shuffle";
}
