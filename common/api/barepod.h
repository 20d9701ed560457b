/*
 * struct barepod: a Pod that no job of ours made, as far as its PodGroup goes. Immutable; owned by
 * its store.
 */
#ifndef PUMICE_API_BAREPOD_H
#define PUMICE_API_BAREPOD_H

#include "api/resourcelist.h"

struct barepod {
    struct kube_meta meta;
    const char *scheduler, *priority_class_name; /* interned, "" when absent */
    resource_list requests, limits;
    bool ended; /* Succeeded or Failed */
};

extern const struct store_type barepod_store_type;

struct barepod *barepod_decode(struct str raw, struct error *err);
void barepod_free(struct barepod *pod);

#endif
