/*
 * Resources: names, quantities, requests against limits, claims. Of containers, of pods and of the
 * overhead of a pod.
 *
 * Quantities are taken as Kubernetes keeps them: rounded up to whole thousandths.
 */
#include "webhook/rules/resources.h"
#include "webhook/pod/container_parts.h"
#include "webhook/rules/naming.h"

#define NANO 1000000000
#define NANO_OF_MILLI 1000000

bool pod_read_quantity(struct rule_walk *walk, const cJSON *value, struct quantity *ret_quantity)
{
    struct error err = ERROR_INIT;
    struct quantity quantity = QUANTITY_ZERO;
    if (!cJSON_IsNull(value) &&
        quantity_parse(str_trim(tree_scalar(value, walk->arena)), &quantity, &err) < 0)
        return false;
    const quantity_nano rest = quantity.nano % NANO_OF_MILLI;
    if (rest)
        quantity.nano += rest > 0 ? NANO_OF_MILLI - rest : -NANO_OF_MILLI - rest;
    *ret_quantity = quantity;
    return true;
}

/* ---- names --------------------------------------------------------------------------------- */

static bool is_hugepages(struct str name)
{
    return str_starts(name, STR("hugepages-"));
}

static bool is_compute(struct str name)
{
    return str_is(name, "cpu") || str_is(name, "memory");
}

/* Of Kubernetes itself: no prefix, or its own. */
static bool is_native(struct str name)
{
    return str_chr(name, '/') < 0 || str_find(name, STR("kubernetes.io/")) >= 0;
}

static bool is_overcommit_allowed(struct str name)
{
    return is_native(name) && !is_hugepages(name);
}

/* Devices and the like: the name must fit behind "requests." too, where quotas have it. */
static bool is_extended(struct str name, struct arena *arena)
{
    const struct str prefix = STR("requests.");
    if (is_native(name) || str_starts(name, prefix))
        return false;
    return naming_key(arena_printf(arena, "requests.%.*s", STR_ARG(name))) == NULL;
}

/* Names that Kubernetes has for other purposes, and which only count wholes. */
static bool is_counted(struct str name)
{
    static const char *const names[] = {"configmaps",
                                        "persistentvolumeclaims",
                                        "pods",
                                        "replicationcontrollers",
                                        "resourcequotas",
                                        "secrets",
                                        "services",
                                        "services.loadbalancers",
                                        "services.nodeports"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (str_is(name, names[i]))
            return true;
    }
    return false;
}

typedef void check_name_fn(struct rule_walk *walk, struct str name, const struct field *at);

static void check_container_name(struct rule_walk *walk, struct str name, const struct field *at)
{
    const char *reason = naming_key(name);
    if (!reason && str_chr(name, '/') < 0 && !is_compute(name) &&
        !str_is(name, "ephemeral-storage") && !is_hugepages(name))
        reason = "must be a standard resource for containers: cpu, memory, ephemeral-storage, "
                 "hugepages-<size>, or the full name of a device";
    else if (!reason && !is_native(name) && !is_extended(name, walk->arena))
        reason = "doesn't follow extended resource name standard";
    if (reason)
        field_invalid_text(walk->problems, at, name.p, "%s", reason);
}

/* Standard resources that a pod as a whole cannot have, and all with a prefix. */
static bool is_known_elsewhere(struct str name)
{
    static const char *const names[] = {
        "ephemeral-storage", "storage",      "limits.cpu",      "limits.ephemeral-storage",
        "limits.memory",     "requests.cpu", "requests.memory", "requests.ephemeral-storage",
        "requests.storage"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (str_is(name, names[i]))
            return true;
    }
    return str_chr(name, '/') >= 0 || is_counted(name) ||
           str_starts(name, STR("requests.hugepages-"));
}

static void check_pod_name(struct rule_walk *walk, struct str name, const struct field *at)
{
    static const char *const supported[] = {"cpu", "hugepages-", "memory", NULL};
    const char *reason = naming_key(name);
    if (!reason && (is_compute(name) || is_hugepages(name)))
        return;
    if (!reason && !is_known_elsewhere(name))
        reason = "must be a standard resource type or fully qualified";
    if (reason) {
        field_invalid_text(walk->problems, at, name.p, "%s", reason);
        return;
    }
    cJSON *shown cleanup_tree = cJSON_CreateStringReference(name.p);
    field_not_supported(walk->problems, at, shown, supported);
}

/* ---- lists of quantities ------------------------------------------------------------------- */

/* limits or requests, read and checked each by itself. */
struct quantities {
    struct map items; /* name -> struct quantity *, in the arena of the walk */
    bool has_compute, has_hugepages;
};

static void check_hugepages(struct rule_walk *walk, struct str name, struct quantity quantity,
                            const struct field *at)
{
    struct error err = ERROR_INIT;
    struct quantity page;
    const struct str size = str_from(name, sizeof("hugepages-") - 1);
    if (quantity_parse(size, &page, &err) == 0 && page.nano > 0 && page.nano % NANO == 0 &&
        quantity_value(quantity) % quantity_value(page) == 0)
        return;
    field_invalid_text(walk->problems, at, quantity_text(quantity).text,
                       "must be a whole number of pages of %.*s", STR_ARG(str_cut(size, 64)));
}

static void check_quantity(struct rule_walk *walk, struct str name, struct quantity quantity,
                           const struct field *at)
{
    if (quantity.nano < 0)
        field_invalid_text(walk->problems, at, quantity_text(quantity).text,
                           "must be greater than or equal to 0");
    if ((is_counted(name) || is_extended(name, walk->arena)) && quantity.nano % NANO != 0)
        field_invalid_text(walk->problems, at, quantity_text(quantity).text, "must be an integer");
    if (is_hugepages(name))
        check_hugepages(walk, name, quantity, at);
}

static void read_one(struct rule_walk *walk, struct quantities *list, const cJSON *item,
                     const struct field *list_at, check_name_fn *check_name)
{
    const struct str name = str_of(item->string);
    const struct field at = field_key(list_at, item->string);
    struct quantity *quantity = arena_new(walk->arena, struct quantity);
    check_name(walk, name, &at);
    if (!pod_read_quantity(walk, item, quantity)) {
        field_invalid(walk->problems, &at, item, "must be a quantity, as \"500m\" or \"2Gi\"");
        return;
    }
    check_quantity(walk, name, *quantity, &at);
    map_set(&list->items, name, quantity);
    list->has_compute = list->has_compute || is_compute(name);
    list->has_hugepages = list->has_hugepages || is_hugepages(name);
}

static struct quantities read_list(struct rule_walk *walk, const cJSON *list,
                                   const struct field *at, check_name_fn *check_name)
{
    struct quantities read = {.items = MAP_INIT};
    const cJSON *item;
    if (list && !cJSON_IsObject(list))
        field_invalid(walk->problems, at, list, "must be an object");
    else
        cJSON_ArrayForEach(item, list) read_one(walk, &read, item, at, check_name);
    return read;
}

/* ---- requests against limits --------------------------------------------------------------- */

static void check_request(struct rule_walk *walk, struct str name, const struct quantity *request,
                          const struct quantity *limit, const struct field *requests_at)
{
    const int order = quantity_cmp(*request, *limit);
    const bool exact = !is_overcommit_allowed(name);
    if (order == 0 || (order < 0 && !exact))
        return;
    field_invalid_text(walk->problems, requests_at, quantity_text(*request).text,
                       "must be %s %.*s limit of %s", exact ? "equal to" : "less than or equal to",
                       STR_ARG(str_cut(name, 256)), quantity_text(*limit).text);
}

static void check_requests(struct rule_walk *walk, const struct quantities *requests,
                           const struct quantities *limits, const struct field *at)
{
    const struct field requests_at = field_member(at, "requests"),
                       limits_at = field_member(at, "limits");
    struct str name;
    void *request;
    for (size_t i = 0; map_next(&requests->items, &i, &name, &request);) {
        const struct quantity *limit = map_get(&limits->items, name);
        if (limit)
            check_request(walk, name, request, limit, &requests_at);
        else if (!is_overcommit_allowed(name))
            field_required(walk->problems, &limits_at,
                           "Limit must be set for non overcommitable resources");
    }
}

static void check_lists(struct rule_walk *walk, const cJSON *limits_list,
                        const cJSON *requests_list, const struct field *at,
                        check_name_fn *check_name)
{
    const struct field limits_at = field_member(at, "limits"),
                       requests_at = field_member(at, "requests");
    struct quantities limits = read_list(walk, limits_list, &limits_at, check_name);
    struct quantities requests = read_list(walk, requests_list, &requests_at, check_name);
    check_requests(walk, &requests, &limits, at);
    if ((limits.has_hugepages || requests.has_hugepages) && !limits.has_compute &&
        !requests.has_compute)
        field_forbidden(walk->problems, at, "HugePages require cpu or memory");
    map_clear(&limits.items);
    map_clear(&requests.items);
}

void pod_check_resource_list(struct rule_walk *walk, const cJSON *list, const struct field *at)
{
    check_lists(walk, list, NULL, at, check_container_name);
}

/* ---- claims -------------------------------------------------------------------------------- */

/* What the claims before named. */
struct claims_seen {
    struct map whole;    /* names of claims taken as a whole */
    struct map parts;    /* "<claim>/<request>" */
    struct map in_parts; /* names of claims of which a part was taken */
};

static void check_claim_once(struct rule_walk *walk, struct claims_seen *seen, const cJSON *claim,
                             const struct field *at)
{
    const cJSON *name = tree_get(claim, "name");
    const struct str text = str_of(tree_str(claim, "name"));
    const char *request = tree_str(claim, "request");
    struct map *list = *request ? &seen->parts : &seen->whole;
    const struct str key = *request ? arena_printf(walk->arena, "%s/%s", text.p, request) : text;
    if (map_has(&seen->whole, text) || map_has(list, key) ||
        (!*request && map_has(&seen->in_parts, text)))
        field_duplicate(walk->problems, at, name);
    map_set(list, key, NULL);
    if (*request)
        map_set(&seen->in_parts, text, NULL);
}

static void check_claim(struct rule_walk *walk, struct claims_seen *seen, const cJSON *claim,
                        const struct field *at)
{
    const struct field request_at = field_member(at, "request");
    const cJSON *name = tree_get(claim, "name");
    const char *request = tree_str(claim, "request");
    const char *reason = *request ? naming_label(str_of(request)) : NULL;
    if (!*tree_str(claim, "name")) {
        field_required(walk->problems, at, "");
        return;
    }
    if (reason)
        field_invalid(walk->problems, &request_at, tree_get(claim, "request"), "%s", reason);
    check_claim_once(walk, seen, claim, at);
    if (!map_has(&pod_case_of(walk)->claims, str_of(name->valuestring)))
        field_not_found(walk->problems, at, name);
}

static void check_claims(struct rule_walk *walk, const cJSON *claims, const struct field *at)
{
    struct claims_seen seen = {MAP_INIT, MAP_INIT, MAP_INIT};
    const cJSON *claim;
    size_t i = 0;
    cJSON_ArrayForEach(claim, claims)
    {
        const struct field item_at = field_item(at, i++);
        check_claim(walk, &seen, claim, &item_at);
    }
    map_clear(&seen.whole);
    map_clear(&seen.parts);
    map_clear(&seen.in_parts);
}

static const struct rule claims_rules[] = {
    {.name = "claims", .kind = RULE_LIST, .check = check_claims}, {0}};
static const struct shape claims_shape = {.rules = claims_rules};

/* ---- whole sets ---------------------------------------------------------------------------- */

void pod_check_container_resources(struct rule_walk *walk, const cJSON *resources,
                                   const struct field *at)
{
    check_lists(walk, tree_get(resources, "limits"), tree_get(resources, "requests"), at,
                check_container_name);
    shape_check(walk, &claims_shape, resources, at);
}

void pod_check_own_resources(struct rule_walk *walk, const cJSON *resources, const struct field *at)
{
    check_lists(walk, tree_get(resources, "limits"), tree_get(resources, "requests"), at,
                check_pod_name);
    shape_check(walk, &claims_shape, resources, at);
}
