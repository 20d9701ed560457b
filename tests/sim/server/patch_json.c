/*
 * JSON patch and merge patch: see patch.h.
 */
#include "server/patch.h"

void patch_merge(struct arena *arena, struct doc *target, const struct doc *patch)
{
    if (patch->type != JSON_OBJECT) {
        doc_become(target, doc_clone(arena, patch));
        return;
    }
    if (target->type != JSON_OBJECT)
        doc_become(target, doc_new(arena, JSON_OBJECT));
    for (doc_each(member, patch)) {
        if (member->type == JSON_NULL) {
            (void)doc_del(target, member->key);
            continue;
        }
        if (!doc_get(target, member->key))
            doc_set(target, member->key, doc_new(arena, JSON_NULL));
        patch_merge(arena, doc_get(target, member->key), member);
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Where a pointer leads: a container, and a name or a position in it. */
struct place {
    struct doc *container; /* NULL: the whole document */
    struct str token;      /* decoded */
    struct doc *child;     /* NULL: there is none */
    size_t position;       /* in an array */
};

static struct str decode_token(struct arena *arena, struct str token)
{
    if (str_chr(token, '~') < 0)
        return token;
    char *text = arena_alloc(arena, token.n);
    size_t n = 0;
    for (size_t i = 0; i < token.n; i++) {
        char c = token.p[i];
        if (c == '~' && i + 1 < token.n)
            c = token.p[++i] == '1' ? '/' : '~';
        text[n++] = c;
    }
    return str_make(text, n);
}

/* The position that a token means in an array; "-" is the one behind the last. */
static bool position_of(const struct doc *array, struct str token, size_t *ret_position)
{
    uint64_t position = 0;
    if (str_is(token, "-"))
        position = doc_count(array);
    else if (!str_to_u64(token, &position) || position > doc_count(array))
        return false;
    *ret_position = (size_t)position;
    return true;
}

static bool enter(struct place *place, struct doc *container, struct str token)
{
    *place = (struct place){.container = container, .token = token};
    if (doc_is(container, JSON_OBJECT)) {
        place->child = doc_get(container, token);
        return true;
    }
    if (!doc_is(container, JSON_ARRAY) || !position_of(container, token, &place->position))
        return false;
    place->child = container->first;
    for (size_t i = 0; place->child && i < place->position; i++)
        place->child = place->child->next;
    return true;
}

static int find_place(struct arena *arena, struct doc *target, struct str pointer,
                      struct place *ret_place, struct error *err)
{
    struct place place = {.child = target};
    struct str rest = str_from(pointer, 1), token = STR_NULL;
    if (!str_empty(pointer) && pointer.p[0] != '/')
        return error_set(err, ERROR_CONFLICT, "the path \"%.*s\" does not begin with /",
                         STR_ARG(pointer));
    while (!str_empty(pointer) && str_split(&rest, '/', &token))
        if (!place.child || !enter(&place, place.child, decode_token(arena, token)))
            return error_set(err, ERROR_CONFLICT, "there is no path \"%.*s\"", STR_ARG(pointer));
    *ret_place = place;
    return 0;
}

/* ---- operations ------------------------------------------------------------------------------ */

static void put(struct doc *target, const struct place *place, struct doc *value)
{
    if (!place->container)
        doc_become(target, value);
    else if (place->container->type == JSON_OBJECT)
        doc_set(place->container, place->token, value);
    else
        doc_insert(place->container, place->position, value);
}

static int missing(struct str op, struct str path, struct error *err)
{
    return error_set(err, ERROR_CONFLICT, "%.*s: there is nothing at \"%.*s\"", STR_ARG(op),
                     STR_ARG(path));
}

static int copy_from(struct arena *arena, struct doc *target, const struct doc *operation,
                     bool move, struct doc **ret_value, struct error *err)
{
    struct str from = doc_str(doc_get(operation, STR("from")));
    struct place source;
    if (find_place(arena, target, from, &source, err) < 0)
        return -1;
    if (!source.child)
        return missing(STR("from"), from, err);
    *ret_value = doc_clone(arena, source.child);
    if (move && source.container)
        doc_remove(source.container, source.child);
    return 0;
}

static int do_test(const struct place *place, const struct doc *value, struct str path,
                   struct error *err)
{
    bool absent = !place->child || place->child->type == JSON_NULL;
    bool wants_none = !value || value->type == JSON_NULL;
    if (absent ? wants_none : value && doc_equal(place->child, value))
        return 0;
    return error_set(err, ERROR_CONFLICT, "testing value %.*s failed", STR_ARG(path));
}

static int do_operation(struct arena *arena, struct doc *target, const struct doc *operation,
                        struct error *err)
{
    struct str op = doc_str(doc_get(operation, STR("op")));
    struct str path = doc_str(doc_get(operation, STR("path")));
    const struct doc *given = doc_get(operation, STR("value"));
    bool move = str_is(op, "move"), copies = move || str_is(op, "copy");
    bool replace = str_is(op, "replace"), removes = str_is(op, "remove");
    struct doc *value = given ? doc_clone(arena, given) : NULL;
    struct place place;
    if (copies && copy_from(arena, target, operation, move, &value, err) < 0)
        return -1;
    if (find_place(arena, target, path, &place, err) < 0)
        return -1;
    if (str_is(op, "test"))
        return do_test(&place, given, path, err);
    if (!removes && !replace && !copies && !str_is(op, "add"))
        return error_set(err, ERROR_CONFLICT, "there is no operation \"%.*s\"", STR_ARG(op));
    if (!removes && !value)
        return error_set(err, ERROR_CONFLICT, "%.*s has no value", STR_ARG(op));
    /* A member that is not there can be replaced, with kube-apiserver; an item cannot. */
    bool item = doc_is(place.container, JSON_ARRAY);
    if (!place.child && (removes || (replace && item)))
        return missing(op, path, err);
    if (removes && !place.container)
        return missing(op, path, err);
    if (removes)
        doc_remove(place.container, place.child);
    else if (replace && place.child)
        doc_become(place.child, value);
    else
        put(target, &place, value);
    return 0;
}

int patch_json(struct arena *arena, struct doc *target, const struct doc *operations,
               struct error *err)
{
    if (!doc_is(operations, JSON_ARRAY))
        return error_set(err, ERROR_INVALID, "error decoding patch: it is no list of operations");
    for (doc_each(operation, operations))
        if (do_operation(arena, target, operation, err) < 0)
            return -1;
    return 0;
}
