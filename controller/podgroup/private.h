/*
 * Groups and their members, shared by the files of this folder.
 */
#ifndef PUMICE_CONTROLLER_PODGROUP_PRIVATE_H
#define PUMICE_CONTROLLER_PODGROUP_PRIVATE_H

#include "api/barepod.h"
#include "api/workload.h"
#include "base/map.h"
#include "base/vec.h"
#include "controller/podgroup/podgroups.h"
#include "loop/backoff.h"

enum { PODGROUPS_KINDS = 4 }; /* of workloads */

/* Pods of one scheduler. */
struct pods_source {
    struct podgroups *podgroups;
    struct store *pods; /* borrowed */
    struct store_handler handler;
};

struct podgroups {
    struct loop *loop;
    struct window *window;
    struct podgroups_stores stores;
    struct podgroups_rules rules;
    VEC(struct pods_source *) sources; /* owned */
    struct store_handler on_podgroups, on_workloads[PODGROUPS_KINDS];
    struct map members; /* pod UID -> struct member, owned */
    struct map groups;  /* "namespace/name" of the PodGroup -> struct group, owned */
    struct list dirty;  /* group.dirty_link */
    struct loop_deferred pass;
    bool leading;
};

enum group_step { GROUP_NONE, GROUP_WAIT, GROUP_CREATE, GROUP_CHANGE, GROUP_DELETE };

/* One PodGroup, while it has members or something is to be done for it. */
struct group {
    struct podgroups *podgroups;
    struct list dirty_link;
    struct list idle;      /* members that are to get the annotation */
    struct list busy;      /* those that are getting it, or wait to try again */
    struct list settled;   /* those that have it */
    const char *ns, *name; /* interned */
    uint8_t shard;         /* of ns and name */
    int64_t since_ns;      /* loop_now() when it was first seen */
    struct member *model;  /* the pod that the PodGroup is made after; NULL: to be looked for */
    enum group_step step;  /* of the request */
    struct window_request *request;
    struct loop_timer retry;
    struct backoff backoff;
};

/* A pod that lives. */
struct member {
    struct group *group;
    struct list link; /* in one of the group's lists */
    struct store *pods;
    struct barepod *pod; /* borrowed from the store; NULL: gone, the request is waited for */
    const char *uid, *name;
    struct window_request *request;
    struct loop_timer retry;
    struct backoff backoff;
};

/* The PodGroup of that name is this process's business. */
static inline bool podgroups_has(const struct podgroups *podgroups, const char *ns,
                                 const char *name)
{
    return !podgroups->rules.shards || shard_in(*podgroups->rules.shards, shard_of(ns, name));
}

static inline struct window_gate *group_gate(const struct group *group)
{
    struct window_gate *gates = group->podgroups->rules.gates;

    return gates ? &gates[group->shard] : NULL;
}

/* To be looked at in the next pass. */
void group_mark(struct group *group);
/* The group of that PodGroup, made if need be. */
struct group *group_get(struct podgroups *podgroups, const char *ns, struct str name);
/* A pod has joined it, and may be its model. */
void group_offer(struct group *group, struct member *member);
/* One step of what it lacks, if any is possible now; frees it when nothing is left of it. */
void group_look_at(struct group *group);
/* With its requests withdrawn; its members must be gone. */
void group_free(struct group *group);
/* The same, out of the map. */
void group_forget(struct group *group);
/* The PodGroup as it is, NULL while there is none. */
const struct podgroup *group_object(const struct group *group);

/* The store of workloads of that kind, or NULL. */
struct store *podgroups_owners(const struct podgroups *podgroups, const struct kube_owner *owner);

/* A pod was added, changed or removed in `source`. */
void member_changed(struct pods_source *source, struct barepod *old, struct barepod *now);
/* Sends the request that gives it the annotation. */
void member_annotate(struct member *member);
/* With its request withdrawn. */
void member_free(struct member *member);

#endif
