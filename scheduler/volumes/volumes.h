/*
 * struct volumes: what the scheduler knows of claims, PersistentVolumes, StorageClasses and
 * CSINodes, of the volumes that pods on nodes use, and of those that placed pods are to have; and
 * from that, whether a pod's volumes let it run on a node. By the rules of kube-scheduler's plugins
 * VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone.
 *
 * Everything is kept by the change of one object or one pod. A claim that waits for its first
 * consumer gets, when a pod is placed (volumes_assume), a *choice*: a volume that is there, the
 * smallest that fits and that the node reaches, or the node as the place to make one for. Nobody
 * else is then offered that volume, and other pods with the claim go where it can be reached. A
 * choice ends with the last placement that wants it (volumes_forget). Writing choices to the API
 * server is binder.h's.
 *
 * What is not looked at: CSIStorageCapacity, VolumeAttachments of no pod, and the topology keys
 * that CSI drivers use in place of those of migrated disks. Loop thread only.
 */
#ifndef PUMICE_SCHEDULER_VOLUMES_VOLUMES_H
#define PUMICE_SCHEDULER_VOLUMES_VOLUMES_H

#include "api/csinode.h"
#include "api/node.h"
#include "api/pod_volumes.h"
#include "api/storageclass.h"
#include "api/volume.h"

/* What is asked; all at first. Without any, pods are placed as if they had no volumes. */
enum {
    VOLUMES_LIMITS = 1,       /* how many volumes a node may have */
    VOLUMES_ZONE = 2,         /* labels of volumes that name zones and regions */
    VOLUMES_BINDING = 4,      /* claims have volumes that the node reaches, or get one */
    VOLUMES_RESTRICTIONS = 8, /* claims are there; ReadWriteOncePod, disks that cannot be shared */
    VOLUMES_ALL = 15
};

struct volumes;

struct volumes *volumes_new(void);
/* Its binder must be gone. NULL is fine. */
void volumes_free(struct volumes *volumes);
void volumes_set_checks(struct volumes *volumes, unsigned checks);

/* ---- objects ----------------------------------------------------------------------------------
 */

/* The present version of an object, NULL for one that is gone; a reference is taken. Each returns
 * true when something changed that may let a pod run that could not. */
bool volumes_set_claim(struct volumes *volumes, const char *ns, const char *name,
                       struct claim *claim);
bool volumes_set_volume(struct volumes *volumes, const char *name, struct volume *volume);
bool volumes_set_class(struct volumes *volumes, const char *name,
                       struct storageclass *storageclass);
bool volumes_set_csinode(struct volumes *volumes, const char *name, struct csinode *csinode);

/* ---- pods on nodes ------------------------------------------------------------------------------
 */

/* A pod with these volumes (NULL is fine) is on the node, whether placed in memory or seen there;
 * and is not any more. Paired. */
void volumes_attach(struct volumes *volumes, struct pod_volumes *wanted, const char *node);
void volumes_detach(struct volumes *volumes, struct pod_volumes *wanted, const char *node);

/* ---- answers ----------------------------------------------------------------------------------
 */

/*
 * Grows when an answer of volumes_refuse_pod or volumes_filter for such pods may be another. 0 for
 * pods without volumes. Answers of volumes_crowded change, beside that, only with what is attached
 * to the node itself.
 */
uint64_t volumes_version(const struct volumes *volumes, const struct pod_volumes *wanted);

/* Reasons are constant, or live as long as `wanted` does; equal ones of it are one pointer. */

/* Why such pods may run nowhere, or NULL. */
const char *volumes_refuse_pod(struct volumes *volumes, struct pod_volumes *wanted);
/* Why they may not run on that node, whatever else is there, or NULL. Includes the above. */
const char *volumes_filter(struct volumes *volumes, struct pod_volumes *wanted,
                           const struct node *node);
/* Why they may not, with what is attached to the node now, or NULL. */
const char *volumes_crowded(struct volumes *volumes, struct pod_volumes *wanted, const char *node);
/* Either, in the order of kube-scheduler as far as one look can tell. */
const char *volumes_refuse(struct volumes *volumes, struct pod_volumes *wanted,
                           const struct node *node);

/* How many volumes were looked at one by one since this was last asked: work, for who counts it. */
uint64_t volumes_take_looks(struct volumes *volumes);

/* ---- placements -------------------------------------------------------------------------------
 */

/*
 * The pod is placed on the node: claims of it that wait get their choices, which are its own until
 * volumes_forget. False, and nothing is taken, when that cannot be. Claims that have volumes need
 * nothing. `uid` is interned. To be called before volumes_attach.
 */
bool volumes_assume(struct volumes *volumes, const char *uid, struct pod_volumes *wanted,
                    const struct node *node);
/* Takes that back; harmless when the pod has no choices. */
void volumes_forget(struct volumes *volumes, const char *uid);
/* Whether the pod has choices, which must be written before it is bound. */
bool volumes_has_choices(const struct volumes *volumes, const char *uid);

/* ---- ahead of the pods ------------------------------------------------------------------------
 */

/*
 * Pods of a gang may share a claim for which a volume is to be made. Nobody knows from where it
 * will be reached: until it is there, all of them have to be on the node for which it is asked.
 * Where that is all that stands in their way, it is made before any of them is bound: binder.h.
 */

/* The node for which such a volume is to be made for pods like these, by what was chosen and has
 * not been written yet (interned, borrowed); NULL when there is none. */
const char *volumes_making_at(const struct volumes *volumes, const struct pod_volumes *wanted);
/* Whether it counts as reached from wherever its class can make one. */
void volumes_presume_reached(struct volumes *volumes, bool presume);

/* Every index and count compared with a recount; a constant text on the first difference, else
 * NULL. Costs a look at everything. */
const char *volumes_audit(const struct volumes *volumes);

#endif
