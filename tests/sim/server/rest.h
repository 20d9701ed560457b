/*
 * Inside the server: the verbs, and what all writes go through. Each verb answers the call, and
 * returns 0 when it did what was asked and -1 when it refused.
 */
#ifndef PUMICE_TESTS_SIM_SERVER_REST_H
#define PUMICE_TESTS_SIM_SERVER_REST_H

#include "base/rng.h"
#include "server/call.h"
#include "server/selection.h"

struct sim_controllers;

struct sim_server {
    struct loop *loop; /* borrowed */
    struct rng rng;
    struct sim_store store;
    struct list watches;                 /* open streams */
    struct sim_controllers *controllers; /* owned */
};

int sim_rest_create(struct sim_call *call);
int sim_rest_get(struct sim_call *call);
int sim_rest_list(struct sim_call *call);
int sim_rest_update(struct sim_call *call);
int sim_rest_patch(struct sim_call *call);
int sim_rest_delete(struct sim_call *call);
int sim_rest_delete_collection(struct sim_call *call);

/* ---- many objects (list.c) ------------------------------------------------------------------- */

/* What namespace, labelSelector and fieldSelector of the call mean. */
int sim_call_selection(struct sim_call *call, struct sim_selection *ret_selection);
/* Is the key one of the namespace? Any is when it is empty. */
bool sim_key_in(struct str key, struct str ns);
/* The objects of the call's resource in a namespace, all for an empty one, in the order of keys. */
struct sim_object *sim_first_in(struct sim_call *call, struct str ns);
struct sim_object *sim_next_in(const struct sim_object *object, struct str ns);
/* A list with these items. */
struct doc *sim_list_doc(struct sim_call *call, struct doc *items);

/* ---- writes ---------------------------------------------------------------------------------- */

/* The object that the path names, or NULL, answered: 404. */
struct sim_object *sim_call_object(struct sim_call *call);
/* Makes `object` as a POST would; `status` is that of a success. */
int sim_create(struct sim_call *call, struct doc *object, int status);

/* A change of an object. What a client may not change is taken from `old`. */
struct sim_update {
    struct sim_object *object;
    struct doc *old, *now; /* separate trees */
    bool status;           /* through /status */
    bool patch;
};
int sim_commit(struct sim_call *call, const struct sim_update *update);
/* apply.c: an apply patch; `object` is NULL when there is none. */
int sim_apply(struct sim_call *call, struct sim_object *object, const struct doc *body);
/* Writes what a rule of the server makes of an object, unless nothing changed; bumps the generation
 * for a changed spec. True when it was written; false too when it was the last finalizer, and the
 * object is gone. */
bool sim_write(struct sim_server *server, struct arena *arena, struct sim_object *object,
               struct doc *old, struct doc *now);

/* The generation that follows from a change; takes metadata and status as told apart by the
 * resource. */
bool sim_spec_changed(const struct sim_resource *resource, const struct doc *old,
                      const struct doc *now);

/* ---- deletion -------------------------------------------------------------------------------- */

struct sim_delete_options {
    int64_t grace_s;                  /* -1: that of the object */
    struct str propagation;           /* Orphan, Background, Foreground; empty: the default */
    struct str uid, resource_version; /* preconditions; empty: none */
};
/* Reads body and query. */
int sim_delete_options_read(struct sim_call *call, const struct doc *given,
                            struct sim_delete_options *ret_options);
/* Deletes, or marks as to be deleted; gives the object's last state known. No answer but for a
 * precondition that fails. *ret_gone: it is no more. */
int sim_delete(struct sim_call *call, struct sim_object *object,
               const struct sim_delete_options *options, struct doc **ret_last, bool *ret_gone);

/* ---- parts of objects ------------------------------------------------------------------------ */

struct doc *sim_meta(const struct doc *object);
/* Wall time as metadata has it, in the arena. */
struct str sim_time(const struct sim_server *server, struct arena *arena, int64_t later_ns);
/* Kind and apiVersion first, so that a list can leave them out. */
struct doc *sim_with_kind(struct arena *arena, const struct sim_resource *resource,
                          const struct doc *object);
bool sim_has_finalizers(const struct doc *object);
/* The JSON type of a Status that tells of a success; `details` may be NULL. */
struct doc *sim_success_doc(struct arena *arena, struct doc *details);

/* ---- what only some resources have ----------------------------------------------------------- */

/* defaults.c: what the server fills in, in each write and in the first one; that may fail. */
void sim_default(struct sim_call *call, struct doc *object);
int sim_default_new(struct sim_call *call, struct doc *object);
/* pods.c */
int sim_pod_bind(struct sim_call *call);
int sim_pod_evict(struct sim_call *call);
/* admission.c: 0, or -1, answered. */
int sim_admit_namespace(struct sim_call *call);
int sim_admit_quota(struct sim_call *call, const struct doc *object);

/* ---- the server's controllers (controllers.c) ------------------------------------------------ */

void sim_controllers_begin(struct sim_server *server, int64_t lag_ns);
void sim_controllers_end(struct sim_server *server);

#endif
