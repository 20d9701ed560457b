/*
 * Content of PodGroups for pods of others: see content.h.
 */
#include "controller/podgroup/content.h"
#include "api/names.h"
#include "base/intern.h"
#include <stdio.h>
#include <strings.h>

static const char *annotation(const struct barepod *pod, const char *key)
{
    return kube_pairs_get(&pod->meta.annotations, key);
}

/* ---- metadata ---------------------------------------------------------------------------------
 */

static void write_owner(struct json_writer *w, const struct barepod *pod)
{
    const struct kube_owner own = {"v1", "Pod", pod->meta.name, pod->meta.uid};
    const struct kube_owner *owner = pod->meta.controller.uid ? &pod->meta.controller : &own;

    json_w_member_array(w, "ownerReferences");
    json_w_object(w);
    json_w_member_str(w, "apiVersion", str_of(owner->api_version));
    json_w_member_str(w, "kind", str_of(owner->kind));
    json_w_member_str(w, "name", str_of(owner->name));
    json_w_member_str(w, "uid", str_of(owner->uid));
    json_w_member_bool(w, "controller", true);
    json_w_end_object(w);
    json_w_end_array(w);
}

static void write_overrides(struct json_writer *w, const struct kube_pairs *from,
                            const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *value = kube_pairs_get(from, keys[i]);
        if (value)
            json_w_member_str(w, keys[i], str_of(value));
    }
}

/* What the pod says itself goes before what its owner says. */
static void write_annotations(struct json_writer *w, const struct barepod *pod,
                              const struct workload *owner, struct str settings)
{
    static const char *const keys[] = {KEY_PREEMPTABLE, KEY_COOLDOWN_TIME, KEY_REVOCABLE_ZONE,
                                       KEY_JDB_MIN_AVAILABLE, KEY_JDB_MAX_UNAVAILABLE};
    /* Of the two limits on disruption only one goes. */
    const size_t n = annotation(pod, KEY_JDB_MIN_AVAILABLE) ? 4 : 5;

    json_w_member_object(w, "annotations");
    write_overrides(w, &pod->meta.annotations, keys, n);
    for (uint32_t i = 0; owner && i < owner->meta.annotations.n; i++) {
        const struct kube_pair *pair = &owner->meta.annotations.items[i];
        bool written = false;
        for (size_t k = 0; k < n; k++)
            written |= strcmp(pair->key, keys[k]) == 0 && annotation(pod, keys[k]);
        if (!written && strcmp(pair->key, KEY_GROUP_MIN_MEMBER) != 0 &&
            strcmp(pair->key, KEY_APPLIED_SETTINGS) != 0)
            json_w_member_str(w, pair->key, str_of(pair->value));
    }
    if (!str_empty(settings))
        json_w_member_str(w, KEY_APPLIED_SETTINGS, settings);
    json_w_end_object(w);
}

static void write_labels(struct json_writer *w, const struct barepod *pod)
{
    static const char *const keys[] = {KEY_PREEMPTABLE, KEY_COOLDOWN_TIME};

    json_w_member_object(w, "labels");
    write_overrides(w, &pod->meta.labels, keys, 2);
    json_w_end_object(w);
}

/* ---- spec -------------------------------------------------------------------------------------
 */

static int32_t minimum_of(const struct workload *owner)
{
    const char *text =
        owner ? kube_pairs_get(&owner->meta.annotations, KEY_GROUP_MIN_MEMBER) : NULL;
    int32_t minimum = 1;

    return text && str_to_i32(str_of(text), &minimum) && minimum >= 0 ? minimum : 1;
}

static void add(resource_list *usage, const char *prefix, const char *name, struct quantity amount,
                int32_t times)
{
    char text[320];
    const int n = snprintf(text, sizeof(text), "%s%s", prefix, name);

    if (n > 0 && (size_t)n < sizeof(text))
        resource_list_add(usage, str_make(text, (size_t)n), amount, times);
}

static void write_min_resources(struct json_writer *w, const struct barepod *pod, int32_t times)
{
    const struct quantity one = quantity_from_i64(1, QUANTITY_DECIMAL_SI);
    resource_list usage = {0};

    add(&usage, "", "pods", one, times);
    add(&usage, "count/", "pods", one, times);
    for (size_t i = 0; i < pod->requests.n; i++) {
        const struct podgroup_resource *request = &pod->requests.items[i];
        add(&usage, "", request->name, request->quantity, times);
        add(&usage, "requests.", request->name, request->quantity, times);
    }
    for (size_t i = 0; i < pod->limits.n; i++) {
        const struct podgroup_resource *limit = &pod->limits.items[i];
        if (strcmp(limit->name, "cpu") == 0 || strcmp(limit->name, "memory") == 0 ||
            strcmp(limit->name, "ephemeral-storage") == 0)
            add(&usage, "limits.", limit->name, limit->quantity, times);
    }
    json_w_key(w, STR("minResources"));
    resource_list_write(w, &usage);
    resource_list_clear(&usage);
}

static void write_topology(struct json_writer *w, const struct barepod *pod)
{
    const char *mode = annotation(pod, KEY_TOPOLOGY_MODE);
    const char *highest = annotation(pod, KEY_TOPOLOGY_HIGHEST_TIER);
    int32_t tier;

    if (!mode && !highest)
        return;
    json_w_member_object(w, "networkTopology");
    json_w_member_str(w, "mode", mode && strcasecmp(mode, "soft") == 0 ? STR("soft") : STR("hard"));
    if (highest && str_to_i32(str_of(highest), &tier))
        json_w_member_i64(w, "highestTierAllowed", tier);
    json_w_end_object(w);
}

static void write_spec(struct json_writer *w, const struct barepod *pod,
                       const struct workload *owner)
{
    const char *queue = annotation(pod, KEY_POD_QUEUE);
    const int32_t minimum = minimum_of(owner);

    json_w_member_object(w, "spec");
    json_w_member_i64(w, "minMember", minimum);
    if (queue)
        json_w_member_str(w, "queue", str_of(queue));
    if (*pod->priority_class_name)
        json_w_member_str(w, "priorityClassName", str_of(pod->priority_class_name));
    write_min_resources(w, pod, minimum);
    write_topology(w, pod);
    json_w_end_object(w);
}

/* ---- the object -------------------------------------------------------------------------------
 */

void podgroup_settings_write(struct buf *out, const struct barepod *pod,
                             const struct workload *owner)
{
    struct json_writer w = json_writer(out);

    json_w_object(&w);
    json_w_member_object(&w, "metadata");
    write_annotations(&w, pod, owner, STR_NULL);
    write_labels(&w, pod);
    json_w_end_object(&w);
    write_spec(&w, pod, owner);
    json_w_end_object(&w);
}

void podgroup_content_write(struct buf *body, const char *name, const struct barepod *pod,
                            const struct workload *owner)
{
    cleanup_buf struct buf settings = BUF_INIT(PODGROUP_SETTINGS_MAX);
    struct json_writer w = json_writer(body);

    podgroup_settings_write(&settings, pod, owner);
    json_w_object(&w);
    json_w_member_str(&w, "apiVersion", STR(SCHEDULING_API_VERSION));
    json_w_member_str(&w, "kind", STR("PodGroup"));
    json_w_member_object(&w, "metadata");
    json_w_member_str(&w, "name", str_of(name));
    json_w_member_str(&w, "namespace", str_of(pod->meta.ns));
    write_annotations(&w, pod, owner, settings.overflow ? STR_NULL : buf_str(&settings));
    write_labels(&w, pod);
    write_owner(&w, pod);
    json_w_end_object(&w);
    write_spec(&w, pod, owner);
    json_w_member_object(&w, "status");
    json_w_member_str(&w, "phase", STR(PODGROUP_PENDING));
    json_w_end_object(&w);
    json_w_end_object(&w);
}

/* ---- changes ----------------------------------------------------------------------------------
 */

/* The settings before, those to be, and what the PodGroup says. */
struct change {
    const struct podgroup *was, *next, *live;
    struct str settings;
    struct json_writer *w;
};

/* Both interned, or NULL for none: ours to set, and not yet as it should be. */
static bool text_differs(const char *was, const char *live, const char *next)
{
    return was == live && live != next;
}

/* What of `was` to `next` is to be set in `live`; what is no longer there is taken away. */
static void change_pairs(struct json_writer *w, const struct kube_pairs *was,
                         const struct kube_pairs *live, const struct kube_pairs *next)
{
    for (uint32_t i = 0; i < next->n; i++) {
        const char *key = next->items[i].key, *value = next->items[i].value;
        if (text_differs(kube_pairs_get(was, key), kube_pairs_get(live, key), value))
            json_w_member_str(w, key, str_of(value));
    }
    for (uint32_t i = 0; i < was->n; i++) {
        const char *key = was->items[i].key;
        if (kube_pairs_get(next, key) || kube_pairs_get(live, key) != was->items[i].value)
            continue;
        json_w_key(w, str_of(key));
        json_w_null(w);
    }
}

static void change_metadata(const struct change *change)
{
    const struct kube_meta *was = &change->was->meta, *live = &change->live->meta,
                           *next = &change->next->meta;
    struct json_writer *w = change->w;

    json_w_member_object(w, "metadata");
    json_w_member_str(w, "uid", str_of(live->uid));
    json_w_member_object(w, "annotations");
    change_pairs(w, &was->annotations, &live->annotations, &next->annotations);
    json_w_member_str(w, KEY_APPLIED_SETTINGS, change->settings);
    json_w_end_object(w);
    json_w_member_object(w, "labels");
    change_pairs(w, &was->labels, &live->labels, &next->labels);
    json_w_end_object(w);
    json_w_end_object(w);
}

static resource_list resources_of(const struct podgroup *podgroup)
{
    return (resource_list){.items = podgroup->min_resources, .n = podgroup->min_resources_count};
}

static void change_resources(const struct change *change)
{
    const resource_list was = resources_of(change->was), live = resources_of(change->live),
                        next = resources_of(change->next);
    struct json_writer *w = change->w;
    char text[QUANTITY_TEXT_MAX];

    if (!resource_list_equal(&was, &live) || resource_list_equal(&live, &next))
        return;
    json_w_member_object(w, "minResources");
    for (size_t i = 0; i < next.n; i++) {
        const size_t n = quantity_print(text, next.items[i].quantity);
        json_w_member_str(w, next.items[i].name, str_make(text, n));
    }
    for (size_t i = 0; i < live.n; i++) {
        if (resource_list_get(&next, str_of(live.items[i].name)))
            continue;
        json_w_key(w, str_of(live.items[i].name));
        json_w_null(w);
    }
    json_w_end_object(w);
}

static bool same_topology(const struct podgroup *a, const struct podgroup *b)
{
    return a->topology_mode == b->topology_mode && a->topology_tier == b->topology_tier;
}

static void change_topology(const struct change *change)
{
    const struct podgroup *next = change->next;
    struct json_writer *w = change->w;

    if (!same_topology(change->was, change->live) || same_topology(change->live, next))
        return;
    json_w_key(w, STR("networkTopology"));
    if (!*next->topology_mode) {
        json_w_null(w);
        return;
    }
    json_w_object(w);
    json_w_member_str(w, "mode", str_of(next->topology_mode));
    json_w_key(w, STR("highestTierAllowed"));
    if (next->topology_tier < 0)
        json_w_null(w);
    else
        json_w_i64(w, next->topology_tier);
    json_w_end_object(w);
}

static void change_spec(const struct change *change)
{
    const struct podgroup *was = change->was, *live = change->live, *next = change->next;
    struct json_writer *w = change->w;

    json_w_member_object(w, "spec");
    if (was->min_member == live->min_member && live->min_member != next->min_member)
        json_w_member_i64(w, "minMember", next->min_member);
    if (text_differs(was->queue, live->queue, next->queue))
        json_w_member_str(w, "queue", str_of(next->queue));
    if (text_differs(was->priority_class_name, live->priority_class_name,
                     next->priority_class_name)) {
        json_w_key(w, STR("priorityClassName"));
        if (*next->priority_class_name)
            json_w_str(w, str_of(next->priority_class_name));
        else
            json_w_null(w);
    }
    change_resources(change);
    change_topology(change);
    json_w_end_object(w);
}

static void write_change(const struct change *change)
{
    json_w_object(change->w);
    change_metadata(change);
    change_spec(change);
    json_w_end_object(change->w);
}

bool podgroup_change_write(struct buf *body, const struct podgroup *live, struct str settings)
{
    const char *noted = kube_pairs_get(&live->meta.annotations, KEY_APPLIED_SETTINGS);
    struct json_writer w = json_writer(body);
    struct error err = ERROR_INIT;

    if (!noted || str_is(settings, noted))
        return false;
    struct podgroup *was = podgroup_decode(str_of(noted), &err);
    struct podgroup *next = podgroup_decode(settings, &err);
    if (was && next)
        write_change(&(struct change){was, next, live, settings, &w});
    const bool written = was && next;
    podgroup_free(was);
    podgroup_free(next);
    return written;
}
