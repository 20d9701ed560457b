/*
 * Classes of pods: one shared record for equal demands. What a demand adds up to is in
 * pod_demand.c.
 *
 * A class is found by its content: the request by numbers, the rest by its JSON, which the API
 * server prints the same way for equal values. Loop thread only.
 */
#include "api/pod_class.h"
#include "api/names.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "base/intern.h"
#include "base/limits.h"
#include "base/map.h"

static struct {
    struct map by_key; /* struct pod_class, counted by its users */
    uint64_t next_id;
} classes;

static bool mentions(struct str json, const char *text)
{
    return json.n && memmem(json.p, json.n, text, strlen(text)) != NULL;
}

/* A label whose name a constraint has in it: most often all pods of a job have the same, whereas
 * others may differ between any two. */
static void key_label(struct buf *key, const struct pod_demand *demand,
                      const struct kube_pair *label)
{
    cleanup_free char *name = xasprintf("\"%s\"", label->key);
    if (mentions(demand->spread, name))
        buf_printf(key, "\n%s=%s", label->key, label->value);
}

/* What other pods mean depends on the namespace, and on labels that a constraint refers to. */
static void key_rules(struct buf *key, const struct pod_demand *demand,
                      const struct kube_meta *meta)
{
    if (!demand->spread.n && !mentions(demand->affinity, "\"pod"))
        return;
    buf_printf(key, "\nin %s", meta->ns);
    buf_add_str(key, demand->spread);
    for (uint32_t i = 0; mentions(demand->spread, "matchLabelKeys") && i < meta->labels.n; i++)
        key_label(key, demand, &meta->labels.items[i]);
}

/* How many containers there are matters where images do. */
static void key_containers(struct buf *key, const struct pod_demand *demand)
{
    bool any = demand->volume_images.n > 0;
    for (size_t i = 0; i < demand->containers.n; i++)
        any = any || demand->containers.items[i].image.n || demand->containers.items[i].ports.n;
    buf_add_char(key, '\n');
    for (size_t i = 0; i < demand->containers.n && any; i++) {
        const struct container_demand *container = &demand->containers.items[i];
        buf_printf(key, " %zu:", container->image.n);
        buf_add_str(key, container->image);
        for (uint32_t p = 0; p < container->ports.n && container->kind != CONTAINER_INIT; p++) {
            const struct host_port *port = &container->ports.items[p];
            buf_printf(key, " %s/%s/%d", port->ip, port->protocol, (int)port->port);
        }
    }
    for (size_t i = 0; i < demand->volume_images.n; i++) {
        buf_printf(key, " in %zu:", demand->volume_images.items[i].n);
        buf_add_str(key, demand->volume_images.items[i]);
    }
}

static void key_write(struct buf *key, const struct pod_demand *demand,
                      const struct kube_meta *meta, const struct resource_set *request)
{
    for (uint32_t i = 0; i < request->n; i++)
        buf_printf(key, "%u=%lld,", request->items[i].id, (long long)request->items[i].amount);
    buf_add_char(key, '\n');
    buf_add_str(key, demand->node_selector);
    buf_add_char(key, '\n');
    buf_add_str(key, demand->affinity);
    buf_add_char(key, '\n');
    buf_add_str(key, demand->tolerations);
    key_containers(key, demand);
    key_rules(key, demand, meta);
    if (demand->scoring_type.n) {
        buf_add_char(key, '\n');
        buf_add_str(key, demand->scoring_type);
        buf_add_char(key, '\n');
        buf_add_str(key, demand->scoring_weight);
    }
}

static void node_affinity_read(struct json_reader *reader, struct pod_class *cls)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "requiredDuringSchedulingIgnoredDuringExecution"))
            node_selector_read(reader, &cls->affinity);
        else if (str_is(key, "preferredDuringSchedulingIgnoredDuringExecution"))
            preferred_terms_read(reader, &cls->preferred);
        else
            json_skip(reader);
    }
}

static void affinity_read(struct json_reader *reader, struct pod_class *cls, const char *ns)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        bool anti = str_is(key, "podAntiAffinity");
        if (str_is(key, "nodeAffinity"))
            node_affinity_read(reader, cls);
        else if (anti || str_is(key, "podAffinity"))
            pod_rules_read_affinity(reader, &cls->rules, ns, anti);
        else
            json_skip(reader);
    }
}

/* An image without a tag is the latest one. */
static const char *image_name(struct str image, struct arena *arena)
{
    size_t colon = 0, slash = 0;
    for (size_t i = 0; i < image.n; i++) {
        colon = image.p[i] == ':' ? i + 1 : colon;
        slash = image.p[i] == '/' ? i + 1 : slash;
    }
    if (colon > slash)
        return intern_get(image);
    return intern_get(arena_printf(arena, "%.*s:latest", (int)image.n, image.p));
}

static void containers_fill(struct pod_class *cls, const struct pod_demand *demand,
                            struct arena *arena)
{
    size_t most = demand->containers.n + demand->volume_images.n;
    cls->containers = (uint32_t)demand->containers.n;
    cls->images = xcalloc(most + 1, sizeof(*cls->images));
    for (size_t i = 0; i < demand->containers.n; i++) {
        const struct container_demand *container = &demand->containers.items[i];
        if (container->image.n && cls->image_count < LIMIT_POD_IMAGES)
            cls->images[cls->image_count++] = image_name(container->image, arena);
        for (uint32_t p = 0; p < container->ports.n && container->kind != CONTAINER_INIT; p++)
            host_ports_add(&cls->ports, &container->ports.items[p]);
    }
    host_ports_sort(&cls->ports);
    for (size_t i = 0; i < demand->volume_images.n && cls->image_count < LIMIT_POD_IMAGES; i++)
        cls->images[cls->image_count++] = image_name(demand->volume_images.items[i], arena);
}

/* Weights that cannot be read, or are not above 0, are not there. */
static void weights_read(struct resource_set *weights, struct str json, struct arena *arena)
{
    struct json_reader reader;
    struct str key;
    json_init(&reader, json, arena);
    bool present = json_object(&reader);
    while (present && json_key(&reader, &key)) {
        int64_t weight = json_i64(&reader);
        if (!json_failed(&reader) && weight > 0)
            resource_set_put(weights, resource_id(key), weight);
    }
    if (json_end(&reader, NULL) < 0)
        resource_set_clear(weights);
}

static void scoring_fill(struct pod_class *cls, const struct pod_demand *demand,
                         struct arena *arena)
{
    if (str_is(demand->scoring_type, SCORING_LEAST))
        cls->scoring = SCORING_EMPTIEST;
    else if (str_is(demand->scoring_type, SCORING_MOST))
        cls->scoring = SCORING_FULLEST;
    if (cls->scoring != SCORING_AS_CONFIGURED)
        weights_read(&cls->scoring_weights, demand->scoring_weight, arena);
}

/* Each of these reads one part of a pod's spec; false when it cannot be read. */

static bool where_fill(struct pod_class *cls, const struct pod_demand *demand,
                       const struct kube_meta *meta, struct arena *arena)
{
    struct json_reader selector, affinity, tolerations;
    bool good = true;
    if (demand->node_selector.n) {
        json_init(&selector, demand->node_selector, arena);
        kube_pairs_read(&selector, &cls->node_selector, NULL);
        good = good && !json_failed(&selector);
    }
    if (demand->affinity.n) {
        json_init(&affinity, demand->affinity, arena);
        affinity_read(&affinity, cls, meta->ns);
        good = good && !json_failed(&affinity);
    }
    if (demand->tolerations.n) {
        json_init(&tolerations, demand->tolerations, arena);
        tolerations_read(&tolerations, &cls->tolerations);
        good = good && !json_failed(&tolerations);
    }
    return good;
}

static bool spread_fill(struct pod_class *cls, const struct pod_demand *demand,
                        const struct kube_meta *meta, struct arena *arena)
{
    struct json_reader reader;
    if (!demand->spread.n)
        return true;
    json_init(&reader, demand->spread, arena);
    pod_rules_read_spread(&reader, &cls->rules, meta->ns, &meta->labels);
    return !json_failed(&reader);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void count_term(const struct selector_term *term, size_t *requirements, size_t *named)
{
    *requirements += term->n;
    for (uint32_t i = 0; i < term->n; i++)
        *named += term->items[i].value_count;
}

/* All of it is compared with each node. */
static const char *excess_of(const struct pod_class *cls)
{
    size_t requirements =
        (size_t)cls->node_selector.n + cls->tolerations.n + cls->affinity.n + cls->preferred.n;
    size_t named = cls->ports.n;
    for (uint32_t i = 0; i < cls->affinity.n; i++)
        count_term(&cls->affinity.terms[i], &requirements, &named);
    for (uint32_t i = 0; i < cls->preferred.n; i++)
        count_term(&cls->preferred.items[i].term, &requirements, &named);
    if (requirements > LIMIT_POD_REQUIREMENTS)
        return "the pod's spec.nodeSelector, spec.tolerations and spec.affinity.nodeAffinity have "
               "more than " LIMIT_TEXT(LIMIT_POD_REQUIREMENTS) " labels, tolerations, terms and "
                                                               "expressions, which is the limit";
    if (named > LIMIT_POD_NAMED)
        return "the pod's spec.affinity.nodeAffinity and host ports are more than " LIMIT_TEXT(
            LIMIT_POD_NAMED) " values and ports, which is the limit";
    if (cls->volumes &&
        (size_t)cls->volumes->claim_count + cls->volumes->disk_count > LIMIT_POD_VOLUMES)
        return "the pod's spec.volumes name more than " LIMIT_TEXT(
            LIMIT_POD_VOLUMES) " claims and disks, which is the limit";
    return NULL;
}

/* What it has of ports and volumes counts where others have placed it. */
static void leave_out(struct pod_class *cls)
{
    kube_pairs_clear(&cls->node_selector);
    cls->node_selector = (struct kube_pairs){NULL, 0};
    node_selector_clear(&cls->affinity);
    preferred_terms_clear(&cls->preferred);
    tolerations_clear(&cls->tolerations);
}

/* ---- classes --------------------------------------------------------------------------------- */

static bool class_fill(struct pod_class *cls, const struct pod_demand *demand,
                       const struct kube_meta *meta, struct arena *arena)
{
    scoring_fill(cls, demand, arena);
    containers_fill(cls, demand, arena);
    bool good = where_fill(cls, demand, meta, arena) && spread_fill(cls, demand, meta, arena);
    pod_rules_finish(&cls->rules);
    cls->excess = excess_of(cls);
    if (cls->excess)
        leave_out(cls);
    return good;
}

static void class_free(struct pod_class *cls)
{
    resource_set_clear(&cls->request);
    kube_pairs_clear(&cls->node_selector);
    node_selector_clear(&cls->affinity);
    preferred_terms_clear(&cls->preferred);
    tolerations_clear(&cls->tolerations);
    pod_rules_clear(&cls->rules);
    host_ports_clear(&cls->ports);
    pod_volumes_unref(cls->volumes);
    for (uint32_t i = 0; i < cls->image_count; i++)
        intern_put(cls->images[i]);
    free(cls->images);
    resource_set_clear(&cls->scoring_weights);
    free(cls->key);
    free(cls);
}

static struct pod_class *class_new(const struct pod_demand *demand, const struct kube_meta *meta,
                                   struct pod_volumes *volumes, struct resource_set *request,
                                   struct buf *key, struct arena *arena)
{
    struct pod_class *cls = xnew(struct pod_class);
    cls->refs = 1;
    cls->best_effort = request->n == 0;
    cls->volumes = volumes ? pod_volumes_ref(volumes) : NULL;
    cls->request = *request;
    *request = (struct resource_set){NULL, 0};
    resource_set_put(&cls->request, RESOURCE_PODS, 1);
    cls->key_size = key->n;
    cls->key = buf_take(key);
    if (!class_fill(cls, demand, meta, arena)) {
        class_free(cls);
        return NULL;
    }
    cls->id = classes.next_id++;
    map_set(&classes.by_key, str_make(cls->key, cls->key_size), cls);
    return cls;
}

/* Both looks at the volumes; false when they cannot be read. */
static bool volumes_fill(struct pod_demand *demand, const struct kube_meta *meta,
                         struct arena *arena, struct pod_volumes **ret_volumes)
{
    struct json_reader images, volumes;
    if (!demand->volumes.n)
        return true;
    json_init(&images, demand->volumes, arena);
    if (mentions(demand->volumes, "\"image\"")) /* few do, and every pod has volumes */
        pod_demand_images(&images, demand);
    json_init(&volumes, demand->volumes, arena);
    *ret_volumes =
        pod_volumes_read(&volumes, str_of(meta->ns), str_of(meta->name), str_of(meta->uid));
    return !json_failed(&images) && !json_failed(&volumes);
}

struct pod_class *pod_class_get(struct pod_demand *demand, const struct kube_meta *meta,
                                struct arena *arena)
{
    cleanup_buf struct buf key = BUF_INIT(LIMIT_WATCH_EVENT);
    struct pod_volumes *volumes = NULL;
    if (!volumes_fill(demand, meta, arena, &volumes))
        return NULL;
    struct resource_set request = pod_demand_total(demand);
    key_write(&key, demand, meta, &request);
    buf_add_str(&key, pod_volumes_key(volumes));
    struct pod_class *cls = map_get(&classes.by_key, buf_str(&key));
    if (cls)
        pod_class_ref(cls);
    else if (!key.overflow)
        cls = class_new(demand, meta, volumes, &request, &key, arena);
    pod_volumes_unref(volumes);
    resource_set_clear(&request);
    return cls;
}

struct pod_class *pod_class_ref(struct pod_class *cls)
{
    cls->refs++;
    return cls;
}

void pod_class_unref(struct pod_class *cls)
{
    if (!cls)
        return;
    ENSURE(cls->refs > 0);
    if (--cls->refs)
        return;
    map_del(&classes.by_key, str_make(cls->key, cls->key_size));
    if (!map_count(&classes.by_key))
        map_clear(&classes.by_key);
    class_free(cls);
}

size_t pod_class_count(void)
{
    return map_count(&classes.by_key);
}
