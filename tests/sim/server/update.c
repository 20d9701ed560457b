/*
 * PUT and PATCH, on objects and on their status: see rest.h.
 */
#include "server/patch.h"
#include "server/rest.h"

/* ---- what a client may not change ------------------------------------------------------------ */

static void restore(struct sim_call *call, struct doc *to, const struct doc *from, const char *key)
{
    const struct doc *old = doc_get(from, str_of(key));
    if (old)
        doc_set(to, str_of(key), doc_clone(call->arena, old));
    else
        (void)doc_del(to, str_of(key));
}

static void restore_meta(struct sim_call *call, struct doc *meta, const struct doc *old)
{
    static const char *const kept[] = {
        "name",         "namespace",         "uid",
        "generateName", "creationTimestamp", "deletionTimestamp",
        "generation",   "selfLink",          "deletionGracePeriodSeconds",
        "managedFields"};
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        restore(call, meta, old, kept[i]);
    for (struct doc *member = meta->first, *next; member; member = next) {
        next = member->next;
        bool container = member->type == JSON_OBJECT || member->type == JSON_ARRAY;
        if ((container && !member->first) || member->type == JSON_NULL)
            doc_remove(meta, member);
    }
}

/* Through /status nothing but the status is written; labels and annotations of what is built in
 * may be, too. Otherwise the status is not. */
static void restore_parts(struct sim_call *call, const struct sim_update *update)
{
    struct doc *now = update->now;
    const struct doc *old = update->old;
    if (!update->status) {
        if (sim_resource_is(call->resource, SIM_STATUS))
            restore(call, now, old, "status");
        return;
    }
    for (doc_each(member, old))
        if (!str_is(member->key, "status") && !str_is(member->key, "metadata"))
            doc_set(now, member->key, doc_clone(call->arena, member));
    for (struct doc *member = now->first, *next; member; member = next) {
        next = member->next;
        if (!doc_get(old, member->key) && !str_is(member->key, "status"))
            doc_remove(now, member);
    }
    if (sim_resource_is(call->resource, SIM_CUSTOM))
        restore(call, now, old, "metadata");
    else
        restore(call, sim_meta(now), sim_meta(old), "ownerReferences");
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* A patch of the status of a custom object may name any UID: its metadata is not looked at. */
static int check_uid(struct sim_call *call, const struct sim_update *update)
{
    struct str given = doc_str_at(update->now, "metadata.uid");
    struct str uid = doc_str_at(update->old, "metadata.uid");
    if (str_empty(given) || str_eq(given, uid))
        return 0;
    if (!update->patch)
        return sim_fail_other_uid(call, given, uid);
    if (update->status && sim_resource_is(call->resource, SIM_CUSTOM))
        return 0;
    return sim_fail_invalid(call, call->name, "metadata.uid", "FieldValueInvalid",
                            "Invalid value: \"%.*s\": field is immutable", STR_ARG(given));
}

/* It is told of under the name of the resource, not of the kind. */
static int fail_without_version(struct sim_call *call)
{
    static const char why[] = "Invalid value: 0: must be specified for an update";
    char title[SIM_TITLE_MAX];
    sim_resource_title(call->resource, title, sizeof(title));
    return sim_fail(
        call, &(struct sim_failure){
                  .code = 422,
                  .reason = "Invalid",
                  .message = arena_printf(call->arena,
                                          "%s \"%.*s\" is invalid: metadata.resourceVersion: %s",
                                          title, STR_ARG(call->name), why),
                  .name = call->name,
                  .kind = call->resource->plural,
                  .group = call->resource->group,
                  .cause = {"FieldValueInvalid", str_of(why), "metadata.resourceVersion"},
              });
}

static int check_version(struct sim_call *call, const struct sim_update *update)
{
    struct str given = doc_str_at(update->now, "metadata.resourceVersion");
    struct str stands = doc_str_at(update->old, "metadata.resourceVersion");
    bool none = str_empty(given) || str_is(given, "0");
    if (none && !sim_resource_is(call->resource, SIM_UNCONDITIONAL) && !update->patch)
        return fail_without_version(call);
    if (none || str_eq(given, stands))
        return 0;
    return sim_fail_conflict(call, call->name, SIM_MODIFIED_MEANWHILE);
}

static int check_name(struct sim_call *call, const struct doc *now)
{
    struct str name = doc_str_at(now, "metadata.name"), ns = doc_str_at(now, "metadata.namespace");
    if (!str_empty(name) && !str_eq(name, call->name))
        return sim_fail_bad_request(
            call, "the name of the object (%.*s) does not match the name on the URL (%.*s)",
            STR_ARG(name), STR_ARG(call->name));
    if (!str_empty(ns) && !str_eq(ns, call->ns))
        return sim_fail_bad_request(
            call,
            "the namespace of the object (%.*s) does not match the namespace on the URL "
            "(%.*s)",
            STR_ARG(ns), STR_ARG(call->ns));
    return 0;
}

static bool holds_text(const struct doc *list, const struct doc *text)
{
    for (doc_each(item, list))
        if (doc_equal(item, text))
            return true;
    return false;
}

static int check_finalizers(struct sim_call *call, const struct sim_update *update)
{
    const struct doc *old = doc_at(update->old, "metadata.finalizers");
    if (!doc_at(update->old, "metadata.deletionTimestamp"))
        return 0;
    for (doc_each(item, doc_at(update->now, "metadata.finalizers")))
        if (!holds_text(old, item))
            return sim_fail_invalid(call, call->name, "metadata.finalizers", "FieldValueForbidden",
                                    "Forbidden: no new finalizers can be added if the object is "
                                    "being deleted, found new finalizers []string{\"%.*s\"}",
                                    STR_ARG(doc_str(item)));
    return 0;
}

/* ---- the write ------------------------------------------------------------------------------- */

int sim_commit(struct sim_call *call, const struct sim_update *update)
{
    struct doc *now = update->now;
    struct doc *meta = doc_ensure(call->arena, now, STR("metadata"), JSON_OBJECT);
    if (check_name(call, now) < 0 || check_uid(call, update) < 0 || check_version(call, update) < 0)
        return -1;
    restore_meta(call, meta, sim_meta(update->old));
    restore_parts(call, update);
    restore(call, sim_meta(now), sim_meta(update->old), "resourceVersion");
    if (check_finalizers(call, update) < 0)
        return -1;
    sim_default(call, now);
    if (!sim_call_is_dry(call))
        (void)sim_write(call->server, call->arena, update->object, update->old, now);
    return sim_call_answer(call, 200, now);
}

/* The version that a PUT names says nothing about what is not there; its UID is missed. */
static int put_new(struct sim_call *call, struct doc *body)
{
    struct doc *meta = sim_meta(body);
    if (!str_empty(doc_str_at(meta, "uid")))
        return sim_fail_other_uid(call, doc_str_at(meta, "uid"), STR_NULL);
    if (doc_is(meta, JSON_OBJECT))
        (void)doc_del(meta, STR("resourceVersion"));
    return sim_create(call, body, 201);
}

int sim_rest_update(struct sim_call *call)
{
    struct doc *body = sim_call_body(call);
    if (!body || (body->type == JSON_OBJECT && check_name(call, body) < 0))
        return -1;
    struct sim_object *object =
        sim_store_find(&call->server->store, call->resource, sim_call_key(call));
    if (!object && sim_resource_is(call->resource, SIM_CREATE_ON_PUT) && str_empty(call->sub))
        return put_new(call, body);
    if (!object)
        return sim_fail_not_found(call, call->resource, call->name);
    const struct sim_update update = {
        .object = object,
        .old = sim_version_doc(call->arena, object->now),
        .now = sim_with_kind(call->arena, call->resource, body),
        .status = str_is(call->sub, "status"),
    };
    return sim_commit(call, &update);
}

/* ---- patches --------------------------------------------------------------------------------- */

static int fail_media_type(struct sim_call *call)
{
    return sim_fail(
        call, &(struct sim_failure){
                  .code = 415,
                  .reason = "UnsupportedMediaType",
                  .message = STR("the body of the request was in an unknown format - accepted "
                                 "media types include: application/json-patch+json, "
                                 "application/merge-patch+json, application/apply-patch+yaml"),
              });
}

static int fail_patch(struct sim_call *call, const struct error *err)
{
    if (err->cls == ERROR_INVALID)
        return sim_fail_bad_request(call, "%s", err->text);
    return sim_fail(call, &(struct sim_failure){
                              .code = 422,
                              .reason = "Invalid",
                              .message = STR("the server rejected our request due to an error in "
                                             "our request"),
                              .bare = true,
                          });
}

static int apply_patch(struct sim_call *call, struct doc *now, const struct doc *body)
{
    struct error err = ERROR_INIT;
    switch (call->request->content) {
    case KUBE_JSON_PATCH:
        return patch_json(call->arena, now, body, &err) < 0 ? fail_patch(call, &err) : 0;
    case KUBE_STRATEGIC_PATCH:
        if (sim_resource_is(call->resource, SIM_CUSTOM))
            return fail_media_type(call);
        return patch_strategic(call->arena, now, body, &err) < 0 ? fail_patch(call, &err) : 0;
    case KUBE_MERGE_PATCH:
        patch_merge(call->arena, now, body);
        return 0;
    case KUBE_JSON:
    case KUBE_APPLY_PATCH:
        break;
    }
    return fail_media_type(call);
}

static int patch_existing(struct sim_call *call, struct sim_object *object, const struct doc *body)
{
    const struct sim_update update = {
        .object = object,
        .old = sim_version_doc(call->arena, object->now),
        .now = sim_version_doc(call->arena, object->now),
        .status = str_is(call->sub, "status"),
        .patch = true,
    };
    if (apply_patch(call, update.now, body) < 0)
        return -1;
    return sim_commit(call, &update);
}

int sim_rest_patch(struct sim_call *call)
{
    struct doc *body = sim_call_body(call);
    if (!body)
        return -1;
    struct sim_object *object =
        sim_store_find(&call->server->store, call->resource, sim_call_key(call));
    if (call->request->content == KUBE_APPLY_PATCH)
        return sim_apply(call, object, body);
    if (!object)
        return sim_fail_not_found(call, call->resource, call->name);
    return patch_existing(call, object, body);
}
