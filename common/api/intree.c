/*
 * Disks of Kubernetes' former drivers. See intree.h.
 */
#include "api/intree.h"
#include "base/alloc.h"

static const struct intree_disk disks[] = {
    {"awsElasticBlockStore", "volumeID", "ebs.csi.aws.com", "kubernetes.io/aws-ebs"},
    {"gcePersistentDisk", "pdName", "pd.csi.storage.gke.io", "kubernetes.io/gce-pd"},
    {"azureDisk", "diskURI", "disk.csi.azure.com", "kubernetes.io/azure-disk"},
    {"cinder", "volumeID", "cinder.csi.openstack.org", "kubernetes.io/cinder"},
    {"portworxVolume", "volumeID", "pxd.portworx.com", "kubernetes.io/portworx-volume"},
};

const struct intree_disk *intree_disk_find(struct str member)
{
    for (size_t i = 0; i < ARRAY_SIZE(disks); i++)
        if (str_is(member, disks[i].member))
            return &disks[i];
    return NULL;
}

struct str intree_driver(struct str provisioner)
{
    for (size_t i = 0; i < ARRAY_SIZE(disks); i++)
        if (str_is(provisioner, disks[i].provisioner))
            return str_of(disks[i].driver);
    return provisioner;
}

/* Amazon's may be written "aws://zone/vol-1". */
struct str intree_handle(const struct intree_disk *disk, struct str id)
{
    bool path = disk == &disks[0];
    for (size_t i = id.n; path && i > 0; i--)
        if (id.p[i - 1] == '/')
            return str_from(id, i);
    return id;
}
