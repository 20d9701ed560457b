/*
 * Deletion: see rest.h.
 *
 * What has no finalizer and no grace is gone at once. A pod gets the grace of the request or its
 * own, none without a node or when it has ended, and goes in two steps: first its deletionTimestamp
 * is written, and when nothing holds it any more it is removed; whoever watches sees both.
 */
#include "base/timefmt.h"
#include "server/rest.h"

#define ORPHAN STR("orphan")
#define FOREGROUND STR("foregroundDeletion")

/* ---- options --------------------------------------------------------------------------------- */

int sim_delete_options_read(struct sim_call *call, const struct doc *given,
                            struct sim_delete_options *ret_options)
{
    struct sim_delete_options options = {
        .grace_s = doc_i64(doc_at(given, "gracePeriodSeconds"), -1),
        .propagation = doc_str_at(given, "propagationPolicy"),
        .uid = doc_str_at(given, "preconditions.uid"),
        .resource_version = doc_str_at(given, "preconditions.resourceVersion")};
    struct str grace = sim_call_query(call, "gracePeriodSeconds");
    struct str propagation = sim_call_query(call, "propagationPolicy");
    if (!str_empty(grace) && !str_to_i64(grace, &options.grace_s))
        return sim_fail_bad_request(call, "gracePeriodSeconds is no number: %.*s", STR_ARG(grace));
    if (!str_empty(propagation))
        options.propagation = propagation;
    *ret_options = options;
    return 0;
}

/* It is told of under the name of the kind, not of the resource. */
static int fail_precondition(struct sim_call *call, struct str name, const char *what,
                             const char *why, struct str given, struct str stands)
{
    const struct sim_resource *resource = call->resource;
    return sim_fail(
        call,
        &(struct sim_failure){
            .code = 409,
            .reason = "Conflict",
            .message = arena_printf(
                call->arena,
                "Operation cannot be fulfilled on %s%s%s \"%.*s\": the %s in the precondition "
                "(%.*s) does not match the %s in record (%.*s). The object might have been %s",
                resource->kind, *resource->group ? "." : "", resource->group, STR_ARG(name), what,
                STR_ARG(given), what, STR_ARG(stands), why),
            .name = name,
            .kind = resource->kind,
            .group = resource->group,
        });
}

static int check_preconditions(struct sim_call *call, const struct doc *object,
                               const struct sim_delete_options *options)
{
    struct str uid = doc_str_at(object, "metadata.uid"), name = doc_str_at(object, "metadata.name");
    struct str version = doc_str_at(object, "metadata.resourceVersion");
    if (!str_empty(options->uid) && !str_eq(options->uid, uid))
        return fail_precondition(call, name, "UID", "deleted and then recreated", options->uid,
                                 uid);
    if (!str_empty(options->resource_version) && !str_eq(options->resource_version, version))
        return fail_precondition(call, name, "ResourceVersion", "modified",
                                 options->resource_version, version);
    return 0;
}

/* ---- finalizers of the garbage collector ----------------------------------------------------- */

static void set_finalizer(struct arena *arena, struct doc *meta, struct str name, bool wanted)
{
    struct doc *list = doc_get(meta, STR("finalizers")), *found = NULL;
    for (doc_each(item, list))
        if (str_eq(doc_str(item), name))
            found = item;
    if (wanted && !found)
        doc_append(doc_ensure(arena, meta, STR("finalizers"), JSON_ARRAY), doc_string(arena, name));
    else if (!wanted && found)
        doc_remove(list, found);
    if (list && !list->first)
        (void)doc_del(meta, STR("finalizers"));
}

static bool has_finalizer(const struct doc *object, struct str name)
{
    for (doc_each(item, doc_at(object, "metadata.finalizers")))
        if (str_eq(doc_str(item), name))
            return true;
    return false;
}

static void set_propagation(struct sim_call *call, const struct sim_resource *resource,
                            struct doc *object, struct str propagation)
{
    bool says = !str_empty(propagation);
    bool foreground = says ? str_is(propagation, "Foreground") : has_finalizer(object, FOREGROUND);
    bool orphan = says ? str_is(propagation, "Orphan") : has_finalizer(object, ORPHAN);
    if (!says && !foreground && resource == sim_resource_at(SIM_BATCH_JOBS))
        orphan = true;
    set_finalizer(call->arena, sim_meta(object), ORPHAN, orphan);
    set_finalizer(call->arena, sim_meta(object), FOREGROUND, foreground);
}

/* ---- grace ----------------------------------------------------------------------------------- */

static int64_t pod_grace(const struct doc *pod, int64_t asked_s)
{
    struct str phase = doc_str_at(pod, "status.phase");
    int64_t grace =
        asked_s >= 0 ? asked_s : doc_i64(doc_at(pod, "spec.terminationGracePeriodSeconds"), 30);
    bool over = str_is(phase, "Succeeded") || str_is(phase, "Failed");
    return over || str_empty(doc_str_at(pod, "spec.nodeName")) ? 0 : grace;
}

static void mark(struct sim_call *call, struct doc *object, int64_t grace_s)
{
    struct doc *meta = sim_meta(object);
    int64_t generation = doc_i64(doc_at(meta, "generation"), 0);
    doc_set_str(call->arena, meta, "deletionTimestamp",
                sim_time(call->server, call->arena, grace_s * NSEC_PER_SEC));
    doc_set_i64(call->arena, meta, "deletionGracePeriodSeconds", grace_s);
    if (generation > 0)
        doc_set_i64(call->arena, meta, "generation", generation + 1);
}

/* What terminates already can only be hurried. False: nothing changes. */
static bool hurry(struct sim_call *call, struct doc *object, int64_t asked_s)
{
    struct doc *meta = sim_meta(object);
    int64_t grace = doc_i64(doc_at(meta, "deletionGracePeriodSeconds"), 0), due = 0;
    if (asked_s < 0 || asked_s >= grace || !time_parse(doc_str_at(meta, "deletionTimestamp"), &due))
        return false;
    char text[TIME_TEXT_MAX];
    size_t n = time_format(text, due - (grace - asked_s) * NSEC_PER_SEC);
    doc_set_str(call->arena, meta, "deletionTimestamp", arena_str(call->arena, str_make(text, n)));
    doc_set_i64(call->arena, meta, "deletionGracePeriodSeconds", asked_s);
    return true;
}

/* ---- deleting -------------------------------------------------------------------------------- */

static void store(struct sim_call *call, struct sim_object *object, struct doc *doc)
{
    if (!sim_call_is_dry(call))
        sim_store_replace(&call->server->store, object, call->arena, doc);
}

static void store_remove(struct sim_call *call, struct sim_object *object, struct doc *doc)
{
    if (!sim_call_is_dry(call))
        sim_store_remove(&call->server->store, object, call->arena, doc);
}

static void delete_pod(struct sim_call *call, struct sim_object *object, struct doc *pod,
                       const struct sim_delete_options *options, bool *ret_gone)
{
    if (object->terminating) {
        if (!hurry(call, pod, options->grace_s))
            return;
    } else {
        mark(call, pod, pod_grace(pod, options->grace_s));
    }
    set_propagation(call, object->resource, pod, options->propagation);
    store(call, object, pod);
    if (sim_has_finalizers(pod) || doc_i64(doc_at(pod, "metadata.deletionGracePeriodSeconds"), 0))
        return;
    *ret_gone = true;
    store_remove(call, object, pod);
}

static void delete_namespace(struct sim_call *call, struct sim_object *object, struct doc *ns)
{
    if (object->terminating)
        return;
    doc_set_str(call->arena, sim_meta(ns), "deletionTimestamp",
                sim_time(call->server, call->arena, 0));
    doc_set_str(call->arena, doc_ensure(call->arena, ns, STR("status"), JSON_OBJECT), "phase",
                STR("Terminating"));
    store(call, object, ns);
}

static void delete_plain(struct sim_call *call, struct sim_object *object, struct doc *doc,
                         const struct sim_delete_options *options, bool *ret_gone)
{
    if (object->terminating)
        return;
    set_propagation(call, object->resource, doc, options->propagation);
    if (sim_has_finalizers(doc)) {
        mark(call, doc, 0);
        store(call, object, doc);
        return;
    }
    *ret_gone = true;
    store_remove(call, object, doc);
}

int sim_delete(struct sim_call *call, struct sim_object *object,
               const struct sim_delete_options *options, struct doc **ret_last, bool *ret_gone)
{
    struct doc *doc = sim_version_doc(call->arena, object->now);
    bool gone = false;
    if (check_preconditions(call, doc, options) < 0)
        return -1;
    if (object->resource == sim_resource_at(SIM_PODS))
        delete_pod(call, object, doc, options, &gone);
    else if (object->resource == sim_resource_at(SIM_NAMESPACES))
        delete_namespace(call, object, doc);
    else
        delete_plain(call, object, doc, options, &gone);
    *ret_last = doc;
    *ret_gone = gone;
    return 0;
}

static struct doc *details_of(struct sim_call *call, const struct doc *object)
{
    struct arena *arena = call->arena;
    struct doc *details = doc_new(arena, JSON_OBJECT);
    doc_set_str(arena, details, "name", doc_str_at(object, "metadata.name"));
    if (*call->resource->group)
        doc_set_str(arena, details, "group", str_of(call->resource->group));
    doc_set_str(arena, details, "kind", str_of(call->resource->plural));
    doc_set_str(arena, details, "uid", doc_str_at(object, "metadata.uid"));
    return details;
}

static int read_options(struct sim_call *call, struct sim_delete_options *ret_options)
{
    struct doc *body = NULL;
    if (!str_empty(call->request->body) && !(body = sim_call_body(call)))
        return -1;
    const struct doc *dry = doc_get(body, STR("dryRun"));
    if (dry && str_is(doc_str(dry->first), "All"))
        doc_set_str(call->arena, call->query, "dryRun", STR("All"));
    return sim_delete_options_read(call, body, ret_options);
}

int sim_rest_delete(struct sim_call *call)
{
    struct sim_delete_options options = {.grace_s = -1};
    struct doc *last = NULL;
    bool gone = false;
    if (read_options(call, &options) < 0)
        return -1;
    struct sim_object *object = sim_call_object(call);
    if (!object || sim_delete(call, object, &options, &last, &gone) < 0)
        return -1;
    if (!gone || sim_resource_is(call->resource, SIM_ANSWERS_DELETED))
        return sim_call_answer(call, 200, last);
    return sim_call_answer(call, 200, sim_success_doc(call->arena, details_of(call, last)));
}

/* ---- many ------------------------------------------------------------------------------------ */

int sim_rest_delete_collection(struct sim_call *call)
{
    struct sim_delete_options options = {.grace_s = -1};
    struct sim_selection selection;
    VEC(struct str) keys = {NULL, 0, 0};
    if (read_options(call, &options) < 0 || sim_call_selection(call, &selection) < 0)
        return -1;
    struct doc *items = doc_new(call->arena, JSON_ARRAY);
    for (struct sim_object *object = sim_first_in(call, selection.ns); object;
         object = sim_next_in(object, selection.ns))
        if (sim_selection_matches(&selection, sim_version_doc(call->arena, object->now)))
            vec_push(&keys, arena_str(call->arena, str_of(object->key)));
    for (size_t i = 0; i < keys.n; i++) {
        struct sim_object *object =
            sim_store_find(&call->server->store, call->resource, keys.items[i]);
        struct doc *last = NULL;
        bool gone = false;
        if (object && sim_delete(call, object, &options, &last, &gone) == 0)
            doc_append(items, last);
    }
    vec_clear(&keys);
    buf_reset(&call->answer->body);
    return sim_call_answer(call, 200, sim_list_doc(call, items));
}
