/*
 * A recorded cluster: what `kubectl get nodes,pods,podgroups,queues,priorityclasses -A -o json`
 * printed, in one file or in a folder of *.json files, as lists or as single objects.
 */
#ifndef PUMICE_BENCH_OFFLINE_RECORDED_H
#define PUMICE_BENCH_OFFLINE_RECORDED_H

#include "rig.h"

enum recorded_kind {
    RECORDED_NODES,
    RECORDED_PRIORITIES,
    RECORDED_QUEUES,
    RECORDED_OTHERS, /* pods that other schedulers place */
    RECORDED_PODGROUPS,
    RECORDED_PODS, /* ours */
    RECORDED_KIND_COUNT
};

struct recorded;

/* Reads a whole file into `text`. */
int recorded_read(const char *path, struct buf *text, struct error *err)
    __attribute__((warn_unused_result));
/* Reads it all. `unbind`: our pods that have not ended wait for a node again, and PodGroups have no
 * status but that they are admitted. NULL and `err` when something cannot be read. */
struct recorded *recorded_open(const char *path, bool unbind, struct error *err);
void recorded_free(struct recorded *recorded);
/* Tells the rig of all PodGroups. */
void recorded_groups(const struct recorded *recorded, struct rig *rig);
/* Adds the objects of one kind to the stores' lists; how many there are. */
size_t recorded_load(const struct recorded *recorded, struct rig *rig, enum recorded_kind kind);

#endif
