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
#include "base/map.h"

static struct {
    struct map by_key; /* struct pod_class, counted by its users */
    uint64_t next_id;
} classes;

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
    if (demand->scoring_type.n) {
        buf_add_char(key, '\n');
        buf_add_str(key, demand->scoring_type);
        buf_add_char(key, '\n');
        buf_add_str(key, demand->scoring_weight);
    }
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

static bool class_fill(struct pod_class *cls, const struct pod_demand *demand, struct arena *arena)
{
    struct json_reader reader;
    bool good = true;
    scoring_fill(cls, demand, arena);
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
    resource_set_clear(&cls->scoring_weights);
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
    struct resource_set request = pod_demand_total(demand);
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
