/*
 * The objects of a server, their versions and what happened to them.
 *
 * An object is kept as compact JSON, in versions that never change and are counted: the one that
 * stands, and those that the history or a list under way still shows. One counter gives all
 * resourceVersions. Each write is one change; a bounded number of the last ones is kept for each
 * resource, which is what watches resume from and what a list that is read page by page goes back
 * to: the state at a resourceVersion can be told for as long as all changes since are there.
 *
 * The store does as it is told: who may write what is the server's matter (server.h). Beside the
 * keys it knows of an object only its UID, its owners, and whether it is to be deleted. Nothing
 * scans more than it returns. One thread.
 */
#ifndef PUMICE_TESTS_SIM_SERVER_STORE_H
#define PUMICE_TESTS_SIM_SERVER_STORE_H

#include "base/list.h"
#include "base/map.h"
#include "base/vec.h"
#include "server/doc.h"
#include "server/index.h"
#include "server/resources.h"

struct sim_version {
    unsigned refs;
    uint64_t rv;
    struct str key;  /* "namespace/name", or "name"; like the text inside this allocation */
    struct str text; /* compact JSON */
};

struct sim_object {
    struct index_node node; /* in its table */
    const struct sim_resource *resource;
    struct sim_version *now; /* counted */
    char *key, *uid;         /* owned */
    char *applied;           /* owned; what field managers applied, as JSON (apply.c); or NULL */
    VEC(struct sim_owner_link *) owners; /* owned; by owner reference */
    bool terminating;                    /* has a deletionTimestamp */
};

/* That an object has an owner, from the owner's side. */
struct sim_owner_link {
    struct list link; /* in the dependents of the owner */
    struct sim_object *dependent;
    char *owner_uid;
};

enum sim_change_type { SIM_ADDED, SIM_MODIFIED, SIM_DELETED };

struct sim_change {
    uint64_t rv;
    enum sim_change_type type;
    const struct sim_resource *resource;
    struct sim_version *before; /* NULL for an added one */
    struct sim_version *after;  /* of a deleted one its last state, with the change's version */
};

/* Called for each change, in order, after it has taken effect. May start and end watchers, but
 * must not write. */
typedef void sim_watcher_fn(const struct sim_change *change, void *arg);

struct sim_watcher {
    struct list link;
    sim_watcher_fn *fn;
    void *arg;
};

struct sim_table {
    struct index objects;
    struct sim_change *history; /* owned ring */
    size_t history_cap, history_first, history_count;
    uint64_t floor; /* changes up to here are forgotten */
    struct list watchers;
};

struct sim_store {
    struct sim_table *tables; /* owned, by resource */
    struct map by_uid;        /* -> struct sim_object, owned */
    struct map dependents;    /* UID of an owner -> struct list of sim_owner_link, owned */
    uint64_t rv;              /* of the last write */
    size_t history_max;       /* changes that are kept of each resource */
};

void sim_store_init(struct sim_store *store, size_t history_max);
/* Watchers must have left. */
void sim_store_clear(struct sim_store *store);

/* ---- reading --------------------------------------------------------------------------------- */

struct sim_object *sim_store_find(const struct sim_store *store,
                                  const struct sim_resource *resource, struct str key);
struct sim_object *sim_store_by_uid(const struct sim_store *store, struct str uid);
/* A copy of its object, all of it in the arena. */
struct doc *sim_version_doc(struct arena *arena, const struct sim_version *version);
/* The first object whose key is `key` or comes after it; then the one after an object. */
struct sim_object *sim_store_from(const struct sim_store *store,
                                  const struct sim_resource *resource, struct str key);
struct sim_object *sim_object_next(const struct sim_object *object);
/* Links of those that name this UID as an owner; NULL for none. */
struct list *sim_store_dependents(const struct sim_store *store, struct str uid);

struct sim_version *sim_version_ref(struct sim_version *version);
void sim_version_unref(struct sim_version *version); /* NULL is fine */

/* ---- writing --------------------------------------------------------------------------------- */

/*
 * Each gives the object the next resourceVersion, which is set in `doc` too, and tells the
 * watchers. `doc` has a UID; nothing of it is kept.
 */
struct sim_object *sim_store_add(struct sim_store *store, const struct sim_resource *resource,
                                 struct str key, struct arena *arena, struct doc *doc);
void sim_store_replace(struct sim_store *store, struct sim_object *object, struct arena *arena,
                       struct doc *doc);
/* Removes it; `doc` is its last state. Frees the object. */
void sim_store_remove(struct sim_store *store, struct sim_object *object, struct arena *arena,
                      struct doc *doc);

/* ---- history --------------------------------------------------------------------------------- */

/* The changes after `rv`, oldest first, are number *ret_first to history_count - 1. False when
 * some of them are forgotten. */
bool sim_table_since(const struct sim_table *table, uint64_t rv, size_t *ret_first);
const struct sim_change *sim_table_change(const struct sim_table *table, size_t number);
/* Forgets all changes so far, as a compaction does. */
void sim_store_compact(struct sim_store *store);

void sim_store_watch(struct sim_store *store, const struct sim_resource *resource,
                     struct sim_watcher *watcher);
/* Harmless when it has left. */
void sim_store_unwatch(struct sim_watcher *watcher);

static inline struct sim_table *sim_store_table(const struct sim_store *store,
                                                const struct sim_resource *resource)
{
    return &store->tables[sim_resource_id(resource)];
}

#endif
