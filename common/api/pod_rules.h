/*
 * What a pod asks of where other pods are: pod affinity and anti-affinity, required and preferred,
 * and topology spread. By Kubernetes' rules; defaults of absent fields are filled in.
 *
 * matchLabelKeys and mismatchLabelKeys of affinity terms are merged into the selector by the API
 * server when the pod is made, and need no look here. Immutable; loop thread only.
 */
#ifndef PUMICE_API_POD_RULES_H
#define PUMICE_API_POD_RULES_H

#include "api/labels.h"
#include "api/selector.h"

enum pod_term_kind {
    TERM_AFFINITY,
    TERM_ANTI_AFFINITY,
    TERM_PREFERRED_AFFINITY,
    TERM_PREFERRED_ANTI_AFFINITY
};

/* Pods of some namespaces with some labels. */
struct pod_selection {
    struct label_selector selector;
    const char **namespaces; /* owned array of interned names */
    uint32_t namespace_count;
    struct label_selector namespace_selector; /* and those of namespaces with such labels */
};

struct pod_term {
    enum pod_term_kind kind;
    struct pod_selection pods;
    const char *topology_key; /* interned */
    int32_t weight;           /* of a preferred term, 1 to 100 */
};

struct spread_constraint {
    struct pod_selection pods; /* of the pod's own namespace; matchLabelKeys are merged in */
    const char *topology_key;  /* interned */
    int32_t max_skew, min_domains;
    bool required;      /* whenUnsatisfiable: DoNotSchedule */
    bool honors_nodes;  /* nodeAffinityPolicy: Honor */
    bool honors_taints; /* nodeTaintsPolicy: Honor */
};

struct pod_rules {
    struct pod_term *terms; /* owned */
    uint32_t term_count;
    struct spread_constraint *spreads; /* owned */
    uint32_t spread_count;
    /* Why they are more than is counted (LIMIT_POD_TERMS and so on; a constant text), else NULL.
     * They are then left out: such a pod cannot be placed by them. */
    const char *excess;
};

/*
 * Reads a pod's `podAffinity` and `podAntiAffinity` (the value that comes next is one of them) and
 * its `topologySpreadConstraints`. `labels` are the pod's own. `rules` must be zero at first.
 */
void pod_rules_read_affinity(struct json_reader *reader, struct pod_rules *rules, const char *ns,
                             bool anti);
void pod_rules_read_spread(struct json_reader *reader, struct pod_rules *rules, const char *ns,
                           const struct kube_pairs *labels);
/* To be called when all is read: looks whether it is too much. */
void pod_rules_finish(struct pod_rules *rules);
void pod_rules_clear(struct pod_rules *rules);

/* Whether pods of that namespace may be meant; `labels_of` its labels, NULL when it is not known.
 */
bool pod_selection_has_namespace(const struct pod_selection *pods, const char *ns,
                                 const struct kube_pairs *ns_labels);
/* Writes what is selected, so that equal texts select the same. */
void pod_selection_write(const struct pod_selection *pods, struct buf *out);

#endif
