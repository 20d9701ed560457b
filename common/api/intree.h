/*
 * Disks that Kubernetes once had drivers of its own for, and the CSI drivers that serve them now:
 * such a disk counts as a volume of that driver, whether a pod, a PersistentVolume or a
 * StorageClass names it. Constant tables; any thread.
 */
#ifndef PUMICE_API_INTREE_H
#define PUMICE_API_INTREE_H

#include "base/str.h"

struct intree_disk {
    const char *member;      /* of a volume's source: "gcePersistentDisk" */
    const char *id;          /* the member of that which names the disk: "pdName" */
    const char *driver;      /* "pd.csi.storage.gke.io" */
    const char *provisioner; /* of StorageClasses: "kubernetes.io/gce-pd" */
};

/* By the member of a volume's source; NULL for others. */
const struct intree_disk *intree_disk_find(struct str member);
/* The driver that makes the volumes of a class: a CSI driver, or `provisioner` itself. */
struct str intree_driver(struct str provisioner);
/* The name of a disk as its driver knows it: a part of `id`. */
struct str intree_handle(const struct intree_disk *disk, struct str id);

#endif
