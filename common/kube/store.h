/*
 * struct store: the typed objects of one resource, kept right whatever order versions arrive in.
 *
 * Rules (ARCHITECTURE.md, "Ordering"): a version is applied only if its resourceVersion is newer
 * than the one stored for that key and UID; a relist at R removes only objects stored at <= R; a
 * deletion leaves a tombstone while any request for that key is in flight, and late answers for
 * that UID are dropped. An object that comes back under its name with another UID is seen by
 * handlers as a delete and an add; of two UIDs under one name the newer version wins. A version
 * that is not newer than what list and watch have shown, of an object that is not here, is of one
 * that has been deleted: it is dropped.
 *
 * A version that cannot be decoded is reported once and counts as present: the last good version,
 * if there was one, stays until a newer good one, a deletion or a relist without the object.
 *
 * The store owns its objects; handlers and lookups borrow them until the next change of that
 * object. Handlers run at once, on the loop thread, in the order they were added, when the store
 * already shows the change; they must not change the store. Iteration is in order of arrival.
 */
#ifndef PUMICE_KUBE_STORE_H
#define PUMICE_KUBE_STORE_H

#include "base/list.h"
#include "kube/meta.h"

struct store;

struct store_type {
    const char *kind; /* "Pod": for logs, metrics and errors */
    /* Makes an object, beginning with a struct kube_meta, from its raw JSON (valid during the call
     * only). NULL and `err` when it cannot be read: it is reported once and skipped. */
    void *(*decode)(struct str raw, struct error *err);
    void (*free)(void *object);
};

struct store_handler {
    struct list link;
    /* Exactly one of old/new is NULL for add (old) and delete (new); both set for an update. */
    void (*changed)(void *arg, void *old_object, void *new_object);
    /* The first list is complete and applied. May be NULL. */
    void (*synced)(void *arg);
    /* An object that cannot be decoded; may be NULL (then only logged). */
    void (*bad_object)(void *arg, const struct kube_identity *identity, const struct error *err);
    void *arg;
};

/* Never NULL; `type` is borrowed for good. */
struct store *store_new(const struct store_type *type);
void store_free(struct store *store);

/* Adds a handler (embedded, borrowed). Objects already there, and that the store is synced if it
 * is, are announced to it at once. */
void store_subscribe(struct store *store, struct store_handler *handler);
void store_unsubscribe(struct store *store, struct store_handler *handler);

/* Lookups; NULL when absent. */
void *store_get(const struct store *store, struct str ns, struct str name);
/* The first call makes the index of UIDs, which costs a look at every object. */
void *store_get_uid(struct store *store, struct str uid);
size_t store_count(const struct store *store);
/* `for (size_t i = 0; (o = store_next(s, &i));)`, in order of arrival. */
void *store_next(const struct store *store, size_t *position);
bool store_synced(const struct store *store);
/* A list is under way: what it holds comes in its own order, not in that in which it happened. */
bool store_listing(const struct store *store);
const char *store_kind(const struct store *store);

/* ---- for the reflector and for answers ------------------------------------------------------- */

/* Keys and UIDs longer than this are refused (names have at most 253 bytes, namespaces 63). */
#define STORE_KEY_MAX 512

/*
 * A version of an object from an answer. Returns the stored object (this version or the newer one
 * already there, or the last good one when this cannot be decoded), NULL when it was dropped.
 */
void *store_apply(struct store *store, struct str raw);
/* A DELETED event (raw is the last state) or an answer that shows the object to be gone. For the
 * answer to a DELETE request use store_apply_delete_answer. */
void store_apply_deleted(struct store *store, struct str raw);
/*
 * The body of a 2xx answer to a DELETE of this object: the object itself while it still terminates
 * (it stays, in its new version), its last state, or a Status (it is gone).
 */
void store_apply_delete_answer(struct store *store, struct str ns, struct str name, struct str uid,
                               struct str body);
/* The object is known to be gone (404 on a request for that UID). Another UID is left alone. */
void store_forget(struct store *store, struct str ns, struct str name, struct str uid);

/*
 * An event of a watch (`deleted`: DELETED, else ADDED or MODIFIED); what came before it in the
 * stream has been applied. `*ret_rv` is the version of the event, 0 when it has none: such an
 * object is reported as bad. -1 when `raw` is not JSON; nothing has changed then.
 */
int store_watch_event(struct store *store, bool deleted, struct str raw, uint64_t *ret_rv,
                      struct error *err);
/* Every change up to `rv` has been applied: a bookmark. */
void store_watched(struct store *store, uint64_t rv);

/* A full list begins (a list under way is given up), its items come through store_list_item, and
 * it ends at resourceVersion `rv`: objects that were not in it and were stored at <= rv are
 * removed, and the store is synced. Answers may arrive in between. */
void store_list_begin(struct store *store);
/* Returns what store_apply would. */
void *store_list_item(struct store *store, struct str raw);
void store_list_end(struct store *store, uint64_t rv);
/* The list was given up: nothing is removed. Harmless when none is under way. */
void store_list_abort(struct store *store);

/* While at least one request for this key is in flight, its tombstone is kept. Paired. */
void store_request_begin(struct store *store, struct str ns, struct str name);
void store_request_end(struct store *store, struct str ns, struct str name);

/* Number of tombstones, for tests and metrics. */
size_t store_tombstones(const struct store *store);

#endif
