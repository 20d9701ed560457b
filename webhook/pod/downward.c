/*
 * Values that a container or a volume takes from its own pod: fieldRef and resourceFieldRef.
 */
#include "base/quantity.h"
#include "webhook/pod/pod_case.h"
#include "webhook/rules/naming.h"

/* Field paths that a pod has: naming another one is a mistake of its own kind. */
static const char *const known_paths[] = {"metadata.annotations", "metadata.labels",
                                          "metadata.name",        "metadata.namespace",
                                          "metadata.uid",         "spec.host",
                                          "spec.nodeName",        "spec.restartPolicy",
                                          "spec.schedulerName",   "spec.serviceAccountName",
                                          "status.hostIP",        "status.hostIPs",
                                          "status.phase",         "status.podIP",
                                          "status.podIPs",        NULL};

static const char *const resource_paths[] = {"limits.cpu",
                                             "limits.ephemeral-storage",
                                             "limits.memory",
                                             "requests.cpu",
                                             "requests.ephemeral-storage",
                                             "requests.memory",
                                             NULL};

static bool is_one_of(struct str text, const char *const *values)
{
    for (size_t i = 0; values[i]; i++) {
        if (str_is(text, values[i]))
            return true;
    }
    return false;
}

/* "metadata.labels['key']": the part in front, and the key. False where there is no key. */
static bool split_key(struct str path, struct str *ret_front, struct str *ret_key)
{
    const ptrdiff_t open = str_find(path, STR("['"));
    if (open <= 0 || !str_ends(path, STR("']")) || (size_t)open + 4 > path.n)
        return false;
    *ret_front = str_sub(path, 0, (size_t)open);
    *ret_key = str_sub(path, (size_t)open + 2, path.n - 2);
    return true;
}

/* Keys of annotations may have capitals in front of the '/' too. */
static const char *annotation_key_fault(struct rule_walk *walk, struct str key)
{
    char *lower = arena_alloc(walk->arena, key.n + 1);
    for (size_t i = 0; i < key.n; i++) {
        lower[i] = key.p[i];
        if (lower[i] >= 'A' && lower[i] <= 'Z')
            lower[i] = (char)(lower[i] - 'A' + 'a');
    }
    return naming_key(str_make(lower, key.n));
}

static void check_keyed_path(struct rule_walk *walk, const cJSON *path, struct str front,
                             struct str key, const struct field *ref_at)
{
    const struct field at = field_member(ref_at, "fieldPath");
    const char *fault = NULL;
    if (str_is(front, "metadata.annotations"))
        fault = annotation_key_fault(walk, key);
    else if (str_is(front, "metadata.labels"))
        fault = naming_key(key);
    else
        field_invalid(walk->problems, &at, path,
                      "only metadata.labels and metadata.annotations take a key in brackets");
    if (fault)
        field_invalid(walk->problems, ref_at, path, "%s", fault);
}

static void check_path(struct rule_walk *walk, const cJSON *path, const struct field *ref_at,
                       const char *const *allowed)
{
    const struct field at = field_member(ref_at, "fieldPath");
    struct str text = str_of(path->valuestring), front, key;
    if (split_key(text, &front, &key)) {
        check_keyed_path(walk, path, front, key, ref_at);
        return;
    }
    if (!is_one_of(text, known_paths)) {
        field_invalid(walk->problems, &at, path, "pods have no such field to refer to");
        return;
    }
    if (str_is(text, "spec.host"))
        text = STR("spec.nodeName"); /* its old name */
    if (!is_one_of(text, allowed))
        field_not_supported(walk->problems, &at, path, allowed);
}

void pod_check_field_ref(struct rule_walk *walk, const cJSON *ref, const struct field *at,
                         const char *const *allowed)
{
    const struct field path_at = field_member(at, "fieldPath");
    const cJSON *path = tree_get(ref, "fieldPath");
    const char *version = tree_str(ref, "apiVersion");
    if (path && !cJSON_IsString(path))
        field_invalid(walk->problems, &path_at, path, "must be a string");
    else if (!path || !*path->valuestring)
        field_required(walk->problems, &path_at, "");
    else if (*version && strcmp(version, "v1") != 0)
        field_invalid(walk->problems, &path_at, path, "apiVersion must be v1, or left out");
    else
        check_path(walk, path, at, allowed);
}

/* ---- resourceFieldRef ---------------------------------------------------------------------- */

static bool is_hugepages_path(struct str path)
{
    return str_starts(path, STR("limits.hugepages-")) ||
           str_starts(path, STR("requests.hugepages-"));
}

#define BYTE_DIVISORS "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"

static const char *divisor_fault(struct str resource, struct str divisor)
{
    static const char *const of_cpu[] = {"1m", "1", NULL};
    static const char *const of_bytes[] = {"1",   "1k",  "1M",  "1G",  "1T",  "1P",  "1E",
                                           "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei", NULL};
    if (str_ends(resource, STR(".cpu")))
        return is_one_of(divisor, of_cpu) ? NULL : "the divisor of cpu must be 1m or 1";
    return is_one_of(divisor, of_bytes) ? NULL : "the divisor must be one of " BYTE_DIVISORS;
}

static void check_divisor(struct rule_walk *walk, const cJSON *divisor, struct str resource,
                          const struct field *at)
{
    struct error err = ERROR_INIT;
    struct quantity quantity;
    char text[QUANTITY_TEXT_MAX];
    if (quantity_parse(str_trim(tree_scalar(divisor, walk->arena)), &quantity, &err) < 0) {
        field_invalid(walk->problems, at, divisor, "must be a quantity");
        return;
    }
    if (quantity.nano == 0 || !(is_one_of(resource, resource_paths) || is_hugepages_path(resource)))
        return;
    const size_t n = quantity_print(text, quantity);
    const char *fault = divisor_fault(resource, str_make(text, n));
    if (fault)
        field_invalid(walk->problems, at, divisor, "%s", fault);
}

void pod_check_resource_field_ref(struct rule_walk *walk, const cJSON *ref, const struct field *at,
                                  bool in_volume)
{
    const struct field name_at = field_member(at, "containerName"),
                       resource_at = field_member(at, "resource"),
                       divisor_at = field_member(at, "divisor");
    const cJSON *resource = tree_get(ref, "resource"), *divisor = tree_get(ref, "divisor");
    const struct str path = str_of(tree_str(ref, "resource"));
    if (in_volume && !*tree_str(ref, "containerName"))
        field_required(walk->problems, &name_at, "");
    else if (!path.n)
        field_required(walk->problems, &resource_at, "");
    else if (!is_one_of(path, resource_paths) && !is_hugepages_path(path))
        field_not_supported(walk->problems, &resource_at, resource, resource_paths);
    if (divisor)
        check_divisor(walk, divisor, path, &divisor_at);
}
