/*
 * Reading the metadata of objects: identity, labels, annotations, the controlling owner.
 *
 * Every string that is kept is interned and counted once; a duplicate key replaces (and drops)
 * what the first one left, as JSON decoders of Kubernetes do. Nothing here allocates for what is
 * skipped. Loop thread only, since the table of interned strings is.
 */
#include "kube/meta.h"
#include "base/intern.h"
#include "base/timefmt.h"
#include "base/vec.h"
#include "json/interned.h"

/* Replaces an interned string. */
static void set_interned(const char **slot, struct str value)
{
    const char *old = *slot;
    *slot = intern_get(value);
    intern_put(old);
}

/* ---- pairs ---------------------------------------------------------------------------------- */

struct found_pair {
    struct kube_pair pair;
    size_t order; /* place in the text: of equal keys the last one wins */
};

static int compare_found(const void *a, const void *b)
{
    const struct found_pair *x = a, *y = b;
    int order = strcmp(x->pair.key, y->pair.key);
    if (order != 0)
        return order;
    return x->order < y->order ? -1 : 1;
}

static void put_pair(const struct kube_pair *pair)
{
    intern_put(pair->key);
    intern_put(pair->value);
}

/* Moves sorted pairs into `pairs`, dropping all but the last of equal keys. */
static void keep_last(struct kube_pairs *pairs, const struct found_pair *found, size_t n)
{
    pairs->items = n ? xcalloc(n, sizeof(*pairs->items)) : NULL;
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && found[i].pair.key == found[i + 1].pair.key)
            put_pair(&found[i].pair);
        else
            pairs->items[pairs->n++] = found[i].pair;
    }
}

void kube_pairs_read(struct json_reader *reader, struct kube_pairs *pairs, kube_keep_fn *keep)
{
    VEC(struct found_pair) found = {0};
    struct str key;
    bool sorted = true;

    kube_pairs_clear(pairs);
    bool present = json_object(reader);
    while (present && json_key(reader, &key)) {
        if (keep && !keep(key)) {
            json_skip(reader);
            continue;
        }
        struct found_pair next = {{intern_get(key), intern_get(json_str(reader))}, found.n};
        if (found.n && strcmp(found.items[found.n - 1].pair.key, next.pair.key) >= 0)
            sorted = false;
        vec_push(&found, next);
    }
    if (!sorted)
        qsort(found.items, found.n, sizeof(*found.items), compare_found);
    keep_last(pairs, found.items, found.n);
    vec_clear(&found);
}

void kube_pairs_clear(struct kube_pairs *pairs)
{
    for (uint32_t i = 0; i < pairs->n; i++)
        put_pair(&pairs->items[i]);
    free(pairs->items);
    *pairs = (struct kube_pairs){0};
}

const char *kube_pairs_get(const struct kube_pairs *pairs, const char *key)
{
    size_t low = 0, high = pairs->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(pairs->items[middle].key, key);
        if (order == 0)
            return pairs->items[middle].value;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

struct kube_pairs kube_pairs_copy(const struct kube_pairs *pairs)
{
    struct kube_pairs copy = {NULL, pairs->n};
    if (pairs->n == 0)
        return copy;
    copy.items = xcalloc(pairs->n, sizeof(*copy.items));
    for (uint32_t i = 0; i < pairs->n; i++) {
        copy.items[i].key = intern_ref(pairs->items[i].key);
        copy.items[i].value = intern_ref(pairs->items[i].value);
    }
    return copy;
}

bool kube_pairs_equal(const struct kube_pairs *a, const struct kube_pairs *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->items[i].key != b->items[i].key || a->items[i].value != b->items[i].value)
            return false;
    return true;
}

void kube_pairs_write(struct json_writer *writer, const struct kube_pairs *pairs)
{
    json_w_object(writer);
    for (uint32_t i = 0; i < pairs->n; i++)
        json_w_member_str(writer, pairs->items[i].key, str_of(pairs->items[i].value));
    json_w_end_object(writer);
}

/* ---- metadata ------------------------------------------------------------------------------- */

/* A resourceVersion as a number; empty (an object that was never stored) is 0. */
static uint64_t read_rv(struct json_reader *reader)
{
    struct str text = json_str(reader);
    uint64_t rv = 0;
    if (!str_empty(text) && !str_to_u64(text, &rv))
        json_fail(reader, "metadata.resourceVersion is not a number");
    return rv;
}

static int64_t read_time(struct json_reader *reader,
                         bool (*parse)(struct str text, int64_t *ret_wall_ns), const char *error)
{
    struct str text = json_str(reader);
    int64_t wall_ns = 0;
    if (!str_empty(text) && !parse(text, &wall_ns))
        json_fail(reader, error);
    return wall_ns;
}

static void clear_owner(struct kube_owner *owner)
{
    intern_put(owner->api_version);
    intern_put(owner->kind);
    intern_put(owner->name);
    intern_put(owner->uid);
    *owner = (struct kube_owner){0};
}

/* Reads one ownerReference; keeps it when it is the controlling one. */
static void read_owner(struct json_reader *reader, struct kube_owner *controller)
{
    struct str key, api_version = STR_NULL, kind = STR_NULL, name = STR_NULL, uid = STR_NULL;
    bool controls = false;

    bool present = json_object(reader);
    while (present && json_key(reader, &key)) {
        if (str_is(key, "apiVersion"))
            api_version = json_str(reader);
        else if (str_is(key, "kind"))
            kind = json_str(reader);
        else if (str_is(key, "name"))
            name = json_str(reader);
        else if (str_is(key, "uid"))
            uid = json_str(reader);
        else if (str_is(key, "controller"))
            controls = json_bool(reader);
        else
            json_skip(reader);
    }
    if (!controls || json_failed(reader))
        return;
    set_interned(&controller->api_version, api_version);
    set_interned(&controller->kind, kind);
    set_interned(&controller->name, name);
    set_interned(&controller->uid, uid);
}

static void read_owners(struct json_reader *reader, struct kube_owner *controller)
{
    clear_owner(controller);
    bool present = json_array(reader);
    while (present && json_item(reader))
        read_owner(reader, controller);
}

static bool read_finalizers(struct json_reader *reader)
{
    bool any = false;
    bool present = json_array(reader);
    while (present && json_item(reader)) {
        json_skip(reader);
        any = true;
    }
    return any;
}

/* What is no number of seconds is none. */
static uint32_t read_grace(struct json_reader *reader)
{
    int64_t seconds = json_peek(reader) == JSON_NUMBER ? json_i64(reader) : (json_skip(reader), 0);

    return seconds > 0 && seconds <= UINT32_MAX ? (uint32_t)seconds : 0;
}

static void read_member(struct json_reader *reader, struct str key, struct kube_meta *meta,
                        kube_keep_fn *keep)
{
    if (str_is(key, "name"))
        json_interned(reader, &meta->name);
    else if (str_is(key, "namespace"))
        json_interned(reader, &meta->ns);
    else if (str_is(key, "uid"))
        json_interned(reader, &meta->uid);
    else if (str_is(key, "resourceVersion"))
        meta->rv = read_rv(reader);
    else if (str_is(key, "generation"))
        meta->generation = json_i64(reader);
    else if (str_is(key, "creationTimestamp"))
        meta->created_ns =
            read_time(reader, time_parse, "metadata.creationTimestamp is not an RFC 3339 time");
    else if (str_is(key, "deletionTimestamp"))
        /* A grace time may be one of centuries. */
        meta->deleted_ns = read_time(reader, time_parse_nearest,
                                     "metadata.deletionTimestamp is not an RFC 3339 time");
    else if (str_is(key, "deletionGracePeriodSeconds"))
        meta->deletion_grace_s = read_grace(reader);
    else if (str_is(key, "ownerReferences"))
        read_owners(reader, &meta->controller);
    else if (str_is(key, "labels"))
        kube_pairs_read(reader, &meta->labels, NULL);
    else if (str_is(key, "annotations"))
        kube_pairs_read(reader, &meta->annotations, keep);
    else if (str_is(key, "finalizers"))
        meta->has_finalizers = read_finalizers(reader);
    else
        json_skip(reader);
}

static void fill_absent(const char **slot)
{
    if (!*slot)
        *slot = intern_get(STR_NULL);
}

bool kube_keep_none(struct str key)
{
    (void)key;
    return false;
}

void kube_meta_read(struct json_reader *reader, struct kube_meta *meta, kube_keep_fn *keep)
{
    struct str key;

    bool present = json_object(reader);
    while (present && json_key(reader, &key))
        read_member(reader, key, meta, keep);
    fill_absent(&meta->ns);
    fill_absent(&meta->name);
    fill_absent(&meta->uid);
}

void kube_meta_clear(struct kube_meta *meta)
{
    intern_put(meta->ns);
    intern_put(meta->name);
    intern_put(meta->uid);
    clear_owner(&meta->controller);
    kube_pairs_clear(&meta->labels);
    kube_pairs_clear(&meta->annotations);
    *meta = (struct kube_meta){0};
}

/* ---- identity alone ------------------------------------------------------------------------- */

static void read_identity(struct json_reader *reader, struct kube_identity *identity)
{
    struct str key;

    bool present = json_object(reader);
    while (present && json_key(reader, &key)) {
        if (str_is(key, "name"))
            identity->name = json_str(reader);
        else if (str_is(key, "namespace"))
            identity->ns = json_str(reader);
        else if (str_is(key, "uid"))
            identity->uid = json_str(reader);
        else if (str_is(key, "resourceVersion"))
            identity->rv = read_rv(reader);
        else
            json_skip(reader);
    }
}

int kube_identity_read(struct str raw, struct kube_identity *ret_identity, struct error *err)
{
    struct kube_identity identity = {0};
    struct json_reader reader;
    struct str key;

    json_init(&reader, raw, NULL);
    bool found = false;
    for (bool open = json_object(&reader); open && !found && json_key(&reader, &key);) {
        found = str_is(key, "metadata");
        if (found)
            read_identity(&reader, &identity);
        else
            json_skip(&reader);
    }
    if ((!found || json_failed(&reader)) && json_end(&reader, err) < 0)
        return -1;
    *ret_identity = identity;
    return 0;
}
