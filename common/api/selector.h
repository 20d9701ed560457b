/*
 * Where a pod may run: node selectors, node affinity, taints and tolerations; and which pods and
 * namespaces a label selector means. By Kubernetes' rules.
 *
 * Texts are interned, and so are labels and taints of nodes that they are compared with. Everything
 * is read from JSON once and matched many times. Loop thread only.
 */
#ifndef PUMICE_API_SELECTOR_H
#define PUMICE_API_SELECTOR_H

#include "kube/meta.h"

/* ---- node affinity ----------------------------------------------------------------------------
 */

enum selector_op {
    SELECTOR_IN,
    SELECTOR_NOT_IN,
    SELECTOR_EXISTS,
    SELECTOR_DOES_NOT_EXIST,
    SELECTOR_GT,
    SELECTOR_LT,
    SELECTOR_UNKNOWN /* an operator of the future: matches nothing */
};

struct selector_requirement {
    const char *key;     /* interned */
    const char **values; /* owned array of interned texts */
    uint32_t value_count;
    enum selector_op op;
    bool field; /* a matchFields entry: `key` names a field (metadata.name), not a label */
};

struct selector_term {
    struct selector_requirement *items; /* owned; all must match; none at all match nothing */
    uint32_t n;
};

struct node_selector {
    struct selector_term *terms; /* owned; one must match */
    uint32_t n;
    bool present; /* false: every node matches */
};

/* Reads a v1.NodeSelector value that comes next ({"nodeSelectorTerms": [...]}). null leaves the
 * selector absent. `selector` must be zero. */
void node_selector_read(struct json_reader *reader, struct node_selector *selector);
void node_selector_clear(struct node_selector *selector);
/* Reads the array of requirements that comes next, {"key", "operator", "values"} each, and adds
 * them; one without an operator has SELECTOR_UNKNOWN. `field`: they are about fields. */
void selector_requirements_read(struct json_reader *reader, struct selector_term *term, bool field);
/* `node_name` is the node's metadata.name, `labels` its labels. */
bool node_selector_matches(const struct node_selector *selector, const char *node_name,
                           const struct kube_pairs *labels);
/* True when `labels` holds every pair of `wanted` (a pod's nodeSelector). */
bool node_labels_hold(const struct kube_pairs *labels, const struct kube_pairs *wanted);

/* One of a pod's preferredDuringSchedulingIgnoredDuringExecution terms. */
struct preferred_term {
    struct selector_term term;
    int32_t weight; /* 1 to 100 */
};

struct preferred_terms {
    struct preferred_term *items; /* owned */
    uint32_t n;
};

/* Reads the array that comes next; `terms` must be zero. */
void preferred_terms_read(struct json_reader *reader, struct preferred_terms *terms);
void preferred_terms_clear(struct preferred_terms *terms);
/* The sum of the weights of those that match the node. */
int64_t preferred_terms_weight(const struct preferred_terms *terms, const char *node_name,
                               const struct kube_pairs *labels);

/* ---- selectors of pods and namespaces -----------------------------------------------------------
 */

/* A metav1.LabelSelector. Absent it selects nothing, without requirements everything. */
struct label_selector {
    struct selector_term all; /* matchLabels as In with one value, then matchExpressions */
    bool present;
};

/* The value of a label, NULL when it is absent. */
typedef const char *label_value_fn(const void *labels, const char *key);

/* Reads the value that comes next; null leaves it absent. `selector` must be zero. */
void label_selector_read(struct json_reader *reader, struct label_selector *selector);
void label_selector_clear(struct label_selector *selector);
/* One more requirement: the label has this value. */
void label_selector_add(struct label_selector *selector, const char *key, const char *value);
bool label_selector_matches(const struct label_selector *selector, label_value_fn *value_of,
                            const void *labels);
/* Whether it looks at that label at all. */
bool label_selector_names(const struct label_selector *selector, const char *key);
/* Writes what it selects, so that equal texts select the same. */
void label_selector_write(const struct label_selector *selector, struct buf *out);

/* ---- taints -----------------------------------------------------------------------------------
 */

enum taint_effect {
    TAINT_NO_SCHEDULE,
    TAINT_PREFER_NO_SCHEDULE,
    TAINT_NO_EXECUTE,
    TAINT_OTHER /* an effect we do not know: it keeps nobody away */
};

struct taint {
    const char *key, *value; /* interned */
    enum taint_effect effect;
};

struct taints {
    struct taint *items; /* owned, in the node's order */
    uint32_t n;
};

struct toleration {
    const char *key, *value; /* interned; key "" with `exists`: every taint */
    enum taint_effect effect;
    bool any_effect;
    bool exists;  /* operator Exists: the value does not matter */
    bool unknown; /* an operator of the future: tolerates nothing */
};

struct tolerations {
    struct toleration *items; /* owned */
    uint32_t n;
};

/* Read the array that comes next; the target must be zero. */
void taints_read(struct json_reader *reader, struct taints *taints);
void taints_clear(struct taints *taints);
bool taints_equal(const struct taints *a, const struct taints *b);
void tolerations_read(struct json_reader *reader, struct tolerations *tolerations);
void tolerations_clear(struct tolerations *tolerations);
bool toleration_covers(const struct toleration *toleration, const struct taint *taint);
/* The first taint with effect NoSchedule or NoExecute that none covers, or NULL. */
const struct taint *taints_untolerated(const struct taints *taints,
                                       const struct tolerations *tolerations);
/* How many taints with effect PreferNoSchedule none covers. */
uint32_t taints_unpreferred(const struct taints *taints, const struct tolerations *tolerations);

#endif
