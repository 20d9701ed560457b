/*
 * Decoding of CSINodes. See csinode.h.
 */
#include "api/csinode.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "json/interned.h"

/* The count, or INT32_MAX when there is none. */
static int32_t allocatable_read(struct json_reader *reader)
{
    struct str key;
    int32_t limit = INT32_MAX;
    if (!json_object(reader))
        return limit;
    while (json_key(reader, &key)) {
        if (str_is(key, "count") && json_peek(reader) != JSON_NULL)
            limit = json_i32(reader);
        else
            json_skip(reader);
    }
    return limit;
}

static void driver_read(struct json_reader *reader, struct csinode *csinode)
{
    struct csinode_driver driver = {NULL, INT32_MAX};
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "name"))
            json_interned(reader, &driver.name);
        else if (str_is(key, "allocatable"))
            driver.limit = allocatable_read(reader);
        else
            json_skip(reader);
    }
    if (driver.limit == INT32_MAX || !driver.name) {
        intern_put(driver.name);
        return;
    }
    csinode->drivers =
        xreallocarray(csinode->drivers, csinode->driver_count + 1, sizeof(*csinode->drivers));
    csinode->drivers[csinode->driver_count++] = driver;
}

static void spec_read(struct json_reader *reader, struct csinode *csinode)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (!str_is(key, "drivers")) {
            json_skip(reader);
            continue;
        }
        bool present = json_array(reader);
        while (present && json_item(reader))
            driver_read(reader, csinode);
    }
}

static void top_read(struct json_reader *reader, struct csinode *csinode)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "metadata"))
            kube_meta_read(reader, &csinode->meta, kube_keep_none);
        else if (str_is(key, "spec"))
            spec_read(reader, csinode);
        else
            json_skip(reader);
    }
}

struct csinode *csinode_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct csinode *csinode = xnew(struct csinode);
    csinode->refs = 1;
    json_init(&reader, raw, &arena);
    top_read(&reader, csinode);
    kube_pairs_clear(&csinode->meta.labels);
    if (json_end(&reader, err) < 0) {
        error_prefix(err, "csinode %s", csinode->meta.name ? csinode->meta.name : "(unnamed)");
        csinode_unref(csinode);
        return NULL;
    }
    if (!csinode->meta.name || !csinode->meta.name[0]) {
        csinode_unref(csinode);
        error_set(err, ERROR_INVALID, "a csinode has no metadata.name");
        return NULL;
    }
    return csinode;
}

struct csinode *csinode_ref(struct csinode *csinode)
{
    csinode->refs++;
    return csinode;
}

void csinode_unref(struct csinode *csinode)
{
    if (!csinode)
        return;
    ENSURE(csinode->refs > 0);
    if (--csinode->refs)
        return;
    kube_meta_clear(&csinode->meta);
    for (uint32_t i = 0; i < csinode->driver_count; i++)
        intern_put(csinode->drivers[i].name);
    free(csinode->drivers);
    free(csinode);
}

bool csinode_schedules_alike(const struct csinode *a, const struct csinode *b)
{
    if (a->driver_count != b->driver_count)
        return false;
    for (uint32_t i = 0; i < a->driver_count; i++)
        if (a->drivers[i].name != b->drivers[i].name || a->drivers[i].limit != b->drivers[i].limit)
            return false;
    return true;
}

int32_t csinode_limit(const struct csinode *csinode, const char *driver)
{
    for (uint32_t i = 0; i < csinode->driver_count; i++)
        if (csinode->drivers[i].name == driver)
            return csinode->drivers[i].limit;
    return INT32_MAX;
}

static void *store_decode(struct str raw, struct error *err)
{
    return csinode_decode(raw, err);
}

static void store_release(void *object)
{
    csinode_unref(object);
}

const struct store_type csinode_store_type = {
    .kind = "CSINode", .decode = store_decode, .free = store_release};
