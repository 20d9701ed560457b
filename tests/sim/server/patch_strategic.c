/*
 * Strategic merge patch, and the merge of server-side apply: see patch.h.
 */
#include "base/alloc.h"
#include "server/patch.h"

#define ORDER STR("$setElementOrder/")
#define DROP STR("$deleteFromPrimitiveList/")
#define DIRECTIVE STR("$patch")

static const struct {
    const char *field, *key;
} merge_keys[] = {
    {"addresses", "type"},
    {"conditions", "type"},
    {"containers", "name"},
    {"env", "name"},
    {"ephemeralContainers", "name"},
    {"hostAliases", "ip"},
    {"imagePullSecrets", "name"},
    {"initContainers", "name"},
    {"ownerReferences", "uid"},
    {"podIPs", "ip"},
    {"resourceClaims", "name"},
    {"secrets", "name"},
    {"topologySpreadConstraints", "topologyKey"},
    {"volumeDevices", "devicePath"},
    {"volumeMounts", "mountPath"},
    {"volumes", "name"},
    {"webhooks", "name"},
};

const char *patch_merge_key(struct str field)
{
    for (size_t i = 0; i < ARRAY_SIZE(merge_keys); i++)
        if (str_is(field, merge_keys[i].field))
            return merge_keys[i].key;
    return NULL;
}

/* Ports of containers are told apart by their number there, those of Services by theirs. */
static const char *key_of_list(struct str field, const struct doc *list)
{
    if (!str_is(field, "ports") || !list->first)
        return patch_merge_key(field);
    return doc_get(list->first, STR("containerPort")) ? "containerPort" : "port";
}

struct doc *patch_find_item(const struct doc *list, const struct doc *like, const char *key)
{
    const struct doc *wanted = doc_get(like, str_of(key));
    if (!wanted)
        return NULL;
    for (doc_each(item, list))
        if (doc_equal(doc_get(item, str_of(key)), wanted))
            return item;
    return NULL;
}

/* ---- strategic merge ------------------------------------------------------------------------- */

static int merge_object(struct arena *arena, struct doc *target, const struct doc *patch,
                        struct error *err);

static bool has_text(const struct doc *list, const struct doc *text)
{
    for (doc_each(item, list))
        if (doc_equal(item, text))
            return true;
    return false;
}

static void add_to_set(struct arena *arena, struct doc *list, const struct doc *patch)
{
    for (doc_each(item, patch))
        if (!has_text(list, item))
            doc_append(list, doc_clone(arena, item));
}

static void drop_from_set(struct doc *list, const struct doc *patch)
{
    for (struct doc *item = list ? list->first : NULL, *next; item; item = next) {
        next = item->next;
        if (has_text(patch, item))
            doc_remove(list, item);
    }
}

static int merge_item(struct arena *arena, struct doc *list, const struct doc *patch,
                      const char *key, struct error *err)
{
    struct str directive = doc_str(doc_get(patch, DIRECTIVE));
    struct doc *item = patch_find_item(list, patch, key);
    if (!doc_get(patch, str_of(key)))
        return error_set(err, ERROR_INVALID, "map: %s: an item of the patch has no such key", key);
    if (str_is(directive, "delete")) {
        if (item)
            doc_remove(list, item);
        return 0;
    }
    if (!item) {
        item = doc_new(arena, JSON_OBJECT);
        doc_append(list, item);
    }
    return merge_object(arena, item, patch, err);
}

/* A list with {"$patch": "replace"} among its items is the new list, but for that. */
static bool replaces_list(const struct doc *patch)
{
    for (doc_each(item, patch))
        if (str_is(doc_str(doc_get(item, DIRECTIVE)), "replace") && doc_count(item) == 1)
            return true;
    return false;
}

static void replace_list(struct arena *arena, struct doc *target, const struct doc *patch)
{
    doc_become(target, doc_new(arena, JSON_ARRAY));
    for (doc_each(item, patch))
        if (!doc_get(item, DIRECTIVE))
            doc_append(target, doc_clone(arena, item));
}

static int merge_list(struct arena *arena, struct doc *target, const struct doc *patch,
                      struct str field, struct error *err)
{
    const char *key = key_of_list(field, patch);
    bool set = str_is(field, "finalizers");
    if (replaces_list(patch) || (!key && !set)) {
        replace_list(arena, target, patch);
        return 0;
    }
    if (!doc_is(target, JSON_ARRAY)) { /* taken as it is, whether its items have keys or not */
        replace_list(arena, target, patch);
        return 0;
    }
    if (set) {
        add_to_set(arena, target, patch);
        return 0;
    }
    for (doc_each(item, patch))
        if (merge_item(arena, target, item, key, err) < 0)
            return -1;
    return 0;
}

/* Items that the order names stand in that order among themselves; the rest keeps its places. */
static void order_list(struct doc *list, const struct doc *order, const char *key)
{
    for (doc_each(wanted, order)) {
        struct doc *item = key ? patch_find_item(list, wanted, key) : NULL;
        for (doc_each(one, list))
            if (!key && doc_equal(one, wanted))
                item = one;
        if (!item)
            continue;
        doc_remove(list, item);
        doc_append(list, item);
    }
}

static void retain_keys(struct doc *target, const struct doc *keys)
{
    for (struct doc *member = target->first, *next; member; member = next) {
        struct doc name = {.type = JSON_STRING, .text = member->key};
        next = member->next;
        if (!has_text(keys, &name))
            doc_remove(target, member);
    }
}

static int merge_member(struct arena *arena, struct doc *target, const struct doc *patch,
                        struct error *err)
{
    if (patch->type == JSON_NULL) {
        (void)doc_del(target, patch->key);
        return 0;
    }
    if (!doc_get(target, patch->key))
        doc_set(target, patch->key, doc_new(arena, JSON_NULL));
    struct doc *member = doc_get(target, patch->key);
    if (patch->type == JSON_OBJECT)
        return merge_object(arena, member, patch, err);
    if (patch->type == JSON_ARRAY)
        return merge_list(arena, member, patch, patch->key, err);
    doc_become(member, doc_clone(arena, patch));
    return 0;
}

/* The directives that are members of their own. */
static void merge_directive(struct doc *target, const struct doc *patch)
{
    struct str drop = DROP, order = ORDER;
    if (str_starts(patch->key, drop))
        drop_from_set(doc_get(target, str_from(patch->key, drop.n)), patch);
    if (!str_starts(patch->key, order))
        return;
    struct str field = str_from(patch->key, order.n);
    struct doc *list = doc_get(target, field);
    if (list && list->first)
        order_list(list, patch, key_of_list(field, list));
}

static int check_directive(const struct doc *directive, struct error *err)
{
    struct str name = doc_str(directive);
    if (!directive || str_is(name, "replace") || str_is(name, "delete") || str_is(name, "merge"))
        return 0;
    return error_set(err, ERROR_INVALID, "Unknown patch type found: %.*s", STR_ARG(name));
}

static int merge_object(struct arena *arena, struct doc *target, const struct doc *patch,
                        struct error *err)
{
    const struct doc *directive = doc_get(patch, DIRECTIVE);
    if (check_directive(directive, err) < 0)
        return -1;
    struct str name = doc_str(directive);
    if (!doc_is(target, JSON_OBJECT) || str_is(name, "replace") || str_is(name, "delete"))
        doc_become(target, doc_new(arena, JSON_OBJECT));
    if (str_is(name, "delete"))
        return 0;
    const struct doc *retained = doc_get(patch, STR("$retainKeys"));
    if (retained)
        retain_keys(target, retained);
    for (doc_each(member, patch))
        if (!str_starts(member->key, STR("$")) && merge_member(arena, target, member, err) < 0)
            return -1;
    for (doc_each(member, patch))
        merge_directive(target, member);
    return 0;
}

int patch_strategic(struct arena *arena, struct doc *target, const struct doc *patch,
                    struct error *err)
{
    if (!doc_is(patch, JSON_OBJECT))
        return error_set(err, ERROR_INVALID, "a strategic merge patch is an object");
    return merge_object(arena, target, patch, err);
}

/* ---- apply ----------------------------------------------------------------------------------- */

static void apply_value(struct arena *arena, struct doc *target, const struct doc *wanted,
                        struct str field)
{
    const char *key = doc_is(wanted, JSON_ARRAY) ? key_of_list(field, wanted) : NULL;
    if (wanted->type == JSON_OBJECT) {
        if (target->type != JSON_OBJECT)
            doc_become(target, doc_new(arena, JSON_OBJECT));
        for (doc_each(member, wanted)) {
            if (!doc_get(target, member->key))
                doc_set(target, member->key, doc_new(arena, JSON_NULL));
            apply_value(arena, doc_get(target, member->key), member, member->key);
        }
    } else if (key) {
        if (target->type != JSON_ARRAY)
            doc_become(target, doc_new(arena, JSON_ARRAY));
        for (doc_each(item, wanted)) {
            struct doc *old = patch_find_item(target, item, key);
            if (!old)
                doc_append(target, old = doc_new(arena, JSON_OBJECT));
            apply_value(arena, old, item, STR_NULL);
        }
    } else {
        doc_become(target, doc_clone(arena, wanted));
    }
}

/* The child of `parent` at the place that `child` has in another tree, or NULL. */
static struct doc *counterpart(const struct doc *parent, const struct doc *child, const char *key)
{
    return key ? patch_find_item(parent, child, key) : doc_get(parent, child->key);
}

/* The counterparts of a child in all of `others`. */
static struct doc *counterparts(struct arena *arena, const struct doc *others,
                                const struct doc *child, const char *key)
{
    struct doc *found = doc_new(arena, JSON_ARRAY);
    for (doc_each(other, others)) {
        const struct doc *there = counterpart(other, child, key);
        if (there)
            doc_append(found, doc_clone(arena, there));
    }
    return found;
}

/*
 * Takes out of `target` what `former` has, `wanted` has not, and none of `others` has. `field` is
 * its name, or for an item of a list, whose `item_key` must stay while anything else does, nothing.
 */
static void withdraw(struct arena *arena, struct doc *target, const struct doc *wanted,
                     const struct doc *former, const struct doc *others, struct str field,
                     const char *item_key)
{
    const char *key = doc_is(former, JSON_ARRAY) ? key_of_list(field, former) : NULL;
    if (former->type != JSON_OBJECT && !key)
        return;
    for (doc_each(child, former)) {
        struct doc *there = counterpart(target, child, key);
        const struct doc *still = counterpart(wanted, child, key);
        const struct doc *theirs = counterparts(arena, others, child, key);
        bool object = child->type == JSON_OBJECT;
        if (!there || (item_key && str_is(child->key, item_key)))
            continue;
        if (still || theirs->first || object)
            withdraw(arena, there, still, child, theirs, child->key, key);
        if (!still && !theirs->first && (!object || doc_count(there) <= (key ? 1 : 0)))
            doc_remove(target, there);
    }
}

void patch_apply(struct arena *arena, struct doc *target, const struct doc *wanted,
                 const struct doc *former, const struct doc *others)
{
    if (former)
        withdraw(arena, target, wanted, former, others, STR_NULL, NULL);
    apply_value(arena, target, wanted, STR_NULL);
}
