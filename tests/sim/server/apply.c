/*
 * Server-side apply: see rest.h.
 *
 * What each field manager applied last is kept beside the object, whole; what it leaves out the
 * next time goes, unless another manager applied it, too. Fields that were written otherwise have
 * no owner here, so there are no conflicts with those, and metadata.managedFields is not shown: our
 * programs apply by force and drop it. Conflicts between managers that apply are told of.
 */
#include "server/patch.h"
#include "server/rest.h"

/* What a manager may not decide, and so does not keep. */
static void strip(struct doc *wanted)
{
    struct doc *meta = sim_meta(wanted);
    static const char *const servers[] = {"resourceVersion", "uid",        "name",
                                          "namespace",       "generation", "creationTimestamp"};
    if (!meta)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(servers); i++)
        (void)doc_del(meta, str_of(servers[i]));
}

static struct str manager_of(const struct sim_call *call)
{
    struct str manager = sim_call_query(call, "fieldManager");
    return arena_printf(call->arena, "%.*s/%.*s", STR_ARG(manager), STR_ARG(call->sub));
}

/* The book of an object as a tree, by manager. */
static struct doc *read_book(struct sim_call *call, const struct sim_object *object)
{
    struct error err = ERROR_INIT;
    struct doc *book = NULL;
    if (object && object->applied)
        book = doc_parse(call->arena, arena_str(call->arena, str_of(object->applied)), &err);
    return book ? book : doc_new(call->arena, JSON_OBJECT);
}

static void write_book(struct sim_call *call, struct str uid, struct doc *book,
                       const struct doc *wanted)
{
    cleanup_buf struct buf text = BUF_INIT(LIMIT_RESPONSE_BODY);
    struct sim_object *object = sim_store_by_uid(&call->server->store, uid);
    if (!object || sim_call_is_dry(call))
        return;
    doc_set(book, manager_of(call), doc_clone(call->arena, wanted));
    doc_print(&text, book);
    free(object->applied);
    object->applied = buf_take(&text);
}

static struct doc *others_of(struct sim_call *call, const struct doc *book)
{
    struct str manager = manager_of(call);
    struct doc *others = doc_new(call->arena, JSON_ARRAY);
    for (doc_each(other, book))
        if (!str_eq(other->key, manager))
            doc_append(others, doc_clone(call->arena, other));
    return others;
}

/* What one manager wants otherwise than another. */
struct clashes {
    struct buf path; /* of the first one, as messages have it */
    unsigned count;
};

static void find_clashes(const struct doc *a, const struct doc *b, struct clashes *clashes)
{
    size_t before = clashes->path.n;
    if (!b || doc_equal(a, b) || (a->type == JSON_ARRAY && b->type == JSON_ARRAY))
        return;
    if (a->type != JSON_OBJECT || b->type != JSON_OBJECT) {
        clashes->count++;
        return;
    }
    for (doc_each(member, a)) {
        unsigned found = clashes->count;
        if (found == 0)
            buf_printf(&clashes->path, ".%.*s", STR_ARG(member->key));
        find_clashes(member, doc_get(b, member->key), clashes);
        if (clashes->count == 0)
            buf_truncate(&clashes->path, before);
    }
}

static int check_conflicts(struct sim_call *call, const struct doc *wanted, const struct doc *book)
{
    struct str manager = manager_of(call);
    if (str_is(sim_call_query(call, "force"), "true"))
        return 0;
    for (doc_each(other, book)) {
        struct clashes clashes = {.path = BUF_INIT(4096)};
        struct str name = str_sub(other->key, 0, (size_t)str_chr(other->key, '/'));
        if (!str_eq(other->key, manager))
            find_clashes(wanted, other, &clashes);
        struct str path = arena_str(call->arena, buf_str(&clashes.path));
        buf_clear(&clashes.path);
        if (clashes.count == 0)
            continue;
        struct str with = arena_printf(call->arena, "conflict with \"%.*s\"", STR_ARG(name));
        return sim_fail(
            call, &(struct sim_failure){
                      .code = 409,
                      .reason = "Conflict",
                      .message = arena_printf(
                          call->arena, "Apply failed with %u conflict%s: %.*s: %.*s", clashes.count,
                          clashes.count == 1 ? "" : "s", STR_ARG(with), STR_ARG(path)),
                      .cause = {"FieldManagerConflict", with, path.p},
                  });
    }
    return 0;
}

static int apply_new(struct sim_call *call, const struct doc *body, struct doc *wanted)
{
    struct error err = ERROR_INIT;
    struct doc *object = doc_clone(call->arena, body);
    doc_set_str(call->arena, doc_ensure(call->arena, object, STR("metadata"), JSON_OBJECT), "name",
                call->name);
    if (!str_empty(call->sub))
        return sim_fail_not_found(call, call->resource, call->name);
    if (sim_create(call, object, 201) < 0)
        return -1;
    const struct doc *made =
        doc_parse(call->arena, arena_str(call->arena, buf_str(&call->answer->body)), &err);
    write_book(call, doc_str_at(made, "metadata.uid"), doc_new(call->arena, JSON_OBJECT), wanted);
    return 0;
}

static int fail_without_manager(struct sim_call *call)
{
    return sim_fail(
        call, &(struct sim_failure){
                  .code = 422,
                  .reason = "Invalid",
                  .message = STR("PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: "
                                 "Required value: is required for apply patch"),
                  .kind = "PatchOptions",
                  .group = "meta.k8s.io",
                  .cause = {"FieldValueRequired",
                            STR("Required value: is required for apply patch"), "fieldManager"},
              });
}

int sim_apply(struct sim_call *call, struct sim_object *object, const struct doc *body)
{
    struct doc *wanted = doc_clone(call->arena, body), *book = read_book(call, object);
    if (str_empty(sim_call_query(call, "fieldManager")))
        return fail_without_manager(call);
    strip(wanted);
    if (!object)
        return apply_new(call, body, wanted);
    if (check_conflicts(call, wanted, book) < 0)
        return -1;
    const struct sim_update update = {
        .object = object,
        .old = sim_version_doc(call->arena, object->now),
        .now = sim_version_doc(call->arena, object->now),
        .status = str_is(call->sub, "status"),
        .patch = true,
    };
    struct str uid = arena_str(call->arena, str_of(object->uid));
    const struct doc *given = sim_meta(body);
    patch_apply(call->arena, update.now, wanted, doc_get(book, manager_of(call)),
                others_of(call, book));
    for (doc_each(member, given))
        if (str_is(member->key, "resourceVersion") || str_is(member->key, "uid") ||
            str_is(member->key, "name"))
            doc_set(sim_meta(update.now), member->key, doc_clone(call->arena, member));
    if (sim_commit(call, &update) < 0)
        return -1;
    write_book(call, uid, book, wanted);
    return 0;
}
