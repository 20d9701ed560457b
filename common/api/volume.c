/*
 * Decoding of PersistentVolumes, and where they can be reached. See volume.h.
 */
#include "api/volume.h"
#include "api/intree.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "json/interned.h"

/* ---- zones ----------------------------------------------------------------------------------- */

#define ZONE "topology.kubernetes.io/zone"
#define REGION "topology.kubernetes.io/region"

static const struct {
    const char *key, *ga_key;
} place_keys[] = {
    {"failure-domain.beta.kubernetes.io/zone", ZONE},
    {"failure-domain.beta.kubernetes.io/region", REGION},
    {ZONE, ZONE},
    {REGION, REGION},
};

/* Takes the next of the values that "__" parts off `*rest`. */
static struct str next_value(struct str *rest)
{
    ptrdiff_t at = str_find(*rest, STR("__"));
    struct str value = at < 0 ? *rest : str_sub(*rest, 0, (size_t)at);
    *rest = at < 0 ? STR_NULL : str_from(*rest, (size_t)at + 2);
    return str_trim(value);
}

static void place_clear(struct volume_place *place)
{
    intern_put(place->key);
    for (uint32_t i = 0; i < place->value_count; i++)
        intern_put(place->values[i]);
    free(place->values);
}

/* False when the label names an empty value: then it says nothing. */
static bool place_read(struct volume_place *place, const char *label)
{
    struct str rest = str_of(label);
    bool more = true;
    while (more) {
        more = str_find(rest, STR("__")) >= 0;
        struct str value = next_value(&rest);
        if (str_empty(value))
            return false;
        place->values =
            xreallocarray(place->values, place->value_count + 1, sizeof(*place->values));
        place->values[place->value_count++] = intern_get(value);
    }
    return true;
}

static void places_read(struct volume *volume)
{
    for (size_t i = 0; i < ARRAY_SIZE(place_keys); i++) {
        const char *label = kube_pairs_get(&volume->meta.labels, place_keys[i].key);
        if (!label)
            continue;
        struct volume_place place = {.key = intern_get(str_of(place_keys[i].key)),
                                     .ga_key = place_keys[i].ga_key};
        if (!place_read(&place, label)) {
            place_clear(&place);
            continue;
        }
        volume->places =
            xreallocarray(volume->places, volume->place_count + 1, sizeof(*volume->places));
        volume->places[volume->place_count++] = place;
    }
}

static bool place_holds(const struct volume_place *place, const struct kube_pairs *labels)
{
    const char *value = kube_pairs_get(labels, place->key);
    if (!value)
        value = kube_pairs_get(labels, place->ga_key);
    for (uint32_t i = 0; value && i < place->value_count; i++)
        if (strcmp(place->values[i], value) == 0)
            return true;
    return false;
}

bool volume_zone_fits(const struct volume *volume, const struct kube_pairs *labels)
{
    bool placed = false;
    if (!volume->place_count)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(place_keys) && !placed; i++)
        placed = kube_pairs_get(labels, place_keys[i].key) != NULL;
    for (uint32_t i = 0; placed && i < volume->place_count; i++)
        if (!place_holds(&volume->places[i], labels))
            return false;
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void set_empty(const char **slot)
{
    intern_put(*slot);
    *slot = intern_get(STR_NULL);
}

static void claim_read(struct json_reader *reader, struct volume *volume)
{
    struct str key;
    if (!json_object(reader))
        return;
    set_empty(&volume->claim_ns);
    set_empty(&volume->claim_name);
    set_empty(&volume->claim_uid);
    while (json_key(reader, &key)) {
        if (str_is(key, "namespace"))
            json_interned(reader, &volume->claim_ns);
        else if (str_is(key, "name"))
            json_interned(reader, &volume->claim_name);
        else if (str_is(key, "uid"))
            json_interned(reader, &volume->claim_uid);
        else
            json_skip(reader);
    }
}

static void affinity_read(struct json_reader *reader, struct volume *volume)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "required"))
            node_selector_read(reader, &volume->affinity);
        else
            json_skip(reader);
    }
}

static void csi_read(struct json_reader *reader, struct volume *volume)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "driver"))
            json_interned(reader, &volume->driver);
        else if (str_is(key, "volumeHandle"))
            json_interned(reader, &volume->handle);
        else
            json_skip(reader);
    }
}

static void disk_read(struct json_reader *reader, const struct intree_disk *disk,
                      struct volume *volume)
{
    struct str key;
    if (!json_object(reader))
        return;
    intern_put(volume->driver);
    volume->driver = intern_get(str_of(disk->driver));
    while (json_key(reader, &key)) {
        if (!str_is(key, disk->id)) {
            json_skip(reader);
            continue;
        }
        intern_put(volume->handle);
        volume->handle = intern_get(intree_handle(disk, json_str(reader)));
    }
}

static void spec_read(struct json_reader *reader, struct volume *volume)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        const struct intree_disk *disk = intree_disk_find(key);
        if (disk)
            disk_read(reader, disk, volume);
        else if (str_is(key, "csi"))
            csi_read(reader, volume);
        else if (str_is(key, "capacity"))
            storage_terms_size(reader, &volume->terms);
        else if (str_is(key, "claimRef"))
            claim_read(reader, volume);
        else if (str_is(key, "nodeAffinity"))
            affinity_read(reader, volume);
        else if (!storage_terms_member(reader, key, &volume->terms))
            json_skip(reader);
    }
}

static void status_read(struct json_reader *reader, struct volume *volume)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (!str_is(key, "phase")) {
            json_skip(reader);
            continue;
        }
        struct str phase = json_str(reader);
        volume->available = str_is(phase, "Available");
        volume->pending = str_empty(phase) || str_is(phase, "Pending");
    }
}

static void top_read(struct json_reader *reader, struct volume *volume)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "metadata"))
            kube_meta_read(reader, &volume->meta, storage_keep_annotation);
        else if (str_is(key, "spec"))
            spec_read(reader, volume);
        else if (str_is(key, "status"))
            status_read(reader, volume);
        else
            json_skip(reader);
    }
}

static void finish(struct volume *volume)
{
    struct kube_pairs *annotations = &volume->meta.annotations;
    storage_terms_finish(&volume->terms, annotations);
    volume->bound_by_controller = kube_pairs_get(annotations, KEY_BOUND_BY_CONTROLLER) != NULL;
    kube_pairs_clear(annotations);
    places_read(volume);
}

struct volume *volume_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct volume *volume = xnew(struct volume);
    volume->refs = 1;
    volume->pending = true;
    json_init(&reader, raw, &arena);
    top_read(&reader, volume);
    if (json_end(&reader, err) < 0) {
        error_prefix(err, "persistentvolume %s",
                     volume->meta.name ? volume->meta.name : "(unnamed)");
        volume_unref(volume);
        return NULL;
    }
    if (!volume->meta.name || !volume->meta.name[0] || !volume->meta.uid[0]) {
        volume_unref(volume);
        error_set(err, ERROR_INVALID, "a persistentvolume has no metadata.name or metadata.uid");
        return NULL;
    }
    finish(volume);
    return volume;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct volume *volume_ref(struct volume *volume)
{
    volume->refs++;
    return volume;
}

void volume_unref(struct volume *volume)
{
    if (!volume)
        return;
    ENSURE(volume->refs > 0);
    if (--volume->refs)
        return;
    kube_meta_clear(&volume->meta);
    storage_terms_clear(&volume->terms);
    node_selector_clear(&volume->affinity);
    for (uint32_t i = 0; i < volume->place_count; i++)
        place_clear(&volume->places[i]);
    free(volume->places);
    intern_put(volume->claim_ns);
    intern_put(volume->claim_name);
    intern_put(volume->claim_uid);
    intern_put(volume->driver);
    intern_put(volume->handle);
    free(volume);
}

static bool requirement_equal(const struct selector_requirement *a,
                              const struct selector_requirement *b)
{
    if (a->key != b->key || a->op != b->op || a->field != b->field ||
        a->value_count != b->value_count)
        return false;
    for (uint32_t i = 0; i < a->value_count; i++)
        if (a->values[i] != b->values[i])
            return false;
    return true;
}

static bool affinity_equal(const struct node_selector *a, const struct node_selector *b)
{
    if (a->present != b->present || a->n != b->n)
        return false;
    for (uint32_t t = 0; t < a->n; t++) {
        if (a->terms[t].n != b->terms[t].n)
            return false;
        for (uint32_t i = 0; i < a->terms[t].n; i++)
            if (!requirement_equal(&a->terms[t].items[i], &b->terms[t].items[i]))
                return false;
    }
    return true;
}

/* Its node affinity may be set, and from some version of Kubernetes on changed. */
bool volume_schedules_alike(const struct volume *a, const struct volume *b)
{
    return a->meta.uid == b->meta.uid && !a->meta.deleted_ns == !b->meta.deleted_ns &&
           kube_pairs_equal(&a->meta.labels, &b->meta.labels) &&
           storage_terms_equal(&a->terms, &b->terms) &&
           affinity_equal(&a->affinity, &b->affinity) && a->claim_ns == b->claim_ns &&
           a->claim_name == b->claim_name && a->claim_uid == b->claim_uid &&
           a->driver == b->driver && a->handle == b->handle && a->available == b->available &&
           a->pending == b->pending && a->bound_by_controller == b->bound_by_controller;
}

bool volume_is_for(const struct volume *volume, const struct claim *claim)
{
    return volume->claim_name == claim->meta.name && volume->claim_ns == claim->meta.ns &&
           (!volume->claim_uid[0] || volume->claim_uid == claim->meta.uid);
}

bool volume_reaches(const struct volume *volume, const char *node_name,
                    const struct kube_pairs *labels)
{
    return node_selector_matches(&volume->affinity, node_name, labels);
}

bool volume_reached_alike(const struct volume *a, const struct volume *b)
{
    return affinity_equal(&a->affinity, &b->affinity);
}

static void *store_decode(struct str raw, struct error *err)
{
    return volume_decode(raw, err);
}

static void store_release(void *object)
{
    volume_unref(object);
}

const struct store_type volume_store_type = {
    .kind = "PersistentVolume", .decode = store_decode, .free = store_release};
