/*
 * /openapi/v3 in the least form that kubectl asks for before it applies: which versions there are,
 * and that a PATCH of each kind knows fieldValidation, so that the schemas are the server's affair.
 * No schemas: kubectl patches built-in kinds by those that it has itself, custom ones by merging.
 *
 * Made from the table of resources (server/resources.h). Any thread.
 */
#ifndef PUMICE_TESTS_SIM_FRONT_OPENAPI_H
#define PUMICE_TESTS_SIM_FRONT_OPENAPI_H

#include "base/arena.h"
#include "base/str.h"
#include "server/doc.h"

/* The document at a path without its query; NULL when there is none. */
struct doc *sim_openapi_at(struct arena *arena, struct str path);

#endif
