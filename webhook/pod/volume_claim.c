/*
 * Ephemeral volumes: the template of the claim that is made for each pod.
 */
#include "base/quantity.h"
#include "webhook/pod/pod_rules.h"
#include "webhook/rules/naming.h"

/* ---- metadata: labels and annotations, nothing else ---------------------------------------- */

#define NOT_SETTABLE(member)                                                                       \
    {.name = member,                                                                               \
     .kind = RULE_ANY,                                                                             \
     .flags = RULE_FORBIDDEN | RULE_ZERO_ABSENT,                                                   \
     .detail = "cannot be set"}
#define NOT_SETTABLE_LIST(member)                                                                  \
    {.name = member,                                                                               \
     .kind = RULE_ANY,                                                                             \
     .flags = RULE_FORBIDDEN | RULE_EMPTY_COUNTS,                                                  \
     .detail = "cannot be set"}

/* Kubernetes spells the path so. */
static void refuse_uid(struct rule_walk *walk, const cJSON *value, const struct field *at)
{
    const struct field shown = field_member(at->parent, "uID");
    (void)value;
    field_forbidden(walk->problems, &shown, "cannot be set");
}

static const struct rule metadata_rules[] = {
    {.name = "annotations", .kind = RULE_OBJECT, .check = pod_check_annotations},
    {.name = "labels", .kind = RULE_OBJECT, .check = pod_check_labels},
    NOT_SETTABLE("name"),
    NOT_SETTABLE("generateName"),
    NOT_SETTABLE("namespace"),
    NOT_SETTABLE("selfLink"),
    {.name = "uid", .kind = RULE_TEXT, .check = refuse_uid},
    NOT_SETTABLE("resourceVersion"),
    NOT_SETTABLE("generation"),
    NOT_SETTABLE("creationTimestamp"),
    NOT_SETTABLE("deletionTimestamp"),
    NOT_SETTABLE("deletionGracePeriodSeconds"),
    NOT_SETTABLE_LIST("ownerReferences"),
    NOT_SETTABLE_LIST("finalizers"),
    NOT_SETTABLE_LIST("managedFields"),
    {0},
};
static const struct shape metadata_shape = {.rules = metadata_rules};

/* ---- spec ---------------------------------------------------------------------------------- */

static const char *const access_modes[] = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce",
                                           "ReadWriteOncePod", NULL};
static const char *const volume_modes[] = {"Block", "Filesystem", NULL};

static bool is_one_of(const char *text, const char *const *values)
{
    for (size_t i = 0; values[i]; i++) {
        if (strcmp(text, values[i]) == 0)
            return true;
    }
    return false;
}

/* All faults are at the list itself. */
static void check_access_modes(struct rule_walk *walk, const cJSON *modes, const struct field *at)
{
    bool alone = false, others = false;
    const cJSON *mode;
    cJSON_ArrayForEach(mode, modes)
    {
        const char *text = cJSON_IsString(mode) ? mode->valuestring : "";
        if (!is_one_of(text, access_modes))
            field_not_supported(walk->problems, at, mode, access_modes);
        else if (strcmp(text, "ReadWriteOncePod") == 0)
            alone = true;
        else
            others = true;
    }
    if (alone && others)
        field_forbidden(walk->problems, at, "may not use ReadWriteOncePod with other access modes");
}

/* Reported as "resources[storage]", without "requests". */
static void check_storage(struct rule_walk *walk, const cJSON *resources, const struct field *at)
{
    const struct field storage_at = field_key(at, "storage");
    const cJSON *storage =
        cJSON_GetObjectItemCaseSensitive(tree_object(resources, "requests"), "storage");
    struct quantity quantity = QUANTITY_ZERO; /* what null means */
    struct error err = ERROR_INIT;
    if (!storage)
        field_required(walk->problems, &storage_at, "");
    else if (!cJSON_IsNull(storage) &&
             quantity_parse(tree_scalar(storage, walk->arena), &quantity, &err) < 0)
        field_invalid(walk->problems, &storage_at, storage, "must be a quantity");
    else if (quantity.nano <= 0)
        field_invalid(walk->problems, &storage_at, storage, "must be greater than zero");
}

static void check_source(struct rule_walk *walk, const cJSON *source, const struct field *at)
{
    if (!*tree_str(source, "apiGroup") &&
        strcmp(tree_str(source, "kind"), "PersistentVolumeClaim") != 0)
        field_invalid(walk->problems, at, tree_get(source, "kind"),
                      "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
}

static const struct rule source_rules[] = {
    {.name = "name", .kind = RULE_TEXT, .flags = RULE_REQUIRED},
    {.name = "kind", .kind = RULE_TEXT, .flags = RULE_REQUIRED},
    {.name = "apiGroup", .kind = RULE_TEXT, .text = naming_subdomain},
    {0},
};
static const struct shape source_shape = {.rules = source_rules, .check = check_source};

static const struct rule source_ref_rules[] = {
    {.name = "name", .kind = RULE_TEXT, .flags = RULE_REQUIRED},
    {.name = "kind", .kind = RULE_TEXT, .flags = RULE_REQUIRED},
    {.name = "apiGroup", .kind = RULE_TEXT, .text = naming_subdomain},
    {.name = "namespace", .kind = RULE_TEXT, .text = naming_label},
    {0},
};
static const struct shape source_ref_shape = {.rules = source_ref_rules, .check = check_source};

static bool same_text(const cJSON *a, const cJSON *b, const char *member)
{
    return strcmp(tree_str(a, member), tree_str(b, member)) == 0;
}

/* The two ways to say where the data come from must not contradict each other. */
static void check_sources(struct rule_walk *walk, const cJSON *spec, const struct field *at)
{
    const cJSON *source = tree_get(spec, "dataSource"), *ref = tree_get(spec, "dataSourceRef");
    if (!source || !ref)
        return;
    if (*tree_str(ref, "namespace"))
        field_invalid(walk->problems, at, source,
                      "dataSource may not be specified when dataSourceRef.namespace is specified");
    else if (!tree_get(source, "apiGroup") != !tree_get(ref, "apiGroup") ||
             !same_text(source, ref, "apiGroup") || !same_text(source, ref, "kind") ||
             !same_text(source, ref, "name"))
        field_invalid(walk->problems, at, source, "dataSource must match dataSourceRef");
}

static const struct rule spec_rules[] = {
    {.name = "accessModes",
     .kind = RULE_LIST,
     .flags = RULE_REQUIRED,
     .detail = "at least 1 access mode is required",
     .check = check_access_modes},
    {.name = "selector", .kind = RULE_OBJECT, .shape = &pod_label_selector_shape},
    {.name = "resources", .kind = RULE_OBJECT, .flags = RULE_CHECK_ABSENT, .check = check_storage},
    {.name = "storageClassName", .kind = RULE_TEXT, .text = naming_subdomain},
    {.name = "volumeMode", .kind = RULE_ENUM, .flags = RULE_EMPTY_COUNTS, .values = volume_modes},
    {.name = "dataSource", .kind = RULE_OBJECT, .shape = &source_shape},
    {.name = "dataSourceRef", .kind = RULE_OBJECT, .shape = &source_ref_shape},
    {.name = "volumeAttributesClassName", .kind = RULE_TEXT, .text = naming_subdomain},
    {0},
};
const struct shape pod_claim_spec_shape = {.rules = spec_rules, .check = check_sources};

/* ---- the volume ---------------------------------------------------------------------------- */

/* A template without a spec lacks what a spec must have. */
static void check_template(struct rule_walk *walk, const cJSON *template, const struct field *at)
{
    const struct field spec_at = field_member(at, "spec");
    shape_check(walk, &pod_claim_spec_shape, tree_get(template, "spec"), &spec_at);
}

static const struct rule template_rules[] = {
    {.name = "metadata", .kind = RULE_OBJECT, .shape = &metadata_shape},
    {0},
};
static const struct shape template_shape = {.rules = template_rules, .check = check_template};

static const struct rule ephemeral_rules[] = {
    {.name = "volumeClaimTemplate",
     .kind = RULE_OBJECT,
     .flags = RULE_REQUIRED,
     .shape = &template_shape},
    {0},
};
const struct shape volume_ephemeral_shape = {.rules = ephemeral_rules};
