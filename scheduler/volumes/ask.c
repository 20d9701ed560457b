/*
 * Answers about pods' volumes. See volumes.h and ask.h.
 *
 * Texts of reasons are kube-scheduler's.
 */
#include "scheduler/volumes/ask.h"
#include "base/ensure.h"
#include "base/intern.h"

#define REASON_AFFINITY "node(s) didn't match PersistentVolume's node affinity"
#define REASON_NO_MATCH "node(s) didn't find available persistent volumes to bind"
#define REASON_NO_VOLUME "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
#define REASON_ZONE "node(s) had no available volume zone"
#define REASON_IN_USE                                                                              \
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "  \
    "in-use by another pod"

/* ---- versions -------------------------------------------------------------------------------- */

static void take_later(uint64_t *version, uint64_t other)
{
    if (other > *version)
        *version = other;
}

static void claim_version(const struct volumes *volumes, const char *key, uint64_t *version)
{
    const struct claim_record *claim = claim_find(volumes, key);
    if (!claim || !claim->object) {
        take_later(version, claim ? claim->version : volumes->gone_version);
        return;
    }
    const struct class_record *cls = class_find(volumes, claim->object->terms.class_name);
    take_later(version, claim->version);
    if (claim->names)
        take_later(version, claim->names->version);
    if (claim->choice && claim->choice->volume)
        take_later(version, claim->choice->volume->version);
    bool has_volume = claim_is_bound(claim->object) && claim->names && claim->names->object;
    if (!has_volume)
        take_later(version, cls ? cls->version : volumes->gone_version);
}

uint64_t volumes_version(const struct volumes *volumes, const struct pod_volumes *wanted)
{
    if (!wanted)
        return 0;
    uint64_t version = volumes->base_version;
    for (uint32_t i = 0; i < wanted->claim_count; i++)
        claim_version(volumes, wanted->claims[i].key, &version);
    return version;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* The one copy of a text, for as long as the ask is there. */
static const char *keep_text(struct ask *ask, char *text)
{
    const char *kept = intern_get(str_of(text));
    free(text);
    for (size_t i = 0; i < ask->texts.n; i++)
        if (ask->texts.items[i] == kept) {
            intern_put(kept);
            return kept;
        }
    vec_push(&ask->texts, kept);
    return kept;
}

/* ---- what no node can help ------------------------------------------------------------------- */

static const struct claim *object_of(const struct ask *ask, const struct pod_claim *claim)
{
    const struct claim_record *record = claim_find(ask->volumes, claim->key);
    return record ? record->object : NULL;
}

static const char *refuse_absent(struct ask *ask)
{
    for (uint32_t i = 0; i < ask->wanted->claim_count; i++) {
        const struct pod_claim *claim = &ask->wanted->claims[i];
        if (!claim->ephemeral && !object_of(ask, claim))
            return keep_text(ask, xasprintf("persistentvolumeclaim \"%s\" not found", claim->name));
    }
    return NULL;
}

static bool is_of_pod(const struct claim *object, const struct pod_volumes *wanted)
{
    const char *owner = object->meta.controller.uid;
    return owner && strcmp(owner, wanted->pod_uid) == 0;
}

static const char *refuse_unsound(struct ask *ask, const struct pod_claim *claim)
{
    const struct claim *object = object_of(ask, claim);
    const struct pod_volumes *wanted = ask->wanted;
    if (!object)
        return keep_text(ask, xasprintf("waiting for ephemeral volume controller to create the "
                                        "persistentvolumeclaim \"%s\"",
                                        claim->name));
    if (object->lost)
        return keep_text(ask, xasprintf("persistentvolumeclaim \"%s\" bound to non-existent "
                                        "persistentvolume \"%s\"",
                                        claim->name, object->volume));
    if (object->meta.deleted_ns)
        return keep_text(ask,
                         xasprintf("persistentvolumeclaim \"%s\" is being deleted", claim->name));
    if (claim->ephemeral && !is_of_pod(object, wanted))
        return keep_text(ask, xasprintf("PVC %s was not created for pod %s/%s (pod is not owner)",
                                        claim->key, wanted->ns, wanted->pod_name));
    return NULL;
}

/* Whether the scheduler is to find the claim's volume. */
static bool claim_waits(const struct volumes *volumes, const struct claim *object)
{
    const char *name = object->terms.class_name;
    const struct class_record *cls = name[0] ? class_find(volumes, name) : NULL;
    return !object->volume[0] && cls && cls->object && cls->object->waits;
}

static const char *refuse_binding(struct ask *ask)
{
    const struct pod_volumes *wanted = ask->wanted;
    bool unbound = false;
    for (uint32_t i = 0; i < wanted->claim_count; i++) {
        const char *reason = refuse_unsound(ask, &wanted->claims[i]);
        if (reason)
            return reason;
        const struct claim *object = object_of(ask, &wanted->claims[i]);
        unbound = unbound || (!claim_is_bound(object) && !claim_waits(ask->volumes, object));
    }
    return unbound ? "pod has unbound immediate PersistentVolumeClaims" : NULL;
}

static const char *refuse_unplaced(struct ask *ask, const struct claim *object)
{
    const char *name = object->terms.class_name;
    const struct class_record *cls = class_find(ask->volumes, name);
    if (!name[0])
        return "PersistentVolumeClaim had no pv name and storageClass name";
    if (!cls || !cls->object)
        return keep_text(ask, xasprintf("storageclass.storage.k8s.io \"%s\" not found", name));
    return cls->object->waits ? NULL : "PersistentVolume had no name";
}

static const char *refuse_zone(struct ask *ask)
{
    for (uint32_t i = 0; i < ask->wanted->claim_count; i++) {
        const struct pod_claim *claim = &ask->wanted->claims[i];
        const struct claim *object = claim->ephemeral ? NULL : object_of(ask, claim);
        if (!object)
            continue;
        const struct volume_record *volume = volume_find(ask->volumes, object->volume);
        const char *reason = NULL;
        if (!object->volume[0])
            reason = refuse_unplaced(ask, object);
        else if (!volume || !volume->object)
            reason = keep_text(ask, xasprintf("persistentvolume \"%s\" not found", object->volume));
        if (reason)
            return reason;
    }
    return NULL;
}

static const char *refuse_in_use(const struct ask *ask)
{
    for (uint32_t i = 0; i < ask->wanted->claim_count; i++) {
        const struct claim_record *claim = claim_find(ask->volumes, ask->wanted->claims[i].key);
        if (claim && claim->object && claim->users && !ask->wanted->claims[i].ephemeral &&
            (claim->object->terms.access_modes & ACCESS_READ_WRITE_ONCE_POD))
            return REASON_IN_USE;
    }
    return NULL;
}

static const char *refuse_all(struct ask *ask)
{
    unsigned checks = ask->volumes->checks;
    const char *reason = checks & VOLUMES_RESTRICTIONS ? refuse_absent(ask) : NULL;
    if (!reason && (checks & VOLUMES_BINDING))
        reason = refuse_binding(ask);
    if (!reason && (checks & VOLUMES_ZONE))
        reason = refuse_zone(ask);
    if (!reason && (checks & VOLUMES_RESTRICTIONS))
        reason = refuse_in_use(ask);
    return reason;
}

/* ---- making ---------------------------------------------------------------------------------- */

static void add_counted(struct ask *ask, const char *driver, const char *handle)
{
    for (size_t i = 0; i < ask->counted.n; i++)
        if (ask->counted.items[i].handle == handle && ask->counted.items[i].driver == driver) {
            intern_put(driver);
            intern_put(handle);
            return;
        }
    struct attached counted = {driver, handle, 1};
    vec_push(&ask->counted, counted);
}

static void count_all(struct ask *ask)
{
    for (uint32_t i = 0; i < ask->wanted->claim_count; i++) {
        const struct claim_record *claim = claim_find(ask->volumes, ask->wanted->claims[i].key);
        const char *driver = NULL, *handle = NULL;
        if (claim)
            claim_counts_as(ask->volumes, claim, &driver, &handle);
        if (driver)
            add_counted(ask, driver, handle);
    }
    for (uint32_t i = 0; i < ask->wanted->disk_count; i++) {
        const struct pod_disk *disk = &ask->wanted->disks[i];
        if (disk->driver)
            add_counted(ask, intern_ref(disk->driver), intern_ref(disk->id));
    }
}

static void add_waiting(struct ask *ask, struct claim_record *claim)
{
    struct waiting_claim waiting = {
        .claim = claim, .cls = class_find(ask->volumes, claim->object->terms.class_name)};
    size_t at = ask->waiting.n;
    vec_push(&ask->waiting, waiting);
    while (at > 0 &&
           ask->waiting.items[at - 1].claim->object->terms.size > claim->object->terms.size) {
        ask->waiting.items[at] = ask->waiting.items[at - 1];
        at--;
    }
    ask->waiting.items[at] = waiting;
}

/* The labels of volumes of ephemeral claims do not count: those come last in `bound`. */
static void sort_claims(struct ask *ask, bool ephemeral)
{
    for (uint32_t i = 0; i < ask->wanted->claim_count; i++) {
        const struct pod_claim *wanted = &ask->wanted->claims[i];
        struct claim_record *claim = claim_find(ask->volumes, wanted->key);
        if (wanted->ephemeral != ephemeral || !claim || !claim->object)
            continue;
        if (claim->names)
            vec_push(&ask->bound, claim->names);
        else if ((ask->volumes->checks & VOLUMES_BINDING) &&
                 claim_waits(ask->volumes, claim->object))
            add_waiting(ask, claim);
    }
}

static void ask_fill(struct ask *ask)
{
    ask->refusal = refuse_all(ask);
    count_all(ask);
    if (ask->refusal)
        return;
    sort_claims(ask, false);
    ask->zoned = ask->bound.n;
    sort_claims(ask, true);
    for (size_t i = 0; i < ask->waiting.n; i++)
        match_prepare(ask->volumes, &ask->waiting.items[i]);
}

static void ask_empty(struct ask *ask)
{
    for (size_t i = 0; i < ask->waiting.n; i++)
        match_clear(&ask->waiting.items[i]);
    for (size_t i = 0; i < ask->counted.n; i++) {
        intern_put(ask->counted.items[i].driver);
        intern_put(ask->counted.items[i].handle);
    }
    vec_clear(&ask->waiting);
    vec_clear(&ask->counted);
    vec_clear(&ask->bound);
}

static void ask_free(struct ask *ask)
{
    ask_empty(ask);
    for (size_t i = 0; i < ask->texts.n; i++)
        intern_put(ask->texts.items[i]);
    vec_clear(&ask->texts);
    list_remove(&ask->link);
    ask->wanted->scratch = NULL;
    pod_volumes_unref(ask->wanted);
    free(ask);
}

/* Two of the oldest a time: so there are never many more than are of use. */
void asks_sweep(struct volumes *volumes, bool every)
{
    unsigned looks = 2;
    list_each(link, &volumes->asks)
    {
        struct ask *ask = container_of(link, struct ask, link);
        if (!every && looks-- == 0)
            return;
        if (every || ask->wanted->refs == 1) {
            ask_free(ask);
        } else {
            list_remove(link);
            list_append(&volumes->asks, link);
        }
    }
}

struct ask *ask_get(struct volumes *volumes, struct pod_volumes *wanted)
{
    struct ask *ask = wanted->scratch;
    ENSURE(!ask || ask->volumes == volumes);
    if (ask && ask->seen == volumes->version)
        return ask;
    uint64_t version = volumes_version(volumes, wanted);
    if (!ask) {
        asks_sweep(volumes, false);
        ask = xnew(struct ask);
        ask->volumes = volumes;
        ask->wanted = pod_volumes_ref(wanted);
        list_append(&volumes->asks, &ask->link);
        wanted->scratch = ask;
    }
    if (ask->version != version) {
        ask_empty(ask);
        ask_fill(ask);
        ask->version = version;
    }
    ask->seen = volumes->version;
    return ask;
}

/* ---- answers --------------------------------------------------------------------------------- */

const char *volumes_refuse_pod(struct volumes *volumes, struct pod_volumes *wanted)
{
    return wanted ? ask_get(volumes, wanted)->refusal : NULL;
}

static const char *filter_bound(const struct ask *ask, const struct node *node)
{
    for (size_t i = 0; i < ask->bound.n; i++) {
        const struct volume *volume = ask->bound.items[i]->object;
        if (!volume)
            return REASON_NO_VOLUME;
        if (!volume_reaches(volume, node->meta.name, &node->meta.labels))
            return REASON_AFFINITY;
    }
    return NULL;
}

static bool zone_fits(const struct ask *ask, const struct node *node)
{
    for (size_t i = 0; i < ask->zoned; i++) {
        const struct volume *volume = ask->bound.items[i]->object;
        if (volume && !volume_zone_fits(volume, &node->meta.labels))
            return false;
    }
    return true;
}

const char *volumes_filter(struct volumes *volumes, struct pod_volumes *wanted,
                           const struct node *node)
{
    const char *reason = NULL;
    if (!wanted)
        return NULL;
    struct ask *ask = ask_get(volumes, wanted);
    if (ask->refusal)
        return ask->refusal;
    if (volumes->checks & VOLUMES_BINDING)
        reason = filter_bound(ask, node);
    if (!reason && !match_node(ask, node))
        reason = REASON_NO_MATCH;
    if (!reason && (volumes->checks & VOLUMES_ZONE) && !zone_fits(ask, node))
        reason = REASON_ZONE;
    return reason;
}

const char *volumes_refuse(struct volumes *volumes, struct pod_volumes *wanted,
                           const struct node *node)
{
    const char *reason = volumes_refuse_pod(volumes, wanted);
    if (!reason)
        reason = volumes_crowded(volumes, wanted, node->meta.name);
    return reason ? reason : volumes_filter(volumes, wanted, node);
}
