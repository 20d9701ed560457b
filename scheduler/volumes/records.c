/*
 * The records behind struct volumes: objects as they come and go, and the indexes over them. See
 * volumes.h and records.h.
 */
#include "scheduler/volumes/records.h"
#include "base/ensure.h"
#include "base/intern.h"

#define HOST_LABEL "kubernetes.io/hostname"

/* ---- finding --------------------------------------------------------------------------------- */

struct claim_record *claim_find(const struct volumes *volumes, const char *key)
{
    return map_get(&volumes->claims, str_of(key));
}

struct volume_record *volume_find(const struct volumes *volumes, const char *name)
{
    return map_get(&volumes->volumes, str_of(name));
}

struct class_record *class_find(const struct volumes *volumes, const char *name)
{
    return map_get(&volumes->classes, str_of(name));
}

struct node_record *node_find(const struct volumes *volumes, const char *name)
{
    return map_get(&volumes->nodes, str_of(name));
}

struct claim_record *claim_get(struct volumes *volumes, const char *key)
{
    struct claim_record *claim = claim_find(volumes, key);
    if (claim)
        return claim;
    claim = xnew(struct claim_record);
    claim->key = intern_get(str_of(key));
    claim->version = ++volumes->version;
    list_init(&claim->attachments);
    map_set(&volumes->claims, str_of(claim->key), claim);
    return claim;
}

static struct volume_record *volume_get(struct volumes *volumes, const char *name)
{
    struct volume_record *volume = volume_find(volumes, name);
    if (volume)
        return volume;
    volume = xnew(struct volume_record);
    volume->name = intern_get(str_of(name));
    volume->version = ++volumes->version;
    map_set(&volumes->volumes, str_of(volume->name), volume);
    return volume;
}

static struct class_record *class_get(struct volumes *volumes, const char *name)
{
    struct class_record *cls = class_find(volumes, name);
    if (cls)
        return cls;
    cls = xnew(struct class_record);
    cls->name = intern_get(str_of(name));
    cls->version = ++volumes->version;
    cls->hosts = (struct map)MAP_INIT_BORROWS;
    map_set(&volumes->classes, str_of(cls->name), cls);
    return cls;
}

struct node_record *node_get(struct volumes *volumes, const char *name)
{
    struct node_record *node = node_find(volumes, name);
    if (node)
        return node;
    node = xnew(struct node_record);
    node->name = intern_get(str_of(name));
    node->attachments = (struct map)MAP_INIT_BORROWS;
    map_set(&volumes->nodes, str_of(node->name), node);
    return node;
}

/* ---- dropping -------------------------------------------------------------------------------- */

static void gone(struct volumes *volumes)
{
    volumes->gone_version = ++volumes->version;
}

void claim_drop(struct volumes *volumes, struct claim_record *claim)
{
    if (claim->object || claim->choice || claim->keepers.n || claim->users)
        return;
    map_del(&volumes->claims, str_of(claim->key));
    vec_clear(&claim->keepers);
    intern_put(claim->key);
    free(claim);
    gone(volumes);
}

void volume_drop(struct volumes *volumes, struct volume_record *volume)
{
    if (volume->object || volume->taken || volume->releasing || volume->namers.n)
        return;
    map_del(&volumes->volumes, str_of(volume->name));
    vec_clear(&volume->namers);
    intern_put(volume->name);
    free(volume);
    gone(volumes);
}

static void class_drop(struct volumes *volumes, struct class_record *cls)
{
    if (cls->object || cls->volume_count)
        return;
    map_del(&volumes->classes, str_of(cls->name));
    vec_clear(&cls->others);
    map_clear(&cls->hosts);
    intern_put(cls->name);
    free(cls);
    gone(volumes);
}

void node_drop(struct volumes *volumes, struct node_record *node)
{
    if (node->object || map_count(&node->attachments) || node->attached.n || node->with_disks.n)
        return;
    map_del(&volumes->nodes, str_of(node->name));
    map_clear(&node->attachments);
    vec_clear(&node->attached);
    vec_clear(&node->with_disks);
    intern_put(node->name);
    free(node);
}

void volume_touch(struct volumes *volumes, struct volume_record *volume)
{
    volume->version = ++volumes->version;
    if (volume->cls)
        volume->cls->version = volumes->version;
}

/* ---- volumes by class and host --------------------------------------------------------------- */

/* The one host name that its affinity asks for; NULL when it may be another. */
static const char *host_of(const struct volume *volume)
{
    if (volume->affinity.n != 1)
        return NULL;
    const struct selector_term *term = &volume->affinity.terms[0];
    for (uint32_t i = 0; i < term->n; i++) {
        const struct selector_requirement *requirement = &term->items[i];
        if (!requirement->field && requirement->op == SELECTOR_IN &&
            requirement->value_count == 1 && strcmp(requirement->key, HOST_LABEL) == 0)
            return requirement->values[0];
    }
    return NULL;
}

static void list_remove_volume(volume_list *list, const struct volume_record *volume)
{
    size_t at = 0;
    while (at < list->n && list->items[at] != volume)
        at++;
    ENSURE(at < list->n);
    vec_remove(list, at);
}

static struct host_volumes *host_get(struct class_record *cls, const char *host)
{
    struct host_volumes *volumes = map_get(&cls->hosts, str_of(host));
    if (volumes)
        return volumes;
    volumes = xnew(struct host_volumes);
    volumes->host = intern_ref(host);
    map_set(&cls->hosts, str_of(volumes->host), volumes);
    return volumes;
}

static void list_volume(struct volumes *volumes, struct volume_record *volume)
{
    struct class_record *cls = class_get(volumes, volume->object->terms.class_name);
    const char *host = host_of(volume->object);
    volume->cls = cls;
    volume->host = host ? intern_ref(host) : NULL;
    cls->volume_count++;
    if (host)
        vec_push(&host_get(cls, host)->list, volume);
    else
        vec_push(&cls->others, volume);
}

static void unlist_volume(struct volumes *volumes, struct volume_record *volume)
{
    struct class_record *cls = volume->cls;
    if (!cls)
        return;
    if (volume->host) {
        struct host_volumes *host = map_get(&cls->hosts, str_of(volume->host));
        list_remove_volume(&host->list, volume);
        if (!host->list.n) {
            map_del(&cls->hosts, str_of(host->host));
            vec_clear(&host->list);
            intern_put(host->host);
            free(host);
        }
    } else {
        list_remove_volume(&cls->others, volume);
    }
    intern_put(volume->host);
    volume->host = NULL;
    volume->cls = NULL;
    cls->volume_count--;
    cls->version = ++volumes->version;
    class_drop(volumes, cls);
}

/* ---- claims and volumes that name each other ------------------------------------------------- */

/* Follows the name of its volume in the claim. */
static void name_volume(struct volumes *volumes, struct claim_record *claim)
{
    const struct claim *object = claim->object;
    struct volume_record *old = claim->names;
    struct volume_record *now =
        object && object->volume[0] ? volume_get(volumes, object->volume) : NULL;
    size_t at = 0;
    if (now == old)
        return;
    claim->names = now;
    if (now)
        vec_push(&now->namers, claim);
    if (!old)
        return;
    while (old->namers.items[at] != claim)
        at++;
    vec_remove(&old->namers, at);
    volume_drop(volumes, old);
}

static void keep_for(struct volumes *volumes, struct volume_record *volume)
{
    const struct volume *object = volume->object;
    if (!object || !object->claim_name)
        return;
    char *key = xasprintf("%s/%s", object->claim_ns, object->claim_name);
    volume->keeps_for = claim_get(volumes, key);
    free(key);
    vec_push(&volume->keeps_for->keepers, volume);
    claim_touch(volumes, volume->keeps_for);
}

static void keep_for_none(struct volumes *volumes, struct volume_record *volume)
{
    struct claim_record *claim = volume->keeps_for;
    size_t at = 0;
    if (!claim)
        return;
    while (claim->keepers.items[at] != volume)
        at++;
    vec_remove(&claim->keepers, at);
    volume->keeps_for = NULL;
    claim_touch(volumes, claim);
    claim_drop(volumes, claim);
}

/* ---- objects --------------------------------------------------------------------------------- */

bool volumes_set_claim(struct volumes *volumes, const char *ns, const char *name,
                       struct claim *claim)
{
    cleanup_free char *key = xasprintf("%s/%s", ns, name);
    struct claim_record *record = claim ? claim_get(volumes, key) : claim_find(volumes, key);
    if (!record || record->object == claim)
        return false;
    struct claim *before = record->object;
    bool alike = before && claim && claim_schedules_alike(before, claim);
    record->object = claim ? claim_ref(claim) : NULL;
    if (!alike) {
        name_volume(volumes, record);
        claim_touch(volumes, record);
        claim_count_again(volumes, record);
    }
    claim_unref(before);
    if (record->choice)
        choice_changed(volumes, record->choice);
    bool helps = !alike && (claim || record->users); /* one that is gone counts on no node */
    claim_drop(volumes, record);
    return helps;
}

/* Those who name a volume, are named by it or have chosen it hear of it. */
static void tell_of_volume(struct volumes *volumes, const struct volume_record *volume)
{
    for (size_t i = 0; i < volume->namers.n; i++)
        if (volume->namers.items[i]->choice)
            choice_changed(volumes, volume->namers.items[i]->choice);
    if (volume->keeps_for && volume->keeps_for->choice)
        choice_changed(volumes, volume->keeps_for->choice);
    if (volume->taken)
        choice_changed(volumes, volume->taken);
}

static void move_volume(struct volumes *volumes, struct volume_record *record,
                        struct volume *volume)
{
    struct volume *before = record->object;
    unlist_volume(volumes, record);
    keep_for_none(volumes, record);
    record->object = volume ? volume_ref(volume) : NULL;
    if (volume)
        list_volume(volumes, record);
    keep_for(volumes, record);
    volume_touch(volumes, record);
    volume_unref(before);
}

bool volumes_set_volume(struct volumes *volumes, const char *name, struct volume *volume)
{
    struct volume_record *record = volume ? volume_get(volumes, name) : volume_find(volumes, name);
    if (!record || record->object == volume)
        return false;
    bool alike = record->object && volume && volume_schedules_alike(record->object, volume);
    if (alike) {
        struct volume *before = record->object;
        record->object = volume_ref(volume);
        volume_unref(before);
    } else {
        move_volume(volumes, record, volume);
        for (size_t i = 0; i < record->namers.n; i++)
            claim_count_again(volumes, record->namers.items[i]);
    }
    tell_of_volume(volumes, record);
    volume_drop(volumes, record);
    return !alike; /* for whom one was kept that is gone, another may do */
}

/* What claims without a volume count as hangs on their class. Classes come and go rarely. */
static void count_all_again(struct volumes *volumes)
{
    void *record;
    struct str key;
    for (size_t i = 0; map_next(&volumes->claims, &i, &key, &record);)
        claim_count_again(volumes, record);
}

bool volumes_set_class(struct volumes *volumes, const char *name, struct storageclass *storageclass)
{
    struct class_record *record =
        storageclass ? class_get(volumes, name) : class_find(volumes, name);
    if (!record || record->object == storageclass)
        return false;
    storageclass_unref(record->object);
    record->object = storageclass ? storageclass_ref(storageclass) : NULL;
    record->version = ++volumes->version;
    count_all_again(volumes);
    class_drop(volumes, record);
    return true; /* claims without one count on no node */
}

bool volumes_set_csinode(struct volumes *volumes, const char *name, struct csinode *csinode)
{
    struct node_record *record = csinode ? node_get(volumes, name) : node_find(volumes, name);
    if (!record || record->object == csinode)
        return false;
    struct csinode *before = record->object;
    bool alike = before && csinode ? csinode_schedules_alike(before, csinode)
                                   : !(before ? before : csinode)->driver_count;
    record->object = csinode ? csinode_ref(csinode) : NULL;
    csinode_unref(before);
    if (!alike)
        volumes->base_version = ++volumes->version;
    node_drop(volumes, record);
    return !alike;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct volumes *volumes_new(void)
{
    struct volumes *volumes = xnew(struct volumes);
    struct map *maps[] = {&volumes->claims, &volumes->volumes, &volumes->classes, &volumes->nodes,
                          &volumes->plans};
    for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
        *maps[i] = (struct map)MAP_INIT_BORROWS;
    list_init(&volumes->asks);
    volumes->version = 1;
    volumes->gone_version = volumes->base_version = 1;
    volumes->checks = VOLUMES_ALL;
    return volumes;
}

void volumes_set_checks(struct volumes *volumes, unsigned checks)
{
    if (volumes->checks == checks)
        return;
    volumes->checks = checks;
    volumes->base_version = ++volumes->version;
}

uint64_t volumes_take_looks(struct volumes *volumes)
{
    uint64_t looks = volumes->looks;
    volumes->looks = 0;
    return looks;
}

static void clear_users(struct volumes *volumes)
{
    struct str key;
    void *record;
    for (size_t i = 0; map_next(&volumes->plans, &i, &key, &record);)
        plan_free(volumes, record);
    for (size_t i = 0; map_next(&volumes->nodes, &i, &key, &record);) {
        node_detach_all(volumes, record);
        node_drop(volumes, record);
    }
}

static void clear_claims(struct volumes *volumes)
{
    struct str key;
    void *record;
    for (size_t i = 0; map_next(&volumes->claims, &i, &key, &record);) {
        struct claim_record *claim = record;
        claim_unref(claim->object);
        claim->object = NULL;
        name_volume(volumes, claim);
        claim_drop(volumes, claim);
    }
}

/* Records go with their objects once nothing else refers to them. */
static void clear_objects(struct volumes *volumes)
{
    struct str key;
    void *record;
    for (size_t i = 0; map_next(&volumes->volumes, &i, &key, &record);)
        volumes_set_volume(volumes, key.p, NULL);
    clear_claims(volumes);
    for (size_t i = 0; map_next(&volumes->classes, &i, &key, &record);)
        volumes_set_class(volumes, key.p, NULL);
    for (size_t i = 0; map_next(&volumes->nodes, &i, &key, &record);)
        volumes_set_csinode(volumes, key.p, NULL);
}

void volumes_free(struct volumes *volumes)
{
    if (!volumes)
        return;
    struct map *maps[] = {&volumes->claims, &volumes->volumes, &volumes->classes, &volumes->nodes,
                          &volumes->plans};
    asks_sweep(volumes, true);
    clear_users(volumes);
    clear_objects(volumes);
    for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
        ENSURE(!map_count(maps[i]));
        map_clear(maps[i]);
    }
    free(volumes);
}
