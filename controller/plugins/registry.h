/*
 * The plugins there are; private to this folder: a new one is a file of its name and a line here.
 */
#ifndef PUMICE_CONTROLLER_PLUGINS_REGISTRY_H
#define PUMICE_CONTROLLER_PLUGINS_REGISTRY_H

#include "controller/plugins/plugin.h"

/* In the order in which they change a pod: hcclrank looks at what pytorch set. */
#define JOB_PLUGINS(X)                                                                             \
    X(env)        /* the index of a pod */                                                         \
    X(svc)        /* names that resolve, and lists of them */                                      \
    X(ssh)        /* keys with which pods reach each other */                                      \
    X(tensorflow) /* TF_CONFIG */                                                                  \
    X(pytorch)    /* MASTER_ADDR, RANK and the like */                                             \
    X(mpi)        /* MPI_HOST */                                                                   \
    X(ray)        /* commands of head and workers, a Service */                                    \
    X(hcclrank)   /* the rank as an annotation */

#define JOB_PLUGIN_DECLARE(name) extern const struct plugin_type plugin_##name;
JOB_PLUGINS(JOB_PLUGIN_DECLARE)

#endif
