/*
 * Decoding of StorageClasses. See storageclass.h.
 */
#include "api/storageclass.h"
#include "api/intree.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "json/interned.h"

static void term_read(struct json_reader *reader, struct selector_term *term)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "matchLabelExpressions"))
            selector_requirements_read(reader, term, false);
        else
            json_skip(reader);
    }
    for (uint32_t i = 0; i < term->n; i++) /* they have no operators */
        term->items[i].op = SELECTOR_IN;
}

/* No terms at all allow every node; one without requirements allows none. */
static void topologies_read(struct json_reader *reader, struct node_selector *topologies)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        topologies->present = true;
        topologies->terms =
            xreallocarray(topologies->terms, topologies->n + 1, sizeof(*topologies->terms));
        struct selector_term *term = &topologies->terms[topologies->n++];
        *term = (struct selector_term){NULL, 0};
        term_read(reader, term);
    }
}

static void provisioner_read(struct json_reader *reader, struct storageclass *storageclass)
{
    struct str provisioner = json_str(reader);
    intern_put(storageclass->driver);
    storageclass->driver = intern_get(intree_driver(provisioner));
    storageclass->provisions =
        !str_empty(provisioner) && !str_is(provisioner, "kubernetes.io/no-provisioner");
}

static void top_read(struct json_reader *reader, struct storageclass *storageclass)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "metadata"))
            kube_meta_read(reader, &storageclass->meta, kube_keep_none);
        else if (str_is(key, "provisioner"))
            provisioner_read(reader, storageclass);
        else if (str_is(key, "volumeBindingMode"))
            storageclass->waits = str_is(json_str(reader), "WaitForFirstConsumer");
        else if (str_is(key, "allowedTopologies"))
            topologies_read(reader, &storageclass->topologies);
        else
            json_skip(reader);
    }
}

struct storageclass *storageclass_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct storageclass *storageclass = xnew(struct storageclass);
    storageclass->refs = 1;
    storageclass->driver = intern_get(STR_NULL);
    json_init(&reader, raw, &arena);
    top_read(&reader, storageclass);
    kube_pairs_clear(&storageclass->meta.labels);
    if (json_end(&reader, err) < 0) {
        error_prefix(err, "storageclass %s",
                     storageclass->meta.name ? storageclass->meta.name : "(unnamed)");
        storageclass_unref(storageclass);
        return NULL;
    }
    if (!storageclass->meta.name || !storageclass->meta.name[0]) {
        storageclass_unref(storageclass);
        error_set(err, ERROR_INVALID, "a storageclass has no metadata.name");
        return NULL;
    }
    return storageclass;
}

struct storageclass *storageclass_ref(struct storageclass *storageclass)
{
    storageclass->refs++;
    return storageclass;
}

void storageclass_unref(struct storageclass *storageclass)
{
    if (!storageclass)
        return;
    ENSURE(storageclass->refs > 0);
    if (--storageclass->refs)
        return;
    kube_meta_clear(&storageclass->meta);
    intern_put(storageclass->driver);
    node_selector_clear(&storageclass->topologies);
    free(storageclass);
}

bool storageclass_serves(const struct storageclass *storageclass, const char *node_name,
                         const struct kube_pairs *labels)
{
    return node_selector_matches(&storageclass->topologies, node_name, labels);
}

static void *store_decode(struct str raw, struct error *err)
{
    return storageclass_decode(raw, err);
}

static void store_release(void *object)
{
    storageclass_unref(object);
}

const struct store_type storageclass_store_type = {
    .kind = "StorageClass", .decode = store_decode, .free = store_release};
