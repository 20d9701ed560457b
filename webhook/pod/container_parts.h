/*
 * The parts of a container that have files of their own. Private to the container half of
 * webhook/pod; each check reports at `at`, the container's own place.
 */
#ifndef PUMICE_WEBHOOK_POD_CONTAINER_PARTS_H
#define PUMICE_WEBHOOK_POD_CONTAINER_PARTS_H

#include "base/quantity.h"
#include "webhook/pod/pod_case.h"

/* ---- env.c ---- */

/* An item of env, and one of envFrom. */
extern const struct shape pod_env_shape, pod_env_from_shape;
/* fileKeyRefs of all containers of the pod: their volumes must be emptyDirs. */
void pod_check_env_files(struct rule_walk *walk, const struct field *spec_at);

/* ---- ports.c ---- */

/* An item of ports. */
extern const struct shape pod_port_shape;
/* No host port twice: `seen` holds those of the containers before. */
void pod_check_host_ports(struct rule_walk *walk, const cJSON *container, const struct field *at,
                          struct map *seen);
/* On the host's network a host port is the container's. */
void pod_check_host_network_ports(struct rule_walk *walk, const cJSON *container,
                                  const struct field *at);

/* ---- mounts.c ---- */

/* volumeMounts and volumeDevices of a container, against the volumes of the pod. */
void pod_check_mounts(struct rule_walk *walk, const cJSON *container, const struct field *at);

/* ---- probes.c ---- */

extern const struct shape pod_lifecycle_shape;
/* Liveness and startup probes have the same rules. */
extern const struct shape pod_liveness_probe_shape, pod_readiness_probe_shape;

/* ---- resources.c ---- */

/* resources of a container: a rule_check_fn. */
void pod_check_container_resources(struct rule_walk *walk, const cJSON *resources,
                                   const struct field *at);
/* The same for `resources` of a pod, by itself. */
void pod_check_own_resources(struct rule_walk *walk, const cJSON *resources,
                             const struct field *at);
/* The quantity as Kubernetes keeps it, in whole thousandths; false when it is none. */
bool pod_read_quantity(struct rule_walk *walk, const cJSON *value, struct quantity *ret_quantity);

/* ---- pod_level.c ---- */

/* spec.resources, by itself and against what the containers ask for: a rule_check_fn. */
void pod_check_pod_level_resources(struct rule_walk *walk, const cJSON *resources,
                                   const struct field *at);

#endif
