/*
 * The store: entries by "namespace/name" and by UID, and what makes late arrivals harmless.
 *
 * An entry is what is known of one UID. Four facts decide whether an arriving version counts: the
 * newest version of the entry, the tombstones of UIDs known to be deleted, the version up to which
 * list and watch have shown everything (`complete`), and, for removal, the list that an entry was
 * seen in last. The store owns entries and objects; handlers are embedded in their owners.
 * Loop thread only.
 */
#include "kube/store.h"
#include "base/ensure.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/map.h"
#include <stdio.h>

#define RV_ANY UINT64_MAX /* a tombstone for every version */

struct entry {
    void *object;    /* owned, beginning with a struct kube_meta; NULL: never seen a good version */
    const char *uid; /* interned */
    const char *key; /* interned */
    uint64_t rv;     /* of `object`, 0 without one */
    uint64_t bad_rv; /* newest version that could not be decoded, 0 for none */
    uint64_t seen;   /* number of the last list that had it */
};

struct tombstone {
    struct list link; /* in its pending key's list, or alone */
    const char *uid;  /* interned */
    uint64_t rv;      /* versions up to this one are dropped */
    bool ahead;       /* the watch has not yet shown the deletion */
};

/* A key with requests in flight. */
struct pending {
    unsigned requests;
    struct list tombstones;
};

struct store {
    const struct store_type *type; /* borrowed */
    struct map by_key, by_uid;     /* struct entry, owned through by_key */
    struct map tombstones;         /* by UID, owned */
    struct map pending;            /* by key, owned */
    struct list handlers;          /* borrowed */
    size_t count;                  /* entries with an object */
    uint64_t complete;             /* list and watch have shown every change up to this version */
    uint64_t lists;                /* number of the newest list */
    bool listing, synced;
    bool uids_wanted; /* by_uid is kept; few kinds are ever looked up that way */
    bool announcing;  /* handlers run: the store must not be changed */
};

/* ---- keys ----------------------------------------------------------------------------------- */

struct key {
    char text[STORE_KEY_MAX + 1];
    struct str str; /* borrowed from `text` */
};

/* False when namespace and name are longer than any key can be. */
static bool make_key(struct key *key, struct str ns, struct str name)
{
    if (ns.n + name.n + 1 > STORE_KEY_MAX)
        return false;
    int size = snprintf(key->text, sizeof(key->text), "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
    key->str = str_make(key->text, (size_t)size);
    return true;
}

static uint64_t newest(const struct entry *entry)
{
    return entry->rv > entry->bad_rv ? entry->rv : entry->bad_rv;
}

/* ---- handlers ------------------------------------------------------------------------------- */

static void announce(struct store *store, void *old_object, void *new_object)
{
    store->announcing = true;
    list_each(link, &store->handlers)
    {
        struct store_handler *handler = container_of(link, struct store_handler, link);
        handler->changed(handler->arg, old_object, new_object);
    }
    store->announcing = false;
}

static void announce_synced(struct store *store)
{
    store->announcing = true;
    list_each(link, &store->handlers)
    {
        struct store_handler *handler = container_of(link, struct store_handler, link);
        if (handler->synced)
            handler->synced(handler->arg);
    }
    store->announcing = false;
}

static void report_bad(struct store *store, const struct kube_identity *identity,
                       const struct error *err)
{
    log_warn("%s %.*s/%.*s at resourceVersion %llu cannot be read and is skipped: %s",
             store->type->kind, STR_ARG(identity->ns), STR_ARG(identity->name),
             (unsigned long long)identity->rv, err->text);
    store->announcing = true;
    list_each(link, &store->handlers)
    {
        struct store_handler *handler = container_of(link, struct store_handler, link);
        if (handler->bad_object)
            handler->bad_object(handler->arg, identity, err);
    }
    store->announcing = false;
}

void store_subscribe(struct store *store, struct store_handler *handler)
{
    void *object;

    list_append(&store->handlers, &handler->link);
    for (size_t i = 0; (object = store_next(store, &i));)
        handler->changed(handler->arg, NULL, object);
    if (store->synced && handler->synced)
        handler->synced(handler->arg);
}

void store_unsubscribe(struct store *store, struct store_handler *handler)
{
    (void)store;
    list_remove(&handler->link);
}

/* ---- tombstones ----------------------------------------------------------------------------- */

static void drop_tombstone(struct store *store, struct tombstone *tombstone)
{
    map_del(&store->tombstones, str_of(tombstone->uid));
    list_remove(&tombstone->link);
    intern_put(tombstone->uid);
    free(tombstone);
}

/* Remembers that versions of `uid` up to `rv` are of the past, for as long as that matters. */
static void bury(struct store *store, struct str key, struct str uid, uint64_t rv, bool ahead)
{
    struct pending *pending = map_get(&store->pending, key);
    struct tombstone *tombstone = map_get(&store->tombstones, uid);

    if (tombstone) {
        tombstone->rv = rv > tombstone->rv ? rv : tombstone->rv;
        tombstone->ahead = tombstone->ahead || ahead;
        return;
    }
    if (!pending && !ahead)
        return;
    tombstone = xnew(struct tombstone);
    *tombstone = (struct tombstone){.uid = intern_get(uid), .rv = rv, .ahead = ahead};
    list_init(&tombstone->link);
    if (pending)
        list_append(&pending->tombstones, &tombstone->link);
    map_set(&store->tombstones, uid, tombstone);
}

/* The watch or a list has caught up with the deletion. */
static void settle(struct store *store, struct tombstone *tombstone)
{
    tombstone->ahead = false;
    if (list_empty(&tombstone->link))
        drop_tombstone(store, tombstone);
}

static void settle_all(struct store *store)
{
    void *tombstone;
    for (size_t i = 0; map_next(&store->tombstones, &i, NULL, &tombstone);)
        settle(store, tombstone);
}

static bool is_buried(const struct store *store, const struct kube_identity *identity)
{
    const struct tombstone *tombstone = map_get(&store->tombstones, identity->uid);
    return tombstone && identity->rv <= tombstone->rv;
}

void store_request_begin(struct store *store, struct str ns, struct str name)
{
    struct key key;
    if (!make_key(&key, ns, name))
        return;
    struct pending *pending = map_get(&store->pending, key.str);
    if (!pending) {
        pending = xnew(struct pending);
        list_init(&pending->tombstones);
        map_set(&store->pending, key.str, pending);
    }
    pending->requests++;
}

void store_request_end(struct store *store, struct str ns, struct str name)
{
    struct key key;
    if (!make_key(&key, ns, name))
        return;
    struct pending *pending = map_get(&store->pending, key.str);
    ENSURE(pending && pending->requests > 0);
    if (--pending->requests > 0)
        return;
    list_each(link, &pending->tombstones)
    {
        struct tombstone *tombstone = container_of(link, struct tombstone, link);
        list_remove(&tombstone->link);
        if (!tombstone->ahead)
            drop_tombstone(store, tombstone);
    }
    map_del(&store->pending, key.str);
    free(pending);
}

size_t store_tombstones(const struct store *store)
{
    return map_count(&store->tombstones);
}

/* ---- entries -------------------------------------------------------------------------------- */

static struct entry *add_entry(struct store *store, struct str key, struct str uid)
{
    struct entry *entry = xnew(struct entry);
    entry->uid = intern_get(uid);
    entry->key = intern_get(key);
    map_set(&store->by_key, str_of(entry->key), entry);
    if (store->uids_wanted)
        map_set(&store->by_uid, str_of(entry->uid), entry);
    return entry;
}

static void free_entry(struct store *store, struct entry *entry)
{
    if (entry->object)
        store->type->free(entry->object);
    intern_put(entry->uid);
    intern_put(entry->key);
    free(entry);
}

static void remove_entry(struct store *store, struct entry *entry)
{
    map_del(&store->by_key, str_of(entry->key));
    map_del(&store->by_uid, str_of(entry->uid));
    if (entry->object) {
        store->count--;
        announce(store, entry->object, NULL);
    }
    free_entry(store, entry);
}

static void put_object(struct store *store, struct entry *entry, void *object, uint64_t rv)
{
    void *old = entry->object;
    entry->object = object;
    entry->rv = rv;
    store->count += old ? 0 : 1;
    announce(store, old, object);
    if (old)
        store->type->free(old);
}

/* ---- applying versions ---------------------------------------------------------------------- */

/* Decodes into the entry; a version that cannot be read is reported and leaves it as it was. */
static void *decode_into(struct store *store, struct entry *entry,
                         const struct kube_identity *identity, struct str raw)
{
    struct error err = ERROR_INIT;
    void *object = store->type->decode(raw, &err);
    if (object) {
        put_object(store, entry, object, identity->rv);
    } else if (identity->rv > entry->bad_rv) {
        entry->bad_rv = identity->rv;
        report_bad(store, identity, &err);
    }
    return entry->object;
}

/* Checks what the rules need of an identity, and makes the key. */
static bool usable(struct store *store, const struct kube_identity *identity, struct key *key)
{
    struct error err = ERROR_INIT;
    if (str_empty(identity->name) || str_empty(identity->uid) || identity->rv == 0)
        error_set(&err, ERROR_INVALID,
                  "metadata.name, metadata.uid and metadata.resourceVersion must not be empty");
    else if (identity->uid.n > STORE_KEY_MAX || !make_key(key, identity->ns, identity->name))
        error_set(&err, ERROR_LIMIT, "metadata.namespace, name or uid is longer than %d bytes",
                  STORE_KEY_MAX);
    else
        return true;
    report_bad(store, identity, &err);
    return false;
}

static void *apply(struct store *store, const struct kube_identity *identity, struct str raw,
                   bool listed)
{
    struct key key;

    ENSURE(!store->announcing);
    if (!usable(store, identity, &key) || is_buried(store, identity))
        return NULL;
    struct entry *entry = map_get(&store->by_key, key.str);
    bool same = entry && str_is(identity->uid, entry->uid);
    if (same) {
        if (listed)
            entry->seen = store->lists;
        if (identity->rv <= entry->rv || identity->rv == entry->bad_rv)
            return entry->object;
        return decode_into(store, entry, identity, raw);
    }
    if (!listed && identity->rv <= store->complete)
        return NULL;
    if (entry) {
        if (identity->rv <= newest(entry))
            return NULL;
        bury(store, key.str, str_of(entry->uid), identity->rv, false);
        remove_entry(store, entry);
    }
    entry = add_entry(store, key.str, identity->uid);
    entry->seen = listed ? store->lists : 0;
    return decode_into(store, entry, identity, raw);
}

static void apply_deleted(struct store *store, const struct kube_identity *identity, bool ahead)
{
    struct key key;

    ENSURE(!store->announcing);
    if (!usable(store, identity, &key))
        return;
    struct entry *entry = map_get(&store->by_key, key.str);
    bury(store, key.str, identity->uid, identity->rv, ahead);
    if (entry && newest(entry) <= identity->rv) {
        if (!str_is(identity->uid, entry->uid))
            bury(store, key.str, str_of(entry->uid), identity->rv, ahead);
        remove_entry(store, entry);
    }
}

/* Reads an identity from an answer; what is no object at all is only logged. */
static bool identify(const struct store *store, struct str raw, struct kube_identity *identity)
{
    struct error err = ERROR_INIT;
    if (kube_identity_read(raw, identity, &err) == 0)
        return true;
    log_warn("a %s in an answer cannot be read and is skipped: %s", store->type->kind, err.text);
    return false;
}

void *store_apply(struct store *store, struct str raw)
{
    struct kube_identity identity;
    return identify(store, raw, &identity) ? apply(store, &identity, raw, false) : NULL;
}

void store_apply_deleted(struct store *store, struct str raw)
{
    struct kube_identity identity;
    if (identify(store, raw, &identity))
        apply_deleted(store, &identity, identity.rv > store->complete);
}

void store_forget(struct store *store, struct str ns, struct str name, struct str uid)
{
    struct key key;

    ENSURE(!store->announcing);
    if (!make_key(&key, ns, name))
        return;
    struct entry *entry = map_get(&store->by_key, key.str);
    bool here = entry && str_is(uid, entry->uid);
    bury(store, key.str, uid, RV_ANY, here);
    if (here)
        remove_entry(store, entry);
}

/* ---- answers to DELETE ---------------------------------------------------------------------- */

struct delete_answer {
    bool status;     /* a Status, not the object */
    bool deleting;   /* deletionTimestamp is set */
    bool finalizers; /* some are left */
    int64_t grace;   /* deletionGracePeriodSeconds */
};

static void read_delete_metadata(struct json_reader *reader, struct delete_answer *answer)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "deletionTimestamp")) {
            answer->deleting = !str_empty(json_str(reader));
        } else if (str_is(key, "deletionGracePeriodSeconds")) {
            answer->grace = json_i64(reader);
        } else if (str_is(key, "finalizers")) {
            for (bool open = json_array(reader); open && json_item(reader);
                 answer->finalizers = true)
                json_skip(reader);
        } else {
            json_skip(reader);
        }
    }
}

static int read_delete_answer(struct str body, struct delete_answer *answer, struct error *err)
{
    struct json_reader reader;
    struct str key;

    *answer = (struct delete_answer){0};
    json_init(&reader, body, NULL);
    for (bool open = json_object(&reader); open && json_key(&reader, &key);) {
        if (str_is(key, "kind"))
            answer->status = str_is(json_str(&reader), "Status");
        else if (str_is(key, "metadata"))
            read_delete_metadata(&reader, answer);
        else
            json_skip(&reader);
    }
    return json_end(&reader, err);
}

void store_apply_delete_answer(struct store *store, struct str ns, struct str name, struct str uid,
                               struct str body)
{
    struct delete_answer answer;
    struct error err = ERROR_INIT;

    if (read_delete_answer(body, &answer, &err) < 0)
        log_warn("the answer to the deletion of %s %.*s/%.*s cannot be read: %s", store->type->kind,
                 STR_ARG(ns), STR_ARG(name), err.text);
    else if (answer.status)
        store_forget(store, ns, name, uid);
    else if (answer.finalizers || (answer.deleting && answer.grace > 0))
        store_apply(store, body);
    else
        store_apply_deleted(store, body);
}

/* ---- watch and list ------------------------------------------------------------------------- */

int store_watch_event(struct store *store, bool deleted, struct str raw, uint64_t *ret_rv,
                      struct error *err)
{
    struct kube_identity identity;

    if (kube_identity_read(raw, &identity, err) < 0)
        return -1;
    if (deleted) {
        apply_deleted(store, &identity, false);
        struct tombstone *tombstone = map_get(&store->tombstones, identity.uid);
        if (tombstone)
            settle(store, tombstone);
    } else {
        apply(store, &identity, raw, false);
    }
    store_watched(store, identity.rv);
    *ret_rv = identity.rv;
    return 0;
}

void store_watched(struct store *store, uint64_t rv)
{
    if (rv > store->complete)
        store->complete = rv;
}

void store_list_begin(struct store *store)
{
    store->lists++;
    store->listing = true;
}

void *store_list_item(struct store *store, struct str raw)
{
    struct kube_identity identity;
    ENSURE(store->listing);
    return identify(store, raw, &identity) ? apply(store, &identity, raw, true) : NULL;
}

void store_list_end(struct store *store, uint64_t rv)
{
    void *value;
    ENSURE(store->listing && !store->announcing);
    store->listing = false;
    store->complete = rv;
    for (size_t i = 0; map_next(&store->by_key, &i, NULL, &value);) {
        struct entry *entry = value;
        if (entry->seen == store->lists || newest(entry) > rv)
            continue;
        bury(store, str_of(entry->key), str_of(entry->uid), rv, false);
        remove_entry(store, entry);
    }
    settle_all(store);
    if (!store->synced) {
        store->synced = true;
        announce_synced(store);
    }
}

void store_list_abort(struct store *store)
{
    store->listing = false;
}

/* ---- the store ------------------------------------------------------------------------------ */

struct store *store_new(const struct store_type *type)
{
    struct store *store = xnew(struct store);
    store->type = type;
    store->by_key.borrows = store->by_uid.borrows = true; /* keys are interned by the entries */
    list_init(&store->handlers);
    return store;
}

static void free_tombstones(struct store *store)
{
    void *value;
    for (size_t i = 0; map_next(&store->tombstones, &i, NULL, &value);)
        drop_tombstone(store, value);
    map_clear(&store->tombstones);
    map_clear_with(&store->pending, free);
}

void store_free(struct store *store)
{
    void *value;
    if (!store)
        return;
    free_tombstones(store);
    for (size_t i = 0; map_next(&store->by_key, &i, NULL, &value);)
        free_entry(store, value);
    map_clear(&store->by_key);
    map_clear(&store->by_uid);
    free(store);
}

static void *object_of(const struct entry *entry)
{
    return entry ? entry->object : NULL;
}

void *store_get(const struct store *store, struct str ns, struct str name)
{
    struct key key;
    return make_key(&key, ns, name) ? object_of(map_get(&store->by_key, key.str)) : NULL;
}

void *store_get_uid(struct store *store, struct str uid)
{
    void *value;
    if (!store->uids_wanted)
        for (size_t i = 0; map_next(&store->by_key, &i, NULL, &value);) {
            struct entry *entry = value;
            map_set(&store->by_uid, str_of(entry->uid), entry);
        }
    store->uids_wanted = true;
    return object_of(map_get(&store->by_uid, uid));
}

size_t store_count(const struct store *store)
{
    return store->count;
}

void *store_next(const struct store *store, size_t *position)
{
    void *value;
    while (map_next(&store->by_key, position, NULL, &value))
        if (object_of(value))
            return object_of(value);
    return NULL;
}

bool store_synced(const struct store *store)
{
    return store->synced;
}

bool store_listing(const struct store *store)
{
    return store->listing;
}

const char *store_kind(const struct store *store)
{
    return store->type->kind;
}
