/*
 * Every index and count of struct volumes compared with a recount. See volumes.h.
 */
#include "base/intern.h"
#include "scheduler/volumes/records.h"

/* How often a record stands in an array of them. */
static size_t times_claim(struct claim_record *const *items, size_t n,
                          const struct claim_record *claim)
{
    size_t times = 0;
    for (size_t i = 0; i < n; i++)
        times += items[i] == claim;
    return times;
}

static size_t times_volume(struct volume_record *const *items, size_t n,
                           const struct volume_record *volume)
{
    size_t times = 0;
    for (size_t i = 0; i < n; i++)
        times += items[i] == volume;
    return times;
}

/* ---- claims ---------------------------------------------------------------------------------- */

static bool counts_right(const struct volumes *volumes, const struct attachment *attachment)
{
    const char *driver, *handle;
    claim_counts_as(volumes, attachment->claim, &driver, &handle);
    bool right = driver == attachment->driver && handle == attachment->handle;
    intern_put(driver);
    intern_put(handle);
    return right;
}

static const char *audit_users(const struct volumes *volumes, const struct claim_record *claim)
{
    uint64_t users = 0;
    list_each(link, &claim->attachments)
    {
        const struct attachment *attachment = container_of(link, struct attachment, link);
        users += attachment->users;
        if (attachment->claim != claim || !attachment->users)
            return "an attachment of another claim, or of no pod";
        if (!counts_right(volumes, attachment))
            return "an attachment counts as what its claim does not";
    }
    return users == claim->users ? NULL : "a claim's users are not those of its attachments";
}

static const char *audit_claim(const struct volumes *volumes, const struct claim_record *claim)
{
    const char *name = claim->object ? claim->object->volume : "";
    if (!claim->object && !claim->choice && !claim->keepers.n && !claim->users)
        return "a record of a claim of which nothing is left";
    if ((name[0] != '\0') != (claim->names != NULL) ||
        (claim->names && strcmp(claim->names->name, name) != 0))
        return "a claim names another volume";
    if (claim->names && times_claim(claim->names->namers.items, claim->names->namers.n, claim) != 1)
        return "a claim is not among those that name its volume";
    if (claim->choice && claim->choice->claim != claim)
        return "a claim's choice is another's";
    return audit_users(volumes, claim);
}

/* ---- volumes --------------------------------------------------------------------------------- */

static const char *audit_listed(const struct volume_record *volume)
{
    const struct class_record *cls = volume->cls;
    if (!volume->object || !cls)
        return volume->object || cls ? "a volume is in no class, or one that is gone is" : NULL;
    if (strcmp(cls->name, volume->object->terms.class_name) != 0)
        return "a volume is in the wrong class";
    const struct host_volumes *host =
        volume->host ? map_get(&cls->hosts, str_of(volume->host)) : NULL;
    size_t found = host ? times_volume(host->list.items, host->list.n, volume) : 0;
    found += times_volume(cls->others.items, cls->others.n, volume);
    return found == 1 ? NULL : "a volume is not once in its class";
}

static const char *audit_volume(const struct volume_record *volume)
{
    const struct volume *object = volume->object;
    const struct claim_record *claim = volume->keeps_for;
    if (!object && !volume->taken && !volume->releasing && !volume->namers.n)
        return "a record of a volume of which nothing is left";
    if ((object && object->claim_name) != (claim != NULL))
        return "a volume is kept for no claim, or for one that it does not name";
    if (claim) {
        cleanup_free char *key = xasprintf("%s/%s", object->claim_ns, object->claim_name);
        if (strcmp(key, claim->key) != 0 ||
            times_volume(claim->keepers.items, claim->keepers.n, volume) != 1)
            return "a volume is kept for the wrong claim";
    }
    if (volume->taken && volume->taken->volume != volume)
        return "a volume is taken by a choice of another";
    return audit_listed(volume);
}

static const char *audit_class(const struct class_record *cls)
{
    size_t count = cls->others.n;
    struct str key;
    void *value;
    for (size_t i = 0; map_next(&cls->hosts, &i, &key, &value);)
        count += ((struct host_volumes *)value)->list.n;
    if (count != cls->volume_count)
        return "a class's volumes are miscounted";
    return cls->object || count ? NULL : "a record of a class of which nothing is left";
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Users of what is attached to the node, found by a look at its pods. */
static uint32_t users_of(const struct node_record *node, const struct attached *attached)
{
    uint32_t users = 0;
    struct str key;
    void *value;
    for (size_t i = 0; map_next(&node->attachments, &i, &key, &value);) {
        const struct attachment *attachment = value;
        users += attachment->driver == attached->driver && attachment->handle == attached->handle;
    }
    for (size_t p = 0; p < node->with_disks.n; p++)
        for (uint32_t i = 0; i < node->with_disks.items[p]->disk_count; i++) {
            const struct pod_disk *disk = &node->with_disks.items[p]->disks[i];
            users += disk->driver == attached->driver && disk->id == attached->handle;
        }
    return users;
}

static const char *audit_node(const struct node_record *node)
{
    struct str key;
    void *value;
    size_t counted = 0, users = 0;
    for (size_t i = 0; i < node->attached.n; i++) {
        const struct attached *attached = &node->attached.items[i];
        users += attached->users;
        if (!attached->users || users_of(node, attached) != attached->users)
            return "a node's attached volume is miscounted";
    }
    for (size_t i = 0; map_next(&node->attachments, &i, &key, &value);)
        counted += ((struct attachment *)value)->driver != NULL;
    for (size_t p = 0; p < node->with_disks.n; p++)
        for (uint32_t i = 0; i < node->with_disks.items[p]->disk_count; i++)
            counted += node->with_disks.items[p]->disks[i].driver != NULL;
    return counted == users ? NULL : "a node's attached volumes are not those of its pods";
}

/* ---- plans ----------------------------------------------------------------------------------- */

static const char *audit_plan(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->n; i++) {
        const struct choice *choice = plan->items[i].choice;
        if (choice->claim->choice != choice)
            return "a plan's choice is not its claim's";
        if (choice->volume && choice->volume->taken != choice)
            return "a plan's volume is not taken";
        if (list_empty(&choice->plans))
            return "a plan's choice does not know it";
    }
    return plan->n ? NULL : "a plan without choices";
}

const char *volumes_audit(const struct volumes *volumes)
{
    const char *wrong = NULL;
    struct str key;
    void *value;
    for (size_t i = 0; !wrong && map_next(&volumes->claims, &i, &key, &value);)
        wrong = audit_claim(volumes, value);
    for (size_t i = 0; !wrong && map_next(&volumes->volumes, &i, &key, &value);)
        wrong = audit_volume(value);
    for (size_t i = 0; !wrong && map_next(&volumes->classes, &i, &key, &value);)
        wrong = audit_class(value);
    for (size_t i = 0; !wrong && map_next(&volumes->nodes, &i, &key, &value);)
        wrong = audit_node(value);
    for (size_t i = 0; !wrong && map_next(&volumes->plans, &i, &key, &value);)
        wrong = audit_plan(value);
    return wrong;
}
