/*
 * struct label_set: the labels of pods, one record for all pods of a namespace that have the same.
 *
 * The label volcano.sh/task-index differs between any two pods of a task and would make a set of
 * each; where it is the number at the end of the pod's name it is left out, and pods know that
 * number. Counted, immutable but for `scratch`. Loop thread only.
 */
#ifndef PUMICE_API_LABELS_H
#define PUMICE_API_LABELS_H

#include "kube/meta.h"

struct label_set {
    uint64_t id;             /* in order of first sight, never used again */
    const char *ns;          /* interned */
    struct kube_pairs pairs; /* perhaps without the task's index */
    uint32_t refs;
    void *scratch; /* the scheduler's own, NULL at first; the holder keeps a reference meanwhile */
};

/* The set of a pod's namespace and labels, without that of the task's index when `leave_index`,
 * with one reference for the caller. */
struct label_set *label_set_get(const char *ns, const struct kube_pairs *pairs, bool leave_index);
struct label_set *label_set_ref(struct label_set *set);
/* Drops one reference; NULL is fine. */
void label_set_unref(struct label_set *set);
/* Live sets, for tests. */
size_t label_set_count(void);

/* The labels of one pod. */
struct pod_labels {
    const struct label_set *set;
    int64_t index; /* value of the label that was left out, -1: none was */
};

/* A label_value_fn for struct pod_labels; the value of an index is valid until the next call. */
const char *pod_labels_value(const void *labels, const char *key);
/* A label_value_fn for struct kube_pairs. */
const char *pairs_value(const void *labels, const char *key);

#endif
