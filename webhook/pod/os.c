/*
 * Rules across the pod and its containers: what Linux and Windows forbid, hostUsers, hostProcess.
 */
#include "webhook/pod/pod_rules.h"

/* ---- operating systems --------------------------------------------------------------------- */

static const char *const systems[] = {"linux", "windows", NULL};

#define NOT_ON_LINUX(member)                                                                       \
    {.name = member,                                                                               \
     .kind = RULE_ANY,                                                                             \
     .flags = RULE_FORBIDDEN | RULE_EMPTY_COUNTS,                                                  \
     .detail = "windows options cannot be set for a linux pod"}
#define NOT_ON_WINDOWS(member)                                                                     \
    {.name = member,                                                                               \
     .kind = RULE_ANY,                                                                             \
     .flags = RULE_FORBIDDEN | RULE_EMPTY_COUNTS,                                                  \
     .detail = "cannot be set for a windows pod"}
/* A switch that is off and a list without items are as good as absent. */
#define NOT_ON_FOR_WINDOWS(member)                                                                 \
    {.name = member,                                                                               \
     .kind = RULE_ANY,                                                                             \
     .flags = RULE_FORBIDDEN | RULE_FALSE_ABSENT,                                                  \
     .detail = "cannot be set for a windows pod"}

static const struct rule linux_context_rules[] = {NOT_ON_LINUX("windowsOptions"), {0}};
static const struct shape linux_context_shape = {.rules = linux_context_rules};

static const struct rule windows_pod_context_rules[] = {
    NOT_ON_WINDOWS("appArmorProfile"),     NOT_ON_WINDOWS("seLinuxOptions"),
    NOT_ON_WINDOWS("seccompProfile"),      NOT_ON_WINDOWS("fsGroup"),
    NOT_ON_WINDOWS("fsGroupChangePolicy"), NOT_ON_FOR_WINDOWS("sysctls"),
    NOT_ON_WINDOWS("runAsUser"),           NOT_ON_WINDOWS("runAsGroup"),
    NOT_ON_WINDOWS("supplementalGroups"),  NOT_ON_WINDOWS("supplementalGroupsPolicy"),
    NOT_ON_WINDOWS("seLinuxChangePolicy"), {0},
};
static const struct shape windows_pod_context_shape = {.rules = windows_pod_context_rules};

static const struct rule windows_spec_rules[] = {
    {.name = "securityContext", .kind = RULE_OBJECT, .shape = &windows_pod_context_shape},
    NOT_ON_WINDOWS("hostUsers"),
    NOT_ON_FOR_WINDOWS("hostPID"),
    NOT_ON_FOR_WINDOWS("hostIPC"),
    NOT_ON_WINDOWS("shareProcessNamespace"),
    {0},
};
static const struct shape windows_spec_shape = {.rules = windows_spec_rules};

static const struct rule windows_context_rules[] = {
    NOT_ON_WINDOWS("appArmorProfile"),
    NOT_ON_WINDOWS("seLinuxOptions"),
    NOT_ON_WINDOWS("seccompProfile"),
    NOT_ON_WINDOWS("capabilities"),
    NOT_ON_WINDOWS("readOnlyRootFilesystem"),
    NOT_ON_WINDOWS("privileged"),
    NOT_ON_WINDOWS("allowPrivilegeEscalation"),
    NOT_ON_WINDOWS("procMount"),
    NOT_ON_WINDOWS("runAsUser"),
    NOT_ON_WINDOWS("runAsGroup"),
    {0},
};
static const struct shape windows_context_shape = {.rules = windows_context_rules};

/* `data` is the shape that the security context of each container must have. */
static void check_container_context(struct rule_walk *walk, const cJSON *container,
                                    const struct field *at, void *data)
{
    const struct field context_at = field_member(at, "securityContext");
    const cJSON *context = tree_get(container, "securityContext");
    if (cJSON_IsObject(context))
        shape_check(walk, data, context, &context_at);
}

static void check_containers(struct rule_walk *walk, const struct shape *shape,
                             const struct field *spec_at)
{
    pod_each_container(walk, spec_at, check_container_context, (void *)(uintptr_t)shape);
}

static const struct rule linux_spec_rules[] = {
    {.name = "securityContext", .kind = RULE_OBJECT, .shape = &linux_context_shape},
    {0},
};
static const struct shape linux_spec_shape = {.rules = linux_spec_rules};

void pod_check_os(struct rule_walk *walk, const cJSON *os, const struct field *at)
{
    const struct pod_case *pod = pod_case_of(walk);
    const struct field name_at = field_member(at, "name");
    if (!*pod->os) {
        field_required(walk->problems, &name_at, "");
    } else if (strcmp(pod->os, "linux") == 0) {
        shape_check(walk, &linux_spec_shape, pod->spec, at->parent);
        check_containers(walk, &linux_context_shape, at->parent);
    } else if (strcmp(pod->os, "windows") == 0) {
        shape_check(walk, &windows_spec_shape, pod->spec, at->parent);
        check_containers(walk, &windows_context_shape, at->parent);
    } else {
        field_not_supported(walk->problems, at, tree_get(os, "name"), systems);
    }
}

/* ---- hostUsers ----------------------------------------------------------------------------- */

static void check_devices(struct rule_walk *walk, const cJSON *container, const struct field *at,
                          void *data)
{
    const struct field devices_at = field_member(at, "volumeDevices");
    (void)data;
    if (cJSON_GetArraySize(tree_array(container, "volumeDevices")) > 0)
        field_forbidden(walk->problems, &devices_at, "when `hostUsers` is false");
}

void pod_check_host_users(struct rule_walk *walk, const cJSON *spec, const struct field *at)
{
    static const struct {
        const char *member, *shown; /* Kubernetes writes two of the paths so */
    } shared[] = {{"hostNetwork", "hostNetwork"}, {"hostPID", "HostPID"}, {"hostIPC", "HostIPC"}};
    if (!cJSON_IsFalse(tree_get(spec, "hostUsers")))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(shared); i++) {
        const struct field member_at = field_member(at, shared[i].shown);
        if (tree_bool(spec, shared[i].member))
            field_forbidden(walk->problems, &member_at, "when `hostUsers` is false");
    }
    pod_each_container(walk, at, check_devices, NULL);
}

/* ---- hostProcess --------------------------------------------------------------------------- */

struct host_processes {
    const cJSON *pod; /* the pod's own setting, or NULL */
    size_t containers, on;
};

static const cJSON *host_process(const cJSON *owner)
{
    const cJSON *options = tree_get(tree_get(owner, "securityContext"), "windowsOptions");
    const cJSON *value = tree_get(options, "hostProcess");
    return cJSON_IsBool(value) ? value : NULL;
}

static void count_host_process(struct rule_walk *walk, const cJSON *container,
                               const struct field *at, void *data)
{
    struct host_processes *counts = data;
    const cJSON *own = host_process(container);
    const struct field context_at = field_member(at, "securityContext");
    const struct field options_at = field_member(&context_at, "windowsOptions");
    const struct field own_at = field_member(&options_at, "hostProcess");
    if (counts->pod && own && cJSON_IsTrue(counts->pod) != cJSON_IsTrue(own))
        field_invalid(walk->problems, &own_at, own,
                      "pod hostProcess value must be identical if both are specified, was %s",
                      cJSON_IsTrue(counts->pod) ? "true" : "false");
    counts->containers++;
    counts->on += cJSON_IsTrue(own ? own : counts->pod) != 0;
}

void pod_check_host_process(struct rule_walk *walk, const cJSON *spec, const struct field *at)
{
    struct host_processes counts = {.pod = host_process(spec)};
    const struct field network_at = field_member(at, "hostNetwork");
    pod_each_container(walk, at, count_host_process, &counts);
    if (counts.on == 0)
        return;
    if (counts.on != counts.containers)
        field_invalid_text(walk->problems, at, "",
                           "If pod contains any hostProcess containers then all containers must be "
                           "HostProcess containers");
    if (!pod_case_of(walk)->host_network)
        field_invalid(walk->problems, &network_at, tree_get(spec, "hostNetwork"),
                      "hostNetwork must be true if pod contains any hostProcess containers");
}
