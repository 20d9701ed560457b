/*
 * The resources that the server has: one table. What the server does alike for all is steered by
 * the flags; what only one has stands in a file of its own.
 */
#ifndef PUMICE_TESTS_SIM_SERVER_RESOURCES_H
#define PUMICE_TESTS_SIM_SERVER_RESOURCES_H

#include "base/str.h"

enum sim_resource_flags {
    SIM_NAMESPACED = 1,
    SIM_STATUS = 2,           /* has /status, and nothing else writes the status of an old object */
    SIM_CUSTOM = 4,           /* of a CRD: no strategic patch; /status leaves the metadata alone */
    SIM_GENERATION = 8,       /* metadata.generation counts changes of the spec */
    SIM_UNCONDITIONAL = 16,   /* a PUT may leave the resourceVersion out */
    SIM_CREATE_ON_PUT = 32,   /* a PUT of what is not there makes it */
    SIM_ANSWERS_DELETED = 64, /* a DELETE answers the object, others a Status */
    SIM_STATUS_AT_CREATE = 128 /* a POST may bring a status although there is /status */
};

struct sim_resource {
    const char *group; /* "" is the core */
    const char *version, *plural, *kind;
    unsigned flags;
    const char *fields; /* that field selectors may name beside metadata.name and .namespace; by
                           spaces; NULL for none */
};

/* Those that the server's own rules are about; their order is that of the table. */
enum sim_resource_id {
    SIM_PODS,
    SIM_NAMESPACES,
    SIM_NODES,
    SIM_QUOTAS,
    SIM_BUDGETS,
    SIM_CLAIMS,
    SIM_VOLUMES,
    SIM_SERVICES,
    SIM_PRIORITYCLASSES,
    SIM_SECRETS,
    SIM_BATCH_JOBS,
    SIM_DEFINITIONS
};

size_t sim_resource_count(void);
const struct sim_resource *sim_resource_at(size_t id);
/* Its place in the table. */
size_t sim_resource_id(const struct sim_resource *resource);
/* NULL when there is none. */
const struct sim_resource *sim_resource_find(struct str group, struct str version,
                                             struct str plural);
bool sim_resource_has_group(struct str group, struct str version);

static inline bool sim_resource_is(const struct sim_resource *resource, unsigned flag)
{
    return (resource->flags & flag) != 0;
}

/* "pods", "jobs.batch.volcano.sh": as messages name it; NUL-terminated, at most `size` bytes. */
void sim_resource_title(const struct sim_resource *resource, char *text, size_t size);
/* "v1", "batch.volcano.sh/v1alpha1". */
void sim_resource_api_version(const struct sim_resource *resource, char *text, size_t size);

#define SIM_TITLE_MAX 128

#endif
