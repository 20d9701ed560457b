/*
 * Containers of a pod template: regular ones, init containers and sidecars.
 *
 * One table holds what all of them must obey; what only regular or only init containers may have
 * is in tables of their own. A sidecar is an init container that is always restarted.
 */
#include "webhook/pod/container_parts.h"
#include "webhook/pod/pod_rules.h"
#include "webhook/rules/naming.h"

/* ---- resizePolicy -------------------------------------------------------------------------- */

static const char *const resizable[] = {"cpu", "memory", NULL};
static const char *const resize_policies[] = {"NotRequired", "RestartContainer", NULL};

/* One of two members of a policy: an absent or unknown value is reported at the list. */
static void check_resize_member(struct rule_walk *walk, const cJSON *policy, const char *member,
                                const char *const *values, const struct field *list_at)
{
    const char *text = tree_str(policy, member);
    if (!*text)
        field_required(walk->problems, list_at, "");
    else if (strcmp(text, values[0]) != 0 && strcmp(text, values[1]) != 0)
        field_not_supported(walk->problems, list_at, tree_get(policy, member), values);
}

static void check_resize_policies(struct rule_walk *walk, const cJSON *policies,
                                  const struct field *at)
{
    const bool never = strcmp(tree_str(pod_case_of(walk)->spec, "restartPolicy"), "Never") == 0;
    struct map seen = MAP_INIT;
    const cJSON *policy;
    size_t i = 0;
    cJSON_ArrayForEach(policy, policies)
    {
        const struct field item_at = field_item(at, i++);
        const struct str name = str_of(tree_str(policy, "resourceName"));
        if (map_has(&seen, name))
            field_duplicate(walk->problems, &item_at, tree_get(policy, "resourceName"));
        map_set(&seen, name, NULL);
        check_resize_member(walk, policy, "resourceName", resizable, at);
        check_resize_member(walk, policy, "restartPolicy", resize_policies, at);
        if (never && strcmp(tree_str(policy, "restartPolicy"), "NotRequired") != 0)
            field_invalid(walk->problems, at, tree_get(policy, "restartPolicy"),
                          "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
    }
    map_clear(&seen);
}

/* ---- all containers ------------------------------------------------------------------------ */

static const char *const message_policies[] = {"FallbackToLogsOnError", "File", NULL};
static const char *const pull_policies[] = {"Always", "IfNotPresent", "Never", NULL};

static const char *image_fault(struct str image)
{
    return str_trim(image).n == image.n ? NULL : "must not have leading or trailing whitespace";
}

static const struct rule common_rules[] = {
    {.name = "name", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = naming_label},
    {.name = "image", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = image_fault},
    {.name = "command", .kind = RULE_LIST},
    {.name = "args", .kind = RULE_LIST},
    {.name = "workingDir", .kind = RULE_TEXT},
    {.name = "terminationMessagePath", .kind = RULE_TEXT},
    {.name = "terminationMessagePolicy", .kind = RULE_ENUM, .values = message_policies},
    {.name = "ports", .kind = RULE_LIST, .shape = &pod_port_shape, .unique = "name"},
    {.name = "env", .kind = RULE_LIST, .shape = &pod_env_shape},
    {.name = "envFrom", .kind = RULE_LIST, .shape = &pod_env_from_shape},
    {.name = "volumeMounts", .kind = RULE_LIST},
    {.name = "volumeDevices", .kind = RULE_LIST},
    {.name = "imagePullPolicy", .kind = RULE_ENUM, .values = pull_policies},
    {.name = "resources", .kind = RULE_OBJECT, .check = pod_check_container_resources},
    {.name = "resizePolicy", .kind = RULE_LIST, .check = check_resize_policies},
    {.name = "securityContext", .kind = RULE_OBJECT, .shape = &pod_container_security_shape},
    {.name = "stdin", .kind = RULE_BOOL},
    {.name = "stdinOnce", .kind = RULE_BOOL},
    {.name = "tty", .kind = RULE_BOOL},
    {0}};

/* ---- restarts ------------------------------------------------------------------------------ */

#define RESTART_RULES_MAX 20
#define EXIT_CODES_MAX 255

static void check_exit_codes(struct rule_walk *walk, const cJSON *values, const struct field *at)
{
    const size_t count = (size_t)cJSON_GetArraySize(values);
    if (count > EXIT_CODES_MAX)
        field_too_many(walk->problems, at, count, EXIT_CODES_MAX);
}

static const char *const exit_operators[] = {"In", "NotIn", NULL};
static const struct rule exit_codes_rules[] = {
    {.name = "operator", .kind = RULE_ENUM, .flags = RULE_ABSENT_EMPTY, .values = exit_operators},
    {.name = "values", .kind = RULE_LIST, .check = check_exit_codes},
    {0}};
static const struct shape exit_codes_shape = {.rules = exit_codes_rules};

static const char *const restart_actions[] = {"Restart", "RestartAllContainers", NULL};
static const struct rule restart_rule_rules[] = {
    {.name = "action", .kind = RULE_ENUM, .flags = RULE_ABSENT_EMPTY, .values = restart_actions},
    {.name = "exitCodes",
     .kind = RULE_OBJECT,
     .flags = RULE_REQUIRED,
     .detail = "must be specified",
     .shape = &exit_codes_shape},
    {0}};
static const struct shape restart_rule_shape = {.rules = restart_rule_rules};

static void check_restart_rules(struct rule_walk *walk, const cJSON *rules, const struct field *at)
{
    const size_t count = (size_t)cJSON_GetArraySize(rules);
    if (count > RESTART_RULES_MAX)
        field_too_many(walk->problems, at, count, RESTART_RULES_MAX);
}

static const char *const container_restart_policies[] = {"Always", "Never", "OnFailure", NULL};
static const struct rule restart_rules[] = {{.name = "restartPolicy",
                                             .kind = RULE_ENUM,
                                             .flags = RULE_EMPTY_COUNTS,
                                             .values = container_restart_policies},
                                            {.name = "restartPolicyRules",
                                             .kind = RULE_LIST,
                                             .shape = &restart_rule_shape,
                                             .check = check_restart_rules},
                                            {0}};
static const struct shape restart_shape = {.rules = restart_rules};

/* Rules for exits need a policy that they are exceptions of. */
static void check_rules_have_policy(struct rule_walk *walk, const cJSON *container,
                                    const struct field *at)
{
    const struct field policy_at = field_member(at, "restartPolicy");
    const cJSON *rules = tree_array(container, "restartPolicyRules");
    if (rules && rules->child && !tree_get(container, "restartPolicy"))
        field_required(walk->problems, &policy_at,
                       "must specify restartPolicy when restart rules are used");
}

/* ---- what goes on running: regular containers and sidecars --------------------------------- */

static const struct rule running_rules[] = {
    {.name = "lifecycle", .kind = RULE_OBJECT, .shape = &pod_lifecycle_shape},
    {.name = "livenessProbe", .kind = RULE_OBJECT, .shape = &pod_liveness_probe_shape},
    {.name = "readinessProbe", .kind = RULE_OBJECT, .shape = &pod_readiness_probe_shape},
    {.name = "startupProbe", .kind = RULE_OBJECT, .shape = &pod_liveness_probe_shape},
    {0}};
static const struct shape running_shape = {.rules = running_rules};

/* ---- regular containers -------------------------------------------------------------------- */

static void check_regular(struct rule_walk *walk, const cJSON *container, const struct field *at)
{
    pod_check_mounts(walk, container, at);
    shape_check(walk, &running_shape, container, at);
    check_rules_have_policy(walk, container, at);
    shape_check(walk, &restart_shape, container, at);
}

static const struct shape regular_shape = {.rules = common_rules, .check = check_regular};

/* No two regular containers may take one port of the host. */
static void check_all_host_ports(struct rule_walk *walk, const cJSON *containers,
                                 const struct field *at)
{
    struct map seen = MAP_INIT;
    const cJSON *container;
    size_t i = 0;
    cJSON_ArrayForEach(container, containers)
    {
        const struct field item_at = field_item(at, i++);
        pod_check_host_ports(walk, container, &item_at, &seen);
        if (pod_case_of(walk)->host_network)
            pod_check_host_network_ports(walk, container, &item_at);
    }
    map_clear(&seen);
}

/* ---- init containers ----------------------------------------------------------------------- */

#define SIDECARS_ONLY "may not be set for init containers without restartPolicy=Always"

static const struct rule run_once_rules[] = {
    {.name = "lifecycle", .kind = RULE_ANY, .flags = RULE_FORBIDDEN, .detail = SIDECARS_ONLY},
    {.name = "livenessProbe", .kind = RULE_ANY, .flags = RULE_FORBIDDEN, .detail = SIDECARS_ONLY},
    {.name = "readinessProbe", .kind = RULE_ANY, .flags = RULE_FORBIDDEN, .detail = SIDECARS_ONLY},
    {.name = "startupProbe", .kind = RULE_ANY, .flags = RULE_FORBIDDEN, .detail = SIDECARS_ONLY},
    {0}};
static const struct shape run_once_shape = {.rules = run_once_rules};

/* What runs once is not restarted for other resources. */
static void refuse_restart_for_resize(struct rule_walk *walk, const cJSON *container,
                                      const struct field *at)
{
    const struct field list_at = field_member(at, "resizePolicy");
    const cJSON *policy;
    size_t i = 0;
    cJSON_ArrayForEach(policy, tree_array(container, "resizePolicy"))
    {
        const struct field item_at = field_item(&list_at, i++),
                           policy_at = field_member(&item_at, "restartPolicy");
        if (strcmp(tree_str(policy, "restartPolicy"), "RestartContainer") == 0)
            field_invalid(walk->problems, &policy_at, tree_get(policy, "restartPolicy"),
                          "must not be set to 'RestartContainer' for non-sidecar initContainers");
    }
}

static void check_init(struct rule_walk *walk, const cJSON *container, const struct field *at)
{
    const bool sidecar = strcmp(tree_str(container, "restartPolicy"), "Always") == 0;
    /* They run one by one, so each has the host's ports for itself. Kubernetes reports all of them
     * as the first one's. */
    const struct field first_at = field_item(at->parent, 0);
    struct map host_ports = MAP_INIT;
    pod_check_mounts(walk, container, at);
    pod_check_host_ports(walk, container, &first_at, &host_ports);
    check_rules_have_policy(walk, container, at);
    if (tree_get(container, "restartPolicy")) /* Kubernetes reads no rules without one */
        shape_check(walk, &restart_shape, container, at);
    shape_check(walk, sidecar ? &running_shape : &run_once_shape, container, at);
    if (!sidecar)
        refuse_restart_for_resize(walk, container, at);
    map_clear(&host_ports);
}

static const struct shape init_shape = {.rules = common_rules, .check = check_init};

/* Names are unique among regular and init containers together. */
static void check_names_of_init(struct rule_walk *walk, const cJSON *containers,
                                const struct field *at)
{
    struct map regular = MAP_INIT;
    const cJSON *container;
    size_t i = 0;
    cJSON_ArrayForEach(container, tree_array(pod_case_of(walk)->spec, "containers"))
        map_set(&regular, str_of(tree_str(container, "name")), NULL);
    cJSON_ArrayForEach(container, containers)
    {
        const struct field item_at = field_item(at, i++), name_at = field_member(&item_at, "name");
        if (map_has(&regular, str_of(tree_str(container, "name"))))
            field_duplicate(walk->problems, &name_at, tree_get(container, "name"));
    }
    map_clear(&regular);
}

/* ---- the lists ----------------------------------------------------------------------------- */

static const struct rule list_rules[] = {
    {.name = "containers",
     .kind = RULE_LIST,
     .flags = RULE_REQUIRED,
     .shape = &regular_shape,
     .unique = "name",
     .check = check_all_host_ports},
    {.name = "initContainers",
     .kind = RULE_LIST,
     .shape = &init_shape,
     .unique = "name",
     .check = check_names_of_init},
    {.name = "ephemeralContainers",
     .kind = RULE_LIST,
     .flags = RULE_FORBIDDEN,
     .detail = "ephemeral containers not allowed in pod template"},
    {.name = "resources", .kind = RULE_OBJECT, .check = pod_check_pod_level_resources},
    {0}};
static const struct shape list_shape = {.rules = list_rules};

void pod_check_containers(struct rule_walk *walk, const struct field *spec_at)
{
    shape_check(walk, &list_shape, pod_case_of(walk)->spec, spec_at);
    pod_check_env_files(walk, spec_at);
}
