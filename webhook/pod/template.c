/*
 * The rules of a pod template: the entry point, and the table of the members of its spec.
 *
 * The order is Kubernetes': metadata, volumes and claims, containers, the other members of the
 * spec, then what ties annotations to fields. Owns nothing but the context of one walk; runs on the
 * caller's thread.
 */
#include "webhook/pod/template.h"
#include "webhook/pod/pod_rules.h"
#include "webhook/rules/naming.h"

static const char *const restart_policies[] = {"Always", "OnFailure", "Never", NULL};
static const char *const dns_policies[] = {"ClusterFirstWithHostNet", "ClusterFirst", "Default",
                                           "None", NULL};
static const char *const preemption_policies[] = {"PreemptLowerPriority", "Never", NULL};

/* The older member `serviceAccount` stands in for an absent `serviceAccountName`. */
static void check_service_account(struct rule_walk *walk, const cJSON *value,
                                  const struct field *at)
{
    const cJSON *name = value ? value : tree_get(pod_case_of(walk)->spec, "serviceAccount");
    const char *text = cJSON_IsString(name) ? name->valuestring : "";
    const char *reason = *text ? naming_subdomain(str_of(text)) : NULL;
    if (reason)
        field_invalid(walk->problems, at, name, "%s", reason);
}

static const struct rule readiness_gate_rules[] = {
    {.name = "conditionType", .kind = RULE_TEXT, .flags = RULE_ABSENT_EMPTY, .text = naming_key},
    {0},
};
static const struct shape readiness_gate_shape = {.rules = readiness_gate_rules};

static void check_group_name(struct rule_walk *walk, const cJSON *value, const struct field *at)
{
    if (!value)
        field_invalid(walk->problems, at, NULL, "must specify one of: `podGroupName`");
}

static const struct rule scheduling_group_rules[] = {
    {.name = "podGroupName",
     .kind = RULE_TEXT,
     .flags = RULE_EMPTY_COUNTS | RULE_CHECK_ABSENT,
     .text = naming_subdomain,
     .check = check_group_name},
    {0},
};
static const struct shape scheduling_group_shape = {.rules = scheduling_group_rules};

/* What comes before hostUsers and hostProcess, which are rules of the whole spec. */
static const struct rule spec_begin_rules[] = {
    {.name = "restartPolicy", .kind = RULE_ENUM, .values = restart_policies},
    {.name = "dnsPolicy", .kind = RULE_ENUM, .values = dns_policies},
    {.name = "nodeSelector", .kind = RULE_OBJECT, .check = pod_check_labels},
    {.name = "securityContext",
     .kind = RULE_OBJECT,
     .flags = RULE_CHECK_ABSENT,
     .check = pod_check_security},
    {.name = "affinity", .kind = RULE_OBJECT, .shape = &pod_affinity_shape},
    {.name = "dnsConfig", .kind = RULE_OBJECT, .flags = RULE_CHECK_ABSENT, .check = pod_check_dns},
    {.name = "readinessGates", .kind = RULE_LIST, .shape = &readiness_gate_shape},
    {.name = "schedulingGates", .kind = RULE_LIST, .check = pod_check_scheduling_gates},
    {.name = "topologySpreadConstraints", .kind = RULE_LIST, .check = pod_check_spread},
    {0},
};
static const struct shape spec_begin_shape = {.rules = spec_begin_rules};

static const struct rule spec_end_rules[] = {
    {.name = "hostnameOverride",
     .kind = RULE_TEXT,
     .flags = RULE_EMPTY_COUNTS,
     .check = pod_check_hostname},
    {.name = "serviceAccountName",
     .kind = RULE_TEXT,
     .flags = RULE_CHECK_ABSENT,
     .check = check_service_account},
    {.name = "nodeName", .kind = RULE_TEXT, .text = naming_subdomain},
    {.name = "activeDeadlineSeconds",
     .kind = RULE_NUMBER,
     .low = 1,
     .high = INT32_MAX,
     .detail = "must be between 1 and 2147483647, inclusive"},
    {.name = "hostname", .kind = RULE_TEXT, .text = naming_label},
    {.name = "subdomain", .kind = RULE_TEXT, .text = naming_label},
    {.name = "tolerations", .kind = RULE_LIST, .shape = &pod_toleration_shape},
    {.name = "hostAliases", .kind = RULE_LIST, .shape = &pod_host_alias_shape},
    {.name = "priorityClassName", .kind = RULE_TEXT, .text = naming_subdomain},
    {.name = "runtimeClassName",
     .kind = RULE_TEXT,
     .flags = RULE_EMPTY_COUNTS,
     .text = naming_subdomain},
    {.name = "preemptionPolicy",
     .kind = RULE_ENUM,
     .flags = RULE_EMPTY_REQUIRED,
     .values = preemption_policies},
    {.name = "overhead", .kind = RULE_OBJECT, .check = pod_check_resource_list},
    {.name = "os", .kind = RULE_OBJECT, .check = pod_check_os},
    {.name = "schedulingGroup", .kind = RULE_OBJECT, .shape = &scheduling_group_shape},
    {0},
};
static const struct shape spec_end_shape = {.rules = spec_end_rules};

static void check_spec(struct rule_walk *walk, const cJSON *spec, const struct field *at)
{
    pod_check_volumes(walk, at);
    pod_check_containers(walk, at);
    shape_check(walk, &spec_begin_shape, spec, at);
    pod_check_host_process(walk, spec, at);
    pod_check_host_users(walk, spec, at);
    shape_check(walk, &spec_end_shape, spec, at);
}

void pod_each_container(struct rule_walk *walk, const struct field *spec_at, pod_container_fn *each,
                        void *data)
{
    static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};
    const cJSON *item;
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        const struct field list_at = field_member(spec_at, lists[i]);
        size_t index = 0;
        cJSON_ArrayForEach(item, tree_array(pod_case_of(walk)->spec, lists[i]))
        {
            const struct field at = field_item(&list_at, index++);
            each(walk, item, &at, data);
        }
    }
}

void pod_template_check(struct rule_walk *walk, const cJSON *template, const struct field *at,
                        const struct pod_template_options *options)
{
    const cJSON *spec = tree_get(template, "spec");
    struct pod_case pod = {.options = options,
                           .metadata = tree_get(template, "metadata"),
                           .spec = spec,
                           .volumes = MAP_INIT,
                           .claims = MAP_INIT,
                           .host_network = tree_bool(spec, "hostNetwork"),
                           .os = tree_str(tree_get(spec, "os"), "name")};
    void *before = walk->context;
    walk->context = &pod;
    const struct field spec_at = field_member(at, "spec");
    pod_check_metadata(walk, at);
    if (spec && !cJSON_IsObject(spec)) {
        field_invalid(walk->problems, &spec_at, spec, "must be an object");
    } else {
        check_spec(walk, spec, &spec_at);
        pod_check_profile_annotations(walk, &spec_at);
    }
    walk->context = before;
    map_clear(&pod.volumes);
    map_clear(&pod.claims);
}
