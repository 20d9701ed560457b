/*
 * struct store: the typed objects of one resource, kept right whatever order versions arrive in.
 *
 * Rules (ARCHITECTURE.md, "Ordering"): a version is applied only if its resourceVersion is newer
 * than the one stored for that key and UID; a relist at R removes only objects stored at <= R; a
 * deletion leaves a tombstone while any request for that key is in flight, and late answers for
 * that UID are dropped. An object that comes back under its name with another UID is seen by
 * handlers as a delete and an add.
 *
 * The store owns its objects; handlers and lookups borrow them until the next change of that
 * object. Handlers run at once, on the loop thread, in the order they were added; they must not
 * change the store. Iteration is in order of arrival.
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

/* Adds a handler (embedded, borrowed). Objects already there are announced to it at once. */
void store_subscribe(struct store *store, struct store_handler *handler);
void store_unsubscribe(struct store *store, struct store_handler *handler);

/* Lookups; NULL when absent. */
void *store_get(const struct store *store, struct str ns, struct str name);
void *store_get_uid(const struct store *store, struct str uid);
size_t store_count(const struct store *store);
/* `for (size_t i = 0; (o = store_next(s, &i));)`, in order of arrival. */
void *store_next(const struct store *store, size_t *position);
bool store_synced(const struct store *store);
const char *store_kind(const struct store *store);

/* ---- for the reflector and for answers ------------------------------------------------------- */

/*
 * A version of an object from a watch event, a list item or an answer. Returns the stored object
 * (this version or the newer one already there), NULL when it was dropped or could not be decoded.
 */
void *store_apply(struct store *store, struct str raw);
/* A DELETED event (raw is the last state) or a delete answer. */
void store_apply_deleted(struct store *store, struct str raw);
/* The object is known to be gone (404 on a request for that UID). */
void store_forget(struct store *store, struct str ns, struct str name, struct str uid);

/* A full list begins, its items come through store_apply, and it ends at resourceVersion `rv`:
 * objects that were not in it and were stored at <= rv are removed, and the store is synced. */
void store_list_begin(struct store *store);
void store_list_end(struct store *store, uint64_t rv);
/* The list was given up: nothing is removed. */
void store_list_abort(struct store *store);

/* While at least one request for this key is in flight, its tombstone is kept. Paired. */
void store_request_begin(struct store *store, struct str ns, struct str name);
void store_request_end(struct store *store, struct str ns, struct str name);

#endif
