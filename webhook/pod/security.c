/*
 * Security contexts of pods and containers: users and groups, kernel parameters, profiles.
 */
#include "webhook/pod/pod_rules.h"
#include "webhook/rules/naming.h"

#define APP_ARMOR_PROFILE_MAX 4095

/* The number of a user or a group. */
#define ID_RULE(member)                                                                            \
    {.name = member,                                                                               \
     .kind = RULE_NUMBER,                                                                          \
     .low = 0,                                                                                     \
     .high = INT32_MAX,                                                                            \
     .detail = "must be between 0 and 2147483647, inclusive"}

/* ---- seccomp and AppArmor ------------------------------------------------------------------ */

static const char *const profile_types[] = {"Localhost", "RuntimeDefault", "Unconfined", NULL};

static bool is_local(const cJSON *profile)
{
    return strcmp(tree_str(profile, "type"), "Localhost") == 0;
}

static void check_seccomp_path(struct rule_walk *walk, const cJSON *profile, const struct field *at)
{
    const cJSON *path = tree_get(profile, "localhostProfile");
    const struct field path_at = field_member(at, "localhostProfile");
    if (!is_local(profile)) {
        if (path)
            field_invalid(walk->problems, &path_at, path,
                          "can only be set when seccomp type is Localhost");
        return;
    }
    const char *reason =
        cJSON_IsString(path) ? volume_text_descending(str_of(path->valuestring)) : NULL;
    if (!path)
        field_required(walk->problems, &path_at, "must be set when seccomp type is Localhost");
    else if (reason)
        field_invalid(walk->problems, &path_at, path, "%s", reason);
}

static const struct rule seccomp_rules[] = {
    {.name = "type",
     .kind = RULE_ENUM,
     .flags = RULE_REQUIRED,
     .detail = "type is required when seccompProfile is set",
     .values = profile_types},
    {0},
};
static const struct shape seccomp_shape = {.rules = seccomp_rules, .check = check_seccomp_path};

static void check_app_armor_local(struct rule_walk *walk, const cJSON *path, const struct field *at)
{
    const struct str text = str_of(cJSON_IsString(path) ? path->valuestring : "");
    const struct str trimmed = str_trim(text);
    if (trimmed.n != text.n)
        field_invalid(walk->problems, at, path, "must not be padded with whitespace");
    else if (!text.n)
        field_required(walk->problems, at, "must be set when AppArmor type is Localhost");
    if (text.n > APP_ARMOR_PROFILE_MAX)
        field_too_long(walk->problems, at, APP_ARMOR_PROFILE_MAX);
}

static void check_app_armor_path(struct rule_walk *walk, const cJSON *profile,
                                 const struct field *at)
{
    const cJSON *path = tree_get(profile, "localhostProfile");
    const struct field path_at = field_member(at, "localhostProfile");
    const char *type = tree_str(profile, "type");
    if (is_local(profile))
        check_app_armor_local(walk, path, &path_at);
    else if (path && (strcmp(type, "RuntimeDefault") == 0 || strcmp(type, "Unconfined") == 0))
        field_invalid(walk->problems, &path_at, path,
                      "can only be set when AppArmor type is Localhost");
}

static const struct rule app_armor_rules[] = {
    {.name = "type",
     .kind = RULE_ENUM,
     .flags = RULE_REQUIRED,
     .detail = "type is required when appArmorProfile is set",
     .values = profile_types},
    {0},
};
static const struct shape app_armor_shape = {.rules = app_armor_rules,
                                             .check = check_app_armor_path};

/* ---- kernel parameters --------------------------------------------------------------------- */

static const char *const ipc_sysctls[] = {
    "kernel.sem", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced",
    "kernel.shm", "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni", "kernel.msg",
    NULL};

/* "net/ipv4/x.y" means "net.ipv4.x/y": the first separator tells which of the two it is. */
static struct str sysctl_with_dots(struct rule_walk *walk, struct str name)
{
    const ptrdiff_t dot = str_chr(name, '.'), slash = str_chr(name, '/');
    if (slash < 0 || (dot >= 0 && dot < slash))
        return name;
    char *text = arena_alloc(walk->arena, name.n + 1);
    for (size_t i = 0; i < name.n; i++) {
        text[i] = name.p[i];
        if (text[i] == '/')
            text[i] = '.';
        else if (text[i] == '.')
            text[i] = '/';
    }
    return str_make(text, name.n);
}

static bool is_ipc_sysctl(struct str name)
{
    for (size_t i = 0; ipc_sysctls[i]; i++) {
        if (str_is(name, ipc_sysctls[i]))
            return true;
    }
    return str_starts(name, STR("fs.mqueue."));
}

/* Parameters of a namespace that the pod shares with its node would be the node's. */
static void check_sysctl(struct rule_walk *walk, const cJSON *sysctl, const struct field *at)
{
    const struct pod_case *pod = pod_case_of(walk);
    const cJSON *value = tree_get(sysctl, "name");
    const struct field name_at = field_member(at, "name");
    struct str name = sysctl_with_dots(walk, str_of(tree_str(sysctl, "name")));
    const ptrdiff_t star = str_chr(name, '*');
    if (star >= 0)
        name = str_sub(name, 0, (size_t)star);
    if (pod->host_network && str_starts(name, STR("net.")))
        field_invalid(walk->problems, &name_at, value,
                      "may not be specified when 'hostNetwork' is true");
    else if (tree_bool(pod->spec, "hostIPC") && is_ipc_sysctl(name))
        field_invalid(walk->problems, &name_at, value,
                      "may not be specified when 'hostIPC' is true");
}

static const struct rule sysctl_rules[] = {
    {.name = "name", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = naming_sysctl},
    {0},
};
static const struct shape sysctl_shape = {.rules = sysctl_rules, .check = check_sysctl};

/* ---- pods ---------------------------------------------------------------------------------- */

static const char *const fs_group_policies[] = {"Always", "OnRootMismatch", NULL};
static const char *const groups_policies[] = {"Merge", "Strict", NULL};
static const char *const selinux_policies[] = {"MountOption", "Recursive", NULL};

static void check_groups(struct rule_walk *walk, const cJSON *list, const struct field *at)
{
    const cJSON *item;
    size_t index = 0;
    cJSON_ArrayForEach(item, list)
    {
        const struct field item_at = field_item(at, index++);
        if (cJSON_IsNull(item))
            continue; /* as 0 */
        if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > INT32_MAX)
            field_invalid(walk->problems, &item_at, item,
                          "must be between 0 and 2147483647, inclusive");
    }
}

static const struct rule pod_security_rules[] = {
    ID_RULE("fsGroup"),
    ID_RULE("runAsUser"),
    ID_RULE("runAsGroup"),
    {.name = "supplementalGroups", .kind = RULE_LIST, .check = check_groups},
    {.name = "sysctls", .kind = RULE_LIST, .shape = &sysctl_shape, .unique = "name"},
    {.name = "fsGroupChangePolicy",
     .kind = RULE_ENUM,
     .flags = RULE_EMPTY_COUNTS,
     .values = fs_group_policies},
    {.name = "seccompProfile", .kind = RULE_OBJECT, .shape = &seccomp_shape},
    {.name = "windowsOptions", .kind = RULE_OBJECT, .shape = &pod_windows_shape},
    {.name = "appArmorProfile", .kind = RULE_OBJECT, .shape = &app_armor_shape},
    {.name = "supplementalGroupsPolicy",
     .kind = RULE_ENUM,
     .flags = RULE_EMPTY_COUNTS,
     .values = groups_policies},
    {.name = "seLinuxChangePolicy",
     .kind = RULE_ENUM,
     .flags = RULE_EMPTY_COUNTS,
     .values = selinux_policies},
    {0},
};
static const struct shape pod_security_shape = {.rules = pod_security_rules};

/* shareProcessNamespace is a member of the spec; Kubernetes reports it as one of the context. */
void pod_check_security(struct rule_walk *walk, const cJSON *context, const struct field *at)
{
    const cJSON *spec = pod_case_of(walk)->spec;
    const struct field share_at = field_member(at, "shareProcessNamespace");
    shape_check(walk, &pod_security_shape, context, at);
    if (tree_bool(spec, "hostPID") && tree_bool(spec, "shareProcessNamespace"))
        field_invalid(walk->problems, &share_at, tree_get(spec, "shareProcessNamespace"),
                      "ShareProcessNamespace and HostPID cannot both be enabled");
}

/* ---- containers ---------------------------------------------------------------------------- */

static const char *const proc_mounts[] = {"Default", "Unmasked", NULL};

static void check_proc_mount(struct rule_walk *walk, const cJSON *value, const struct field *at)
{
    if (!cJSON_IsFalse(tree_get(pod_case_of(walk)->spec, "hostUsers")) &&
        strcmp(value->valuestring, "Unmasked") == 0)
        field_invalid(walk->problems, at, value, "`hostUsers` must be false to use `Unmasked`");
}

static bool adds_capability(const cJSON *context, const char *name)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, tree_array(tree_get(context, "capabilities"), "add"))
    {
        if (cJSON_IsString(item) && strcmp(item->valuestring, name) == 0)
            return true;
    }
    return false;
}

static void check_escalation(struct rule_walk *walk, const cJSON *context, const struct field *at)
{
    if (!cJSON_IsFalse(tree_get(context, "allowPrivilegeEscalation")))
        return;
    if (tree_bool(context, "privileged"))
        field_invalid(walk->problems, at, context,
                      "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    if (adds_capability(context, "CAP_SYS_ADMIN"))
        field_invalid(walk->problems, at, context,
                      "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "
                      "CAP_SYS_ADMIN");
}

static const struct rule container_security_rules[] = {
    ID_RULE("runAsUser"),
    ID_RULE("runAsGroup"),
    {.name = "procMount",
     .kind = RULE_ENUM,
     .flags = RULE_EMPTY_COUNTS,
     .values = proc_mounts,
     .check = check_proc_mount},
    {.name = "seccompProfile", .kind = RULE_OBJECT, .shape = &seccomp_shape},
    {.name = "windowsOptions", .kind = RULE_OBJECT, .shape = &pod_windows_shape},
    {.name = "appArmorProfile", .kind = RULE_OBJECT, .shape = &app_armor_shape},
    {0},
};
const struct shape pod_container_security_shape = {.rules = container_security_rules,
                                                   .check = check_escalation};
