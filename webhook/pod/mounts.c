/*
 * What a container makes of the pod's volumes: volumeMounts and volumeDevices.
 *
 * A volume is mounted or used as a device, not both, and no two of them at one path. Kubernetes
 * reports some faults of a mount at the list, without the index; so do we.
 */
#include "webhook/pod/container_parts.h"
#include "webhook/pod/pod_rules.h"

/* ---- tables -------------------------------------------------------------------------------- */

static const char *const propagations[] = {"Bidirectional", "HostToContainer", "None", NULL};
static const char *const recursive_modes[] = {"Disabled", "Enabled", "IfPossible", NULL};

static const struct rule mount_rules[] = {
    {.name = "name", .kind = RULE_TEXT, .flags = RULE_REQUIRED},
    {.name = "mountPath", .kind = RULE_TEXT, .flags = RULE_REQUIRED},
    {.name = "readOnly", .kind = RULE_BOOL},
    {0}};
static const struct shape mount_shape = {.rules = mount_rules};

static void check_recursive(struct rule_walk *walk, const cJSON *mount, const struct field *list_at)
{
    const struct field at = field_member(list_at, "recursiveReadOnly");
    const char *mode = tree_str(mount, "recursiveReadOnly");
    const cJSON *propagation = tree_get(mount, "mountPropagation");
    if (strcmp(mode, "Enabled") != 0 && strcmp(mode, "IfPossible") != 0)
        return;
    if (!tree_bool(mount, "readOnly"))
        field_forbidden(walk->problems, &at, "may only be specified when readOnly is true");
    if (propagation && strcmp(tree_str(mount, "mountPropagation"), "None") != 0)
        field_forbidden(walk->problems, &at,
                        "may only be specified when mountPropagation is None or not specified");
}

/* Those that are reported at the list. */
static const struct rule mount_at_list_rules[] = {
    {.name = "subPath", .kind = RULE_TEXT, .text = volume_text_descending},
    {.name = "subPathExpr", .kind = RULE_TEXT, .text = volume_text_descending},
    {.name = "mountPropagation",
     .kind = RULE_ENUM,
     .flags = RULE_EMPTY_COUNTS,
     .values = propagations},
    {.name = "recursiveReadOnly",
     .kind = RULE_ENUM,
     .flags = RULE_EMPTY_COUNTS,
     .values = recursive_modes},
    {0}};
static const struct shape mount_at_list_shape = {.rules = mount_at_list_rules,
                                                 .check = check_recursive};

static const struct rule device_rules[] = {
    {.name = "name", .kind = RULE_TEXT, .flags = RULE_REQUIRED},
    {.name = "devicePath",
     .kind = RULE_TEXT,
     .flags = RULE_REQUIRED,
     .text = volume_text_no_backsteps},
    {0}};
static const struct shape device_shape = {.rules = device_rules};

/* ---- mounts against devices ---------------------------------------------------------------- */

/* Names and paths of a list; of two items with one name the last one counts. */
struct uses {
    struct map names; /* name -> const cJSON * of the item */
    struct map paths;
};

static void uses_read(struct uses *uses, const cJSON *list, const char *path_member)
{
    *uses = (struct uses){MAP_INIT, MAP_INIT};
    cJSON *item;
    cJSON_ArrayForEach(item, list) map_set(&uses->names, str_of(tree_str(item, "name")), item);
    void *last;
    for (size_t i = 0; map_next(&uses->names, &i, NULL, &last);)
        map_set(&uses->paths, str_of(tree_str(last, path_member)), NULL);
}

static void uses_clear(struct uses *uses)
{
    map_clear(&uses->names);
    map_clear(&uses->paths);
}

/* Neither the name nor the path of `item` may be in the other list. */
static void check_other_use(struct rule_walk *walk, const cJSON *item, const char *path_member,
                            const struct uses *others, const char *other_list,
                            const struct field *at)
{
    const struct field name_at = field_member(at, "name"), path_at = field_member(at, path_member);
    if (map_has(&others->names, str_of(tree_str(item, "name"))))
        field_invalid(walk->problems, &name_at, tree_get(item, "name"),
                      "must not already exist in %s", other_list);
    if (map_has(&others->paths, str_of(tree_str(item, path_member))))
        field_invalid(walk->problems, &path_at, tree_get(item, path_member),
                      "must not already exist as a path in %s", other_list);
}

/* False, with a problem at `member`, when the text was there before. */
static void check_once(struct rule_walk *walk, struct map *seen, const cJSON *item,
                       const char *member, const struct field *at)
{
    const struct field member_at = field_member(at, member);
    const struct str text = str_of(tree_str(item, member));
    if (text.n && map_has(seen, text))
        field_invalid(walk->problems, &member_at, tree_get(item, member), "must be unique");
    map_set(seen, text, NULL);
}

/* ---- volumeMounts -------------------------------------------------------------------------- */

static bool is_privileged(const cJSON *container)
{
    return tree_bool(tree_get(container, "securityContext"), "privileged");
}

static void check_mount(struct rule_walk *walk, const cJSON *container, const cJSON *mount,
                        const struct field *at)
{
    const struct field name_at = field_member(at, "name"),
                       expr_at = field_member(at, "subPathExpr"),
                       propagation_at = field_member(at->parent, "mountPropagation");
    shape_check(walk, &mount_shape, mount, at);
    if (!map_has(&pod_case_of(walk)->volumes, str_of(tree_str(mount, "name"))))
        field_not_found(walk->problems, &name_at, tree_get(mount, "name"));
    if (*tree_str(mount, "subPath") && *tree_str(mount, "subPathExpr"))
        field_invalid(walk->problems, &expr_at, tree_get(mount, "subPathExpr"),
                      "subPathExpr and subPath are mutually exclusive");
    shape_check(walk, &mount_at_list_shape, mount, at->parent);
    if (strcmp(tree_str(mount, "mountPropagation"), "Bidirectional") == 0 &&
        !is_privileged(container))
        field_forbidden(
            walk->problems, &propagation_at,
            "Bidirectional mount propagation is available only to privileged containers");
}

static void check_mounts(struct rule_walk *walk, const cJSON *container, const struct uses *devices,
                         const struct field *at)
{
    const struct field list_at = field_member(at, "volumeMounts");
    struct map paths = MAP_INIT;
    const cJSON *mount;
    size_t i = 0;
    cJSON_ArrayForEach(mount, tree_array(container, "volumeMounts"))
    {
        const struct field item_at = field_item(&list_at, i++);
        check_mount(walk, container, mount, &item_at);
        check_once(walk, &paths, mount, "mountPath", &item_at);
        check_other_use(walk, mount, "mountPath", devices, "volumeDevices", &item_at);
    }
    map_clear(&paths);
}

/* ---- volumeDevices ------------------------------------------------------------------------- */

static void check_device(struct rule_walk *walk, const cJSON *device, const struct field *at)
{
    const struct field name_at = field_member(at, "name");
    const struct map *volumes = &pod_case_of(walk)->volumes;
    const struct str name = str_of(tree_str(device, "name"));
    shape_check(walk, &device_shape, device, at);
    const cJSON *volume = map_get(volumes, name);
    if (!map_has(volumes, name))
        field_not_found(walk->problems, &name_at, tree_get(device, "name"));
    else if (!tree_get(volume, "persistentVolumeClaim") && !tree_get(volume, "ephemeral"))
        field_invalid(walk->problems, &name_at, tree_get(device, "name"),
                      "can only use volume source type of PersistentVolumeClaim or Ephemeral for "
                      "block mode");
}

static void check_devices(struct rule_walk *walk, const cJSON *container, const struct uses *mounts,
                          const struct field *at)
{
    const struct field list_at = field_member(at, "volumeDevices");
    struct map names = MAP_INIT, paths = MAP_INIT;
    const cJSON *device;
    size_t i = 0;
    cJSON_ArrayForEach(device, tree_array(container, "volumeDevices"))
    {
        const struct field item_at = field_item(&list_at, i++);
        check_device(walk, device, &item_at);
        check_once(walk, &names, device, "name", &item_at);
        check_once(walk, &paths, device, "devicePath", &item_at);
        check_other_use(walk, device, "devicePath", mounts, "volumeMounts", &item_at);
    }
    map_clear(&names);
    map_clear(&paths);
}

void pod_check_mounts(struct rule_walk *walk, const cJSON *container, const struct field *at)
{
    struct uses mounts, devices;
    uses_read(&mounts, tree_array(container, "volumeMounts"), "mountPath");
    uses_read(&devices, tree_array(container, "volumeDevices"), "devicePath");
    check_mounts(walk, container, &devices, at);
    check_devices(walk, container, &mounts, at);
    uses_clear(&mounts);
    uses_clear(&devices);
}
