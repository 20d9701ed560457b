/*
 * What a pod asks for. See pod_demand.h.
 *
 * The status may come before the spec, so nothing is added up until all is read.
 */
#include "api/pod_demand.h"
#include "base/alloc.h"

static void given_clear(struct given_demand *given)
{
    resource_set_clear(&given->actuated);
    resource_set_clear(&given->allocated);
}

void pod_demand_clear(struct pod_demand *demand)
{
    for (size_t i = 0; i < demand->containers.n; i++) {
        resource_set_clear(&demand->containers.items[i].requests);
        host_ports_clear(&demand->containers.items[i].ports);
    }
    vec_clear(&demand->containers);
    vec_clear(&demand->volume_images);
    for (size_t i = 0; i < demand->statuses.n; i++)
        given_clear(&demand->statuses.items[i]);
    vec_clear(&demand->statuses);
    given_clear(&demand->whole_given);
    resource_set_clear(&demand->overhead);
    resource_set_clear(&demand->whole);
    resource_set_clear(&demand->whole_limits);
}

/* ---- spec ------------------------------------------------------------------------------------ */

static bool has(const struct resource_set *set, uint32_t id)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (set->items[i].id == id)
            return true;
    return false;
}

static void resources_read(struct json_reader *reader, struct resource_set *requests,
                           struct resource_set *limits)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "requests"))
            resource_set_read(reader, requests);
        else if (str_is(key, "limits"))
            resource_set_read(reader, limits);
        else
            json_skip(reader);
    }
}

/* Requests, with limits standing in for those that are absent: what the API server makes of it. A
 * request of 0 is one. */
static void requests_read(struct json_reader *reader, struct resource_set *requests)
{
    struct resource_set limits = {NULL, 0};
    resources_read(reader, requests, &limits);
    for (uint32_t i = 0; i < limits.n; i++)
        if (!has(requests, limits.items[i].id))
            resource_set_put_any(requests, limits.items[i].id, limits.items[i].amount);
    resource_set_clear(&limits);
}

static void container_read(struct json_reader *reader, struct container_demand *container)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "resources"))
            requests_read(reader, &container->requests);
        else if (str_is(key, "name"))
            container->name = json_str(reader);
        else if (str_is(key, "image"))
            container->image = json_str(reader);
        else if (str_is(key, "ports"))
            host_ports_read(reader, &container->ports);
        else if (str_is(key, "restartPolicy") && container->kind != CONTAINER_MAIN)
            container->kind =
                str_is(json_str(reader), "Always") ? CONTAINER_SIDECAR : CONTAINER_INIT;
        else
            json_skip(reader);
    }
}

void pod_demand_containers(struct json_reader *reader, struct pod_demand *demand, bool init)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        struct container_demand container = {.kind = init ? CONTAINER_INIT : CONTAINER_MAIN};
        container_read(reader, &container);
        vec_push(&demand->containers, container);
    }
}

static void volume_read(struct json_reader *reader, struct pod_demand *demand)
{
    struct str key, inner;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        bool image = str_is(key, "image");
        if (!image) {
            json_skip(reader);
            continue;
        }
        bool present = json_object(reader);
        while (present && json_key(reader, &inner)) {
            if (str_is(inner, "reference"))
                vec_push(&demand->volume_images, json_str(reader));
            else
                json_skip(reader);
        }
    }
}

void pod_demand_volumes(struct json_reader *reader, struct pod_demand *demand)
{
    if (!json_array(reader))
        return;
    while (json_item(reader))
        volume_read(reader, demand);
}

void pod_demand_whole(struct json_reader *reader, struct pod_demand *demand)
{
    resources_read(reader, &demand->whole, &demand->whole_limits);
}

/* ---- status ---------------------------------------------------------------------------------- */

void pod_demand_actuated(struct json_reader *reader, struct given_demand *given)
{
    struct resource_set limits = {NULL, 0};
    given->present = json_peek(reader) == JSON_OBJECT;
    resources_read(reader, &given->actuated, &limits);
    resource_set_clear(&limits);
}

void pod_demand_allocated(struct json_reader *reader, struct given_demand *given)
{
    resource_set_read(reader, &given->allocated);
}

static void status_read(struct json_reader *reader, struct given_demand *given)
{
    struct str key;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_is(key, "name"))
            given->name = json_str(reader);
        else if (str_is(key, "resources"))
            pod_demand_actuated(reader, given);
        else if (str_is(key, "allocatedResources"))
            pod_demand_allocated(reader, given);
        else
            json_skip(reader);
    }
}

void pod_demand_statuses(struct json_reader *reader, struct pod_demand *demand)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        struct given_demand given = {0};
        status_read(reader, &given);
        if (given.present)
            vec_push(&demand->statuses, given);
        else
            given_clear(&given);
    }
}

/* ---- the sum --------------------------------------------------------------------------------- */

/* The most of what is asked for, allocated and in use; what cannot be had does not count. */
static struct resource_set effective(const struct pod_demand *demand,
                                     const struct resource_set *asked,
                                     const struct given_demand *given)
{
    struct resource_set most = {NULL, 0};
    if (!demand->infeasible)
        resource_set_max(&most, asked);
    resource_set_max(&most, &given->actuated);
    resource_set_max(&most, &given->allocated);
    return most;
}

static const struct given_demand *given_to(const struct pod_demand *demand, struct str name)
{
    for (size_t i = 0; i < demand->statuses.n; i++)
        if (str_eq(demand->statuses.items[i].name, name))
            return &demand->statuses.items[i];
    return NULL;
}

/* What a container that runs on, or is to run, takes. */
static struct resource_set container_takes(const struct pod_demand *demand,
                                           const struct container_demand *container)
{
    const struct given_demand *given =
        container->kind == CONTAINER_INIT ? NULL : given_to(demand, container->name);
    return given ? effective(demand, &container->requests, given)
                 : resource_set_copy(&container->requests);
}

/* Main containers and sidecars together, or an init container beside the sidecars before it. */
static struct resource_set containers_total(const struct pod_demand *demand)
{
    struct resource_set sum = {NULL, 0}, sidecars = {NULL, 0}, init = {NULL, 0};
    for (size_t i = 0; i < demand->containers.n; i++) {
        const struct container_demand *container = &demand->containers.items[i];
        struct resource_set takes = container_takes(demand, container);
        if (container->kind == CONTAINER_INIT) {
            resource_set_add(&takes, &sidecars, 1);
            resource_set_max(&init, &takes);
        } else {
            resource_set_add(&sum, &takes, 1);
        }
        if (container->kind == CONTAINER_SIDECAR)
            resource_set_add(&sidecars, &takes, 1);
        resource_set_clear(&takes);
    }
    resource_set_max(&sum, &init);
    resource_set_clear(&sidecars);
    resource_set_clear(&init);
    return sum;
}

/* Of the whole pod only these may be asked for. */
static bool counts_for_whole(uint32_t id)
{
    return id == RESOURCE_CPU || id == RESOURCE_MEMORY ||
           str_starts(str_of(resource_name(id)), STR("hugepages-"));
}

/* Pod-level requests take the place of the containers'; a limit stands in where neither the pod
 * nor a container asks. */
static void apply_whole(const struct pod_demand *demand, struct resource_set *sum)
{
    const struct resource_set *whole = &demand->whole, *limits = &demand->whole_limits;
    struct resource_set most = {NULL, 0};
    bool given = demand->whole_given.present;
    if (given)
        most = effective(demand, whole, &demand->whole_given);
    for (uint32_t i = 0; i < whole->n; i++) {
        uint32_t id = whole->items[i].id;
        if (counts_for_whole(id))
            resource_set_put(sum, id, given ? resource_set_get(&most, id) : whole->items[i].amount);
    }
    for (uint32_t i = 0; i < limits->n; i++) {
        uint32_t id = limits->items[i].id;
        if (counts_for_whole(id) && !has(whole, id) && !resource_set_get(sum, id))
            resource_set_put(sum, id, limits->items[i].amount);
    }
    resource_set_clear(&most);
}

struct resource_set pod_demand_total(const struct pod_demand *demand)
{
    struct resource_set sum = containers_total(demand);
    apply_whole(demand, &sum);
    resource_set_add(&sum, &demand->overhead, 1);
    return sum;
}
