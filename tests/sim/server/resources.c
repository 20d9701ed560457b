/*
 * The table of resources: see resources.h. Constant; any thread.
 */
#include "server/resources.h"
#include "base/alloc.h"
#include <stdio.h>

#define NS SIM_NAMESPACED
#define PLAIN SIM_UNCONDITIONAL
#define GEN SIM_GENERATION
#define CR (SIM_CUSTOM | SIM_GENERATION)

#define POD_FIELDS                                                                                 \
    "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName "                 \
    "spec.hostNetwork status.phase status.podIP status.nominatedNodeName"
#define EVENT_FIELDS                                                                               \
    "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid "         \
    "involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason "    \
    "reportingComponent source type"

#define R(group, version, plural, kind, flags, fields) {group, version, plural, kind, flags, fields}

static const struct sim_resource table[] = {
    [SIM_PODS] =
        R("", "v1", "pods", "Pod", NS | SIM_STATUS | PLAIN | GEN | SIM_ANSWERS_DELETED, POD_FIELDS),
    [SIM_NAMESPACES] = R("", "v1", "namespaces", "Namespace",
                         SIM_STATUS | PLAIN | SIM_ANSWERS_DELETED, "status.phase"),
    [SIM_NODES] = R("", "v1", "nodes", "Node", SIM_STATUS | SIM_STATUS_AT_CREATE | PLAIN,
                    "spec.unschedulable"),
    [SIM_QUOTAS] = R("", "v1", "resourcequotas", "ResourceQuota",
                     NS | SIM_STATUS | PLAIN | SIM_ANSWERS_DELETED, NULL),
    [SIM_BUDGETS] = R("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget",
                      NS | SIM_STATUS | GEN, NULL),
    [SIM_CLAIMS] = R("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim",
                     NS | SIM_STATUS | PLAIN | SIM_ANSWERS_DELETED, NULL),
    [SIM_VOLUMES] = R("", "v1", "persistentvolumes", "PersistentVolume",
                      SIM_STATUS | PLAIN | SIM_ANSWERS_DELETED, NULL),
    [SIM_SERVICES] = R("", "v1", "services", "Service",
                       NS | SIM_STATUS | PLAIN | SIM_CREATE_ON_PUT | SIM_ANSWERS_DELETED,
                       "spec.clusterIP spec.type"),
    [SIM_PRIORITYCLASSES] =
        R("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", PLAIN | GEN, NULL),
    [SIM_SECRETS] = R("", "v1", "secrets", "Secret", NS | PLAIN, "type"),
    [SIM_BATCH_JOBS] =
        R("batch", "v1", "jobs", "Job", NS | SIM_STATUS | PLAIN | GEN, "status.successful"),
    [SIM_DEFINITIONS] = R("apiextensions.k8s.io", "v1", "customresourcedefinitions",
                          "CustomResourceDefinition", SIM_STATUS | GEN, NULL),
    R("", "v1", "serviceaccounts", "ServiceAccount", NS | PLAIN | SIM_ANSWERS_DELETED, NULL),
    R("", "v1", "configmaps", "ConfigMap", NS | PLAIN, NULL),
    R("", "v1", "events", "Event", NS | PLAIN | SIM_CREATE_ON_PUT, EVENT_FIELDS),
    R("coordination.k8s.io", "v1", "leases", "Lease", NS | SIM_CREATE_ON_PUT, NULL),
    R("storage.k8s.io", "v1", "storageclasses", "StorageClass", PLAIN | SIM_ANSWERS_DELETED, NULL),
    R("storage.k8s.io", "v1", "csinodes", "CSINode", SIM_ANSWERS_DELETED, NULL),
    R("storage.k8s.io", "v1", "csidrivers", "CSIDriver", SIM_ANSWERS_DELETED, NULL),
    R("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", NS | PLAIN | GEN, NULL),
    R("apps", "v1", "deployments", "Deployment", NS | SIM_STATUS | PLAIN | GEN, NULL),
    R("apps", "v1", "replicasets", "ReplicaSet", NS | SIM_STATUS | PLAIN | GEN, "status.replicas"),
    R("apps", "v1", "statefulsets", "StatefulSet", NS | SIM_STATUS | PLAIN | GEN, NULL),
    R("apps", "v1", "daemonsets", "DaemonSet", NS | SIM_STATUS | PLAIN | GEN, NULL),
    R("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
      "MutatingWebhookConfiguration", GEN, NULL),
    R("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
      "ValidatingWebhookConfiguration", GEN, NULL),
    R("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies",
      "ValidatingAdmissionPolicy", SIM_STATUS | GEN, NULL),
    R("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings",
      "ValidatingAdmissionPolicyBinding", GEN, NULL),
    R("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", PLAIN, NULL),
    R("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", PLAIN, NULL),
    R("rbac.authorization.k8s.io", "v1", "roles", "Role", NS | PLAIN, NULL),
    R("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", NS | PLAIN, NULL),
    R("flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema", SIM_STATUS | GEN, NULL),
    R("batch.volcano.sh", "v1alpha1", "jobs", "Job", NS | SIM_STATUS | CR, NULL),
    R("batch.volcano.sh", "v1alpha1", "cronjobs", "CronJob", NS | SIM_STATUS | CR, NULL),
    R("bus.volcano.sh", "v1alpha1", "commands", "Command", NS | CR, NULL),
    R("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup", NS | CR, NULL),
    R("scheduling.volcano.sh", "v1beta1", "queues", "Queue", SIM_STATUS | CR, NULL),
    R("flow.volcano.sh", "v1alpha1", "jobflows", "JobFlow", NS | SIM_STATUS | CR, NULL),
    R("flow.volcano.sh", "v1alpha1", "jobtemplates", "JobTemplate", NS | SIM_STATUS | CR, NULL),
    R("topology.volcano.sh", "v1alpha1", "hypernodes", "HyperNode", SIM_STATUS | CR, NULL),
};

size_t sim_resource_count(void)
{
    return ARRAY_SIZE(table);
}

const struct sim_resource *sim_resource_at(size_t id)
{
    return &table[id];
}

size_t sim_resource_id(const struct sim_resource *resource)
{
    return (size_t)(resource - table);
}

const struct sim_resource *sim_resource_find(struct str group, struct str version,
                                             struct str plural)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (str_is(plural, table[i].plural) && str_is(group, table[i].group) &&
            str_is(version, table[i].version))
            return &table[i];
    return NULL;
}

bool sim_resource_has_group(struct str group, struct str version)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (str_is(group, table[i].group) && str_is(version, table[i].version))
            return true;
    return false;
}

void sim_resource_title(const struct sim_resource *resource, char *text, size_t size)
{
    (void)snprintf(text, size, "%s%s%s", resource->plural, *resource->group ? "." : "",
                   resource->group);
}

void sim_resource_api_version(const struct sim_resource *resource, char *text, size_t size)
{
    (void)snprintf(text, size, "%s%s%s", resource->group, *resource->group ? "/" : "",
                   resource->version);
}
