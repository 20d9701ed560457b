/*
 * Defaults of Kubernetes as tables: see equal_defaults.h.
 *
 * Clients that decode an object into Go types and send it back write zero values and defaults that
 * nobody has given. schedulerName is not among them: the pods of a job that name none go to the
 * scheduler of the job.
 */
#include "webhook/rules/equal_defaults.h"
#include "base/str.h"

static bool one_of(const char *const *list, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i], text) == 0)
            return true;
    }
    return false;
}

#define ONE_OF(list, text) one_of(list, ARRAY_SIZE(list), text)

/* ---- zero values --------------------------------------------------------------------------- */

/* All members mean the same as their absence. Depth is bounded by the reader of the text. */
static bool is_hollow(const cJSON *object)
{
    struct lone_member member = {.in = object->string};
    cJSON_ArrayForEach(member.item, object)
    {
        if (!equal_by_default(&member))
            return false;
    }
    return true;
}

/* Fields whose zero value is left out when a Go program writes the object again. */
static bool zero_means_absent(const cJSON *item)
{
    static const char *const numbers[] = {
        "replicas",       "minAvailable",       "maxRetry",         "minPartitions",
        "hostPort",       "periodSeconds",      "successThreshold", "failureThreshold",
        "timeoutSeconds", "initialDelaySeconds"};
    static const char *const flags[] = {"hostNetwork",
                                        "hostPID",
                                        "hostIPC",
                                        "readOnly",
                                        "stdin",
                                        "stdinOnce",
                                        "tty",
                                        "optional",
                                        "privileged",
                                        "readOnlyRootFilesystem",
                                        "shareProcessNamespace",
                                        "setHostnameAsFQDN"};
    static const char *const structs[] = {
        "metadata",    "resources", "template",         "spec",        "requests",
        "limits",      "labels",    "annotations",      "options",     "matchLabels",
        "overhead",    "plugins",   "nodeSelector",     "claims",      "securityContext",
        "lifecycle",   "affinity",  "volumeAttributes", "podAffinity", "podAntiAffinity",
        "nodeAffinity"};
    if (cJSON_IsArray(item))
        return !item->child;
    if (cJSON_IsObject(item))
        return ONE_OF(structs, item->string) && is_hollow(item);
    if (cJSON_IsString(item))
        return item->valuestring[0] == '\0' && strcmp(item->string, "storageClassName") != 0;
    if (cJSON_IsNumber(item))
        return item->valuedouble == 0 && ONE_OF(numbers, item->string);
    return cJSON_IsFalse(item) && ONE_OF(flags, item->string);
}

/* ---- constant defaults --------------------------------------------------------------------- */

struct preset {
    const char *in, *key;
    const char *text; /* NULL: `number`, which is 1 for true */
    double number;
};

static const struct preset presets[] = {
    {"spec", "restartPolicy", "Always", 0},
    {"spec", "dnsPolicy", "ClusterFirst", 0},
    {"spec", "terminationGracePeriodSeconds", NULL, 30},
    {"spec", "enableServiceLinks", NULL, 1},
    {"spec", "hostUsers", NULL, 1},
    {"spec", "volumeMode", "Filesystem", 0},
    {"volumeClaim", "volumeMode", "Filesystem", 0},
    {"containers", "terminationMessagePath", "/dev/termination-log", 0},
    {"containers", "terminationMessagePolicy", "File", 0},
    {"initContainers", "terminationMessagePath", "/dev/termination-log", 0},
    {"initContainers", "terminationMessagePolicy", "File", 0},
    {"ports", "protocol", "TCP", 0},
    {"livenessProbe", "timeoutSeconds", NULL, 1},
    {"livenessProbe", "periodSeconds", NULL, 10},
    {"livenessProbe", "successThreshold", NULL, 1},
    {"livenessProbe", "failureThreshold", NULL, 3},
    {"readinessProbe", "timeoutSeconds", NULL, 1},
    {"readinessProbe", "periodSeconds", NULL, 10},
    {"readinessProbe", "successThreshold", NULL, 1},
    {"readinessProbe", "failureThreshold", NULL, 3},
    {"startupProbe", "timeoutSeconds", NULL, 1},
    {"startupProbe", "periodSeconds", NULL, 10},
    {"startupProbe", "successThreshold", NULL, 1},
    {"startupProbe", "failureThreshold", NULL, 3},
    {"httpGet", "scheme", "HTTP", 0},
    {"httpGet", "path", "/", 0},
    {"fieldRef", "apiVersion", "v1", 0},
    {"resourceFieldRef", "divisor", "0", 0},
    {"securityContext", "procMount", "Default", 0},
    {"volumeMounts", "mountPropagation", "None", 0},
    {"volumeMounts", "recursiveReadOnly", "Disabled", 0},
    {"tolerations", "operator", "Equal", 0},
    {"secret", "defaultMode", NULL, 0644},
    {"configMap", "defaultMode", NULL, 0644},
    {"downwardAPI", "defaultMode", NULL, 0644},
    {"projected", "defaultMode", NULL, 0644},
    {"serviceAccountToken", "expirationSeconds", NULL, 3600},
    {"iscsi", "iscsiInterface", "default", 0},
    {"rbd", "pool", "rbd", 0},
    {"rbd", "user", "admin", 0},
    {"rbd", "keyring", "/etc/ceph/keyring", 0},
    {"azureDisk", "cachingMode", "ReadWrite", 0},
    {"azureDisk", "kind", "Shared", 0},
    {"azureDisk", "fsType", "ext4", 0},
    {"scaleIO", "storageMode", "ThinProvisioned", 0},
    {"scaleIO", "fsType", "xfs", 0},
    {"networkTopology", "mode", "hard", 0},
    {"tasks", "topologyPolicy", "none", 0},
};

static bool is_preset(const struct preset *preset, const cJSON *item)
{
    if (preset->text)
        return cJSON_IsString(item) && strcmp(item->valuestring, preset->text) == 0;
    if (cJSON_IsBool(item))
        return cJSON_IsTrue(item) == (preset->number == 1);
    return cJSON_IsNumber(item) && item->valuedouble == preset->number;
}

static bool has_preset(const struct lone_member *member)
{
    for (size_t i = 0; i < ARRAY_SIZE(presets); i++) {
        if (strcmp(presets[i].key, member->item->string) == 0 &&
            strcmp(presets[i].in, member->in) == 0)
            return is_preset(&presets[i], member->item);
    }
    return false;
}

/* ---- defaults that depend on other members ------------------------------------------------- */

/* Always for the tag "latest" and for none, unless there is a digest. */
static const char *pull_policy(const char *image)
{
    const char *slash = strrchr(image, '/'), *digest = strchr(image, '@');
    const char *name = slash && (!digest || slash < digest) ? slash + 1 : image;
    const char *colon = strchr(name, ':');
    const bool has_tag = colon && (!digest || colon < digest);
    if (!has_tag)
        return digest ? "IfNotPresent" : "Always";
    const struct str tag =
        digest ? str_make(colon + 1, (size_t)(digest - colon - 1)) : str_of(colon + 1);
    return str_is(tag, "latest") ? "Always" : "IfNotPresent";
}

/* The two names of one field, of which the first counts. */
static const char *service_account(const cJSON *pod)
{
    const char *name = tree_str(pod, "serviceAccountName");
    return *name ? name : tree_str(pod, "serviceAccount");
}

static bool is_derived(const struct lone_member *member)
{
    const char *key = member->item->string;
    const char *text = cJSON_IsString(member->item) ? member->item->valuestring : "";
    if (strcmp(key, "imagePullPolicy") == 0)
        return strcmp(text, pull_policy(tree_str(member->other, "image"))) == 0;
    if (strcmp(key, "serviceAccount") == 0 || strcmp(key, "serviceAccountName") == 0)
        return strcmp(member->in, "spec") == 0 && strcmp(text, service_account(member->other)) == 0;
    if (strcmp(key, "hostPort") == 0)
        return member->on_node_network && cJSON_IsNumber(member->item) &&
               tree_i64_or_0(member->other, "containerPort") == (int64_t)member->item->valuedouble;
    return false;
}

/* ---- all of them --------------------------------------------------------------------------- */

bool equal_by_default(const struct lone_member *member)
{
    /* Maps whose keys are the user's. Of plugins the keys count, whatever their arguments. */
    static const char *const maps[] = {
        "labels",  "annotations", "matchLabels", "plugins",  "nodeSelector",   "volumeAttributes",
        "options", "limits",      "requests",    "overhead", "userAnnotations"};
    if (cJSON_IsNull(member->item))
        return true;
    if (ONE_OF(maps, member->in))
        return false;
    return zero_means_absent(member->item) || has_preset(member) || is_derived(member);
}
