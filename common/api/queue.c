/*
 * Decoding of Queues: see queue.h.
 */
#include "api/queue.h"
#include "api/names.h"
#include "api/resourcelist.h"
#include "json/interned.h"

static void resources_clear(struct queue_resources *resources)
{
    for (uint32_t i = 0; i < resources->n; i++)
        intern_put(resources->items[i].name);
    free(resources->items);
    *resources = (struct queue_resources){0};
}

static void read_resources(struct json_reader *reader, struct queue_resources *resources)
{
    resource_list list = {0};

    resources_clear(resources);
    resources->present = json_peek(reader) == JSON_OBJECT;
    resource_list_read(reader, &list);
    resources->items = list.items;
    resources->n = (uint32_t)list.n;
}

static void read_guarantee(struct json_reader *reader, struct queue *queue)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("resource")))
            read_resources(reader, &queue->guarantee);
        else
            json_skip(reader);
    }
}

static void read_affinity(struct json_reader *reader, struct queue *queue)
{
    if (!queue->groups)
        queue->groups = node_groups_new();
    node_groups_read_affinity(reader, queue->groups);
}

/* The annotations say something of groups of nodes as well. */
static void settle_groups(struct queue *queue)
{
    const char *limits = kube_pairs_get(&queue->meta.annotations, KEY_NODEGROUP_LIMITS);

    if (limits && !queue->groups)
        queue->groups = node_groups_new();
    if (limits)
        node_groups_read_limits(queue->groups, str_of(limits));
    if (queue->groups && !node_groups_say_anything(queue->groups)) {
        node_groups_unref(queue->groups);
        queue->groups = NULL;
    }
}

static void read_spec(struct json_reader *reader, struct queue *queue)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("weight")))
            queue->weight = json_i32(reader);
        else if (str_eq(key, STR("priority")))
            queue->priority = json_i32(reader);
        else if (str_eq(key, STR("reclaimable")))
            queue->reclaimable =
                json_peek(reader) == JSON_NULL ? (json_skip(reader), true) : json_bool(reader);
        else if (str_eq(key, STR("parent")))
            json_interned(reader, &queue->parent);
        else if (str_eq(key, STR("capability")))
            read_resources(reader, &queue->capability);
        else if (str_eq(key, STR("deserved")))
            read_resources(reader, &queue->deserved);
        else if (str_eq(key, STR("guarantee")))
            read_guarantee(reader, queue);
        else if (str_eq(key, STR("affinity")))
            read_affinity(reader, queue);
        else
            json_skip(reader);
    }
}

static void read_status(struct json_reader *reader, struct queue *queue)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("state")))
            json_interned(reader, &queue->state);
        else if (str_eq(key, STR("allocated")))
            read_resources(reader, &queue->allocated);
        else
            json_skip(reader);
    }
}

struct queue *queue_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct queue *queue = xnew(struct queue);
    struct json_reader reader;
    struct str key;

    queue->reclaimable = true;
    queue->parent = intern_get(STR(""));
    queue->state = intern_get(STR(""));
    json_init(&reader, raw, &arena);
    if (json_object(&reader)) {
        while (json_key(&reader, &key)) {
            if (str_eq(key, STR("metadata")) && !queue->meta.name)
                kube_meta_read(&reader, &queue->meta, NULL);
            else if (str_eq(key, STR("spec")))
                read_spec(&reader, queue);
            else if (str_eq(key, STR("status")))
                read_status(&reader, queue);
            else
                json_skip(&reader);
        }
    }
    settle_groups(queue);
    if (queue->weight == 0)
        queue->weight = 1;
    queue->has_state = *queue->state != '\0';
    if (!queue->has_state) {
        intern_put(queue->state);
        queue->state = intern_get(STR(QUEUE_OPEN));
    }
    if (json_end(&reader, err) < 0) {
        queue_free(queue);
        return NULL;
    }
    return queue;
}

void queue_free(struct queue *queue)
{
    if (!queue)
        return;
    kube_meta_clear(&queue->meta);
    intern_put(queue->parent);
    intern_put(queue->state);
    resources_clear(&queue->capability);
    resources_clear(&queue->deserved);
    resources_clear(&queue->guarantee);
    resources_clear(&queue->allocated);
    node_groups_unref(queue->groups);
    free(queue);
}

bool queue_is_open(const struct queue *queue)
{
    return strcmp(queue->state, QUEUE_OPEN) == 0;
}

static void *decode(struct str raw, struct error *err)
{
    return queue_decode(raw, err);
}

static void release(void *object)
{
    queue_free(object);
}

const struct store_type queue_store_type = {"Queue", decode, release};
