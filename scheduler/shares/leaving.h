/*
 * struct leaving: what jobs or queues would still hold while one after the other of their pods is
 * taken away in thought.
 *
 * For one question and few owners: they are looked for one by one. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_SHARES_LEAVING_H
#define PUMICE_SCHEDULER_SHARES_LEAVING_H

#include "api/resources.h"
#include "base/vec.h"

struct leaving_owner {
    const void *owner;        /* borrowed */
    struct resource_set left; /* owned */
};

struct leaving {
    VEC(struct leaving_owner) owners;
};

void leaving_clear(struct leaving *leaving);
/* What is left to the owner, at first what it holds; the caller takes away from it. Valid until
 * another owner is asked for. */
struct resource_set *leaving_of(struct leaving *leaving, const void *owner,
                                const struct resource_set *holds);

#endif
