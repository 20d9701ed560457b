/*
 * Parts that all objects have, and the one place where objects are written: see rest.h.
 */
#include "base/timefmt.h"
#include "server/rest.h"

struct doc *sim_meta(const struct doc *object)
{
    return doc_get(object, STR("metadata"));
}

struct str sim_time(const struct sim_server *server, struct arena *arena, int64_t later_ns)
{
    char text[TIME_TEXT_MAX];
    size_t n = time_format(text, time_add(loop_wall(server->loop), later_ns));
    return arena_str(arena, str_make(text, n));
}

struct doc *sim_with_kind(struct arena *arena, const struct sim_resource *resource,
                          const struct doc *object)
{
    char version[SIM_TITLE_MAX];
    struct doc *whole = doc_new(arena, JSON_OBJECT);
    sim_resource_api_version(resource, version, sizeof(version));
    doc_set_str(arena, whole, "kind", str_of(resource->kind));
    doc_set_str(arena, whole, "apiVersion", arena_str(arena, str_of(version)));
    for (doc_each(member, object))
        if (!doc_get(whole, member->key))
            doc_set(whole, member->key, doc_clone(arena, member));
    return whole;
}

bool sim_has_finalizers(const struct doc *object)
{
    const struct doc *own = doc_at(object, "metadata.finalizers");
    const struct doc *of_namespace =
        str_is(doc_str_at(object, "kind"), "Namespace") ? doc_at(object, "spec.finalizers") : NULL;
    return doc_count(own) > 0 || doc_count(of_namespace) > 0;
}

struct doc *sim_success_doc(struct arena *arena, struct doc *details)
{
    struct doc *doc = doc_new(arena, JSON_OBJECT);
    doc_set_str(arena, doc, "kind", STR("Status"));
    doc_set_str(arena, doc, "apiVersion", STR("v1"));
    doc_set(doc, STR("metadata"), doc_new(arena, JSON_OBJECT));
    doc_set_str(arena, doc, "status", STR("Success"));
    if (details)
        doc_set(doc, STR("details"), details);
    return doc;
}

struct sim_object *sim_call_object(struct sim_call *call)
{
    struct sim_object *object =
        sim_store_find(&call->server->store, call->resource, sim_call_key(call));
    if (!object)
        (void)sim_fail_not_found(call, call->resource, call->name);
    return object;
}

/* Members that are no part of what the generation counts. */
static bool is_counted(const struct sim_resource *resource, const struct doc *member)
{
    bool aside = str_is(member->key, "metadata") || str_is(member->key, "kind") ||
                 str_is(member->key, "apiVersion") ||
                 (str_is(member->key, "status") && sim_resource_is(resource, SIM_STATUS));
    return !aside;
}

static bool covers(const struct sim_resource *resource, const struct doc *a, const struct doc *b)
{
    for (doc_each(member, a))
        if (is_counted(resource, member) && !doc_equal(member, doc_get(b, member->key)))
            return false;
    return true;
}

bool sim_spec_changed(const struct sim_resource *resource, const struct doc *old,
                      const struct doc *now)
{
    return !covers(resource, old, now) || !covers(resource, now, old);
}

/* Nothing holds an object that is to be deleted and has no time left. */
static bool is_finished(const struct doc *object)
{
    return doc_at(object, "metadata.deletionTimestamp") && !sim_has_finalizers(object) &&
           doc_i64(doc_at(object, "metadata.deletionGracePeriodSeconds"), 0) == 0;
}

bool sim_write(struct sim_server *server, struct arena *arena, struct sim_object *object,
               struct doc *old, struct doc *now)
{
    const struct sim_resource *resource = object->resource;
    struct doc *meta = sim_meta(now);
    if (doc_equal(old, now))
        return false;
    if (sim_resource_is(resource, SIM_GENERATION) && sim_spec_changed(resource, old, now))
        doc_set_i64(arena, meta, "generation", doc_i64(doc_at(old, "metadata.generation"), 0) + 1);
    if (is_finished(now)) { /* watches see it as it was before the change that let it go */
        sim_store_remove(&server->store, object, arena, old);
        return false;
    }
    sim_store_replace(&server->store, object, arena, now);
    return true;
}
