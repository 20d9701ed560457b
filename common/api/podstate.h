/*
 * struct podstate: a Pod as the controller keeps it: whose it is and how far it got. The scheduler
 * has its own view (api/pod.h); each process holds one.
 */
#ifndef PUMICE_API_PODSTATE_H
#define PUMICE_API_PODSTATE_H

#include "kube/store.h"

enum pod_phase {
    POD_PHASE_PENDING,
    POD_PHASE_RUNNING,
    POD_PHASE_SUCCEEDED,
    POD_PHASE_FAILED,
    POD_PHASE_UNKNOWN,
    POD_PHASE_COUNT
};

struct podstate {
    struct kube_meta meta; /* labels and annotations are dropped after reading */
    const char *job_name;  /* interned; label or annotation, "" when absent */
    const char *task;      /* interned; "" when absent */
    int32_t index;         /* task index, -1 when absent or not a number */
    int32_t job_version;   /* -1 when absent or not a number */
    int32_t retry_count;   /* the job's when the pod was made; -1 when absent or not a number */
    int32_t partition;     /* partition id, -1 when absent or not a number */
    enum pod_phase phase;
    bool bound;            /* spec.nodeName is set */
    bool ready;            /* Running and every container is ready */
    bool disrupted;        /* its condition DisruptionTarget is True: others want its room, or its
                              node goes; if it fails, it is not for what it does */
    bool selected;         /* it has the label that the watch selects by */
    int32_t restarts;      /* of all containers and init containers, saturated */
    int64_t ended_ns;      /* wall time at which the last container ended, 0 when none has */
    int64_t restarted_ns;  /* wall time at which one ended that was then restarted, 0: none was */
    int32_t deletion_cost; /* controller.kubernetes.io/pod-deletion-cost, 0 when absent */
    int32_t *exit_codes;   /* owned; those of ended containers that are not 0, each once */
    uint32_t exit_code_count;
};

extern const struct store_type podstate_store_type;

struct podstate *podstate_decode(struct str raw, struct error *err);
void podstate_free(struct podstate *pod);

/* "Pending", ... "Unknown". */
const char *pod_phase_name(enum pod_phase phase);

#endif
