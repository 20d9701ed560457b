/*
 * Images on nodes. See images.h.
 */
#include "scheduler/images.h"
#include "base/alloc.h"
#include "base/ensure.h"

#define MB ((int64_t)1024 * 1024)
/* An image on every node counts with its size, one on few nodes with as much less. Below the first
 * there are no points, from the second on, for each container, all of them. */
#define LEAST (23 * MB)
#define MOST (1000 * MB)
#define POINTS 100

static uintptr_t nodes_with(const struct cache *cache, const char *image)
{
    return (uintptr_t)map_get(&cache->images, str_of(image));
}

void images_node(struct cache *cache, const struct node *object, int sign)
{
    for (uint32_t i = 0; i < object->image_count; i++) {
        struct str name = str_of(object->images[i].name);
        uintptr_t count = (uintptr_t)map_get(&cache->images, name) + (uintptr_t)sign;
        if (count)
            map_set(&cache->images, name, (void *)count); /* no pointer: a number */
        else
            map_del(&cache->images, name);
    }
}

static int64_t size_on(const struct node *object, const char *image)
{
    for (uint32_t i = 0; i < object->image_count; i++)
        if (object->images[i].name == image)
            return object->images[i].size;
    return 0;
}

int64_t images_points(const struct cache *cache, const struct pod_class *cls,
                      const struct sched_node *node)
{
    int64_t sum = 0, most = MOST * cls->containers;
    if (!map_count(&cache->images) || !node->object->image_count || !cls->containers)
        return 0;
    for (uint32_t i = 0; i < cls->image_count; i++) {
        double part = (double)nodes_with(cache, cls->images[i]) / (double)cache->known_nodes;
        sum += (int64_t)((double)size_on(node->object, cls->images[i]) * part);
    }
    sum = sum < LEAST ? LEAST : sum > most ? most : sum;
    return POINTS * (sum - LEAST) / (most - LEAST);
}

uint64_t images_stamp(const struct cache *cache, const struct pod_class *cls)
{
    uint64_t stamp = 0;
    for (uint32_t i = 0; i < cls->image_count && map_count(&cache->images); i++) {
        uint64_t nodes = nodes_with(cache, cls->images[i]);
        if (nodes)
            stamp = stamp * 31 + (nodes << 32) + cache->known_nodes;
    }
    return stamp;
}
