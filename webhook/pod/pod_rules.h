/*
 * The rules of a pod template that are not of its containers, as template.c puts them together.
 * Private to webhook/pod. All run on the caller's thread and keep nothing.
 */
#ifndef PUMICE_WEBHOOK_POD_RULES_H
#define PUMICE_WEBHOOK_POD_RULES_H

#include "webhook/pod/pod_case.h"

typedef void pod_container_fn(struct rule_walk *walk, const cJSON *container,
                              const struct field *at, void *data);
/* Calls `each` for every container of the template: init containers, containers, ephemeral ones. */
void pod_each_container(struct rule_walk *walk, const struct field *spec_at, pod_container_fn *each,
                        void *data);

/* ---- metadata.c ---- */

/* `labels` and `annotations` of the template, with the annotations that Kubernetes reads; `at` is
 * the template: that is where Kubernetes says they are. */
void pod_check_metadata(struct rule_walk *walk, const struct field *at);
/* Annotations of seccomp and AppArmor profiles must say what the fields say. */
void pod_check_profile_annotations(struct rule_walk *walk, const struct field *spec_at);
/* A map of labels; faults are at the map itself. */
rule_check_fn pod_check_labels;
/* The keys of a map of annotations, and its size; the size alone. */
rule_check_fn pod_check_annotations, pod_check_annotations_size;

/* ---- volume_*.c: the source named by a volume ---- */

extern const struct shape volume_azure_disk_shape, volume_azure_file_shape, volume_ceph_shape,
    volume_cinder_shape, volume_claim_shape, volume_csi_shape, volume_fc_shape, volume_flex_shape,
    volume_flocker_shape, volume_gluster_shape, volume_id_partition_shape, volume_iscsi_shape,
    volume_nfs_shape, volume_pd_partition_shape, volume_photon_shape, volume_portworx_shape,
    volume_quobyte_shape, volume_rbd_shape, volume_scale_io_shape, volume_storage_os_shape,
    volume_vsphere_shape;
extern const struct shape volume_config_map_shape, volume_downward_shape, volume_empty_shape,
    volume_git_shape, volume_host_path_shape, volume_image_shape, volume_projected_shape,
    volume_secret_shape;
extern const struct shape volume_ephemeral_shape;

/* A key of a ConfigMap or Secret that becomes a file; a field of the pod that does. */
extern const struct shape volume_item_shape, volume_downward_file_shape;

/* The rule for the permissions of files. */
#define VOLUME_MODE_RULE(member)                                                                   \
    {.name = member,                                                                               \
     .kind = RULE_NUMBER,                                                                          \
     .low = 0,                                                                                     \
     .high = 0777,                                                                                 \
     .detail = "must be a number between 0 and 0777 (octal), both inclusive"}

/* A path inside a volume: relative, without "..". */
rule_text_fn volume_text_descending;
/* The same, and it must not start with "..". */
rule_text_fn volume_text_local;
/* No ".." among the parts of the path. */
rule_text_fn volume_text_no_backsteps;

/* ---- affinity.c, scheduling.c, network.c ---- */

extern const struct shape pod_affinity_shape, pod_toleration_shape, pod_host_alias_shape;
/* matchLabelKeys of what has a labelSelector: a term of an affinity, a constraint on topology. */
rule_check_fn pod_check_match_label_keys;
/* Checks of members of the spec; each takes an absent member as NULL. */
rule_check_fn pod_check_spread, pod_check_scheduling_gates, pod_check_dns, pod_check_hostname;

/* ---- security.c, os.c ---- */

/* securityContext of a pod with the members of the spec that go with it. */
rule_check_fn pod_check_security;
/* What a pod with hostUsers false may not have; the value is the spec. */
rule_check_fn pod_check_host_users;
/* hostProcess of the pod and its containers; the value is the spec. */
rule_check_fn pod_check_host_process;
/* spec.os and what that system forbids. */
rule_check_fn pod_check_os;

/* ---- windows.c ---- */

/* windowsOptions of a pod or a container. */
extern const struct shape pod_windows_shape;

#endif
