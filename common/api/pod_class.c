/*
 * Classes of pods: what the containers ask for, and one shared record for equal demands.
 *
 * A class is found by its content: the request by numbers, the rest by its JSON, which the API
 * server prints the same way for equal values. Loop thread only.
 */
#include "api/pod_class.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "base/map.h"

static struct {
    struct map by_key; /* struct pod_class, counted by its users */
    uint64_t next_id;
} classes;

/* ---- what the containers ask for ------------------------------------------------------------- */

void pod_demand_clear(struct pod_demand *demand)
{
    resource_set_clear(&demand->containers);
    resource_set_clear(&demand->sidecars);
    resource_set_clear(&demand->init);
    resource_set_clear(&demand->overhead);
    resource_set_clear(&demand->whole);
}

/* Requests, with limits standing in for those that are missing. */
static void requests_read(struct json_reader *reader, struct resource_set *requests)
{
    struct resource_set limits = {NULL, 0};
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "requests"))
            resource_set_read(reader, requests);
        else if (str_is(key, "limits"))
            resource_set_read(reader, &limits);
        else
            json_skip(reader);
    }
    for (uint32_t i = 0; i < limits.n; i++)
        if (!resource_set_get(requests, limits.items[i].id))
            resource_set_put(requests, limits.items[i].id, limits.items[i].amount);
    resource_set_clear(&limits);
}

/* One container: its requests, and whether it goes on running (restartPolicy: Always). */
static bool container_read(struct json_reader *reader, struct resource_set *requests)
{
    bool sidecar = false;
    struct str key;
    if (!json_object(reader))
        return false;
    while (json_key(reader, &key)) {
        if (str_is(key, "resources"))
            requests_read(reader, requests);
        else if (str_is(key, "restartPolicy"))
            sidecar = str_is(json_str(reader), "Always");
        else
            json_skip(reader);
    }
    return sidecar;
}

void pod_demand_containers(struct json_reader *reader, struct pod_demand *demand)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        struct resource_set requests = {NULL, 0};
        container_read(reader, &requests);
        resource_set_add(&demand->containers, &requests, 1);
        resource_set_clear(&requests);
    }
}

void pod_demand_init_containers(struct json_reader *reader, struct pod_demand *demand)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        struct resource_set requests = {NULL, 0};
        if (container_read(reader, &requests)) {
            resource_set_add(&demand->sidecars, &requests, 1);
            resource_set_add(&demand->containers, &requests, 1);
        } else {
            resource_set_add(&requests, &demand->sidecars, 1);
        }
        resource_set_max(&demand->init, &requests);
        resource_set_clear(&requests);
    }
}

void pod_demand_whole(struct json_reader *reader, struct pod_demand *demand)
{
    requests_read(reader, &demand->whole);
}

/* Larger of the init phase and the containers, pod-level requests over that, plus overhead. */
static struct resource_set total(const struct pod_demand *demand)
{
    struct resource_set sum = resource_set_copy(&demand->containers);
    resource_set_max(&sum, &demand->init);
    for (uint32_t i = 0; i < demand->whole.n; i++)
        resource_set_put(&sum, demand->whole.items[i].id, demand->whole.items[i].amount);
    resource_set_add(&sum, &demand->overhead, 1);
    return sum;
}

/* ---- classes --------------------------------------------------------------------------------- */

static void key_write(struct buf *key, const struct pod_demand *demand,
                      const struct resource_set *request)
{
    for (uint32_t i = 0; i < request->n; i++)
        buf_printf(key, "%u=%lld,", request->items[i].id, (long long)request->items[i].amount);
    buf_add_char(key, '\n');
    buf_add_str(key, demand->node_selector);
    buf_add_char(key, '\n');
    buf_add_str(key, demand->affinity);
    buf_add_char(key, '\n');
    buf_add_str(key, demand->tolerations);
}

static void affinity_read(struct json_reader *reader, struct node_selector *selector)
{
    struct str key, inner;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (!str_is(key, "nodeAffinity")) {
            json_skip(reader);
            continue;
        }
        bool present = json_object(reader);
        while (present && json_key(reader, &inner)) {
            if (str_is(inner, "requiredDuringSchedulingIgnoredDuringExecution"))
                node_selector_read(reader, selector);
            else
                json_skip(reader);
        }
    }
}

static bool class_fill(struct pod_class *cls, const struct pod_demand *demand, struct arena *arena)
{
    struct json_reader reader;
    bool good = true;
    if (demand->node_selector.n) {
        json_init(&reader, demand->node_selector, arena);
        kube_pairs_read(&reader, &cls->node_selector, NULL);
        good = good && !json_failed(&reader);
    }
    if (demand->affinity.n) {
        json_init(&reader, demand->affinity, arena);
        affinity_read(&reader, &cls->affinity);
        good = good && !json_failed(&reader);
    }
    if (demand->tolerations.n) {
        json_init(&reader, demand->tolerations, arena);
        tolerations_read(&reader, &cls->tolerations);
        good = good && !json_failed(&reader);
    }
    return good;
}

static void class_free(struct pod_class *cls)
{
    resource_set_clear(&cls->request);
    kube_pairs_clear(&cls->node_selector);
    node_selector_clear(&cls->affinity);
    tolerations_clear(&cls->tolerations);
    free(cls->key);
    free(cls);
}

static struct pod_class *class_new(const struct pod_demand *demand, struct resource_set *request,
                                   struct buf *key, struct arena *arena)
{
    struct pod_class *cls = xnew(struct pod_class);
    cls->refs = 1;
    cls->best_effort = request->n == 0;
    cls->request = *request;
    *request = (struct resource_set){NULL, 0};
    resource_set_put(&cls->request, RESOURCE_PODS, 1);
    cls->key_size = key->n;
    cls->key = buf_take(key);
    if (!class_fill(cls, demand, arena)) {
        class_free(cls);
        return NULL;
    }
    cls->id = classes.next_id++;
    map_set(&classes.by_key, str_make(cls->key, cls->key_size), cls);
    return cls;
}

struct pod_class *pod_class_get(const struct pod_demand *demand, struct arena *arena)
{
    cleanup_buf struct buf key = BUF_INIT(LIMIT_WATCH_EVENT);
    struct resource_set request = total(demand);
    key_write(&key, demand, &request);
    struct pod_class *cls = map_get(&classes.by_key, buf_str(&key));
    if (cls)
        pod_class_ref(cls);
    else if (!key.overflow)
        cls = class_new(demand, &request, &key, arena);
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
