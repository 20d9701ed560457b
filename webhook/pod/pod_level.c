/*
 * Resources of a pod as a whole (spec.resources), held against those of its containers.
 *
 * What containers ask for together: the sum of the regular ones and the sidecars, or the most that
 * an init container needs beside the sidecars before it, whichever is more.
 */
#include "webhook/pod/container_parts.h"
#include "webhook/rules/resources.h"

/* One resource that the pod has an amount of. */
struct total {
    struct quantity pod;      /* the pod's own amount */
    struct quantity sum;      /* of regular containers and sidecars */
    struct quantity sidecars; /* of the sidecars so far */
    struct quantity peak;     /* while an init container runs */
};

/* name -> struct total *, in the arena of the walk, for each quantity in `list`. */
static struct map totals_new(struct rule_walk *walk, const cJSON *list)
{
    struct map totals = MAP_INIT;
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        struct total *total = arena_new(walk->arena, struct total);
        if (pod_read_quantity(walk, item, &total->pod))
            map_set(&totals, str_of(item->string), total);
    }
    return totals;
}

enum container_role { ROLE_REGULAR, ROLE_SIDECAR, ROLE_INIT };

static void total_add(struct total *total, struct quantity amount, enum container_role role)
{
    if (role == ROLE_INIT) {
        const struct quantity now = quantity_add(total->sidecars, amount);
        if (quantity_cmp(now, total->peak) > 0)
            total->peak = now;
        return;
    }
    total->sum = quantity_add(total->sum, amount);
    if (role == ROLE_SIDECAR)
        total->sidecars = quantity_add(total->sidecars, amount);
}

static void totals_add(struct rule_walk *walk, struct map *totals, const cJSON *list,
                       enum container_role role)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        struct total *total = map_get(totals, str_of(item->string));
        struct quantity amount;
        if (total && pod_read_quantity(walk, item, &amount))
            total_add(total, amount, role);
    }
}

/* Adds `member` (requests or limits) of all containers. */
static void totals_add_pod(struct rule_walk *walk, struct map *totals, const char *member)
{
    const cJSON *spec = pod_case_of(walk)->spec, *container;
    cJSON_ArrayForEach(container, tree_array(spec, "containers")) totals_add(
        walk, totals, tree_object(tree_get(container, "resources"), member), ROLE_REGULAR);
    cJSON_ArrayForEach(container, tree_array(spec, "initContainers"))
    {
        const bool sidecar = strcmp(tree_str(container, "restartPolicy"), "Always") == 0;
        totals_add(walk, totals, tree_object(tree_get(container, "resources"), member),
                   sidecar ? ROLE_SIDECAR : ROLE_INIT);
    }
}

/* What the containers need together may not be more than the pod's amount. */
static void check_totals(struct rule_walk *walk, const struct map *totals, const char *member,
                         bool hugepages_only, const struct field *at)
{
    const struct field list_at = field_member(at, member);
    struct str name;
    void *value;
    for (size_t i = 0; map_next(totals, &i, &name, &value);) {
        const struct total *total = value;
        const struct field key_at = field_key(&list_at, name.p);
        const struct quantity needed =
            quantity_cmp(total->peak, total->sum) > 0 ? total->peak : total->sum;
        if ((hugepages_only && !str_starts(name, STR("hugepages-"))) ||
            quantity_cmp(needed, total->pod) <= 0 || total->pod.nano < 0)
            continue; /* a negative amount was told already */
        field_invalid_text(walk->problems, &key_at, quantity_text(total->pod).text,
                           "must be greater than or equal to aggregate container %s of %s", member,
                           quantity_text(needed).text);
    }
}

/* ---- each container's limits --------------------------------------------------------------- */

static void check_limits_of(struct rule_walk *walk, const struct map *pod_limits,
                            const cJSON *limits, const struct field *container_at)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, limits)
    {
        const struct field key_at = field_key(container_at, item->string),
                           at = field_member(&key_at, "limits");
        const struct total *total = map_get(pod_limits, str_of(item->string));
        struct quantity limit;
        if (total && pod_read_quantity(walk, item, &limit) && quantity_cmp(limit, total->pod) > 0)
            field_invalid_text(walk->problems, &at, quantity_text(limit).text,
                               "must be less than or equal to pod limits of %s",
                               quantity_text(total->pod).text);
    }
}

/* The place is "resources.containers[<i>][<name>].limits", as Kubernetes has it. */
static void check_each_limit(struct rule_walk *walk, const struct map *pod_limits,
                             const struct field *at)
{
    const struct field list_at = field_member(at, "containers");
    const cJSON *container;
    size_t i = 0;
    cJSON_ArrayForEach(container, tree_array(pod_case_of(walk)->spec, "containers"))
    {
        const struct field container_at = field_item(&list_at, i++);
        check_limits_of(walk, pod_limits, tree_object(tree_get(container, "resources"), "limits"),
                        &container_at);
    }
}

static void check_against_containers(struct rule_walk *walk, const cJSON *resources,
                                     const struct field *at)
{
    struct map requests = totals_new(walk, tree_object(resources, "requests"));
    struct map limits = totals_new(walk, tree_object(resources, "limits"));
    totals_add_pod(walk, &requests, "requests");
    totals_add_pod(walk, &limits, "limits");
    check_totals(walk, &requests, "requests", false, at);
    check_totals(walk, &limits, "limits", true, at);
    check_each_limit(walk, &limits, at);
    map_clear(&requests);
    map_clear(&limits);
}

void pod_check_pod_level_resources(struct rule_walk *walk, const cJSON *resources,
                                   const struct field *at)
{
    const struct pod_case *pod = pod_case_of(walk);
    const struct field claims_at = field_member(at, "claims");
    if (!pod->options->pod_level_resources)
        return;
    if (strcmp(pod->os, "windows") == 0) {
        field_forbidden(walk->problems, at, "may not be set for a windows pod");
        return;
    }
    if (tree_get(resources, "claims"))
        field_forbidden(walk->problems, &claims_at,
                        "claims may not be set for Resources at pod-level");
    pod_check_own_resources(walk, resources, at);
    check_against_containers(walk, resources, at);
}
