/*
 * What pods' volumes ask for. See pod_volumes.h.
 *
 * A record is found by its content as text; no part of that can hold a line break but ids of disks,
 * which are quoted as JSON.
 */
#include "api/pod_volumes.h"
#include "api/intree.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "base/map.h"
#include "json/interned.h"
#include "json/writer.h"

static struct map records; /* struct pod_volumes by key, counted by their users */

/* ---- reading --------------------------------------------------------------------------------- */

/* One volume of the pod while it is read: one of these. */
struct found {
    struct str name;
    struct str claim;
    bool has_claim, ephemeral, has_disk;
    struct pod_disk disk;
};

static void claim_read(struct json_reader *reader, struct found *found)
{
    struct str key;
    if (!json_object(reader))
        return;
    found->has_claim = true;
    while (json_key(reader, &key)) {
        if (str_is(key, "claimName"))
            found->claim = json_str(reader);
        else
            json_skip(reader);
    }
}

static void monitors_read(struct json_reader *reader, struct pod_disk *disk)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        disk->monitors =
            xreallocarray(disk->monitors, disk->monitor_count + 1, sizeof(*disk->monitors));
        disk->monitors[disk->monitor_count++] = intern_get(json_str(reader));
    }
}

/* `id`: the member that names the disk. */
static void disk_read(struct json_reader *reader, const char *id, struct found *found)
{
    struct pod_disk *disk = &found->disk;
    struct str key;
    if (!json_object(reader))
        return;
    found->has_disk = true;
    while (json_key(reader, &key)) {
        if (str_is(key, id))
            json_interned(reader, &disk->id);
        else if (str_is(key, "readOnly"))
            disk->read_only = json_bool(reader);
        else if (disk->kind == POD_DISK_RBD && str_is(key, "pool"))
            json_interned(reader, &disk->pool);
        else if (disk->kind == POD_DISK_RBD && str_is(key, "monitors"))
            monitors_read(reader, disk);
        else
            json_skip(reader);
    }
}

static enum pod_disk_kind kind_of(struct str member)
{
    if (str_is(member, "gcePersistentDisk"))
        return POD_DISK_GCE;
    return str_is(member, "awsElasticBlockStore") ? POD_DISK_AWS : POD_DISK_OTHER;
}

static void intree_read(struct json_reader *reader, struct str member,
                        const struct intree_disk *intree, struct found *found)
{
    struct pod_disk *disk = &found->disk;
    disk->kind = kind_of(member);
    disk_read(reader, intree->id, found);
    if (!found->has_disk)
        return;
    intern_put(disk->driver);
    disk->driver = intern_get(str_of(intree->driver));
}

static void shared_disk_read(struct json_reader *reader, enum pod_disk_kind kind, const char *id,
                             struct found *found)
{
    found->disk.kind = kind;
    disk_read(reader, id, found);
}

static void source_read(struct json_reader *reader, struct str key, struct found *found)
{
    const struct intree_disk *intree = intree_disk_find(key);
    if (str_is(key, "name"))
        found->name = json_str(reader);
    else if (str_is(key, "persistentVolumeClaim"))
        claim_read(reader, found);
    else if (str_is(key, "ephemeral")) {
        found->has_claim = found->ephemeral = json_peek(reader) == JSON_OBJECT;
        json_skip(reader);
    } else if (str_is(key, "iscsi"))
        shared_disk_read(reader, POD_DISK_ISCSI, "iqn", found);
    else if (str_is(key, "rbd"))
        shared_disk_read(reader, POD_DISK_RBD, "image", found);
    else if (intree)
        intree_read(reader, key, intree, found);
    else
        json_skip(reader);
}

static bool has_claim(const struct pod_volumes *volumes, const char *key)
{
    for (uint32_t i = 0; i < volumes->claim_count; i++)
        if (volumes->claims[i].key == key)
            return true;
    return false;
}

static void add_claim(struct pod_volumes *volumes, const struct found *found)
{
    char *text = found->ephemeral
                     ? xasprintf("%s/%s-%.*s", volumes->ns, volumes->pod_name, STR_ARG(found->name))
                     : xasprintf("%s/%.*s", volumes->ns, STR_ARG(found->claim));
    const char *key = intern_get(str_of(text));
    free(text);
    if (has_claim(volumes, key)) {
        intern_put(key);
        return;
    }
    volumes->claims =
        xreallocarray(volumes->claims, volumes->claim_count + 1, sizeof(*volumes->claims));
    volumes->claims[volumes->claim_count++] = (struct pod_claim){
        .key = key, .name = key + strlen(volumes->ns) + 1, .ephemeral = found->ephemeral};
}

static void disk_clear(struct pod_disk *disk)
{
    intern_put(disk->id);
    intern_put(disk->driver);
    intern_put(disk->pool);
    for (uint32_t i = 0; i < disk->monitor_count; i++)
        intern_put(disk->monitors[i]);
    free(disk->monitors);
}

static void add_disk(struct pod_volumes *volumes, const struct pod_disk *disk)
{
    volumes->disks =
        xreallocarray(volumes->disks, volumes->disk_count + 1, sizeof(*volumes->disks));
    struct pod_disk *added = &volumes->disks[volumes->disk_count++];
    *added = *disk;
    if (!added->id)
        added->id = intern_get(STR_NULL);
    if (!added->pool)
        added->pool = intern_get(STR_NULL);
}

/* The pod whose volumes are read. */
struct owner {
    struct str ns, name, uid;
};

/* Only pods with a volume that matters cost more than the reading. */
static void take_owner(struct pod_volumes *volumes, const struct owner *owner)
{
    if (volumes->ns)
        return;
    volumes->ns = intern_get(owner->ns);
    volumes->pod_name = intern_get(owner->name);
    volumes->pod_uid = intern_get(owner->uid);
}

static void entry_read(struct json_reader *reader, struct pod_volumes *volumes,
                       const struct owner *owner)
{
    struct found found = {.name = STR_NULL};
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key))
        source_read(reader, key, &found);
    if (found.has_claim || found.has_disk)
        take_owner(volumes, owner);
    if (found.has_claim)
        add_claim(volumes, &found);
    if (found.has_disk)
        add_disk(volumes, &found.disk);
    else
        disk_clear(&found.disk);
}

/* ---- records --------------------------------------------------------------------------------- */

static void clear(struct pod_volumes *volumes)
{
    for (uint32_t i = 0; i < volumes->claim_count; i++)
        intern_put(volumes->claims[i].key);
    for (uint32_t i = 0; i < volumes->disk_count; i++)
        disk_clear(&volumes->disks[i]);
    free(volumes->claims);
    free(volumes->disks);
    intern_put(volumes->ns);
    intern_put(volumes->pod_name);
    intern_put(volumes->pod_uid);
    free(volumes->key);
}

/* The pod itself matters only to claims that are its own. */
static void forget_pod(struct pod_volumes *volumes)
{
    for (uint32_t i = 0; i < volumes->claim_count; i++)
        if (volumes->claims[i].ephemeral)
            return;
    intern_put(volumes->pod_name);
    intern_put(volumes->pod_uid);
    volumes->pod_name = volumes->pod_uid = NULL;
}

static void disk_write(struct buf *key, const struct pod_disk *disk)
{
    buf_printf(key, "disk %d %d ", (int)disk->kind, disk->read_only);
    json_quote(key, str_of(disk->driver));
    json_quote(key, str_of(disk->id));
    json_quote(key, str_of(disk->pool));
    for (uint32_t i = 0; i < disk->monitor_count; i++)
        json_quote(key, str_of(disk->monitors[i]));
    buf_add_char(key, '\n');
}

static void key_write(struct buf *key, const struct pod_volumes *volumes)
{
    buf_printf(key, "%s %s\n", volumes->ns, volumes->pod_uid ? volumes->pod_uid : "");
    for (uint32_t i = 0; i < volumes->claim_count; i++)
        buf_printf(key, "%s %s\n", volumes->claims[i].ephemeral ? "own" : "claim",
                   volumes->claims[i].name);
    for (uint32_t i = 0; i < volumes->disk_count; i++)
        disk_write(key, &volumes->disks[i]);
}

/* The record with the content of `draft`, which is taken over. */
static struct pod_volumes *shared(struct pod_volumes *draft)
{
    cleanup_buf struct buf key = BUF_INIT(SIZE_MAX);
    key_write(&key, draft);
    struct pod_volumes *volumes = map_get(&records, buf_str(&key));
    if (volumes) {
        clear(draft);
        return pod_volumes_ref(volumes);
    }
    volumes = xnew(struct pod_volumes);
    *volumes = *draft;
    volumes->refs = 1;
    volumes->key_size = key.n;
    volumes->key = buf_take(&key);
    map_set(&records, pod_volumes_key(volumes), volumes);
    return volumes;
}

struct pod_volumes *pod_volumes_read(struct json_reader *reader, struct str ns, struct str name,
                                     struct str uid)
{
    const struct owner owner = {ns, name, uid};
    struct pod_volumes draft = {.ns = NULL};
    bool present = json_array(reader);
    while (present && json_item(reader))
        entry_read(reader, &draft, &owner);
    forget_pod(&draft);
    if (json_failed(reader) || (!draft.claim_count && !draft.disk_count)) {
        clear(&draft);
        return NULL;
    }
    return shared(&draft);
}

struct pod_volumes *pod_volumes_ref(struct pod_volumes *volumes)
{
    volumes->refs++;
    return volumes;
}

void pod_volumes_unref(struct pod_volumes *volumes)
{
    if (!volumes)
        return;
    ENSURE(volumes->refs > 0);
    if (--volumes->refs)
        return;
    map_del(&records, pod_volumes_key(volumes));
    if (!map_count(&records))
        map_clear(&records);
    clear(volumes);
    free(volumes);
}

struct str pod_volumes_key(const struct pod_volumes *volumes)
{
    return volumes ? str_make(volumes->key, volumes->key_size) : STR_NULL;
}

size_t pod_volumes_count(void)
{
    return map_count(&records);
}

/* ---- disks ----------------------------------------------------------------------------------- */

static bool share_monitor(const struct pod_disk *a, const struct pod_disk *b)
{
    for (uint32_t i = 0; i < a->monitor_count; i++)
        for (uint32_t k = 0; k < b->monitor_count; k++)
            if (a->monitors[i] == b->monitors[k])
                return true;
    return false;
}

/* All but Amazon's may be shared for reading. */
bool pod_disks_conflict(const struct pod_disk *a, const struct pod_disk *b)
{
    if (a->kind != b->kind || a->kind == POD_DISK_OTHER || a->id != b->id)
        return false;
    if (a->kind == POD_DISK_AWS)
        return true;
    if (a->kind == POD_DISK_RBD && (a->pool != b->pool || !share_monitor(a, b)))
        return false;
    return !a->read_only || !b->read_only;
}
