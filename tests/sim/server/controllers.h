/*
 * Inside the server: what in a cluster kube-controller-manager does, as far as programs here see
 * it: garbage collection by owner references, the end of namespaces, usage of quotas, the status of
 * disruption budgets, the default service account.
 *
 * A change marks what is to be looked at; some time later all that is marked is looked at, in the
 * order in which it was marked. So the objects between are seen, as in a cluster.
 */
#ifndef PUMICE_TESTS_SIM_SERVER_CONTROLLERS_H
#define PUMICE_TESTS_SIM_SERVER_CONTROLLERS_H

#include "server/rest.h"

enum sim_duty { SIM_GARBAGE, SIM_NAMESPACE, SIM_QUOTA, SIM_BUDGET, SIM_DUTY_COUNT };

struct sim_controllers {
    struct sim_server *server;
    int64_t lag_ns;
    struct loop_timer timer;
    struct sim_watcher *watchers;      /* owned; by resource */
    struct map marked[SIM_DUTY_COUNT]; /* UIDs for SIM_GARBAGE, else names of namespaces */
};

void sim_mark(struct sim_server *server, enum sim_duty duty, struct str what);

/* gc.c: marks what a change may have left, and deals with one object. */
void sim_garbage_mark(struct sim_server *server, const struct sim_change *change);
void sim_garbage_look(struct sim_server *server, struct str uid);
/* namespaces.c */
void sim_namespace_look(struct sim_server *server, struct str name);
/* counts.c: all quotas, all budgets of a namespace. */
void sim_quota_look(struct sim_server *server, struct str ns);
void sim_budget_look(struct sim_server *server, struct str ns);

/* Deletes as a client would who gives no grace time. */
void sim_controller_delete(struct sim_server *server, struct sim_object *object,
                           struct str propagation);

#endif
