/*
 * Environment of a container: env and envFrom.
 */
#include "webhook/pod/container_parts.h"
#include "webhook/pod/pod_rules.h"
#include "webhook/rules/naming.h"

static const char *const field_paths[] = {"metadata.name",
                                          "metadata.namespace",
                                          "metadata.uid",
                                          "spec.nodeName",
                                          "spec.serviceAccountName",
                                          "status.hostIP",
                                          "status.hostIPs",
                                          "status.podIP",
                                          "status.podIPs",
                                          NULL};

static void check_field_ref(struct rule_walk *walk, const cJSON *ref, const struct field *at)
{
    pod_check_field_ref(walk, ref, at, field_paths);
}

static void check_resource_field_ref(struct rule_walk *walk, const cJSON *ref,
                                     const struct field *at)
{
    pod_check_resource_field_ref(walk, ref, at, false);
}

/* ---- references to one key ----------------------------------------------------------------- */

/* A name that is left out is an invalid one here, not a missing one. */
static const struct rule key_ref_rules[] = {
    {.name = "name", .kind = RULE_TEXT, .flags = RULE_ABSENT_EMPTY, .text = naming_subdomain},
    {.name = "key", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = naming_config_key},
    {.name = "optional", .kind = RULE_BOOL},
    {0}};
static const struct shape key_ref_shape = {.rules = key_ref_rules};

/* A key of a file is the name of a variable there. */
static const struct rule file_key_ref_rules[] = {
    {.name = "key", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = naming_variable},
    {.name = "volumeName", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = naming_label},
    {.name = "path", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = volume_text_no_backsteps},
    {.name = "optional", .kind = RULE_BOOL},
    {0}};
static const struct shape file_key_ref_shape = {.rules = file_key_ref_rules};

/* ---- env ----------------------------------------------------------------------------------- */

static const struct rule value_from_rules[] = {
    {.name = "fieldRef", .kind = RULE_OBJECT, .check = check_field_ref},
    {.name = "resourceFieldRef", .kind = RULE_OBJECT, .check = check_resource_field_ref},
    {.name = "configMapKeyRef", .kind = RULE_OBJECT, .shape = &key_ref_shape},
    {.name = "secretKeyRef", .kind = RULE_OBJECT, .shape = &key_ref_shape},
    {.name = "fileKeyRef", .kind = RULE_OBJECT, .shape = &file_key_ref_shape},
    {0}};
static const struct shape value_from_shape = {.rules = value_from_rules};

static const char *const value_sources[] = {"fieldRef",     "resourceFieldRef", "configMapKeyRef",
                                            "secretKeyRef", "fileKeyRef",       NULL};

static void check_one_value(struct rule_walk *walk, const cJSON *variable, const struct field *at)
{
    const struct field from_at = field_member(at, "valueFrom");
    const cJSON *from = tree_get(variable, "valueFrom");
    if (!cJSON_IsObject(from))
        return;
    const size_t sources = shape_count_present(from, value_sources);
    if (sources == 0)
        field_invalid(walk->problems, &from_at, from,
                      "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                      "`secretKeyRef` or `fileKeyRef`");
    else if (*tree_str(variable, "value"))
        field_invalid(walk->problems, &from_at, from,
                      "may not be specified when `value` is not empty");
    else if (sources > 1)
        field_invalid(walk->problems, &from_at, from,
                      "may not have more than one field specified at a time");
}

static const struct rule env_rules[] = {
    {.name = "name", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = naming_variable},
    {.name = "value", .kind = RULE_TEXT},
    {.name = "valueFrom", .kind = RULE_OBJECT, .shape = &value_from_shape},
    {0}};
const struct shape pod_env_shape = {.rules = env_rules, .check = check_one_value};

/* ---- envFrom ------------------------------------------------------------------------------- */

/* The start of a name is taken too: one '-' at the end stands for what would follow. */
static const char *subdomain_or_start(struct str name)
{
    char text[NAMING_SUBDOMAIN_MAX + 1];
    if (name.n < 2 || name.n > sizeof(text) || name.p[name.n - 1] != '-')
        return naming_subdomain(name);
    memcpy(text, name.p, name.n - 2);
    text[name.n - 2] = 'a';
    return naming_subdomain(str_make(text, name.n - 1));
}

static const struct rule whole_ref_rules[] = {
    {.name = "name", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = subdomain_or_start},
    {.name = "optional", .kind = RULE_BOOL},
    {0}};
static const struct shape whole_ref_shape = {.rules = whole_ref_rules};

/* Kubernetes reports these at the list, not at the item. */
static void check_one_source(struct rule_walk *walk, const cJSON *source, const struct field *at)
{
    static const char *const names[] = {"configMapRef", "secretRef", NULL};
    const size_t sources = shape_count_present(source, names);
    if (sources == 0)
        field_invalid(walk->problems, at->parent, source,
                      "must specify one of: `configMapRef` or `secretRef`");
    else if (sources > 1)
        field_invalid(walk->problems, at->parent, source,
                      "may not have more than one field specified at a time");
}

static const struct rule env_from_rules[] = {
    {.name = "prefix", .kind = RULE_TEXT, .text = naming_variable},
    {.name = "configMapRef", .kind = RULE_OBJECT, .shape = &whole_ref_shape},
    {.name = "secretRef", .kind = RULE_OBJECT, .shape = &whole_ref_shape},
    {0}};
const struct shape pod_env_from_shape = {.rules = env_from_rules, .check = check_one_source};

/* ---- files --------------------------------------------------------------------------------- */

/* Volumes without a source are emptyDirs: this is their default. */
static bool is_empty_dir(const cJSON *volume)
{
    const cJSON *member;
    if (tree_get(volume, "emptyDir") || !cJSON_IsObject(volume))
        return true; /* what is no object is reported with the volumes */
    cJSON_ArrayForEach(member, volume)
    {
        if (strcmp(member->string, "name") != 0 && !cJSON_IsNull(member))
            return false;
    }
    return true;
}

static void check_file_volume(struct rule_walk *walk, const struct map *volumes, const cJSON *env,
                              const struct field *at)
{
    const struct field from_at = field_member(at, "valueFrom"),
                       ref_at = field_member(&from_at, "fileKeyRef"),
                       name_at = field_member(&ref_at, "volumeName");
    const cJSON *ref = tree_get(tree_get(env, "valueFrom"), "fileKeyRef");
    if (!cJSON_IsObject(ref))
        return;
    const struct str name = str_of(tree_str(ref, "volumeName"));
    if (!map_has(volumes, name))
        field_not_found(walk->problems, &name_at, tree_get(ref, "volumeName"));
    else if (!is_empty_dir(map_get(volumes, name)))
        field_invalid(walk->problems, &name_at, tree_get(ref, "volumeName"),
                      "referenced volume must be of type emptyDir");
}

static void check_files_of(struct rule_walk *walk, const struct map *volumes, const char *list,
                           const struct field *spec_at)
{
    const struct field list_at = field_member(spec_at, list);
    const cJSON *container, *env;
    size_t i = 0;
    cJSON_ArrayForEach(container, tree_array(pod_case_of(walk)->spec, list))
    {
        const struct field at = field_item(&list_at, i++), env_at = field_member(&at, "env");
        size_t k = 0;
        cJSON_ArrayForEach(env, tree_array(container, "env"))
        {
            const struct field item_at = field_item(&env_at, k++);
            check_file_volume(walk, volumes, env, &item_at);
        }
    }
}

void pod_check_env_files(struct rule_walk *walk, const struct field *spec_at)
{
    struct map volumes = MAP_INIT; /* all of them, the faulty ones too */
    cJSON *volume;
    cJSON_ArrayForEach(volume, tree_array(pod_case_of(walk)->spec, "volumes"))
        map_set(&volumes, str_of(tree_str(volume, "name")), volume);
    check_files_of(walk, &volumes, "initContainers", spec_at);
    check_files_of(walk, &volumes, "containers", spec_at);
    map_clear(&volumes);
}
