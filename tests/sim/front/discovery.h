/*
 * What a server tells of itself beside its objects: health, version, and which resources it has;
 * the least of OpenAPI (front/openapi.h) goes with it.
 *
 * Made from the table of resources (server/resources.h). Any thread.
 */
#ifndef PUMICE_TESTS_SIM_FRONT_DISCOVERY_H
#define PUMICE_TESTS_SIM_FRONT_DISCOVERY_H

#include "server/server.h"

/*
 * Answers a GET of /healthz, /livez, /readyz, /version, /openapi/v3, /api, /apis, and of what is
 * below the last three up to a group's version. /openapi/v2 is empty: what kubectl reads in
 * protobuf before it applies a List, as a document without schemas. False, and nothing answered,
 * for all else.
 */
bool sim_discovery_answer(const struct sim_request *request, struct sim_answer *answer);

#endif
