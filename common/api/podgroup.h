/*
 * struct podgroup: scheduling.volcano.sh/v1beta1 PodGroup as controller and scheduler keep it.
 *
 * Objects are immutable once decoded and owned by their store. The controller writes spec and
 * metadata, the scheduler writes status (one writer for each).
 */
#ifndef PUMICE_API_PODGROUP_H
#define PUMICE_API_PODGROUP_H

#include "base/quantity.h"
#include "kube/meta.h"
#include "kube/store.h"

struct podgroup_condition {
    const char *type, *status, *reason, *transition_id; /* interned */
    char *message;                                      /* owned */
    int64_t transition_ns;                              /* lastTransitionTime, wall; 0 absent */
};

struct podgroup_task_member {
    const char *task; /* interned */
    int32_t min;
};

struct podgroup_resource {
    const char *name; /* interned; as in the PodGroup: "cpu", "requests.cpu", "nvidia.com/gpu" */
    struct quantity quantity;
};

struct podgroup {
    struct kube_meta meta; /* all annotations are kept */
    int32_t min_member;
    const char *queue;                            /* interned; "default" when empty */
    const char *priority_class_name;              /* interned; "" when absent */
    struct podgroup_task_member *min_task_member; /* owned, sorted by task */
    uint32_t min_task_member_count;
    struct podgroup_resource *min_resources; /* owned, sorted by name */
    uint32_t min_resources_count;
    bool has_min_resources;
    const char *topology_mode; /* interned; of spec.networkTopology, "" when absent */
    int64_t topology_tier;     /* its highestTierAllowed, -1 when absent */

    const char *phase; /* interned; "Pending" when empty */
    int32_t running, succeeded, failed;
    struct podgroup_condition *conditions; /* owned */
    uint32_t condition_count;
};

extern const struct store_type podgroup_store_type;

/* From raw JSON; NULL and `err` (ERROR_INVALID naming the object) when it cannot be read. */
struct podgroup *podgroup_decode(struct str raw, struct error *err);
void podgroup_free(struct podgroup *podgroup);
/* The condition of that type, or NULL. */
const struct podgroup_condition *podgroup_condition(const struct podgroup *podgroup,
                                                    const char *type);

#endif
