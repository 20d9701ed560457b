/*
 * Garbage collection: see controllers.h.
 *
 * An object all of whose owners are gone is deleted; one that has others left loses the references
 * to those that are gone. An owner that is deleted in the foreground waits for the dependents that
 * block it, which are deleted; one whose dependents are to be orphans waits until none refers to
 * it.
 */
#include "kube/meta.h"
#include "server/controllers.h"

static bool holds_finalizer(const struct doc *object, const char *name)
{
    for (doc_each(one, doc_at(object, "metadata.finalizers")))
        if (str_is(doc_str(one), name))
            return true;
    return false;
}

/* ---- marks ----------------------------------------------------------------------------------- */

static void mark_dependents(struct sim_server *server, struct str uid)
{
    const struct list *head = sim_store_dependents(&server->store, uid);
    if (!head)
        return;
    list_each(link, head)
        sim_mark(server, SIM_GARBAGE,
                 str_of(container_of(link, struct sim_owner_link, link)->dependent->uid));
}

static void mark_owners(struct sim_server *server, const struct sim_version *version)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    const struct doc *doc = sim_version_doc(&arena, version);
    for (doc_each(owner, doc_at(doc, "metadata.ownerReferences")))
        sim_mark(server, SIM_GARBAGE, doc_str_at(owner, "uid"));
}

void sim_garbage_mark(struct sim_server *server, const struct sim_change *change)
{
    struct kube_identity identity;
    struct error err = ERROR_INIT;
    if (change->type == SIM_DELETED &&
        kube_identity_read(change->after->text, &identity, &err) == 0) {
        mark_dependents(server, identity.uid);
        if (str_find(change->after->text, STR("\"ownerReferences\":")) >= 0)
            mark_owners(server, change->after);
        return;
    }
    const struct sim_object *object =
        sim_store_find(&server->store, change->resource, change->after->key);
    if (object && (object->owners.n > 0 || object->terminating))
        sim_mark(server, SIM_GARBAGE, str_of(object->uid));
}

/* ---- owners that wait ------------------------------------------------------------------------ */

static void drop_finalizer(struct sim_server *server, struct sim_object *object, const char *name)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct doc *old = sim_version_doc(&arena, object->now);
    struct doc *now = sim_version_doc(&arena, object->now);
    struct doc *list = doc_at(now, "metadata.finalizers");
    for (struct doc *one = list ? list->first : NULL, *next; one; one = next) {
        next = one->next;
        if (str_is(doc_str(one), name))
            doc_remove(list, one);
    }
    if (list && !list->first)
        (void)doc_del(sim_meta(now), STR("finalizers"));
    (void)sim_write(server, &arena, object, old, now);
}

static const struct doc *reference_to(const struct doc *object, struct str uid)
{
    for (doc_each(owner, doc_at(object, "metadata.ownerReferences")))
        if (str_eq(doc_str_at(owner, "uid"), uid))
            return owner;
    return NULL;
}

/* The dependents of an owner, as UIDs: what is done to one may change the list. */
static size_t collect_dependents(struct sim_server *server, struct arena *arena, struct str uid,
                                 struct str **ret_uids)
{
    const struct list *head = sim_store_dependents(&server->store, uid);
    size_t n = 0, cap = 0;
    if (head)
        list_each(link, head) cap++;
    *ret_uids = arena_calloc(arena, cap + 1, sizeof(struct str));
    if (head)
        list_each(link, head)(*ret_uids)[n++] = arena_str(
            arena, str_of(container_of(link, struct sim_owner_link, link)->dependent->uid));
    return n;
}

static bool has_dependents(struct sim_server *server, const struct sim_object *object)
{
    return sim_store_dependents(&server->store, str_of(object->uid)) != NULL;
}

static void wait_for_dependents(struct sim_server *server, struct arena *arena, struct str uid)
{
    struct str *uids;
    bool blocked = false;
    size_t n = collect_dependents(server, arena, uid, &uids);
    for (size_t i = 0; i < n; i++) {
        struct sim_object *one = sim_store_by_uid(&server->store, uids[i]);
        if (one && !one->terminating)
            sim_controller_delete(
                server, one, has_dependents(server, one) ? STR("Foreground") : STR("Background"));
        one = sim_store_by_uid(&server->store, uids[i]);
        if (one)
            blocked |= doc_is_true(
                doc_at(reference_to(sim_version_doc(arena, one->now), uid), "blockOwnerDeletion"));
    }
    struct sim_object *owner = sim_store_by_uid(&server->store, uid);
    if (owner && !blocked)
        drop_finalizer(server, owner, "foregroundDeletion");
}

static void drop_references(struct sim_server *server, struct sim_object *object,
                            bool (*goes)(struct sim_server *, const struct doc *, struct str),
                            struct str uid)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct doc *old = sim_version_doc(&arena, object->now);
    struct doc *now = sim_version_doc(&arena, object->now);
    struct doc *list = doc_at(now, "metadata.ownerReferences");
    for (struct doc *one = list ? list->first : NULL, *next; one; one = next) {
        next = one->next;
        if (goes(server, one, uid))
            doc_remove(list, one);
    }
    if (list && !list->first)
        (void)doc_del(sim_meta(now), STR("ownerReferences"));
    (void)sim_write(server, &arena, object, old, now);
}

static bool is_reference_to(struct sim_server *server, const struct doc *owner, struct str uid)
{
    (void)server;
    return str_eq(doc_str_at(owner, "uid"), uid);
}

static bool is_dangling(struct sim_server *server, const struct doc *owner, struct str uid)
{
    (void)uid;
    return !sim_store_by_uid(&server->store, doc_str_at(owner, "uid"));
}

static void make_orphans(struct sim_server *server, struct arena *arena, struct str uid)
{
    struct str *uids;
    size_t n = collect_dependents(server, arena, uid, &uids);
    for (size_t i = 0; i < n; i++) {
        struct sim_object *one = sim_store_by_uid(&server->store, uids[i]);
        if (one)
            drop_references(server, one, is_reference_to, uid);
    }
    struct sim_object *owner = sim_store_by_uid(&server->store, uid);
    if (owner)
        drop_finalizer(server, owner, "orphan");
}

/* ---- dependents ------------------------------------------------------------------------------ */

static void look_at_owners(struct sim_server *server, struct sim_object *object)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    size_t gone = 0;
    for (size_t i = 0; i < object->owners.n; i++)
        gone += !sim_store_by_uid(&server->store, str_of(object->owners.items[i]->owner_uid));
    if (gone == 0)
        return;
    if (gone < object->owners.n) {
        drop_references(server, object, is_dangling, STR_NULL);
        return;
    }
    const struct doc *doc = sim_version_doc(&arena, object->now);
    struct str propagation = holds_finalizer(doc, "orphan")               ? STR("Orphan")
                             : holds_finalizer(doc, "foregroundDeletion") ? STR("Foreground")
                                                                          : STR("Background");
    if (!object->terminating)
        sim_controller_delete(server, object, propagation);
}

void sim_garbage_look(struct sim_server *server, struct str uid)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct sim_object *object = sim_store_by_uid(&server->store, uid);
    if (!object)
        return;
    if (object->terminating) {
        const struct doc *doc = sim_version_doc(&arena, object->now);
        if (holds_finalizer(doc, "orphan"))
            make_orphans(server, &arena, uid);
        else if (holds_finalizer(doc, "foregroundDeletion"))
            wait_for_dependents(server, &arena, uid);
    }
    object = sim_store_by_uid(&server->store, uid);
    if (object)
        look_at_owners(server, object);
}
