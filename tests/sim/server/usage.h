/*
 * What objects count against a ResourceQuota: by object, and summed up over a namespace.
 *
 * Amounts are an object of quantities by their names in a quota ("pods", "requests.cpu",
 * "count/jobs.batch.volcano.sh", ...). Quotas with scopes are not known here.
 */
#ifndef PUMICE_TESTS_SIM_SERVER_USAGE_H
#define PUMICE_TESTS_SIM_SERVER_USAGE_H

#include "server/rest.h"

/* What one object counts; nothing for a pod that has ended. */
struct doc *sim_usage_of(struct arena *arena, const struct sim_resource *resource,
                         const struct doc *object);
/* What a namespace uses of what `hard` names. */
struct doc *sim_usage_in(const struct sim_server *server, struct arena *arena, struct str ns,
                         const struct doc *hard);
/* Sets total[name] += amount. */
void sim_usage_add(struct arena *arena, struct doc *total, struct str name, struct str amount);
/* a > b, as quantities. */
bool sim_usage_exceeds(struct str a, struct str b);

#endif
