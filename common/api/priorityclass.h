/*
 * struct priorityclass: scheduling.k8s.io/v1 PriorityClass.
 */
#ifndef PUMICE_API_PRIORITYCLASS_H
#define PUMICE_API_PRIORITYCLASS_H

#include "kube/store.h"

struct priorityclass {
    struct kube_meta meta;
    int32_t value;
    bool global_default;
    bool never_preempts; /* preemptionPolicy: Never */
};

extern const struct store_type priorityclass_store_type;

struct priorityclass *priorityclass_decode(struct str raw, struct error *err);
void priorityclass_free(struct priorityclass *priorityclass);

/* The value of the class named `name` in a store of PriorityClasses; the global default's when
 * the name is empty or unknown; 0 without one. */
int32_t priorityclass_value(const struct store *priorityclasses, const char *name);

#endif
