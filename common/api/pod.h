/*
 * struct pod: core/v1 Pod as the scheduler keeps it. (The controller's view is api/podstate.h.)
 *
 * Immutable once decoded and counted: the store holds one reference, the scheduler's cache another.
 * Pods that ask for the same and may run in the same places share one struct pod_class, so that
 * whether and how well they fit a node is worked out once for all of them. Loop thread only.
 */
#ifndef PUMICE_API_POD_H
#define PUMICE_API_POD_H

#include "api/hostports.h"
#include "api/labels.h"
#include "api/pod_rules.h"
#include "api/pod_volumes.h"
#include "api/podstate.h"
#include "api/resources.h"
#include "api/selector.h"

/* How a pod wants nodes to be scored, whatever the configuration says of its resources. */
enum pod_scoring { SCORING_AS_CONFIGURED, SCORING_EMPTIEST, SCORING_FULLEST };

/* What pods of one kind ask for. Shared by content, counted, immutable but for its end. */
struct pod_class {
    uint64_t id;                 /* in order of first sight, never reused */
    struct resource_set request; /* with one of RESOURCE_PODS */
    struct kube_pairs node_selector;
    struct node_selector affinity;    /* required node affinity */
    struct preferred_terms preferred; /* preferred node affinity */
    struct tolerations tolerations;
    struct pod_rules rules; /* of where other pods are */
    struct host_ports ports;
    struct pod_volumes *volumes; /* counted; NULL when none of them matters */
    const char **images;  /* owned array, interned, with a tag; of containers and volumes that */
    uint32_t image_count; /* name one, once for each */
    uint32_t containers;  /* init containers, too */
    struct resource_set scoring_weights; /* with `scoring`; resources that are not there count 0 */
    enum pod_scoring scoring;
    bool best_effort; /* asks for nothing but its place */
    /* Why such a pod is not placed at all, having more than is looked at of what it asks of nodes
     * (a constant text); else NULL. That is then left out. */
    const char *excess;
    char *key; /* owned; the content, for finding it again */
    size_t key_size;
    uint32_t refs;
    /* The scheduler's own, NULL at first; the holder keeps a reference meanwhile. */
    void *scratch, *census;
};

/* The scheduling gate that waits for room in the queue alone. */
#define KEY_QUEUE_GATE "scheduling.volcano.sh/queue-allocation-gate"

struct pod {
    struct kube_meta meta;    /* labels and annotations are dropped after reading */
    struct pod_class *cls;    /* counted */
    struct label_set *labels; /* counted */
    const char *scheduler;    /* interned; spec.schedulerName */
    const char *node;         /* interned; spec.nodeName, "" when unbound */
    const char *group;        /* interned; name of its PodGroup, "" for none */
    const char *role;         /* interned; its task in the job, "" for none */
    const char *nominated;    /* interned; status.nominatedNodeName, "" for none */
    int64_t started_ns;       /* wall time at which its node took it up, 0: not yet */
    int32_t priority; /* its rank within the job: task-priority, else spec.priority, else 1 */
    uint32_t ordinal; /* number at the end of its name, UINT32_MAX without one */
    int64_t spared_until_ns; /* wall time until which its cooldown lasts, 0 without one */
    enum pod_phase phase;
    bool indexed;         /* has the label volcano.sh/task-index, which is its ordinal */
    bool critical;        /* of one of the system's classes of priority */
    bool gated;           /* has scheduling gates */
    bool gated_by_others; /* has one that is not KEY_QUEUE_GATE */
    bool unschedulable;   /* its condition PodScheduled is False for a reason of ours */
    bool ready;           /* its condition Ready is True */
    bool never_preempts;  /* nobody is to be evicted for it: its preemptionPolicy is Never */
    bool preemptable;     /* it may be evicted, as far as it says itself */
    uint32_t refs;
};

extern const struct store_type pod_store_type;

/* From raw JSON with one reference; NULL and `err` (ERROR_INVALID naming the pod) when it cannot
 * be read. */
struct pod *pod_decode(struct str raw, struct error *err);
struct pod *pod_ref(struct pod *pod);
/* Drops one reference; NULL is fine. */
void pod_unref(struct pod *pod);

/* Its labels, for selectors. */
static inline struct pod_labels pod_labels_of(const struct pod *pod)
{
    return (struct pod_labels){pod->labels, pod->indexed ? (int64_t)pod->ordinal : -1};
}

/* Whether nodeSelector and required node affinity allow a node of that name with these labels. */
static inline bool pod_class_selects(const struct pod_class *cls, const char *node_name,
                                     const struct kube_pairs *labels)
{
    return node_labels_hold(labels, &cls->node_selector) &&
           node_selector_matches(&cls->affinity, node_name, labels);
}

struct pod_class *pod_class_ref(struct pod_class *cls);
void pod_class_unref(struct pod_class *cls);
/* Live classes, for tests and metrics. */
size_t pod_class_count(void);

#endif
