/*
 * What owners would still hold. See leaving.h.
 */
#include "scheduler/shares/leaving.h"

void leaving_clear(struct leaving *leaving)
{
    for (size_t i = 0; i < leaving->owners.n; i++)
        resource_set_clear(&leaving->owners.items[i].left);
    vec_clear(&leaving->owners);
}

struct resource_set *leaving_of(struct leaving *leaving, const void *owner,
                                const struct resource_set *holds)
{
    for (size_t i = 0; i < leaving->owners.n; i++)
        if (leaving->owners.items[i].owner == owner)
            return &leaving->owners.items[i].left;
    struct leaving_owner fresh = {.owner = owner, .left = resource_set_copy(holds)};
    vec_push(&leaving->owners, fresh);
    return &leaving->owners.items[leaving->owners.n - 1].left;
}
