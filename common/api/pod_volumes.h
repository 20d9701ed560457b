/*
 * struct pod_volumes: what of a pod's volumes matters to where it may run: claims, and disks that
 * are named in the pod itself.
 *
 * Most pods have none of these and then there is no such record. Pods of a namespace that name the
 * same share one. A generic ephemeral volume has a claim of the pod's own, so pods with one have a
 * record each. Counted, immutable but for `scratch`. Loop thread only.
 */
#ifndef PUMICE_API_POD_VOLUMES_H
#define PUMICE_API_POD_VOLUMES_H

#include "json/reader.h"

struct pod_claim {
    const char *key;  /* interned; "namespace/name" */
    const char *name; /* a part of it */
    bool ephemeral;   /* made for the pod, and goes with it */
};

/* Disks of which one may not serve two pods of a node. */
enum pod_disk_kind {
    POD_DISK_OTHER, /* it may */
    POD_DISK_GCE,
    POD_DISK_AWS,
    POD_DISK_ISCSI,
    POD_DISK_RBD
};

struct pod_disk {
    const char *id;        /* interned; the disk; of RBD its image */
    const char *driver;    /* interned; its CSI driver, NULL for ISCSI and RBD */
    const char *pool;      /* interned; of RBD */
    const char **monitors; /* owned array of interned texts; of RBD */
    uint32_t monitor_count;
    enum pod_disk_kind kind;
    bool read_only;
};

struct pod_volumes {
    const char *ns;                 /* interned */
    const char *pod_name, *pod_uid; /* interned; NULL without ephemeral claims */
    struct pod_claim *claims;       /* owned; no claim twice */
    uint32_t claim_count;
    struct pod_disk *disks; /* owned */
    uint32_t disk_count;
    char *key; /* owned; the content as text */
    size_t key_size;
    uint32_t refs;
    void *scratch; /* the scheduler's own, NULL at first; the holder keeps a reference meanwhile */
};

/*
 * Reads a pod's `spec.volumes` (the value that comes next), with one reference for the caller.
 * NULL when nothing in it matters, or when it cannot be read: that shows in the reader. `name` and
 * `uid` are the pod's own.
 */
struct pod_volumes *pod_volumes_read(struct json_reader *reader, struct str ns, struct str name,
                                     struct str uid);
struct pod_volumes *pod_volumes_ref(struct pod_volumes *volumes);
/* Drops one reference; NULL is fine. */
void pod_volumes_unref(struct pod_volumes *volumes);
/* The content as text, for keys: equal for equal volumes, "" for NULL. It names the namespace. */
struct str pod_volumes_key(const struct pod_volumes *volumes);
/* Whether two pods may not have these disks on one node. */
bool pod_disks_conflict(const struct pod_disk *a, const struct pod_disk *b);
/* Live records, for tests. */
size_t pod_volumes_count(void);

#endif
