/*
 * Sources of volumes that are files: directories of the node, ConfigMaps, Secrets, the pod's own
 * fields.
 */
#include "base/quantity.h"
#include "webhook/pod/pod_rules.h"
#include "webhook/rules/naming.h"

const char *volume_text_no_backsteps(struct str path)
{
    struct str rest = path, part;
    while (str_split(&rest, '/', &part)) {
        if (str_is(part, ".."))
            return "must not contain '..'";
    }
    return NULL;
}

const char *volume_text_descending(struct str path)
{
    if (path.n && path.p[0] == '/')
        return "must be a relative path";
    return volume_text_no_backsteps(path);
}

const char *volume_text_local(struct str path)
{
    const char *reason = volume_text_descending(path);
    return !reason && str_starts(path, STR("..")) ? "must not start with '..'" : reason;
}

/* ---- directories --------------------------------------------------------------------------- */

static void check_size_limit(struct rule_walk *walk, const cJSON *value, const struct field *at)
{
    struct quantity quantity;
    struct error err = ERROR_INIT;
    if (quantity_parse(tree_scalar(value, walk->arena), &quantity, &err) < 0)
        field_invalid(walk->problems, at, value, "must be a quantity");
    else if (quantity.nano < 0)
        field_forbidden(walk->problems, at, "must be greater than or equal to 0");
}

static const struct rule empty_rules[] = {
    {.name = "sizeLimit", .kind = RULE_ANY, .flags = RULE_EMPTY_COUNTS, .check = check_size_limit},
    {0},
};
const struct shape volume_empty_shape = {.rules = empty_rules};

static const char *const host_path_types[] = {
    "",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
    "File", "FileOrCreate", "Socket",     NULL};

static const struct rule host_path_type_rules[] = {
    {.name = "type", .kind = RULE_ENUM, .values = host_path_types},
    {0},
};
static const struct shape host_path_type_shape = {.rules = host_path_type_rules};

static void check_host_path_type(struct rule_walk *walk, const cJSON *source,
                                 const struct field *at)
{
    if (*tree_str(source, "path"))
        shape_check(walk, &host_path_type_shape, source, at);
}

static const struct rule host_path_rules[] = {
    {.name = "path", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = volume_text_no_backsteps},
    {0},
};
const struct shape volume_host_path_shape = {.rules = host_path_rules,
                                             .check = check_host_path_type};

static const struct rule git_rules[] = {
    {.name = "repository", .kind = RULE_TEXT, .flags = RULE_REQUIRED},
    {.name = "directory", .kind = RULE_TEXT, .text = volume_text_descending},
    {0},
};
const struct shape volume_git_shape = {.rules = git_rules};

static const char *const pull_policies[] = {"Always", "IfNotPresent", "Never", NULL};

static const struct rule image_rules[] = {
    {.name = "pullPolicy", .kind = RULE_ENUM, .values = pull_policies},
    {0},
};
const struct shape volume_image_shape = {.rules = image_rules};

/* ---- ConfigMaps and Secrets ---------------------------------------------------------------- */

static const struct rule item_rules[] = {
    {.name = "key", .kind = RULE_TEXT, .flags = RULE_REQUIRED},
    {.name = "path", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = volume_text_local},
    VOLUME_MODE_RULE("mode"),
    {0},
};
const struct shape volume_item_shape = {.rules = item_rules};

static const struct rule secret_rules[] = {
    {.name = "secretName", .kind = RULE_TEXT, .flags = RULE_REQUIRED},
    VOLUME_MODE_RULE("defaultMode"),
    {.name = "items", .kind = RULE_LIST, .shape = &volume_item_shape},
    {0},
};
const struct shape volume_secret_shape = {.rules = secret_rules};

static const struct rule config_map_rules[] = {
    {.name = "name", .kind = RULE_TEXT, .flags = RULE_REQUIRED},
    VOLUME_MODE_RULE("defaultMode"),
    {.name = "items", .kind = RULE_LIST, .shape = &volume_item_shape},
    {0},
};
const struct shape volume_config_map_shape = {.rules = config_map_rules};

/* ---- the pod's own fields ------------------------------------------------------------------ */

static const char *const file_field_paths[] = {"metadata.annotations", "metadata.labels",
                                               "metadata.name",        "metadata.namespace",
                                               "metadata.uid",         NULL};

static const struct rule downward_file_rules[] = {
    {.name = "path", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = volume_text_local},
    VOLUME_MODE_RULE("mode"),
    {0},
};

static void check_downward_file(struct rule_walk *walk, const cJSON *file, const struct field *at)
{
    const cJSON *field = tree_get(file, "fieldRef");
    const cJSON *resource = tree_get(file, "resourceFieldRef");
    const struct field field_at = field_member(at, "fieldRef"),
                       resource_at = field_member(at, "resourceFieldRef");
    if (field)
        pod_check_field_ref(walk, field, &field_at, file_field_paths);
    if (field && resource)
        field_invalid(walk->problems, at, file,
                      "fieldRef and resourceFieldRef can not be specified simultaneously");
    else if (resource)
        pod_check_resource_field_ref(walk, resource, &resource_at, true);
    else if (!field)
        field_required(walk->problems, at, "one of fieldRef and resourceFieldRef is required");
}

const struct shape volume_downward_file_shape = {.rules = downward_file_rules,
                                                 .check = check_downward_file};

/* Faults of a file are at the source, not at the item: Kubernetes gives no index there. */
static void check_downward_files(struct rule_walk *walk, const cJSON *source,
                                 const struct field *at)
{
    const cJSON *file;
    cJSON_ArrayForEach(file, tree_array(source, "items"))
        shape_check(walk, &volume_downward_file_shape, file, at);
}

static const struct rule downward_rules[] = {VOLUME_MODE_RULE("defaultMode"), {0}};
const struct shape volume_downward_shape = {.rules = downward_rules, .check = check_downward_files};
