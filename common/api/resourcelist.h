/*
 * Resource lists ("cpu: 2, nvidia.com/gpu: 1") as sorted arrays of exact quantities, and what a pod
 * asks for by Kubernetes' rules. For the controller (PodGroup.minResources) and the webhook; the
 * scheduler's hot path has its own vectors.
 */
#ifndef PUMICE_API_RESOURCELIST_H
#define PUMICE_API_RESOURCELIST_H

#include "api/podgroup.h"
#include "base/vec.h"

/* Sorted by name; names interned. */
typedef VEC(struct podgroup_resource) resource_list;

/* Reads an object of quantities that comes next (null gives nothing), summed into `list`. */
void resource_list_read(struct json_reader *reader, resource_list *list);
void resource_list_clear(resource_list *list);
/* Adds `quantity` times `times` at `name`. */
void resource_list_add(resource_list *list, struct str name, struct quantity quantity,
                       int64_t times);
void resource_list_add_all(resource_list *list, const resource_list *other, int64_t times);
/* The larger of both, element by element. */
void resource_list_max(resource_list *list, const resource_list *other);
const struct quantity *resource_list_get(const resource_list *list, struct str name);
bool resource_list_equal(const resource_list *a, const resource_list *b);
void resource_list_write(struct json_writer *writer, const resource_list *list);

/*
 * Requests and limits of a pod from the raw JSON of its spec: per resource max(largest init
 * container with the sidecars started before it, sum of containers and sidecars), limits standing
 * in for missing requests, pod-level resources over that, plus overhead.
 */
int pod_resources_read(struct str pod_spec, resource_list *ret_requests, resource_list *ret_limits,
                       struct error *err);

#endif
