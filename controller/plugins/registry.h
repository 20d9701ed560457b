/*
 * The plugins there are; private to this folder. A line here and one in registry.c for each.
 */
#ifndef PUMICE_CONTROLLER_PLUGINS_REGISTRY_H
#define PUMICE_CONTROLLER_PLUGINS_REGISTRY_H

#include "controller/plugins/plugin.h"

extern const struct plugin_type plugin_env;        /* the index of a pod */
extern const struct plugin_type plugin_svc;        /* names that resolve, and lists of them */
extern const struct plugin_type plugin_ssh;        /* keys with which pods reach each other */
extern const struct plugin_type plugin_tensorflow; /* TF_CONFIG */
extern const struct plugin_type plugin_pytorch;    /* MASTER_ADDR, RANK and the like */
extern const struct plugin_type plugin_mpi;        /* MPI_HOST */
extern const struct plugin_type plugin_ray;        /* commands of head and workers, a Service */
extern const struct plugin_type plugin_hcclrank;   /* the rank as an annotation */

#endif
