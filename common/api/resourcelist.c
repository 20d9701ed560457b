/*
 * Sorted lists of exact quantities, and a pod's requests and limits by Kubernetes' rules: see
 * resourcelist.h. Lists are small (a handful of names), so insertion into the sorted array is fine.
 */
#include "api/resourcelist.h"
#include "base/ensure.h"
#include "base/intern.h"

static int find(const resource_list *list, struct str name, size_t *ret_at)
{
    size_t low = 0, high = list->n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        int order = str_cmp(str_of(list->items[mid].name), name);
        if (order == 0) {
            *ret_at = mid;
            return 1;
        }
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    *ret_at = low;
    return 0;
}

/* The quantity at `name`, inserted as zero when absent. */
static struct quantity *slot(resource_list *list, struct str name)
{
    size_t at;

    if (!find(list, name, &at)) {
        struct podgroup_resource last = {intern_get(name), QUANTITY_ZERO};
        vec_push(list, last);
        ENSURE(list->items);
        memmove(&list->items[at + 1], &list->items[at], (list->n - 1 - at) * sizeof(last));
        list->items[at] = last;
    }
    return &list->items[at].quantity;
}

void resource_list_clear(resource_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        intern_put(list->items[i].name);
    vec_clear(list);
}

void resource_list_add(resource_list *list, struct str name, struct quantity quantity,
                       int64_t times)
{
    struct quantity *sum = slot(list, name);

    *sum = quantity_add(*sum, quantity_mul(quantity, times));
}

void resource_list_add_all(resource_list *list, const resource_list *other, int64_t times)
{
    for (size_t i = 0; i < other->n; i++)
        resource_list_add(list, str_of(other->items[i].name), other->items[i].quantity, times);
}

void resource_list_max(resource_list *list, const resource_list *other)
{
    for (size_t i = 0; i < other->n; i++) {
        struct quantity *mine = slot(list, str_of(other->items[i].name));
        if (quantity_cmp(*mine, other->items[i].quantity) < 0)
            *mine = other->items[i].quantity;
    }
}

const struct quantity *resource_list_get(const resource_list *list, struct str name)
{
    size_t at;

    return find(list, name, &at) ? &list->items[at].quantity : NULL;
}

bool resource_list_equal(const resource_list *a, const resource_list *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        if (a->items[i].name != b->items[i].name ||
            quantity_cmp(a->items[i].quantity, b->items[i].quantity) != 0)
            return false;
    }
    return true;
}

void resource_list_read(struct json_reader *reader, resource_list *list)
{
    struct str name;
    struct quantity quantity;

    if (!json_object(reader))
        return;
    while (json_key(reader, &name)) {
        struct str text = json_scalar(reader);
        if (json_failed(reader))
            return;
        if (quantity_parse(text, &quantity, NULL) < 0)
            json_fail(reader, "a quantity such as \"100m\" or \"1Gi\" was expected");
        else
            resource_list_add(list, name, quantity, 1);
    }
}

void resource_list_write(struct json_writer *writer, const resource_list *list)
{
    char text[QUANTITY_TEXT_MAX];

    json_w_object(writer);
    for (size_t i = 0; i < list->n; i++) {
        size_t n = quantity_print(text, list->items[i].quantity);
        json_w_member_str(writer, list->items[i].name, str_make(text, n));
    }
    json_w_end_object(writer);
}

/* ---- pods -------------------------------------------------------------------------------------
 */

struct demand {
    resource_list requests, limits;
};

static void demand_clear(struct demand *demand)
{
    resource_list_clear(&demand->requests);
    resource_list_clear(&demand->limits);
}

static void demand_add(struct demand *sum, const struct demand *part)
{
    resource_list_add_all(&sum->requests, &part->requests, 1);
    resource_list_add_all(&sum->limits, &part->limits, 1);
}

static void demand_max(struct demand *top, const struct demand *part)
{
    resource_list_max(&top->requests, &part->requests);
    resource_list_max(&top->limits, &part->limits);
}

/* A `resources` value; limits stand in for missing requests. */
static void read_resources(struct json_reader *reader, struct demand *demand)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("requests")))
            resource_list_read(reader, &demand->requests);
        else if (str_eq(key, STR("limits")))
            resource_list_read(reader, &demand->limits);
        else
            json_skip(reader);
    }
    for (size_t i = 0; i < demand->limits.n; i++) {
        struct str name = str_of(demand->limits.items[i].name);
        if (!resource_list_get(&demand->requests, name))
            resource_list_add(&demand->requests, name, demand->limits.items[i].quantity, 1);
    }
}

static void read_container(struct json_reader *reader, struct demand *demand, bool *ret_sidecar)
{
    struct str key;

    *ret_sidecar = false;
    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("resources")))
            read_resources(reader, demand);
        else if (str_eq(key, STR("restartPolicy")))
            *ret_sidecar = str_eq(json_str(reader), STR("Always"));
        else
            json_skip(reader);
    }
}

/* Sidecars add to `running`; `peak` is the largest need while the init containers run. */
static void read_init_containers(struct json_reader *reader, struct demand *running,
                                 struct demand *peak)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        struct demand own = {0};
        bool sidecar;
        read_container(reader, &own, &sidecar);
        if (sidecar) {
            demand_add(running, &own);
            demand_max(peak, running);
        } else {
            struct demand now = {0};
            demand_add(&now, &own);
            demand_add(&now, running);
            demand_max(peak, &now);
            demand_clear(&now);
        }
        demand_clear(&own);
    }
}

static void read_containers(struct json_reader *reader, struct demand *sum)
{
    if (!json_array(reader))
        return;
    while (json_item(reader)) {
        struct demand own = {0};
        bool sidecar;
        read_container(reader, &own, &sidecar);
        demand_add(sum, &own);
        demand_clear(&own);
    }
}

static void replace_all(resource_list *list, const resource_list *with)
{
    for (size_t i = 0; i < with->n; i++)
        *slot(list, str_of(with->items[i].name)) = with->items[i].quantity;
}

struct pod_parts {
    struct demand main, sidecars, peak, pod_level;
    resource_list overhead;
};

static void read_spec(struct json_reader *reader, struct pod_parts *parts)
{
    struct str key;

    if (!json_object(reader))
        return;
    while (json_key(reader, &key)) {
        if (str_eq(key, STR("containers")))
            read_containers(reader, &parts->main);
        else if (str_eq(key, STR("initContainers")))
            read_init_containers(reader, &parts->sidecars, &parts->peak);
        else if (str_eq(key, STR("resources")))
            read_resources(reader, &parts->pod_level);
        else if (str_eq(key, STR("overhead")))
            resource_list_read(reader, &parts->overhead);
        else
            json_skip(reader);
    }
}

static void add_overhead(struct pod_parts *parts)
{
    resource_list_add_all(&parts->main.requests, &parts->overhead, 1);
    for (size_t i = 0; i < parts->overhead.n; i++) {
        struct str name = str_of(parts->overhead.items[i].name);
        if (resource_list_get(&parts->main.limits, name))
            resource_list_add(&parts->main.limits, name, parts->overhead.items[i].quantity, 1);
    }
}

int pod_resources_read(struct str pod_spec, resource_list *ret_requests, resource_list *ret_limits,
                       struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct pod_parts parts = {0};
    struct json_reader reader;

    json_init(&reader, pod_spec, &arena);
    read_spec(&reader, &parts);
    demand_add(&parts.main, &parts.sidecars);
    demand_max(&parts.main, &parts.peak);
    replace_all(&parts.main.requests, &parts.pod_level.requests);
    replace_all(&parts.main.limits, &parts.pod_level.limits);
    add_overhead(&parts);
    int failed = json_end(&reader, err);
    if (failed) {
        demand_clear(&parts.main);
    } else {
        *ret_requests = parts.main.requests;
        *ret_limits = parts.main.limits;
    }
    demand_clear(&parts.sidecars);
    demand_clear(&parts.peak);
    demand_clear(&parts.pod_level);
    resource_list_clear(&parts.overhead);
    return failed;
}
