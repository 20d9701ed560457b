/*
 * What the files of the pod-template rules share. Private to webhook/pod.
 */
#ifndef PUMICE_WEBHOOK_POD_CASE_H
#define PUMICE_WEBHOOK_POD_CASE_H

#include "base/map.h"
#include "webhook/pod/template.h"

/* The template under review: the context of the walk. */
struct pod_case {
    const struct pod_template_options *options;
    const cJSON *metadata, *spec; /* may be NULL */
    struct map volumes;           /* name -> const cJSON * of the volume, in spec.volumes */
    struct map claims;            /* names in spec.resourceClaims */
    bool host_network;
    const char *os; /* spec.os.name, or "" */
};

static inline struct pod_case *pod_case_of(const struct rule_walk *walk)
{
    return walk->context;
}

/* ---- template.c and its neighbours: metadata, volumes, the pod's own fields ---- */

/* spec.volumes and spec.resourceClaims; fills `volumes` and `claims`. Called before containers. */
void pod_check_volumes(struct rule_walk *walk, const struct field *spec_at);
/* A label selector. */
extern const struct shape pod_label_selector_shape;
/* securityContext of a container. */
extern const struct shape pod_container_security_shape;

/* ---- containers.c and its neighbours ---- */

/* spec.containers, .initContainers, .ephemeralContainers, host ports, spec.resources. */
void pod_check_containers(struct rule_walk *walk, const struct field *spec_at);
/*
 * A list of quantities that stands alone, as `overhead` does (a rule_check_fn). Its faults are at
 * "<at>.limits[<name>]", where Kubernetes puts them.
 */
void pod_check_resource_list(struct rule_walk *walk, const cJSON *list, const struct field *at);

/* ---- downward.c: values taken from the pod itself, in env and in volumes ---- */

/* A fieldRef: one of the field paths `allowed` (ends with NULL), or a key of labels or annotations.
 */
void pod_check_field_ref(struct rule_walk *walk, const cJSON *ref, const struct field *at,
                         const char *const *allowed);
/* A resourceFieldRef; one in a volume must name its container. */
void pod_check_resource_field_ref(struct rule_walk *walk, const cJSON *ref, const struct field *at,
                                  bool in_volume);

#endif
