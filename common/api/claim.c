/*
 * Decoding of PersistentVolumeClaims, and of what they share with volumes. See claim.h.
 */
#include "api/claim.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "json/interned.h"

#define KEY_CLASS_OLD "volume.beta.kubernetes.io/storage-class"

/* ---- claims and volumes ---------------------------------------------------------------------- */

bool storage_keep_annotation(struct str key)
{
    return str_is(key, KEY_BIND_COMPLETED) || str_is(key, KEY_BOUND_BY_CONTROLLER) ||
           str_is(key, KEY_SELECTED_NODE) || str_is(key, KEY_CLASS_OLD);
}

static uint8_t mode_of(struct str text)
{
    static const char *const names[] = {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany",
                                        "ReadWriteOncePod"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (str_is(text, names[i]))
            return (uint8_t)(1U << i);
    return ACCESS_OTHER;
}

static void modes_read(struct json_reader *reader, struct storage_terms *terms)
{
    terms->access_modes = 0;
    if (!json_array(reader))
        return;
    while (json_item(reader))
        terms->access_modes |= mode_of(json_str(reader));
}

bool storage_terms_member(struct json_reader *reader, struct str key, struct storage_terms *terms)
{
    if (str_is(key, "accessModes"))
        modes_read(reader, terms);
    else if (str_is(key, "storageClassName"))
        json_interned(reader, &terms->class_name);
    else if (str_is(key, "volumeAttributesClassName"))
        json_interned(reader, &terms->attributes_name);
    else if (str_is(key, "volumeMode"))
        terms->block = str_is(json_str(reader), "Block");
    else
        return false;
    return true;
}

void storage_terms_size(struct json_reader *reader, struct storage_terms *terms)
{
    struct quantity quantity;
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (!str_is(key, "storage")) {
            json_skip(reader);
            continue;
        }
        struct str text = json_scalar(reader);
        if (!str_empty(text) && quantity_parse(text, &quantity, NULL) < 0)
            json_fail(reader, "the size of storage is not a quantity");
        else
            terms->size = str_empty(text) ? 0 : quantity.nano;
    }
}

void storage_terms_finish(struct storage_terms *terms, const struct kube_pairs *annotations)
{
    const char *old = kube_pairs_get(annotations, KEY_CLASS_OLD);
    if (old || !terms->class_name) {
        intern_put(terms->class_name);
        terms->class_name = intern_get(str_of(old));
    }
    if (!terms->attributes_name)
        terms->attributes_name = intern_get(STR_NULL);
}

void storage_terms_clear(struct storage_terms *terms)
{
    intern_put(terms->class_name);
    intern_put(terms->attributes_name);
    *terms = (struct storage_terms){.size = 0};
}

bool storage_terms_equal(const struct storage_terms *a, const struct storage_terms *b)
{
    return a->size == b->size && a->class_name == b->class_name &&
           a->attributes_name == b->attributes_name && a->access_modes == b->access_modes &&
           a->block == b->block;
}

/* ---- claims ---------------------------------------------------------------------------------- */

static void resources_read(struct json_reader *reader, struct claim *claim)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "requests"))
            storage_terms_size(reader, &claim->terms);
        else
            json_skip(reader);
    }
}

static void spec_read(struct json_reader *reader, struct claim *claim)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "resources"))
            resources_read(reader, claim);
        else if (str_is(key, "volumeName"))
            json_interned(reader, &claim->volume);
        else if (str_is(key, "selector"))
            label_selector_read(reader, &claim->selector);
        else if (!storage_terms_member(reader, key, &claim->terms))
            json_skip(reader);
    }
}

static void status_read(struct json_reader *reader, struct claim *claim)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "phase"))
            claim->lost = str_is(json_str(reader), "Lost");
        else
            json_skip(reader);
    }
}

static void top_read(struct json_reader *reader, struct claim *claim)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "metadata"))
            kube_meta_read(reader, &claim->meta, storage_keep_annotation);
        else if (str_is(key, "spec"))
            spec_read(reader, claim);
        else if (str_is(key, "status"))
            status_read(reader, claim);
        else
            json_skip(reader);
    }
}

/* What is said in annotations becomes fields; they and the labels are dropped. */
static void finish(struct claim *claim)
{
    struct kube_meta *meta = &claim->meta;
    const char *node = kube_pairs_get(&meta->annotations, KEY_SELECTED_NODE);
    claim->selected_node = node ? intern_ref(node) : NULL;
    claim->bind_completed = kube_pairs_get(&meta->annotations, KEY_BIND_COMPLETED) != NULL;
    storage_terms_finish(&claim->terms, &meta->annotations);
    if (!claim->volume)
        claim->volume = intern_get(STR_NULL);
    kube_pairs_clear(&meta->labels);
    kube_pairs_clear(&meta->annotations);
}

struct claim *claim_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct claim *claim = xnew(struct claim);
    claim->refs = 1;
    json_init(&reader, raw, &arena);
    top_read(&reader, claim);
    if (json_end(&reader, err) < 0) {
        error_prefix(err, "persistentvolumeclaim %s",
                     claim->meta.name ? claim->meta.name : "(unnamed)");
        claim_unref(claim);
        return NULL;
    }
    const struct kube_meta *meta = &claim->meta;
    if (!meta->name || !meta->name[0] || !meta->ns[0] || !meta->uid[0]) {
        claim_unref(claim);
        error_set(err, ERROR_INVALID,
                  "a persistentvolumeclaim has no metadata.name, namespace or uid");
        return NULL;
    }
    finish(claim);
    return claim;
}

struct claim *claim_ref(struct claim *claim)
{
    claim->refs++;
    return claim;
}

void claim_unref(struct claim *claim)
{
    if (!claim)
        return;
    ENSURE(claim->refs > 0);
    if (--claim->refs)
        return;
    kube_meta_clear(&claim->meta);
    storage_terms_clear(&claim->terms);
    label_selector_clear(&claim->selector);
    intern_put(claim->volume);
    intern_put(claim->selected_node);
    free(claim);
}

/* A claim's selector cannot be changed. */
bool claim_schedules_alike(const struct claim *a, const struct claim *b)
{
    return a->meta.uid == b->meta.uid && !a->meta.deleted_ns == !b->meta.deleted_ns &&
           a->meta.controller.uid == b->meta.controller.uid &&
           storage_terms_equal(&a->terms, &b->terms) && a->volume == b->volume &&
           a->selected_node == b->selected_node && a->bind_completed == b->bind_completed &&
           a->lost == b->lost;
}

static void *store_decode(struct str raw, struct error *err)
{
    return claim_decode(raw, err);
}

static void store_release(void *object)
{
    claim_unref(object);
}

const struct store_type claim_store_type = {
    .kind = "PersistentVolumeClaim", .decode = store_decode, .free = store_release};
