/*
 * spec.volumes and spec.resourceClaims: names, and one source for each volume.
 *
 * The table of sources says where each is found, under which name Kubernetes reports its faults,
 * and which shape it has. Volumes without a fault are noted in the case for the mounts to find.
 */
#include "webhook/pod/pod_rules.h"
#include "webhook/rules/naming.h"

#define ISCSI_NAME_MAX 64

struct volume_source {
    const char *member;
    const char *shown;     /* in the path of its faults, where that is another name */
    const char *forbidden; /* the same when it is one source too many */
    const struct shape *shape;
};

/* In the order in which Kubernetes looks at them: the first one present is taken for the source. */
static const struct volume_source sources[] = {
    {"emptyDir", NULL, NULL, &volume_empty_shape},
    {"hostPath", NULL, NULL, &volume_host_path_shape},
    {"gitRepo", NULL, NULL, &volume_git_shape},
    {"gcePersistentDisk", "persistentDisk", NULL, &volume_pd_partition_shape},
    {"awsElasticBlockStore", NULL, NULL, &volume_id_partition_shape},
    {"secret", NULL, NULL, &volume_secret_shape},
    {"nfs", NULL, NULL, &volume_nfs_shape},
    {"iscsi", NULL, NULL, &volume_iscsi_shape},
    {"glusterfs", NULL, NULL, &volume_gluster_shape},
    {"flocker", NULL, NULL, &volume_flocker_shape},
    {"persistentVolumeClaim", NULL, NULL, &volume_claim_shape},
    {"rbd", NULL, NULL, &volume_rbd_shape},
    {"cinder", NULL, NULL, &volume_cinder_shape},
    {"cephfs", NULL, "cephFS", &volume_ceph_shape},
    {"quobyte", NULL, NULL, &volume_quobyte_shape},
    {"downwardAPI", NULL, "downwarAPI", &volume_downward_shape}, /* so it is spelt there */
    {"fc", NULL, NULL, &volume_fc_shape},
    {"flexVolume", NULL, NULL, &volume_flex_shape},
    {"configMap", NULL, NULL, &volume_config_map_shape},
    {"azureFile", NULL, NULL, &volume_azure_file_shape},
    {"vsphereVolume", NULL, NULL, &volume_vsphere_shape},
    {"photonPersistentDisk", NULL, NULL, &volume_photon_shape},
    {"portworxVolume", NULL, NULL, &volume_portworx_shape},
    {"azureDisk", NULL, NULL, &volume_azure_disk_shape},
    {"storageos", NULL, NULL, &volume_storage_os_shape},
    {"projected", NULL, NULL, &volume_projected_shape},
    {"scaleIO", NULL, NULL, &volume_scale_io_shape},
    {"csi", NULL, NULL, &volume_csi_shape},
    {"ephemeral", NULL, NULL, &volume_ephemeral_shape},
    {"image", NULL, NULL, &volume_image_shape},
};

/* A session of its own has a name made of the volume's, which iSCSI keeps short. */
static void check_iscsi_name(struct rule_walk *walk, const cJSON *volume, const struct field *at)
{
    const cJSON *iscsi = tree_get(volume, "iscsi");
    const struct field name_at = field_member(at, "name");
    const size_t length =
        strlen(tree_str(volume, "name")) + 1 + strlen(tree_str(iscsi, "targetPortal"));
    if (tree_get(iscsi, "initiatorName") && length > ISCSI_NAME_MAX)
        field_invalid(walk->problems, &name_at, tree_get(volume, "name"),
                      "with iscsi.initiatorName, \"<volume name>:<iscsi.targetPortal>\" must be no "
                      "more than 64 characters");
}

/* A volume without a source gets an empty directory by default. */
static void check_sources(struct rule_walk *walk, const cJSON *volume, const struct field *at)
{
    bool found = false;
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
        const cJSON *value = tree_get(volume, sources[i].member);
        if (!value)
            continue;
        const char *shown = sources[i].shown ? sources[i].shown : sources[i].member;
        if (found)
            shown = sources[i].forbidden ? sources[i].forbidden : sources[i].member;
        const struct field source_at = field_member(at, shown);
        if (found)
            field_forbidden(walk->problems, &source_at, "may not specify more than 1 volume type");
        else
            shape_check(walk, sources[i].shape, value, &source_at);
        found = true;
    }
    check_iscsi_name(walk, volume, at);
}

static const struct rule volume_name_rules[] = {
    {.name = "name", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = naming_label},
    {0},
};
static const struct shape volume_name_shape = {.rules = volume_name_rules};

static void check_volume(struct rule_walk *walk, const cJSON *volume, const struct field *at)
{
    struct map *known = &pod_case_of(walk)->volumes;
    const struct str name = str_of(tree_str(volume, "name"));
    const struct field name_at = field_member(at, "name");
    const size_t before = walk->problems->count;
    check_sources(walk, volume, at);
    shape_check(walk, &volume_name_shape, volume, at);
    if (map_has(known, name))
        field_duplicate(walk->problems, &name_at, tree_get(volume, "name"));
    if (walk->problems->count == before)
        map_set(known, name, (void *)(uintptr_t)volume);
}

static void check_volume_list(struct rule_walk *walk, const cJSON *list, const struct field *at)
{
    size_t index = 0;
    const cJSON *volume;
    cJSON_ArrayForEach(volume, list)
    {
        const struct field volume_at = field_item(at, index++);
        check_volume(walk, volume, &volume_at);
    }
}

/* ---- resource claims ----------------------------------------------------------------------- */

static void check_claim(struct rule_walk *walk, const cJSON *claim, const struct field *at)
{
    static const char *const names[] = {"resourceClaimName", "resourceClaimTemplateName", NULL};
    const struct str name = str_of(tree_str(claim, "name"));
    const size_t count = shape_count_present(claim, names);
    if (name.n)
        map_set(&pod_case_of(walk)->claims, name, NULL);
    if (count > 1)
        field_invalid(
            walk->problems, at, claim,
            "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified");
    if (count == 0)
        field_invalid(walk->problems, at, claim,
                      "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
}

static const struct rule claim_rules[] = {
    {.name = "name", .kind = RULE_TEXT, .flags = RULE_REQUIRED, .text = naming_label},
    {.name = "resourceClaimName",
     .kind = RULE_TEXT,
     .flags = RULE_EMPTY_COUNTS,
     .text = naming_subdomain},
    {.name = "resourceClaimTemplateName",
     .kind = RULE_TEXT,
     .flags = RULE_EMPTY_COUNTS,
     .text = naming_subdomain},
    {0},
};
static const struct shape claim_shape = {.rules = claim_rules, .check = check_claim};

static const struct rule spec_rules[] = {
    {.name = "volumes", .kind = RULE_LIST, .check = check_volume_list},
    {.name = "resourceClaims", .kind = RULE_LIST, .shape = &claim_shape, .unique = "name"},
    {0},
};
static const struct shape spec_shape = {.rules = spec_rules};

void pod_check_volumes(struct rule_walk *walk, const struct field *spec_at)
{
    shape_check(walk, &spec_shape, pod_case_of(walk)->spec, spec_at);
}
