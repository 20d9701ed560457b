/*
 * Sources of volumes that are disks and file systems of others: required members, ranges, forms of
 * names.
 */
#include "webhook/pod/pod_rules.h"
#include "webhook/rules/naming.h"
#include <strings.h>

#define QUOBYTE_TENANT_MAX 64
#define DRIVER_MAX 63

#define REQUIRED_TEXT(member) {.name = member, .kind = RULE_TEXT, .flags = RULE_REQUIRED}
#define PARTITION {.name = "partition", .kind = RULE_NUMBER, .low = 0, .high = 255}

static const struct rule pd_partition_rules[] = {REQUIRED_TEXT("pdName"), PARTITION, {0}};
const struct shape volume_pd_partition_shape = {.rules = pd_partition_rules};

static const struct rule id_partition_rules[] = {REQUIRED_TEXT("volumeID"), PARTITION, {0}};
const struct shape volume_id_partition_shape = {.rules = id_partition_rules};

static const struct rule claim_rules[] = {REQUIRED_TEXT("claimName"), {0}};
const struct shape volume_claim_shape = {.rules = claim_rules};

static const struct rule gluster_rules[] = {REQUIRED_TEXT("endpoints"), REQUIRED_TEXT("path"), {0}};
const struct shape volume_gluster_shape = {.rules = gluster_rules};

static const struct rule rbd_rules[] = {
    {.name = "monitors", .kind = RULE_LIST, .flags = RULE_REQUIRED},
    REQUIRED_TEXT("image"),
    {0},
};
const struct shape volume_rbd_shape = {.rules = rbd_rules};

static const struct rule ceph_rules[] = {
    {.name = "monitors", .kind = RULE_LIST, .flags = RULE_REQUIRED},
    {0},
};
const struct shape volume_ceph_shape = {.rules = ceph_rules};

static const struct rule azure_file_rules[] = {
    REQUIRED_TEXT("secretName"), REQUIRED_TEXT("shareName"), {0}};
const struct shape volume_azure_file_shape = {.rules = azure_file_rules};

static const struct rule vsphere_rules[] = {REQUIRED_TEXT("volumePath"), {0}};
const struct shape volume_vsphere_shape = {.rules = vsphere_rules};

static const struct rule photon_rules[] = {REQUIRED_TEXT("pdID"), {0}};
const struct shape volume_photon_shape = {.rules = photon_rules};

static const struct rule portworx_rules[] = {REQUIRED_TEXT("volumeID"), {0}};
const struct shape volume_portworx_shape = {.rules = portworx_rules};

static const struct rule scale_io_rules[] = {
    REQUIRED_TEXT("gateway"), REQUIRED_TEXT("system"), REQUIRED_TEXT("volumeName"), {0}};
const struct shape volume_scale_io_shape = {.rules = scale_io_rules};

static const struct rule secret_ref_rules[] = {REQUIRED_TEXT("name"), {0}};
static const struct shape secret_ref_shape = {.rules = secret_ref_rules};

static const struct rule storage_os_rules[] = {
    {.name = "volumeName", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = naming_label},
    {.name = "volumeNamespace", .kind = RULE_TEXT, .text = naming_label},
    {.name = "secretRef", .kind = RULE_OBJECT, .shape = &secret_ref_shape},
    {0},
};
const struct shape volume_storage_os_shape = {.rules = storage_os_rules};

static const struct rule cinder_rules[] = {
    REQUIRED_TEXT("volumeID"),
    {.name = "secretRef", .kind = RULE_OBJECT, .shape = &secret_ref_shape},
    {0},
};
const struct shape volume_cinder_shape = {.rules = cinder_rules};

/* ---- NFS, Quobyte, Flocker ----------------------------------------------------------------- */

static const char *absolute_path(struct str path)
{
    return path.n && path.p[0] == '/' ? NULL : "must be an absolute path";
}

static const struct rule nfs_rules[] = {
    REQUIRED_TEXT("server"),
    {.name = "path", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = absolute_path},
    {0},
};
const struct shape volume_nfs_shape = {.rules = nfs_rules};

/* "host:port" or "[host]:port"; the port may be any text. */
static bool is_host_port(struct str pair)
{
    ptrdiff_t colon = -1;
    for (size_t i = 0; i < pair.n; i++) {
        if (pair.p[i] == ':')
            colon = (ptrdiff_t)i;
    }
    if (colon < 0)
        return false;
    struct str host = str_sub(pair, 0, (size_t)colon), port = str_from(pair, (size_t)colon + 1);
    if (host.n >= 2 && host.p[0] == '[' && str_chr(host, ']') == (ptrdiff_t)host.n - 1)
        host = str_sub(host, 1, host.n - 1);
    else if (str_chr(host, ':') >= 0)
        return false;
    return str_chr(host, '[') < 0 && str_chr(host, ']') < 0 && str_chr(port, '[') < 0 &&
           str_chr(port, ']') < 0;
}

static const char *registry_list(struct str text)
{
    struct str rest = text, pair;
    bool good = text.p[text.n - 1] != ',';
    while (good && str_split(&rest, ',', &pair))
        good = is_host_port(pair);
    return good ? NULL : "must be a host:port pair or multiple pairs separated by commas";
}

/* The tenant is looked at only beside a registry, and the registry's form only beside a right
 * tenant. */
static void check_quobyte(struct rule_walk *walk, const cJSON *source, const struct field *at)
{
    const char *registry = tree_str(source, "registry");
    const struct field tenant_at = field_member(at, "tenant"),
                       registry_at = field_member(at, "registry");
    if (!*registry)
        return;
    const char *reason = registry_list(str_of(registry));
    if (strlen(tree_str(source, "tenant")) > QUOBYTE_TENANT_MAX)
        field_required(walk->problems, &tenant_at,
                       "must be a UUID and may not exceed a length of 64 characters");
    else if (reason)
        field_invalid(walk->problems, &registry_at, tree_get(source, "registry"), "%s", reason);
}

static const struct rule quobyte_rules[] = {
    {.name = "registry",
     .kind = RULE_TEXT,
     .flags = RULE_REQUIRED,
     .detail = "must be a host:port pair or multiple pairs separated by commas"},
    REQUIRED_TEXT("volume"),
    {0},
};
const struct shape volume_quobyte_shape = {.rules = quobyte_rules, .check = check_quobyte};

static void check_flocker(struct rule_walk *walk, const cJSON *source, const struct field *at)
{
    const char *name = tree_str(source, "datasetName"), *uuid = tree_str(source, "datasetUUID");
    const struct field name_at = field_member(at, "datasetName");
    if (!*name && !*uuid)
        field_required(walk->problems, at, "one of datasetName and datasetUUID is required");
    if (*name && *uuid)
        field_invalid(walk->problems, at, source,
                      "datasetName and datasetUUID can not be specified simultaneously");
    if (strchr(name, '/'))
        field_invalid(walk->problems, &name_at, tree_get(source, "datasetName"),
                      "must not contain '/'");
}

static const struct rule no_rules[] = {{0}};
const struct shape volume_flocker_shape = {.rules = no_rules, .check = check_flocker};

/* ---- iSCSI and Fibre Channel --------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "eui." or "naa." and so many letters and digits. */
static bool is_numbered_name(struct str name, size_t digits)
{
    if (name.n != strlen("eui.") + digits)
        return false;
    for (size_t i = strlen("eui."); i < name.n; i++) {
        if (!is_alnum(name.p[i]))
            return false;
    }
    return name.p[3] != '\n';
}

/* "iqn.<yyyy>-<mm>.<domain>:<name>". */
static bool is_qualified_iscsi_name(struct str name)
{
    static const char form[] = "iqn.dddd-dd."; /* d: a digit */
    const ptrdiff_t colon = str_chr(name, ':');
    const size_t domain = sizeof(form) - 1;
    if (colon <= (ptrdiff_t)domain || (size_t)colon + 1 == name.n)
        return false;
    for (size_t i = 0; i < domain; i++) {
        if (form[i] == 'd' ? !is_digit(name.p[i]) : name.p[i] != form[i])
            return false;
    }
    for (size_t i = domain; i < (size_t)colon; i++) {
        if (!is_alnum(name.p[i]) && name.p[i] != '-' && name.p[i] != '.')
            return false;
    }
    for (size_t i = (size_t)colon + 1; i < name.n; i++) {
        if (strchr(",;*&$| \t\n\f\r", name.p[i]))
            return false;
    }
    return true;
}

static const char *iscsi_name(struct str name)
{
    bool good;
    if (str_starts(name, STR("iqn")))
        good = is_qualified_iscsi_name(name);
    else if (str_starts(name, STR("eui")))
        good = is_numbered_name(name, 16);
    else if (str_starts(name, STR("naa")))
        good = is_numbered_name(name, 32);
    else
        return "must be valid format starting with iqn, eui, or naa";
    return good ? NULL : "must be valid format";
}

static void check_iscsi_secret(struct rule_walk *walk, const cJSON *source, const struct field *at)
{
    const struct field secret_at = field_member(at, "secretRef");
    if ((tree_bool(source, "chapAuthDiscovery") || tree_bool(source, "chapAuthSession")) &&
        !tree_get(source, "secretRef"))
        field_required(walk->problems, &secret_at, "");
}

/* Kubernetes spells the path of initiatorName in small letters. */
static void check_iscsi(struct rule_walk *walk, const cJSON *source, const struct field *at)
{
    const cJSON *initiator = tree_get(source, "initiatorName");
    const struct field initiator_at = field_member(at, "initiatorname");
    check_iscsi_secret(walk, source, at);
    const char *reason =
        cJSON_IsString(initiator) ? iscsi_name(str_of(initiator->valuestring)) : NULL;
    if (reason)
        field_invalid(walk->problems, &initiator_at, initiator, "%s", reason);
}

static const struct rule iscsi_rules[] = {
    REQUIRED_TEXT("targetPortal"),
    {.name = "iqn", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = iscsi_name},
    {.name = "lun", .kind = RULE_NUMBER, .low = 0, .high = 255},
    {0},
};
const struct shape volume_iscsi_shape = {.rules = iscsi_rules, .check = check_iscsi};

static const struct rule fc_lun_rules[] = {
    {.name = "lun",
     .kind = RULE_NUMBER,
     .flags = RULE_REQUIRED,
     .low = 0,
     .high = 255,
     .detail = "must be given with targetWWNs, from 0 to 255"},
    {0},
};
static const struct shape fc_lun_shape = {.rules = fc_lun_rules};

static void check_fc(struct rule_walk *walk, const cJSON *source, const struct field *at)
{
    const struct field names_at = field_member(at, "targetWWNs");
    const int names = cJSON_GetArraySize(tree_array(source, "targetWWNs"));
    const int ids = cJSON_GetArraySize(tree_array(source, "wwids"));
    if (!names && !ids)
        field_required(walk->problems, &names_at,
                       "must specify either targetWWNs or wwids, but not both");
    if (names && ids)
        field_invalid(walk->problems, &names_at, tree_get(source, "targetWWNs"),
                      "targetWWNs and wwids can not be specified simultaneously");
    if (names)
        shape_check(walk, &fc_lun_shape, source, at);
}

const struct shape volume_fc_shape = {.rules = no_rules, .check = check_fc};

/* ---- flexible and CSI drivers -------------------------------------------------------------- */

/* The domain in front of an option: those of Kubernetes are not for users. */
static bool is_reserved_option(const char *key)
{
    const size_t n = strcspn(key, "/");
    static const char *const domains[] = {"kubernetes.io", "k8s.io"};
    for (size_t i = 0; i < ARRAY_SIZE(domains); i++) {
        const size_t length = strlen(domains[i]);
        if (n >= length && strncasecmp(key + n - length, domains[i], length) == 0 &&
            (n == length || key[n - length - 1] == '.'))
            return true;
    }
    return false;
}

static void check_flex_options(struct rule_walk *walk, const cJSON *options, const struct field *at)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, options)
    {
        const struct field option_at = field_key(at, item->string);
        if (is_reserved_option(item->string))
            field_invalid_text(walk->problems, &option_at, item->string,
                               "kubernetes.io and k8s.io namespaces are reserved");
    }
}

static const struct rule flex_rules[] = {
    REQUIRED_TEXT("driver"),
    {.name = "options", .kind = RULE_OBJECT, .check = check_flex_options},
    {0},
};
const struct shape volume_flex_shape = {.rules = flex_rules};

static void check_driver_length(struct rule_walk *walk, const cJSON *driver, const struct field *at)
{
    if (strlen(driver->valuestring) > DRIVER_MAX)
        field_too_long(walk->problems, at, DRIVER_MAX);
}

/* The form of the secret's name is a fault of the source's "name", as Kubernetes has it. */
static void check_csi_secret(struct rule_walk *walk, const cJSON *source, const struct field *at)
{
    const cJSON *name = tree_get(tree_get(source, "nodePublishSecretRef"), "name");
    const struct field name_at = field_member(at, "name");
    if (!cJSON_IsString(name) || !*name->valuestring)
        return;
    const char *reason = naming_subdomain(str_of(name->valuestring));
    if (reason)
        field_invalid(walk->problems, &name_at, name, "%s", reason);
}

static const struct rule csi_rules[] = {
    {.name = "driver",
     .kind = RULE_TEXT,
     .flags = RULE_REQUIRED,
     .text = naming_driver,
     .check = check_driver_length},
    {.name = "nodePublishSecretRef", .kind = RULE_OBJECT, .shape = &secret_ref_shape},
    {0},
};
const struct shape volume_csi_shape = {.rules = csi_rules, .check = check_csi_secret};

/* ---- Azure disks --------------------------------------------------------------------------- */

static const char *const azure_caching_modes[] = {"None", "ReadOnly", "ReadWrite", NULL};
static const char *const azure_kinds[] = {"Dedicated", "Managed", "Shared", NULL};
static const char *const azure_managed_uris[] = {
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
    "{disk-id}",
    NULL};
static const char *const azure_blob_uris[] = {
    "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd", NULL};

/* Disks are blobs (kind Shared) unless they say that they are managed. */
static void check_azure_uri(struct rule_walk *walk, const cJSON *source, const struct field *at)
{
    const bool managed = strcmp(tree_str(source, "kind"), "Managed") == 0;
    const struct str uri = str_of(tree_str(source, "diskURI"));
    const struct field uri_at = field_member(at, "diskURI");
    if (!str_starts(uri, managed ? STR("/subscriptions/") : STR("https://")))
        field_not_supported(walk->problems, &uri_at, tree_get(source, "diskURI"),
                            managed ? azure_managed_uris : azure_blob_uris);
}

static const struct rule azure_disk_rules[] = {
    REQUIRED_TEXT("diskName"),
    REQUIRED_TEXT("diskURI"),
    {.name = "cachingMode",
     .kind = RULE_ENUM,
     .flags = RULE_EMPTY_COUNTS,
     .values = azure_caching_modes},
    {.name = "kind", .kind = RULE_ENUM, .flags = RULE_EMPTY_COUNTS, .values = azure_kinds},
    {0},
};
const struct shape volume_azure_disk_shape = {.rules = azure_disk_rules, .check = check_azure_uri};
