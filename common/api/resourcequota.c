/*
 * Decoding of ResourceQuotas. See resourcequota.h.
 */
#include "api/resourcequota.h"
#include "base/ensure.h"

/* True when there is anything in the array or object that comes next. */
static bool holds_anything(struct json_reader *reader)
{
    struct str key;
    bool any = false;
    if (json_peek(reader) == JSON_ARRAY && json_array(reader)) {
        while (json_item(reader)) {
            any = true;
            json_skip(reader);
        }
        return any;
    }
    if (!json_object(reader))
        return false;
    while (json_key(reader, &key)) {
        any = true;
        json_skip(reader);
    }
    return any;
}

static void spec_read(struct json_reader *reader, struct resourcequota *quota)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "scopes") || str_is(key, "scopeSelector"))
            quota->scoped = holds_anything(reader) || quota->scoped;
        else
            json_skip(reader);
    }
}

static void status_read(struct json_reader *reader, struct resourcequota *quota)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "hard"))
            resource_list_read(reader, &quota->hard);
        else if (str_is(key, "used"))
            resource_list_read(reader, &quota->used);
        else
            json_skip(reader);
    }
}

static void top_read(struct json_reader *reader, struct resourcequota *quota)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "metadata"))
            kube_meta_read(reader, &quota->meta, kube_keep_none);
        else if (str_is(key, "spec"))
            spec_read(reader, quota);
        else if (str_is(key, "status"))
            status_read(reader, quota);
        else
            json_skip(reader);
    }
}

struct resourcequota *resourcequota_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct resourcequota *quota = xnew(struct resourcequota);
    quota->refs = 1;
    json_init(&reader, raw, &arena);
    top_read(&reader, quota);
    kube_pairs_clear(&quota->meta.labels);
    if (json_end(&reader, err) < 0) {
        error_prefix(err, "resourcequota %s", quota->meta.name ? quota->meta.name : "(unnamed)");
        resourcequota_unref(quota);
        return NULL;
    }
    if (!quota->meta.name || !quota->meta.name[0] || !quota->meta.ns || !quota->meta.ns[0]) {
        resourcequota_unref(quota);
        error_set(err, ERROR_INVALID, "a resourcequota has no metadata.name or metadata.namespace");
        return NULL;
    }
    return quota;
}

struct resourcequota *resourcequota_ref(struct resourcequota *quota)
{
    quota->refs++;
    return quota;
}

void resourcequota_unref(struct resourcequota *quota)
{
    if (!quota)
        return;
    ENSURE(quota->refs > 0);
    if (--quota->refs)
        return;
    kube_meta_clear(&quota->meta);
    resource_list_clear(&quota->hard);
    resource_list_clear(&quota->used);
    free(quota);
}

static quantity_nano amount(const resource_list *list, const char *name)
{
    const struct quantity *quantity = resource_list_get(list, str_of(name));
    return quantity ? quantity->nano : 0;
}

bool resourcequota_eases(const struct resourcequota *before, const struct resourcequota *after)
{
    if (!before || before->scoped)
        return false;
    if (!after || after->scoped)
        return true;
    for (size_t i = 0; i < before->hard.n; i++) {
        const char *name = before->hard.items[i].name;
        const struct quantity *hard = resource_list_get(&after->hard, str_of(name));
        if (!hard || quantity_cmp(*hard, before->hard.items[i].quantity) > 0 ||
            amount(&after->used, name) < amount(&before->used, name))
            return true;
    }
    return false;
}

struct str resourcequota_resource(struct str name)
{
    const struct str prefix = STR("requests.");
    return str_starts(name, prefix) ? str_from(name, prefix.n) : name;
}

static void *store_decode(struct str raw, struct error *err)
{
    return resourcequota_decode(raw, err);
}

static void store_release(void *object)
{
    resourcequota_unref(object);
}

const struct store_type resourcequota_store_type = {
    .kind = "ResourceQuota", .decode = store_decode, .free = store_release};
