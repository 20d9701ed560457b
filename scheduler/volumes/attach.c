/*
 * What is attached to nodes, by the pods there: distinct volumes by driver, disks that cannot be
 * shared, and how many pods use a claim. See volumes.h.
 *
 * Pods come and go one at a time; what a claim counts as is worked out again when the claim, its
 * volume or its class changes.
 */
#include "base/ensure.h"
#include "base/intern.h"
#include "scheduler/volumes/ask.h"

/* ---- what a claim counts as ------------------------------------------------------------------ */

/* Until it has a volume that is known, a claim counts as one volume of its class's driver. */
static const char *class_driver(const struct volumes *volumes, const struct claim *claim)
{
    const struct class_record *cls = class_find(volumes, claim->terms.class_name);
    return claim->terms.class_name[0] && cls && cls->object ? cls->object->driver : NULL;
}

void claim_counts_as(const struct volumes *volumes, const struct claim_record *claim,
                     const char **ret_driver, const char **ret_handle)
{
    const struct volume *volume = claim->names ? claim->names->object : NULL;
    const char *driver = NULL, *handle = NULL;
    *ret_driver = *ret_handle = NULL;
    if (!claim->object)
        return;
    if (volume) {
        driver = volume->driver;
        handle = volume->handle;
    } else {
        driver = class_driver(volumes, claim->object);
    }
    if (!driver || !driver[0] || (volume && (!handle || !handle[0])))
        return;
    char *text = xasprintf(volume ? "volume %s" : "claim %s", volume ? handle : claim->key);
    *ret_driver = intern_ref(driver);
    *ret_handle = intern_get(str_of(text));
    free(text);
}

/* ---- volumes of a node ----------------------------------------------------------------------- */

static struct attached *attached_find(const struct node_record *node, const char *driver,
                                      const char *handle)
{
    for (size_t i = 0; i < node->attached.n; i++)
        if (node->attached.items[i].handle == handle && node->attached.items[i].driver == driver)
            return &node->attached.items[i];
    return NULL;
}

/* One more user of a volume there; `driver` NULL: of nothing. */
static void count_in(struct node_record *node, const char *driver, const char *handle)
{
    if (!driver)
        return;
    struct attached *attached = attached_find(node, driver, handle);
    if (attached) {
        attached->users++;
        return;
    }
    struct attached first = {intern_ref(driver), intern_ref(handle), 1};
    vec_push(&node->attached, first);
}

static void count_out(struct node_record *node, const char *driver, const char *handle)
{
    if (!driver)
        return;
    struct attached *attached = attached_find(node, driver, handle);
    ENSURE(attached);
    if (--attached->users)
        return;
    intern_put(attached->driver);
    intern_put(attached->handle);
    vec_swap_remove(&node->attached, (size_t)(attached - node->attached.items));
}

static void attachment_uncount(struct attachment *attachment)
{
    count_out(attachment->node, attachment->driver, attachment->handle);
    intern_put(attachment->driver);
    intern_put(attachment->handle);
}

static void attachment_count(struct volumes *volumes, struct attachment *attachment)
{
    claim_counts_as(volumes, attachment->claim, &attachment->driver, &attachment->handle);
    count_in(attachment->node, attachment->driver, attachment->handle);
}

static bool is_limited(const struct node_record *node, const char *driver)
{
    return node->object && driver && csinode_limit(node->object, driver) != INT32_MAX;
}

/* True when others may have room on the node now, or none any more. */
static bool count_again(struct volumes *volumes, struct attachment *attachment)
{
    const struct node_record *node = attachment->node;
    const char *driver = intern_ref(attachment->driver), *handle = intern_ref(attachment->handle);
    attachment_uncount(attachment);
    attachment_count(volumes, attachment);
    bool changed = driver != attachment->driver || handle != attachment->handle;
    changed = changed && (is_limited(node, driver) || is_limited(node, attachment->driver));
    intern_put(driver);
    intern_put(handle);
    return changed;
}

void claim_count_again(struct volumes *volumes, struct claim_record *claim)
{
    bool changed = false;
    list_each(link, &claim->attachments)
    {
        struct attachment *attachment = container_of(link, struct attachment, link);
        changed = count_again(volumes, attachment) || changed;
    }
    if (changed)
        volumes->base_version = ++volumes->version;
}

/* ---- pods ------------------------------------------------------------------------------------ */

/* Whether one pod alone may use the claim: then its first and last user matter to others. */
static bool is_exclusive(const struct claim_record *claim)
{
    return claim->object && (claim->object->terms.access_modes & ACCESS_READ_WRITE_ONCE_POD) != 0;
}

static void attach_claim(struct volumes *volumes, const char *key, struct node_record *node)
{
    struct claim_record *claim = claim_get(volumes, key);
    struct attachment *attachment = map_get(&node->attachments, str_of(key));
    if (!attachment) {
        attachment = xnew(struct attachment);
        attachment->claim = claim;
        attachment->node = node;
        list_append(&claim->attachments, &attachment->link);
        map_set(&node->attachments, str_of(claim->key), attachment);
        attachment_count(volumes, attachment);
    }
    attachment->users++;
    if (claim->users++ == 0 && is_exclusive(claim))
        claim_touch(volumes, claim);
}

static void detach_claim(struct volumes *volumes, const char *key, struct node_record *node)
{
    struct claim_record *claim = claim_find(volumes, key);
    struct attachment *attachment = map_get(&node->attachments, str_of(key));
    ENSURE(claim && attachment && attachment->users > 0);
    if (--attachment->users == 0) {
        attachment_uncount(attachment);
        list_remove(&attachment->link);
        map_del(&node->attachments, str_of(key));
        free(attachment);
    }
    if (--claim->users == 0 && is_exclusive(claim))
        claim_touch(volumes, claim);
    claim_drop(volumes, claim);
}

static void attach_disks(struct pod_volumes *wanted, struct node_record *node)
{
    for (uint32_t i = 0; i < wanted->disk_count; i++)
        count_in(node, wanted->disks[i].driver, wanted->disks[i].id);
    if (wanted->disk_count)
        vec_push(&node->with_disks, pod_volumes_ref(wanted));
}

static void detach_disks(struct pod_volumes *wanted, struct node_record *node)
{
    size_t at = 0;
    for (uint32_t i = 0; i < wanted->disk_count; i++)
        count_out(node, wanted->disks[i].driver, wanted->disks[i].id);
    if (!wanted->disk_count)
        return;
    while (at < node->with_disks.n && node->with_disks.items[at] != wanted)
        at++;
    ENSURE(at < node->with_disks.n);
    vec_swap_remove(&node->with_disks, at);
    pod_volumes_unref(wanted);
}

void volumes_attach(struct volumes *volumes, struct pod_volumes *wanted, const char *node)
{
    if (!wanted)
        return;
    struct node_record *record = node_get(volumes, node);
    for (uint32_t i = 0; i < wanted->claim_count; i++)
        attach_claim(volumes, wanted->claims[i].key, record);
    attach_disks(wanted, record);
}

void volumes_detach(struct volumes *volumes, struct pod_volumes *wanted, const char *node)
{
    if (!wanted)
        return;
    struct node_record *record = node_find(volumes, node);
    ENSURE(record);
    for (uint32_t i = 0; i < wanted->claim_count; i++)
        detach_claim(volumes, wanted->claims[i].key, record);
    detach_disks(wanted, record);
    node_drop(volumes, record);
}

void node_detach_all(struct volumes *volumes, struct node_record *node)
{
    struct str key;
    void *value;
    for (size_t i = 0; map_next(&node->attachments, &i, &key, &value);) {
        struct attachment *attachment = value;
        for (uint32_t users = attachment->users; users > 0; users--)
            detach_claim(volumes, attachment->claim->key, node);
    }
    while (node->with_disks.n)
        detach_disks(node->with_disks.items[0], node);
}

/* ---- whether there is room ------------------------------------------------------------------- */

static bool disks_conflict(const struct pod_volumes *wanted, const struct node_record *node)
{
    for (size_t p = 0; p < node->with_disks.n; p++) {
        const struct pod_volumes *there = node->with_disks.items[p];
        for (uint32_t i = 0; i < wanted->disk_count; i++)
            for (uint32_t k = 0; k < there->disk_count; k++)
                if (pod_disks_conflict(&wanted->disks[i], &there->disks[k]))
                    return true;
    }
    return false;
}

static int64_t attached_count(const struct node_record *node, const char *driver)
{
    int64_t count = 0;
    for (size_t i = 0; i < node->attached.n; i++)
        count += node->attached.items[i].driver == driver;
    return count;
}

/* How many volumes of the driver a node would get that it has not. */
static int64_t new_count(const struct ask *ask, const struct node_record *node, const char *driver)
{
    int64_t count = 0;
    for (size_t i = 0; i < ask->counted.n; i++) {
        const struct attached *wanted = &ask->counted.items[i];
        count += wanted->driver == driver && !attached_find(node, driver, wanted->handle);
    }
    return count;
}

static bool exceeds(const struct ask *ask, const struct node_record *node)
{
    const struct csinode *limits = node->object;
    for (uint32_t i = 0; limits && i < limits->driver_count; i++) {
        const char *driver = limits->drivers[i].name;
        int64_t wanted = new_count(ask, node, driver);
        if (wanted && attached_count(node, driver) + wanted > limits->drivers[i].limit)
            return true;
    }
    return false;
}

const char *volumes_crowded(struct volumes *volumes, struct pod_volumes *wanted, const char *node)
{
    const struct node_record *record = wanted ? node_find(volumes, node) : NULL;
    if (!record)
        return NULL;
    if ((volumes->checks & VOLUMES_RESTRICTIONS) && disks_conflict(wanted, record))
        return "node(s) had no available disk";
    if ((volumes->checks & VOLUMES_LIMITS) && record->object &&
        exceeds(ask_get(volumes, wanted), record))
        return "node(s) exceed max volume count";
    return NULL;
}
