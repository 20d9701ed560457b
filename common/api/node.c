/*
 * Decoding of nodes. See node.h.
 */
#include "api/node.h"
#include "base/alloc.h"
#include "base/ensure.h"
#include "base/intern.h"

static void spec_read(struct json_reader *reader, struct node *node)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "unschedulable"))
            node->unschedulable = json_bool(reader);
        else if (str_is(key, "taints"))
            taints_read(reader, &node->taints);
        else
            json_skip(reader);
    }
}

static bool has_image(const struct node *node, const char *name)
{
    for (uint32_t i = 0; i < node->image_count; i++)
        if (node->images[i].name == name)
            return true;
    return false;
}

static void image_names_read(struct json_reader *reader, struct node *node)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        const char *name = intern_get(json_str(reader));
        if (has_image(node, name)) {
            intern_put(name);
            continue;
        }
        node->images = xreallocarray(node->images, node->image_count + 1, sizeof(*node->images));
        node->images[node->image_count++] = (struct node_image){name, 0};
    }
}

static void images_read(struct json_reader *reader, struct node *node)
{
    struct str key;
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        uint32_t first = node->image_count;
        int64_t size = 0;
        bool present = json_object(reader);
        while (present && json_key(reader, &key)) {
            if (str_is(key, "names"))
                image_names_read(reader, node);
            else if (str_is(key, "sizeBytes"))
                size = json_i64(reader);
            else
                json_skip(reader);
        }
        for (uint32_t i = first; i < node->image_count; i++)
            node->images[i].size = size;
    }
}

static void status_read(struct json_reader *reader, struct node *node)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "allocatable"))
            resource_vector_read(reader, &node->allocatable);
        else if (str_is(key, "images"))
            images_read(reader, node);
        else
            json_skip(reader);
    }
}

static void top_read(struct json_reader *reader, struct node *node)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "metadata"))
            kube_meta_read(reader, &node->meta, kube_keep_none);
        else if (str_is(key, "spec"))
            spec_read(reader, node);
        else if (str_is(key, "status"))
            status_read(reader, node);
        else
            json_skip(reader);
    }
}

struct node *node_decode(struct str raw, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct json_reader reader;
    struct node *node = xnew(struct node);
    node->refs = 1;
    json_init(&reader, raw, &arena);
    top_read(&reader, node);
    if (json_end(&reader, err) < 0) {
        error_prefix(err, "node %s", node->meta.name ? node->meta.name : "(unnamed)");
        node_unref(node);
        return NULL;
    }
    if (!node->meta.name || !node->meta.name[0] || !node->meta.uid || !node->meta.uid[0]) {
        node_unref(node);
        error_set(err, ERROR_INVALID, "a node has no metadata.name or metadata.uid");
        return NULL;
    }
    return node;
}

struct node *node_ref(struct node *node)
{
    node->refs++;
    return node;
}

void node_unref(struct node *node)
{
    if (!node)
        return;
    ENSURE(node->refs > 0);
    if (--node->refs)
        return;
    kube_meta_clear(&node->meta);
    resource_vector_clear(&node->allocatable);
    taints_clear(&node->taints);
    for (uint32_t i = 0; i < node->image_count; i++)
        intern_put(node->images[i].name);
    free(node->images);
    free(node);
}

static bool images_equal(const struct node *a, const struct node *b)
{
    if (a->image_count != b->image_count)
        return false;
    for (uint32_t i = 0; i < a->image_count; i++)
        if (a->images[i].name != b->images[i].name || a->images[i].size != b->images[i].size)
            return false;
    return true;
}

bool node_admits_alike(const struct node *a, const struct node *b)
{
    return a->unschedulable == b->unschedulable && a->meta.uid == b->meta.uid &&
           resource_vector_equal(&a->allocatable, &b->allocatable) &&
           taints_equal(&a->taints, &b->taints) &&
           kube_pairs_equal(&a->meta.labels, &b->meta.labels);
}

bool node_schedules_alike(const struct node *a, const struct node *b)
{
    return node_admits_alike(a, b) && images_equal(a, b);
}

static void *store_decode(struct str raw, struct error *err)
{
    return node_decode(raw, err);
}

static void store_release(void *object)
{
    node_unref(object);
}

const struct store_type node_store_type = {
    .kind = "Node", .decode = store_decode, .free = store_release};
